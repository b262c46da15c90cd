//! NCCL could not even be set up.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
    nccl_error::DUPLICATE_GPU,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "nccl_start",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 4] =
    ["NCCL initialization failed", "NCCL init failed", "ncclCommInitRank failed", "Failed to initialize NCCL"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    // Two ranks on one GPU have an advice of their own.
    if scene.line_with(&[DUPLICATE_GPU]).is_some() {
        return None;
    }
    let line = scene.line_with(&MARKS)?;
    let cause = Text::new("NCCL 初始化失败", "NCCL could not be initialised");
    let advice = Text::new(
        "先运行 fermi doctor；确认每个 rank 看得到自己的 GPU（CUDA_VISIBLE_DEVICES=0,1,2,3）；再用 NCCL_P2P_DISABLE=1、\
         NCCL_IB_DISABLE=1 逐个排除直连与 InfiniBand；NCCL_DEBUG=INFO 会显示卡在哪一步",
        "Run fermi doctor first; see that each rank sees its GPU (CUDA_VISIBLE_DEVICES=0,1,2,3); then rule out direct \
         links and InfiniBand one by one with NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1; NCCL_DEBUG=INFO shows the step \
         that fails",
    );
    Some(Finding::new(Some(line), cause, advice))
}

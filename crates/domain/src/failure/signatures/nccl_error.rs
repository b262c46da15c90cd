//! NCCL itself reported an error.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "nccl_error",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 9] = [
    "NCCL error in:",
    "NCCL Error ",
    "ncclSystemError",
    "ncclInternalError",
    "ncclUnhandledCudaError",
    "ncclInvalidUsage",
    "ncclInvalidArgument",
    "unhandled system error",
    "Bootstrap : no socket interface found",
];
pub(super) const DUPLICATE_GPU: &str = "Duplicate GPU detected";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    if let Some(line) = scene.line_with(&[DUPLICATE_GPU]) {
        let cause = Text::new("两个 rank 使用了同一块 GPU", "Two ranks use the same GPU");
        let advice = Text::new(
            "按 LOCAL_RANK 选卡：torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))，并确认进程数不超过 GPU 数",
            "Choose the GPU by LOCAL_RANK: torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), and start no more \
             processes than there are GPUs",
        );
        return Some(
            Finding::new(Some(line), cause, advice).class(FailureClass::User).recurrence(Recurrence::WouldRepeat),
        );
    }
    let line = scene.line_with(&MARKS)?;
    let cause = Text::new("NCCL 通信出错", "NCCL reported an error");
    let advice = Text::new(
        "设置 NCCL_DEBUG=INFO 再运行，看 NCCL WARN 一行；多网卡时指定 NCCL_SOCKET_IFNAME（如 eth0，排除 docker0、lo）；\
         InfiniBand 有问题时用 NCCL_IB_DISABLE=1 验证；容器请加 --ipc=host 与 --ulimit memlock=-1",
        "Run again with NCCL_DEBUG=INFO and read the NCCL WARN line; with several NICs set NCCL_SOCKET_IFNAME (such as \
         eth0, not docker0 or lo); try NCCL_IB_DISABLE=1 to tell whether InfiniBand is to blame; give containers \
         --ipc=host and --ulimit memlock=-1",
    );
    Some(Finding::new(Some(line), cause, advice))
}

//! A parameter that ZeRO-3 has partitioned was used, or saved, without being gathered.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "deepspeed_gather",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const SAVING: [&str; 2] = ["stage3_gather_16bit_weights_on_model_save", "Cannot get 16bit model weights"];
const USING: [&str; 5] = [
    "'status': 'NOT_AVAILABLE'",
    "'status': 'INFLIGHT'",
    "Cannot partition a param in flight",
    "Some params are already available or in flight",
    "ZeroParamStatus.",
];
/// What a partitioned parameter looks like to those who do not know: it has no elements.
const EMPTY: &str = "torch.Size([0])";
/// What torch says when it is used as an embedding.
const FLAT: &str = "'weight' must be 2-D";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let is_empty = |line: &str| line.contains("size mismatch for") && line.contains(EMPTY);
    if let Some(line) = scene.line_with(&SAVING).or_else(|| scene.line_where(is_empty)) {
        let cause = Text::new(
            "ZeRO-3 的参数是分片的，保存时没有收集",
            "The parameters that ZeRO-3 has partitioned were saved without being gathered",
        );
        let advice = Text::new(
            "在 zero_optimization 中设置 \"stage3_gather_16bit_weights_on_model_save\": true，用 engine.save_16bit_model 保存；\
             已有的分片检查点用其中的 zero_to_fp32.py 合并",
            "Set \"stage3_gather_16bit_weights_on_model_save\": true in zero_optimization and save by \
             engine.save_16bit_model; merge a partitioned checkpoint that exists by the zero_to_fp32.py in it",
        );
        return Some(Finding::new(Some(line), cause, advice));
    }
    let of_torch = || scene.line_with(&[FLAT]).filter(|_| scene.is_about(&["deepspeed", "zero3", "ZeRO-3"]));
    let line = scene.line_with(&USING).or_else(of_torch)?;
    let cause = Text::new(
        "ZeRO-3 的参数是分片的，使用前没有收集",
        "A parameter that ZeRO-3 has partitioned was used without being gathered",
    );
    let advice = Text::new(
        "在 forward 之外读写参数时放进 with deepspeed.zero.GatheredParameters(params)；所有 rank 必须走同样的分支；若收集时\
         显存不足，把 stage3_max_live_parameters 与 stage3_max_reuse_distance 降到 1e9 以下",
        "Read and write parameters outside of forward under deepspeed.zero.GatheredParameters(params); all ranks must take \
         the same branches; if gathering runs short of memory, lower stage3_max_live_parameters and \
         stage3_max_reuse_distance below 1e9",
    );
    Some(Finding::new(Some(line), cause, advice))
}

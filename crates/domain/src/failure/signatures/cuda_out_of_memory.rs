//! A GPU had no memory left for an allocation.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "cuda_out_of_memory",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 9] = [
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA error: out of memory",
    "OutOfMemoryError: Allocation on device",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory",
];

/// How XLA says it.
const OF_XLA: &str = "RESOURCE_EXHAUSTED";

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let cause = match wanted(line) {
        Some(amount) => Text::new(
            format!("GPU 显存不足：申请 {amount} 时失败"),
            format!("The GPU ran out of memory while allocating {amount}"),
        ),
        None => Text::new("GPU 显存不足", "The GPU ran out of memory"),
    };
    let advice = if line.contains(OF_XLA) { for_jax() } else { for_torch() };
    let finding = Finding::new(Some(line), cause, advice);
    // After hundreds of good steps one long sample or fragmentation is the likelier reason, and a restart may pass it.
    Some(if scene.evidence.made_progress { finding.recurrence(Recurrence::MayPass) } else { finding })
}

fn for_torch() -> Text {
    Text::new(
        "减小每卡 batch（micro batch），用梯度累积保持总 batch；开启梯度检查点（gradient checkpointing）；\
         改用 ZeRO-2/3 或 FSDP 切分状态；若碎片多，设置 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True。\
         用 nvidia-smi 确认没有其他进程占用该卡",
        "Use a smaller micro-batch and keep the global batch by gradient accumulation; turn on gradient checkpointing; \
         shard the states with ZeRO-2/3 or FSDP; against fragmentation set \
         PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. Check with nvidia-smi that nobody else holds this GPU",
    )
}

/// JAX takes most of the memory at its start, and torch's settings mean nothing to it.
fn for_jax() -> Text {
    Text::new(
        "减小每卡 batch，用 jax.checkpoint 重算激活；JAX 启动时会预占显存：设置 XLA_PYTHON_CLIENT_MEM_FRACTION=0.8 给其他库\
         留出空间，或 XLA_PYTHON_CLIENT_PREALLOCATE=false 按需申请。用 nvidia-smi 确认没有其他进程占用该卡",
        "Use a smaller batch per GPU and recompute activations with jax.checkpoint; JAX takes memory in advance: \
         XLA_PYTHON_CLIENT_MEM_FRACTION=0.8 leaves room for other libraries, XLA_PYTHON_CLIENT_PREALLOCATE=false takes it \
         as needed. Check with nvidia-smi that nobody else holds this GPU",
    )
}

/// "2.50 GiB" out of "Tried to allocate 2.50 GiB. GPU 0 has …".
fn wanted(line: &str) -> Option<String> {
    let mut words = after(line, "Tried to allocate ", &['('])?.split_whitespace();
    let (number, unit) = (words.next()?, words.next()?);
    let unit = unit.trim_end_matches(['.', ',']);
    (number.parse::<f64>().is_ok() && unit.ends_with('B')).then(|| format!("{number} {unit}"))
}

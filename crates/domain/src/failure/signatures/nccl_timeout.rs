//! A collective waited for a rank that did not come.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "nccl_timeout",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Victim,
    find,
};

const MARKS: [&str; 8] = [
    "Watchdog caught collective operation timeout",
    "milliseconds before timing out",
    "Some NCCL operations have failed or timed out",
    "ms for recv operation to complete",
    "ms for send operation to complete",
    "Application timeout caused pair closure",
    "failed to pass monitoredBarrier",
    "ProcessGroupNCCL's watchdog got stuck",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.first_line_with(&MARKS)?;
    let cause = match after(line, "OpType=", &[',', ')']) {
        Some(operation) => Text::new(
            format!("集合通信 {operation} 超时：有 rank 没有到达"),
            format!("The collective {operation} timed out: some rank never joined it"),
        ),
        None => Text::new("集合通信超时：有 rank 没有到达", "A collective timed out: some rank never joined it"),
    };
    let advice = Text::new(
        "超时的 rank 通常是等待者：找没有报超时、或停在别处的 rank（py-spy dump --pid PID）。常见原因：各 rank \
         数据条数不同、只有 rank 0 走的分支里有集合操作、保存检查点或评估过久。设置 TORCH_DISTRIBUTED_DEBUG=DETAIL \
         可指出不一致的调用；确属耗时操作时再加大 init_process_group(timeout=…)",
        "The rank that times out is mostly one that waits: look for the rank that did not complain or stands elsewhere \
         (`py-spy dump --pid PID`). Usual reasons: ranks with unequal data, a collective in a branch that only rank 0 \
         takes, a long save or evaluation. TORCH_DISTRIBUTED_DEBUG=DETAIL names calls that do not agree; raise \
         init_process_group(timeout=…) only when the work really takes that long",
    );
    Some(Finding::new(Some(line), cause, advice))
}

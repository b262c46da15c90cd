//! The kernel killed a process because the machine, or its container, had no memory left.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "host_oom_kill",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Cause,
    find,
};

/// What torch prints when a data loader's worker was the one that the kernel chose.
const WORKER_KILLED: [&str; 2] =
    ["is killed by signal: Killed", "A process in the process pool was terminated abruptly"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&WORKER_KILLED);
    // The counter belongs to a cgroup, which several processes share: a rank that can name its own exception did not
    // die of it.
    let struck = scene.evidence.oom_killed && (scene.signal() == Some(9) || scene.traceback.is_none());
    if !struck && line.is_none() {
        return None;
    }
    let cause = if line.is_some() {
        Text::new(
            "数据加载子进程被内核终止，通常是主机内存不足（OOM）",
            "A data loading process was killed, most likely because the host ran out of memory",
        )
    } else {
        Text::new("主机内存不足，进程被内核终止（OOM）", "The host ran out of memory and the kernel killed the process")
    };
    let advice = Text::new(
        "减少 DataLoader 的 num_workers 与 prefetch_factor；不要让每个 rank 各自把整个数据集或检查点读入内存\
         （mmap、流式读取）；关闭 CPU offload 或放宽容器内存上限。用 dmesg | grep -i oom 查看内核记录",
        "Lower num_workers and prefetch_factor of the DataLoader; do not let every rank read the whole dataset or \
         checkpoint into memory (map or stream it); turn off CPU offload or raise the container's memory limit. \
         `dmesg | grep -i oom` shows the kernel's record",
    );
    Some(Finding::new(line, cause, advice))
}

//! The shared memory file system (/dev/shm) is too small for data loading or NCCL.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "shared_memory_full",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

const MARKS: [&str; 5] = [
    "out of shared memory",
    "insufficient shared memory (shm)",
    "No space left on device (28)",
    "Error while creating shared memory segment",
    "unable to open shared memory object",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_where(|line| {
        let full_disk = line.contains("No space left on device (28)");
        MARKS.iter().any(|mark| line.contains(mark))
            && (!full_disk || line.contains("shm") || line.contains("/torch_"))
            && !line.contains("Too many open files")
    })?;
    let cause = Text::new("共享内存 /dev/shm 空间不足", "The shared memory in /dev/shm is too small");
    let advice = Text::new(
        "容器请加 --shm-size=16g 或 --ipc=host（Kubernetes：挂载 medium: Memory 的 emptyDir 到 /dev/shm）；\
         或把 DataLoader 的 num_workers 调小。df -h /dev/shm 可查看大小与残留",
        "Give the container --shm-size=16g or --ipc=host (Kubernetes: an emptyDir with medium: Memory at /dev/shm), or \
         lower num_workers of the DataLoader. `df -h /dev/shm` shows its size and what is left in it",
    );
    Some(Finding::new(Some(line), cause, advice))
}

//! The user, or the job's cgroup, may not have more processes or threads.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "too_many_processes",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

/// Of the launcher, Python, its threads, shells and OpenMP.
const MARKS: [&str; 5] = [
    "Resource temporarily unavailable (os error 11)",
    "BlockingIOError: [Errno 11] Resource temporarily unavailable",
    "RuntimeError: can't start new thread",
    "fork: retry: Resource temporarily unavailable",
    "libgomp: Thread creation failed",
];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS)?;
    let cause = Text::new("进程或线程数已达上限", "No more processes or threads may be started");
    let advice = Text::new(
        "查看上限（ulimit -u；容器与作业中是 cgroup 的 pids.max）并提高它，或减少每台机器的进程数、num_workers 和 OMP_NUM_THREADS",
        "Look at the limit (`ulimit -u`; in containers and jobs pids.max of the cgroup) and raise it, or use fewer processes \
         on each machine, fewer num_workers, a smaller OMP_NUM_THREADS",
    );
    Some(Finding::new(Some(line), cause, advice))
}

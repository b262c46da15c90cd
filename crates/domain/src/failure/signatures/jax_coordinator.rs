//! JAX was not told where its processes meet.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "jax_coordinator",
    class: FailureClass::User,
    recurrence: Recurrence::WouldRepeat,
    role: Role::Cause,
    find,
};

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&["coordinator_address should be defined"])?;
    let cause = Text::new(
        "jax.distributed.initialize() 不知道各进程在哪里会合",
        "jax.distributed.initialize() was not told where the processes meet",
    );
    let advice = Text::new(
        "为 fermi run 或任务选择框架 jax，Fermi 会设置 JAX 所需的变量；或把 MASTER_ADDR:MASTER_PORT、WORLD_SIZE、RANK 作为参数传给它",
        "Choose the framework jax for fermi run or the task, and Fermi sets what JAX reads; or pass MASTER_ADDR:MASTER_PORT, WORLD_SIZE and RANK to it",
    );
    Some(Finding::new(Some(line), cause, advice))
}

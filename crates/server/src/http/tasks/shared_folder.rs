//! Two tasks that are not over and write their checkpoints into one folder: each would take the other's for its own.

use fermi_domain::ids::TaskId;
use fermi_domain::language::{Language, Text};
use fermi_domain::task::{Task, TaskSpec};
use fermi_domain::warnings;
use fermi_store::StoreError;

use crate::core::Core;

/// How many of the queue are looked at.
const LOOKED_AT: usize = 256;

/// What is to be said of a task; it has no id before it is made.
pub async fn warning(
    core: &Core,
    spec: &TaskSpec,
    own: Option<&TaskId>,
    language: Language,
) -> Result<Option<fermi_api::v1::Warning>, StoreError> {
    if spec.options.checkpoint_dir.is_none() {
        return Ok(None);
    }
    let (wanted, own) = (spec.clone(), own.cloned());
    let found = core.store().read(move |view| {
        let queued = view.queued_tasks(None, LOOKED_AT)?;
        let open = view.live_tasks()?.into_iter().chain(queued).map(|found| found.value);
        let mut others = open.filter(|task: &Task| !task.phase.is_final() && own.as_ref() != Some(&task.id));
        Ok::<_, StoreError>(others.find(|other| warnings::shares_checkpoints(&wanted, &other.spec)))
    });
    let folder = spec.options.checkpoint_dir.as_deref().unwrap_or_default();
    Ok(found.await?.map(|Task { id, .. }| {
        let text = Text::new(
            format!("{id} 也把检查点写到 {folder}，且尚未结束：两者会互相覆盖；请换一个目录，或先停止其中一个"),
            format!(
                "{id}, which is not over, writes its checkpoints to {folder} too: each overwrites the other's; name another \
                 folder, or stop one of them"
            ),
        );
        fermi_api::v1::Warning::new("checkpoints_shared", text, language)
    }))
}

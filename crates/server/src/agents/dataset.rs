//! What nodes have seen of a task's dataset before they start ranks.

use fermi_domain::dataset::{DataFormat, DatasetSighting};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::RunKey;
use fermi_store::{StoreError, Transaction, WriteError};

use crate::core::Core;
use crate::lifecycle::{self, Cause};

/// Keeps what the agent of an environment has seen, if it runs that task there and the task names that version. A first
/// sighting, or one that differs from the last, is an event of the task.
pub async fn looked(
    core: &Core,
    agent: (&EnvironmentId, &Principal),
    run: RunKey,
    version: String,
    seen: Option<DatasetSighting>,
) -> Result<(), StoreError> {
    let (environment, cause) = (agent.0.clone(), Cause { principal: agent.1.clone(), now_ms: core.now_ms() });
    let seen = seen.map(within);
    let work = move |tx: &mut Transaction<'_>| {
        let Some(task) = tx.task(&run.task)?.map(|found| found.value) else { return Ok(()) };
        let Some(node) = task.node_of(&run).filter(|node| node.environment == environment) else { return Ok(()) };
        let named = task.spec.dataset.as_ref().filter(|dataset| dataset.dataset_version_id == version);
        let (Some(named), Some(known)) = (named, tx.version(&version)?) else { return Ok(()) };
        let before = tx.sighting(&version, &environment)?;
        tx.note_sighting(&version, &environment, seen.as_ref(), cause.now_ms)?;
        if let Some(seen) = seen.as_ref().filter(|seen| before.as_ref() != Some(*seen)) {
            let dataset = tx.dataset(&named.dataset_id)?.map_or_else(String::new, |dataset| dataset.name);
            let (node, amount) = (node.name.clone(), seen.amount());
            let text = Text::new(
                format!("{node} 上可见数据集 {dataset}@{}：{}", known.version, amount.zh),
                format!("{node} sees the dataset {dataset}@{}: {}", known.version, amount.en),
            );
            lifecycle::note(tx, &task, "dataset.seen", text, &cause)?;
        }
        Ok(())
    };
    core.store().write(work).await.map_err(WriteError::<StoreError>::flatten)
}

/// A format that is not known here is none.
fn within(seen: DatasetSighting) -> DatasetSighting {
    let format = seen.format.as_deref().and_then(DataFormat::parse);
    DatasetSighting { format: format.map(|format| format.as_str().to_owned()), ..seen }
}

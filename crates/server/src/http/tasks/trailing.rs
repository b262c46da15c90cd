//! What is still to come of what a task's ranks wrote, though its workers are free.

use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_store::{StoreError, View};

/// The names of the environments that have it; none where all has come.
pub fn names(view: &View<'_>, task: &TaskId) -> Result<Option<String>, StoreError> {
    let trailing = view.trailing_of(task)?;
    if trailing.is_empty() {
        return Ok(None);
    }
    let known = view.environments()?.into_iter().map(|row| row.environment);
    let has = |id| trailing.iter().any(|trailing| trailing.environment == id);
    let names: Vec<String> = known.filter(|known| has(known.id.clone())).map(|known| known.name).collect();
    Ok((!names.is_empty()).then(|| names.join(", ")))
}

/// What is said of a task that is over while its logs grow.
pub fn reason(names: &str) -> Text {
    Text::new(format!("其余日志仍在从 {names} 上传"), format!("the rest of its logs is still to come from {names}"))
}

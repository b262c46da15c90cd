//! The task of a sweep for one combination of parameters, made once: commands that run at the same moment see nothing of each
//! other, and the transaction in which a task is made is the one place that does.

use std::collections::BTreeMap;

use fermi_domain::ids::TaskId;
use fermi_domain::principal::Principal;
use fermi_domain::sweep;
use fermi_domain::task::Task;
use fermi_store::idempotency::Remembered;
use fermi_store::{StoreError, Transaction};

/// Whose sweep, and which of its combinations.
#[derive(Debug)]
pub struct SweepPoint {
    scope: String,
    key: String,
}

impl SweepPoint {
    /// By the labels of a task; none where it is of no sweep.
    pub fn of(labels: &BTreeMap<String, String>, caller: &Principal) -> Option<Self> {
        let key = sweep::point(labels)?;
        Some(Self { scope: format!("{}:sweep", caller.user().unwrap_or_default()), key })
    }

    /// The task that was made for it and has not been deleted since.
    pub fn made(&self, tx: &Transaction<'_>) -> Result<Option<Task>, StoreError> {
        let Some(earlier) = tx.recall(&self.scope, &self.key)? else { return Ok(None) };
        let task = TaskId(String::from_utf8_lossy(&earlier.body).into_owned());
        Ok(tx.task(&task)?.map(|stored| stored.value))
    }

    /// This task is made for it.
    pub fn note(&self, tx: &mut Transaction<'_>, task: &TaskId, now_ms: u64) -> Result<(), StoreError> {
        tx.forget(&self.scope, &self.key)?;
        let made = Remembered { digest: String::new(), status: 200, body: task.as_str().as_bytes().to_vec() };
        tx.remember(&self.scope, &self.key, &made, now_ms).map(|_| ())
    }
}

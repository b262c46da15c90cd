//! Where the time of a task has gone.

use fermi_domain::language::Text;
use fermi_domain::ledger::{Account, Cause, CauseTime};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every millisecond from the task's creation on has one cause; the time between its end and another start counts for none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    pub wall_ms: u64,
    /// From 0 to 1.
    pub productive_share: f64,
    /// The productive time first, then the largest; they add up to the whole.
    pub causes: Vec<LedgerCause>,
    /// The productive share, and what took the rest.
    pub text: Text,
}

/// What time was spent on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCause {
    pub cause: Cause,
    pub text: Text,
    pub ms: u64,
    /// From 0 to 1.
    pub share: f64,
}

impl From<&Account> for Ledger {
    fn from(account: &Account) -> Self {
        let cause = |time: &CauseTime| LedgerCause {
            cause: time.cause,
            text: time.cause.text(),
            ms: time.ms,
            share: account.part(time.ms),
        };
        Self {
            wall_ms: account.wall_ms,
            productive_share: account.productive_share(),
            causes: account.causes.iter().map(cause).collect(),
            text: account.text(),
        }
    }
}

impl Ledger {
    /// What it was made of.
    pub fn account(&self) -> Account {
        Account::new(self.causes.iter().map(|time| CauseTime { cause: time.cause, ms: time.ms }).collect())
    }
}

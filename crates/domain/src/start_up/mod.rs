//! The start-up of an attempt: which ranks wait for which others, as a sentence, and when it is told.
//!
//! [`view`] decides from what is seen of each rank, [`RanksWait`] says it, [`Telling`] knows when it is due.

mod sentence;
mod telling;
#[cfg(test)]
mod tests;
mod view;

pub use sentence::{met_text, waited_in_vain};
pub use telling::{SHOWN_AFTER_MS, Telling};
pub use view::{RankStanding, Standing, StartUp, view};

use serde::{Deserialize, Serialize};

use crate::{language::Text, pulse::Phase};

/// How many ranks of each kind are kept with a task.
const KEPT: usize = 64;

/// Ranks that wait for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RanksWait {
    pub waiting: Vec<u32>,
    pub awaited: Vec<AwaitedRank>,
}

/// A rank for which others wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AwaitedRank {
    pub rank: u32,
    pub node: String,
    pub standing: Standing,
    /// What it does; not known of ranks without the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// Who waits for whom in the attempt of a task that starts, as it is kept with the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WaitNote {
    pub attempt: u32,
    /// Unix milliseconds since when somebody waits.
    pub since_ms: u64,
    /// The first of the ranks that wait.
    pub waiting: Vec<u32>,
    /// The first of those that they wait for.
    pub awaited: Vec<AwaitedRank>,
    pub text: Text,
}

impl WaitNote {
    /// What is kept of a large task stays small; the sentence has them all.
    pub fn of(attempt: u32, since_ms: u64, mut wait: RanksWait) -> Self {
        let text = wait.text();
        wait.waiting.truncate(KEPT);
        wait.awaited.truncate(KEPT);
        Self { attempt, since_ms, waiting: wait.waiting, awaited: wait.awaited, text }
    }
}

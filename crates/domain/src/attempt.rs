//! An attempt: one launch of a task.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AttemptNumber, Generation, TaskId},
    phase::AttemptPhase,
    rank_map::RankMap,
    verdict::Verdict,
};

/// One launch of a task, with its own ranks and its own end. A restart makes a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub task: TaskId,
    pub number: AttemptNumber,
    /// Instructions that carry an older one are refused.
    pub generation: Generation,
    pub phase: AttemptPhase,
    pub rank_map: RankMap,
    /// Why it ended; there once the phase is final.
    pub verdict: Option<Verdict>,
}

//! A hang of a task, as it is told and kept.

use serde::{Deserialize, Serialize};

use super::{Frame, HangKind, StackGroup};
use crate::language::Text;

/// How many places are kept at which ranks stand; the others are in the evidence.
const PLACES: usize = 8;

/// Who hangs, where, since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HangNote {
    pub attempt: u32,
    /// Unix milliseconds of the last progress.
    pub since_ms: u64,
    pub kind: HangKind,
    /// Those that it is about.
    pub ranks: Vec<u32>,
    /// The nodes of these ranks.
    pub nodes: Vec<String>,
    /// Where the first of them stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Frame>,
    /// What ranks do, those that do the same together, the most ranks first.
    pub stacks: Vec<StackGroup>,
    pub text: Text,
    pub hint: Text,
}

impl HangNote {
    /// Of all places only the first ones, so that what is kept of a large task stays small.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.stacks.truncate(PLACES);
        self
    }
}

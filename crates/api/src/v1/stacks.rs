//! Where the ranks of a task stand.

use std::time::Duration;

use fermi_domain::hang::StackGroup;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer to `POST /training-tasks/{id}/stacks`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stacks {
    pub attempt: u32,
    /// Those at the same place together, the most ranks first.
    pub groups: Vec<StackGroup>,
    /// Ranks that gave no stack: without the hook, stopped, or not at Python's hand.
    pub silent: Vec<u32>,
    /// Nodes that have not answered in time.
    pub silent_nodes: Vec<String>,
}

impl Stacks {
    /// How long nodes may take; those that do not answer are named.
    pub const PATIENCE: Duration = Duration::from_secs(8);
}

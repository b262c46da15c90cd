//! A worker: the unit that is chosen, leased and given a rank.

use serde::{Deserialize, Serialize};

use crate::ids::{EnvironmentId, WorkerId};

/// A slot of an environment in which one rank runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    pub id: WorkerId,
    pub environment: EnvironmentId,
    /// The number of its GPU on that machine; none on CPU.
    pub gpu: Option<u32>,
}

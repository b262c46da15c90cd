//! A group: a named set of workers that is launched together.

use serde::{Deserialize, Serialize};

use crate::ids::{GroupId, WorkerId};

/// The port that torch's users expect.
pub const DEFAULT_PORT: u16 = 29_500;

/// A named set of workers with the way to launch them. A worker is in one group at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    pub id: GroupId,
    pub name: String,
    #[serde(default)]
    pub workers: Vec<WorkerId>,
    #[serde(default)]
    pub launch: LaunchConfig,
}

/// How a group is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchConfig {
    /// The name of the master node, such as `gn6`; a group without one cannot start.
    pub master: Option<String>,
    /// How many processes; all workers of the group when absent.
    pub world_size: Option<u32>,
    pub master_port: u16,
    pub backend: Backend,
}

impl Default for LaunchConfig {
    fn default() -> Self {
        Self { master: None, world_size: None, master_port: DEFAULT_PORT, backend: Backend::default() }
    }
}

/// What carries the collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    #[default]
    Nccl,
    Gloo,
    Mpi,
}

impl Backend {
    /// The word that torch takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nccl => "nccl",
            Self::Gloo => "gloo",
            Self::Mpi => "mpi",
        }
    }

    /// What can run here: NCCL needs a GPU for each rank, gloo takes its place where one has none.
    pub fn resolved(self, every_rank_has_a_gpu: bool) -> Self {
        match self {
            Self::Nccl if !every_rank_has_a_gpu => Self::Gloo,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_says_nothing_has_the_defaults_of_torch() {
        let launch: LaunchConfig = serde_json::from_str("{}").unwrap();
        assert_eq!(launch, LaunchConfig::default());
        assert_eq!((launch.master_port, launch.backend.as_str(), launch.world_size), (29_500, "nccl", None));
    }

    #[test]
    fn nccl_becomes_gloo_where_a_rank_has_no_gpu() {
        assert_eq!(Backend::Nccl.resolved(false), Backend::Gloo);
        assert_eq!(Backend::Nccl.resolved(true), Backend::Nccl);
        assert_eq!(Backend::Mpi.resolved(false), Backend::Mpi);
    }
}

//! A group and how it is launched.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    ids::{GroupId, WorkerId, is_id},
    worker::Worker,
};

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
    /// Grows with every change of its name, workers or configuration.
    #[serde(default)]
    pub version: u64,
}

/// The id of the group in which every worker is that is in no other. It has no name of its own and cannot start.
pub const UNASSIGNED: &str = "unassigned";

impl Group {
    /// The names that groups cannot have, because they mean something else: ids, and the group of the others.
    pub fn is_reserved(name: &str) -> bool {
        name == UNASSIGNED || is_id(name, "group")
    }

    /// Its workers on the environments that exist. One whose environment is not there, or has fewer workers now, is
    /// missing; it is ranked all the same, so that nobody takes its place unasked.
    pub fn members(&self, known: &[Environment]) -> Members {
        let by_name: HashMap<&str, &Environment> =
            known.iter().map(|environment| (environment.name.as_str(), environment)).collect();
        let mut members = Members::default();
        for id in &self.workers {
            let environment = by_name.get(id.node()).filter(|environment| id.index() < environment.worker_count());
            if environment.is_none() {
                members.missing.push(id.clone());
            }
            members.workers.push(Worker {
                id: id.clone(),
                environment: environment.map_or_else(|| "".into(), |environment| environment.id.clone()),
                gpu: environment.filter(|environment| environment.gpu_count() > 0).map(|_| id.index()),
            });
        }
        members
    }
}

/// The workers of a group as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    pub workers: Vec<Worker>,
    /// Those of them that do not exist now.
    pub missing: Vec<WorkerId>,
}

/// How a group is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LaunchConfig {
    /// The name of the master node, such as `gn6`; a group without one cannot start.
    pub master_addr: Option<String>,
    /// How many processes; all workers of the group when absent.
    pub world_size: Option<u32>,
    /// Another one than [`DEFAULT_PORT`] is taken as it stands; from the default on the first free one is taken.
    pub master_port: u16,
    pub backend: Backend,
}

impl LaunchConfig {
    /// The master's name without spaces around it.
    pub fn master(&self) -> Option<&str> {
        self.master_addr.as_deref().map(str::trim).filter(|master| !master.is_empty())
    }

    /// The port that must be had, where one was chosen.
    pub fn pinned_port(&self) -> Option<u16> {
        (self.master_port != DEFAULT_PORT).then_some(self.master_port)
    }
}

impl Default for LaunchConfig {
    fn default() -> Self {
        Self { master_addr: None, world_size: None, master_port: DEFAULT_PORT, backend: Backend::default() }
    }
}

/// What carries the collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    fn a_worker_that_does_not_exist_is_missing_and_keeps_its_place() {
        let group: Group =
            serde_json::from_str(r#"{"id": "group-001", "name": "a", "workers": ["gn6-1", "gn6-2", "gn9-0"]}"#)
                .unwrap();
        let members = group.members(&[crate::environment::tests::environment("env-001", "gn6", 2, "A100", "z")]);
        assert_eq!(members.workers.len(), 3);
        assert_eq!(members.missing, ["gn6-2".parse().unwrap(), "gn9-0".parse().unwrap()]);
        assert_eq!((members.workers[0].environment.as_str(), members.workers[0].gpu), ("env-001", Some(1)));
    }

    #[test]
    fn ids_are_no_names() {
        let reserved = ["unassigned", "group-001", "Group-1"].map(Group::is_reserved);
        let free = ["group", "group-", "llm", "Unassigned"].map(Group::is_reserved);
        assert_eq!((reserved, free), ([true; 3], [false; 4]));
    }

    #[test]
    fn nccl_becomes_gloo_where_a_rank_has_no_gpu() {
        assert_eq!(Backend::Nccl.resolved(false), Backend::Gloo);
        assert_eq!(Backend::Nccl.resolved(true), Backend::Nccl);
        assert_eq!(Backend::Mpi.resolved(false), Backend::Mpi);
    }
}

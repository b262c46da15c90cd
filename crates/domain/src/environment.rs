//! An environment: a place where ranks can run, with one agent in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{EnvironmentId, WorkerId},
    language::Text,
    units::Bytes,
    worker::Worker,
};

/// What is known of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    pub id: EnvironmentId,
    /// The name that people read and that its workers bear, such as `gn6`.
    pub name: String,
    pub kind: EnvironmentKind,
    /// The availability zone; none where nobody said.
    pub zone: Option<String>,
    pub image: Option<String>,
    #[serde(default)]
    pub gpus: Vec<Gpus>,
    pub cpu_cores: u32,
    pub memory: Bytes,
    /// Where other nodes reach it.
    pub address: Option<String>,
    #[serde(default)]
    pub versions: Versions,
    /// How many workers it has where there is no GPU.
    #[serde(default = "one")]
    pub cpu_workers: u32,
    /// Somebody wrote its resources down and no agent has measured them.
    #[serde(default)]
    pub declared: bool,
    /// What its operators say about it, such as `disk=nvme`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub status: EnvironmentStatus,
}

/// GPUs of one model in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gpus {
    /// The short name that people use, such as `A100`.
    pub model: String,
    /// The memory of one.
    pub memory: Bytes,
    pub count: u32,
}

/// What is installed; compared between nodes before a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Versions {
    pub agent: Option<String>,
    pub python: Option<String>,
    pub torch: Option<String>,
    pub cuda: Option<String>,
    pub driver: Option<String>,
    pub nccl: Option<String>,
}

/// What a person opens the environment with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EnvironmentKind {
    Jupyter,
    VsCode,
    Ssh,
    Custom,
}

impl EnvironmentKind {
    /// The kind that people write so.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "jupyter" => Some(Self::Jupyter),
            "vscode" => Some(Self::VsCode),
            "ssh" => Some(Self::Ssh),
            "custom" => Some(Self::Custom),
            _ => None,
        }
    }

    /// The badge on its card.
    pub fn text(self) -> Text {
        match self {
            Self::Jupyter => Text::new("Jupyter", "Jupyter"),
            Self::VsCode => Text::new("VS Code", "VS Code"),
            Self::Ssh => Text::new("SSH", "SSH"),
            Self::Custom => Text::new("自定义", "Custom"),
        }
    }
}

/// Whether an environment can be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EnvironmentStatus {
    /// Its agent answers and it has free workers.
    Running,
    /// Its agent answers; another task holds its workers.
    Busy,
    /// Its agent has been silent for some seconds, which need not mean that it is gone.
    Suspect,
    /// Its agent has been silent for too long, or never came.
    Offline,
    /// An operator has taken it out of service: what runs goes on, nothing new starts.
    Drained,
    /// An operator has declared its machine lost; it serves again when its agent comes.
    Lost,
}

/// What operators have said of an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Duty {
    #[default]
    Serves,
    Drained,
    Lost,
    /// Lost, and drained once it is back.
    LostAndDrained,
}

impl Duty {
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Lost | Self::LostAndDrained)
    }

    /// After its machine was declared lost: what was said of its service holds.
    #[must_use]
    pub fn lost(self) -> Self {
        match self {
            Self::Serves | Self::Lost => Self::Lost,
            Self::Drained | Self::LostAndDrained => Self::LostAndDrained,
        }
    }

    /// After it was taken out of service: a machine that is lost stays so.
    #[must_use]
    pub fn drained(self) -> Self {
        if self.is_lost() { Self::LostAndDrained } else { Self::Drained }
    }
}

/// The longest name of an environment: its workers' names become file names.
pub const LONGEST_NAME: usize = 63;

/// The most workers of an environment.
pub const MOST_WORKERS: u32 = 4_096;

/// Whether an environment may be called so: letters, digits, `-`, `_` and `.`, beginning with neither `.` nor `-`.
pub fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.chars().all(is_plain)
        && !name.starts_with(['.', '-'])
}

impl EnvironmentStatus {
    /// Whether its agent answers.
    pub fn is_reachable(self) -> bool {
        match self {
            Self::Running | Self::Busy => true,
            Self::Suspect | Self::Offline | Self::Drained | Self::Lost => false,
        }
    }

    /// The badge on its card.
    pub fn text(self) -> Text {
        match self {
            Self::Running => Text::new("运行中", "Running"),
            Self::Busy => Text::new("使用中", "Busy"),
            Self::Suspect => Text::new("连接不稳", "Suspect"),
            Self::Offline => Text::new("离线", "Offline"),
            Self::Drained => Text::new("已停用", "Drained"),
            Self::Lost => Text::new("已丢失", "Lost"),
        }
    }

    /// Whether a task may name it. A busy one can be named: the task waits.
    pub fn can_be_chosen(self) -> bool {
        match self {
            Self::Running | Self::Busy | Self::Suspect | Self::Drained => true,
            Self::Offline | Self::Lost => false,
        }
    }
}

impl Environment {
    /// All its GPUs, of whatever model.
    pub fn gpu_count(&self) -> u32 {
        self.gpus.iter().fold(0, |count: u32, gpus| count.saturating_add(gpus.count)).min(MOST_WORKERS)
    }

    /// One worker per GPU, or the configured number where there is none.
    pub fn worker_count(&self) -> u32 {
        match self.gpu_count() {
            0 => self.cpu_workers.min(MOST_WORKERS),
            gpus => gpus,
        }
    }

    /// Its workers, in the order of their indices.
    pub fn workers(&self) -> Vec<Worker> {
        let has_gpus = self.gpu_count() > 0;
        (0..self.worker_count())
            .map(|index| Worker {
                id: WorkerId::new(self.name.clone(), index),
                environment: self.id.clone(),
                gpu: has_gpus.then_some(index),
            })
            .collect()
    }
}

fn one() -> u32 {
    1
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A usual environment: GPUs of one model, 8 cores and 64 GiB per GPU.
    pub(crate) fn environment(id: &str, name: &str, gpus: u32, model: &str, zone: &str) -> Environment {
        Environment {
            id: EnvironmentId::from(id),
            name: name.to_owned(),
            kind: EnvironmentKind::Custom,
            zone: Some(zone.to_owned()),
            image: None,
            gpus: vec![Gpus { model: model.to_owned(), memory: Bytes::from_gib(80), count: gpus }],
            cpu_cores: gpus * 8,
            memory: Bytes::from_gib(u64::from(gpus) * 64),
            address: None,
            versions: Versions::default(),
            cpu_workers: 1,
            declared: true,
            labels: BTreeMap::new(),
            status: EnvironmentStatus::Running,
        }
    }

    #[test]
    fn there_is_one_worker_per_gpu() {
        let workers = environment("env-001", "gn6", 2, "A100", "z").workers();
        let names: Vec<String> = workers.iter().map(|worker| worker.id.to_string()).collect();
        assert_eq!(names, ["gn6-0", "gn6-1"]);
        assert_eq!(workers[1].gpu, Some(1));
    }

    #[test]
    fn without_gpus_the_configured_workers_are_there() {
        let mut environment = environment("env-001", "gn6", 0, "A100", "z");
        environment.cpu_workers = 3;
        assert_eq!(environment.workers().len(), 3);
        assert!(environment.workers().iter().all(|worker| worker.gpu.is_none()));
    }

    #[test]
    fn only_an_offline_environment_cannot_be_chosen() {
        use EnvironmentStatus::{Busy, Offline, Running, Suspect};
        assert_eq!([Running, Busy, Suspect, Offline].map(EnvironmentStatus::is_reachable), [true, true, false, false]);
        assert_eq!([Running, Busy, Suspect, Offline].map(EnvironmentStatus::can_be_chosen), [true, true, true, false]);
    }

    #[test]
    fn json_uses_camel_case_and_the_kinds_of_the_form() {
        let json = serde_json::to_value(environment("env-001", "gn6", 2, "A100", "z")).unwrap();
        assert_eq!(json["cpuCores"], 16);
        assert_eq!(json["kind"], "custom");
        assert_eq!(serde_json::to_value(EnvironmentKind::VsCode).unwrap(), "vscode");
        assert_eq!(json["status"], "running");
    }
}

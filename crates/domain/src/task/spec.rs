//! What a user asks to train.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    framework::Framework,
    healing::RestartPolicy,
    ids::{EnvironmentId, WorkerId},
    ladder::StopLadder,
    preflight::{PreflightInterface, PreflightPolicy},
    task::Selection,
    units::Seconds,
};

/// A training as the user wants it; it never changes. Each launch of it is an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskSpec {
    pub name: String,
    /// None for a command that brings its own data.
    #[serde(default)]
    pub dataset: Option<DatasetChoice>,
    #[serde(default)]
    pub model_id: Option<String>,
    /// Where its workers come from; `launchMode` on the wire.
    #[serde(default, rename = "launchMode")]
    pub selection: Selection,
    pub work: Work,
    #[serde(default)]
    pub source: Option<Source>,
    pub distributed: DistributedConfig,
    #[serde(default)]
    pub options: LaunchOptions,
    #[serde(default)]
    pub policies: Policies,
    /// Higher goes first; equal ones in the order in which they came.
    #[serde(default)]
    pub priority: i32,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

impl TaskSpec {
    /// The environments that it names, in its order, as far as they exist.
    pub fn chosen<'a>(&self, environments: &'a [Environment]) -> Vec<&'a Environment> {
        let find = |id: &EnvironmentId| environments.iter().find(|environment| environment.id == *id);
        self.distributed.node_ids.iter().filter_map(find).collect()
    }

    /// Its variables that are secrets, each with the name of its secret.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let secrets = match &self.work {
            Work::Command { secrets, .. } => Some(secrets),
            Work::Recipe { .. } | Work::Builtin { .. } => None,
        };
        secrets.into_iter().flatten().map(|(variable, secret)| (variable.as_str(), secret.as_str()))
    }
}

/// The version of a dataset that a task trains on; a dataset alone would change under the training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatasetChoice {
    pub dataset_id: String,
    pub dataset_version_id: String,
}

/// What runs in each rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Work {
    /// A program with its arguments. A first word that ends in `.py` is run by the interpreter.
    Command {
        argv: Vec<String>,
        #[serde(default)]
        directory: Option<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Variables whose values are secrets, by the names of these: only the ranks see more than the names.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        secrets: BTreeMap<String, String>,
        /// A Python: its path, or a virtual or conda environment's folder.
        #[serde(default)]
        interpreter: Option<String>,
    },
    /// One of the recipes that Fermi ships; its settings are `options.training`, or a file.
    Recipe {
        name: String,
        /// A training.yaml that every node has under this path.
        #[serde(default)]
        config: Option<String>,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        directory: Option<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        #[serde(default)]
        interpreter: Option<String>,
    },
    /// Fermi's own small trainer, with its flags.
    Builtin {
        #[serde(default)]
        args: Vec<String>,
    },
}

/// Where the code is that a task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Source {
    /// A folder that every node has under this path, such as on a shared disk.
    Path(String),
    /// A folder that was sent once, by its digest; agents fetch it.
    Snapshot(String),
}

/// How the engine is configured; what is not given is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaunchOptions {
    /// nccl or gloo; without GPUs nccl becomes gloo.
    pub backend: Option<String>,
    /// The port of rank 0; a taken one is refused, never moved.
    pub master_port: Option<u16>,
    /// The name or address by which every node reaches the first one, and which ranks see as MASTER_ADDR; the address of
    /// its agent when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_address: Option<String>,
    /// The network interface for NCCL and gloo.
    pub interface: Option<String>,
    /// How long collectives wait, in seconds.
    pub timeout: Option<u64>,
    /// NCCL_DEBUG.
    pub nccl_debug: Option<String>,
    /// Whether InfiniBand may be used.
    pub infiniband: Option<bool>,
    /// Whether GPUs of a node may talk to each other directly.
    pub p2p: Option<bool>,
    /// TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL.
    pub torch_debug: Option<String>,
    /// Whether each CUDA call waits for its end, to find the one that fails.
    pub cuda_launch_blocking: Option<bool>,
    /// Where checkpoints live, an absolute path on every node; best one that all nodes share. Else a folder of the task on
    /// each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_dir: Option<String>,
    /// Whether Python ranks are watched over from inside: steps, phases, collectives, stacks. They are where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<bool>,
    /// Settings of the framework itself, such as ZeRO stage and batch sizes; each framework knows its keys.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub framework: serde_json::Map<String, serde_json::Value>,
    /// A training.yaml as JSON: settings come from it that `framework` does not give.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub training: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Which environments train together, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DistributedConfig {
    pub enabled: bool,
    /// In the user's order.
    pub node_ids: Vec<EnvironmentId>,
    pub master_node: Option<EnvironmentId>,
    pub framework: Option<Framework>,
    pub strategy: Option<Strategy>,
    /// The workers that were chosen in an environment, by number; all of them where nothing is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Vec<u32>>))]
    pub workers: BTreeMap<EnvironmentId, Vec<u32>>,
    /// Workers of the task's group beyond its world size, in the order in which they would be next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub standby: Vec<WorkerId>,
}

/// How many ways the work is divided; a degree that is not given is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Strategy {
    pub data_parallel: u32,
    pub pipeline_parallel: u32,
    pub tensor_parallel: u32,
}

impl Default for Strategy {
    fn default() -> Self {
        Self { data_parallel: 1, pipeline_parallel: 1, tensor_parallel: 1 }
    }
}

impl Strategy {
    /// The number of ranks that it needs.
    pub fn ranks(self) -> u64 {
        u64::from(self.data_parallel)
            .saturating_mul(u64::from(self.pipeline_parallel))
            .saturating_mul(u64::from(self.tensor_parallel))
    }
}

/// What Fermi may do on its own while the task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Policies {
    /// Counted over the whole task, not per node.
    pub restart: RestartPolicy,
    pub stop: StopLadder,
    /// How long a node may be silent before it counts as lost.
    pub node_lost_after: Seconds,
    pub on_disconnect: OnDisconnect,
    /// What becomes of workers whose machine is gone when the next attempt begins.
    #[serde(skip_serializing_if = "Standby::waits")]
    pub standby: Standby,
    /// How long a launch may take until every rank has joined; left out, ranks may take as long as they like once they are
    /// started, and their nodes [`Policies::USUAL_START`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout: Option<Seconds>,
    /// How long the task may have its workers; then it is stopped. Only a task that says so may run before its turn on
    /// workers that are kept for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Seconds>,
    /// Whether it may be asked to save a checkpoint and give its workers to a task of higher priority, where the rules of
    /// the queue allow that.
    #[serde(skip_serializing_if = "is_true")]
    pub preemptible: bool,
    /// Whether its nodes check each other before ranks start; left out, they do not.
    #[serde(skip_serializing_if = "PreflightPolicy::is_off")]
    pub preflight: PreflightPolicy,
    /// Whether ranks use the interface over which that check finds that all nodes reach each other; they do when not given.
    #[serde(skip_serializing_if = "PreflightInterface::is_set")]
    pub preflight_interface: PreflightInterface,
    /// What is done about ranks that hang; it is told in any case.
    #[serde(skip_serializing_if = "OnHang::tells")]
    pub on_hang: OnHang,
    /// After how long without progress a hang ends the attempt, where it shall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang_after: Option<Seconds>,
    /// Whether an interpreter with the rank's imports stands ready beside each rank, for the next restart.
    #[serde(skip_serializing_if = "Warm::is_off")]
    pub warm: Warm,
}

fn is_true(value: &bool) -> bool {
    *value
}

impl Policies {
    /// How long the nodes of a launch may take to come up where nothing else is said.
    pub const USUAL_START: Seconds = Seconds(1_200);
    /// Nodes say every second that they live.
    pub const SHORTEST_NODE_LOST: Seconds = Seconds(3);

    /// After how long a hang ends the attempt where nothing else is said.
    pub const USUAL_HANG: Seconds = Seconds(60);

    /// After how long a hang ends the attempt; none where it is only told.
    pub fn restart_hung_after_ms(&self) -> Option<u64> {
        match self.on_hang {
            OnHang::Tell => None,
            OnHang::Restart => Some(self.hang_after.unwrap_or(Self::USUAL_HANG).as_millis()),
        }
    }

    /// How long ranks go on when the server is not heard; none for ever.
    pub fn server_lease_ms(&self) -> Option<u64> {
        match self.on_disconnect {
            OnDisconnect::Keep => None,
            OnDisconnect::StopAfter(after) => Some(after.as_millis()),
        }
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            restart: RestartPolicy::default(),
            stop: StopLadder::default(),
            node_lost_after: Seconds(15),
            on_disconnect: OnDisconnect::default(),
            standby: Standby::default(),
            start_timeout: None,
            time_limit: None,
            preemptible: true,
            preflight: PreflightPolicy::Off,
            preflight_interface: PreflightInterface::Set,
            on_hang: OnHang::default(),
            hang_after: None,
            warm: Warm::default(),
        }
    }
}

/// Whether those who stand by take the place of workers whose machine is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Standby {
    /// The task waits for the machine.
    #[default]
    Wait,
    /// As many of those that stand by as were lost have ranks in the next attempt; with fewer of them the task waits.
    Replace,
}

impl Standby {
    fn waits(&self) -> bool {
        *self == Self::Wait
    }
}

/// What is done about ranks that hang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OnHang {
    /// Who hangs and where is told, and nothing is done.
    #[default]
    Tell,
    /// The attempt has failed, and the restart policy decides.
    Restart,
}

impl OnHang {
    fn tells(&self) -> bool {
        *self == Self::Tell
    }
}

/// Whether interpreters are parked beside ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Warm {
    /// A restart imports everything again.
    #[default]
    Off,
    On,
    /// They hold a context on the rank's GPU too.
    Cuda,
}

impl Warm {
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// What happens to a training that has lost the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OnDisconnect {
    /// Train on; nobody may start a second attempt meanwhile.
    #[default]
    Keep,
    /// Stop the ranks after this long, so that another attempt may begin. The warden of each node keeps the time.
    StopAfter(Seconds),
}

impl OnDisconnect {
    /// A shorter time would end trainings by a server that is being restarted.
    pub const SHORTEST: Seconds = Seconds(20);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distributed_configuration_of_the_specification_is_read() {
        let json = r#"{"enabled": true, "nodeIds": ["env-001", "env-003", "env-005"], "masterNode": "env-001",
            "framework": "deepspeed", "strategy": {"dataParallel": 2, "pipelineParallel": 4, "tensorParallel": 8}}"#;
        let config: DistributedConfig = serde_json::from_str(json).unwrap();
        assert_eq!(config.framework, Some(Framework::Deepspeed));
        assert_eq!(config.strategy.unwrap().ranks(), 64);
        assert_eq!(config.node_ids.len(), 3);
    }

    #[test]
    fn policies_that_say_nothing_wait_fifteen_seconds_and_keep_training() {
        let policies: Policies = serde_json::from_str("{}").unwrap();
        assert_eq!((policies.node_lost_after, policies.on_disconnect), (Seconds(15), OnDisconnect::Keep));
        assert_eq!(policies.restart_hung_after_ms(), None);
        let restart: Policies = serde_json::from_str(r#"{"onHang": "restart"}"#).unwrap();
        assert_eq!(restart.restart_hung_after_ms(), Some(60_000));
        let stop: OnDisconnect = serde_json::from_str(r#"{"stopAfter": 60}"#).unwrap();
        assert_eq!(stop, OnDisconnect::StopAfter(Seconds(60)));
    }

    #[test]
    fn a_huge_strategy_does_not_overflow() {
        let strategy = Strategy { data_parallel: u32::MAX, pipeline_parallel: u32::MAX, tensor_parallel: u32::MAX };
        assert_eq!(strategy.ranks(), u64::MAX);
    }
}

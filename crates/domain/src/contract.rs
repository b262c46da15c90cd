//! The environment variables a training process sees. Nowhere else is the name of one a string.
//!
//! The union of what torchrun, DeepSpeed's launcher and Composer set, and Fermi's own; scripts written for any of them
//! run unchanged.

use serde::{Deserialize, Serialize};

pub mod engines;
pub mod torchrun;
mod usual;

pub use usual::{Inherited, SIGNALS_TO_HANDLE, Usual, omp_num_threads};

pub const RANK: &str = "RANK";
pub const LOCAL_RANK: &str = "LOCAL_RANK";
pub const WORLD_SIZE: &str = "WORLD_SIZE";
pub const LOCAL_WORLD_SIZE: &str = "LOCAL_WORLD_SIZE";
pub const LOCAL_SIZE: &str = "LOCAL_SIZE";
pub const NODE_RANK: &str = "NODE_RANK";
pub const GROUP_RANK: &str = "GROUP_RANK";
pub const GROUP_WORLD_SIZE: &str = "GROUP_WORLD_SIZE";
pub const CROSS_RANK: &str = "CROSS_RANK";
pub const CROSS_SIZE: &str = "CROSS_SIZE";
pub const ROLE_NAME: &str = "ROLE_NAME";
pub const ROLE_RANK: &str = "ROLE_RANK";
pub const ROLE_WORLD_SIZE: &str = "ROLE_WORLD_SIZE";
pub const MASTER_ADDR: &str = "MASTER_ADDR";
pub const MASTER_PORT: &str = "MASTER_PORT";

pub const TORCHELASTIC_RUN_ID: &str = "TORCHELASTIC_RUN_ID";
pub const TORCHELASTIC_RESTART_COUNT: &str = "TORCHELASTIC_RESTART_COUNT";
pub const TORCHELASTIC_MAX_RESTARTS: &str = "TORCHELASTIC_MAX_RESTARTS";
pub const TORCHELASTIC_USE_AGENT_STORE: &str = "TORCHELASTIC_USE_AGENT_STORE";
pub const TORCHELASTIC_ERROR_FILE: &str = "TORCHELASTIC_ERROR_FILE";
pub const TORCHELASTIC_ENABLE_FILE_TIMER: &str = "TORCHELASTIC_ENABLE_FILE_TIMER";
pub const TORCHELASTIC_SIGNALS_TO_HANDLE: &str = "TORCHELASTIC_SIGNALS_TO_HANDLE";
pub const TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE: &str = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";
pub const TORCH_ELASTIC_SHUTDOWN_TIMEOUT: &str = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
pub const TORCH_NCCL_ASYNC_ERROR_HANDLING: &str = "TORCH_NCCL_ASYNC_ERROR_HANDLING";

pub const OMP_NUM_THREADS: &str = "OMP_NUM_THREADS";
pub const PYTHONUNBUFFERED: &str = "PYTHONUNBUFFERED";
pub const PATH: &str = "PATH";
pub const PYTHONPATH: &str = "PYTHONPATH";
pub const PYTHON_EXEC: &str = "PYTHON_EXEC";
pub const VIRTUAL_ENV: &str = "VIRTUAL_ENV";
pub const CUDA_VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";
pub const HIP_VISIBLE_DEVICES: &str = "HIP_VISIBLE_DEVICES";

pub const FERMI_TASK_ID: &str = "FERMI_TASK_ID";
pub const FERMI_ATTEMPT: &str = "FERMI_ATTEMPT";
pub const FERMI_GENERATION: &str = "FERMI_GENERATION";
pub const FERMI_PROGRESS_FILE: &str = "FERMI_PROGRESS_FILE";
pub const FERMI_OUTPUT_DIR: &str = "FERMI_OUTPUT_DIR";
pub const FERMI_CHECKPOINT_DIR: &str = "FERMI_CHECKPOINT_DIR";
pub const FERMI_RESUME: &str = "FERMI_RESUME";
/// The step that every rank goes on from; not set where the script has to find it.
pub const FERMI_RESUME_STEP: &str = "FERMI_RESUME_STEP";
/// Whether FERMI_CHECKPOINT_DIR is one folder on all nodes.
pub const FERMI_CHECKPOINT_SHARED: &str = "FERMI_CHECKPOINT_SHARED";
pub const FERMI_CHECKPOINT_SIGNAL: &str = "FERMI_CHECKPOINT_SIGNAL";
pub const FERMI_BACKEND: &str = "FERMI_BACKEND";
pub const FERMI_NODE_NAME: &str = "FERMI_NODE_NAME";
pub const FERMI_WORKER_ID: &str = "FERMI_WORKER_ID";
/// Marks every process of a run, so that what outlives its keepers can be found and ended by the next start.
pub const FERMI_RUN_MARK: &str = "FERMI_RUN_MARK";
/// Where the hook of a rank finds its page, and a parked one its order; the hook takes it away before the script begins.
pub const FERMI_HOOK: &str = "FERMI_HOOK";
/// Where Fermi keeps the records of its runs; read by Fermi itself.
pub const FERMI_STATE_DIR: &str = "FERMI_STATE_DIR";
/// The word that nodes must know to join a run; read by Fermi itself.
pub const FERMI_RDZV_SECRET: &str = "FERMI_RDZV_SECRET";
/// The server that commands talk to; read by Fermi itself.
pub const FERMI_SERVER: &str = "FERMI_SERVER";
/// The word that a server wants to hear from those who come from elsewhere; read by Fermi itself.
pub const FERMI_TOKEN: &str = "FERMI_TOKEN";
/// By what that server is known over https.
pub const FERMI_FINGERPRINT: &str = "FERMI_FINGERPRINT";
/// Which `fermi` the recipes and scripts call.
pub const FERMI_BIN: &str = "FERMI_BIN";
/// The language Fermi speaks on the terminal; read by Fermi itself.
pub const FERMI_LANG: &str = "FERMI_LANG";

/// Who a rank is: its place in the world, the same in every attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankPosition {
    pub rank: u32,
    pub local_rank: u32,
    pub world_size: u32,
    pub local_world_size: u32,
    pub node_rank: u32,
    pub node_count: u32,
    pub node_name: String,
    pub role: String,
    /// LOCAL_RANK as the script sees it; 0 for all where each rank is given one device only.
    pub visible_local_rank: u32,
}

/// An address and a port as people and URLs write them.
pub fn endpoint(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// What the ranks of one attempt share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptFacts {
    pub task_id: String,
    /// What torch calls the run; the same on all nodes.
    pub run_id: String,
    /// Marks the processes of this node for the sweep; each node has its own.
    pub mark: String,
    /// Counts from 1; torch's restart count is one less.
    pub attempt: u32,
    pub generation: u64,
    pub max_restarts: u32,
    pub master_addr: String,
    pub master_port: u16,
    /// Whether Fermi hosts torch's store there; else rank 0 does.
    #[serde(default)]
    pub hosted_store: bool,
    /// Whether the script shall continue from a checkpoint.
    pub resume: bool,
    /// Which one, where all nodes have it.
    #[serde(default)]
    pub resume_step: Option<u64>,
    /// Whether all nodes have one checkpoint folder; none where that was not found out.
    #[serde(default)]
    pub checkpoints_shared: Option<bool>,
    /// Where among the ranks of its role this node's are; none where all ranks have one role.
    #[serde(default)]
    pub role: Option<RolePosition>,
}

/// The ranks of a node among those of the same role (`--role`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolePosition {
    pub first_rank: u32,
    pub world_size: u32,
}

/// Where one rank of one attempt writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankFiles {
    /// Empty when logs go nowhere, as torchrun has it.
    pub error_file: String,
    pub progress_file: String,
    pub output_dir: String,
    pub checkpoint_dir: String,
}

/// The variables of one rank in one attempt, in a stable order.
pub fn rank_variables(place: &RankPosition, facts: &AttemptFacts, files: &RankFiles) -> Vec<(String, String)> {
    let mut variables = Vec::with_capacity(36);
    let mut set = |name: &str, value: String| variables.push((name.to_owned(), value));
    set(RANK, place.rank.to_string());
    set(LOCAL_RANK, place.visible_local_rank.to_string());
    set(WORLD_SIZE, place.world_size.to_string());
    set(LOCAL_WORLD_SIZE, place.local_world_size.to_string());
    set(LOCAL_SIZE, place.local_world_size.to_string());
    set(NODE_RANK, place.node_rank.to_string());
    set(GROUP_RANK, place.node_rank.to_string());
    set(GROUP_WORLD_SIZE, place.node_count.to_string());
    set(CROSS_RANK, place.node_rank.to_string());
    set(CROSS_SIZE, place.node_count.to_string());
    set(ROLE_NAME, place.role.clone());
    let (role_rank, role_world_size) = match facts.role {
        Some(role) => (role.first_rank.saturating_add(place.local_rank), role.world_size),
        None => (place.rank, place.world_size),
    };
    set(ROLE_RANK, role_rank.to_string());
    set(ROLE_WORLD_SIZE, role_world_size.to_string());
    set(MASTER_ADDR, facts.master_addr.clone());
    set(MASTER_PORT, facts.master_port.to_string());
    set(TORCHELASTIC_RUN_ID, facts.run_id.clone());
    set(TORCHELASTIC_RESTART_COUNT, facts.attempt.saturating_sub(1).to_string());
    set(TORCHELASTIC_MAX_RESTARTS, facts.max_restarts.to_string());
    // torch reads it as Python writes it.
    set(TORCHELASTIC_USE_AGENT_STORE, if facts.hosted_store { "True" } else { "False" }.to_owned());
    set(TORCHELASTIC_ERROR_FILE, files.error_file.clone());
    set(PYTHONUNBUFFERED, "1".to_owned());
    set(FERMI_TASK_ID, facts.task_id.clone());
    set(FERMI_ATTEMPT, facts.attempt.to_string());
    set(FERMI_GENERATION, facts.generation.to_string());
    set(FERMI_PROGRESS_FILE, files.progress_file.clone());
    set(FERMI_OUTPUT_DIR, files.output_dir.clone());
    set(FERMI_CHECKPOINT_DIR, files.checkpoint_dir.clone());
    if let Some(shared) = facts.checkpoints_shared {
        set(FERMI_CHECKPOINT_SHARED, u8::from(shared).to_string());
    }
    if facts.resume {
        set(FERMI_RESUME, "1".to_owned());
    } else if facts.attempt > 1 {
        // A script that knows torch's restart count alone would resume.
        set(FERMI_RESUME, "0".to_owned());
    }
    if let Some(step) = facts.resume_step.filter(|_| facts.resume) {
        set(FERMI_RESUME_STEP, step.to_string());
    }
    set(FERMI_NODE_NAME, place.node_name.clone());
    set(FERMI_WORKER_ID, format!("{}-{}", place.node_name, place.local_rank));
    set(FERMI_RUN_MARK, facts.mark.clone());
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables_of(attempt: u32) -> Vec<(String, String)> {
        let place = RankPosition {
            rank: 5,
            local_rank: 1,
            world_size: 14,
            local_world_size: 4,
            node_rank: 1,
            node_count: 3,
            node_name: "gn6".into(),
            role: "default".into(),
            visible_local_rank: 1,
        };
        let facts = AttemptFacts {
            task_id: "run-1".into(),
            run_id: "run-1".into(),
            mark: "run-1".into(),
            attempt,
            generation: 1,
            max_restarts: 3,
            master_addr: "127.0.0.1".into(),
            master_port: 29500,
            hosted_store: attempt == 1,
            resume: attempt == 2,
            resume_step: (attempt == 2).then_some(128),
            checkpoints_shared: Some(attempt == 1),
            role: (attempt == 2).then_some(RolePosition { first_rank: 2, world_size: 6 }),
        };
        let files = RankFiles {
            error_file: "/e".into(),
            progress_file: "/p".into(),
            output_dir: "/o".into(),
            checkpoint_dir: "/c".into(),
        };
        rank_variables(&place, &facts, &files)
    }

    fn value<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
        variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn every_variable_of_torchrun_is_there_and_none_twice() {
        let variables = variables_of(1);
        for name in [
            "RANK",
            "LOCAL_RANK",
            "WORLD_SIZE",
            "LOCAL_WORLD_SIZE",
            "GROUP_RANK",
            "GROUP_WORLD_SIZE",
            "ROLE_RANK",
            "ROLE_WORLD_SIZE",
            "ROLE_NAME",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RESTART_COUNT",
            "TORCHELASTIC_MAX_RESTARTS",
            "TORCHELASTIC_RUN_ID",
            "TORCHELASTIC_USE_AGENT_STORE",
            "TORCHELASTIC_ERROR_FILE",
        ] {
            assert_eq!(variables.iter().filter(|(key, _)| key == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_first_attempt_has_restart_count_zero_and_does_not_resume() {
        let first = variables_of(1);
        assert_eq!(value(&first, TORCHELASTIC_RESTART_COUNT), Some("0"));
        assert_eq!(value(&first, FERMI_ATTEMPT), Some("1"));
        assert_eq!(value(&first, FERMI_RESUME), None);
        let second = variables_of(2);
        assert_eq!(value(&second, TORCHELASTIC_RESTART_COUNT), Some("1"));
        assert_eq!(value(&second, FERMI_RESUME), Some("1"));
        assert_eq!((value(&first, FERMI_RESUME_STEP), value(&second, FERMI_RESUME_STEP)), (None, Some("128")));
        assert_eq!(value(&first, FERMI_CHECKPOINT_SHARED), Some("1"));
        assert_eq!((value(&first, ROLE_RANK), value(&first, ROLE_WORLD_SIZE)), (Some("5"), Some("14")));
        assert_eq!((value(&second, ROLE_RANK), value(&second, ROLE_WORLD_SIZE)), (Some("3"), Some("6")));
        assert_eq!(value(&first, TORCHELASTIC_USE_AGENT_STORE), Some("True"));
        assert_eq!(value(&second, TORCHELASTIC_USE_AGENT_STORE), Some("False"));
    }

    #[test]
    fn an_address_with_colons_gets_brackets_before_a_port() {
        assert_eq!(endpoint("gn6", 29500), "gn6:29500");
        assert_eq!(endpoint("fd77::1", 29500), "[fd77::1]:29500");
    }

    #[test]
    fn a_later_attempt_that_begins_anew_says_so() {
        let anew = variables_of(3);
        assert_eq!((value(&anew, FERMI_RESUME), value(&anew, FERMI_RESUME_STEP)), (Some("0"), None));
        assert_eq!(value(&anew, FERMI_CHECKPOINT_SHARED), Some("0"));
    }

    #[test]
    fn the_reference_page_has_every_variable() {
        let page = include_str!("../../../docs/reference/environment.md");
        let registry =
            [include_str!("contract.rs"), include_str!("contract/engines.rs"), include_str!("contract/torchrun.rs")];
        let constants = registry.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with("pub const "));
        for name in constants.filter_map(|line| line.split('"').nth(1)) {
            assert!(page.contains(&format!("`{name}`")), "docs/reference/environment.md does not have {name}");
        }
    }
}

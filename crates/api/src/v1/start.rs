//! What a rank was started with.

use std::collections::BTreeMap;

use fermi_domain::access::secret::MASK;
use fermi_domain::launch::{self, StartRecord};
use fermi_domain::task::TaskSpec;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The start of one rank in one attempt, as its node wrote it down. Secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RankStart {
    pub attempt: u32,
    pub rank: u32,
    pub local_rank: u32,
    /// The node's name, such as `gn6`.
    pub node: String,
    /// The system account that it ran as, where it was not the agent's own.
    pub account: Option<String>,
    pub pid: i32,
    pub started_at: u64,
    /// The release that started it.
    pub fermi: String,
    pub argv: Vec<String>,
    /// Where it began; none for the folder of its agent.
    pub directory: Option<String>,
    /// The variables that it was given. What it inherited from its agent's environment is not among them.
    pub env: BTreeMap<String, String>,
    /// The CPUs that it was bound to; empty where it was bound to none.
    pub cpus: Vec<u32>,
    /// Whether it went on from an interpreter that stood ready (`warm`).
    pub is_released: bool,
    /// Something was too long to be kept, and is not here as it was.
    pub is_cut: bool,
    /// The attempts of which starts are kept.
    pub attempts: Vec<u32>,
}

impl RankStart {
    /// One rank of a record; none where it is not in it. Agents mask secrets before they send; what the task names as one is
    /// masked again, whatever the agent.
    pub fn of(record: &StartRecord, rank: u32, spec: &TaskSpec) -> Option<Self> {
        let launch::RankStart { rank, local_rank, pid, started_ms, argv, directory, mut env, cpus, is_released } =
            record.of_rank(rank)?;
        let of_node = &record.of_node;
        for (variable, _) in spec.secrets() {
            env.entry(variable.to_owned()).and_modify(|value| MASK.clone_into(value));
        }
        Some(Self {
            attempt: of_node.attempt,
            rank,
            local_rank,
            node: of_node.node.clone(),
            account: of_node.account.clone(),
            pid,
            started_at: started_ms,
            fermi: of_node.fermi.clone(),
            argv,
            directory,
            env,
            cpus: cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect(),
            is_released,
            is_cut: record.is_cut,
            attempts: Vec::new(),
        })
    }
}

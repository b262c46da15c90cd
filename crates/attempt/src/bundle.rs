//! Everything the supervisor of a node needs, decided before anything starts.

use std::path::PathBuf;

use fermi_domain::checkpoint::{Fence, ResumePlan};
use fermi_domain::contract::{self, AttemptFacts, RankFiles, RankPosition};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::StopLadder;
use fermi_domain::language::Setting;
use fermi_domain::launch::{RunPolicy, Serves};
use fermi_process::account::SystemAccount;
use fermi_process::lease::ServerLease;
use fermi_process::output::Show;
use fermi_process::spawn::RankCommand;
use serde::{Deserialize, Serialize};

use crate::deferred::Deferred;
use crate::hook::HookPlan;
use crate::node_message::{NodePosition, Start};
use crate::run_folder::RankFolder;

pub const VERSION: u32 = 1;

/// The launch of a run on one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeBundle {
    pub version: u32,
    /// Names this launch on this machine: the mark of its processes, its cgroup, its live note.
    pub run_id: String,
    /// What ranks see as FERMI_TASK_ID.
    pub task_id: String,
    /// What torch calls the run: the user's `--rdzv-id`, else the run's own id.
    pub torch_run_id: String,
    pub generation: u64,
    /// Whose checkpoints this run writes: the same over all generations.
    #[serde(default)]
    pub owner: String,
    /// Attempts that earlier launches of the task made; the first one here is one more.
    #[serde(default)]
    pub attempts_before: u32,
    /// Where the notes on living runs are, for the sweep of a later start.
    pub live_folder: PathBuf,
    /// Journal, logs and exit records; none when the user wants them nowhere.
    pub run_folder: Option<PathBuf>,
    pub output_dir: PathBuf,
    pub checkpoint_dir: PathBuf,
    pub node_name: String,
    pub gathering: Gathering,
    pub master_addr: String,
    pub master_port: MasterPort,
    pub ranks: Vec<RankPlan>,
    /// Who says where in the world the ranks are.
    #[serde(default, rename = "places")]
    pub numbering: RankNumbering,
    /// What can be written down only once rank 0 has its port.
    #[serde(default, rename = "late")]
    pub deferred: Deferred,
    /// What the first node's supervisor offers to the ranks while they run.
    #[serde(default)]
    pub serves: Serves,
    /// Whether that is the store at which the ranks of a torch program meet; else rank 0 hosts it.
    #[serde(default)]
    pub hosts_store: bool,
    /// The one place in the world for which variables and files of a framework were made, when they were made before the
    /// nodes had met.
    #[serde(default)]
    pub made_for: Option<NodePosition>,
    pub restarts: RestartPolicy,
    pub ladder: StopLadder,
    pub start_timeout_ms: Option<u64>,
    /// What the run holds from the server: its ranks end when it has not been heard for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_lease: Option<ServerLease>,
    /// Continue from the newest checkpoint already in the first attempt.
    pub resume: bool,
    /// Lines of stdout with one of these words go to `filtered_stdout.log` too.
    pub stdout_filters: Vec<String>,
    pub stderr_filters: Vec<String>,
    /// What ranks load before their script; none where they are not Python's, or the user wants none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<HookPlan>,
    /// Whose processes the ranks are; the supervisor's own account where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<SystemAccount>,
    /// Variables whose values are written down nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_variables: Vec<String>,
}

/// How the nodes of a run come together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gathering {
    pub nodes: u32,
    /// With so many the run may start; fewer than `nodes` makes it elastic.
    pub least_nodes: u32,
    /// How long an elastic run that has enough nodes waits for more at its first start.
    pub last_call_ms: u64,
    /// The node rank this node wants; none for any free one.
    pub node_rank: Option<u32>,
    /// Whether this node's supervisor coordinates; the others come to it at the master's address and port.
    pub coordinates: bool,
    /// Whether it follows instead where another node on this machine coordinates already: the first to come does.
    #[serde(default)]
    pub may_follow: bool,
    /// Which run is meant, for nodes of two runs that meet at one port.
    pub run: String,
    pub secret: String,
    pub join_timeout_ms: u64,
    /// After how long a silence a node counts as lost.
    pub node_lost_after_ms: u64,
}

impl Gathering {
    /// For how long the ranks of a node may go on from when the coordinator has heard it. An elastic run goes on without
    /// a node, so that its ranks must be ended by then; in a run of a fixed size the others wait for it.
    pub fn member_lease_ms(&self) -> Option<u64> {
        self.is_elastic().then_some(self.node_lost_after_ms / 5 * 3)
    }

    /// After how long a silence of the coordinator a node ends its ranks: where it holds a lease, before that ends.
    pub fn coordinator_lost_after_ms(&self) -> u64 {
        if self.is_elastic() { self.node_lost_after_ms / 2 } else { self.node_lost_after_ms }
    }

    /// Settings as the user of this node has made them: a node that is not known by a number has named an endpoint, and
    /// neither address nor port.
    pub fn as_named(&self, mut settings: Vec<Setting>) -> Vec<Setting> {
        if self.node_rank.is_none() {
            for setting in &mut settings {
                if matches!(setting, Setting::MasterAddress | Setting::MasterPort) {
                    *setting = Setting::RendezvousEndpoint;
                }
            }
            settings.dedup();
        }
        settings
    }

    pub fn is_elastic(&self) -> bool {
        self.least_nodes < self.nodes
    }

    /// A run on this node alone.
    pub fn alone() -> Self {
        Self {
            nodes: 1,
            least_nodes: 1,
            last_call_ms: 0,
            node_rank: Some(0),
            coordinates: true,
            may_follow: false,
            run: String::new(),
            secret: String::new(),
            join_timeout_ms: RunPolicy::USUAL_JOIN_MS,
            node_lost_after_ms: RunPolicy::USUAL_NODE_LOST_MS,
        }
    }
}

impl NodeBundle {
    /// Where this node's ranks are by its own count: right when it is alone.
    pub fn own_position(&self) -> NodePosition {
        let first = self.ranks.first().map(|rank| &rank.place);
        NodePosition {
            first_rank: first.map_or(0, |place| place.rank),
            world_size: first.map_or(0, |place| place.world_size),
            node_rank: 0,
            node_count: 1,
        }
    }

    /// Whether this node can come to a coordinator on its own machine. What a framework has made for the first node's
    /// ranks would be wrong for another's.
    pub fn may_follow(&self) -> bool {
        self.gathering.may_follow && self.made_for.is_none()
    }

    /// Whether ranks that others start come to the master's port.
    pub fn others_come(&self) -> bool {
        self.gathering.nodes > 1
            || u32::try_from(self.ranks.len()).is_ok_and(|here| here < self.own_position().world_size)
    }

    /// Makes this node one that comes to a coordinator at this port.
    pub fn follow(&mut self, port: u16) {
        self.gathering.coordinates = false;
        self.gathering.node_rank = None;
        self.master_port = MasterPort::Elsewhere(port);
    }

    /// Tells the ranks where in the world they are, unless they know.
    pub fn take_place(&mut self, position: &NodePosition) {
        if self.numbering == RankNumbering::Known {
            return;
        }
        for RankPlan { place, .. } in &mut self.ranks {
            place.rank = position.first_rank + place.local_rank;
            place.world_size = position.world_size;
            place.node_rank = position.node_rank;
            place.node_count = position.node_count;
        }
    }

    /// What this node's ranks share in the attempt that begins.
    pub fn facts(&self, start: &Start) -> AttemptFacts {
        AttemptFacts {
            task_id: start.task_id.clone(),
            run_id: start.torch_run_id.clone(),
            mark: self.run_id.clone(),
            attempt: start.attempt,
            generation: self.generation,
            max_restarts: self.restarts.max_restarts,
            master_addr: self.master_addr.clone(),
            master_port: start.master_port,
            hosted_store: start.hosted_store,
            resume: start.resume,
            resume_step: start.resume_step,
            checkpoints_shared: start.checkpoints_shared,
            role: start.role,
        }
    }

    /// Where this node's ranks are told to keep checkpoints: the user's own variable wins.
    pub fn checkpoint_folder(&self) -> PathBuf {
        let command = self.ranks.first().map(|rank| &rank.command);
        let named = command.and_then(|command| {
            let (_, value) = command.env.iter().find(|(name, _)| name == contract::FERMI_CHECKPOINT_DIR)?;
            let folder = PathBuf::from(value);
            Some(command.folder.as_ref().map_or_else(|| folder.clone(), |work| work.join(&folder)))
        });
        named.unwrap_or_else(|| self.checkpoint_dir.clone())
    }

    /// How an attempt of this run appears beside its checkpoints.
    pub fn fence(&self, attempt: u32) -> Fence {
        Fence { owner: self.owner.clone(), generation: self.generation, attempt, has_ended: false }
    }

    /// The start of an attempt as this node's coordinator orders it.
    pub fn start(&self, attempt: u32, plan: ResumePlan, master_port: u16, position: NodePosition) -> Start {
        Start {
            task_id: self.task_id.clone(),
            torch_run_id: self.torch_run_id.clone(),
            attempt,
            resume: plan.resume,
            resume_step: plan.step,
            checkpoints_shared: Some(plan.shared),
            master_port,
            hosted_store: self.hosts_store,
            role: None,
            position,
        }
    }

    /// The start of the first attempt as far as it is known before nodes have met and told what they have.
    pub fn foreseen_start(&self, master_port: u16, position: NodePosition) -> Start {
        let plan = ResumePlan { resume: self.resume, ..ResumePlan::FRESH };
        Start { checkpoints_shared: None, ..self.start(1, plan, master_port, position) }
    }

    /// Where a rank of an attempt keeps its files, if anything is kept.
    pub fn rank_folder(&self, rank: &RankPlan, attempt: u32) -> Option<RankFolder> {
        self.run_folder.as_ref().map(|run| RankFolder::of(run, attempt, rank.place.local_rank))
    }

    /// All variables that a rank gets beyond those it inherits: the contract's, then its own, which win.
    pub fn variables(&self, rank: &RankPlan, facts: &AttemptFacts) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let folder = self.rank_folder(rank, facts.attempt);
        let files = RankFiles {
            error_file: folder.as_ref().map(|folder| text(folder.error_file())).unwrap_or_default(),
            progress_file: folder.as_ref().map(|folder| text(folder.progress_file())).unwrap_or_default(),
            output_dir: text(self.output_dir.clone()),
            checkpoint_dir: text(self.checkpoint_dir.clone()),
        };
        let mut variables = contract::rank_variables(&rank.place, facts, &files);
        variables.retain(|(name, _)| rank.command.env.iter().all(|(own, _)| own != name));
        variables.extend(rank.command.env.iter().cloned());
        for (name, value) in self.deferred.variables(rank.place.local_rank, facts.master_port) {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
        }
        variables
    }

    /// What a rank of an attempt starts with: all its words and all its variables.
    pub fn command(&self, rank: &RankPlan, facts: &AttemptFacts) -> RankCommand {
        RankCommand {
            argv: self.deferred.argv(&rank.command.argv, facts.master_port),
            env: self.variables(rank, facts),
            account: self.account.clone(),
            ..rank.command.clone()
        }
    }
}

/// Where rank 0 is, and this node's part in coming together.
#[derive(Clone, Debug)]
pub struct Meeting {
    pub gathering: Gathering,
    pub address: String,
    pub port: MasterPort,
    pub numbering: RankNumbering,
}

/// Who says where in the world the ranks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RankNumbering {
    /// The coordinator, once it knows who has come.
    #[default]
    Assigned,
    /// They were known before: Slurm started each rank as a task of its own. Every one of them comes to the coordinator
    /// like a node, though several share a machine, and their node ranks have the order of the ranks.
    Known,
}

/// Which port rank 0 will listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MasterPort {
    /// Any that is free here.
    Any,
    /// The one the user named; if it is taken that is an error.
    Exactly(u16),
    /// Rank 0 is not on this node: nothing to hold.
    Elsewhere(u16),
}

/// One rank: what to start and where it appears.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankPlan {
    pub place: RankPosition,
    /// Its variables are those beyond the contract's; see [`NodeBundle::command`].
    pub command: RankCommand,
    pub show_stdout: Show,
    pub show_stderr: Show,
}

impl RankPlan {
    /// What is executed, for people.
    pub fn program(&self) -> String {
        self.command.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_meets_at_an_endpoint_is_told_of_that_and_of_no_address() {
        let settings = vec![Setting::RendezvousId, Setting::MasterAddress, Setting::MasterPort];
        let by_number = Gathering { nodes: 2, node_rank: Some(1), coordinates: false, ..Gathering::alone() };
        let by_endpoint = Gathering { node_rank: None, ..by_number.clone() };
        assert_eq!(by_number.as_named(settings.clone()), settings);
        assert_eq!(by_endpoint.as_named(settings), [Setting::RendezvousId, Setting::RendezvousEndpoint]);
    }
}

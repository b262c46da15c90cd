//! A task as the server keeps it: what was asked, and what has become of it.

use std::{collections::HashSet, fmt};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::TaskSpec;
use crate::{
    event::Outcome,
    exit::Exit,
    fleet::LostNumbers,
    hang::HangNote,
    ids::{AttemptNumber, EnvironmentId, Generation, NodeRank, Rank, TaskId, WorkerId},
    language::Text,
    ledger::Ledger,
    phase::{AttemptPhase, TaskPhase},
    principal::Principal,
    rank_map::RankMap,
    start_up::WaitNote,
    verdict::Verdict,
};

/// A task with all that has become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: TaskId,
    pub spec: TaskSpec,
    pub phase: TaskPhase,
    /// Grows with every launch that the server orders; whatever carries an older one is refused.
    pub generation: Generation,
    /// Why it is where it is, when that is not obvious.
    #[serde(default)]
    pub reason: Option<Text>,
    pub created_ms: u64,
    /// Who asked for it; not known of a task that an older release stored.
    #[serde(default)]
    pub created_by: Option<Principal>,
    /// Since when it is in its phase; not known of a task that an older release stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase_since_ms: Option<u64>,
    #[serde(default)]
    pub started_ms: Option<u64>,
    #[serde(default)]
    pub ended_ms: Option<u64>,
    /// Since when it has the workers that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_ms: Option<u64>,
    /// It gave its workers to a task of higher priority, and is first among those of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gave_way: bool,
    /// That it waits for long has been told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_long_wait: bool,
    /// It has been the first in line since it waits: others of its priority stay behind it, after a restart too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_in_line: bool,
    /// Who is which rank, since workers were leased.
    #[serde(default)]
    pub rank_map: Option<RankMap>,
    /// Its nodes in this generation, in the order of node ranks; the first one coordinates.
    #[serde(default)]
    pub nodes: Vec<NodeRun>,
    /// Environments that nodes had in earlier launches, of those that have others now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_nodes: Vec<FormerNode>,
    /// Launches that states of the database may have made which were lost when an older one was put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_generations: Vec<LostNumbers>,
    /// Rank 0's port, once the coordinator has one.
    #[serde(default)]
    pub master_port: Option<u16>,
    #[serde(default)]
    pub attempts: Vec<AttemptRecord>,
    #[serde(default)]
    pub restarts_used: u32,
    /// Not before this time, when a restart waits.
    #[serde(default)]
    pub restart_at_ms: Option<u64>,
    /// A machine of it is lost: the restart that waits begins in the queue, once nothing of this launch is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requeue: bool,
    /// Somebody asked for its end.
    #[serde(default)]
    pub stop: Option<StopIntent>,
    /// How the secret is made that the supervisors of this generation share.
    #[serde(default)]
    pub secret_scheme: SecretScheme,
    /// Continue from the newest checkpoint in the next launch whatever its number.
    #[serde(default)]
    pub resume: bool,
    /// Why it ended.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The coordinator's last word in the journal of another node, until its own brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_end: Option<Box<ToldEnd>>,
    /// Where its time has gone; not known of a task that an older release stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Box<Ledger>>,
    /// The hang that lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<Box<HangNote>>,
    /// Who waits for whom, while the ranks of its attempt have not met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Box<WaitNote>>,
}

/// How a run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldEnd {
    pub outcome: Outcome,
    pub verdict: Verdict,
}

/// How the secret of a generation is made from the server's own. It stands in the task, so that a server that is upgraded
/// while a generation runs gives its late nodes the secret that the others have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SecretScheme {
    /// A bare digest: of generations that an older release has launched.
    #[default]
    Sha256,
    HmacSha256,
}

/// How a task shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopIntent {
    /// At once, without a grace.
    pub force: bool,
    /// And then start again.
    pub then_restart: bool,
    #[serde(default, skip_serializing_if = "StopCause::is_user")]
    pub cause: StopCause,
}

/// Who wants a task to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopCause {
    #[default]
    User,
    /// The time that it may have its workers is over.
    TimeLimit,
    /// A task of higher priority gets its workers.
    GivesWay,
}

impl StopCause {
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

impl StopIntent {
    /// A user asks for the end.
    pub fn by_user(force: bool) -> Self {
        Self { force, then_restart: false, cause: StopCause::User }
    }

    /// A user asks for another launch.
    pub fn to_restart(force: bool) -> Self {
        Self { force, then_restart: true, cause: StopCause::User }
    }
}

/// A task's run on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRun {
    pub environment: EnvironmentId,
    pub name: String,
    pub node_rank: NodeRank,
    /// Counts the launches on this node within the generation: a supervisor that died is replaced by a new one.
    pub incarnation: u32,
    pub state: NodeRunState,
    /// Over which its ranks talk in this generation, where a preflight has found that; else the way to the first node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// The environment that a node had before another took its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormerNode {
    pub node_rank: NodeRank,
    pub environment: EnvironmentId,
    /// The last launch in which it was this one.
    pub until: Generation,
}

/// Where a node's run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NodeRunState {
    /// Not yet: the first node must have a port before the others come.
    Waiting,
    /// It shall be started; whether its agent did so is not known.
    Wanted,
    /// Its supervisor lives.
    Alive,
    /// No process of it is left.
    Gone,
}

/// One launch of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    pub number: AttemptNumber,
    pub generation: Generation,
    pub phase: AttemptPhase,
    pub started_ms: u64,
    #[serde(default)]
    pub ended_ms: Option<u64>,
    pub resumed: bool,
    /// One per rank that has been started, in the order of ranks.
    #[serde(default)]
    pub ranks: Vec<RankRecord>,
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

/// One rank of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankRecord {
    pub rank: Rank,
    pub worker: Option<WorkerId>,
    pub pid: i32,
    pub started_ms: u64,
    #[serde(default)]
    pub ended_ms: Option<u64>,
    #[serde(default)]
    pub exit: Option<Exit>,
}

impl Task {
    /// The user who made it; none of what was made before there were users.
    pub fn owner(&self) -> Option<&str> {
        self.created_by.as_ref().and_then(Principal::user)
    }

    /// A task at its very beginning.
    pub fn new(id: TaskId, spec: TaskSpec, now_ms: u64) -> Self {
        Self {
            id,
            spec,
            phase: TaskPhase::Initializing,
            generation: Generation(0),
            reason: None,
            created_ms: now_ms,
            created_by: None,
            phase_since_ms: Some(now_ms),
            started_ms: None,
            ended_ms: None,
            placed_ms: None,
            gave_way: false,
            told_long_wait: false,
            first_in_line: false,
            rank_map: None,
            nodes: Vec::new(),
            former_nodes: Vec::new(),
            lost_generations: Vec::new(),
            master_port: None,
            attempts: Vec::new(),
            restarts_used: 0,
            restart_at_ms: None,
            requeue: false,
            stop: None,
            secret_scheme: SecretScheme::default(),
            resume: false,
            verdict: None,
            told_end: None,
            ledger: Some(Box::new(Ledger::queued_since(now_ms))),
            hang: None,
            waits: None,
        }
    }

    /// The name of a node's run in this generation.
    pub fn run_key(&self, node: &NodeRun) -> RunKey {
        RunKey {
            task: self.id.clone(),
            generation: self.generation,
            node_rank: node.node_rank,
            incarnation: node.incarnation,
        }
    }

    /// The node that a run belongs to, unless the run is of an older launch.
    pub fn node_of(&self, run: &RunKey) -> Option<&NodeRun> {
        self.nodes.iter().find(|node| self.run_key(node) == *run)
    }

    /// The environment of a run of any launch: of one that came before another took its place, the former one; of a task
    /// that is back in the queue the ranks are still known.
    pub fn environment_of(&self, run: &RunKey) -> Option<&EnvironmentId> {
        let of_before = |former: &&FormerNode| former.node_rank == run.node_rank && run.generation <= former.until;
        if let Some(former) = self.former_nodes.iter().filter(of_before).min_by_key(|former| former.until) {
            return Some(&former.environment);
        }
        let node = self.nodes.iter().find(|node| node.node_rank == run.node_rank);
        let of_map = || {
            let mut nodes = self.rank_map.as_ref()?.nodes();
            nodes.find(|node| node.node_rank == run.node_rank).map(|node| node.environment)
        };
        node.map(|node| &node.environment).or_else(of_map)
    }

    /// The environments that were asked for, in that order, and those that it was given.
    pub fn environments(&self) -> Vec<&EnvironmentId> {
        let mut seen = HashSet::new();
        let given = self.nodes.iter().map(|node| &node.environment);
        self.spec.distributed.node_ids.iter().chain(given).filter(|id| seen.insert(*id)).collect()
    }

    /// How many ranks it has.
    pub fn world_size(&self) -> u32 {
        self.rank_map.as_ref().map_or(0, RankMap::world_size)
    }

    /// Whether a rank of an attempt may have written something: one that has been, or that its restarts allow next, since
    /// what ranks write may come before the news that they were started.
    pub fn may_have_written(&self, attempt: u32, rank: u32) -> bool {
        (1..=self.most_attempts()).contains(&attempt) && rank < self.most_ranks()
    }

    /// The greatest number that an attempt of this launch can have, its restarts counted.
    pub fn most_attempts(&self) -> u32 {
        self.newest_attempt().saturating_add(self.spec.policies.restart.max_restarts).saturating_add(1)
    }

    /// The number of the newest attempt; 0 before the first.
    pub fn newest_attempt(&self) -> u32 {
        self.attempt().map_or(0, |attempt| attempt.number.get())
    }

    /// How many ranks it has or has had in an attempt; 0 as long as nobody knows.
    pub fn most_ranks(&self) -> u32 {
        let ranks_of = |record: &AttemptRecord| record.ranks.iter().map(|rank| rank.rank.0 + 1).max().unwrap_or(0);
        self.attempts.iter().map(ranks_of).max().unwrap_or(0).max(self.world_size())
    }

    /// The number after which a launch counts its attempts; `written` is the newest attempt of which something is kept, which
    /// a database that was put back to an older state does not know.
    pub fn attempts_before(&self, written: u32) -> u32 {
        self.newest_attempt().max(written)
    }

    /// Whether the ranks of an attempt end because somebody asked for it, and not because one of them failed.
    pub fn ends_on_request(&self, attempt: u32) -> bool {
        let known = self.attempts.iter().find(|known| known.number.get() == attempt);
        known.is_some_and(|known| match known.phase {
            AttemptPhase::Stopped => true,
            AttemptPhase::Succeeded | AttemptPhase::Failed => false,
            AttemptPhase::Prepared | AttemptPhase::Launching | AttemptPhase::Running | AttemptPhase::Stopping => {
                self.stop.is_some()
            }
        })
    }

    /// The newest attempt.
    pub fn attempt(&self) -> Option<&AttemptRecord> {
        self.attempts.last()
    }
}

/// Names one launch on one node: `task-12-g1-n0-i1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunKey {
    pub task: TaskId,
    pub generation: Generation,
    pub node_rank: NodeRank,
    pub incarnation: u32,
}

/// Why a text names no run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the name of a run, such as task-12-g1-n0-i1")]
pub struct RunKeyError(String);

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-g{}-n{}-i{}", self.task, self.generation, self.node_rank, self.incarnation)
    }
}

impl std::str::FromStr for RunKey {
    type Err = RunKeyError;

    fn from_str(text: &str) -> Result<Self, RunKeyError> {
        let refused = || RunKeyError(text.to_owned());
        let mut parts = text.rsplitn(4, '-');
        let mut number = |letter: char| {
            let digits = parts.next().and_then(|part| part.strip_prefix(letter)).ok_or_else(refused)?;
            let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if is_plain { digits.parse::<u64>().map_err(|_| refused()) } else { Err(refused()) }
        };
        let incarnation = u32::try_from(number('i')?).map_err(|_| refused())?;
        let node_rank = u32::try_from(number('n')?).map_err(|_| refused())?;
        let generation = number('g')?;
        let task = parts.next().filter(|task| !task.is_empty()).ok_or_else(refused)?;
        // It becomes the name of a folder.
        if !task.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return Err(refused());
        }
        Ok(Self {
            task: TaskId::from(task),
            generation: Generation(generation),
            node_rank: NodeRank(node_rank),
            incarnation,
        })
    }
}

impl TryFrom<String> for RunKey {
    type Error = RunKeyError;

    fn try_from(text: String) -> Result<Self, RunKeyError> {
        text.parse()
    }
}

impl From<RunKey> for String {
    fn from(key: RunKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_run_is_read_back() {
        let key: RunKey = "task-12-g3-n0-i2".parse().unwrap();
        assert_eq!((key.task.as_str(), key.generation.0, key.node_rank.0, key.incarnation), ("task-12", 3, 0, 2));
        assert_eq!(key.to_string(), "task-12-g3-n0-i2");
    }

    #[test]
    fn what_names_no_run_or_would_leave_its_folder_is_refused() {
        for text in
            ["", "task-1", "task-1-g1-n0", "../x-g1-n0-i1", "a/b-g1-n0-i1", "t-g+1-n0-i1", "-g1-n0-i1", "t-g1-n0-i"]
        {
            assert!(text.parse::<RunKey>().is_err(), "{text}");
        }
    }
}

//! The words between an agent and its server, as JSON text messages over one WebSocket that the agent opens.
//!
//! This link carries control only: who I am, I live, start this, stop that. What ranks write goes by HTTP, so that a flood
//! of logs never makes a node look dead. See `docs/reference/agent-link.md`.

use std::collections::BTreeMap;

use fermi_domain::access::secret::MASK;
use fermi_domain::dataset::{DatasetExpectation, DatasetSighting};
use fermi_domain::environment::{EnvironmentKind, Gpus, Versions};
use fermi_domain::event::RunEvent;
pub use fermi_domain::fleet::KnownRun;
use fermi_domain::group::Probe;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::language::{Setting, StoredMessage, Text};
use fermi_domain::launch::{NodeLaunch, RunPolicy};
use fermi_domain::preflight::{PreflightNews, PreflightPart};
use fermi_domain::task::{RunKey, Source};
use fermi_domain::units::Bytes;
use fermi_domain::verdict::LeaseHolder;
use serde::{Deserialize, Deserializer, Serialize};

/// The version of these words that this release speaks.
pub const LINK_VERSION: u32 = 1;
/// The oldest version that a server of this release understands; it speaks to an agent in words that the agent's version
/// has.
pub const OLDEST_LINK_VERSION: u32 = 1;
/// Pieces carry the id of their environment in this header.
pub const ENVIRONMENT_HEADER: &str = "x-fermi-environment";
/// And the cluster that they are meant for in this one: the next server at an address may be another's.
pub const CLUSTER_HEADER: &str = "x-fermi-cluster";
/// And the credential of the environment's agent in this one.
pub const CREDENTIAL_HEADER: &str = "x-fermi-credential";
/// And the epoch of the welcome in this one: what was sent to a database that was put back since is not taken.
pub const EPOCH_HEADER: &str = "x-fermi-epoch";
/// The ability of agents that take part in preflights.
pub const ABILITY_PREFLIGHT: &str = "preflight";
/// The ability of agents that let ranks talk over the interface that a preflight has found.
pub const ABILITY_INTERFACE: &str = "interface";
/// The ability of servers that take what ranks were started with as a stream.
pub const ABILITY_STARTS: &str = "starts";
/// The ability of servers that free the workers of a run before all that its ranks wrote has come.
pub const ABILITY_STREAMS_FOLLOW: &str = "streamsFollow";
/// Where the WebSocket is.
pub const LINK_PATH: &str = "/api/agent/v1/link";

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "data")]
pub enum AgentMessage {
    /// Always the first.
    Hello(Box<Hello>),
    /// Each second, with what was measured since.
    Heartbeat(Box<Heartbeat>),
    /// Nothing of this run was started, and nothing will be.
    LaunchFailed(LaunchFailed),
    /// No process of the run is left on this node, and its journal has been taken by the server.
    Gone {
        run: RunKey,
        /// Bytes of its streams are still to come: the agent keeps the run, and says this again without it once they have. Said to
        /// servers alone that have [`ABILITY_STREAMS_FOLLOW`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        streams_follow: bool,
        /// How the run ended, by the record beside its journal: on a full disk the journal may lack its last line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<Box<RunEvent>>,
        /// Whose lease ended it, where one did; agents of older releases do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseHolder>,
        /// Whether the run was brought to its end, so that it had a result, even if none could be kept; agents of older releases do
        /// not say.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_order: bool,
        /// Why its keepers could not start, where they could not; agents of older releases do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_started: Option<Text>,
    },
    /// What a node has found that was asked to look for a master.
    Probed {
        /// The question's.
        number: u64,
        found: Probe,
    },
    /// What a node has seen of the dataset that came with an assignment, before anything of the run is started. A server that
    /// does not know the message has sent no dataset.
    DatasetLooked {
        run: RunKey,
        /// The version's id.
        version: String,
        /// None where it is not there as it is stated; the launch fails then.
        seen: Option<DatasetSighting>,
    },
    /// How it goes with this node's part in a preflight.
    Preflight {
        /// The order's.
        number: u64,
        news: PreflightNews,
    },
}

/// What the server sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "data")]
pub enum ServerMessage {
    Welcome(Welcome),
    /// The link ends here.
    Refused {
        reason: Text,
        hint: Text,
        /// Whose word it is: the agent may have another pass for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Runs there that count as ended, since another machine was put in the place of this one: the agent ends them now. Of a
        /// release before, an agent passes over it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        end: Vec<RunKey>,
    },
    /// Start this, unless it was started already.
    Launch(Box<Assignment>),
    /// End it by its ladder. Sent to the coordinator's node, which ends it everywhere.
    Stop {
        run: RunKey,
    },
    /// End it on this node, now.
    Kill {
        run: RunKey,
    },
    /// The server does not ask for its files any more.
    Forget {
        run: RunKey,
    },
    /// Say in the journal where the ranks of the run stand. An agent that does not know the question is silent.
    Stacks {
        run: RunKey,
    },
    /// Look whether a master can be found and reached from here. An agent that does not know the question is silent.
    Probe(ProbeOrder),
    /// Take part in a preflight. Sent to agents alone that have [`ABILITY_PREFLIGHT`].
    Preflight {
        /// Stands in what is said about it.
        number: u64,
        part: Box<PreflightPart>,
    },
    /// Nobody waits for this part any more.
    EndPreflight {
        number: u64,
    },
}

/// Whom to look for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeOrder {
    /// Stands in the answer.
    pub number: u64,
    /// The master's name.
    pub name: String,
    /// The address under which its agent came.
    #[serde(default)]
    pub address: Option<String>,
    pub port: u16,
    /// Whether the node that is asked is the master itself, which knows whether its port is free.
    #[serde(default)]
    pub is_master: bool,
}

/// Who an agent is and what its machine has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub version: u32,
    /// The release of Fermi.
    pub fermi: String,
    /// Kept in the agent's data folder: tells an agent that comes back from a second one of the same name.
    pub instance: String,
    /// The operating system's name for the machine.
    #[serde(default)]
    pub machine: Option<String>,
    /// Drawn at the start of the agent: tells a connection that is made anew from another agent's.
    #[serde(default)]
    pub process: Option<String>,
    /// What the server has issued at the registration.
    #[serde(default)]
    pub credential: Option<String>,
    /// The seal of the last welcome, and the one that is proposed for the next: a copy of the data folder has old ones.
    #[serde(default)]
    pub seal: Option<String>,
    #[serde(default)]
    pub next_seal: Option<String>,
    /// Those that it has proposed since its last welcome: the server has one of them where a welcome was lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_seals: Vec<String>,
    pub name: String,
    pub kind: EnvironmentKind,
    #[serde(default)]
    pub zone: Option<String>,
    #[serde(default)]
    pub image: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How many workers it has where there is no GPU.
    pub cpu_workers: u32,
    #[serde(default)]
    pub gpus: Vec<Gpus>,
    pub cpu_cores: u32,
    pub memory: Bytes,
    /// The resources were written down by somebody, not measured.
    #[serde(default)]
    pub declared: bool,
    /// Where other nodes reach it; the address it comes from when not given.
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub versions: Versions,
    /// The kernel's boot id.
    pub boot: String,
    /// Whose runs it speaks of; none before the first welcome, and of agents of earlier releases.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Runs whose files it still has.
    #[serde(default)]
    pub runs: Vec<KnownRun>,
    /// Runs of which it has no files and has seen processes; none where it has not looked.
    #[serde(default)]
    pub seen: Option<Vec<RunKey>>,
    /// The task of the highest number that has a folder there: a server that has never given that number has an older state
    /// than it knows, and must not give it to another task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_task: Option<TaskId>,
    /// What it can be asked for beyond what every release knows, such as [`ABILITY_PREFLIGHT`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abilities: Vec<String>,
}

/// The server's answer to a hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    pub environment: EnvironmentId,
    /// Names the server's database; runs of another one are strangers.
    pub cluster: String,
    pub heartbeat_ms: u64,
    /// How often an older state of the database was put back: in another epoch, nothing that the server took counts.
    #[serde(default)]
    pub epoch: u64,
    /// Issued at a registration; to be shown from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// What it takes beyond what every release does, such as [`ABILITY_STARTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abilities: Vec<String>,
}

/// One second of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Heartbeat {
    pub time_ms: u64,
    pub machine: MachineSample,
    pub gpus: Vec<GpuSample>,
    pub ranks: Vec<RankSample>,
    /// Now and then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptThere>,
}

/// What a machine keeps of tasks beyond their runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptThere {
    /// Code that was fetched and unpacked.
    pub sources: KeptFolders,
    /// What ranks wrote, with each task's own copy of its code.
    pub outputs: KeptFolders,
}

/// Folders of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptFolders {
    pub count: u64,
    /// None where they hold more files than are looked at.
    pub bytes: Option<u64>,
    /// Since the agent started.
    pub removed: u64,
    pub removed_bytes: u64,
}

/// What the machine did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSample {
    /// Share of all CPUs, 0 to 1.
    #[serde(deserialize_with = "finite")]
    pub cpu: f32,
    pub memory_used: u64,
    pub memory_total: u64,
    /// Bytes since the sample before, over all interfaces but loopback.
    pub received: u64,
    pub sent: u64,
}

/// What one GPU did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GpuSample {
    pub index: u32,
    /// 0 to 1.
    #[serde(deserialize_with = "finite")]
    pub use_share: f32,
    pub memory_used: u64,
    pub memory_total: u64,
    #[serde(deserialize_with = "finite_or_none")]
    pub temperature: Option<f32>,
    #[serde(deserialize_with = "finite_or_none")]
    pub power_watts: Option<f32>,
}

/// What one rank and all below it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankSample {
    pub task: TaskId,
    pub attempt: u32,
    pub rank: u32,
    /// In CPUs: 1.5 is one and a half.
    #[serde(deserialize_with = "finite")]
    pub cpus: f32,
    pub memory: u64,
}

/// A number beyond an `f32` is read as the largest: an infinite one would be written as `null`, which nobody reads as a number.
fn finite<'de, D: Deserializer<'de>>(source: D) -> Result<f32, D::Error> {
    f64::deserialize(source).map(saturated)
}

fn finite_or_none<'de, D: Deserializer<'de>>(source: D) -> Result<Option<f32>, D::Error> {
    Ok(Option::<f64>::deserialize(source)?.map(saturated))
}

fn saturated(number: f64) -> f32 {
    number.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

/// Why a launch came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFailed {
    pub run: RunKey,
    pub reason: Text,
    pub hint: Text,
    /// What the hint names, so that each reader's front end spells it; older agents do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

impl LaunchFailed {
    /// As it is stored.
    pub fn stored(&self) -> StoredMessage {
        let settings = self.settings.clone();
        let reason = if settings.is_empty() { self.reason.followed_by(&self.hint) } else { self.reason.clone() };
        StoredMessage { reason, settings }
    }
}

/// What a node shall run. On the wire all its parts lie side by side.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub run: RunKey,
    pub task_name: String,
    #[serde(flatten)]
    pub launch: NodeLaunch,
    #[serde(flatten)]
    pub policy: RunPolicy,
    #[serde(flatten)]
    pub master: Master,
    /// The Python that the task names.
    #[serde(default)]
    pub interpreter: Option<String>,
    #[serde(default)]
    pub source: Option<Source>,
    /// Where the task's checkpoints live; a folder of the task on this node where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_dir: Option<String>,
    /// Over which its ranks talk to others, where a preflight has found that; agents of older releases take the way to the
    /// first node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// What must be there before ranks start; agents of older releases do not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetExpectation>,
    /// What the supervisors of this run must know to talk to each other.
    pub secret: String,
    /// The variables of the launch whose values are secrets; agents of older releases take them for any others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_variables: Vec<String>,
    /// Who made the task, as a [`fermi_domain::principal::Principal`] is written; none of what nobody with a name made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Assignment {
    /// A launch by the usual policy, of a task without a name, with no dataset, secrets or folders of its own.
    pub fn new(run: RunKey, launch: NodeLaunch, master: Master) -> Self {
        Self {
            run,
            task_name: String::new(),
            launch,
            policy: RunPolicy::default(),
            master,
            interpreter: None,
            source: None,
            checkpoint_dir: None,
            interface: None,
            dataset: None,
            secret: String::new(),
            secret_variables: Vec::new(),
            owner: None,
        }
    }

    /// As it may be written down: without what only the ranks and their supervisors must know.
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        masked.secret = MASK.to_owned();
        masked.secret_variables.iter().for_each(|name| masked.launch.mask_variable(name));
        masked
    }
}

/// Secrets are not for logs.
impl std::fmt::Debug for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assignment").field("run", &self.run).field("task_name", &self.task_name).finish_non_exhaustive()
    }
}

/// Where the nodes of a run meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Master {
    /// Where all nodes reach the first one.
    #[serde(rename = "masterAddress")]
    pub address: String,
    /// On the first node: the port that the user named, else any. On the others: the one that it got.
    #[serde(rename = "masterPort")]
    pub port: Option<u16>,
}

/// The answer to a piece of a stream: how much of it the server has, safely on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    pub length: u64,
    /// The server's last word on a run, with status 410: it takes nothing of it, now or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwanted: Option<UnwantedRun>,
}

/// Names what is not wanted, so that no answer of another program can be taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnwantedRun {
    pub cluster: String,
    pub run: RunKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As version 1 was first written, with fields that were never filled in and are gone.
    const FIRST: &str = r#"{"run":"task-1-g2-n1-i1","taskName":"训练 'x'","nodeName":"gn6","nodeCount":2,"worldSize":3,
        "ranks":[{"rank":2,"worker":"gn6-5","gpu":5,"env":[["A",[{"place":"masterPort"}]]]}],
        "argv":[[{"place":"python"}],"-u","train.py"],"directory":"/work","interpreter":"/venv","source":{"path":"/src"},
        "files":[{"path":"ds.json","text":"{}"}],"env":[["B","1"]],"serves":"nothing","masterAddress":"10.0.0.6",
        "masterPort":29511,"secret":"s","restarts":{"maxRestarts":2},
        "ladder":{"checkpoint":null,"plannedGraceMs":30000,"failureGraceMs":50},"nodeLostAfterMs":15000,
        "joinTimeoutMs":600000,"startTimeoutMs":null,"attemptsBefore":3,"resume":true,"outputDir":null}"#;

    #[test]
    fn an_assignment_keeps_the_names_that_agents_know() {
        let assignment: Assignment = serde_json::from_str(FIRST).unwrap();
        assert_eq!((assignment.launch.node_count, assignment.launch.ranks.len()), (2, 1));
        assert_eq!((assignment.policy.attempts_before, assignment.policy.resume), (3, true));
        assert_eq!((assignment.master.address.as_str(), assignment.master.port), ("10.0.0.6", Some(29_511)));
        let mut first: serde_json::Value = serde_json::from_str(FIRST).unwrap();
        let fields = first.as_object_mut().unwrap();
        assert!(fields.remove("startTimeoutMs").is_some() && fields.remove("outputDir").is_some());
        // What came later stands as it is meant where it is absent.
        assert!(fields.insert("hasHook".into(), true.into()).is_none());
        assert_eq!(serde_json::to_value(&assignment).unwrap(), first);
    }

    #[test]
    fn what_is_written_down_holds_no_secret() {
        let mut assignment: Assignment = serde_json::from_str(FIRST).unwrap();
        assignment.secret = "of the run".to_owned();
        assignment.launch.set_variable("HF_TOKEN", "hf_1".into());
        assignment.secret_variables = vec!["HF_TOKEN".to_owned()];
        assert!(serde_json::to_string(&assignment).unwrap().contains("hf_1"));
        let masked = serde_json::to_string(&assignment.masked()).unwrap();
        let shown = format!("{assignment:?}");
        for text in [&masked, &shown] {
            assert!(!text.contains("hf_1") && !text.contains("of the run"), "{text}");
        }
        assert!(masked.contains(r#"["HF_TOKEN","***"]"#) && masked.contains(r#"["B","1"]"#), "{masked}");
    }
}

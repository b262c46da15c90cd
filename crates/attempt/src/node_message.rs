//! What the coordinator tells a node to do and what a node reports: the same for its own node and, over a link, for others.
//!
//! No message carries a command line: what a node runs stands in its own bundle, so that the worst that an unknown peer can do
//! is refused.

use fermi_domain::checkpoint::{Fence, NodeCheckpoints};
use fermi_domain::contract::RolePosition;
use fermi_domain::exit::Exit;
use fermi_domain::failure::Reached;
use fermi_domain::hang::{Demand, NodeStanding};
use fermi_domain::ledger::Measured;
use fermi_domain::pulse::{Phase, known_phase};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::coordinator::Failure;
use fermi_domain::event::RunEvent;

/// Where a node's ranks are in the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePosition {
    pub first_rank: u32,
    pub world_size: u32,
    pub node_rank: u32,
    pub node_count: u32,
}

/// An attempt to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    /// The coordinator's names for the run, so that all nodes use the same.
    pub task_id: String,
    pub torch_run_id: String,
    pub attempt: u32,
    pub resume: bool,
    /// The step that all nodes go on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_step: Option<u64>,
    /// Whether all nodes have one checkpoint folder; a coordinator of an older release does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_shared: Option<bool>,
    pub master_port: u16,
    /// Whether the coordinator hosts the store at which torch's ranks meet.
    #[serde(default)]
    pub hosted_store: bool,
    /// Where among the ranks of its role the node's are, where nodes have different ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RolePosition>,
    #[serde(rename = "placement")]
    pub position: NodePosition,
}

/// A look at the checkpoints before an attempt begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// The attempt that is about to write there.
    pub fence: Fence,
    /// The node's own ranks begin here.
    pub first_rank: u32,
    pub mark: MarkDuty,
}

/// What a node does to find out whether all have one folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MarkDuty {
    /// There is no other node, or no mark.
    Nothing,
    /// It leaves a mark in its folder.
    Leave,
    /// It looks for the one that the first node has left.
    Find(SharedMark),
}

/// A small file beside the first node's checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedMark {
    pub name: String,
    pub nonce: String,
}

/// What a node sees of one of its ranks that run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankSeen {
    pub rank: u32,
    /// None without the hook, and where a later release names one that is not known here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_phase")]
    pub phase: Option<Phase>,
    /// Its processes that talk to the master's port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<i32>,
}

/// What a node is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeCommand {
    Start(Start),
    Survey(Survey),
    Signal {
        signal: i32,
    },
    Kill,
    CheckJoined,
    Sweep,
    /// What happened in the run, for the node's own journal and terminal.
    /// None where a later release tells of an event that this one does not know.
    Tell(#[serde(deserialize_with = "known_event")] Option<Box<RunEvent>>),
    /// The run is over.
    Over,
    /// So many collectives were entered by ranks of some node where nothing moves.
    Begun {
        collectives: u64,
        /// The same by process group; a node of an older release does not say.
        #[serde(default, skip_serializing_if = "Demand::is_empty")]
        groups: Demand,
        /// Whether the node is to ask its ranks where they stand; said to those alone that tell how their ranks stand.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
    },
    /// Nothing, except that the coordinator lives.
    Alive,
    /// The answer to a [`NodeReport::Ping`].
    Pong {
        sent_ms: u64,
    },
}

/// What a node reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeReport {
    RankStarted {
        rank: u32,
        local_rank: u32,
        pid: i32,
    },
    RankEnded {
        rank: u32,
        local_rank: u32,
        pid: i32,
        exit: Exit,
        failure: Box<Failure>,
        made_progress: bool,
        /// How far it had come; not known without the hook, nor from a node of an older release.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<Box<Reached>>,
    },
    /// Nothing moves there, and its ranks wait in a collective of this number.
    Begun {
        collectives: u64,
        /// The same by process group; a node of an older release does not say.
        #[serde(default, skip_serializing_if = "Demand::is_empty")]
        groups: Demand,
        /// How its ranks stand, or that they go on; said to coordinators alone that have said that they hear it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<Box<NodeStanding>>,
    },
    /// What the node has found of a hang, for those at the first node to read.
    HangTold {
        #[serde(deserialize_with = "known_event")]
        event: Option<Box<RunEvent>>,
    },
    /// A rank does not move and is not waited for any longer; it still runs.
    RankHung {
        rank: u32,
        failure: Box<Failure>,
        made_progress: bool,
    },
    /// The answer to [`NodeCommand::CheckJoined`].
    NotJoined {
        missing: Vec<u32>,
        /// What is seen of the ranks that run; a node of an older release does not say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ranks: Vec<RankSeen>,
    },
    /// The answer to a [`Survey`].
    Surveyed {
        found: NodeCheckpoints,
        /// What it has left for the others to find.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<SharedMark>,
    },
    /// A newer generation or attempt of this run writes its checkpoints; the node's ranks are ended.
    Superseded {
        generation: u64,
    },
    Swept,
    /// What its ranks have counted in the attempt that is being swept; said to coordinators alone that hear how ranks stand.
    Measured(Measured),
    /// The answer to a sweep that has left something: these processes do not die. [`NodeReport::Swept`] follows when they have.
    StillThere {
        pids: Vec<i32>,
    },
    /// All that ran there was ended, and the node leaves: its link is about to close.
    NothingLeft,
    /// The user at that node asks for the end of the run.
    StopAsked {
        signal: i32,
    },
    KillAsked,
    /// The user at that node asks for its end; where the others can go on without it, they do.
    LeaveAsked {
        signal: i32,
    },
    /// A message of the coordinator did not fit its signature; the node ends its ranks and leaves.
    LinkForged,
    /// Nothing, except that the node lives; as a node of an older release says it.
    Alive,
    /// The node lives, and asks for an answer: with it, it knows that the coordinator has heard it since.
    Ping {
        /// By the node's own clock.
        sent_ms: u64,
    },
}

/// An event of a kind that this release does not know is none; one of a known kind that cannot be read is an error.
fn known_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RunEvent>>, D::Error> {
    let told = serde_json::Value::deserialize(deserializer)?;
    match RunEvent::deserialize(&told) {
        Ok(event) => Ok(Some(Box::new(event))),
        Err(error) => {
            // Be it the event's own name, or one within it such as a kind of hang.
            let is_unknown = error.to_string().starts_with("unknown variant");
            if is_unknown { Ok(None) } else { Err(D::Error::custom(error)) }
        }
    }
}

impl NodeReport {
    /// As a coordinator of an older release understands it, which does not hear how ranks stand; none where nothing is left of it.
    pub fn without_standing(self) -> Option<Self> {
        match self {
            Self::Begun { groups, standing: Some(_), .. } if groups.is_empty() => None,
            Self::Measured(_) => None,
            Self::Begun { collectives, groups, .. } => Some(Self::Begun { collectives, groups, standing: None }),
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_of_ranks_is_read_from_older_and_later_releases() {
        let read = |message: &str| serde_json::from_str::<NodeReport>(message).unwrap();
        let older = NodeReport::NotJoined { missing: vec![3], ranks: Vec::new() };
        assert_eq!(read(r#"{"notJoined":{"missing":[3]}}"#), older);
        assert_eq!(serde_json::to_string(&older).unwrap(), r#"{"notJoined":{"missing":[3]}}"#);
        let seen =
            |phase| NodeReport::NotJoined { missing: vec![], ranks: vec![RankSeen { rank: 1, phase, pids: vec![] }] };
        let told = serde_json::to_string(&seen(Some(Phase::Import))).unwrap();
        assert_eq!(read(&told), seen(Some(Phase::Import)));
        assert_eq!(read(&told.replace("import", "dreams")), seen(None));
    }

    #[test]
    fn how_ranks_stand_is_told_to_those_alone_that_hear_it_and_older_words_are_read() {
        let standing = NodeStanding { attempt: 2, quiet_ms: Some(5), ..NodeStanding::default() };
        let told = |groups: Demand, standing| NodeReport::Begun { collectives: 7, groups, standing };
        let groups: Demand = [("0/0/0".to_owned(), 7)].into();
        let with = told(groups.clone(), Some(Box::new(standing)));
        let without = told(groups, None);
        assert_eq!(with.clone().without_standing(), Some(without.clone()));
        assert_eq!(told(Demand::new(), Some(Box::default())).without_standing(), None);
        assert_eq!(NodeReport::Measured(Measured::default()).without_standing(), None);
        assert_eq!(NodeReport::Swept.without_standing(), Some(NodeReport::Swept));
        let older = r#"{"begun":{"collectives":7,"groups":{"0/0/0":7}}}"#;
        assert_eq!(serde_json::to_string(&without).unwrap(), older);
        assert_eq!(serde_json::from_str::<NodeReport>(older).unwrap(), without);
        let said = serde_json::to_string(&with).unwrap();
        assert_eq!(serde_json::from_str::<NodeReport>(&said).unwrap(), with);
        let later = r#"{"begun":{"collectives":7,"standing":{"attempt":2,"mood":1,"ranks":[{"rank":3,"pid":1,"state":83,
            "phase":"dreams","tomorrow":true}]}}}"#;
        let NodeReport::Begun { standing: Some(standing), .. } = serde_json::from_str(later).unwrap() else { panic!() };
        assert_eq!((standing.ranks[0].rank, standing.ranks[0].phase, standing.quiet_ms), (3, None, None));
        let asks = NodeCommand::Begun { collectives: 0, groups: Demand::new(), asks: true };
        assert_eq!(serde_json::to_string(&asks).unwrap(), r#"{"begun":{"collectives":0,"asks":true}}"#);
        let older = NodeCommand::Begun { collectives: 7, groups: Demand::new(), asks: false };
        assert_eq!(serde_json::from_str::<NodeCommand>(r#"{"begun":{"collectives":7}}"#).unwrap(), older);
    }

    #[test]
    fn an_event_that_this_release_does_not_know_is_passed_over() {
        let read = |message: &str| serde_json::from_str::<NodeCommand>(message);
        assert_eq!(read(r#"{"tell":{"event":"rank.dreamt","rank":3}}"#).unwrap(), NodeCommand::Tell(None));
        let killing = NodeCommand::Tell(Some(Box::new(RunEvent::Killing { attempt: 2 })));
        assert_eq!(read(&serde_json::to_string(&killing).unwrap()).unwrap(), killing);
        let of_tomorrow = r#"{"tell":{"event":"hang.verdict","attempt":1,"sinceMs":5,"kind":"dreams","ranks":[0],"stacks":[],
            "text":{"zh-CN":"","en":""},"hint":{"zh-CN":"","en":""}}}"#;
        assert_eq!(read(of_tomorrow).unwrap(), NodeCommand::Tell(None), "a kind of hang that is not known here");
        // A known event that says too little is a broken message.
        assert!(read(r#"{"tell":{"event":"attempt.killing"}}"#).is_err());
        assert!(read(r#"{"tell":{}}"#).is_err());
    }
}

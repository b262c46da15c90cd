//! What nodes tell each other of ranks that stand still, so that the first one can judge what none of them sees alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sample::{Collective, RankSample, Work};
use super::stack::Frame;
use super::standing::{Demand, GroupStanding};
use super::verdict::HangCase;
use crate::pulse::{Phase, Pulse, known_phase};

/// What a node tells of its ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStanding {
    pub attempt: u32,
    /// For how long nothing has moved there; none where things move again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_ms: Option<u64>,
    #[serde(default)]
    pub ranks: Vec<RankStanding>,
    /// Ranks that have returned 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<u32>,
    /// Whether its ranks were asked at which lines they are and have had the time to say it.
    #[serde(default)]
    pub is_asked: bool,
}

/// What is told of a rank that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankStanding {
    pub rank: u32,
    pub pid: i32,
    pub state: u8,
    /// None without the hook, and where a later release names one that is not known here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_phase")]
    pub phase: Option<Phase>,
    /// Collectives of all its groups.
    #[serde(default)]
    pub begun: u64,
    #[serde(default)]
    pub ended: u64,
    #[serde(default)]
    pub is_ending: bool,
    /// None before that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_busy: Option<bool>,
    /// Whether nobody answers on connections of its: its own node tells that.
    #[serde(default)]
    pub is_cut_off: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStanding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<Collective>,
    /// Where it stands, once that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
}

impl RankStanding {
    pub(super) fn of(sample: &RankSample, is_busy: Option<bool>) -> Self {
        let work = sample.work.clone().unwrap_or_default();
        Self {
            rank: sample.rank,
            pid: sample.pid,
            state: sample.state,
            phase: sample.phase(),
            begun: sample.enqueued(),
            ended: sample.pulse.map_or(0, |pulse| pulse.completed),
            is_ending: sample.is_ending(),
            is_busy,
            is_cut_off: !work.unanswered.is_empty(),
            groups: work.groups,
            collectives: work.collectives,
            frames: Vec::new(),
        }
    }

    /// As if it were seen here.
    fn sample(&self) -> RankSample {
        let pulse = Pulse {
            phase: self.phase,
            enqueued: self.begun,
            completed: self.ended,
            ending_ns: u64::from(self.is_ending),
            ..Pulse::default()
        };
        let (collectives, groups) = (self.collectives.clone(), self.groups.clone());
        RankSample {
            rank: self.rank,
            pid: self.pid,
            pulse: self.phase.is_some().then_some(pulse),
            state: self.state,
            tracer: None,
            work: Some(Work { collectives, groups, ..Work::default() }),
        }
    }
}

/// What is known here of the ranks of other nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere {
    /// How many there are.
    ranks: usize,
    /// What some of them wait for.
    pub demand: Demand,
    /// What nodes have told, with the time since when nothing moves there.
    nodes: BTreeMap<usize, (u64, NodeStanding)>,
}

/// The ranks of all nodes at a time when nothing moves on any of them.
pub(super) struct AllRanks {
    pub samples: Vec<RankSample>,
    pub ended: Vec<u32>,
    /// When something has moved last on a node.
    pub progress_ms: u64,
}

impl Elsewhere {
    pub fn with(ranks: usize) -> Self {
        Self { ranks, ..Self::default() }
    }

    /// Whether ranks run elsewhere too, so that those here may wait for one of them.
    pub fn exists(&self) -> bool {
        self.ranks > 0
    }

    pub fn hear_demand(&mut self, demand: Demand) {
        for (group, begun) in demand {
            let most = self.demand.entry(group).or_default();
            *most = (*most).max(begun);
        }
    }

    pub fn hear(&mut self, node: usize, standing: NodeStanding, now_ms: u64) {
        match standing.quiet_ms {
            Some(quiet_ms) => self.nodes.insert(node, (now_ms.saturating_sub(quiet_ms), standing)),
            None => self.nodes.remove(&node),
        };
    }

    fn told(&self) -> impl Iterator<Item = &RankStanding> {
        self.nodes.values().flat_map(|(_, standing)| &standing.ranks)
    }

    /// None as long as something moves elsewhere, or of some rank it is not known, or is the network's affair, which is told
    /// where it is seen.
    pub fn with_those_here(&self, samples: &[RankSample], ended: &[u32]) -> Option<AllRanks> {
        let ended_there = self.nodes.values().flat_map(|(_, standing)| &standing.ended);
        let known = self.told().count() + ended_there.clone().count();
        if !self.exists() || known != self.ranks || self.told().any(|rank| rank.is_cut_off || rank.phase.is_none()) {
            return None;
        }
        let mut samples: Vec<RankSample> =
            samples.iter().cloned().chain(self.told().map(RankStanding::sample)).collect();
        samples.sort_by_key(|sample| sample.rank);
        let ended = ended.iter().chain(ended_there).copied().collect();
        let progress_ms = self.nodes.values().map(|(since_ms, _)| *since_ms).max().unwrap_or(0);
        Some(AllRanks { samples, ended, progress_ms })
    }

    /// Whether what another node sees of its own ranks is enough for it to tell who hangs.
    pub fn is_told_there(&self) -> bool {
        self.nodes.values().any(|(_, standing)| {
            let samples: Vec<RankSample> = standing.ranks.iter().map(RankStanding::sample).collect();
            !HangCase::of(&samples, &standing.ended, &self.demand).needs_all()
        })
    }

    /// Whether a rank of another node works; none of one that is not there.
    pub fn is_busy(&self, rank: u32) -> Option<bool> {
        self.told().find(|told| told.rank == rank).map(|told| told.is_busy != Some(false))
    }

    /// Whether all nodes have said where their ranks stand.
    pub fn have_said_where(&self) -> bool {
        self.nodes.values().all(|(_, standing)| standing.is_asked)
    }

    pub fn frames(&self) -> BTreeMap<u32, Vec<Frame>> {
        self.told().map(|rank| (rank.rank, rank.frames.clone())).collect()
    }
}

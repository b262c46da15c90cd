//! How far ranks are in each of their process groups.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::sample::RankSample;
use crate::pulse::Pulse;

/// By group how many collectives ranks have entered of which somebody waits in the last.
pub type Demand = BTreeMap<String, u64>;

/// How far a rank is in one of its groups, as its hook tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupStanding {
    /// The same word on all ranks of the group.
    pub group: String,
    /// What people know it by.
    pub name: String,
    /// The first of its ranks, and how many it has.
    pub ranks: Vec<u32>,
    pub size: usize,
    /// Whether it is the one that all ranks are in.
    pub is_default: bool,
    pub begun: u64,
    pub ended: u64,
    /// Whether ranks have sent each other messages in it, which are counted like collectives and only by those two.
    pub has_messages: bool,
}

impl GroupStanding {
    /// All that a rank has entered, as if there were one group.
    fn of_sums(sample: &RankSample) -> Option<Self> {
        let Pulse { enqueued: begun, completed: ended, .. } = sample.pulse?;
        let (group, name) = (String::new(), String::new());
        Some(Self { group, name, ranks: Vec::new(), size: 0, is_default: true, begun, ended, has_messages: false })
    }

    pub fn waits(&self) -> bool {
        self.ended < self.begun
    }
}

/// What of a group is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName {
    pub name: String,
    pub ranks: Vec<u32>,
    pub size: usize,
    pub is_default: bool,
}

/// The standings of all ranks that are seen at one time.
pub(super) struct Standings {
    of_ranks: Vec<(u32, Vec<GroupStanding>)>,
    demand: Demand,
    /// Groups with messages, in which ranks wait.
    messages: BTreeSet<String>,
}

impl Standings {
    /// `elsewhere` is what ranks of other nodes wait for.
    pub fn of(samples: &[RankSample], elsewhere: &Demand) -> Self {
        let of_ranks: Vec<_> = samples.iter().map(|sample| (sample.rank, groups_of(sample))).collect();
        let with_messages: BTreeSet<&str> =
            of_ranks.iter().flat_map(|(_, own)| own).filter(|it| it.has_messages).map(|it| it.group.as_str()).collect();
        let mut demand = demand_of(samples);
        for (group, begun) in elsewhere {
            let most = demand.entry(group.clone()).or_default();
            *most = (*most).max(*begun);
        }
        let (messages, demand): (Demand, Demand) =
            demand.into_iter().partition(|(group, _)| with_messages.contains(group.as_str()));
        Self { demand, messages: messages.into_keys().collect(), of_ranks }
    }

    /// Whether others wait in a collective of a group of its that it has not entered.
    pub fn is_late(&self, sample: &RankSample) -> bool {
        let waits = sample.waits_in_collective();
        // What others wait for of messages is not counted; whoever waits for none may be who has not sent it.
        let is_behind = |it: &GroupStanding| match self.demand.get(&it.group) {
            Some(begun) => it.begun < *begun,
            None => !waits && self.messages.contains(&it.group),
        };
        let is_silent = !waits && sample.groups().is_empty() && self.demand.keys().any(|group| !group.is_empty());
        let own = self.of_ranks.iter().find(|(rank, _)| *rank == sample.rank);
        is_silent || own.is_some_and(|(_, groups)| groups.iter().any(is_behind))
    }

    /// How many ranks here wait in the newest collective of this group.
    fn waiting(&self, group: &str, begun: u64) -> usize {
        let waits = |it: &&GroupStanding| it.group == group && it.begun == begun && it.waits();
        self.of_ranks.iter().filter(|(_, groups)| groups.iter().any(|it| waits(&it))).count()
    }

    /// The collective that most ranks wait in for one of these; for none of these where `these` is empty.
    pub fn awaited(&self, these: &[u32]) -> Option<Awaited<'_>> {
        let is_of_these = |group: &str, begun: u64| {
            these.is_empty()
                || self.of_ranks.iter().any(|(rank, groups)| {
                    these.contains(rank) && groups.iter().any(|it| it.group == group && it.begun < begun)
                })
        };
        let asked = self.demand.iter().filter(|(group, begun)| is_of_these(group, **begun));
        let most = asked.max_by_key(|(group, begun)| (self.waiting(group, **begun), std::cmp::Reverse(group.as_str())));
        most.map(|(group, begun)| Awaited { group, begun: *begun, waiting: self.waiting(group, *begun) })
    }

    /// Those of these ranks that have not entered this collective.
    pub fn behind(&self, awaited: &Awaited<'_>) -> Vec<u32> {
        let late =
            |groups: &[GroupStanding]| groups.iter().any(|it| it.group == awaited.group && it.begun < awaited.begun);
        self.of_ranks.iter().filter(|(_, groups)| late(groups)).map(|(rank, _)| *rank).collect()
    }

    /// Whether another group has as many that wait as this one.
    pub fn is_tied(&self, awaited: &Awaited<'_>) -> bool {
        let same = |(group, begun): (&String, &u64)| {
            group != awaited.group && self.waiting(group, *begun) >= awaited.waiting && awaited.waiting > 0
        };
        self.demand.iter().any(same)
    }

    /// What is said of a group; nothing where ranks have only the one that all are in.
    pub fn name_of(&self, group: &str) -> Option<GroupName> {
        let all = || self.of_ranks.iter().flat_map(|(_, groups)| groups);
        let is_only = all().all(|it| it.is_default);
        let GroupStanding { name, ranks, size, is_default, .. } = all().find(|it| it.group == group)?.clone();
        (!is_only).then_some(GroupName { name, ranks, size, is_default })
    }
}

/// A collective in which ranks wait.
pub(super) struct Awaited<'a> {
    pub group: &'a str,
    pub begun: u64,
    /// How many ranks here are in it.
    pub waiting: usize,
}

/// What ranks wait for here; by no name the most that a rank has entered, for ranks that do not tell of groups.
pub(super) fn demand_of(samples: &[RankSample]) -> Demand {
    let mut demand = Demand::new();
    // What a script that has ended left open is waited for by nobody.
    for sample in samples.iter().filter(|sample| sample.waits_in_collective() && !sample.is_ending()) {
        let sums = GroupStanding::of_sums(sample);
        for group in sample.groups().iter().chain(&sums).filter(|group| group.waits()) {
            let most = demand.entry(group.group.clone()).or_default();
            *most = (*most).max(group.begun);
        }
    }
    demand
}

/// What it tells of its groups, else what it has entered in all of them.
fn groups_of(sample: &RankSample) -> Vec<GroupStanding> {
    match sample.groups() {
        [] => GroupStanding::of_sums(sample).into_iter().collect(),
        told => told.to_vec(),
    }
}

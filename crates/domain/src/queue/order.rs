//! The order of the queue: by priority; then those that gave way, those for whom workers are kept already, and the others
//! by what their users have had; then first come, first served.
//!
//! The first task of a lane that may start counts as one priority higher for every [`Rules::aging`] that it has been the
//! first: every task that can be placed becomes the first of its lane, and no later one can stay before it for ever. Those
//! before it in its lane, which cannot start as things are, are looked at where it is.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, HashSet, btree_map};

use super::line::{Arrival, Entry, Front, LaneKey, Line};
use super::request::Standing;
use super::rules::Rules;

/// The place of a task in the order; the least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    level: Reverse<i64>,
    standing: Rank,
    cost: u64,
    arrival: Arrival,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Returned,
    Kept,
    Usual,
}

/// Merges the lanes into one order. A user's cost may grow meanwhile, never shrink.
#[derive(Debug)]
pub(super) struct QueueOrder<'a> {
    heap: BinaryHeap<Reverse<(Key, usize)>>,
    sources: Vec<Source<'a>>,
}

/// For what a task is looked at: one for which workers are kept has two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Only for the workers that are kept for it, before the others of its priority.
    Kept,
    /// In its place in the order.
    Usual,
}

/// A lane, or a single task for which workers are kept.
#[derive(Debug)]
struct Source<'a> {
    lane: LaneKey,
    rank: Rank,
    rise: Rise,
    head: Option<(Arrival, Entry)>,
    rest: Option<btree_map::Iter<'a, Arrival, Entry>>,
}

/// How many levels the tasks of a lane have risen, up to the first that may start.
#[derive(Clone, Copy, Debug, Default)]
struct Rise {
    levels: i64,
    up_to: Option<Arrival>,
}

impl Rise {
    fn of(front: Front, rules: &Rules, now_ms: u64) -> Self {
        let waited = now_ms.saturating_sub(front.since_ms);
        let steps = rules.aging.map_or(0, |step| waited / step.as_millis().max(1));
        Self { levels: i64::try_from(steps).unwrap_or(i64::MAX), up_to: Some(front.arrival) }
    }

    fn at(self, arrival: Arrival) -> i64 {
        if self.up_to.is_some_and(|last| arrival <= last) { self.levels } else { 0 }
    }
}

impl<'a> QueueOrder<'a> {
    /// The order of the line; `may_start` says of a task whether it could, were the workers that it needs free.
    pub fn new(
        line: &'a Line,
        rules: &Rules,
        kept: &HashSet<u32>,
        costs: &[f64],
        may_start: impl Fn(&Entry) -> bool,
        now_ms: u64,
    ) -> Self {
        let rises: BTreeMap<LaneKey, Rise> = line
            .lanes()
            .iter()
            .filter(|_| rules.aging.is_some())
            .filter_map(|(key, lane)| Some((*key, Rise::of(line.front(key, lane, &may_start)?, rules, now_ms))))
            .collect();
        let rise = |lane: &LaneKey| rises.get(lane).copied().unwrap_or_default();
        let mut sources: Vec<Source<'a>> = Vec::with_capacity(line.lanes().len() + kept.len());
        for place in kept {
            let Some(waiting) = line.at(*place) else { continue };
            let Some(lane) = line.lanes().get(&waiting.lane) else { continue };
            let Some(entry) = lane.get(&waiting.arrival) else { continue };
            sources.push(Source {
                lane: waiting.lane,
                rank: if waiting.lane.standing == Standing::Returned { Rank::Returned } else { Rank::Kept },
                rise: rise(&waiting.lane),
                head: Some((waiting.arrival, *entry)),
                rest: None,
            });
        }
        for (key, lane) in line.lanes() {
            let mut source = Source {
                lane: *key,
                rank: if key.standing == Standing::Returned { Rank::Returned } else { Rank::Usual },
                rise: rise(key),
                head: None,
                rest: Some(lane.iter()),
            };
            source.advance();
            sources.push(source);
        }
        let keys = sources.iter().zip(0..).filter_map(|(source, at)| Some(Reverse((source.key(costs)?, at))));
        Self { heap: keys.collect(), sources }
    }

    /// The next task, as costs are now.
    pub fn next(&mut self, costs: &[f64]) -> Option<(Entry, Visit)> {
        loop {
            let mut top = self.heap.peek_mut()?;
            let Reverse((key, at)) = *top;
            let source = &mut self.sources[at];
            match source.key(costs) {
                Some(now) if now > key => *top = Reverse((now, at)),
                Some(_) => {
                    let visit = if source.rest.is_none() { Visit::Kept } else { Visit::Usual };
                    let entry = source.head.map(|(_, entry)| (entry, visit));
                    source.advance();
                    match source.key(costs) {
                        Some(next) => *top = Reverse((next, at)),
                        None => drop(PeekMut::pop(top)),
                    }
                    return entry;
                }
                None => drop(PeekMut::pop(top)),
            }
        }
    }
}

impl Source<'_> {
    fn advance(&mut self) {
        let next = self.rest.as_mut().and_then(Iterator::next);
        self.head = next.map(|(arrival, entry)| (*arrival, *entry));
    }

    fn key(&self, costs: &[f64]) -> Option<Key> {
        let (arrival, _) = self.head?;
        Some(Key {
            level: Reverse(i64::from(self.lane.priority).saturating_add(self.rise.at(arrival))),
            standing: self.rank,
            cost: costs.get(self.lane.owner.index()).map_or(0, |cost| *cost as u64),
            arrival,
        })
    }
}

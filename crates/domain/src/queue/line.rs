//! The tasks that wait, each in the lane of its user and priority, first come first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::request::{Request, Standing};
use super::shares::Owner;
use crate::ids::TaskId;

/// All tasks that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Shared between a queue and its copies.
    places: Vec<Option<Arc<Waiting>>>,
    unused: Vec<u32>,
    by_task: HashMap<TaskId, u32>,
    lanes: BTreeMap<LaneKey, Lane>,
    /// Tells those apart that came in the same millisecond.
    arrivals: u64,
    /// When the last task of a lane got its workers.
    left_ms: BTreeMap<LaneKey, u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub request: Request,
    pub lane: LaneKey,
    pub arrival: Arrival,
    pub class: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneKey {
    pub owner: Owner,
    pub priority: i32,
    pub standing: Standing,
}

/// When a task came; earlier is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    submitted_ms: u64,
    count: u64,
}

/// The tasks of a lane in the order in which they came.
pub(super) type Lane = BTreeMap<Arrival, Entry>;

/// The task of a lane whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub arrival: Arrival,
    pub since_ms: u64,
}

/// What a walk looks at before it looks at the task itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub place: u32,
    pub class: u32,
    pub owner: Owner,
    pub workers: u64,
    pub limit_ms: Option<u64>,
}

impl Line {
    pub fn len(&self) -> usize {
        self.by_task.len()
    }

    pub fn place(&self, task: &TaskId) -> Option<u32> {
        self.by_task.get(task).copied()
    }

    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.by_task.keys()
    }

    pub fn at(&self, place: u32) -> Option<&Waiting> {
        self.places.get(place as usize)?.as_deref()
    }

    pub fn lanes(&self) -> &BTreeMap<LaneKey, Lane> {
        &self.lanes
    }

    /// The arrival of one that comes now.
    pub fn arrival(&mut self, request: &Request) -> Arrival {
        self.arrivals += 1;
        Arrival { submitted_ms: request.submitted_ms, count: self.arrivals }
    }

    /// Puts a task into its lane. One that is there already must have been removed.
    pub fn insert(&mut self, request: Request, owner: Owner, class: u32, arrival: Arrival) -> u32 {
        let lane = LaneKey { owner, priority: request.priority, standing: request.standing };
        let place = self.unused.pop().unwrap_or(self.places.len() as u32);
        let entry = Entry { place, class, owner, workers: request.need.workers(), limit_ms: request.limit_ms() };
        self.lanes.entry(lane).or_default().insert(arrival, entry);
        self.by_task.insert(request.task.clone(), place);
        let waiting = Some(Arc::new(Waiting { request, lane, arrival, class }));
        match self.places.get_mut(place as usize) {
            Some(unused) => *unused = waiting,
            None => self.places.push(waiting),
        }
        place
    }

    /// The first task of a lane that may start as things are: one that waits for what is not there, or that is over the limits
    /// of its user, lets the next one be the first. It is so since it waits, or since the last task of the lane got its workers,
    /// whichever is later.
    pub fn front(&self, key: &LaneKey, lane: &Lane, may_start: impl Fn(&Entry) -> bool) -> Option<Front> {
        let (arrival, entry) = lane.iter().find(|(_, entry)| may_start(entry))?;
        let left_ms = self.left_ms.get(key).copied().unwrap_or(0);
        let waits_since_ms = self.at(entry.place)?.request.waits_since_ms;
        Some(Front { arrival: *arrival, since_ms: waits_since_ms.max(left_ms) })
    }

    /// A task of this lane got its workers: the next one has not been the first before.
    pub fn left(&mut self, owner: Owner, request: &Request, at_ms: u64) {
        let lane = LaneKey { owner, priority: request.priority, standing: request.standing };
        let known = self.left_ms.entry(lane).or_default();
        *known = at_ms.max(*known);
    }

    pub fn remove(&mut self, task: &TaskId) -> Option<Waiting> {
        let place = self.by_task.remove(task)?;
        let waiting = self.places.get_mut(place as usize)?.take()?;
        self.unused.push(place);
        let lane = self.lanes.get_mut(&waiting.lane)?;
        lane.remove(&waiting.arrival);
        if lane.is_empty() {
            self.lanes.remove(&waiting.lane);
        }
        Some(Arc::unwrap_or_clone(waiting))
    }
}

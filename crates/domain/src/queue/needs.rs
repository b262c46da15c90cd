//! What the waiting tasks need, each need once: tasks with the same need are looked at together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::candidates::{Candidates, Filter, Serving, Tier};
use super::inventory::Inventory;
use super::moment::Latest;
use super::request::{Need, Wish};
use crate::ids::WorkerId;

/// All needs, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    classes: Vec<Class>,
    unused: Vec<u32>,
    by_need: HashMap<Arc<Need>, u32>,
    candidates: HashMap<Filter, Arc<Candidates>>,
    /// Needs that name their workers, by the bay of the first of these: without a free worker there none of them is met.
    by_bay: HashMap<u32, HashSet<u32>>,
    /// Needs that the queue chooses for.
    wishes: HashSet<u32>,
}

/// One need, and what there is to meet it.
#[derive(Clone, Debug)]
pub(super) struct Class {
    need: Arc<Need>,
    tasks: u32,
    /// None of its tasks has a shorter limit; none where no task has one.
    shortest_ms: Option<u64>,
    pub found: Found,
}

/// Where the workers of a need are.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// These, as far as they exist.
    Workers { workers: Vec<u32>, missing: Vec<WorkerId> },
    /// Among these; without tiers it would not fit if all were free.
    Auto { candidates: Arc<Candidates>, tiers: &'static [Tier] },
}

/// What has changed about the environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// Which of them serve.
    Status,
    /// Which there are, and what they have.
    Places,
}

impl Class {
    /// The wish and its candidates, where it is one.
    pub fn wish(&self) -> Option<&Wish> {
        match self.need.as_ref() {
            Need::Auto(wish) => Some(wish),
            Need::Workers(_) => None,
        }
    }

    /// No task that has it and starts now ends before.
    pub fn earliest_end(&self, now_ms: u64) -> Latest {
        Latest::after(now_ms, self.shortest_ms)
    }

    fn one_more(&mut self, limit_ms: Option<u64>) {
        self.tasks += 1;
        self.shortest_ms = self.shortest_ms.into_iter().chain(limit_ms).min();
    }
}

impl Needs {
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    pub fn class(&self, class: u32) -> &Class {
        &self.classes[class as usize]
    }

    /// The number of a need, for one more task with such a limit.
    pub fn add(&mut self, need: &Need, limit_ms: Option<u64>, inventory: &Inventory) -> u32 {
        if let Some(class) = self.by_need.get(need) {
            self.classes[*class as usize].one_more(limit_ms);
            return *class;
        }
        let need = Arc::new(need.clone());
        let found = self.find(&need, inventory);
        let class = Class { need: Arc::clone(&need), tasks: 1, shortest_ms: limit_ms, found };
        let number = match self.unused.pop() {
            Some(number) => {
                self.classes[number as usize] = class;
                number
            }
            None => {
                self.classes.push(class);
                self.classes.len() as u32 - 1
            }
        };
        self.by_need.insert(need, number);
        self.enter(number, inventory);
        number
    }

    /// The needs that the queue chooses for.
    pub fn wishes(&self) -> impl Iterator<Item = u32> {
        self.wishes.iter().copied()
    }

    /// Needs that name a worker of this bay; each is found by one of its bays alone.
    pub fn naming(&self, bay: u32) -> impl Iterator<Item = u32> {
        self.by_bay.get(&bay).into_iter().flatten().copied()
    }

    fn enter(&mut self, number: u32, inventory: &Inventory) {
        match &self.classes[number as usize].found {
            Found::Auto { .. } => {
                self.wishes.insert(number);
            }
            Found::Workers { workers, .. } => {
                if let Some(first) = workers.first() {
                    self.by_bay.entry(inventory.bay_of(*first)).or_default().insert(number);
                }
            }
        }
    }

    /// One task less has it.
    pub fn release(&mut self, number: u32, inventory: &Inventory) {
        let class = &mut self.classes[number as usize];
        class.tasks -= 1;
        if class.tasks == 0 {
            self.by_need.remove(&class.need);
            self.wishes.remove(&number);
            if let Found::Workers { workers, .. } = &class.found
                && let Some(bay) = workers.first().map(|first| inventory.bay_of(*first))
                && let Some(naming) = self.by_bay.get_mut(&bay)
            {
                naming.remove(&number);
            }
            class.found = Found::Workers { workers: Vec::new(), missing: Vec::new() };
            self.unused.push(number);
        }
    }

    /// Looks again, because environments have changed.
    pub fn refresh(&mut self, inventory: &Inventory, changed: Changed) {
        // Also forgets the filters that are out of use.
        self.candidates.clear();
        if changed == Changed::Places {
            self.by_bay.clear();
        }
        let used: Vec<u32> = self.by_need.values().copied().collect();
        for number in used {
            let need = Arc::clone(&self.classes[number as usize].need);
            if changed == Changed::Places || matches!(*need, Need::Auto(_)) {
                self.classes[number as usize].found = self.find(&need, inventory);
            }
            if changed == Changed::Places {
                self.enter(number, inventory);
            }
        }
    }

    fn find(&mut self, need: &Need, inventory: &Inventory) -> Found {
        match need {
            Need::Workers(wanted) => {
                let mut workers: Vec<u32> = wanted.iter().filter_map(|worker| inventory.number(worker)).collect();
                workers.sort_unstable();
                workers.dedup();
                let missing = wanted.iter().filter(|worker| inventory.number(worker).is_none()).cloned().collect();
                Found::Workers { workers, missing }
            }
            Need::Auto(wish) => {
                let filter = Filter::of(wish);
                let candidates = self.candidates.entry(filter);
                let candidates =
                    candidates.or_insert_with_key(|filter| Arc::new(Candidates::find(inventory, filter, Serving::Now)));
                let candidates = Arc::clone(candidates);
                Found::Auto { tiers: candidates.tiers(inventory, wish.size), candidates }
            }
        }
    }
}

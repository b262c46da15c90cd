//! Which running tasks give way: whole gangs, the lowest priority first, the youngest first, no more than needed.

use std::collections::{BTreeSet, HashMap};

use super::candidates::{BayGroup, Candidates, Tier};
use super::inventory::Inventory;
use super::request::Size;
use super::running::{Running, Stopping};
use super::sheet::Sheet;
use crate::ids::TaskId;

/// Looks for tasks whose workers would let one of a given priority start. Those that are ending already count as gone.
#[derive(Debug)]
pub(super) struct Search<'a> {
    sheet: &'a Sheet<'a>,
    running: &'a HashMap<TaskId, Running>,
    priority: i32,
}

impl<'a> Search<'a> {
    pub fn new(sheet: &'a Sheet<'a>, running: &'a HashMap<TaskId, Running>, priority: i32) -> Self {
        Self { sheet, running, priority }
    }

    /// For a task that needs these very workers; none where one of them cannot be had.
    pub fn for_workers(&self, workers: &[u32]) -> Option<Vec<TaskId>> {
        let mut victims = BTreeSet::new();
        for worker in workers.iter().filter(|worker| !self.is_coming(**worker)) {
            let holder = self.running.get(&self.sheet.inventory.taken(*worker)?.task)?;
            self.gives_way(holder).then(|| victims.insert(holder.request.task.clone()))?;
        }
        Some(victims.into_iter().collect())
    }

    /// For a task that the queue chooses workers for; none where all that give way would not be enough.
    pub fn for_wish(&self, candidates: &Candidates, size: Size, tiers: &[Tier]) -> Option<Vec<TaskId>> {
        let inventory = self.sheet.inventory;
        let mut order: Vec<(&Running, Vec<u32>)> = self
            .running
            .values()
            .filter(|running| self.gives_way(running))
            .map(|running| (running, self.workers_of(running)))
            .collect();
        order.sort_by(|(a, _), (b, _)| {
            let youngest = b.started_ms.cmp(&a.started_ms);
            a.request.priority.cmp(&b.request.priority).then(youngest).then_with(|| a.request.task.cmp(&b.request.task))
        });
        let coming: Vec<u32> = inventory
            .bays()
            .iter()
            .map(|bay| bay.workers().filter(|worker| self.is_coming(*worker)).count() as u32)
            .collect();
        let with = |victims: &[&(&Running, Vec<u32>)]| {
            let mut counts = coming.clone();
            for worker in victims.iter().flat_map(|(_, workers)| workers) {
                counts[inventory.bay_of(*worker) as usize] += 1;
            }
            counts
        };
        let group = |counts: &[u32]| {
            let mut groups = tiers.iter().flat_map(|tier| candidates.groups(*tier));
            groups.find(|group| is_enough(inventory, group, size, counts))
        };
        let all: Vec<&(&Running, Vec<u32>)> = order.iter().collect();
        // The more give way the more fits: the shortest beginning of the order that is enough.
        let (mut too_few, mut enough) = (0, all.len());
        if group(&with(&[])).is_some() {
            return Some(Vec::new());
        }
        group(&with(&all))?;
        while enough - too_few > 1 {
            let middle = usize::midpoint(too_few, enough);
            if group(&with(&all[..middle])).is_some() { enough = middle } else { too_few = middle }
        }
        let group = group(&with(&all[..enough]))?;
        let touches = |workers: &[u32]| workers.iter().any(|worker| group.bays.contains(&inventory.bay_of(*worker)));
        let mut victims: Vec<_> = all[..enough].iter().copied().filter(|(_, workers)| touches(workers)).collect();
        // Those that matter most are spared first.
        for at in (0..victims.len()).rev() {
            let spared = victims.remove(at);
            if !is_enough(inventory, group, size, &with(&victims)) {
                victims.insert(at, spared);
            }
        }
        Some(victims.iter().map(|(running, _)| running.request.task.clone()).collect())
    }

    fn gives_way(&self, running: &Running) -> bool {
        running.request.preemptible && running.request.priority < self.priority && running.stopping == Stopping::No
    }

    fn workers_of(&self, running: &Running) -> Vec<u32> {
        let inventory = self.sheet.inventory;
        let held = running.workers.iter().filter_map(|worker| inventory.number(worker));
        held.filter(|worker| self.sheet.kept(*worker).is_none()).collect()
    }

    /// Free, or of a task that is ending; and kept for no other.
    fn is_coming(&self, worker: u32) -> bool {
        let is_ending = || {
            let taken = self.sheet.inventory.taken(worker);
            let holder = taken.and_then(|taken| self.running.get(&taken.task));
            holder.is_some_and(|holder| holder.stopping != Stopping::No)
        };
        self.sheet.kept(worker).is_none() && (self.sheet.is_free(worker) || is_ending())
    }
}

fn is_enough(inventory: &Inventory, group: &BayGroup, size: Size, counts: &[u32]) -> bool {
    let counts = group.bays.iter().map(|bay| (*bay, counts[*bay as usize]));
    let large = counts.filter(|(_, count)| *count >= size.workers);
    let mut environments: Vec<u32> = large.map(|(bay, _)| inventory.environment_number(bay)).collect();
    environments.dedup();
    environments.len() >= size.nodes as usize
}

//! When a task can start at the latest, and on which workers: what is kept for the first in line.

use std::collections::HashSet;

use super::candidates::{BayGroup, Candidates, Tier};
use super::moment::Latest;
use super::request::Size;
use super::sheet::Sheet;

/// The workers that a task waits for, and when the last of them is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forecast {
    pub workers: Vec<u32>,
    pub from: Latest,
    unknown: usize,
}

impl Forecast {
    /// Of these very workers.
    pub fn of(sheet: &Sheet<'_>, workers: Vec<u32>) -> Self {
        let from = workers.iter().map(|worker| sheet.available(*worker)).max().unwrap_or(Latest::At(sheet.now_ms));
        let unknown = workers.iter().filter(|worker| sheet.available(**worker) == Latest::Unknown).count();
        Self { workers, from, unknown }
    }

    /// What comes to pass first; with ends that are not known, what depends on the fewest of them.
    fn order(&self) -> (usize, Latest) {
        (self.unknown, self.from)
    }

    /// Whether it is worth giving up what was kept so far. Never for another set without a bound: then the first in line
    /// would begin to wait anew.
    pub fn is_better_than(&self, kept: &Self) -> bool {
        self.unknown == 0 && self.order() < kept.order()
    }
}

/// The earliest of all choices among the pools in which nothing is kept yet for another task.
pub(super) fn earliest(
    sheet: &Sheet<'_>,
    candidates: &Candidates,
    size: Size,
    tiers: &[Tier],
    is_pool_open: impl Fn(u32) -> bool,
) -> Option<Forecast> {
    // A start takes whatever tier is there first; of equals the closest.
    let groups = tiers.iter().flat_map(|tier| candidates.groups(*tier));
    let open = groups.filter(|group| group.pools.iter().all(|pool| is_pool_open(*pool)));
    open.filter_map(|group| of_group(sheet, group, size)).min_by_key(Forecast::order)
}

fn of_group(sheet: &Sheet<'_>, group: &BayGroup, size: Size) -> Option<Forecast> {
    let (nodes, workers) = (size.nodes as usize, size.workers as usize);
    let of_bay = |bay: &u32| {
        let mut all: Vec<u32> = unkept(sheet, *bay).collect();
        (workers > 0 && all.len() >= workers).then_some(())?;
        all.sort_by_key(|worker| sheet.available(*worker));
        all.truncate(workers);
        Some((*bay, Forecast::of(sheet, all)))
    };
    let mut parts: Vec<(u32, Forecast)> = group.bays.iter().filter_map(of_bay).collect();
    parts.sort_by_key(|(_, part)| part.order());
    if group.tier == Tier::Mixed {
        let mut seen = HashSet::new();
        parts.retain(|(bay, _)| seen.insert(sheet.inventory.environment_number(*bay)));
    }
    (nodes > 0 && parts.len() >= nodes).then_some(())?;
    parts.truncate(nodes);
    parts.sort_by_key(|(bay, _)| *bay);
    Some(Forecast::of(sheet, parts.into_iter().flat_map(|(_, part)| part.workers).collect()))
}

fn unkept<'a>(sheet: &'a Sheet<'_>, bay: u32) -> impl Iterator<Item = u32> + 'a {
    sheet.inventory.bay(bay).workers().filter(|worker| sheet.kept(*worker).is_none())
}

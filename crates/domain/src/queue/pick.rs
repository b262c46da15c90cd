//! Which workers launch mode `auto` gets now: one zone and one GPU model first, then the fewest environments, then those
//! with the fewest workers left over, so that large gaps stay whole.

use super::candidates::{BayGroup, Candidates, Tier};
use super::moment::Latest;
use super::request::Size;
use super::sheet::Sheet;

/// The workers that were picked, by environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub workers: Vec<u32>,
}

/// There are too few: so it is for every task with the same need that ends at this time or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub from_end_ms: u64,
}

/// A bay and how many of its workers are taken.
type Part = (u32, u32);

pub(super) fn pick(
    sheet: &Sheet<'_>,
    candidates: &Candidates,
    size: Size,
    tiers: &[Tier],
    end: Latest,
) -> Result<Picked, Blocked> {
    for tier in tiers {
        let fits = candidates.groups(*tier).iter().filter_map(|group| of_group(sheet, group, size, end));
        let best = fits.min_by_key(|(parts, left)| (parts.len(), *left));
        if let Some((parts, _)) = best {
            let workers = parts.into_iter().flat_map(|(bay, count)| {
                let open = sheet.inventory.bay(bay).workers().filter(|worker| sheet.is_open(*worker, end));
                open.take(count as usize)
            });
            return Ok(Picked { workers: workers.collect() });
        }
    }
    // With an end before the last of the kept workers is needed there would be more.
    Err(Blocked { from_end_ms: sheet.latest_kept(&candidates.bays, end).map_or(0, |from| from.saturating_add(1)) })
}

/// The parts of a group that are taken, and how many open workers are left over in its bays.
fn of_group(sheet: &Sheet<'_>, group: &BayGroup, size: Size, end: Latest) -> Option<(Vec<Part>, u32)> {
    let (nodes, workers) = (size.nodes as usize, size.workers);
    // By the number of open workers, then by name.
    let open = group.bays.iter().map(|bay| (sheet.open_in(*bay, end), *bay));
    let mut open: Vec<(u32, u32)> = open.filter(|(open, _)| *open >= workers.max(1)).collect();
    if group.tier == Tier::Mixed {
        one_bay_per_environment(sheet, &mut open);
    }
    if nodes == 0 || open.len() < nodes {
        return None;
    }
    open.select_nth_unstable(nodes - 1);
    open.truncate(nodes);
    let left = open.iter().map(|(open, _)| open - workers).sum();
    open.sort_unstable_by_key(|(_, bay)| *bay);
    Some((open.into_iter().map(|(_, bay)| (bay, workers)).collect(), left))
}

/// Bays are in the order of environments; of one that has several the closest fit stays.
fn one_bay_per_environment(sheet: &Sheet<'_>, open: &mut Vec<(u32, u32)>) {
    open.sort_unstable_by_key(|(open, bay)| (sheet.inventory.environment_number(*bay), *open));
    open.dedup_by_key(|(_, bay)| sheet.inventory.environment_number(*bay));
}

//! Whether any task could still start in a walk, whoever is before it: where none could, the rest of the queue need not be
//! walked.
//!
//! In a walk workers are given and never become free, they are kept for those who wait and stay so, and needs are found to be
//! blocked and never to be open again: what has no hope gets none. So one that has suffices, and those that were looked at need
//! no second look. Only what is kept for a task that may still choose others (`is_lasting` says so) counts as open.

use super::needs::{Class, Found, Needs};
use super::sheet::{Kept, Sheet};

/// Goes through the needs that could use a free worker, until one is found that all its workers are open for.
#[derive(Debug)]
pub(super) struct Hope {
    /// Bays that have free workers, in their order.
    bays: Vec<u32>,
    /// How many of them were looked through for needs that name their workers.
    looked: usize,
    /// Needs that are still to be looked at; the last is the one that has hope.
    needs: Vec<u32>,
}

/// How a need is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// No task that has it can start, whenever it ends.
    Blocked,
    /// Kept workers are open to those of its tasks that end before these are needed.
    Usual,
    /// Workers are kept for one of its tasks: whatever is kept may be kept for it.
    Kept,
}

impl Hope {
    pub fn new(sheet: &Sheet<'_>, needs: &Needs) -> Self {
        let bays = (0..).zip(sheet.inventory.bays()).map(|(number, _)| number);
        let bays: Vec<u32> = bays.filter(|bay| sheet.free_in(*bay) > 0).collect();
        let wishes = if bays.is_empty() { Vec::new() } else { needs.wishes().collect() };
        Self { bays, looked: 0, needs: wishes }
    }

    /// Whether a task with some need could start as the sheet is now.
    pub fn is_left(
        &mut self,
        sheet: &Sheet<'_>,
        needs: &Needs,
        outlook: impl Fn(u32) -> Outlook,
        is_lasting: impl Fn(Kept) -> bool,
    ) -> bool {
        let fits = |bays: &[u32], number: u32| {
            let class = needs.class(number);
            let end = class.earliest_end(sheet.now_ms);
            match outlook(number) {
                Outlook::Blocked => false,
                Outlook::Usual => {
                    let is_open = |worker| sheet.may_open(worker, end, &is_lasting);
                    fits(class, bays, is_open, |bay| sheet.may_open_in(bay, end, &is_lasting))
                }
                Outlook::Kept => fits(class, bays, |worker| sheet.is_free(worker), |bay| sheet.free_in(bay)),
            }
        };
        loop {
            while let Some(number) = self.needs.last() {
                if fits(&self.bays, *number) {
                    return true;
                }
                self.needs.pop();
            }
            let Some(bay) = self.bays.get(self.looked) else { return false };
            self.looked += 1;
            if sheet.free_in(*bay) > 0 {
                self.needs.extend(needs.naming(*bay));
            }
        }
    }
}

/// Whether enough workers of these bays are open for a need.
fn fits(class: &Class, bays: &[u32], is_open: impl Fn(u32) -> bool, open_in: impl Fn(u32) -> u32) -> bool {
    match (&class.found, class.wish()) {
        (Found::Workers { workers, missing }, _) => {
            missing.is_empty() && !workers.is_empty() && workers.iter().all(|worker| is_open(*worker))
        }
        (Found::Auto { candidates, .. }, Some(wish)) => {
            let is_candidate = |bay: &&u32| candidates.bays.binary_search(*bay).is_ok();
            let large = bays.iter().filter(|bay| open_in(**bay) >= wish.size.workers.max(1));
            let nodes = wish.size.nodes as usize;
            nodes > 0 && large.filter(is_candidate).take(nodes).count() == nodes
        }
        (Found::Auto { .. }, None) => false,
    }
}

//! Whether any task could still start in a walk, whoever is before it and whatever is kept: where none could, the rest of
//! the queue need not be walked.
//!
//! In a walk workers are given and never become free, and needs are found to be blocked and never to be open again: what has
//! no hope gets none. So one that has suffices, and those that were looked at need no second look.

use super::needs::{Class, Found, Needs};
use super::sheet::Sheet;

/// Goes through the needs that could use a free worker, until one is found that all its workers are free for.
#[derive(Debug)]
pub(super) struct Hope {
    /// Bays that have free workers, in their order.
    bays: Vec<u32>,
    /// How many of them were looked through for needs that name their workers.
    looked: usize,
    /// Needs that are still to be looked at; the last is the one that has hope.
    needs: Vec<u32>,
}

impl Hope {
    pub fn new(sheet: &Sheet<'_>, needs: &Needs) -> Self {
        let bays = (0..).zip(sheet.inventory.bays()).map(|(number, _)| number);
        let bays: Vec<u32> = bays.filter(|bay| sheet.free_in(*bay) > 0).collect();
        let wishes = if bays.is_empty() { Vec::new() } else { needs.wishes().collect() };
        Self { bays, looked: 0, needs: wishes }
    }

    /// Whether a task with some need could start as the sheet is now. `is_blocked` says of a need that none can, whenever it
    /// ends.
    pub fn is_left(&mut self, sheet: &Sheet<'_>, needs: &Needs, is_blocked: impl Fn(u32) -> bool) -> bool {
        loop {
            while let Some(class) = self.needs.last() {
                if !is_blocked(*class) && self.fits(sheet, needs.class(*class)) {
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

    /// Whether enough workers are free for a need, kept or not.
    fn fits(&self, sheet: &Sheet<'_>, class: &Class) -> bool {
        match (&class.found, class.wish()) {
            (Found::Workers { workers, missing }, _) => {
                missing.is_empty() && !workers.is_empty() && workers.iter().all(|worker| sheet.is_free(*worker))
            }
            (Found::Auto { candidates, .. }, Some(wish)) => {
                let is_candidate = |bay: &&u32| candidates.bays.binary_search(*bay).is_ok();
                let large = self.bays.iter().filter(|bay| sheet.free_in(**bay) >= wish.size.workers.max(1));
                let nodes = wish.size.nodes as usize;
                nodes > 0 && large.filter(is_candidate).take(nodes).count() == nodes
            }
            (Found::Auto { .. }, None) => false,
        }
    }
}

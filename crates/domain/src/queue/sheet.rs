//! The picture of all workers that one walk along the queue draws: what is free, and what is kept for whom.

use super::inventory::Inventory;
use super::moment::Latest;

/// The workers as they are now, and as they become while the walk gives and keeps them.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    pub inventory: &'a Inventory,
    pub now_ms: u64,
    cells: Vec<Cell>,
    counts: Vec<Count>,
    reader: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    is_free: bool,
    kept: Option<Kept>,
    /// When the worker is there for those further down the queue.
    available: Latest,
    /// When it is there for the task for which it is kept.
    first_available: Latest,
}

/// For whom a worker is kept, and from when on it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub from: Latest,
    /// The place of the task among those that wait.
    pub by: u32,
}

/// How many workers of a bay are free, and how many of these are kept for no task.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    free: u32,
    open: u32,
}

/// How the workers of a bay stand to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BayStanding {
    HasRoom,
    /// Enough are free, and kept for others.
    Kept,
    Busy,
    /// All together would be too few.
    TooFew,
}

impl<'a> Sheet<'a> {
    pub fn new(inventory: &'a Inventory, now_ms: u64) -> Self {
        let mut cells = Vec::with_capacity(inventory.worker_count());
        let mut counts = Vec::with_capacity(inventory.bays().len());
        for (bay, number) in inventory.bays().iter().zip(0..) {
            let serves = inventory.serves(number);
            let before = cells.len();
            cells.extend(bay.workers().map(|worker| {
                let taken = inventory.taken(worker);
                let available = taken.map_or(Latest::At(now_ms), |taken| taken.until.max(Latest::At(now_ms)));
                Cell { is_free: serves && taken.is_none(), kept: None, available, first_available: available }
            }));
            let free = cells[before..].iter().filter(|cell| cell.is_free).count() as u32;
            counts.push(Count { free, open: free });
        }
        Self { inventory, now_ms, cells, counts, reader: None }
    }

    /// Free workers of a bay, whether they are kept or not.
    pub fn free_in(&self, bay: u32) -> u32 {
        self.counts[bay as usize].free
    }

    pub fn is_free(&self, worker: u32) -> bool {
        self.cells[worker as usize].is_free
    }

    /// When the worker is there for the task that looks.
    pub fn available(&self, worker: u32) -> Latest {
        let cell = &self.cells[worker as usize];
        let is_own = self.reader.is_some() && cell.kept.is_some_and(|kept| self.reader == Some(kept.by));
        if is_own { cell.first_available } else { cell.available }
    }

    /// The task that looks, if workers are kept for it: to itself these are open.
    pub fn set_reader(&mut self, reader: Option<u32>) {
        self.reader = reader;
    }

    /// For whom the worker is kept, other than the task that looks.
    pub fn kept(&self, worker: u32) -> Option<Kept> {
        self.cells[worker as usize].kept.filter(|kept| self.reader != Some(kept.by))
    }

    /// Whether a task that ends by then may have the worker now.
    pub fn is_open(&self, worker: u32, end: Latest) -> bool {
        self.is_free(worker) && self.kept(worker).is_none_or(|kept| ends_before(end, kept.from))
    }

    /// Whether a task that ends by then, and for which nothing is kept, could have the worker in this walk.
    pub fn may_open(&self, worker: u32, end: Latest, is_lasting: impl Fn(Kept) -> bool) -> bool {
        let cell = &self.cells[worker as usize];
        cell.is_free && cell.kept.is_none_or(|kept| ends_before(end, kept.from) || !is_lasting(kept))
    }

    /// How many workers of the bay such a task could have.
    pub fn may_open_in(&self, bay: u32, end: Latest, is_lasting: impl Fn(Kept) -> bool) -> u32 {
        let count = self.counts[bay as usize];
        if count.free == count.open {
            return count.open;
        }
        self.inventory.bay(bay).workers().filter(|worker| self.may_open(*worker, end, &is_lasting)).count() as u32
    }

    /// How many workers of the bay a task that ends by then may have.
    pub fn open_in(&self, bay: u32, end: Latest) -> u32 {
        let count = self.counts[bay as usize];
        if self.reader.is_none() && (count.free == count.open || end == Latest::Unknown) {
            return count.open;
        }
        self.inventory.bay(bay).workers().filter(|worker| self.is_open(*worker, end)).count() as u32
    }

    /// The latest known time from which on a free worker of these bays is kept that a task with this end cannot have.
    pub fn latest_kept(&self, bays: &[u32], end: Latest) -> Option<u64> {
        let partly_kept = bays.iter().filter(|bay| {
            let count = self.counts[**bay as usize];
            count.free > count.open || self.reader.is_some()
        });
        let workers = partly_kept.flat_map(|bay| self.inventory.bay(*bay).workers());
        let refused = workers.filter(|worker| self.is_free(*worker) && !self.is_open(*worker, end));
        refused.filter_map(|worker| self.kept(worker)?.from.known()).max()
    }

    /// How the workers of a bay stand to a task that needs so many there and ends by then.
    pub fn standing(&self, bay: u32, least: u32, end: Latest) -> BayStanding {
        if self.inventory.bay(bay).count < least {
            BayStanding::TooFew
        } else if self.open_in(bay, end) >= least {
            BayStanding::HasRoom
        } else if self.free_in(bay) >= least {
            BayStanding::Kept
        } else {
            BayStanding::Busy
        }
    }

    /// When so many workers of a bay are there for the task that looks.
    pub fn available_in(&self, bay: u32, count: u32) -> Latest {
        let mut times: Vec<Latest> = self.inventory.bay(bay).workers().map(|worker| self.available(worker)).collect();
        times.sort_unstable();
        count.checked_sub(1).and_then(|last| times.get(last as usize)).copied().unwrap_or(Latest::Unknown)
    }

    /// Gives a free worker to a task that ends by then.
    pub fn give(&mut self, worker: u32, until: Latest) {
        let cell = &mut self.cells[worker as usize];
        let count = &mut self.counts[self.inventory.bay_of(worker) as usize];
        if cell.is_free {
            count.free -= 1;
            if cell.kept.is_none() {
                count.open -= 1;
            }
        }
        cell.is_free = false;
        cell.available = until;
        cell.first_available = until;
    }

    /// Keeps a worker for a task that waits, unless it is kept for one before it; and notes when those further down have it.
    pub fn keep(&mut self, worker: u32, kept: Kept, available: Latest) {
        let cell = &mut self.cells[worker as usize];
        if cell.kept.is_none() {
            cell.kept = Some(kept);
            cell.first_available = cell.available;
            if cell.is_free {
                self.counts[self.inventory.bay_of(worker) as usize].open -= 1;
            }
        }
        cell.available = available;
    }

    /// Keeps a worker no longer for this task.
    pub fn let_go(&mut self, worker: u32, by: u32) {
        let cell = &mut self.cells[worker as usize];
        if cell.kept.take_if(|kept| kept.by == by).is_none() {
            return;
        }
        cell.available = cell.first_available;
        if cell.is_free {
            self.counts[self.inventory.bay_of(worker) as usize].open += 1;
        }
    }

    /// Notes that a worker will be there by another time than was thought.
    pub fn expect(&mut self, worker: u32, available: Latest) {
        let cell = &mut self.cells[worker as usize];
        cell.available = available;
        cell.first_available = available;
    }

    /// Notes that a task further up may use a worker until then.
    pub fn expect_at_least(&mut self, worker: u32, available: Latest) {
        let cell = &mut self.cells[worker as usize];
        cell.available = cell.available.max(available);
    }
}

/// Nothing is known of an end without a limit, nor of a beginning without a bound: neither lets a task in between.
fn ends_before(end: Latest, from: Latest) -> bool {
    matches!((end, from), (Latest::At(end), Latest::At(from)) if end <= from)
}

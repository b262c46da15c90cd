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
    free: u32,
    reader: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    is_free: bool,
    kept: Option<Kept>,
    /// For whom the worker was kept when the walk began.
    promised: Option<Kept>,
    /// When the worker is there for those further down the queue.
    available: Latest,
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

impl<'a> Sheet<'a> {
    pub fn new(inventory: &'a Inventory, now_ms: u64) -> Self {
        let mut cells = Vec::with_capacity(inventory.worker_count());
        let mut counts = Vec::with_capacity(inventory.bays().len());
        for (bay, number) in inventory.bays().iter().zip(0..) {
            let serves = inventory.serves(number);
            let before = cells.len();
            cells.extend(bay.workers().map(|worker| match inventory.taken(worker) {
                Some(taken) => {
                    Cell { is_free: false, kept: None, promised: None, available: taken.until.max(Latest::At(now_ms)) }
                }
                None => Cell { is_free: serves, kept: None, promised: None, available: Latest::At(now_ms) },
            }));
            let free = cells[before..].iter().filter(|cell| cell.is_free).count() as u32;
            counts.push(Count { free, open: free });
        }
        let free = counts.iter().map(|count| count.free).sum();
        Self { inventory, now_ms, cells, counts, free, reader: None }
    }

    /// Free workers, whether they are kept or not.
    pub fn free(&self) -> u32 {
        self.free
    }

    pub fn is_free(&self, worker: u32) -> bool {
        self.cells[worker as usize].is_free
    }

    pub fn kept(&self, worker: u32) -> Option<Kept> {
        self.cells[worker as usize].kept
    }

    pub fn available(&self, worker: u32) -> Latest {
        self.cells[worker as usize].available
    }

    /// Notes that a worker was kept for a task before this walk.
    pub fn promise(&mut self, worker: u32, promised: Kept) {
        self.cells[worker as usize].promised = Some(promised);
    }

    /// The task that looks, if something was promised to it: to such a task the promises to others are closed as well,
    /// whichever of them comes first.
    pub fn set_reader(&mut self, reader: Option<u32>) {
        self.reader = reader;
    }

    fn promised_to_other(&self, cell: &Cell) -> Option<Kept> {
        let reader = self.reader?;
        cell.promised.filter(|promised| promised.by != reader)
    }

    /// Whether the worker is kept for no other task.
    pub fn is_unkept(&self, worker: u32) -> bool {
        let cell = &self.cells[worker as usize];
        cell.kept.is_none() && self.promised_to_other(cell).is_none()
    }

    /// Whether a task that ends by then may have the worker now.
    pub fn is_open(&self, worker: u32, end: Latest) -> bool {
        let cell = &self.cells[worker as usize];
        let allows = |kept: Option<Kept>| kept.is_none_or(|kept| ends_before(end, kept.from));
        cell.is_free && allows(cell.kept) && allows(self.promised_to_other(cell))
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
        let from = |worker| {
            let cell: &Cell = &self.cells[worker as usize];
            let kept = cell.kept.and_then(|kept| kept.from.known());
            kept.max(self.promised_to_other(cell).and_then(|kept| kept.from.known()))
        };
        refused.filter_map(from).max()
    }

    /// Gives a free worker to a task that ends by then.
    pub fn give(&mut self, worker: u32, until: Latest) {
        let cell = &mut self.cells[worker as usize];
        let count = &mut self.counts[self.inventory.bay_of(worker) as usize];
        if cell.is_free {
            count.free -= 1;
            self.free -= 1;
            if cell.kept.is_none() {
                count.open -= 1;
            }
        }
        cell.is_free = false;
        cell.available = until;
    }

    /// Keeps a worker for a task that waits, unless it is kept for one before it; and notes when those further down have it.
    pub fn keep(&mut self, worker: u32, kept: Kept, available: Latest) {
        let cell = &mut self.cells[worker as usize];
        if cell.kept.is_none() {
            cell.kept = Some(kept);
            if cell.is_free {
                self.counts[self.inventory.bay_of(worker) as usize].open -= 1;
            }
        }
        cell.available = available;
    }

    /// Notes that a worker will be there by another time than was thought.
    pub fn expect(&mut self, worker: u32, available: Latest) {
        self.cells[worker as usize].available = available;
    }
}

/// Nothing is known of an end without a limit, nor of a beginning without a bound: neither lets a task in between.
fn ends_before(end: Latest, from: Latest) -> bool {
    matches!((end, from), (Latest::At(end), Latest::At(from)) if end <= from)
}

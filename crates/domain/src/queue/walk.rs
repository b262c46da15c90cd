//! One walk along the queue: who starts, and what is kept for those who cannot.
//!
//! A task starts when all its workers are there for it, or it waits ([`Turn`]). Workers are kept for a task that waits: of
//! a need that names its workers all of them; for launch mode `auto` those that are there first, one task for each pool.
//! A later task gets a kept worker only if it states a time limit and ends before the worker is needed.

use std::collections::{HashMap, HashSet};

use super::choice::{self, Choice};
use super::forecast::{self, Forecast};
use super::hope::{Hope, Outlook};
use super::inventory::Inventory;
use super::line::{Entry, Line};
use super::moment::Latest;
use super::needs::{Class, Found, Needs};
use super::order::{QueueOrder, Visit};
use super::pick::{self, Blocked, Picked};
use super::request::{Request, Wish};
use super::reservation::Reservation;
use super::rules::{Limits, Preemption, Rules};
use super::running::{Running, TaskName};
use super::shares::{Held, Owner, Shares};
use super::sheet::{Kept, Sheet};
use super::victims::Search;
use crate::ids::TaskId;

/// How many tasks are looked at when none can start any more, so that those who are first in line are known.
const BEYOND: usize = 64;

/// All that a walk looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub rules: &'a Rules,
    pub line: &'a Line,
    pub needs: &'a Needs,
    pub shares: &'a Shares,
    pub running: &'a HashMap<TaskId, Running>,
    pub reservations: &'a HashMap<u32, Reservation>,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub starts: Vec<Starting>,
    pub victims: Vec<Victim>,
    /// By the place of the task.
    pub reservations: HashMap<u32, Reservation>,
}

/// A task that starts.
#[derive(Debug)]
pub(super) struct Starting {
    pub task: TaskId,
    pub workers: Vec<u32>,
    pub choice: Option<Choice>,
    pub before: Option<TaskName>,
}

/// A task that gives way.
#[derive(Debug)]
pub(super) struct Victim {
    pub task: TaskId,
    pub in_favour_of: TaskName,
    pub by_ms: u64,
}

/// What one look at a task shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Fits(Picked),
    /// Some of its workers are not there for it now.
    Blocked(Blocked),
    /// One before it with the same need was blocked as well.
    BlockedBefore,
    OverLimit,
    /// Workers that it names do not exist, or their environments do not serve.
    Absent,
    /// It would not fit if all workers were free.
    NeverFits,
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub view: View<'a>,
    pub sheet: Sheet<'a>,
    order: QueueOrder<'a>,
    costs: Vec<f64>,
    /// What each user has, with what this walk gave, and may have.
    held: Vec<Held>,
    limits: Vec<Limits>,
    /// From which end on each need is known to be blocked.
    blocked: Vec<u64>,
    /// Pools in which workers are kept for a task that the queue chooses for, and its place.
    pools: HashMap<u32, u32>,
    /// Tasks that had workers kept and have got them.
    started: HashSet<u32>,
    /// Needs for which no more workers can be kept: a task that has one waits behind others in all its pools.
    exhausted: Vec<bool>,
    /// Bays that such a task may use: none after it is first in line there.
    contended: Vec<bool>,
    /// Tasks that the queue chooses for, and for which others than are kept now may be kept when their usual turn comes.
    undecided: HashSet<u32>,
    findings: Findings,
}

impl<'a> Walk<'a> {
    pub fn new(view: View<'a>, sheet: Sheet<'a>) -> Self {
        let now_ms = sheet.now_ms;
        let (held, limits) = (view.shares.all_held(), view.shares.limits(view.rules));
        let costs = view.shares.costs(view.rules, now_ms);
        let kept: HashSet<u32> = view.reservations.keys().copied().collect();
        let may_start = |entry: &Entry| {
            let held = held.get(entry.owner.index()).copied().unwrap_or_default();
            let limits = limits.get(entry.owner.index()).copied().unwrap_or_default();
            !is_over(held, limits, entry.workers) && unmet(view.needs.class(entry.class), sheet.inventory).is_none()
        };
        let order = QueueOrder::new(view.line, view.rules, &kept, &costs, may_start, now_ms);
        let blocked = vec![u64::MAX; view.needs.len()];
        let exhausted = vec![false; view.needs.len()];
        let contended = vec![false; sheet.inventory.bays().len()];
        let is_wish =
            |place: &u32| view.line.at(*place).is_some_and(|waiting| view.needs.class(waiting.class).wish().is_some());
        let undecided = kept.iter().copied().filter(is_wish).collect();
        let (pools, started, findings) = (HashMap::new(), HashSet::new(), Findings::default());
        Self {
            view,
            sheet,
            order,
            costs,
            held,
            limits,
            blocked,
            pools,
            started,
            exhausted,
            contended,
            undecided,
            findings,
        }
    }

    /// The next task in the order, which now looks at the sheet.
    pub fn next(&mut self) -> Option<(Entry, Visit)> {
        let (entry, visit) = self.order.next(&self.costs)?;
        self.sheet.set_reader(self.findings.reservations.contains_key(&entry.place).then_some(entry.place));
        Some((entry, visit))
    }

    /// Goes along the queue, as far as somebody may start.
    pub fn decide(self) -> Findings {
        self.decide_and_look_on(BEYOND)
    }

    /// Looks at so many more when none can start any more.
    pub fn decide_and_look_on(mut self, most: usize) -> Findings {
        let mut beyond = 0;
        let mut hope = Hope::new(&self.sheet, self.view.needs);
        let reserved = self.reserved_needs();
        let mut unseen: HashSet<u32> = self.view.reservations.keys().copied().collect();
        while let Some((entry, visit)) = self.next() {
            match visit {
                // It was the first in line of a queue before this one: it is again, before the others of its priority.
                Visit::Kept if self.is_unknown(entry.place) => {
                    unseen.remove(&entry.place);
                    self.visit(&entry);
                }
                Visit::Kept => {
                    unseen.remove(&entry.place);
                    if let Some(workers) = self.visit_kept(&entry) {
                        self.start(&entry, Picked { workers });
                    }
                }
                Visit::Usual if self.has_started(entry.place) => {}
                Visit::Usual => self.visit(&entry),
            }
            if visit == Visit::Usual {
                self.undecided.remove(&entry.place);
            }
            if !self.has_hope(&mut hope, &reserved) {
                beyond += 1;
                if beyond > most {
                    break;
                }
            }
        }
        for place in unseen {
            if let Some(reservation) = self.view.reservations.get(&place) {
                self.findings.reservations.insert(place, reservation.clone());
            }
        }
        self.findings
    }

    /// The needs of tasks for which workers are kept: what is blocked to others may be open to these.
    fn reserved_needs(&self) -> HashSet<u32> {
        let places = self.view.reservations.keys();
        places.filter_map(|place| self.view.line.at(*place)).map(|waiting| waiting.class).collect()
    }

    /// Whether a task further down may start.
    fn has_hope(&self, hope: &mut Hope, reserved: &HashSet<u32>) -> bool {
        let outlook = |number: u32| {
            let end = self.view.needs.class(number).earliest_end(self.sheet.now_ms);
            match reserved.contains(&number) {
                true => Outlook::Kept,
                false if self.is_blocked(number, end) => Outlook::Blocked,
                false => Outlook::Usual,
            }
        };
        let is_lasting = |kept: Kept| !self.undecided.contains(&kept.by);
        hope.is_left(&self.sheet, self.view.needs, outlook, is_lasting)
    }

    /// Whether it is known of a need that tasks which end by then or later cannot start.
    fn is_blocked(&self, class: u32, end: Latest) -> bool {
        self.blocked[class as usize] <= end.known().unwrap_or(u64::MAX - 1)
    }

    /// Whether it is not known which workers are kept for a task.
    fn is_unknown(&self, place: u32) -> bool {
        self.view.reservations.get(&place).is_some_and(|kept| kept.workers.is_empty())
    }

    /// Whether a task has got workers that were kept for it.
    pub fn has_started(&self, place: u32) -> bool {
        self.started.contains(&place)
    }

    /// What is kept for a task so far.
    pub fn reservation(&self, place: u32) -> Option<&Reservation> {
        self.findings.reservations.get(&place)
    }

    /// The usual turn of a task.
    fn visit(&mut self, entry: &Entry) {
        match self.turn(entry) {
            Turn::Fits(picked) => self.start(entry, picked),
            Turn::Blocked(blocked) => {
                self.note_blocked(entry.class, blocked);
                self.keep_for(entry, Preempts::Yes);
                if self.view.needs.class(entry.class).wish().is_none() {
                    // The workers that it names are kept for the first that names them.
                    self.exhausted[entry.class as usize] = true;
                }
            }
            Turn::BlockedBefore if !self.exhausted[entry.class as usize] => {
                self.keep_for(entry, Preempts::Yes);
            }
            Turn::Absent | Turn::NeverFits => {
                // Nothing is kept for those with the same need either, or others would wait for what does not come.
                self.note_blocked(entry.class, Blocked { from_end_ms: 0 });
                self.exhausted[entry.class as usize] = true;
            }
            Turn::BlockedBefore | Turn::OverLimit => {}
        }
    }

    /// The turn of a task for which workers are kept, with these alone: answers them if all are free, else keeps them on.
    pub fn visit_kept(&mut self, entry: &Entry) -> Option<Vec<u32>> {
        if self.is_over_limit(entry.owner, entry.workers) || self.is_unknown(entry.place) {
            return None;
        }
        let inventory = self.sheet.inventory;
        let kept = &self.view.reservations.get(&entry.place)?.workers;
        let workers: Vec<u32> = kept.iter().map(|worker| inventory.number(worker)).collect::<Option<_>>()?;
        let is_there = |worker: &u32| self.sheet.kept(*worker).is_none() && inventory.serves(inventory.bay_of(*worker));
        if !workers.iter().all(is_there) {
            return None;
        }
        if workers.iter().all(|worker| self.sheet.is_free(*worker)) {
            return Some(workers);
        }
        let forecast = Forecast::of(&self.sheet, workers);
        self.keep(entry, &forecast);
        None
    }

    /// Looks at a task as things stand in the walk.
    pub fn turn(&self, entry: &Entry) -> Turn {
        if self.is_over_limit(entry.owner, entry.workers) {
            return Turn::OverLimit;
        }
        let end = Latest::after(self.sheet.now_ms, entry.limit_ms);
        let is_kept = self.findings.reservations.contains_key(&entry.place);
        if !is_kept && self.is_blocked(entry.class, end) {
            return Turn::BlockedBefore;
        }
        self.look(entry.class, end)
    }

    /// Looks at a need of a task that ends by then, whatever is known of others with the same need.
    pub fn look(&self, class: u32, end: Latest) -> Turn {
        let class = self.view.needs.class(class);
        if let Some(turn) = unmet(class, self.sheet.inventory) {
            return turn;
        }
        match (&class.found, class.wish()) {
            (Found::Workers { workers, .. }, _) => self.look_at_workers(workers, end),
            (Found::Auto { candidates, tiers }, Some(wish)) => {
                match pick::pick(&self.sheet, candidates, wish.size, tiers, end) {
                    Ok(picked) => Turn::Fits(picked),
                    Err(blocked) => Turn::Blocked(blocked),
                }
            }
            (Found::Auto { .. }, None) => Turn::NeverFits,
        }
    }

    fn look_at_workers(&self, workers: &[u32], end: Latest) -> Turn {
        let Some(refused) = workers.iter().find(|worker| !self.sheet.is_open(**worker, end)) else {
            return Turn::Fits(Picked { workers: workers.to_vec() });
        };
        let kept = self.sheet.kept(*refused).filter(|_| self.sheet.is_free(*refused));
        let from = kept.and_then(|kept| kept.from.known()).map_or(0, |from| from.saturating_add(1));
        Turn::Blocked(Blocked { from_end_ms: from })
    }

    pub fn note_blocked(&mut self, class: u32, blocked: Blocked) {
        let known = &mut self.blocked[class as usize];
        *known = (*known).min(blocked.from_end_ms);
    }

    fn is_over_limit(&self, owner: Owner, workers: u64) -> bool {
        is_over(self.held(owner), self.limits(owner), workers)
    }

    fn limits(&self, owner: Owner) -> Limits {
        self.limits.get(owner.index()).copied().unwrap_or_default()
    }

    /// Whether a task takes nothing as things are, whatever becomes free: what it needs is not there, or is more than its user
    /// may ever have.
    pub fn waits_in_vain(&self, entry: &Entry) -> bool {
        let is_beyond = is_over(Held::default(), self.limits(entry.owner), entry.workers);
        is_beyond || unmet(self.view.needs.class(entry.class), self.sheet.inventory).is_some()
    }

    /// What a user has, with what this walk gave.
    pub fn held(&self, owner: Owner) -> Held {
        self.held.get(owner.index()).copied().unwrap_or_default()
    }

    /// Gives the workers, and says why these.
    fn start(&mut self, entry: &Entry, picked: Picked) {
        let Some(waiting) = self.view.line.at(entry.place) else { return };
        let kept = picked.workers.iter().find_map(|worker| self.sheet.kept(*worker));
        let before = kept.and_then(|kept| self.view.line.at(kept.by)).map(|other| TaskName::of(&other.request));
        let class = self.view.needs.class(entry.class);
        let choice = match (&class.found, class.wish()) {
            (Found::Auto { candidates, .. }, Some(wish)) => {
                let end = Latest::after(self.sheet.now_ms, entry.limit_ms);
                Some(choice::explain(&self.sheet, candidates, wish, &picked, end))
            }
            _ => None,
        };
        self.give(entry, &picked);
        let task = waiting.request.task.clone();
        self.findings.starts.push(Starting { task, workers: picked.workers, choice, before });
    }

    /// Gives the workers.
    pub fn give(&mut self, entry: &Entry, picked: &Picked) {
        self.let_go(entry);
        self.started.insert(entry.place);
        let end = Latest::after(self.sheet.now_ms, entry.limit_ms);
        for worker in &picked.workers {
            self.sheet.give(*worker, end);
        }
        let owner = entry.owner;
        if let Some(held) = self.held.get_mut(owner.index()) {
            held.workers += entry.workers;
            held.tasks += 1;
        }
        if let Some(cost) = self.costs.get_mut(owner.index()) {
            *cost += self.view.shares.cost_of(owner, entry.workers, self.view.rules);
        }
    }

    /// Keeps workers for a task that is blocked. Answers what it now waits for, where something is kept.
    pub fn keep_for(&mut self, entry: &Entry, preempts: Preempts) -> Option<KeptFor> {
        if self.exhausted[entry.class as usize] {
            return None;
        }
        let waiting = self.view.line.at(entry.place)?;
        let Some(mut forecast) = self.forecast(entry) else {
            self.exhaust(entry.class);
            return None;
        };
        let inventory = self.sheet.inventory;
        let is_open =
            |worker: &u32| self.sheet.kept(*worker).is_none() && !self.contended[inventory.bay_of(*worker) as usize];
        let is_first = self.findings.reservations.contains_key(&entry.place) || forecast.workers.iter().all(is_open);
        if is_first && preempts == Preempts::Yes && self.preempt(entry, &waiting.request, &forecast) {
            forecast = self.forecast(entry)?;
        }
        self.let_go(entry);
        if is_first {
            self.keep(entry, &forecast);
        } else {
            self.keep_workers(entry, &forecast);
        }
        Some(KeptFor { workers: forecast.workers, from: forecast.from, is_first })
    }

    /// Keeps workers for a task that is first in line.
    fn keep(&mut self, entry: &Entry, forecast: &Forecast) {
        self.keep_workers(entry, forecast);
        let Some(waiting) = self.view.line.at(entry.place) else { return };
        let workers = forecast.workers.iter().map(|worker| self.sheet.inventory.worker(*worker)).collect();
        let reservation = Reservation { task: waiting.request.task.clone(), workers, from: forecast.from };
        self.findings.reservations.insert(entry.place, reservation);
    }

    fn keep_workers(&mut self, entry: &Entry, forecast: &Forecast) {
        let inventory = self.sheet.inventory;
        let kept = Kept { from: forecast.from, by: entry.place };
        let available = forecast.from.plus(entry.limit_ms);
        let is_wish = self.view.needs.class(entry.class).wish().is_some();
        for worker in &forecast.workers {
            self.sheet.keep(*worker, kept, available);
            if is_wish {
                self.pools.insert(inventory.bay(inventory.bay_of(*worker)).pool, entry.place);
            }
        }
    }

    /// What was kept for a task is kept no longer: it starts, or others are kept for it.
    fn let_go(&mut self, entry: &Entry) {
        let Some(reservation) = self.findings.reservations.remove(&entry.place) else { return };
        for worker in reservation.workers.iter().filter_map(|worker| self.sheet.inventory.number(worker)) {
            self.sheet.let_go(worker, entry.place);
        }
        self.pools.retain(|_, place| *place != entry.place);
    }

    /// Notes that tasks with this need have to wait for others wherever they could run.
    fn exhaust(&mut self, class: u32) {
        self.exhausted[class as usize] = true;
        if let Found::Auto { candidates, .. } = &self.view.needs.class(class).found {
            for bay in &candidates.bays {
                self.contended[*bay as usize] = true;
            }
        }
    }

    /// The workers that a blocked task waits for: those that were kept for it before, unless others are there earlier.
    fn forecast(&self, entry: &Entry) -> Option<Forecast> {
        let class = self.view.needs.class(entry.class);
        match (&class.found, class.wish()) {
            (Found::Workers { workers, .. }, _) => Some(Forecast::of(&self.sheet, workers.clone())),
            (Found::Auto { candidates, tiers }, wish) => {
                let Wish { size, .. } = wish?;
                let is_pool_open = |pool| self.pools.get(&pool).is_none_or(|place| *place == entry.place);
                let fresh = forecast::earliest(&self.sheet, candidates, *size, tiers, is_pool_open);
                match (self.kept_so_far(entry.place), fresh) {
                    (Some(kept), Some(fresh)) if fresh.is_better_than(&kept) => Some(fresh),
                    (kept, fresh) => kept.or(fresh),
                }
            }
        }
    }

    /// What is kept for a task, and when it is there as things stand.
    fn kept_so_far(&self, place: u32) -> Option<Forecast> {
        let inventory = self.sheet.inventory;
        let kept = self.findings.reservations.get(&place)?;
        let workers = kept.workers.iter().map(|worker| inventory.number(worker)).collect::<Option<_>>()?;
        Some(Forecast::of(&self.sheet, workers))
    }

    /// Asks running tasks to give way, unless the task starts as soon without. Answers whether some do.
    fn preempt(&mut self, entry: &Entry, request: &Request, forecast: &Forecast) -> bool {
        let Preemption::After(grace) = self.view.rules.preemption else { return false };
        let by_ms = self.sheet.now_ms.saturating_add(grace.as_millis());
        if forecast.from <= Latest::At(by_ms) {
            return false;
        }
        let search = Search::new(&self.sheet, self.view.running, request.priority);
        let class = self.view.needs.class(entry.class);
        let victims = match (&class.found, class.wish()) {
            (Found::Workers { workers, .. }, _) => search.for_workers(workers),
            (Found::Auto { candidates, tiers }, Some(wish)) => search.for_wish(candidates, wish.size, tiers),
            (Found::Auto { .. }, None) => None,
        };
        let victims = victims.unwrap_or_default();
        let is_new = |task: &TaskId| self.findings.victims.iter().all(|known| known.task != *task);
        let victims: Vec<TaskId> = victims.into_iter().filter(is_new).collect();
        for task in &victims {
            let workers = self.view.running.get(task).map(|running| running.workers.as_slice()).unwrap_or_default();
            for worker in workers.iter().filter_map(|worker| self.sheet.inventory.number(worker)) {
                let until = self.sheet.available(worker).min(Latest::At(by_ms));
                self.sheet.expect(worker, until);
            }
            let in_favour_of = TaskName::of(request);
            self.findings.victims.push(Victim { task: task.clone(), in_favour_of, by_ms });
        }
        !victims.is_empty()
    }
}

/// Whether a user who has this would have more than the limits with one more task of so many workers.
fn is_over(held: Held, limits: Limits, workers: u64) -> bool {
    limits.tasks.is_some_and(|most| held.tasks >= u64::from(most))
        || limits.workers.is_some_and(|most| held.workers.saturating_add(workers) > u64::from(most))
}

/// The turn of tasks whose need cannot be met as the environments are, whoever has their workers.
fn unmet(class: &Class, inventory: &Inventory) -> Option<Turn> {
    match (&class.found, class.wish()) {
        (Found::Workers { workers, missing }, _) => {
            let serves = |worker: &u32| inventory.serves(inventory.bay_of(*worker));
            let is_there = missing.is_empty() && !workers.is_empty() && workers.iter().all(serves);
            (!is_there).then_some(Turn::Absent)
        }
        (Found::Auto { tiers, .. }, Some(wish)) => {
            (tiers.is_empty() || wish.size.total() == 0).then_some(Turn::NeverFits)
        }
        (Found::Auto { .. }, None) => Some(Turn::NeverFits),
    }
}

/// Whether running tasks may be asked to give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preempts {
    Yes,
    No,
}

/// What a blocked task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptFor {
    pub workers: Vec<u32>,
    pub from: Latest,
    /// No task before it waits for any of these workers.
    pub is_first: bool,
}

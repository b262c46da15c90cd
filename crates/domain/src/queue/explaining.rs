//! Why a task waits: the walk along the queue as far as this task, with all that those before it may still take.

use std::collections::{HashMap, HashSet};

use super::line::{Entry, Waiting as Place};
use super::moment::Latest;
use super::needs::Found;
use super::never;
use super::order::Visit;
use super::pick::Picked;
use super::running::{Stopping, TaskName};
use super::waiting::{Holder, Reason, Reserved, Waiting};
use super::walk::{Preempts, Turn, Walk};
use crate::{environment::EnvironmentStatus, ids::WorkerId, language::Text};

/// How many workers a sentence names.
const NAMED: usize = 3;
/// Of the tasks before one, and of the workers that are kept, so many are listed.
const LISTED: usize = 8;

/// How many tasks are looked at for one answer: whoever asks about the last of a long queue has it soon.
pub(super) const MOST_VISITED: usize = 4_096;

/// Says why a task waits. Unlike in a decision, every task before it counts with its time limit, so that something can be said
/// also to those that are not first in line.
#[derive(Debug)]
pub(super) struct Explaining<'a> {
    walk: Walk<'a>,
    /// Needs whose tasks may take any of their candidates at any time.
    clouded: HashSet<u32>,
    /// Tasks before the one that is asked about that could use the same workers.
    ahead: Ahead,
}

/// Those that are before a task.
#[derive(Debug, Default)]
struct Ahead {
    count: usize,
    /// The first of them.
    first: Vec<TaskName>,
}

impl<'a> Explaining<'a> {
    pub fn new(walk: Walk<'a>) -> Self {
        Self { walk, clouded: HashSet::new(), ahead: Ahead::default() }
    }

    pub fn explain(mut self, place: u32) -> Option<Waiting> {
        let asked = self.walk.view.line.at(place)?;
        let reach = self.reach(asked.class);
        let mut contending: HashMap<u32, bool> = HashMap::new();
        let mut visited = 0;
        while let Some((entry, visit)) = self.walk.next() {
            if visited == MOST_VISITED {
                return self.conclude_far(place, asked);
            }
            visited += 1;
            if entry.place == place {
                let told = match visit {
                    Visit::Kept => self.conclude_kept(&entry, asked),
                    Visit::Usual => Some(self.conclude(&entry, asked)),
                };
                if told.is_some() {
                    return told;
                }
                continue;
            }
            let is_done = self.walk.has_started(entry.place) || self.walk.reservation(entry.place).is_some();
            if is_done {
                continue;
            }
            let contends = contending.entry(entry.class).or_insert_with(|| self.contends(entry.class, &reach));
            if *contends && !self.walk.waits_in_vain(&entry) {
                self.note_ahead(entry.place);
            }
            match visit {
                Visit::Kept => match self.walk.visit_kept(&entry) {
                    Some(workers) => self.walk.give(&entry, &Picked { workers }),
                    None => self.bound(&entry),
                },
                Visit::Usual => self.pass(&entry),
            }
        }
        None
    }

    fn note_ahead(&mut self, place: u32) {
        self.ahead.count += 1;
        if self.ahead.first.len() < LISTED {
            self.ahead.first.extend(self.walk.view.line.at(place).map(|waiting| TaskName::of(&waiting.request)));
        }
    }

    /// A reason with nothing kept, and no time known.
    fn waiting(&self, waiting: &Place, reason: Reason) -> Waiting {
        Waiting {
            task: TaskName::of(&waiting.request),
            reason,
            before: self.ahead.count,
            are_more_before: false,
            ahead: self.ahead.first.clone(),
            reserved: None,
            from: Latest::Unknown,
            is_promised: false,
        }
    }

    /// What can be said of a task that stands further down than was looked: what does not depend on those before it.
    fn conclude_far(mut self, place: u32, waiting: &Place) -> Option<Waiting> {
        let entry = *self.walk.view.line.lanes().get(&waiting.lane)?.get(&waiting.arrival)?;
        self.walk.sheet.set_reader(None);
        if self.walk.view.reservations.contains_key(&place)
            && let Some(kept) = self.conclude_kept(&entry, waiting)
        {
            return Some(Waiting { are_more_before: true, ..kept });
        }
        let told = self.conclude(&entry, waiting);
        let (from, is_promised) = (Latest::Unknown, false);
        let reason = match told.reason {
            Reason::StartsNow | Reason::Held { .. } => {
                let reach: Vec<u32> = self.reach(entry.class).into_iter().collect();
                let behind = self.ahead.first.first().cloned();
                Reason::Held { what: self.what(entry.class), holders: self.holders(&reach), behind }
            }
            other => other,
        };
        Some(Waiting { reason, from, is_promised, are_more_before: true, reserved: None, ..told })
    }

    /// What is kept for the task in that place.
    fn reserved(&self, place: u32) -> Option<Reserved> {
        let kept = self.walk.reservation(place)?;
        let task = TaskName::of(&self.walk.view.line.at(place)?.request);
        let workers = kept.workers.iter().take(LISTED).cloned().collect();
        Some(Reserved { task, count: kept.workers.len(), workers, from: kept.from })
    }

    /// What is kept for the task itself, if it is still first in line.
    fn conclude_kept(&mut self, entry: &Entry, waiting: &Place) -> Option<Waiting> {
        if self.walk.visit_kept(entry).is_some() {
            let from = Latest::At(self.walk.sheet.now_ms);
            return Some(Waiting { from, is_promised: true, ..self.waiting(waiting, Reason::StartsNow) });
        }
        let kept = self.walk.reservation(entry.place)?;
        let workers: Vec<u32> =
            kept.workers.iter().filter_map(|worker| self.walk.sheet.inventory.number(worker)).collect();
        let from = kept.from;
        let reason = Reason::Held { what: self.what(entry.class), holders: self.holders(&workers), behind: None };
        let reserved = self.reserved(entry.place);
        let is_promised = from.known().is_some();
        Some(Waiting { from, is_promised, reserved, ..self.waiting(waiting, reason) }.known_so_far())
    }

    /// A task that the queue chooses for may start on other workers than those that are kept for it: wherever it runs, it
    /// has ended by then.
    fn bound(&mut self, entry: &Entry) {
        let Some(kept) = self.walk.reservation(entry.place) else { return };
        let end = kept.from.plus(entry.limit_ms);
        if matches!(self.walk.view.needs.class(entry.class).found, Found::Auto { .. }) {
            for worker in self.reach(entry.class) {
                self.walk.sheet.expect_at_least(worker, end);
            }
        }
    }

    /// Lets a task before the one that is asked about have its turn.
    fn pass(&mut self, entry: &Entry) {
        match self.walk.turn(entry) {
            Turn::OverLimit if self.walk.waits_in_vain(entry) => {}
            Turn::Fits(picked) => self.walk.give(entry, &picked),
            Turn::Blocked(blocked) => {
                self.walk.note_blocked(entry.class, blocked);
                self.queue_up(entry);
            }
            Turn::BlockedBefore => self.queue_up(entry),
            Turn::OverLimit | Turn::Absent => self.cloud(entry.class),
            Turn::NeverFits => {}
        }
    }

    fn queue_up(&mut self, entry: &Entry) {
        match self.walk.keep_for(entry, Preempts::No) {
            Some(_) => self.bound(entry),
            None => self.cloud(entry.class),
        }
    }

    /// A task before may take these workers at a time that is not known.
    fn cloud(&mut self, class: u32) {
        if self.clouded.insert(class) {
            for worker in self.reach(class) {
                self.walk.sheet.expect(worker, Latest::Unknown);
            }
        }
    }

    /// All workers that tasks with this need may get.
    fn reach(&self, class: u32) -> HashSet<u32> {
        match &self.walk.view.needs.class(class).found {
            Found::Workers { workers, .. } => workers.iter().copied().collect(),
            Found::Auto { candidates, .. } => {
                let inventory = self.walk.sheet.inventory;
                candidates.bays.iter().flat_map(|bay| inventory.bay(*bay).workers()).collect()
            }
        }
    }

    fn contends(&self, class: u32, reach: &HashSet<u32>) -> bool {
        match &self.walk.view.needs.class(class).found {
            Found::Workers { workers, .. } => workers.iter().any(|worker| reach.contains(worker)),
            Found::Auto { candidates, .. } => {
                let inventory = self.walk.sheet.inventory;
                candidates.bays.iter().any(|bay| reach.contains(&inventory.bay(*bay).first))
            }
        }
    }

    fn conclude(&mut self, entry: &Entry, waiting: &Place) -> Waiting {
        let end = Latest::after(self.walk.sheet.now_ms, entry.limit_ms);
        let turn = self.walk.turn(entry);
        // What cannot be had at all is said before what its user may have at a time.
        let is_unmet = matches!(self.walk.look(entry.class, end), Turn::Absent | Turn::NeverFits);
        if turn == Turn::OverLimit && !is_unmet {
            let (held, owner) = (self.walk.held(entry.owner), waiting.request.owner.clone());
            let limits = self.walk.view.rules.limits(&owner);
            let (workers, tasks) = (held.workers, held.tasks);
            let reason = Reason::OverLimit { owner, limits, workers, tasks, asks: entry.workers };
            return self.waiting(waiting, reason);
        }
        match self.walk.look(entry.class, end) {
            Turn::Fits(_) => {
                let from = Latest::At(self.walk.sheet.now_ms);
                Waiting { from, ..self.waiting(waiting, Reason::StartsNow) }
            }
            Turn::Absent => self.waiting(waiting, self.absent(entry.class)),
            Turn::NeverFits => self.waiting(waiting, self.never_fits(entry.class)),
            Turn::Blocked(_) | Turn::BlockedBefore | Turn::OverLimit => self.blocked(entry, waiting),
        }
    }

    fn absent(&self, class: u32) -> Reason {
        let Found::Workers { workers, missing } = &self.walk.view.needs.class(class).found else {
            return Reason::StartsNow;
        };
        let inventory = self.walk.sheet.inventory;
        let mut environments = Vec::new();
        for worker in workers {
            let bay = inventory.bay_of(*worker);
            let offer = inventory.offer(bay);
            let known = (offer.name.clone(), offer.status);
            if !inventory.serves(bay) && environments.last() != Some(&known) {
                environments.push(known);
            }
        }
        Reason::Absent { environments, missing: missing.clone() }
    }

    fn never_fits(&self, class: u32) -> Reason {
        let class = self.walk.view.needs.class(class);
        let (Found::Auto { candidates, .. }, Some(wish)) = (&class.found, class.wish()) else {
            return Reason::StartsNow;
        };
        never::reason(self.walk.sheet.inventory, wish, candidates)
    }

    fn blocked(&mut self, entry: &Entry, waiting: &Place) -> Waiting {
        // Looked at before workers are kept for the task itself.
        let first_before = self.first_before(entry.class);
        let others = first_before.and_then(|place| self.reserved(place));
        let first_before = first_before.and_then(|place| self.walk.view.line.at(place));
        let first_before = first_before.map(|waiting| TaskName::of(&waiting.request));
        let kept = self.walk.keep_for(entry, Preempts::No);
        let what = self.what(entry.class);
        let workers =
            kept.as_ref().map_or_else(|| self.reach(entry.class).into_iter().collect(), |kept| kept.workers.clone());
        let is_first = kept.as_ref().is_some_and(|kept| kept.is_first);
        let reason = Reason::Held { what, holders: self.holders(&workers), behind: first_before.filter(|_| !is_first) };
        let from = kept.map_or(Latest::Unknown, |kept| kept.from);
        let is_promised = is_first && from.known().is_some();
        let reserved = if is_first { self.reserved(entry.place) } else { others };
        Waiting { from, is_promised, reserved, ..self.waiting(waiting, reason) }.known_so_far()
    }

    /// The place of the task before this one for which workers are kept that it could have.
    fn first_before(&self, class: u32) -> Option<u32> {
        let mut reach: Vec<u32> = self.reach(class).into_iter().collect();
        reach.sort_unstable();
        reach.into_iter().find_map(|worker| self.walk.sheet.kept(worker)).map(|kept| kept.by)
    }

    fn what(&self, class: u32) -> Text {
        let class = self.walk.view.needs.class(class);
        match (&class.found, class.wish()) {
            (Found::Auto { .. }, Some(wish)) => wish.text(),
            (Found::Workers { workers, .. }, _) => {
                let busy = workers.iter().filter(|worker| !self.walk.sheet.is_free(**worker));
                let busy: Vec<String> =
                    busy.map(|worker| self.walk.sheet.inventory.worker(*worker).to_string()).collect();
                let names = if busy.is_empty() {
                    workers.iter().map(|worker| self.walk.sheet.inventory.worker(*worker).to_string()).collect()
                } else {
                    busy
                };
                let more = if names.len() > NAMED { " …" } else { "" };
                let names = names[..names.len().min(NAMED)].join(", ");
                Text::new(format!("{names}{more}"), format!("{names}{more}"))
            }
            (Found::Auto { .. }, None) => Text::new("Worker", "workers"),
        }
    }

    /// The first machine of these workers that is out of reach.
    fn silent_machine(&self, workers: &[WorkerId]) -> Option<String> {
        let inventory = self.walk.sheet.inventory;
        let mut offers = workers
            .iter()
            .filter_map(|worker| inventory.number(worker))
            .map(|number| inventory.offer(inventory.bay_of(number)));
        offers.find(|offer| offer.status == EnvironmentStatus::Offline).map(|offer| offer.name.clone())
    }

    /// The tasks that have these workers, those that end last first.
    fn holders(&self, workers: &[u32]) -> Vec<Holder> {
        let mut seen = HashSet::new();
        let mut holders: Vec<Holder> = workers
            .iter()
            .filter_map(|worker| self.walk.sheet.inventory.taken(*worker))
            .filter(|taken| seen.insert(taken.task.clone()))
            .map(|taken| {
                let running = self.walk.view.running.get(&taken.task);
                let name = running.map_or(String::new(), |running| running.request.name.clone());
                let is_ending = running.is_some_and(|running| running.stopping != Stopping::No);
                let silent = running.and_then(|running| self.silent_machine(&running.workers));
                Holder { task: TaskName { task: taken.task.clone(), name }, until: taken.until, is_ending, silent }
            })
            .collect();
        holders.sort_by(|a, b| b.until.cmp(&a.until).then_with(|| a.task.task.cmp(&b.task.task)));
        holders
    }
}

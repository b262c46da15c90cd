//! The queue itself: what is known, and what changes it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::decision::{Decision, Preempt, Start};
use super::explaining::Explaining;
use super::inventory::{Inventory, Taken};
use super::line::{Arrival, Line};
use super::moment::Latest;
use super::needs::{Changed, Needs};
use super::offer::Offer;
use super::request::{Need, Request};
use super::reservation::Reservation;
use super::rules::Rules;
use super::running::{Running, Stopping};
use super::shares::{Held, Shares};
use super::sheet::Sheet;
use super::waiting::Waiting;
use super::walk::{Findings, View, Walk};
use crate::ids::{EnvironmentId, TaskId, WorkerId};

/// How often the queue is walked for one decision at most.
const MOST_WALKS: usize = 8;

/// Who waits, who has which workers, and whose turn it is.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    rules: Rules,
    offers: BTreeMap<EnvironmentId, Offer>,
    inventory: Inventory,
    /// What has changed about environments since the inventory was made.
    changed: Option<Changed>,
    line: Line,
    needs: Needs,
    shares: Shares,
    running: HashMap<TaskId, Running>,
    /// Where those stood in the line that this queue has started.
    arrivals: HashMap<TaskId, Arrival>,
    /// By the place of the task in the line.
    reservations: HashMap<u32, Reservation>,
}

impl Queue {
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// An environment has come, or something about it has changed.
    pub fn set_environment(&mut self, offer: Offer) {
        if self.offers.get(&offer.environment) == Some(&offer) {
            return;
        }
        let change = if self.inventory.restate(&offer) { Changed::Status } else { Changed::Places };
        self.offers.insert(offer.environment.clone(), offer);
        self.note(change);
    }

    pub fn remove_environment(&mut self, environment: &EnvironmentId) {
        if self.offers.remove(environment).is_some() {
            self.note(Changed::Places);
        }
    }

    fn note(&mut self, change: Changed) {
        let is_larger = self.changed != Some(Changed::Places);
        self.changed = if is_larger { Some(change) } else { self.changed };
    }

    /// Whether all that is known of environments has been counted.
    pub fn is_settled(&self) -> bool {
        self.changed.is_none()
    }

    /// Many environments come at once when a server starts: they are counted once, before the next look.
    pub fn settle(&mut self) {
        let Some(changed) = self.changed.take() else { return };
        if changed == Changed::Places {
            self.inventory = Inventory::of(self.offers.values());
            for running in self.running.values() {
                take(&mut self.inventory, running);
            }
        }
        self.needs.refresh(&self.inventory, changed);
    }

    /// A task waits. One that waits already is replaced.
    pub fn insert(&mut self, request: Request) {
        self.remove(&request.task);
        let arrival = self.line.arrival(&request);
        self.insert_at(request, arrival);
    }

    fn insert_at(&mut self, request: Request, arrival: Arrival) {
        self.settle();
        let owner = self.shares.owner(&request.owner);
        let class = self.needs.add(&request.need, request.limit_ms(), &self.inventory);
        let was_first = request.is_first.then(|| request.task.clone());
        let place = self.line.insert(request, owner, class, arrival);
        if let Some(task) = was_first {
            // Which workers is decided by the next walk.
            self.reservations.insert(place, Reservation { task, workers: Vec::new(), from: Latest::Unknown });
        }
    }

    /// A task does not wait any more: it was stopped or deleted.
    pub fn remove(&mut self, task: &TaskId) -> Option<Request> {
        self.take_out(task).map(|(request, _)| request)
    }

    fn take_out(&mut self, task: &TaskId) -> Option<(Request, Arrival)> {
        if let Some(place) = self.line.place(task) {
            self.reservations.remove(&place);
        }
        let waiting = self.line.remove(task)?;
        self.needs.release(waiting.class, &self.inventory);
        Some((waiting.request, waiting.arrival))
    }

    /// A task has workers that this queue has not given, because a server starts.
    pub fn set_running(&mut self, running: Running, now_ms: u64) {
        self.settle();
        self.remove(&running.request.task);
        self.ended(&running.request.task, now_ms);
        let owner = self.shares.owner(&running.request.owner);
        let workers = running.workers.len() as u64;
        self.line.left(owner, &running.request, running.started_ms);
        self.shares.charge(owner, workers, running.started_ms, now_ms, &self.rules, now_ms);
        self.shares.take(owner, Held { workers, tasks: 1 }, &self.rules, now_ms);
        take(&mut self.inventory, &running);
        self.running.insert(running.request.task.clone(), running);
    }

    /// What a task has used before the server started.
    pub fn charge(&mut self, request: &Request, workers: u64, from_ms: u64, to_ms: u64, now_ms: u64) {
        let owner = self.shares.owner(&request.owner);
        self.line.left(owner, request, from_ms);
        self.shares.charge(owner, workers, from_ms, to_ms, &self.rules, now_ms);
    }

    /// A task has given back some of its workers; with the last one it has ended.
    pub fn freed(&mut self, task: &TaskId, workers: &[WorkerId], now_ms: u64) {
        self.settle();
        let Some(running) = self.running.get_mut(task) else { return };
        let before = running.workers.len();
        let given_back: HashSet<&WorkerId> = workers.iter().collect();
        running.workers.retain(|worker| !given_back.contains(worker));
        let freed = (before - running.workers.len()) as u64;
        let is_over = running.workers.is_empty();
        for worker in workers {
            if let Some(number) = self.inventory.number(worker) {
                self.inventory.free(number, task);
            }
        }
        let owner = self.shares.owner(&running.request.owner);
        self.shares.give_back(owner, Held { workers: freed, tasks: u64::from(is_over) }, &self.rules, now_ms);
        if is_over {
            self.running.remove(task);
            self.arrivals.remove(task);
        }
    }

    /// A task has ended and holds nothing any more. What it asked for is answered, for a task that goes back to the queue.
    pub fn ended(&mut self, task: &TaskId, now_ms: u64) -> Option<Request> {
        let running = self.running.get(task)?;
        let (request, workers) = (running.request.clone(), running.workers.clone());
        self.freed(task, &workers, now_ms);
        Some(request)
    }

    /// A start could not be carried out: the task waits again, in its old place.
    pub fn not_started(&mut self, task: &TaskId, now_ms: u64) {
        let arrival = self.arrivals.get(task).copied();
        // What was kept for others while it had these workers is kept behind it again.
        let workers: HashSet<WorkerId> =
            self.running.get(task).map(|held| held.workers.iter().cloned().collect()).unwrap_or_default();
        self.reservations.retain(|_, kept| !kept.workers.iter().any(|worker| workers.contains(worker)));
        if let Some(request) = self.ended(task, now_ms) {
            let arrival = arrival.unwrap_or_else(|| self.line.arrival(&request));
            self.insert_at(request, arrival);
        }
    }

    /// Decides who starts and who gives way. The queue counts on it: what cannot be carried out is told to
    /// [`Queue::not_started`].
    pub fn decide(&mut self, now_ms: u64) -> Vec<Decision> {
        self.settle();
        let mut decisions = Vec::new();
        for _ in 0..MOST_WALKS {
            let findings = self.walk(now_ms).decide();
            // Those for whom workers are kept come before others of their priority: where that has changed, the next walk
            // may find room that this one did not see.
            let is_settled = findings.starts.is_empty() && findings.reservations == self.reservations;
            decisions.extend(self.carry_out(findings, now_ms));
            if is_settled {
                break;
            }
        }
        decisions
    }

    pub(super) fn walk(&self, now_ms: u64) -> Walk<'_> {
        let view = View {
            rules: &self.rules,
            line: &self.line,
            needs: &self.needs,
            shares: &self.shares,
            running: &self.running,
            reservations: &self.reservations,
        };
        Walk::new(view, Sheet::new(&self.inventory, now_ms))
    }

    fn carry_out(&mut self, findings: Findings, now_ms: u64) -> Vec<Decision> {
        let mut decisions = Vec::with_capacity(findings.starts.len() + findings.victims.len());
        self.reservations = findings.reservations;
        for starting in findings.starts {
            let Some((request, arrival)) = self.take_out(&starting.task) else { continue };
            self.arrivals.insert(starting.task.clone(), arrival);
            let workers: Vec<WorkerId> = starting.workers.iter().map(|worker| self.inventory.worker(*worker)).collect();
            let owner = self.shares.owner(&request.owner);
            self.line.left(owner, &request, now_ms);
            let held = Held { workers: workers.len() as u64, tasks: 1 };
            self.shares.take(owner, held, &self.rules, now_ms);
            let running = Running { request, workers: workers.clone(), started_ms: now_ms, stopping: Stopping::No };
            take(&mut self.inventory, &running);
            self.running.insert(starting.task.clone(), running);
            let (task, choice, before) = (starting.task, starting.choice, starting.before);
            decisions.push(Decision::Start(Start { task, workers, choice, before }));
        }
        for victim in findings.victims {
            let Some(running) = self.running.get_mut(&victim.task) else { continue };
            running.stopping = Stopping::By(victim.by_ms);
            take(&mut self.inventory, running);
            let (task, in_favour_of, by_ms) = (victim.task, victim.in_favour_of, victim.by_ms);
            decisions.push(Decision::Preempt(Preempt { victim: task, in_favour_of, by_ms }));
        }
        decisions
    }

    /// Why a task waits; none of a task that does not.
    pub fn explain(&mut self, task: &TaskId, now_ms: u64) -> Option<Waiting> {
        self.settle();
        self.explain_as_is(task, now_ms)
    }

    /// The same of a queue that others may look at too; what has changed about environments since it was
    /// [settled](Queue::settle) does not count.
    pub fn explain_as_is(&self, task: &TaskId, now_ms: u64) -> Option<Waiting> {
        let place = self.line.place(task)?;
        Explaining::new(self.walk(now_ms)).explain(place)
    }

    pub fn waits(&self, task: &TaskId) -> bool {
        self.line.place(task).is_some()
    }

    /// What a task that waits needs.
    pub fn need(&self, task: &TaskId) -> Option<&Need> {
        self.line.at(self.line.place(task)?).map(|waiting| &waiting.request.need)
    }

    /// What a task has, if it has anything.
    pub fn held_by(&self, task: &TaskId) -> Option<&Running> {
        self.running.get(task)
    }

    /// All that wait, in no order.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.line.tasks()
    }

    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    pub fn running(&self) -> impl Iterator<Item = &Running> {
        self.running.values()
    }

    /// What is kept for the tasks that are first in line, as the last decision left it.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// Who has a worker, and until when at the latest.
    pub fn holder(&self, worker: &WorkerId) -> Option<(&TaskId, Latest)> {
        let taken = self.inventory.taken(self.inventory.number(worker)?)?;
        Some((&taken.task, taken.until))
    }
}

/// Notes who has the workers, as far as they exist.
fn take(inventory: &mut Inventory, running: &Running) {
    let until = running.until();
    for worker in running.workers.iter().filter_map(|worker| inventory.number(worker)).collect::<Vec<_>>() {
        inventory.take(worker, Taken { task: running.request.task.clone(), until });
    }
}

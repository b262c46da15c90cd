//! A trace played through the queue, and through plain first come, first served.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::queue::{Decision, Latest, Queue, Request, Rules, Start};

use super::cluster::{WORKERS, offers};
use super::job::{HOUR, Job};

#[derive(Clone, Debug)]
pub enum Policy {
    Queue(Rules),
    /// By priority, then first come, first served: while the first cannot start, none does.
    PlainFifo,
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// By the number of the task.
    pub waits: BTreeMap<usize, u64>,
    /// When each ran, and on how many workers.
    spans: Vec<(usize, u64, u64, u64)>,
    /// How many tasks were told when they start at the latest, and who started later.
    pub promises: usize,
    pub broken: Vec<String>,
    /// What must never be: a worker given twice, a task with too few.
    pub wrong: Vec<String>,
}

pub fn replay(trace: &[Job], policy: Policy) -> Outcome {
    Outcome::until(trace, policy, u64::MAX)
}

impl Outcome {
    /// Plays a trace, at most to this time.
    pub fn until(trace: &[Job], policy: Policy, last_ms: u64) -> Self {
        let mut play = Play::new(trace, policy);
        let mut arrivals = (0..trace.len()).peekable();
        loop {
            let arrival = arrivals.peek().map(|number| trace[*number].request.submitted_ms);
            let end = play.ends.peek().map(|Reverse((end, _))| *end);
            let Some(now) = arrival.into_iter().chain(end).min().filter(|now| *now <= last_ms) else { break };
            while let Some(Reverse((_, number))) = play.ends.peek().filter(|Reverse((end, _))| *end == now).copied() {
                play.ends.pop();
                play.end(number, now);
            }
            while let Some(number) = arrivals.next_if(|number| trace[*number].request.submitted_ms == now) {
                play.arrive(number, now);
            }
            play.decide(now);
        }
        play.outcome
    }

    pub fn mean_wait(&self) -> f64 {
        self.waits.values().sum::<u64>() as f64 / self.waits.len().max(1) as f64
    }

    pub fn longest_wait(&self) -> u64 {
        self.waits.values().max().copied().unwrap_or(0)
    }

    /// How much of the cluster was in use until then, of 1.
    pub fn used_within(&self, span_ms: u64) -> f64 {
        let used: u64 = self.spans.iter().map(|span| used(span, span_ms)).sum();
        used as f64 / (WORKERS * span_ms) as f64
    }

    pub fn used_by<'a>(&self, trace: &'a [Job], span_ms: u64) -> BTreeMap<&'a str, u64> {
        let mut by_user = BTreeMap::new();
        for span in &self.spans {
            *by_user.entry(trace[span.0].request.owner.as_str()).or_default() += used(span, span_ms);
        }
        by_user
    }

    pub fn row(&self, span_ms: u64) -> String {
        let mut waits: Vec<u64> = self.waits.values().copied().collect();
        waits.sort_unstable();
        let hours = |ms: f64| format!("{:.2} h", ms / HOUR as f64);
        let at = |percent: usize| hours(waits.get(waits.len() * percent / 100).copied().unwrap_or(0) as f64);
        let (mean, longest) = (hours(self.mean_wait()), hours(self.longest_wait() as f64));
        let in_use = self.used_within(span_ms) * 100.0;
        format!("| {mean} | {} | {} | {longest} | {in_use:.1} % |", at(50), at(95))
    }
}

/// A table of both policies over the time in which tasks came.
pub fn compare(trace: &[Job]) -> (Outcome, Outcome, String) {
    let span = trace.last().map_or(1, |job| job.request.submitted_ms.max(1));
    let (ours, plain) = (replay(trace, Policy::Queue(Rules::default())), replay(trace, Policy::PlainFifo));
    let rows = [("queue", &ours), ("plain FIFO", &plain)].map(|(name, it)| format!("| {name} {}\n", it.row(span)));
    let head = "| | mean wait | median | 95 % | longest | in use |\n|---|---|---|---|---|---|\n";
    let table = format!("{} tasks on {WORKERS} workers\n{head}{}", trace.len(), rows.concat());
    (ours, plain, table)
}

fn used((_, from, to, workers): &(usize, u64, u64, u64), span_ms: u64) -> u64 {
    (to.min(&span_ms) - from.min(&span_ms)) * workers
}

struct Play<'a> {
    trace: &'a [Job],
    queue: Queue,
    /// Those that plain first come, first served does not show to the queue yet.
    fifo: Option<BTreeSet<(Reverse<i32>, usize)>>,
    numbers: HashMap<TaskId, usize>,
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    held: HashMap<WorkerId, usize>,
    promised: HashMap<TaskId, u64>,
    outcome: Outcome,
}

impl<'a> Play<'a> {
    fn new(trace: &'a [Job], policy: Policy) -> Self {
        let (rules, fifo) = match policy {
            Policy::Queue(rules) => (rules, None),
            Policy::PlainFifo => (Rules::default(), Some(BTreeSet::new())),
        };
        let mut queue = Queue::new(rules);
        offers().into_iter().for_each(|offer| queue.set_environment(offer));
        let numbers = trace.iter().zip(0..).map(|(job, number)| (job.request.task.clone(), number)).collect();
        let (ends, held, promised) = (BinaryHeap::new(), HashMap::new(), HashMap::new());
        Self { trace, queue, fifo, numbers, ends, held, promised, outcome: Outcome::default() }
    }

    fn arrive(&mut self, number: usize, now: u64) {
        let request = &self.trace[number].request;
        match &mut self.fifo {
            Some(fifo) => {
                fifo.insert((Reverse(request.priority), number));
            }
            None => self.queue.insert(Request { waits_since_ms: now, ..request.clone() }),
        }
    }

    fn end(&mut self, number: usize, now: u64) {
        let task = &self.trace[number].request.task;
        if self.queue.ended(task, now).is_none() {
            self.outcome.wrong.push(format!("{task} ends and does not run"));
        }
        self.held.retain(|_, holder| *holder != number);
    }

    fn decide(&mut self, now: u64) {
        while let Some(first) = self.first_of_fifo() {
            let request = self.trace[first].request.clone();
            self.queue.insert(Request { waits_since_ms: now, ..request });
            self.carry_out(now);
            let task = &self.trace[first].request.task;
            if self.queue.remove(task).is_some() {
                return;
            }
            if let Some(fifo) = &mut self.fifo {
                fifo.pop_first();
            }
        }
        if self.fifo.is_none() {
            self.carry_out(now);
            self.note_promises();
        }
    }

    fn first_of_fifo(&self) -> Option<usize> {
        self.fifo.as_ref()?.first().map(|(_, number)| *number)
    }

    fn carry_out(&mut self, now: u64) {
        for decision in self.queue.decide(now) {
            match decision {
                Decision::Start(start) => self.start(&start, now),
                Decision::Preempt(preempt) => self.outcome.wrong.push(format!("preemption is off: {preempt:?}")),
            }
        }
    }

    fn start(&mut self, start: &Start, now: u64) {
        let Some(number) = self.numbers.get(&start.task).copied() else {
            self.outcome.wrong.push(format!("{} starts and has not come", start.task));
            return;
        };
        let job = &self.trace[number];
        let distinct: HashSet<&WorkerId> = start.workers.iter().collect();
        if distinct.len() as u64 != job.request.need.workers() {
            self.outcome.wrong.push(format!("{} has {} workers", start.task, distinct.len()));
        }
        for worker in &start.workers {
            if self.held.insert(worker.clone(), number).is_some() {
                self.outcome.wrong.push(format!("{worker} is given to {} and held", start.task));
            }
        }
        if let Some(promised) = self.promised.remove(&start.task).filter(|promised| now > *promised) {
            self.outcome.broken.push(format!("{} was promised {promised} and starts at {now}", start.task));
        }
        let end = now + job.takes_ms;
        self.outcome.waits.insert(number, now - job.request.submitted_ms);
        self.outcome.spans.push((number, now, end, start.workers.len() as u64));
        self.ends.push(Reverse((end, number)));
    }

    fn note_promises(&mut self) {
        for kept in self.queue.reservations() {
            let Latest::At(from) = kept.from else { continue };
            let promised = self.promised.entry(kept.task.clone()).or_insert_with(|| {
                self.outcome.promises += 1;
                from
            });
            if from > *promised {
                self.outcome.broken.push(format!("{} was promised {promised}, then {from}", kept.task));
            }
            *promised = from;
        }
    }
}

//! The rules of the queue, each as a small cluster in which it shows.

mod choosing;
mod explaining;
mod keeping;
mod ordering;
mod preempting;
mod properties;

use std::collections::BTreeMap;

use super::*;
use crate::environment::EnvironmentStatus;
use crate::ids::TaskId;
use crate::units::Seconds;

pub(super) const HOUR: u64 = 3_600_000;

/// `gn6 8 H100 a`: a name, how many GPUs of which model (once or several times), a zone.
pub(super) fn offer(text: &str) -> Offer {
    let words: Vec<&str> = text.split(' ').collect();
    let [name, runs @ .., zone] = &words[..] else { panic!("{text}") };
    let run =
        |run: &[&str]| WorkerRun { model: (run[1] != "-").then(|| run[1].to_owned()), count: run[0].parse().unwrap() };
    let (name, zone) = (*name, *zone);
    Offer {
        environment: name.into(),
        name: name.to_owned(),
        zone: (zone != "-").then(|| zone.to_owned()),
        labels: BTreeMap::new(),
        status: EnvironmentStatus::Running,
        runs: runs.chunks(2).map(run).collect(),
    }
}

pub(super) fn cluster(offers: &[&str]) -> Queue {
    with_rules(Rules::default(), offers)
}

pub(super) fn with_rules(rules: Rules, offers: &[&str]) -> Queue {
    let mut queue = Queue::new(rules);
    offers.iter().for_each(|text| queue.set_environment(offer(text)));
    queue
}

/// `2x8 H100`: nodes and workers on each, of a GPU model, any (`-`) or any worker (`*`).
pub(super) fn auto(text: &str) -> Need {
    let (size, kind) = text.split_once(' ').unwrap();
    let (nodes, workers) = size.split_once('x').unwrap();
    let size = Size { nodes: nodes.parse().unwrap(), workers: workers.parse().unwrap() };
    let kind = match kind {
        "*" => Kind::Any,
        "-" => Kind::AnyGpu,
        model => Kind::Gpu(model.to_owned()),
    };
    Need::Auto(Wish { size, kind, zone: None, labels: BTreeMap::new() })
}

pub(super) fn these(workers: &[&str]) -> Need {
    Need::Workers(workers.iter().map(|worker| worker.parse().unwrap()).collect())
}

/// A usual task of `ada`.
pub(super) fn request(task: &str, need: Need) -> Request {
    Request { owner: "ada".into(), priority: 0, ..Request::unknown(task.into(), need) }
}

impl Request {
    fn limited(self, hours: u64) -> Self {
        Self { time_limit: Some(Seconds(hours * 3_600)), ..self }
    }

    fn of(self, owner: &str) -> Self {
        Self { owner: owner.to_owned(), ..self }
    }

    fn at(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    fn preemptible(self) -> Self {
        Self { preemptible: true, ..self }
    }
}

/// Inserts one task after the other, all at once.
pub(super) fn insert(queue: &mut Queue, now_ms: u64, requests: impl IntoIterator<Item = Request>) {
    for request in requests {
        queue.insert(Request { submitted_ms: now_ms, waits_since_ms: now_ms, ..request });
    }
}

/// Who starts, in order.
pub(super) fn starts(queue: &mut Queue, now_ms: u64) -> Vec<Start> {
    let decisions = queue.decide(now_ms).into_iter();
    let starts = decisions.filter_map(|decision| match decision {
        Decision::Start(start) => Some(start),
        Decision::Preempt(_) => None,
    });
    starts.collect()
}

pub(super) fn names(queue: &mut Queue, now_ms: u64) -> Vec<String> {
    starts(queue, now_ms).into_iter().map(|start| start.task.to_string()).collect()
}

/// The workers of a start, as one text.
pub(super) fn workers(start: &Start) -> String {
    start.workers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

pub(super) fn english(queue: &mut Queue, task: &str, now_ms: u64) -> String {
    queue.explain(&TaskId::from(task), now_ms).unwrap().text().en.into_owned()
}

/// A task that gave way has ended: it waits again, first among those of its priority.
fn give_back(queue: &mut Queue, task: &TaskId, now_ms: u64) {
    if let Some(request) = queue.ended(task, now_ms) {
        queue.insert(Request { standing: Standing::Returned, ..request });
    }
}

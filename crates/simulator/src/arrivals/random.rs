//! Tasks as they come over weeks, by a seed.

use std::collections::BTreeMap;

use fermi_domain::queue::{Kind, Need, Request, Size, Standing, Wish};
use fermi_domain::units::Seconds;
use fermi_mutator::Dice;

use super::cluster::{MACHINES, WORKERS};
use super::job::{DAY, Job, whole};

/// What comes.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// How much of the cluster all tasks together need, in percent.
    pub load: u64,
    pub priorities: u64,
}

impl Mix {
    pub fn usual() -> Self {
        Self { load: 80, priorities: 3 }
    }
}

/// Tasks of eight users, of whom the first come most often, until they amount to the load.
pub fn random_weeks(seed: u64, weeks: u64, mix: Mix) -> Vec<Job> {
    let mut dice = Dice::new(seed);
    let span = weeks * 7 * DAY;
    let mut needed = WORKERS * span / 100 * mix.load;
    let mut trace = Vec::new();
    while needed > 0 {
        let user = dice.between(0, 7).min(dice.between(0, 7));
        let (nodes, workers) = match dice.below(100) {
            0..35 => (1, 1),
            35..50 => (1, 2),
            50..65 => (1, 4),
            65..85 => (1, 8),
            85..93 => (2, 8),
            93..98 => (4, 8),
            _ => (8, 8),
        };
        let mut job = job(&mut dice, &format!("user-{user}"), trace.len(), nodes, workers);
        if dice.below(100) < 15 {
            job.request.need = ticked(&mut dice);
        }
        if dice.below(100) < 40 {
            job.request.time_limit = None;
        }
        job.request.submitted_ms = dice.below(span);
        job.request.priority = match dice.below(10) {
            0 if mix.priorities > 1 => 1,
            1 if mix.priorities > 2 => -1,
            _ => 0,
        };
        needed = needed.saturating_sub(job.takes_ms * job.request.need.workers());
        trace.push(job);
    }
    trace.sort_by_key(|job| job.request.submitted_ms);
    trace
}

/// A task that takes from ten minutes to a day, mostly hours, and states up to three times as much.
pub fn job(dice: &mut Dice, owner: &str, number: usize, nodes: u32, workers: u32) -> Job {
    // Each doubling of ten minutes is as likely as any other.
    let doublings = dice.below(720) as f64 / 100.0;
    let takes_s = (600.0 * doublings.exp2()) as u64;
    let kind = match (nodes, dice.below(10)) {
        (1..=4, 0..3) => Kind::Gpu("H100".into()),
        (1..=4, 3..5) => Kind::Gpu("A100".into()),
        _ => Kind::AnyGpu,
    };
    let wish = Wish { size: Size { nodes, workers }, kind, zone: None, labels: BTreeMap::new() };
    let request = Request {
        task: format!("task-{number}").as_str().into(),
        name: String::new(),
        owner: owner.to_owned(),
        priority: 0,
        submitted_ms: 0,
        waits_since_ms: 0,
        is_first: false,
        time_limit: Some(Seconds(takes_s * dice.between(100, 300) / 100)),
        preemptible: false,
        standing: Standing::New,
        need: Need::Auto(wish),
    };
    Job { request, takes_ms: takes_s * 1_000 }
}

/// One or two whole machines by name.
fn ticked(dice: &mut Dice) -> Need {
    let first = dice.below(MACHINES);
    if dice.below(2) == 0 { whole([first]) } else { whole([first, (first + 1) % MACHINES]) }
}

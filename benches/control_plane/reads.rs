//! Lists and single tasks out of 100,000, while new ones are created all the time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fleet::Fleet;
use super::load::{self, Callers, Enough, Pace};
use super::outside::{CpuMeter, pss_mb};
use super::wire::{self, Answer};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

const STORED: usize = 100_000;
const HOW_LONG: Duration = Duration::from_secs(10);
const READS_PER_SECOND: f64 = 200.0;
const CREATES_PER_SECOND: f64 = 500.0;
/// How many pages of 1,000 are walked to find places from which lists begin.
const PAGES: usize = 20;

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("held", 1)])?;
    fleet.hold_workers()?;
    let create = wire::request("POST", "/api/v1/training-tasks", Some(&fleet.task(&["/bin/true"])?));
    let (ids, filled) = fill(&fleet, &create)?;
    let shows: Vec<String> = ids.iter().map(|id| format!("/api/v1/training-tasks/{id}")).collect();
    let lists = list_paths(&fleet)?;
    let creates = Callers {
        pace: Pace::PerSecond(CREATES_PER_SECOND),
        connections: 32,
        request: Box::new(move || create.clone()),
        look: Box::new(|_| {}),
    };
    let meter = CpuMeter::start(fleet.server_pid());
    let callers = vec![reading(lists), reading(shows), creates];
    let outcomes = load::drive(fleet.address(), callers, Enough::After(HOW_LONG))?;
    let (cpu, pss) = (meter.percent(), pss_mb(fleet.server_pid()));
    if let Some(refused) = outcomes.iter().find(|outcome| outcome.refused > 0) {
        return Err(format!("{} requests were refused: {}", refused.refused, refused.first_refusal).into());
    }

    let mut table = Table::new(
        "Out of 100,000 tasks, with 500 creates/s, 10 s",
        &["", "per second", "count", "p50 ms", "p99 ms", "max ms"],
    );
    let names = ["list (50)", "show", "create"];
    for (name, outcome) in names.iter().zip(&outcomes) {
        let rate = format!("{:.0}", outcome.per_second);
        table.row([(*name).to_owned(), rate].into_iter().chain(outcome.latency.cells()));
    }
    table.print();
    println!("  stored in {filled:.1} s; CPU of the server {cpu:.0} % of one core; memory {pss:.1} MB");
    for (name, outcome) in names.iter().zip(&outcomes).take(2) {
        report.promise(&format!("{name} of 100,000, p99"), Bound::AtMost(10.0), outcome.latency.p99(), "ms");
    }
    let samples = names.iter().zip(&outcomes).map(|(name, outcome)| (*name, outcome.latency.json()));
    let samples: serde_json::Map<_, _> = samples.map(|(name, json)| (name.to_owned(), json)).collect();
    report.keep("reads", json!({ "ms": samples, "serverCpuPercent": cpu, "pssMb": pss, "filledSeconds": filled }));
    Ok(())
}

/// Creates the tasks. Answers with every hundredth id, and how long it took.
fn fill(fleet: &Fleet, create: &[u8]) -> Result<(Vec<String>, f64), Trouble> {
    let ids = Rc::new(RefCell::new(Vec::new()));
    let (seen, request, mut count) = (ids.clone(), create.to_vec(), 0_usize);
    let callers = Callers {
        pace: Pace::Answered,
        connections: 64,
        request: Box::new(move || request.clone()),
        look: Box::new(move |answer: &Answer| {
            count += 1;
            if count.is_multiple_of(100)
                && let Some(id) = answer.json()["data"]["taskId"].as_str()
            {
                seen.borrow_mut().push(id.to_owned());
            }
        }),
    };
    let begun = Instant::now();
    load::drive(fleet.address(), vec![callers], Enough::Answers(STORED))?;
    let ids = ids.borrow().clone();
    Ok((ids, begun.elapsed().as_secs_f64()))
}

/// The first page, in every second request, and pages further down.
fn list_paths(fleet: &Fleet) -> Result<Vec<String>, Trouble> {
    let mut wire = fleet.wire()?;
    let first = "/api/v1/training-tasks?pageSize=50".to_owned();
    let mut paths = Vec::new();
    let mut token = String::new();
    for _ in 0..PAGES {
        let page = wire.get(&format!("/training-tasks?pageSize=1000{token}"))?;
        let next = page["nextPageToken"].as_str().ok_or("there are fewer tasks than were created")?;
        token = format!("&pageToken={next}");
        paths.extend([first.clone(), format!("{first}{token}")]);
    }
    Ok(paths)
}

fn reading(paths: Vec<String>) -> Callers {
    let mut turn = 0;
    let request = move || {
        turn += 1;
        wire::request("GET", &paths[turn % paths.len()], None)
    };
    Callers {
        pace: Pace::PerSecond(READS_PER_SECOND),
        connections: 16,
        request: Box::new(request),
        look: Box::new(|_| {}),
    }
}

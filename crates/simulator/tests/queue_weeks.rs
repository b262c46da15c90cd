//! Weeks of a cluster in the queue, by a seed: what holds over time, and how it compares with plain first come, first
//! served on the same trace. `cargo test -p fermi-simulator --test queue_weeks -- --nocapture` prints the numbers.
#![allow(clippy::print_stdout, reason = "the numbers are what one runs it for")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers beside the tests are tests too"
)]

use std::collections::BTreeMap;

use fermi_domain::queue::{Rules, UserRules};
use fermi_mutator::Dice;
use fermi_simulator::arrivals::{
    DAY, HOUR, Job, KEPT_WEEK, Mix, Outcome, Policy, WORKERS, any, compare, job, random_weeks, replay,
};

const SEED: u64 = 20_261_116;
const WEEKS: u64 = 4;

fn queue() -> Policy {
    Policy::Queue(Rules::default())
}

#[test]
fn over_weeks_nothing_starves_and_less_is_waited_for_than_first_come_first_served() {
    let trace = random_weeks(SEED, WEEKS, Mix::usual());
    let (ours, plain, table) = compare(&trace);
    println!("{WEEKS} weeks, seed {SEED}: {table}");
    assert_eq!((&ours.wrong, &plain.wrong), (&Vec::new(), &Vec::new()));
    assert_eq!((ours.waits.len(), plain.waits.len()), (trace.len(), trace.len()), "every task has started");
    assert!(ours.mean_wait() < plain.mean_wait() / 2.0, "{} and {}", ours.mean_wait(), plain.mean_wait());
    assert!(ours.used_within(WEEKS * 7 * DAY) >= plain.used_within(WEEKS * 7 * DAY));
    assert!(ours.longest_wait() < plain.longest_wait().max(5 * DAY), "{} h", ours.longest_wait() / HOUR);
}

#[test]
fn the_kept_week_is_waited_for_no_longer_than_first_come_first_served() {
    let trace = Job::read_all(KEPT_WEEK).unwrap();
    let (ours, plain, table) = compare(&trace);
    println!("{table}");
    assert_eq!((&ours.wrong, &plain.wrong), (&Vec::new(), &Vec::new()));
    assert_eq!((ours.waits.len(), plain.waits.len()), (trace.len(), trace.len()), "every task has started");
    assert!(ours.mean_wait() <= plain.mean_wait(), "{table}");
    let span = trace.last().map_or(1, |job| job.request.submitted_ms);
    assert!(ours.used_within(span) >= plain.used_within(span), "{table}");
    assert_eq!(Job::write_all(&trace), KEPT_WEEK);
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error = Job::read_all("# by hand\n0,ada,1,8,any,,0,60,\n5,ada,1\n").unwrap_err();
    assert!(error.line == 3 && error.to_string().contains("submitted_s,owner"), "{error}");
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let story = || replay(&random_weeks(SEED, 1, Mix::usual()), queue());
    let (first, again) = (story(), story());
    assert_eq!(first.waits, again.waits);
    assert_ne!(first.waits, replay(&random_weeks(SEED + 1, 1, Mix::usual()), queue()).waits);
}

#[test]
fn promises_to_the_first_in_line_are_kept_over_weeks() {
    for seed in SEED..SEED + 3 {
        let trace = random_weeks(seed, 2, Mix { priorities: 1, ..Mix::usual() });
        let outcome = replay(&trace, Policy::Queue(Rules { aging: None, ..Rules::default() }));
        println!("seed {seed}: {} promises, {} broken", outcome.promises, outcome.broken.len());
        assert!(outcome.promises > 50 && outcome.broken.is_empty(), "{:?}", outcome.broken);
    }
}

/// Users who always have tasks waiting, which could run in each other's place, get what their shares say. A user with small
/// tasks gets more: gaps that no other task fits into.
#[test]
fn shares_are_met_within_five_percent() {
    let users = [("ada", 1, 8, 1), ("bo", 1, 8, 1), ("cy", 2, 8, 1), ("di", 4, 8, 2)];
    let mut rules = Rules::default();
    let mut trace: Vec<Job> = Vec::new();
    let mut dice = Dice::new(SEED);
    for (name, share, workers, nodes) in users {
        rules.users.insert(name.to_owned(), UserRules { share, limits: None });
        // More than the whole cluster could do in the time, each in the same amount.
        let mut asked = 0;
        while asked < WORKERS * WEEKS * 7 * DAY {
            let mut one = job(&mut dice, name, trace.len(), nodes, workers);
            one.request.need = any(nodes, workers);
            asked += one.takes_ms * u64::from(nodes * workers);
            trace.push(one);
        }
    }
    let span = WEEKS * 7 * DAY;
    let outcome = Outcome::until(&trace, Policy::Queue(rules), span);
    let used: BTreeMap<&str, u64> = outcome.used_by(&trace, span);
    let total: u64 = used.values().sum();
    println!("| user | share | got | off by |\n|---|---|---|---|");
    for (name, share, ..) in users {
        let (wanted, got) = (f64::from(share) / 8.0, used[name] as f64 / total as f64);
        let off = (got / wanted - 1.0) * 100.0;
        println!("| {name} | {:.1} % | {:.1} % | {off:+.2} % |", wanted * 100.0, got * 100.0);
        assert!(off.abs() < 5.0, "{name}");
    }
    println!("in use: {:.1} %", total as f64 / (WORKERS * span) as f64 * 100.0);
}

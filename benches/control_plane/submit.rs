//! From sending a create to the moment at which the last of six ranks on three idle agents runs, beside starting the same
//! six processes by hand.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::fleet::{Fleet, eventually};
use super::spread::Spread;
use super::wire::Wire;
use crate::Trouble;
use crate::report::{Bound, Report, Table, ms};

const ROUNDS: usize = 40;
const RANKS: usize = 6;
/// The first thing that a rank does is to say what time it is, in nanoseconds.
const ARGV: [&str; 3] = ["/bin/sh", "-c", "date +%s%N"];

/// Milliseconds since a create was sent, by what happened: of the first such event of a task, and of the last.
type Course = BTreeMap<String, (Spread, Spread)>;

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("one", 2), ("two", 2), ("three", 2)])?;
    let mut wire = fleet.wire()?;
    let task = fleet.task(&ARGV)?;
    let (mut bare, mut submitted, mut answered) = (Spread::default(), Spread::default(), Spread::default());
    let mut course = Course::new();
    // The first task of an agent's life pays for things that are read once.
    submit(&fleet, &mut wire, &task, &mut Course::new())?;
    for _ in 0..ROUNDS {
        fleet.wait_idle()?;
        bare.push(start_by_hand()?);
        let (answer, last_rank) = submit(&fleet, &mut wire, &task, &mut course)?;
        answered.push(answer);
        submitted.push(last_rank);
    }

    let mut table = Table::new(
        "From sending a create to six ranks on three idle agents, 40 rounds, ms",
        &["", "count", "p50", "p99", "max"],
    );
    for (name, spread) in
        [("bare: six processes started by hand", &bare), ("create answered", &answered), ("last rank runs", &submitted)]
    {
        table.row([name.to_owned()].into_iter().chain(spread.cells()));
    }
    table.print();
    print_course(&course);
    report.promise("submit → six ranks, p50 over bare", Bound::AtMost(60.0), submitted.p50() - bare.p50(), "ms");
    report.promise("submit → six ranks, p99", Bound::AtMost(200.0), submitted.p99(), "ms");
    let kinds = course.iter().map(|(kind, (first, last))| (kind.clone(), json!([first.json(), last.json()])));
    let kinds: serde_json::Map<String, Value> = kinds.collect();
    report.keep(
        "submit",
        json!({ "bareMs": bare.json(), "answeredMs": answered.json(), "lastRankMs": submitted.json(), "eventsMs": kinds }),
    );
    Ok(())
}

fn print_course(course: &Course) {
    let mut rows: Vec<_> = course.iter().collect();
    rows.sort_by(|a, b| a.1.1.p50().total_cmp(&b.1.1.p50()));
    let columns = ["event", "count", "first p50", "last p50", "last p99"];
    let mut table = Table::new("Where the time goes: events of the task, ms since the create was sent", &columns);
    for (kind, (first, last)) in rows {
        table.row([kind.clone(), last.count().to_string(), ms(first.p50()), ms(last.p50()), ms(last.p99())]);
    }
    table.print();
}

/// Milliseconds until the create was answered, and until the last rank ran.
fn submit(fleet: &Fleet, wire: &mut Wire, task: &Value, course: &mut Course) -> Result<(f64, f64), Trouble> {
    let sent = now_ms();
    let id = fleet.create(wire, task)?;
    let answered = now_ms() - sent;
    eventually("a task to succeed", || {
        let status = wire.get(&format!("/training-tasks/{id}")).ok()?["status"].take();
        (status == "succeeded").then_some(())
    })?;
    let mut last = 0.0_f64;
    for rank in 0..RANKS {
        let path = format!("/training-tasks/{id}/logs?attempt=1&rank={rank}&stream=stdout&offset=0&limitBytes=4096");
        // What a rank wrote may reach the server a moment after the news of its end.
        let text = eventually("what a rank wrote", || {
            let text = wire.get(&path).ok()?["chunks"][0]["text"].as_str()?.to_owned();
            text.ends_with('\n').then_some(text)
        })?;
        last = last.max(milliseconds(&text)? - sent);
    }
    let events = wire.get(&format!("/training-tasks/{id}/events?pageSize=1000"))?["items"].take();
    let mut seen: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for event in events.as_array().into_iter().flatten() {
        let (Some(kind), Some(time)) = (event["kind"].as_str(), event["time"].as_f64()) else { continue };
        let since = time - sent;
        let both = seen.entry(kind.to_owned()).or_insert((since, since));
        *both = (both.0.min(since), both.1.max(since));
    }
    for (kind, (first, last)) in seen {
        let spreads = course.entry(kind).or_default();
        spreads.0.push(first);
        spreads.1.push(last);
    }
    Ok((answered, last))
}

fn start_by_hand() -> Result<f64, Trouble> {
    let begun = now_ms();
    let start = || Command::new(ARGV[0]).args(&ARGV[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let children = (0..RANKS).map(|_| start()).collect::<std::io::Result<Vec<Child>>>()?;
    let mut last = 0.0_f64;
    for child in children {
        let output = child.wait_with_output()?;
        last = last.max(milliseconds(&String::from_utf8_lossy(&output.stdout))? - begun);
    }
    Ok(last)
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1e3)
}

/// What `date +%s%N` said.
fn milliseconds(text: &str) -> Result<f64, Trouble> {
    let nanoseconds: f64 = text.trim().parse().map_err(|_| format!("a rank said '{text}' and not the time"))?;
    Ok(nanoseconds / 1e6)
}

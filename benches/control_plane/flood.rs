//! Eight ranks that write 20 MB/s each through one agent: nothing is lost, memory stays flat, the agent stays heard.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fleet::Fleet;
use super::outside::{CpuMeter, pss_mb};
use super::spread::Spread;
use super::wire::Wire;
use super::writer;
use crate::Trouble;
use crate::report::{Bound, Report, Table};

const RANKS: u32 = 8;
const MEGABYTES_PER_SECOND: u64 = 20;
const SECONDS: u64 = 20;
/// How long the tail may take after the last rank has ended.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What is seen from outside at one moment.
struct Look {
    at: f64,
    server_mb: f64,
    agent_mb: f64,
    taken: u64,
    heartbeat_age: f64,
    environment: String,
    task: String,
}

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("flooded", RANKS)])?;
    let mut wire = fleet.wire()?;
    let (rate, seconds) = (MEGABYTES_PER_SECOND.to_string(), SECONDS.to_string());
    let task = fleet.task(&[&fleet.rank_program(), writer::WRITE, &rate, &seconds])?;
    let wanted = writer::bytes(MEGABYTES_PER_SECOND, SECONDS) * u64::from(RANKS);
    let (server, agent) = (CpuMeter::start(fleet.server_pid()), CpuMeter::start(fleet.agent_pid(0)));
    let begun = Instant::now();
    let id = fleet.create(&mut wire, &task)?;
    let mut looks: Vec<Look> = Vec::new();
    let (mut written_at, mut cpu) = (None, (f64::NAN, f64::NAN));
    loop {
        let look = look(&fleet, &mut wire, &id, begun)?;
        let (is_over, is_whole) = (is_over(&look.task), look.taken >= wanted);
        looks.push(look);
        if ranks_have_ended(&mut wire, &id)? && written_at.is_none() {
            written_at = Some(begun.elapsed().as_secs_f64());
            cpu = (server.percent(), agent.percent());
        }
        if is_over && (is_whole || begun.elapsed() > PATIENCE) || begun.elapsed() > 2 * PATIENCE {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let whole_at = looks.iter().find(|look| look.taken >= wanted).map_or(f64::NAN, |look| look.at);
    let tail = whole_at - written_at.unwrap_or(f64::NAN);
    let taken = looks.last().map_or(0, |look| look.taken);
    let wrong_ends = wrong_ends(&mut wire, &id)?;
    let suspects = suspects(&mut wire)?;
    let pace = slowest_rank(&mut wire, &id)?;

    print_looks(&looks);
    let growth = [growth(&looks, |look| look.server_mb), growth(&looks, |look| look.agent_mb)];
    let ages: Spread = looks.iter().map(|look| look.heartbeat_age).collect();
    println!(
        "  {wanted} bytes written, {taken} taken, the last {tail:.1} s after the ranks had ended; the slowest rank took \
         {pace:.1} s for its {SECONDS}\n  CPU while they wrote: server {:.0} %, agent {:.0} % of one core; oldest heartbeat \
         seen {:.0} ms; became suspect {suspects} times; ended as {}",
        cpu.0,
        cpu.1,
        ages.most(),
        looks.last().map_or("", |look| look.task.as_str()),
    );
    report.promise("log flood, growth of the server (PSS)", Bound::AtMost(20.0), growth[0], "MB");
    report.promise("log flood, growth of the agent (PSS)", Bound::AtMost(20.0), growth[1], "MB");
    report.promise("log flood, bytes lost or doubled", Bound::AtMost(0.0), wanted.abs_diff(taken) as f64, "bytes");
    report.promise("log flood, streams with a wrong last line", Bound::AtMost(0.0), f64::from(wrong_ends), "");
    report.promise("log flood, times the agent became suspect", Bound::AtMost(0.0), suspects, "");
    let samples: Vec<Value> = looks
        .iter()
        .map(|look| json!([look.at, look.server_mb, look.agent_mb, look.taken, look.heartbeat_age, look.environment]))
        .collect();
    report.keep(
        "flood",
        json!({
            "looks": samples, "bytes": wanted, "taken": taken, "tailSeconds": tail, "slowestRankSeconds": pace,
            "serverCpuPercent": cpu.0, "agentCpuPercent": cpu.1,
        }),
    );
    Ok(())
}

fn look(fleet: &Fleet, wire: &mut Wire, id: &str, begun: Instant) -> Result<Look, Trouble> {
    let task = wire.get(&format!("/training-tasks/{id}"))?["status"].as_str().unwrap_or_default().to_owned();
    let environment = fleet.environments()?.into_iter().next().unwrap_or_default();
    let mut taken = 0;
    for rank in 0..RANKS {
        taken += stream(wire, id, rank, "stdout", 0, 1)?["length"].as_u64().unwrap_or(0);
    }
    Ok(Look {
        at: begun.elapsed().as_secs_f64(),
        server_mb: pss_mb(fleet.server_pid()),
        agent_mb: pss_mb(fleet.agent_pid(0)),
        taken,
        heartbeat_age: environment["heartbeatAgeMs"].as_f64().unwrap_or(f64::NAN),
        environment: environment["status"].as_str().unwrap_or_default().to_owned(),
        task,
    })
}

fn is_over(task: &str) -> bool {
    matches!(task, "succeeded" | "failed" | "stopped")
}

/// One chunk of a rank's stream.
fn stream(wire: &mut Wire, id: &str, rank: u32, name: &str, offset: u64, limit: u64) -> Result<Value, Trouble> {
    let place = format!("rank={rank}&stream={name}&offset={offset}&limitBytes={limit}");
    let logs = wire.get(&format!("/training-tasks/{id}/logs?{place}"))?;
    Ok(logs["chunks"].get(0).cloned().unwrap_or_default())
}

fn ranks_have_ended(wire: &mut Wire, id: &str) -> Result<bool, Trouble> {
    let ranks = wire.get(&format!("/training-tasks/{id}/ranks"))?["items"].take();
    let ranks = ranks.as_array().cloned().unwrap_or_default();
    Ok(!ranks.is_empty() && ranks.iter().all(|rank| rank["state"] == "succeeded" || rank["state"] == "failed"))
}

/// How many streams do not end with the line that was written last.
fn wrong_ends(wire: &mut Wire, id: &str) -> Result<u32, Trouble> {
    let bytes = writer::bytes(MEGABYTES_PER_SECOND, SECONDS);
    let last = writer::last_line(bytes);
    let mut wrong = 0;
    for rank in 0..RANKS {
        let end = stream(wire, id, rank, "stdout", bytes - last.len() as u64, 4_096)?;
        wrong += u32::from(end["text"] != last.as_str());
    }
    Ok(wrong)
}

fn suspects(wire: &mut Wire) -> Result<f64, Trouble> {
    let events = wire.get("/events?kind=environment.suspect&pageSize=1000")?;
    Ok(events["items"].as_array().map_or(0, Vec::len) as f64)
}

/// The seconds that each rank says on stderr; the most of them.
fn slowest_rank(wire: &mut Wire, id: &str) -> Result<f64, Trouble> {
    let mut most = 0.0_f64;
    for rank in 0..RANKS {
        let said = stream(wire, id, rank, "stderr", 0, 4_096)?;
        most = most.max(said["text"].as_str().and_then(|text| text.trim().parse().ok()).unwrap_or(f64::NAN));
    }
    Ok(most)
}

/// From the fourth second, when all buffers are in use, to the most that was seen later.
fn growth(looks: &[Look], memory: impl Fn(&Look) -> f64) -> f64 {
    let warm = looks.iter().find(|look| look.at > 4.0).map_or(f64::NAN, &memory);
    looks.iter().filter(|look| look.at > 4.0).map(memory).fold(f64::NAN, f64::max) - warm
}

fn print_looks(looks: &[Look]) {
    let columns = ["second", "server MB", "agent MB", "taken MB", "heartbeat ms", "environment"];
    let mut table = Table::new("Log flood, 8 ranks × 20 MB/s for 20 s: memory (PSS) and what has arrived", &columns);
    let every = looks.len().div_ceil(12).max(1);
    for (index, look) in looks.iter().enumerate() {
        if index % every == 0 || index + 1 == looks.len() {
            table.row([
                format!("{:.1}", look.at),
                format!("{:.1}", look.server_mb),
                format!("{:.1}", look.agent_mb),
                format!("{:.0}", look.taken as f64 / 1e6),
                format!("{:.0}", look.heartbeat_age),
                look.environment.clone(),
            ]);
        }
    }
    table.print();
}

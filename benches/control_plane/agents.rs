//! A thousand agents that say each second that they live: what that costs the server, and that no row is written for it.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fermi_api::link::{
    AgentMessage, GpuSample, Heartbeat, Hello, LINK_PATH, LINK_VERSION, MachineSample, ServerMessage,
};
use fermi_domain::environment::{EnvironmentKind, Gpus, Versions};
use fermi_domain::units::Bytes;
use serde_json::json;
use tungstenite::{Message, WebSocket};

use super::fleet::Fleet;
use super::outside::{self, CpuMeter, pss_mb};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

const AGENTS: usize = 1_000;
const THREADS: usize = 4;
const GPUS: u32 = 8;
const HOW_LONG: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);

type Line = WebSocket<TcpStream>;

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::server()?;
    outside::many_files()?;
    let before = pss_mb(fleet.server_pid());
    let begun = Instant::now();
    let connect = CpuMeter::start(fleet.server_pid());
    let mut lines = on_threads(|first| connect_share(fleet.address(), first))?;
    let (connected, connect_cpu) = (begun.elapsed().as_secs_f64(), connect.percent());
    // One round of beats, so that all are known to be here.
    on_lines(&mut lines, SECOND)?;
    let here = running(&fleet)?;
    let (writes, touched) = (written(&fleet)?, database(&fleet.data()));
    let (started, meter) = (pss_mb(fleet.server_pid()), CpuMeter::start(fleet.server_pid()));
    on_lines(&mut lines, HOW_LONG)?;
    let (cpu, after) = (meter.percent(), pss_mb(fleet.server_pid()));
    let writes = written(&fleet)? - writes;
    let is_touched = database(&fleet.data()) != touched;
    let still = running(&fleet)?;
    let beats = AGENTS as f64 * HOW_LONG.as_secs_f64();

    let mut table = Table::new("1,000 simulated agents with 8 GPUs each, a heartbeat each second, 20 s", &["", ""]);
    table.row(["all connected, s".to_owned(), format!("{connected:.1} (server CPU {connect_cpu:.0} %)")]);
    table.row(["environments that are here, at start and end".to_owned(), format!("{here} and {still}")]);
    table.row(["CPU of the server, % of one core".to_owned(), format!("{cpu:.1}")]);
    table.row(["writes of the store / files of the database changed".to_owned(), format!("{writes} / {is_touched}")]);
    table
        .row(["memory (PSS) empty, connected, after, MB".to_owned(), format!("{before:.1}, {started:.1}, {after:.1}")]);
    table.row(["growth per heartbeat, bytes".to_owned(), format!("{:.0}", (after - started) * 1e6 / beats)]);
    table.print();
    report.promise("1,000 agents, server CPU", Bound::AtMost(30.0), cpu, "%");
    report.promise("1,000 agents, database writes per heartbeat", Bound::AtMost(0.0), writes / beats, "");
    report.promise("1,000 agents, not here at the end", Bound::AtMost(0.0), (AGENTS - still.min(AGENTS)) as f64, "");
    report.keep(
        "agents",
        json!({
            "connectSeconds": connected, "cpuPercent": cpu, "writes": writes, "databaseTouched": is_touched,
            "here": [here, still], "pssMb": [before, started, after],
        }),
    );
    Ok(())
}

/// Environments that the server calls running.
fn running(fleet: &Fleet) -> Result<usize, Trouble> {
    let items = fleet.wire()?.get("/environments?pageSize=1000")?["items"].take();
    Ok(items.as_array().into_iter().flatten().filter(|environment| environment["status"] == "running").count())
}

/// What `/metrics` says about the writer of the store.
fn written(fleet: &Fleet) -> Result<f64, Trouble> {
    let answer = fleet.wire()?.ask("GET", "/metrics", None)?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let line = text.lines().find(|line| line.starts_with("fermi_store_writes_total"));
    let value = line.and_then(|line| line.rsplit_once(' ')).and_then(|(_, value)| value.parse().ok());
    value.ok_or_else(|| "there is no fermi_store_writes_total in /metrics".into())
}

/// Size and time of change of the database's files.
fn database(folder: &Path) -> Vec<(String, u64, Option<SystemTime>)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((entry.file_name().display().to_string(), meta.len(), meta.modified().ok()))
    });
    let mut files: Vec<_> = files.filter(|(name, ..)| !name.ends_with("-shm")).collect();
    files.sort();
    files
}

/// Each thread makes its share of the lines, given the number of its first agent.
fn on_threads(make: impl Fn(usize) -> Result<Vec<Line>, String> + Sync) -> Result<Vec<Vec<Line>>, Trouble> {
    std::thread::scope(|scope| {
        let make = &make;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || make(thread * (AGENTS / THREADS)))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".to_owned())));
        joined.collect::<Result<Vec<_>, String>>().map_err(Trouble::from)
    })
}

fn on_lines(lines: &mut [Vec<Line>], how_long: Duration) -> Result<(), Trouble> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = lines.iter_mut().map(|share| scope.spawn(|| beat(share, how_long))).collect();
        let mut joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".into())));
        joined.try_for_each(|outcome| outcome.map_err(Trouble::from))
    })
}

fn connect_share(address: &str, first: usize) -> Result<Vec<Line>, String> {
    (first..first + AGENTS / THREADS).map(|number| connect(address, number)).collect()
}

fn connect(address: &str, number: usize) -> Result<Line, String> {
    let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(|error| error.to_string())?;
    let (mut line, _) =
        tungstenite::client(format!("ws://{address}{LINK_PATH}"), stream).map_err(|error| error.to_string())?;
    let hello = AgentMessage::Hello(Box::new(hello(number)));
    say(&mut line, &hello)?;
    let answer = line.read().map_err(|error| error.to_string())?;
    let text = answer.to_text().map_err(|error| error.to_string())?;
    match serde_json::from_str(text).map_err(|error| error.to_string())? {
        ServerMessage::Welcome(_) => Ok(line),
        other => Err(format!("agent {number} was not welcomed: {other:?}")),
    }
}

fn say(line: &mut Line, word: &AgentMessage) -> Result<(), String> {
    let text = serde_json::to_string(word).map_err(|error| error.to_string())?;
    line.send(Message::text(text)).map_err(|error| error.to_string())
}

fn hello(number: usize) -> Hello {
    Hello {
        version: LINK_VERSION,
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        instance: format!("bench-{number}"),
        machine: None,
        process: None,
        credential: None,
        seal: None,
        next_seal: None,
        name: format!("gn{number}"),
        kind: EnvironmentKind::Ssh,
        zone: Some("bench".to_owned()),
        image: None,
        labels: Default::default(),
        cpu_workers: 0,
        gpus: vec![Gpus { model: "A100".to_owned(), memory: Bytes(80 << 30), count: GPUS }],
        cpu_cores: 96,
        memory: Bytes(1 << 40),
        declared: false,
        address: None,
        versions: Versions::default(),
        boot: format!("boot-{number}"),
        runs: Vec::new(),
        cluster: None,
        seen: None,
    }
}

/// Every agent says a heartbeat each second, one after the other spread over it.
fn beat(lines: &mut [Line], how_long: Duration) -> Result<(), String> {
    let gap = SECOND / u32::try_from(lines.len()).unwrap_or(1);
    let begun = Instant::now();
    let mut due = begun;
    for turn in 0.. {
        if begun.elapsed() >= how_long {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += gap;
        let count = lines.len();
        say(&mut lines[turn % count], &heartbeat(turn as u64))?;
    }
    Ok(())
}

fn heartbeat(turn: u64) -> AgentMessage {
    let share = (turn % 100) as f32 / 100.0;
    let gpu = |index| GpuSample {
        index,
        use_share: share,
        memory_used: turn << 20,
        memory_total: 80 << 30,
        temperature: Some(60.0),
        power_watts: Some(300.0),
    };
    let machine =
        MachineSample { cpu: share, memory_used: turn << 20, memory_total: 1 << 40, received: turn, sent: turn };
    let time_ms = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    AgentMessage::Heartbeat(Box::new(Heartbeat {
        time_ms,
        machine,
        gpus: (0..GPUS).map(gpu).collect(),
        ranks: Vec::new(),
    }))
}

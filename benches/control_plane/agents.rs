//! Thousands of agents that say each second that they live: what that costs the server, that no row is written for it, and
//! that all come back when the server is killed under this load.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use super::crowd::Crowd;
use super::fleet::Fleet;
use super::outside::{self, CpuMeter, cpu_seconds, pss_mb};
use super::spread::Spread;
use crate::Trouble;
use crate::report::{Bound, Report, Table, ms};

const SOME: usize = 1_000;
const MANY: usize = 10_000;
/// Another number of many, for a machine or an edition that does not bear so many.
const FERMI_BENCH_AGENTS: &str = "FERMI_BENCH_AGENTS";
const TASKS: usize = 1_000;
const CALLERS: usize = 16;
const HOW_LONG: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(300);
/// How often somebody looks at the list of tasks while all come back.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A thousand of them, as a usual cluster has at most.
pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::server()?;
    let (crowd, _) = gather(&fleet, SOME)?;
    let steady = Steady::measure(&fleet, &crowd, SOME)?;
    steady.print(&format!("{SOME} simulated agents"));
    steady.promise(report, "1,000 agents", 30.0);
    report.keep("agents", steady.json());
    Ok(())
}

/// Ten thousand with a thousand tasks, and the server killed and started under that.
pub fn measure_many(report: &mut Report) -> Result<(), Trouble> {
    let many = std::env::var(FERMI_BENCH_AGENTS).ok().and_then(|text| text.parse().ok()).unwrap_or(MANY);
    let mut fleet = Fleet::server()?;
    let (crowd, gathered) = gather(&fleet, many)?;
    println!(
        "\n{many} agents have joined in {:.1} s, for {:.1} s of the server's CPU",
        gathered.seconds, gathered.cpu_seconds
    );
    let tasks = TASKS.min(many);
    let started = start_tasks(&fleet, tasks)?;
    println!("{tasks} tasks were created in {:.1} s and ran after {:.1} s", started.0, started.1);
    let steady = Steady::measure(&fleet, &crowd, many)?;
    steady.print(&format!("{many} simulated agents, {tasks} tasks run there"));
    let back = come_back(&mut fleet, &crowd, many, tasks)?;
    back.print();

    steady.promise(report, "10,000 agents", 60.0);
    report.promise("10,000 agents, a heartbeat is taken in, p99", Bound::AtMost(20.0), steady.answers.p99(), "ms");
    report.promise("10,000 agents, all back after a restart", Bound::AtMost(10.0), back.seconds, "s");
    report.promise("10,000 agents, dials for each to come back", Bound::AtMost(10.0), back.dials, "");
    report.promise("10,000 agents, tasks that do not run on", Bound::AtMost(0.0), back.tasks_lost as f64, "");
    report.keep(
        "manyAgents",
        json!({
            "agents": many, "joinSeconds": gathered.seconds, "joinCpuSeconds": gathered.cpu_seconds,
            "tasks": { "createdSeconds": started.0, "runningSeconds": started.1 },
            "steady": steady.json(), "back": back.json(),
        }),
    );
    Ok(())
}

struct Gathered {
    seconds: f64,
    cpu_seconds: f64,
}

fn gather(fleet: &Fleet, agents: usize) -> Result<(Crowd, Gathered), Trouble> {
    outside::many_files()?;
    let (begun, used) = (Instant::now(), cpu_seconds(fleet.server_pid()));
    let crowd = Crowd::start(fleet.address().parse()?, agents)?;
    all_here(&crowd, agents, begun)?;
    let cpu_seconds = cpu_seconds(fleet.server_pid()) - used;
    Ok((crowd, Gathered { seconds: begun.elapsed().as_secs_f64(), cpu_seconds }))
}

fn all_here(crowd: &Crowd, agents: usize, begun: Instant) -> Result<(), Trouble> {
    while crowd.here() < agents as u64 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} of {agents} agents are here: {:?}", crowd.here(), crowd.tally.reasons()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// What agents cost that do nothing but live.
struct Steady {
    agents: usize,
    beats: f64,
    cpu: f64,
    writes: f64,
    is_touched: bool,
    not_here: usize,
    memory: [f64; 2],
    answers: Spread,
    lags: Spread,
}

impl Steady {
    fn measure(fleet: &Fleet, crowd: &Crowd, agents: usize) -> Result<Self, Trouble> {
        // What came with the tasks is stored, and everybody has beaten.
        std::thread::sleep(3 * SECOND);
        crowd.tally.take();
        let (writes, touched) = (written(fleet)?, database(&fleet.data()));
        let (memory, beats) = (pss_mb(fleet.server_pid()), crowd.tally.beats.load(Relaxed));
        let meter = CpuMeter::start(fleet.server_pid());
        std::thread::sleep(HOW_LONG);
        let cpu = meter.percent();
        let beats = (crowd.tally.beats.load(Relaxed) - beats) as f64;
        let (answers, lags) = crowd.tally.take();
        let is_touched = database(&fleet.data()) != touched;
        let writes = written(fleet)? - writes;
        let memory = [memory, pss_mb(fleet.server_pid())];
        let not_here = agents - running(fleet)?.min(agents);
        Ok(Self { agents, beats, cpu, writes, is_touched, not_here, memory, answers, lags })
    }

    fn print(&self, what: &str) {
        let title = format!("{what}: 8 GPUs and a heartbeat each second, {} s", HOW_LONG.as_secs());
        let mut table = Table::new(&title, &["", ""]);
        let Self { answers, lags, memory: [before, after], .. } = self;
        let spread = |it: &Spread| format!("{}, {}, {}", ms(it.p50()), ms(it.p99()), ms(it.most()));
        table.row(["heartbeats in a second".to_owned(), format!("{:.0}", self.beats / HOW_LONG.as_secs_f64())]);
        table.row(["CPU of the server, % of one core".to_owned(), format!("{:.1}", self.cpu)]);
        table.row(["until one is taken in: p50, p99, most, ms".to_owned(), spread(answers)]);
        table.row(["this program was late by, ms".to_owned(), spread(lags)]);
        table.row([
            "writes of the store / files of the database changed".to_owned(),
            format!("{} / {}", self.writes, self.is_touched),
        ]);
        table.row(["environments that are not here".to_owned(), self.not_here.to_string()]);
        table.row(["memory (PSS) before and after, MB".to_owned(), format!("{before:.1}, {after:.1}")]);
        let growth = (after - before) * 1e6 / self.beats;
        table.row(["growth per heartbeat, bytes".to_owned(), format!("{growth:.0}")]);
        table.print();
    }

    fn promise(&self, report: &mut Report, who: &str, cpu: f64) {
        report.promise(&format!("{who}, server CPU"), Bound::AtMost(cpu), self.cpu, "%");
        let writes = self.writes / self.beats;
        report.promise(&format!("{who}, database writes per heartbeat"), Bound::AtMost(0.0), writes, "");
        report.promise(&format!("{who}, not here at the end"), Bound::AtMost(0.0), self.not_here as f64, "");
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "agents": self.agents, "beats": self.beats, "cpuPercent": self.cpu, "writes": self.writes,
            "databaseTouched": self.is_touched, "notHere": self.not_here, "pssMb": self.memory,
            "answeredMs": self.answers.json(), "lateMs": self.lags.json(),
        })
    }
}

/// What it takes until all are back after the server was killed.
struct Back {
    /// Since it listens again.
    seconds: f64,
    /// Between its death and that.
    away_seconds: f64,
    cpu_seconds: f64,
    writes: f64,
    /// Dials for each agent.
    dials: f64,
    looks: Spread,
    tasks_lost: usize,
}

fn come_back(fleet: &mut Fleet, crowd: &Crowd, agents: usize, tasks: usize) -> Result<Back, Trouble> {
    let (dials, killed) = (crowd.tally.dials.load(Relaxed), Instant::now());
    fleet.restart_server()?;
    outside::many_files()?;
    let (away_seconds, begun) = (killed.elapsed().as_secs_f64(), Instant::now());
    let is_over = AtomicBool::new(false);
    let (looks, seconds) = std::thread::scope(|scope| {
        let looks = scope.spawn(|| look_on(fleet, &is_over));
        let all = all_here(crowd, agents, begun);
        let seconds = begun.elapsed().as_secs_f64();
        is_over.store(true, Relaxed);
        let looks = looks.join().unwrap_or_default();
        all.map(|()| (looks, seconds)).map_err(|trouble| trouble.to_string())
    })?;
    let (cpu_seconds, writes) = (cpu_seconds(fleet.server_pid()), written(fleet)?);
    let dials = (crowd.tally.dials.load(Relaxed) - dials) as f64 / agents as f64;
    // What a run may lose by it is lost by then.
    std::thread::sleep(6 * SECOND);
    let still = count(fleet, "running")?;
    let tasks_lost = tasks - still.min(tasks);
    Ok(Back { seconds, away_seconds, cpu_seconds, writes, dials, looks, tasks_lost })
}

/// How long a person waits for the list of tasks meanwhile.
fn look_on(fleet: &Fleet, is_over: &AtomicBool) -> Spread {
    let mut looks = Spread::default();
    while !is_over.load(Relaxed) {
        let began = Instant::now();
        if fleet.wire().is_ok_and(|mut wire| wire.get("/training-tasks?pageSize=20").is_ok()) {
            looks.push(began.elapsed().as_secs_f64() * 1e3);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    looks
}

impl Back {
    fn print(&self) {
        let mut table = Table::new("The server is killed and started again under that load", &["", ""]);
        table.row(["until it listens again, s".to_owned(), format!("{:.1}", self.away_seconds)]);
        table.row(["from then until all agents are back, s".to_owned(), format!("{:.1}", self.seconds)]);
        table.row(["CPU of the server until then, s".to_owned(), format!("{:.1}", self.cpu_seconds)]);
        table.row(["writes of the store".to_owned(), self.writes.to_string()]);
        table.row(["dials for each agent".to_owned(), format!("{:.1}", self.dials)]);
        table.row([
            "the list of tasks meanwhile: p50, most, ms".to_owned(),
            format!("{}, {}", ms(self.looks.p50()), ms(self.looks.most())),
        ]);
        table.row(["tasks that do not run on".to_owned(), self.tasks_lost.to_string()]);
        table.print();
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "seconds": self.seconds, "awaySeconds": self.away_seconds, "cpuSeconds": self.cpu_seconds,
            "writes": self.writes, "dialsEach": self.dials, "listMs": self.looks.json(), "tasksLost": self.tasks_lost,
        })
    }
}

/// One task on each of the first environments; seconds until all are created, and until all run.
fn start_tasks(fleet: &Fleet, tasks: usize) -> Result<(f64, f64), Trouble> {
    let items = fleet.wire()?.get("/environments?pageSize=1000")?["items"].take();
    let ids: Vec<String> =
        items.as_array().into_iter().flatten().filter_map(|item| item["id"].as_str().map(str::to_owned)).collect();
    let (begun, next) = (Instant::now(), AtomicU64::default());
    std::thread::scope(|scope| {
        let callers = (0..CALLERS).map(|_| scope.spawn(|| create_some(fleet, &ids[..tasks.min(ids.len())], &next)));
        let mut callers = callers.collect::<Vec<_>>().into_iter();
        callers.try_for_each(|caller| caller.join().unwrap_or_else(|_| Err("a caller failed".to_owned())))
    })?;
    let created = begun.elapsed().as_secs_f64();
    while count(fleet, "running")? < tasks {
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} of {tasks} tasks run", count(fleet, "running")?).into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok((created, begun.elapsed().as_secs_f64()))
}

fn create_some(fleet: &Fleet, environments: &[String], next: &AtomicU64) -> Result<(), String> {
    let mut wire = fleet.wire().map_err(|error| error.to_string())?;
    while let Some(id) = environments.get(next.fetch_add(1, Relaxed) as usize) {
        let nodes = json!({ "enabled": false, "nodeIds": [id], "masterNode": id, "framework": "command", "workers": { id.as_str(): [0] } });
        let task = json!({
            "taskName": "a bench", "command": { "argv": ["/bin/sleep", "3600"] }, "distributedConfig": nodes,
        });
        fleet.create(&mut wire, &task).map_err(|trouble| trouble.to_string())?;
    }
    Ok(())
}

/// How many tasks have this status.
fn count(fleet: &Fleet, status: &str) -> Result<usize, Trouble> {
    Ok(metric(fleet, &format!("fermi_tasks{{phase=\"{status}\"}}"))? as usize)
}

/// Environments on which ranks can run, or do.
fn running(fleet: &Fleet) -> Result<usize, Trouble> {
    let of = |status: &str| metric(fleet, &format!("fermi_environments{{status=\"{status}\"}}"));
    Ok((of("running")? + of("busy")?) as usize)
}

/// How often the store was written to.
fn written(fleet: &Fleet) -> Result<f64, Trouble> {
    metric(fleet, "fermi_store_writes_total")
}

/// What `/metrics` says of this.
fn metric(fleet: &Fleet, name: &str) -> Result<f64, Trouble> {
    let answer = fleet.wire()?.ask("GET", "/metrics", None)?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.rsplit_once(' ')).and_then(|(_, value)| value.parse().ok());
    value.ok_or_else(|| format!("there is no {name} in /metrics").into())
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

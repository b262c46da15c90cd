//! kill -9 of a rank, the supervisor, the warden or the launcher, with ranks that ignore every signal, fork, and leave
//! for sessions of their own: how long until nothing of the run is alive.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fermi_domain::contract::FERMI_RUN_MARK;
use fermi_process::pidfd::PidFd;
use fermi_process::procfs;
use serde_json::{Map, Value};

use crate::before::Edition;
use crate::kin;
use crate::lab::{Lab, Trouble};
use crate::rank;
use crate::report::{Better, Bound, Report, Table, ms};
use crate::signs::{self, Signs, ms_between};
use crate::stats::Samples;

const RANKS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Victim {
    Rank,
    Supervisor,
    Warden,
    Launcher,
}

impl Victim {
    const ALL: [Self; 4] = [Self::Rank, Self::Supervisor, Self::Warden, Self::Launcher];

    fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Supervisor => "supervisor",
            Self::Warden => "warden",
            Self::Launcher => "launcher",
        }
    }
}

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let mut signs = Signs::open(lab.folder().join("teardown"))?;
    let mut taken = Victim::ALL.map(|victim| (victim, Samples::default(), Samples::default()));
    for round in 0..lab.options.rounds {
        lab.progress("teardown", round, lab.options.rounds);
        for (victim, now, before) in &mut taken {
            for edition in lab.editions() {
                let time = kill(lab, *edition, *victim, &mut signs)
                    .map_err(|trouble| format!("kill -9 of the {}: {trouble}", victim.name()))?;
                if *edition == Edition::Now { &mut *now } else { &mut *before }.push(time);
            }
        }
    }
    let mut table =
        Table::new("kill -9 beside hostile ranks, ms until nothing is alive", &["killed", "median", "min", "max"]);
    let mut details = Map::new();
    for (victim, samples, before) in &taken {
        table.row([victim.name().to_owned(), ms(samples.median()), ms(samples.least()), ms(samples.most())]);
        let name = format!("nothing alive after kill -9 of the {}, worst", victim.name());
        report.promise(&name, Bound::AtMost(200.0), samples.most(), "ms");
        let name = format!("kill -9 of the {} -> nothing alive", victim.name());
        report.compare(&name, Better::Lower, (before.median(), samples.median()), "ms");
        details.insert(victim.name().to_owned(), samples.json());
    }
    table.print();
    report.keep("teardown", Value::Object(details));
    Ok(())
}

fn kill(lab: &Lab, edition: Edition, victim: Victim, signs: &mut Signs) -> Result<f64, Trouble> {
    let events = lab.folder().join("teardown-events");
    let mut command = lab.fermi_run_of(edition);
    command.args(["-n", &RANKS.to_string(), "--json", "--no-python"]).arg(lab.own()).arg(rank::HOSTILE);
    command.env(signs::VARIABLE, signs.path()).stdin(Stdio::null());
    let mut child = command.stdout(File::create(&events)?).stderr(Stdio::null()).spawn()?;
    let launcher = i32::try_from(child.id())?;
    let ranks = signs.wait(RANKS * rank::HOSTILE_PROCESSES, PATIENCE)?;
    let started = Started::read(&events)?;
    let target = match victim {
        Victim::Rank => started.first_rank,
        Victim::Supervisor => started.supervisor,
        Victim::Warden => started.warden,
        Victim::Launcher => launcher,
    };
    let everyone: Vec<PidFd> = ranks
        .iter()
        .map(|sign| sign.pid)
        .chain([started.warden, started.supervisor])
        .map(PidFd::open)
        .collect::<Result<_, _>>()?;
    let blow = PidFd::open(target)?;
    let begun = Instant::now();
    blow.signal(libc::SIGKILL)?;
    let dead = kin::wait_dead(&everyone, PATIENCE).map_err(|alive| format!("{alive:?} would not die"))?;
    child.wait()?;
    let marked = procfs::carrying(FERMI_RUN_MARK, &started.run);
    if !marked.is_empty() {
        return Err(format!("{} processes of {} are left", marked.len(), started.run).into());
    }
    Ok(ms_between(begun, dead))
}

/// What the first events say.
struct Started {
    run: String,
    warden: i32,
    supervisor: i32,
    first_rank: i32,
}

impl Started {
    fn read(events: &Path) -> Result<Self, Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(events)?;
            let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let find = |name: &str| records.iter().find(|record| record["event"] == name);
            if let (Some(run), Some(rank)) = (find("run.started"), find("rank.started")) {
                let number = |value: &Value| value.as_i64().and_then(|pid| i32::try_from(pid).ok()).ok_or("no pid");
                return Ok(Self {
                    run: run["runId"].as_str().unwrap_or_default().to_owned(),
                    warden: number(&run["wardenPid"])?,
                    supervisor: number(&run["supervisorPid"])?,
                    first_rank: number(&rank["pid"])?,
                });
            }
            if Instant::now() > until {
                return Err("the run did not say that it had started".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

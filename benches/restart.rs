//! From the death of a rank to the start of its successors.
//!
//! Two views. The journal says when the supervisor saw the exit and when it had started the next attempt, in whole
//! milliseconds. From outside, in microseconds: the time between the kill and the first sign of every new rank, less
//! what the same processes take when they are started directly.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fermi_process::pidfd::PidFd;
use serde_json::{Value, json};

use crate::before::Edition;
use crate::lab::{Lab, Trouble};
use crate::rank;
use crate::report::{Better, Bound, Report, Table, ms};
use crate::signs::{self, Sign, Signs, ms_between, wait_readable};
use crate::stats::Samples;

const RANKS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(30);

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let logs = lab.folder().join("restart-logs");
    let restarts = (lab.options.rounds + 1).to_string();
    let mut fermi = patient(lab, Edition::Now, "fermi run", &restarts, &logs)?;
    let mut before = None;
    if lab.editions().contains(&Edition::Before) {
        let logs = lab.folder().join("restart-logs-before");
        before = Some(patient(lab, Edition::Before, "fermi run, before", &restarts, &logs)?);
    }
    let mut torchrun = match lab.beside_python("torchrun") {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(["--nproc-per-node", "2", "--max-restarts", &restarts, "--no-python"]);
            Some(Patient::start(lab, "torchrun", command)?)
        }
        None => None,
    };
    let mut bare = Samples::default();
    let mut bare_signs = Signs::open(lab.folder().join("restart-bare"))?;
    for round in 0..lab.options.rounds {
        lab.progress("restart", round, lab.options.rounds);
        bare.push(start_directly(lab, &mut bare_signs)?);
        fermi.kill_a_rank()?;
        for other in before.iter_mut().chain(&mut torchrun) {
            other.kill_a_rank()?;
        }
    }
    fermi.finish();
    before.iter_mut().chain(&mut torchrun).for_each(Patient::finish);
    let seen = from_journal(&logs)?;
    tell(report, &bare, &seen, &fermi, torchrun.as_ref());
    if let Some(before) = before {
        let over_bare = |patient: &Patient| patient.all_back.median() - bare.median();
        let both = (over_bare(&before), over_bare(&fermi));
        report.compare("a rank killed -> respawned, less a bare start", Better::Lower, both, "ms");
    }
    Ok(())
}

fn patient(lab: &Lab, edition: Edition, name: &'static str, restarts: &str, logs: &Path) -> Result<Patient, Trouble> {
    let mut command = lab.fermi_run_of(edition);
    command.args(["-n", "2", "--max-restarts", restarts, "--no-python", "--log-dir"]).arg(logs);
    Patient::start(lab, name, command)
}

fn tell(report: &mut Report, bare: &Samples, seen: &Samples, fermi: &Patient, torchrun: Option<&Patient>) {
    let mut table = Table::new(
        "kill -9 of one of 2 ranks, ms until all new ranks have shown themselves",
        &["launcher", "median", "min", "max"],
    );
    let mut row = |name: &str, samples: &Samples| {
        table.row([name.to_owned(), ms(samples.median()), ms(samples.least()), ms(samples.most())]);
    };
    row("both started directly, nothing killed", bare);
    row("fermi run", &fermi.all_back);
    row("fermi run, exit seen -> respawned, by its journal", seen);
    if let Some(torchrun) = torchrun {
        row("torchrun", &torchrun.all_back);
    }
    table.print();
    let outside = fermi.all_back.median() - bare.median();
    report.promise("exit seen -> respawn, by the journal", Bound::AtMost(5.0), seen.median(), "ms");
    report.promise("killed -> respawn, from outside less a bare start", Bound::AtMost(5.0), outside, "ms");
    report.keep(
        "restart",
        json!({
            "bareStartMs": bare.json(),
            "fermiMs": fermi.all_back.json(),
            "journalMs": seen.json(),
            "torchrunMs": torchrun.map(|torchrun| torchrun.all_back.json()),
        }),
    );
}

/// A launcher whose ranks are killed again and again.
struct Patient {
    name: &'static str,
    child: Child,
    signs: Signs,
    ranks: Vec<Sign>,
    all_back: Samples,
}

impl Patient {
    fn start(lab: &Lab, name: &'static str, mut command: Command) -> Result<Self, Trouble> {
        let mut signs = Signs::open(lab.folder().join(format!("restart-{}", name.replace([' ', ','], "-"))))?;
        command.arg(lab.own()).arg(rank::SLEEP).env(signs::VARIABLE, signs.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let ranks = signs.wait(RANKS, PATIENCE).map_err(|error| format!("{name}: {error}"))?;
        Ok(Self { name, child, signs, ranks, all_back: Samples::default() })
    }

    fn kill_a_rank(&mut self) -> Result<(), Trouble> {
        // The launcher shall have come to rest: it may still be writing down the last restart.
        std::thread::sleep(Duration::from_millis(250));
        let victim = self.ranks.last().ok_or("no rank to kill")?;
        let handle = PidFd::open(victim.pid)?;
        let begun = Instant::now();
        handle.signal(libc::SIGKILL)?;
        self.ranks =
            self.signs.wait(RANKS, PATIENCE).map_err(|error| format!("{} after a kill: {error}", self.name))?;
        let last = self.ranks.iter().map(|sign| sign.at).max().ok_or("no new rank")?;
        self.all_back.push(ms_between(begun, last));
        Ok(())
    }

    fn finish(&mut self) {
        if let Ok(handle) = PidFd::open(i32::try_from(self.child.id()).unwrap_or(0)) {
            // Asked in order; whoever does not obey is killed with all that it started.
            let _ = handle.signal(libc::SIGTERM);
            wait_readable(&[handle.as_fd()], Duration::from_secs(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        self.finish();
    }
}

/// What the same processes take without any launcher.
fn start_directly(lab: &Lab, signs: &mut Signs) -> Result<f64, Trouble> {
    let begun = Instant::now();
    let mut children = Vec::new();
    for rank in 0..RANKS {
        let mut command = Command::new(lab.own());
        command.arg(rank::SLEEP).env("RANK", rank.to_string()).env(signs::VARIABLE, signs.path());
        children.push(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
    }
    let seen = signs.wait(RANKS, PATIENCE)?;
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    let last = seen.iter().map(|sign| sign.at).max().ok_or("no sign")?;
    Ok(ms_between(begun, last))
}

/// For every restart: from the first exit that was seen to the last rank of the next attempt.
fn from_journal(logs: &Path) -> Result<Samples, Trouble> {
    let run = fs::read_dir(logs)?.next().ok_or("no run in the log folder")??.path();
    let text = fs::read_to_string(run.join(fermi_process::journal::FILE_NAME))?;
    let events: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let times = |name: &str, attempt: u64| -> Vec<u64> {
        events
            .iter()
            .filter(|event| event["event"] == name && event["attempt"] == attempt)
            .filter_map(|event| event["timeMs"].as_u64())
            .collect()
    };
    let attempts = events.iter().filter_map(|event| event["attempt"].as_u64()).max().unwrap_or(0);
    Ok((2..=attempts)
        .filter_map(|attempt| {
            let exit = times("rank.exited", attempt - 1).into_iter().min()?;
            let started = times("rank.started", attempt).into_iter().max()?;
            Some(started.saturating_sub(exit) as f64)
        })
        .collect())
}

//! `fermi doctor --nodes a,b`: the agents of environments check each other, and the server collects what they find.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use fermi_api::client::Client;
use fermi_api::v1::{Preflight, StartPreflight};
use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightProgress;

use super::printing::View;
use super::{DoctorFlags, EngineAsked, code, matrix};
use crate::connection::{self, CommandProblem, Outcome};
use crate::speech::{self, Paint};

const LOOK_EVERY: Duration = Duration::from_millis(300);
/// A server that is away that long may have forgotten it.
const MOST_FAILURES: u32 = 20;

pub fn execute(flags: &DoctorFlags) -> ExitCode {
    connection::answer(check(flags))
}

fn check(flags: &DoctorFlags) -> Outcome {
    let client = flags.server.connect()?;
    let request = StartPreflight {
        environments: flags.nodes.clone(),
        path: flags.path.as_ref().map(|path| absolute(path)),
        master_port: flags.master_port,
        python: Some(!flags.no_python),
        engine: flags.engine.map(EngineAsked::engine),
    };
    let started = client.start_preflight(&request)?.data;
    let done = follow(&client, started)?;
    if flags.json {
        speech::print_json(&done);
    } else {
        show(&done);
    }
    Ok(code(done.counts.errors))
}

/// A path of another machine: it is not looked up here.
fn absolute(path: &std::path::Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Shows how far it is until it is over.
fn follow(client: &Client, started: Preflight) -> Result<Preflight, CommandProblem> {
    let mut line = ProgressLine::default();
    let mut failures = 0;
    let mut preflight = started;
    loop {
        line.show(&preflight.progress);
        if preflight.ended_at.is_some() {
            line.clear();
            return Ok(preflight);
        }
        thread::sleep(LOOK_EVERY);
        match client.preflight(&preflight.id) {
            Ok(answer) => (preflight, failures) = (answer.data, 0),
            Err(error) if error.may_pass() && failures < MOST_FAILURES => failures += 1,
            Err(error) => {
                line.clear();
                return Err(error.into());
            }
        }
    }
}

/// One line on a terminal, which is written over; elsewhere a line for each step.
#[derive(Debug, Default)]
struct ProgressLine {
    shown: String,
}

impl ProgressLine {
    fn show(&mut self, progress: &PreflightProgress) {
        let line = line(progress);
        if line == self.shown {
            return;
        }
        if std::io::stderr().is_terminal() {
            speech::say(&format!("\r\x1b[K{}", Paint::for_stderr().dim(&line)));
        } else if line.split_once("% ").map(|it| it.1) != self.shown.split_once("% ").map(|it| it.1) {
            speech::say(&format!("{line}\n"));
        }
        self.shown = line;
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            speech::say("\r\x1b[K");
        }
    }
}

fn line(progress: &PreflightProgress) -> String {
    let language = speech::language();
    let names = progress.waits_for.join(", ");
    let waits = match names.is_empty() {
        true => Text::new("", ""),
        false => Text::new(format!("，在等 {names}"), format!(", waiting for {names}")),
    };
    let share = (progress.share * 100.0).round();
    format!("{share:>3.0}% {}{}", progress.text.in_language(language), waits.in_language(language))
}

fn show(done: &Preflight) {
    let view = View::for_stdout();
    let names: Vec<String> = done.nodes.iter().map(|node| node.name.clone()).collect();
    speech::print(&view.findings(&names.join(", "), &done.findings));
    let untried: Vec<(usize, usize)> = done.untried.iter().map(|[from, to]| (*from, *to)).collect();
    speech::print(&matrix::latency(view, &names, &done.round_trips_us, &untried));
    speech::print(&matrix::bandwidth(view, &names, &done.bytes_per_second));
    speech::print(&view.summary(done.counts, done.seconds));
}

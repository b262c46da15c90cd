//! The hidden command that an agent starts for its part in a preflight: the part comes over stdin, what it says goes over
//! stdout, one line each. It ends with its stdin, and in time.

use std::io::{self, BufRead, Read};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use fermi_doctor::facts::PortFacts;
use fermi_doctor::look::{self, LookOptions, Step};
use fermi_doctor::nodes::{NodesOptions, hub, member, report};
use fermi_doctor::{Counts, check};
use fermi_domain::language::{Explained, FrontEnd, Text, reason};
use fermi_domain::preflight::{PreflightNews, PreflightPart};

use super::nodes::{LOOK, PYTHON, lists_before, tell};
use crate::{exit_code, speech};

/// From which on a free port is looked for, as tasks do.
const FIRST_PORT: u16 = 29_500;
const MOST_PORTS: u16 = 100;
/// What is left of the time when a node has to come to an end.
const FAREWELL: Duration = Duration::from_secs(1);

pub fn execute() -> ExitCode {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let Some(part) = read.ok().and_then(|_| serde_json::from_str::<PreflightPart>(&line).ok()) else {
        return ExitCode::from(exit_code::USAGE);
    };
    end_with_stdin();
    end_after(Duration::from_millis(part.whole_ms) + FAREWELL);
    say(&PreflightNews::Started);
    let last = if part.node_rank == 0 { first(&part) } else { other(&part) };
    say(&last);
    ExitCode::from(exit_code::DONE)
}

fn say(news: &PreflightNews) {
    if let Ok(line) = serde_json::to_string(news) {
        speech::print(&format!("{line}\n"));
    }
}

/// Nobody wants to know any more. Nothing here needs to be put in order.
fn end_with_stdin() {
    thread::spawn(|| {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(i32::from(exit_code::FAILED));
    });
}

fn end_after(whole: Duration) {
    thread::spawn(move || {
        thread::sleep(whole);
        std::process::exit(i32::from(exit_code::FAILED));
    });
}

fn options(part: &PreflightPart, master_port: u16) -> NodesOptions {
    NodesOptions {
        nnodes: part.names.len(),
        node_rank: part.node_rank,
        master_addr: part.master_address.clone(),
        master_port,
        join: Duration::from_millis(part.join_ms),
        name: part.names.get(part.node_rank).cloned().unwrap_or_default(),
        names: part.names.clone(),
        until: Instant::now() + Duration::from_millis(part.whole_ms).saturating_sub(FAREWELL * 2),
        path: part.path.as_ref().map(PathBuf::from),
        engine: part.engine,
        python: None,
        word: part.word.clone(),
    }
}

fn begin_to_look(part: &PreflightPart, port: PortFacts) -> Step<fermi_doctor::facts::MachineFacts> {
    let look = LookOptions {
        folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        python: None,
        port,
        lists: part.engine.filter(|engine| lists_before(*engine)),
        python_patience: part.asks_python.then_some(PYTHON),
    };
    Step::start(LOOK, move || look::machine(&look))
}

fn first(part: &PreflightPart) -> PreflightNews {
    let (listener, facts) = match meeting_place(part.master_port) {
        Ok(found) => found,
        Err(error) => return not_listening(part.master_port.unwrap_or(FIRST_PORT), &error),
    };
    let port = facts.port;
    let look = begin_to_look(part, facts);
    say(&PreflightNews::Meeting { port });
    let step = |step, done, of| say(&PreflightNews::Step { step, done, of });
    let found = match hub::run(listener, &options(part, port), look, step) {
        Ok(found) => found,
        Err(error) => return not_listening(port, &error),
    };
    let findings = check::wire::nodes(&found.survey);
    tell(&found, &findings, Counts::of(&findings).errors);
    PreflightNews::Report(Box::new(report(&found.survey, findings)))
}

/// The port that is named, or the first that is free.
fn meeting_place(named: Option<u16>) -> io::Result<(TcpListener, PortFacts)> {
    let try_port = |port: u16| {
        let facts = look::port(Some(port));
        hub::listen(port).map(|listener| (listener, facts))
    };
    if let Some(port) = named {
        return try_port(port);
    }
    let mut last = None;
    for port in FIRST_PORT..FIRST_PORT + MOST_PORTS {
        match try_port(port) {
            Ok((listener, facts)) if facts.is_free => return Ok((listener, facts)),
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

fn not_listening(port: u16, error: &io::Error) -> PreflightNews {
    let why = reason::of_io(error);
    PreflightNews::Failed {
        reason: Text::new(
            format!("无法监听端口 {port}：{}", why.zh),
            format!("it cannot listen at port {port}: {}", why.en),
        ),
        hint: Text::new("看谁占用了它，或换一个端口", "see who has it, or choose another port"),
    }
}

fn other(part: &PreflightPart) -> PreflightNews {
    let port = part.master_port.unwrap_or(FIRST_PORT);
    // Only the first needs the port; here it may be that one itself, on the same machine.
    let look = begin_to_look(part, PortFacts { port, is_free: true, ..PortFacts::default() });
    match member::run(&options(part, port), look) {
        Ok(_) => PreflightNews::Over,
        Err(problem) => {
            let hint = problem.hint().map(|hint| hint.spelled(FrontEnd::Console));
            let reason = problem.text();
            PreflightNews::Failed { hint: hint.unwrap_or_else(|| reason.clone()), reason }
        }
    }
}

//! A launch at the user's terminal: output and events come up from the hosts, Ctrl-C goes down, the end is told once.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use fermi_domain::event::{Record, RunEvent};
use fermi_domain::exit::signal_name;
use fermi_domain::language::reason;
use fermi_domain::language::{Language, Text};
use fermi_domain::messages::launch::{LaunchNews, LaunchProblem};
use fermi_process::output::Dropped;
use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::connections::{self, HostNews, OutputVoice, SshConnection};
use super::ending::{Ending, History};
use super::flags::LaunchFlags;
use super::lines::Lines;
use super::plan::Plan;
use super::ssh::Ssh;
use crate::commands::run::narrate::{self, Narrator};
use crate::commands::run::session::take_signals;
use crate::commands::run::voice::{LastWords, Voice};
use crate::speech;

/// How often it is looked whether a connection has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the other hosts have after the run is over, before their leash is let go, and then before they are cut off.
const AFTER_END: Duration = Duration::from_secs(10);
const AFTER_LETTING_GO: Duration = Duration::from_secs(5);
/// The same after a second Ctrl-C.
const AFTER_KILL: Duration = Duration::from_secs(12);

/// How many pieces of news may wait; those who bring more wait themselves.
const MOST_NEWS: usize = 256;

const STOPPING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

pub fn run(plan: &Plan, flags: &LaunchFlags, ssh: &Ssh, fermis: &[String]) -> Result<ExitCode, LaunchProblem> {
    let problem =
        |error: std::io::Error| LaunchProblem::SshNotFound { program: flags.ssh.clone(), error: reason::of_io(&error) };
    let signals = take_signals(&STOPPING).map_err(|errno| problem(errno.into()))?;
    let (send, news) = sync_channel(MOST_NEWS);
    connections::read_signals(signals, send.clone());
    let mut session = Session::new(plan, flags);
    session.introduce();
    for (index, (node, fermi)) in plan.nodes.iter().zip(fermis).enumerate() {
        session
            .connections
            .push(SshConnection::start(plan, node, fermi, ssh, index, &send, &session.output).map_err(problem)?);
    }
    session.listen(&news);
    Ok(session.finish(&news))
}

struct Session<'a> {
    plan: &'a Plan,
    as_json: bool,
    quiet: bool,
    language: Language,
    narrator: Narrator,
    voice: Voice,
    output: OutputVoice,
    connections: Vec<SshConnection>,
    lines: Vec<Lines>,
    silent: Vec<bool>,
    history: History,
    asked: u32,
    deadline: Option<Instant>,
    let_go: bool,
}

impl<'a> Session<'a> {
    fn new(plan: &'a Plan, flags: &LaunchFlags) -> Self {
        let language = speech::language();
        let voice = Voice::new();
        Self {
            plan,
            output: OutputVoice::new(voice.clone(), flags.json),
            voice,
            as_json: flags.json,
            quiet: flags.quiet || flags.json,
            language,
            narrator: Narrator::of_others(language),
            connections: Vec::new(),
            lines: plan.nodes.iter().map(|node| Lines::of(&node.label)).collect(),
            silent: plan.nodes.iter().map(|_| false).collect(),
            history: History::new(plan.nodes.iter().map(|node| node.label.clone()).collect()),
            asked: 0,
            deadline: None,
            let_go: false,
        }
    }

    fn introduce(&self) {
        let ranks: Option<u32> = self.plan.nodes.iter().map(|node| node.ranks.parse::<u32>().ok()).sum();
        let hosts: Vec<String> = self.plan.nodes.iter().map(|node| format!("{}:{}", node.label, node.ranks)).collect();
        let hosts = match hosts.len() {
            0..=8 => hosts.join(" "),
            more => format!("{} … {} ({more})", hosts[..4].join(" "), hosts[more - 1]),
        };
        self.say(&LaunchNews::Starting { ranks, hosts, master: self.plan.master.clone() });
    }

    /// Until every connection has ended and all that they brought is shown.
    fn listen(&mut self, news: &Receiver<HostNews>) {
        while !self.is_over() {
            match news.recv_timeout(LOOK_EVERY) {
                Ok(said) => self.take(said),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look();
        }
        // The last words of hosts whose connection is held open by somebody else (a shared ssh master) are not waited for.
        while let Ok(said) = news.recv_timeout(Duration::from_millis(20)) {
            self.take(said);
        }
        for lines in &mut self.lines {
            self.output.show(&lines.end());
        }
    }

    fn is_over(&self) -> bool {
        self.connections.iter().all(|connection| connection.ended.is_some())
    }

    fn take(&mut self, news: HostNews) {
        match news {
            HostNews::Output { host, bytes } => self.output.show(&self.lines[host].take(&bytes, Instant::now())),
            HostNews::OutputEnded { host } => self.silent[host] = true,
            HostNews::Event { host, record } => self.happened(host, *record),
            HostNews::Signal(signal) => self.signalled(signal),
        }
    }

    fn happened(&mut self, host: usize, record: Record) {
        if self.as_json {
            self.print_event(&self.plan.nodes[host].label, &record);
        } else if !self.quiet {
            self.narrate(host, &record.event);
        }
        self.history.add(host, record.event);
        if self.history.is_told() {
            self.deadline.get_or_insert(Instant::now() + AFTER_END);
        } else if self.history.was_refused() {
            self.stop_all(libc::SIGTERM);
        }
    }

    /// The coordinator speaks for the run; of the others only what nobody else can know.
    fn narrate(&mut self, host: usize, event: &RunEvent) {
        let is_own = matches!(
            event,
            RunEvent::Waiting { .. }
                | RunEvent::OutputLost { .. }
                | RunEvent::JournalLost { .. }
                | RunEvent::TerminalDropped { .. }
                | RunEvent::Swept { .. }
                | RunEvent::HangVerdict { .. }
                | RunEvent::HangPassed { .. }
                | RunEvent::DeviceFault { .. }
        );
        // Said here already, for all hosts.
        let is_ours = matches!(event, RunEvent::Stopping { .. }) && self.asked > 0;
        let is_last = matches!(event, RunEvent::AttemptFailed { .. });
        if is_ours || is_last || (host != 0 && !is_own) {
            return;
        }
        let Some(line) = self.narrator.line(event) else { return };
        match host {
            0 => self.voice.say(&line),
            _ => self.voice.say(&format!("[{}] {line}", self.plan.nodes[host].label)),
        }
    }

    fn signalled(&mut self, signal: i32) {
        match signal {
            libc::SIGWINCH => {}
            // Ctrl-Z stops us alone; the training goes on.
            libc::SIGTSTP => {
                let _ = nix::sys::signal::raise(Signal::SIGSTOP);
            }
            _ => self.asked_to_stop(signal),
        }
    }

    /// The first signal asks, the second kills, the third leaves.
    fn asked_to_stop(&mut self, signal: i32) {
        self.asked += 1;
        match self.asked {
            1 => {
                self.history.stopped_by(signal);
                self.say(&LaunchNews::Stopping { signal: signal_name(signal) });
            }
            2 => {
                self.say(&LaunchNews::Killing);
                self.deadline = Some(Instant::now() + AFTER_KILL);
            }
            _ => self.deadline = Some(Instant::now()),
        }
        for connection in &mut self.connections {
            connection.pass_on(signal);
        }
    }

    /// Nobody asked, but it cannot go on.
    fn stop_all(&mut self, signal: i32) {
        if self.asked == 0 {
            self.asked = 1;
            for connection in &mut self.connections {
                connection.pass_on(signal);
            }
        }
    }

    /// Looks after the connections and the clock.
    fn look(&mut self) {
        if let Some(dropped) = self.voice.take_gap() {
            self.say_dropped(dropped);
        }
        for host in 0..self.connections.len() {
            if self.connections[host].has_just_ended() {
                let status = self.connections[host].ended;
                self.history.connection_ended(host, status, self.plan.nodes[host].is_here);
                if self.history.cannot_go_on() {
                    self.stop_all(libc::SIGTERM);
                    // Without the coordinator nobody passes the stop on: letting go does.
                    self.connections.iter_mut().for_each(SshConnection::let_go);
                }
            }
        }
        if self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
            return;
        }
        if self.let_go {
            let hosts = self.plan.nodes.iter().zip(&self.connections);
            let left: Vec<&str> = hosts
                .filter(|(_, connection)| connection.ended.is_none())
                .map(|(node, _)| node.label.as_str())
                .collect();
            self.say(&LaunchNews::LeftRunning { hosts: left.join(", ") });
            self.connections.iter_mut().for_each(SshConnection::cut);
            self.deadline = None;
        } else {
            self.let_go = true;
            self.connections.iter_mut().for_each(SshConnection::let_go);
            self.deadline = Some(Instant::now() + AFTER_LETTING_GO);
        }
    }

    fn finish(self, news: &Receiver<HostNews>) -> ExitCode {
        let folder = |host: usize, folder: &PathBuf| -> PathBuf {
            let label = &self.plan.nodes[host].label;
            if self.plan.nodes[host].is_here { folder.clone() } else { format!("{label}:{}", folder.display()).into() }
        };
        let code = Ending::of(&self.history).tell(&self.history, self.language, folder, &self.voice);
        let mut last = LastWords::from_now(self.asked > 0);
        let interrupted = |wait: Duration| matches!(news.recv_timeout(wait), Ok(HostNews::Signal(_)));
        let unshown = self.voice.finish_printing(&mut last, interrupted);
        self.say_dropped(unshown);
        self.voice.finish_saying(&mut last, interrupted);
        code
    }

    /// Says what our own terminal did not get. What a host could not get rid of it tells itself.
    fn say_dropped(&self, dropped: Dropped) {
        let Dropped { lines, bytes, error } = dropped;
        if !dropped.is_nothing() {
            let why = narrate::unwritten(error.map(Errno::desc));
            let text = Text::new(
                format!("{}，有 {lines} 行（{bytes} 字节）没有显示；训练未受影响，完整日志在各主机上", why.zh),
                format!(
                    "{lines} lines ({bytes} bytes) were not shown because {}; the training went on, complete logs are \
                     on the hosts",
                    why.en
                ),
            );
            self.voice.say(&format!("fermi: {}\n", text.in_language(self.language)));
        }
    }

    fn print_event(&self, host: &str, record: &Record) {
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(record) else { return };
        let mut line = serde_json::Map::from_iter([("host".to_owned(), host.into())]);
        line.extend(fields);
        self.voice.print(&format!("{}\n", serde_json::Value::Object(line)));
    }

    fn say(&self, news: &LaunchNews) {
        if !self.quiet {
            self.voice.say(&format!("fermi: {}\n", news.text().in_language(self.language)));
        }
    }
}

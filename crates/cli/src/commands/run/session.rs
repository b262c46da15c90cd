//! A run at the user's terminal: keys and signals go down, events come up, and the end is reported.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_attempt::frame::SupervisorOrder;
use fermi_attempt::launcher::{Launch, Received, Stdout};
use fermi_attempt::run_folder::{self, RankFolder, Retention};
use fermi_domain::contract;
use fermi_domain::event::{Outcome, Record, RunEvent};
use fermi_domain::language::reason;
use fermi_domain::language::{Notice, Text};
use fermi_domain::messages::run::RunProblem;
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::pty::WindowSize;
use fermi_process::spawn::StdinPlan;
use fermi_process::stale;
use fermi_process::warden::FILE_TOO_LARGE;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::error_file;
use super::flags::RunFlags;
use super::leash::{self, LeashEvent};
use super::make_folders::make_folders;
use super::narrate::{self, Narrator};
use super::plan::Plan;
use super::report::{self, FailureReport};
use super::terminal::{self, KeyByKey};
use super::voice::{LastWords, Voice};
use crate::exit_code;
use crate::span;
use crate::speech::{self, Paint};

/// How long the keepers have to end after a second signal before they are ended by force.
const AFTER_KILL: Duration = Duration::from_secs(10);

/// Starts the plan and stays until nothing of it is left.
pub fn run(mut plan: Plan, flags: &RunFlags) -> Result<ExitCode, RunProblem> {
    make_folders(&mut plan)?;
    say_notes(&plan, flags);
    say_what_was_swept(&stale::sweep_stale(&plan.bundle.live_folder));
    let mut session = Session::start(plan, flags)?;
    session.listen();
    Ok(session.finish())
}

/// What the framework decided, unless somebody else reads.
pub(super) fn say_notes(plan: &Plan, flags: &RunFlags) {
    for note in plan.notes.iter().filter(|_| !flags.quiet && !flags.json) {
        speech::say(&format!("fermi: {}\n", note.in_language(speech::language())));
    }
}

fn say_what_was_swept(ended: &[stale::Ended]) {
    let language = speech::language();
    for stale::Ended { run, killed } in ended {
        let text = Text::new(
            format!("发现 {run} 的遗留进程（其 warden 与 supervisor 已不在），已终止 {killed} 个"),
            format!("found what {run} had left behind (its warden and supervisor are gone): {killed} processes ended"),
        );
        speech::say(&format!("fermi: {}\n", text.in_language(language)));
    }
}

struct Session {
    launch: Option<Launch>,
    plan: PlanRest,
    narrator: Option<Narrator>,
    voice: Voice,
    as_json: bool,
    signals: SignalFd,
    keys: Option<KeyByKey>,
    forwards_input: bool,
    /// Where keys are read; standard input itself where this is not there.
    keyboard: Option<File>,
    /// Whether whoever started us holds our standard input as a leash.
    on_leash: bool,
    /// Whether whoever reads our events tells the user how it ended, once for all hosts.
    told_by_another: bool,
    /// Whether what ranks print is what the run is for.
    output_is_result: bool,
    /// Why a part of it could not be written.
    unwritten: Option<String>,
    /// Whether the supervisor has given up on the readers of the standard streams, which are ours too.
    terminal_is_stuck: bool,
    asked: u32,
    /// The signal that asked first.
    first_signal: Option<i32>,
    kill_deadline: Option<Instant>,
    /// Whether the keepers have let the time after a second signal pass.
    keepers_are_deaf: bool,
    /// Local ranks of the ranks that were started on this node.
    local_ranks: BTreeMap<u32, u32>,
    end: Option<(Outcome, Verdict, u32)>,
    failure_line: Option<String>,
    gave_up: Option<Text>,
    refused: Option<Notice>,
}

/// What of the plan is needed after the launch.
struct PlanRest {
    run_folder: Option<std::path::PathBuf>,
    runs_folder: Option<std::path::PathBuf>,
    live_folder: std::path::PathBuf,
    node_name: String,
    /// Whether the first node of a Slurm job speaks for this one: all of them write to one file.
    first_node_speaks: bool,
}

impl Session {
    fn start(plan: Plan, flags: &RunFlags) -> Result<Self, RunProblem> {
        if !Path::new("/proc/self").exists() {
            return Err(RunProblem::NoProcesses);
        }
        let problem = |error: std::io::Error| RunProblem::KeepersNotStarted { error: reason::of_io(&error) };
        let signals = take_signals(&plan.signals).map_err(|errno| problem(errno.into()))?;
        let narrator = (!flags.quiet && !flags.json).then(|| Narrator::new(&plan, speech::language()));
        let rank_0 = plan.bundle.ranks.first();
        let forwards_input = rank_0.is_some_and(|rank| rank.command.stdin == StdinPlan::Forwarded);
        let has_terminal = rank_0.is_some_and(|rank| rank.command.terminal.is_some());
        let rest = PlanRest {
            run_folder: plan.bundle.run_folder.clone(),
            runs_folder: plan.runs_folder,
            live_folder: plan.bundle.live_folder.clone(),
            node_name: plan.bundle.node_name.clone(),
            first_node_speaks: plan.slurm.as_ref().is_some_and(|slurm| !slurm.coordinates),
        };
        let stdout = if flags.json { Stdout::Stderr } else { Stdout::Stdout };
        let launch = Launch::start(plan.bundle, stdout).map_err(problem)?;
        Ok(Self {
            launch: Some(launch),
            plan: rest,
            narrator,
            voice: Voice::new(),
            as_json: flags.json,
            signals,
            keys: if forwards_input && has_terminal { KeyByKey::enter().ok() } else { None },
            forwards_input,
            keyboard: if forwards_input { terminal::without_waiting() } else { None },
            on_leash: flags.stop_on_stdin_eof,
            told_by_another: flags.json && flags.stop_on_stdin_eof,
            output_is_result: flags.output_is_result,
            unwritten: None,
            terminal_is_stuck: false,
            asked: 0,
            first_signal: None,
            kill_deadline: None,
            keepers_are_deaf: false,
            local_ranks: BTreeMap::new(),
            end: None,
            failure_line: None,
            gave_up: None,
            refused: None,
        })
    }

    /// Passes things on until the supervisor is gone.
    fn listen(&mut self) {
        loop {
            let Some(launch) = &mut self.launch else { return };
            // Keys that the supervisor does not take stay where they are, or we would wait with them and hear no signal.
            let has_room = launch.has_room();
            let stdin = self.on_leash || (self.forwards_input && has_room);
            let heard = if has_room { PollFlags::POLLIN } else { PollFlags::POLLIN | PollFlags::POLLOUT };
            let ready = wait(PollFd::new(launch.as_fd(), heard), &self.signals, stdin, self.kill_deadline);
            if ready.launch {
                match launch.listen() {
                    Ok(Received::Records(records)) => self.take(records),
                    Ok(Received::Gone(records)) => {
                        self.take(records);
                        return;
                    }
                    Err(_) => return,
                }
            }
            if ready.signals {
                self.read_signals();
            }
            if ready.stdin && self.on_leash {
                self.read_leash();
            } else if ready.stdin {
                self.read_keys();
            }
            if self.kill_deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.keepers_are_deaf = true;
                return;
            }
        }
    }

    fn take(&mut self, records: Vec<Record>) {
        for record in records {
            if self.as_json {
                self.print(&record);
            }
            if let RunEvent::TerminalDropped { error: Some(error), .. } = &record.event
                && self.output_is_result
            {
                self.unwritten = Some(error.clone());
            } else {
                self.tell(&record.event);
            }
            // The supervisor tells of its terminal right before the end of the run when it has waited for it in vain.
            self.terminal_is_stuck = match &record.event {
                RunEvent::TerminalDropped { error, .. } => error.is_none(),
                RunEvent::RunLedger { .. } | RunEvent::RunEnded { .. } => self.terminal_is_stuck,
                _ => false,
            };
            match record.event {
                RunEvent::RankStarted { rank, local_rank, .. } => {
                    self.local_ranks.insert(rank, local_rank);
                }
                RunEvent::RunEnded { outcome, verdict, attempts } => self.end = Some((outcome, *verdict, attempts)),
                RunEvent::RestartRefused { reason, text } => self.gave_up = Some(report::given_up(reason, text)),
                RunEvent::Refused { message, hint, .. } => {
                    self.refused = Some(Notice::new("run_refused", message, hint));
                }
                _ => {}
            }
        }
    }

    /// `--json`: every event of the run, one object per line.
    fn print(&self, record: &Record) {
        if let Ok(mut line) = serde_json::to_string(record) {
            line.push('\n');
            self.voice.print(&line);
        }
    }

    fn tell(&mut self, event: &RunEvent) {
        if !self.as_json
            && let Some(line) = Narrator::line_of_loss(event, speech::language())
        {
            self.voice.say(&line);
            return;
        }
        let Some(line) = self.narrator.as_ref().and_then(|narrator| narrator.line(event)) else { return };
        if self.plan.first_node_speaks && !matches!(event, RunEvent::Waiting { .. }) {
            return;
        }
        if matches!(event, RunEvent::AttemptFailed { .. }) {
            // Said only if another attempt follows: the report of the last one says it better.
            self.failure_line = Some(line);
            return;
        }
        if matches!(event, RunEvent::RestartScheduled { .. })
            && let Some(failure) = self.failure_line.take()
        {
            self.voice.say(&failure);
        }
        self.voice.say(&line);
    }

    fn read_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let signal = i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM);
            match signal {
                libc::SIGWINCH => {
                    let has_room = self.launch.as_ref().is_some_and(Launch::has_room);
                    if let Some(size) = WindowSize::of(1).filter(|_| has_room) {
                        self.order(&SupervisorOrder::Resize(size));
                    }
                }
                libc::SIGTSTP => self.pause(),
                _ => self.stop(signal),
            }
        }
    }

    fn read_leash(&mut self) {
        for event in leash::read() {
            match event {
                LeashEvent::Signal(signal) => self.stop(signal),
                LeashEvent::Released => {
                    self.on_leash = false;
                    // Who has asked already and then goes lets us finish in peace.
                    if self.asked == 0 {
                        self.stop(libc::SIGTERM);
                    }
                }
            }
        }
    }

    /// The first signal asks, the second kills.
    fn stop(&mut self, signal: i32) {
        self.asked += 1;
        self.first_signal.get_or_insert(signal);
        if self.asked == 1 {
            self.order(&SupervisorOrder::Stop { signal });
        } else {
            self.order(&SupervisorOrder::Kill);
            self.kill_deadline.get_or_insert(Instant::now() + AFTER_KILL);
        }
    }

    /// Ctrl-Z stops the launcher alone; the training goes on. On `fg` the terminal is ours again.
    fn pause(&mut self) {
        if let Some(keys) = &self.keys {
            keys.undo();
        }
        // SIGSTOP returns when somebody sends SIGCONT.
        let _ = nix::sys::signal::raise(Signal::SIGSTOP);
        if let Some(keys) = self.keys.as_ref().filter(|_| terminal::is_in_foreground()) {
            keys.apply();
        }
    }

    fn read_keys(&mut self) {
        // Continued in the background: the keys are the shell's now.
        if !terminal::is_in_foreground() {
            self.forwards_input = false;
            return;
        }
        let mut bytes = [0; 4096];
        let read = match &self.keyboard {
            Some(keyboard) => nix::unistd::read(keyboard, &mut bytes),
            None => nix::unistd::read(std::io::stdin(), &mut bytes),
        };
        match read {
            Ok(0) => {
                self.forwards_input = false;
                self.order(&SupervisorOrder::InputEnded);
            }
            Ok(n) => self.order(&SupervisorOrder::Input(bytes[..n].to_vec())),
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => {}
            Err(_) => self.forwards_input = false,
        }
    }

    fn order(&mut self, order: &SupervisorOrder) {
        if let Some(launch) = &mut self.launch {
            launch.order(order);
        }
    }

    /// Waits for the keepers, says how it ended, and gives the exit code.
    fn finish(mut self) -> ExitCode {
        let code = self.conclude();
        self.say_last_words();
        code
    }

    /// Lets the readers of both streams have what is left, and says which events were not printed.
    fn say_last_words(&self) {
        let mut last = LastWords::from_now(self.asked > 0);
        if self.terminal_is_stuck {
            last.spend_patience();
        }
        let interrupted = |wait: Duration| {
            let wait = u16::try_from(wait.as_millis()).unwrap_or(u16::MAX);
            let signalled = poll(&mut [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)], wait);
            signalled.is_ok_and(|count| count > 0)
        };
        let unprinted = self.voice.finish_printing(&mut last, interrupted);
        if self.as_json && !unprinted.is_nothing() && !self.voice.is_one() {
            let text = narrate::events_dropped(
                unprinted.lines,
                self.plan.run_folder.as_deref(),
                unprinted.error.map(Errno::desc),
            );
            self.voice.say(&format!("fermi: {}\n", text.in_language(speech::language())));
        }
        self.voice.finish_saying(&mut last, interrupted);
    }

    fn conclude(&mut self) -> ExitCode {
        let lease = match self.launch.take() {
            Some(launch) if self.keepers_are_deaf => {
                launch.end_by_force();
                self.voice.say(&format!("fermi: {}\n", narrate::ended_by_force().in_language(speech::language())));
                None
            }
            launch => launch.and_then(Launch::finish),
        };
        drop(self.keys.take());
        if let Some(runs) = &self.plan.runs_folder {
            run_folder::prune(runs, &self.plan.live_folder, Retention::default());
        }
        if let Some(notice) = &self.refused {
            if !self.told_by_another {
                self.voice.say(&speech::error(notice));
            }
            return ExitCode::from(exit_code::USAGE);
        }
        if self.end.is_none() || self.keepers_are_deaf {
            // A supervisor that died left its note and its cgroup, and nobody but us is there to take them away.
            stale::sweep_stale(&self.plan.live_folder);
        }
        let (outcome, verdict, attempts) = self.end.take().unwrap_or_else(|| {
            let lost = VerdictKind::SupervisorLost { node: self.plan.node_name.clone(), lease };
            let stopped = self.first_signal.filter(|_| self.keepers_are_deaf);
            (stopped.map_or(Outcome::Failed, |signal| Outcome::Stopped { signal }), Verdict::of(lost), 1)
        });
        match outcome {
            Outcome::Succeeded => match &self.unwritten {
                None => ExitCode::from(exit_code::DONE),
                Some(error) => {
                    self.voice.say(&speech::error(&speech::output_lost(&reason::of_said(error))));
                    ExitCode::from(exit_code::FAILED)
                }
            },
            Outcome::Stopped { signal } => exit_code::of_signal(signal),
            Outcome::Failed => {
                self.leave_error_file(&verdict, attempts);
                // Without an attempt the first node does not know of us.
                let is_told = self.told_by_another || (self.plan.first_node_speaks && attempts > 0);
                if !is_told {
                    self.report(&verdict);
                }
                ExitCode::from(exit_code::FAILED)
            }
        }
    }

    /// For the one that has started this launcher, where it wants to know.
    fn leave_error_file(&self, verdict: &Verdict, attempts: u32) {
        let named = std::env::var_os(contract::TORCHELASTIC_ERROR_FILE).filter(|path| !path.is_empty());
        let Some(path) = named else { return };
        let local_rank = verdict.first.as_ref().and_then(|first| self.local_ranks.get(&first.rank.0).copied());
        let own = self.plan.run_folder.as_ref().zip(local_rank);
        let own = own.map(|(run, local_rank)| RankFolder::of(run, attempts, local_rank).error_file());
        error_file::write(Path::new(&path), verdict, own.as_deref(), span::now_ms());
    }

    fn report(&self, verdict: &Verdict) {
        let language = speech::language();
        let log = report::log_of(verdict, &self.plan.node_name, self.plan.run_folder.as_deref(), language);
        let report = FailureReport { verdict, gave_up: self.gave_up.as_ref(), log };
        self.voice.say(&report.render(language, Paint::for_stderr()));
    }
}

struct Ready {
    launch: bool,
    signals: bool,
    stdin: bool,
}

fn wait(launch: PollFd<'_>, signals: &SignalFd, stdin: bool, deadline: Option<Instant>) -> Ready {
    let keyboard = std::io::stdin();
    let mut fds = vec![launch, PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    if stdin {
        fds.push(PollFd::new(keyboard.as_fd(), PollFlags::POLLIN));
    }
    let timeout = deadline.map_or(PollTimeout::NONE, |deadline| {
        let left = deadline.saturating_duration_since(Instant::now()).as_millis() + 1;
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    });
    // An interrupted wait is a wait that ended early.
    let _ = poll(&mut fds, timeout);
    let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
    // Room for orders is only seen here: the next look at it lets the keys in again.
    let heard = fds.first().and_then(PollFd::revents).is_some_and(|events| events.intersects(!PollFlags::POLLOUT));
    Ready { launch: heard, signals: ready(1), stdin: ready(2) }
}

/// From here on these signals are read, not delivered. One that we were started to ignore (nohup) stays ignored. A limit of a
/// file's size makes a write fail, and ends nothing.
pub(in crate::commands) fn take_signals(stopping: &[i32]) -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    let stopping = stopping.iter().filter_map(|signal| Signal::try_from(*signal).ok());
    for signal in stopping.chain([Signal::SIGWINCH, Signal::SIGTSTP]).filter(|signal| !is_ignored(*signal)) {
        mask.add(signal);
    }
    mask.thread_block()?;
    SigSet::from(FILE_TOO_LARGE).thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: only asks for the present action.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as i32, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

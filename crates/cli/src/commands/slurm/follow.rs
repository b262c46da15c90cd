//! Stays with a job until it ends: says each change of its state, shows its output, and knows how the training ended.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_domain::event::Outcome;
use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::SlurmNews;
use fermi_domain::slurm::job::{JobExit, JobLook, JobState};
use fermi_process::clock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use serde_json::json;

use super::journals::{self, End};
use super::queue;
use super::tail::Tail;
use crate::commands::run::session::take_signals;
use crate::speech::PassedOn;
use crate::{exit_code, speech};

const READ_EVERY: Duration = Duration::from_millis(250);
/// Slurm is asked often at first, when people watch, and then less: every question costs its one controller.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASK_LATER_EVERY: Duration = Duration::from_secs(5);
const AT_FIRST: Duration = Duration::from_secs(60);
/// Longer than a restart of the controller.
const GIVE_UP_AFTER: Duration = Duration::from_secs(300);
/// A shared disk shows the last lines a little later than Slurm shows the end.
const LAST_LINES: Duration = Duration::from_secs(2);
/// Clocks of login node and compute nodes differ.
const CLOCK_SKEW_MS: u64 = 300_000;

#[derive(Debug)]
pub struct Follower {
    job: u64,
    job_folder: PathBuf,
    tail: Tail,
    output: PassedOn,
    as_json: bool,
    signals: SignalFd,
    submitted_ms: u64,
    began: Instant,
    asked: Instant,
    /// When Slurm last knew the job.
    known: Instant,
    last: Option<JobLook>,
    cancelled: bool,
}

/// Whether to stay.
enum Next {
    Stay,
    Leave,
}

impl Follower {
    pub fn new(job: u64, output: PathBuf, job_folder: PathBuf, as_json: bool) -> Result<Self, RunProblem> {
        let signals = take_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])
            .map_err(|error| RunProblem::KeepersNotStarted { error: reason::of_io(&error.into()) })?;
        let now = Instant::now();
        let asked = now.checked_sub(ASK_EVERY).unwrap_or(now);
        Ok(Self {
            job,
            job_folder,
            tail: Tail::new(output),
            output: if as_json { PassedOn::as_talk() } else { PassedOn::as_data() },
            as_json,
            signals,
            submitted_ms: clock::unix_ms(),
            began: now,
            asked,
            known: now,
            last: None,
            cancelled: false,
        })
    }

    /// Follows; the exit code is the training's.
    pub fn follow(mut self) -> Result<ExitCode, RunProblem> {
        loop {
            self.wait();
            if matches!(self.read_signals(), Next::Leave) {
                self.tell(&SlurmNews::Left { job: self.job.to_string() });
                return Ok(exit_code::of_signal(libc::SIGINT));
            }
            self.show_output();
            if self.asked.elapsed() < self.pause() {
                continue;
            }
            self.asked = Instant::now();
            match queue::look(self.job) {
                Some(look) => {
                    self.known = Instant::now();
                    let is_over = look.state.is_over();
                    self.changed(look);
                    if is_over {
                        return Ok(self.ended());
                    }
                }
                None if self.known.elapsed() >= GIVE_UP_AFTER => {
                    self.tell(&SlurmNews::Unknown { job: self.job.to_string() });
                    return Ok(ExitCode::from(exit_code::FAILED));
                }
                None => {}
            }
        }
    }

    fn pause(&self) -> Duration {
        if self.began.elapsed() < AT_FIRST || self.cancelled { ASK_EVERY } else { ASK_LATER_EVERY }
    }

    fn wait(&self) {
        let mut fds = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, PollTimeout::try_from(READ_EVERY).unwrap_or(PollTimeout::ZERO));
    }

    /// The first Ctrl-C cancels the job, the second leaves.
    fn read_signals(&mut self) -> Next {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let signal = i32::try_from(info.ssi_signo).unwrap_or(libc::SIGINT);
            match signal {
                libc::SIGWINCH => continue,
                libc::SIGTSTP => {
                    self.stand_still();
                    continue;
                }
                _ => {}
            }
            if std::mem::replace(&mut self.cancelled, true) {
                return Next::Leave;
            }
            self.tell(&SlurmNews::Cancelling { job: self.job.to_string() });
            queue::cancel(self.job);
        }
        Next::Stay
    }

    /// Ctrl-Z stops this process alone; the job goes on. SIGSTOP returns when somebody sends SIGCONT.
    fn stand_still(&mut self) {
        let _ = nix::sys::signal::raise(Signal::SIGSTOP);
        // Nobody has asked Slurm meanwhile.
        self.known = Instant::now();
    }

    fn show_output(&mut self) {
        // A disk that fails to answer for once is asked again.
        while let Ok(bytes) = self.tail.news() {
            if bytes.is_empty() {
                return;
            }
            self.output.pass(&bytes);
        }
    }

    fn changed(&mut self, look: JobLook) {
        if self.last.as_ref() == Some(&look) || is_on_its_way(&look.state) {
            return;
        }
        let was_running = self.last.as_ref().is_some_and(|last| last.state == JobState::Running);
        if self.as_json {
            let line = json!({"v": 1, "event": "job.state", "job": self.job.to_string(), "state": look.state.word(), "reason": look.reason, "nodes": look.nodes});
            speech::print(&format!("{line}\n"));
        } else if !look.state.is_over() {
            speech::say(&format!("fermi: {}\n", look.text(&self.job.to_string()).in_language(speech::language())));
        }
        if was_running && matches!(look.state, JobState::Pending | JobState::Requeued) {
            self.tell(&SlurmNews::Requeued { job: self.job.to_string() });
        }
        self.last = Some(look);
    }

    fn ended(&mut self) -> ExitCode {
        let deadline = Instant::now() + LAST_LINES;
        let mut end = None;
        while Instant::now() < deadline && end.is_none() {
            std::thread::sleep(READ_EVERY);
            self.show_output();
            end = journals::last_end(&self.job_folder, self.submitted_ms.saturating_sub(CLOCK_SKEW_MS));
        }
        self.show_output();
        let state = self.last.as_ref().map_or(JobState::Failed, |look| look.state.clone());
        let exit = queue::exit(self.job);
        self.tell_end(&state, exit, end.as_ref());
        self.exit_code(&state, exit)
    }

    fn tell_end(&self, state: &JobState, exit: Option<JobExit>, end: Option<&End>) {
        let job = self.job.to_string();
        let failed = end.filter(|end| end.outcome == Outcome::Failed);
        if self.as_json {
            let line = json!({
                "v": 1,
                "event": "job.ended",
                "job": job,
                "state": state.word(),
                "exitCode": exit.map(|exit| exit.code),
                "signal": exit.map(|exit| exit.signal).filter(|signal| *signal > 0),
                "outcome": end.map(|end| end.outcome),
                "verdict": end.map(|end| &end.verdict),
            });
            speech::print(&format!("{line}\n"));
            return;
        }
        let verdict = failed.map(|end| end.verdict.headline());
        self.tell(&SlurmNews::Ended { job, state: state.word().to_owned(), verdict });
    }

    fn exit_code(&self, state: &JobState, exit: Option<JobExit>) -> ExitCode {
        match (state, exit) {
            (JobState::Completed, _) => ExitCode::from(exit_code::DONE),
            _ if self.cancelled => exit_code::of_signal(libc::SIGINT),
            (_, Some(JobExit { code: 0, signal })) if signal > 0 => exit_code::of_signal(signal.into()),
            (_, Some(JobExit { code, .. })) if code > 0 => ExitCode::from(code),
            _ => ExitCode::from(exit_code::FAILED),
        }
    }

    fn tell(&self, news: &SlurmNews) {
        if !self.as_json {
            super::tell(news);
        }
    }
}

/// States between two others pass in a moment and tell nobody anything.
fn is_on_its_way(state: &JobState) -> bool {
    matches!(state, JobState::Moving(word) if ["COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING"].contains(&word.as_str()))
}

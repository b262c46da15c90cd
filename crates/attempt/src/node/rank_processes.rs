//! The ranks of this node that are running now.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use fermi_domain::contract::AttemptFacts;
use fermi_domain::exit::Exit;
use fermi_domain::pulse::Pulse;
use fermi_process::clock;
use fermi_process::exit_record::{self, ExitRecord};
use fermi_process::fork_exec::{ExecOutcome, NEVER_EXECUTED};
use fermi_process::output::{Filtered, StreamKind, StreamSource};
use fermi_process::pidfd::PidFd;
use fermi_process::pty::{self, WindowSize};
use fermi_process::spawn::{RankCommand, Spawned};
use fermi_process::{spent, sweep};

use crate::bundle::{NodeBundle, RankPlan};
use crate::joined::Candidate;
use crate::run_folder::{RankFolder, attempt_folder};

/// One rank that runs.
#[derive(Debug)]
pub struct RankProcess {
    pub rank: u32,
    pub local_rank: u32,
    pub started_ms: u64,
    folder: Option<RankFolder>,
    handle: PidFd,
    exec: ExecOutcome,
    program: String,
    stdin: Option<OwnedFd>,
    terminals: Vec<OwnedFd>,
}

impl RankProcess {
    pub fn pid(&self) -> i32 {
        self.handle.pid()
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub fn log(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(RankFolder::log)
    }

    pub fn error_file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(RankFolder::error_file)
    }

    pub fn progress_file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(RankFolder::progress_file)
    }

    /// The session of a rank is its own, so the whole group gets the signal: data-loader children too.
    fn signal(&self, signal: i32) {
        // SAFETY: our own child, not yet reaped, so its number is still its own.
        let reached = unsafe { libc::killpg(self.pid(), signal) == 0 && libc::getpgid(self.pid()) == self.pid() };
        // A rank that left the group, or was stopped before it could make it, is reached directly. No process gets the
        // signal twice, because a second Ctrl-C would cut short what the first one began.
        if !reached {
            let _ = self.handle.signal(signal);
        }
        // A stopped process would not see it.
        let _ = self.handle.signal(libc::SIGCONT);
    }

    /// A child that never executed its program ends with a code of ours; the reason says more.
    fn true_exit(&mut self, exit: Exit) -> Exit {
        if exit != (Exit::Code { code: NEVER_EXECUTED }) {
            return exit;
        }
        match self.exec.failure() {
            Some(error) => Exit::NotStarted { error: format!("{}: {error}", self.program) },
            None => exit,
        }
    }

    pub fn record_exit(&self, exit: &Exit, oom_killed: bool) {
        let Some(folder) = &self.folder else { return };
        let record = ExitRecord {
            version: exit_record::VERSION,
            rank: self.rank,
            pid: self.pid(),
            exit: exit.clone(),
            started_ms: self.started_ms,
            ended_ms: clock::unix_ms(),
            oom_killed,
        };
        // On a full disk the journal and the launcher still have it.
        let _ = record.write(&folder.path);
    }
}

/// Makes the folder of a rank, if it has one and it is not there yet, with the room for its exit record: before any rank runs,
/// which may fill the disk at once.
pub fn make_folder(bundle: &NodeBundle, plan: &RankPlan, attempt: u32) -> io::Result<Option<RankFolder>> {
    let folder = bundle.rank_folder(plan, attempt);
    if let Some(folder) = &folder {
        folder.create()?;
        // Without the room the record is tried when the rank has ended.
        let _ = ExitRecord::reserve(&folder.path);
        if let Some(account) = &bundle.account {
            folder.open_to(account);
        }
    }
    Ok(folder)
}

/// All ranks of the current attempt on this node.
#[derive(Debug, Default)]
pub struct RankProcesses {
    pub running: Vec<RankProcess>,
}

impl RankProcesses {
    /// Starts one rank by `begin`; its streams are added to those that the pump shall read.
    pub fn start(
        &mut self,
        bundle: &NodeBundle,
        plan: &RankPlan,
        folder: Option<RankFolder>,
        facts: &AttemptFacts,
        begin: impl FnOnce(RankCommand) -> io::Result<Spawned>,
        streams: &mut Vec<StreamSource>,
    ) -> io::Result<&RankProcess> {
        let spawned = begin(bundle.command(plan, facts))?;
        let started_ms = clock::unix_ms();
        for (kind, fd, show) in [
            (StreamKind::Stdout, spawned.stdout, &plan.show_stdout),
            (StreamKind::Stderr, spawned.stderr, &plan.show_stderr),
        ] {
            let log = folder.as_ref().map(|folder| folder.path.join(log_name(kind)));
            let filtered = filtered(bundle, facts.attempt, kind);
            streams.push(StreamSource {
                rank: plan.place.rank,
                kind,
                fd,
                log,
                show: show.for_rank(plan.place.rank),
                filtered,
            });
        }
        self.running.push(RankProcess {
            rank: plan.place.rank,
            local_rank: plan.place.local_rank,
            started_ms,
            folder,
            handle: spawned.handle,
            exec: spawned.outcome,
            program: plan.program(),
            stdin: spawned.stdin,
            terminals: spawned.terminals,
        });
        self.running.last().ok_or_else(|| io::Error::other("the rank just started is missing"))
    }

    pub fn signal(&self, signal: i32) {
        for process in &self.running {
            process.signal(signal);
        }
    }

    /// Takes out those that have ended, each with how it did. Of those whose death is foretold it is enough that they are spent:
    /// these are given to `freeing`, to be collected when the kernel has freed their memory.
    pub fn reap(
        &mut self,
        mut is_foretold: impl FnMut(&RankProcess) -> bool,
        mut freeing: impl FnMut(PidFd),
    ) -> Vec<(RankProcess, Exit)> {
        let mut dead = Vec::new();
        let mut alive = Vec::with_capacity(self.running.len());
        for mut process in self.running.drain(..) {
            let pid = nix::unistd::Pid::from_raw(process.pid());
            let status = nix::sys::wait::waitpid(pid, Some(nix::sys::wait::WaitPidFlag::WNOHANG));
            match status.map(sweep::exit_of) {
                Ok(Some((_, exit))) => {
                    let exit = process.true_exit(exit);
                    dead.push((process, exit));
                }
                Ok(None) => {
                    let spent = if is_foretold(&process) { spent::exit(process.pid()) } else { None };
                    match (spent, process.handle.try_clone()) {
                        (Some(exit), Ok(handle)) => {
                            freeing(handle);
                            dead.push((process, exit));
                        }
                        _ => alive.push(process),
                    }
                }
                // No other process reaps our children; had one done so, the rank would be gone all the same.
                Err(_) => dead.push((process, Exit::Code { code: 1 })),
            }
        }
        self.running = alive;
        dead
    }

    /// Passes on what the user typed, to the rank that listens.
    pub fn input(&mut self, bytes: &[u8]) {
        for process in &mut self.running {
            if let Some(stdin) = &process.stdin {
                // A rank that does not read loses what does not fit, as on any terminal.
                let _ = nix::unistd::write(stdin, bytes);
            }
        }
    }

    pub fn input_ended(&mut self) {
        for process in &mut self.running {
            process.stdin = None;
        }
    }

    pub fn resize(&self, size: WindowSize) {
        for terminal in self.running.iter().flat_map(|process| &process.terminals) {
            pty::resize(terminal, size);
        }
    }

    pub fn candidates(&self, pulse_of: impl Fn(u32) -> Option<Pulse>) -> Vec<Candidate> {
        let candidate = |process: &RankProcess| Candidate {
            rank: process.rank,
            pid: process.pid(),
            progress_file: process.progress_file(),
            pulse: pulse_of(process.local_rank),
        };
        self.running.iter().map(candidate).collect()
    }
}

fn log_name(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Stdout => "stdout.log",
        StreamKind::Stderr => "stderr.log",
    }
}

fn filtered(bundle: &NodeBundle, attempt: u32, kind: StreamKind) -> Option<Filtered> {
    let (words, name) = match kind {
        StreamKind::Stdout => (&bundle.stdout_filters, "filtered_stdout.log"),
        StreamKind::Stderr => (&bundle.stderr_filters, "filtered_stderr.log"),
    };
    let run_folder = bundle.run_folder.as_ref().filter(|_| !words.is_empty())?;
    Some(Filtered { path: attempt_folder(run_folder, attempt).join(name), words: words.clone() })
}

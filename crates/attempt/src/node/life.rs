//! The life of a supervisor, from its first order to its last word.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use fermi_domain::exit::Exit;
use fermi_process::cgroup::Cgroup;
use fermi_process::clock::{self, Monotonic};
use fermi_process::journal::Journal;
use fermi_process::output::{Pump, Tails};
use fermi_process::pidfd::PidFd;
use fermi_process::procfs;
use fermi_process::stale::{Keeper, LiveRun};
use fermi_process::sweep;
use fermi_process::warden::LauncherDeath;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::crew::{Crew, Member};
use crate::bundle::{NodeBundle, RankPlan};
use crate::coordinator::{Action, Coordinator, Failure, Happening, Policy};
use crate::event::{self, Record, RunEvent};
use crate::evidence::{self, Seen};
use crate::frame::{self, Inbox, Order, Reading};
use crate::joined;
use crate::port::{self, Lease};

/// How long the terminal may hold up the reading of a dead rank's last words.
const SETTLE: Duration = Duration::from_millis(500);
/// How long streams that a survivor holds open are waited for after the sweep.
const DRAIN: Duration = Duration::from_secs(1);

/// Why a supervisor ended before its run did.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    #[error("no launch order came")]
    NoOrder(#[source] io::Error),
    #[error("the machine refuses what supervision needs")]
    Machine(#[source] io::Error),
}

/// Lives: takes the launch order from the socket, runs the ranks to their end, and returns.
pub fn run(mut control: UnixStream, warden: PidFd, on_launcher_death: LauncherDeath) -> Result<(), LifeError> {
    let mut inbox = Inbox::default();
    let bundle = await_launch(&mut control, &mut inbox).map_err(LifeError::NoOrder)?;
    let mut node = Node::new(bundle, control, warden, on_launcher_death).map_err(LifeError::Machine)?;
    node.begin();
    node.live(&mut inbox);
    Ok(())
}

fn await_launch(control: &mut UnixStream, inbox: &mut Inbox) -> io::Result<NodeBundle> {
    loop {
        match inbox.next::<Order>()? {
            Some(Order::Launch(bundle)) => return Ok(*bundle),
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the first order is not a launch")),
            None => {
                if inbox.fill(control)? == Reading::Closed {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

struct Node {
    bundle: NodeBundle,
    control: Option<UnixStream>,
    warden: PidFd,
    on_launcher_death: LauncherDeath,
    signals: SignalFd,
    clock: Monotonic,
    coordinator: Coordinator,
    crew: Crew,
    pump: Pump,
    journal: Journal,
    cgroup: Option<Cgroup>,
    port: Option<Lease>,
    seq: u64,
    attempt: u32,
    oom_kills: u64,
    over: bool,
}

impl Node {
    fn new(
        bundle: NodeBundle,
        control: UnixStream,
        warden: PidFd,
        on_launcher_death: LauncherDeath,
    ) -> io::Result<Self> {
        // A launcher that is stopped (Ctrl-Z) must not hold up the run.
        control.set_write_timeout(Some(Duration::from_secs(2)))?;
        // The warden blocked these before it forked; from here they are read, never delivered.
        let mask = SigSet::thread_get_mask()?;
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let journal = match &bundle.run_folder {
            Some(folder) => Journal::create(folder)?,
            None => Journal::none(),
        };
        let policy = Policy {
            restarts: bundle.restarts,
            ladder: bundle.ladder.clone(),
            start_timeout_ms: bundle.start_timeout_ms,
            resume: bundle.resume,
        };
        let ranks = bundle.ranks.iter().map(|plan| plan.place.rank).collect();
        let coordinator = Coordinator::new(bundle.node_name.clone(), ranks, policy);
        Ok(Self {
            cgroup: Cgroup::create(&bundle.run_id),
            bundle,
            control: Some(control),
            warden,
            on_launcher_death,
            signals,
            clock: Monotonic::start(),
            coordinator,
            crew: Crew::default(),
            pump: Pump::start()?,
            journal,
            port: None,
            seq: 0,
            attempt: 0,
            oom_kills: 0,
            over: false,
        })
    }

    /// Takes the port and lets the coordinator start; or says why the run cannot begin.
    fn begin(&mut self) {
        match port::lease(self.bundle.master_port) {
            Ok(lease) => {
                self.port = Some(lease);
                self.leave_note();
                self.tell(RunEvent::RunStarted {
                    run_id: self.bundle.run_id.clone(),
                    world_size: self.bundle.ranks.first().map_or(0, |plan| plan.place.world_size),
                    folder: self.bundle.run_folder.clone(),
                    warden_pid: self.warden.pid(),
                    supervisor_pid: nix::unistd::getpid().as_raw(),
                });
                self.hear(Happening::Begin);
            }
            Err(error) => {
                self.tell(RunEvent::Refused { message: error.text(), hint: error.hint() });
                self.over = true;
            }
        }
        if self.over {
            self.clean_up();
        }
    }

    /// By this note a later start finds what is left if both keepers die at once.
    fn leave_note(&self) {
        let keepers = [self.warden.pid(), nix::unistd::getpid().as_raw()];
        let note = LiveRun {
            run: self.bundle.run_id.clone(),
            boot: procfs::boot_id(),
            keepers: keepers.into_iter().filter_map(|pid| Keeper::of(pid).ok()).collect(),
            cgroup: self.cgroup.as_ref().map(|cgroup| cgroup.folder().to_owned()),
        };
        // Without the note the run is held by its keepers alone.
        let _ = note.write(&self.bundle.live_folder);
    }

    fn live(&mut self, inbox: &mut Inbox) {
        while !self.over {
            let wake = self.wait();
            if wake.warden_died {
                self.end_at_once();
                return;
            }
            self.read_signals();
            if wake.control {
                self.read_control(inbox);
            }
            self.bury_the_dead();
            if !self.over {
                self.hear(Happening::TimePassed);
            }
        }
    }

    fn wait(&self) -> Wake {
        let mut fds = vec![
            PollFd::new(self.warden.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        let ranks_from = fds.len();
        fds.extend(self.crew.members.iter().map(|member| PollFd::new(member.as_fd(), PollFlags::POLLIN)));
        let control_at = fds.len();
        if let Some(control) = &self.control {
            fds.push(PollFd::new(control.as_fd(), PollFlags::POLLIN));
        }
        debug_assert!(ranks_from <= control_at);
        let timeout = self.coordinator.wake_at().map_or(PollTimeout::NONE, |at| {
            PollTimeout::try_from(at.saturating_sub(self.clock.ms())).unwrap_or(PollTimeout::MAX)
        });
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, timeout);
        let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
        Wake { warden_died: ready(0), control: ready(control_at) }
    }

    fn read_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let signal = i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM);
            self.hear(Happening::StopAsked { signal });
        }
    }

    fn read_control(&mut self, inbox: &mut Inbox) {
        let Some(control) = &mut self.control else { return };
        let reading = inbox.fill(control).unwrap_or(Reading::Closed);
        while let Ok(Some(order)) = inbox.next::<Order>() {
            match order {
                Order::Stop { signal } => self.hear(Happening::StopAsked { signal }),
                Order::Kill => self.hear(Happening::KillAsked),
                Order::Input(bytes) => self.crew.input(&bytes),
                Order::InputEnded => self.crew.input_ended(),
                Order::Resize(size) => {
                    self.crew.resize(size);
                    for plan in &mut self.bundle.ranks {
                        plan.terminal = plan.terminal.map(|_| size);
                    }
                }
                // There is one launch per life.
                Order::Launch(_) => {}
            }
        }
        if reading == Reading::Closed {
            self.control = None;
            if self.on_launcher_death == LauncherDeath::EndsRun && !self.over {
                self.end_at_once();
            }
        }
    }

    fn bury_the_dead(&mut self) {
        for (member, exit) in self.crew.bury() {
            self.rank_ended(&member, exit);
        }
    }

    fn rank_ended(&mut self, member: &Member, exit: Exit) {
        let made_progress = self.crew_made_progress(member);
        let by_kill = matches!(exit, Exit::Signal { signal: libc::SIGKILL, .. });
        let oom_killed = by_kill && procfs::oom_kills() > self.oom_kills;
        member.record_exit(&exit, oom_killed);
        let failure = if exit.is_success() {
            Failure::default()
        } else {
            self.evidence_of(member, &exit, oom_killed, made_progress)
        };
        self.tell(RunEvent::RankExited {
            attempt: self.attempt,
            rank: member.rank,
            local_rank: member.local_rank,
            pid: member.pid(),
            exit: exit.clone(),
        });
        self.hear(Happening::RankEnded { rank: member.rank, exit, failure, made_progress });
    }

    fn evidence_of(&self, member: &Member, exit: &Exit, oom_killed: bool, made_progress: bool) -> Failure {
        evidence::gather(Seen {
            exit,
            tails: self.pump.settle(member.rank, SETTLE).unwrap_or_default(),
            error_file: member.error_file().as_deref(),
            oom_killed,
            lived_ms: clock::unix_ms().saturating_sub(member.started_ms),
            made_progress,
        })
    }

    fn crew_made_progress(&self, dead: &Member) -> bool {
        self.crew
            .members
            .iter()
            .chain([dead])
            .filter_map(Member::progress_file)
            .any(|file| joined::made_progress(&file))
    }

    /// Tells the coordinator and does what it wants, until it wants nothing more.
    fn hear(&mut self, happening: Happening) {
        let mut queue = VecDeque::from([happening]);
        while let Some(happening) = queue.pop_front() {
            for action in self.coordinator.on(happening, self.clock.ms()) {
                queue.extend(self.carry_out(action));
            }
        }
    }

    fn carry_out(&mut self, action: Action) -> Vec<Happening> {
        match action {
            Action::StartRanks { attempt, resume } => return self.start_ranks(attempt, resume),
            Action::SignalRanks { signal } => self.crew.signal(signal),
            Action::KillRanks => self.crew.signal(libc::SIGKILL),
            Action::CheckJoined => {
                let port = self.port.as_ref().map_or(0, |lease| lease.port);
                return vec![Happening::NotJoined { missing: joined::missing(&self.crew.candidates(), port) }];
            }
            Action::Sweep => {
                self.sweep();
                return vec![Happening::Swept];
            }
            Action::Tell(event) => self.tell(event),
            Action::Finish => {
                self.over = true;
                self.clean_up();
            }
        }
        Vec::new()
    }

    fn start_ranks(&mut self, attempt: u32, resume: bool) -> Vec<Happening> {
        self.attempt = attempt;
        self.oom_kills = procfs::oom_kills();
        let master_port = self.port.as_ref().map_or(0, |lease| lease.port);
        let facts = self.bundle.facts(attempt, master_port, resume);
        self.tell(RunEvent::AttemptStarted { attempt, master_addr: facts.master_addr.clone(), master_port, resume });
        let entrance = self.cgroup.as_ref().and_then(|cgroup| cgroup.entrance().ok());
        let mut news = Vec::new();
        let mut not_started = Vec::new();
        for plan in &self.bundle.ranks {
            match self.crew.start(&self.bundle, plan, &facts, &self.pump, entrance.as_ref()) {
                Ok(member) => news.push((member.rank, member.local_rank, member.pid())),
                Err(error) => {
                    not_started.push(never_began(plan, &error));
                    break;
                }
            }
        }
        for (rank, local_rank, pid) in news {
            self.tell(RunEvent::RankStarted { attempt, rank, local_rank, pid });
        }
        not_started.extend(self.unstarted_after_failure(!not_started.is_empty()));
        not_started
    }

    /// Ranks behind one that could not be started were never tried: they are gone, without blame.
    fn unstarted_after_failure(&self, failed: bool) -> Vec<Happening> {
        if !failed {
            return Vec::new();
        }
        self.bundle
            .ranks
            .iter()
            .skip(self.crew.members.len() + 1)
            .map(|plan| Happening::RankEnded {
                rank: plan.place.rank,
                exit: Exit::Signal { signal: libc::SIGTERM, core_dumped: false },
                failure: Failure::default(),
                made_progress: false,
            })
            .collect()
    }

    fn sweep(&mut self) {
        let mut crew = std::mem::take(&mut self.crew);
        for (member, exit) in crew.bury() {
            member.record_exit(&exit, false);
        }
        let swept = sweep::end_descendants(|_, _| {});
        if swept.killed > 0 || !swept.survivors.is_empty() {
            self.tell(RunEvent::Swept { attempt: self.attempt, killed: swept.killed, survivors: swept.survivors });
        }
        if let Some(drained) = self.pump.drain(DRAIN)
            && drained.dropped > 0
        {
            self.tell(RunEvent::OutputLost { attempt: self.attempt, bytes: drained.dropped });
        }
    }

    /// A keeper of ours is dead: no ladder, no grace, nothing stays.
    fn end_at_once(&mut self) {
        self.over = true;
        self.crew.signal(libc::SIGKILL);
        self.sweep();
        self.clean_up();
    }

    fn clean_up(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        LiveRun::remove(&self.bundle.live_folder, &self.bundle.run_id);
        if let Some(folder) = &self.bundle.run_folder {
            remove_if_empty(&folder.join("outputs/checkpoints"));
            remove_if_empty(&folder.join("outputs"));
        }
    }

    fn tell(&mut self, event: RunEvent) {
        self.seq += 1;
        let record = Record { v: event::VERSION, seq: self.seq, time_ms: clock::unix_ms(), event };
        self.journal.append(&record);
        if let Some(control) = &mut self.control
            && frame::write(control, &record).is_err()
        {
            // It is gone or deaf; the journal has everything.
            self.control = None;
        }
    }
}

struct Wake {
    warden_died: bool,
    control: bool,
}

fn never_began(plan: &RankPlan, error: &io::Error) -> Happening {
    let program = plan.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let exit = Exit::NotStarted { error: format!("{program}: {error}") };
    let failure = evidence::gather(Seen {
        exit: &exit,
        tails: Tails::default(),
        error_file: None,
        oom_killed: false,
        lived_ms: 0,
        made_progress: false,
    });
    Happening::RankEnded { rank: plan.place.rank, exit, failure, made_progress: false }
}

/// Output folders that no rank used are not left behind.
fn remove_if_empty(folder: &Path) {
    let _ = std::fs::remove_dir(folder);
}

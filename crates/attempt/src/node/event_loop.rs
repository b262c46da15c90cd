//! The supervisor's event loop, from its first order to its last event.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fermi_process::account::keep_files_private;
use fermi_process::descriptors;
use fermi_process::lease::STACKS_ASKED;
use fermi_process::pidfd::PidFd;
use fermi_process::warden::{FILE_TOO_LARGE, FOR_RANKS, LauncherDeath, Warden};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::coordinator_driver::CoordinatorDriver;
use super::event_sink::EventSink;
use super::executor::Executor;
use super::follower::FollowerNode;
use super::local_node::Node;
use super::not_started;
use super::warden_watch::{self, WardenWatch};
use crate::bundle::NodeBundle;
use crate::frame::{Inbox, Reading, SupervisorOrder};
use crate::port::{self, LeaseError};
use fermi_domain::event::RunEvent;
use fermi_domain::language::{Explained, FrontEnd};
use fermi_domain::launch::Serves;

/// A terminal that takes nothing for so long gets no more when the run is over; one that goes on reading gets everything.
const LAST_LINES: Duration = Duration::from_secs(5);
/// How long it is waited for in all, reading or not, when the launcher or a signal has asked for the end.
const LAST_LINES_WHEN_ASKED: Duration = Duration::from_secs(1);
/// How often the note is tried that a disk has not taken.
const TRY_NOTE_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether the terminal has everything.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why a supervisor ended before its run did.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("no launch order came")]
    NoOrder(#[source] io::Error),
    #[error("the machine refuses what supervision needs")]
    Machine(#[source] io::Error),
}

/// Takes the bundle, which comes as an order over the socket unless it is here, runs the ranks to their end, and returns.
pub fn run(
    mut control: UnixStream,
    warden: Warden,
    on_launcher_death: LauncherDeath,
    bundle: Option<NodeBundle>,
) -> Result<(), SupervisorError> {
    let mut inbox = Inbox::default();
    let bundle = match bundle {
        Some(bundle) => bundle,
        None => await_launch(&mut control, &mut inbox).map_err(SupervisorError::NoOrder)?,
    };
    if bundle.account.is_some() {
        keep_files_private();
    }
    let mut events = EventLoop::new(bundle, &control, inbox, warden, on_launcher_death)
        .inspect_err(|error| not_started::tell(&control, error))
        .map_err(SupervisorError::Machine)?;
    events.control = Some(control);
    let begun = events.begin();
    match &begun {
        Ok(true) => events.run(),
        Ok(false) => {}
        // A run that outlives its launcher is a lost node's to the server, which may try another.
        Err(error) if on_launcher_death == LauncherDeath::EndsRun => events.node.record(not_started::refusal(error)),
        Err(_) => {}
    }
    events.finish();
    begun.map(|_| ()).map_err(SupervisorError::Machine)
}

/// A link to each node and the streams of each rank may be more than the usual 1,024 files. Ranks inherit the limit, so
/// it is raised only where it must be.
fn allow_files_for(bundle: &NodeBundle) {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let served_peers = match bundle.serves {
        Serves::Nothing => 0,
        // Ranks come and go there, at times many at once.
        Serves::HorovodRendezvous => 512,
    };
    // Each rank of a torch program has a few connections to its store.
    let clients = if bundle.hosts_store && bundle.gathering.coordinates {
        4 * u64::from(bundle.gathering.nodes) * bundle.ranks.len() as u64
    } else {
        0
    };
    // Its streams, its terminal, its process and how it began; the same of what is parked, with its page and order.
    let of_rank = if bundle.hook.as_ref().is_some_and(|hook| hook.warm) { 20 } else { 9 };
    let ranks = of_rank * bundle.ranks.len() as u64;
    let needed = 64 + served_peers + clients + 2 * u64::from(bundle.gathering.nodes) + ranks;
    if let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE)
        && now < needed
    {
        // With fewer the run works up to that size.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed.min(most), most);
    }
    descriptors::make_room(needed);
}

fn await_launch(control: &mut UnixStream, inbox: &mut Inbox) -> io::Result<NodeBundle> {
    loop {
        match inbox.take::<SupervisorOrder>()? {
            Some(SupervisorOrder::Launch(bundle)) => return Ok(*bundle),
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the first order is not a launch")),
            None => {
                if inbox.fill(control)? == Reading::Closed {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

/// Where the decisions for this node are made.
#[derive(Debug)]
enum CoordinatorRole {
    Here(Box<CoordinatorDriver>),
    Elsewhere(Box<FollowerNode>),
    /// Not yet, or not any more.
    None,
}

struct EventLoop {
    /// Where the launcher's orders come from.
    control: Option<UnixStream>,
    inbox: Inbox,
    warden: PidFd,
    on_launcher_death: LauncherDeath,
    signals: SignalFd,
    node: Node,
    role: CoordinatorRole,
    /// How often the launcher or a signal has asked for the end.
    asked: u32,
    over: bool,
    /// Whether the run's note is there, by which others reach its keepers.
    has_note: bool,
    warden_watch: WardenWatch,
}

/// What a wait brought.
struct Wake {
    warden_died: bool,
    control: bool,
    role: bool,
}

impl EventLoop {
    fn new(
        bundle: NodeBundle,
        control: &UnixStream,
        inbox: Inbox,
        Warden { process: warden, lease }: Warden,
        on_launcher_death: LauncherDeath,
    ) -> io::Result<Self> {
        allow_files_for(&bundle);
        // The warden blocked these before it forked; from here they are read, never delivered.
        let mut mask = SigSet::thread_get_mask()?;
        FOR_RANKS.into_iter().chain([FILE_TOO_LARGE]).for_each(|signal| mask.remove(signal));
        mask.add(STACKS_ASKED);
        mask.thread_block()?;
        Ok(Self {
            node: Node { events: EventSink::new(&bundle, control)?, executor: Executor::new(bundle)?, lease },
            control: None,
            inbox,
            warden,
            on_launcher_death,
            signals: SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?,
            role: CoordinatorRole::None,
            asked: 0,
            over: false,
            has_note: false,
            warden_watch: WardenWatch::new(),
        })
    }

    /// Takes the port and lets the coordinator begin; or says why the run cannot begin, and answers false.
    fn begin(&mut self) -> io::Result<bool> {
        let bundle = self.node.bundle();
        if let Some(lease) = bundle.server_lease {
            self.node.lease.hold_from_server(lease);
        }
        if bundle.gathering.coordinates {
            match port::lease(bundle.master_port) {
                Ok(lease) => self.role = CoordinatorRole::Here(Box::new(CoordinatorDriver::new(bundle, lease)?)),
                Err(LeaseError::Taken { port, by_run: true, .. }) if bundle.may_follow() => {
                    self.node.executor.bundle.follow(port);
                    self.role = CoordinatorRole::Elsewhere(Box::new(FollowerNode::new(&self.node)?));
                }
                Err(error) => {
                    let error = if bundle.others_come() { error.agreed() } else { error };
                    let hint = error.hint().unwrap_or_else(|| error.text().into());
                    let (settings, hint) = (hint.settings(), hint.spelled(FrontEnd::CommandLine));
                    self.node.record(RunEvent::Refused { message: error.text(), hint, settings });
                    return Ok(false);
                }
            }
        } else {
            self.role = CoordinatorRole::Elsewhere(Box::new(FollowerNode::new(&self.node)?));
        }
        self.leave_note();
        let bundle = self.node.bundle();
        let started = RunEvent::RunStarted {
            run_id: bundle.run_id.clone(),
            world_size: bundle.own_position().world_size,
            folder: bundle.run_folder.clone(),
            warden_pid: self.warden.pid(),
            supervisor_pid: nix::unistd::getpid().as_raw(),
            master_port: match &self.role {
                CoordinatorRole::Here(driver) => Some(driver.port()),
                CoordinatorRole::Elsewhere(_) | CoordinatorRole::None => None,
            },
        };
        self.node.record(started);
        if let CoordinatorRole::Here(driver) = &mut self.role {
            driver.begin(&mut self.node);
        }
        Ok(true)
    }

    /// Without the note the run is held by its keepers alone, and an agent cannot tell them anything: it is tried again.
    fn leave_note(&mut self) {
        self.has_note = self.node.executor.leave_note(self.warden.pid()).is_ok();
    }

    fn run(&mut self) {
        // An order that came together with the launch is in the inbox already, where no wait would notice it.
        self.obey_orders();
        while !self.is_over() {
            let wake = self.wait();
            if wake.warden_died {
                self.end_at_once();
                return;
            }
            self.read_signals();
            if wake.control {
                self.node.events.flush();
                self.read_control();
            }
            let stopped = [self.warden_watch.look(&self.warden), self.warden_watch.hear(&self.node.lease)];
            for event in stopped.into_iter().flatten() {
                self.node.record(event);
            }
            self.node.events.retry();
            if !self.has_note {
                self.leave_note();
            }
            match &mut self.role {
                CoordinatorRole::Here(driver) => driver.turn(wake.role, &mut self.node),
                CoordinatorRole::Elsewhere(follower) => follower.turn(wake.role, &mut self.node),
                CoordinatorRole::None => return,
            }
        }
    }

    /// Says and shows what is left, and leaves nothing behind.
    fn finish(&mut self) {
        if let CoordinatorRole::Here(driver) = &mut self.role {
            driver.finish();
        }
        self.let_terminal_finish();
        self.node.executor.give_up_terminal(&mut self.node.events);
        self.node.events.finish();
        self.node.executor.clean_up();
        // One that a signal has stopped would not see our end, and hold the run for ever.
        let _ = self.warden.signal(libc::SIGCONT);
    }

    /// Waits for the terminal to take the last lines: as long as it takes any, or up to a point of time when the run was
    /// stopped on purpose. A request to end meanwhile ends the wait.
    fn let_terminal_finish(&mut self) {
        let is_stopped = self.asked > 0 || self.node.events.ends_by_stop();
        let until = is_stopped.then(|| Instant::now() + LAST_LINES_WHEN_ASKED);
        let asked_before = self.asked;
        while self.asked == asked_before
            && !self.is_abandoned()
            && until.is_none_or(|until| Instant::now() < until)
            && self.node.executor.terminal_stuck_for().is_some_and(|stuck| stuck < LAST_LINES)
        {
            let control = self.control.as_ref().map(AsFd::as_fd);
            let mut fds: Vec<PollFd<'_>> = [self.warden.as_fd(), self.signals.as_fd()]
                .into_iter()
                .chain(control)
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
                .collect();
            // An interrupted wait is a wait that ended early.
            let _ = poll(&mut fds, PollTimeout::try_from(LOOK_EVERY.as_millis()).unwrap_or(PollTimeout::ZERO));
            let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
            let (warden_died, has_orders) = (ready(0), ready(2));
            if warden_died {
                return;
            }
            self.read_signals();
            if has_orders {
                self.read_control();
            }
        }
    }

    /// Whether the launcher is gone, and nothing is left that would see the end.
    fn is_abandoned(&self) -> bool {
        self.over || (self.control.is_none() && self.on_launcher_death == LauncherDeath::EndsRun)
    }

    fn is_over(&self) -> bool {
        self.over
            || match &self.role {
                CoordinatorRole::Here(driver) => driver.is_over(),
                CoordinatorRole::Elsewhere(follower) => follower.is_over(),
                CoordinatorRole::None => true,
            }
    }

    fn wait(&self) -> Wake {
        let (role, role_waits) = match &self.role {
            CoordinatorRole::Here(driver) => (Some(driver.as_fd()), false),
            CoordinatorRole::Elsewhere(follower) => (follower.as_fd(), follower.has_waiting()),
            CoordinatorRole::None => (None, false),
        };
        let control = self.control.as_ref().map(AsFd::as_fd);
        let role_at = 2 + usize::from(control.is_some());
        let executor = &self.node.executor;
        let mut fds: Vec<PollFd<'_>> = [(self.warden.as_fd(), false), (self.signals.as_fd(), false)]
            .into_iter()
            .chain(control.map(|fd| (fd, self.node.events.has_waiting())))
            .chain(role.map(|fd| (fd, role_waits)))
            .chain([(executor.terminal_fd(), false), (executor.checkpoints_fd(), false)])
            .chain(executor.rank_fds().map(|fd| (fd, false)))
            .map(|(fd, has_waiting)| PollFd::new(fd, flags(has_waiting)))
            .collect();
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, self.patience());
        let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
        Wake { warden_died: ready(0), control: control.is_some() && ready(2), role: role.is_some() && ready(role_at) }
    }

    fn patience(&self) -> PollTimeout {
        let wake_in = match &self.role {
            CoordinatorRole::Here(driver) => driver.wake_in(),
            CoordinatorRole::Elsewhere(follower) => follower.wake_in(),
            CoordinatorRole::None => Some(Duration::ZERO),
        };
        let note = (!self.has_note).then_some(TRY_NOTE_EVERY);
        let warden = Some(warden_watch::LOOK_EVERY);
        let others = [self.node.executor.wake_in(), self.node.events.wake_in(), note, warden];
        let wake_in = wake_in.into_iter().chain(others.into_iter().flatten()).min();
        wake_in.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::MAX))
    }

    fn read_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            if info.ssi_signo == STACKS_ASKED as u32 {
                self.node.executor.take_stacks(&mut self.node.events);
                continue;
            }
            self.stop_asked(i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM));
        }
    }

    fn stop_asked(&mut self, signal: i32) {
        self.asked += 1;
        match &mut self.role {
            CoordinatorRole::Here(driver) => driver.stop_asked(signal, &mut self.node),
            CoordinatorRole::Elsewhere(follower) => follower.stop_asked(signal, &mut self.node),
            CoordinatorRole::None => {}
        }
    }

    fn kill_asked(&mut self) {
        self.asked += 1;
        match &mut self.role {
            CoordinatorRole::Here(driver) => driver.kill_asked(&mut self.node),
            CoordinatorRole::Elsewhere(follower) => follower.kill_asked(&mut self.node),
            CoordinatorRole::None => {}
        }
    }

    fn read_control(&mut self) {
        let Some(control) = &mut self.control else { return };
        let reading = self.inbox.fill(control).unwrap_or(Reading::Closed);
        self.obey_orders();
        if reading == Reading::Closed {
            self.control = None;
            if self.on_launcher_death == LauncherDeath::EndsRun && !self.is_over() {
                self.end_at_once();
            }
        }
    }

    fn obey_orders(&mut self) {
        while let Ok(Some(order)) = self.inbox.take::<SupervisorOrder>() {
            match order {
                SupervisorOrder::Stop { signal } => self.stop_asked(signal),
                SupervisorOrder::Kill => self.kill_asked(),
                SupervisorOrder::Input(bytes) => self.node.executor.input(&bytes),
                SupervisorOrder::InputEnded => self.node.executor.input_ended(),
                SupervisorOrder::Resize(size) => self.node.executor.resize(size),
                // There is one launch per life.
                SupervisorOrder::Launch(_) => {}
            }
        }
    }

    /// A keeper of ours is dead: nothing stays.
    fn end_at_once(&mut self) {
        self.over = true;
        match &mut self.role {
            CoordinatorRole::Elsewhere(follower) => follower.end_at_once(&mut self.node),
            CoordinatorRole::Here(_) | CoordinatorRole::None => self.node.end_at_once(),
        };
    }
}

/// What a descriptor is watched for.
fn flags(has_waiting: bool) -> PollFlags {
    if has_waiting { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN }
}

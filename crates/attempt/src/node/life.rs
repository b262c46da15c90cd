//! The life of a supervisor, from its first order to its last word.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fermi_process::descriptors;
use fermi_process::journal::Journal;
use fermi_process::pidfd::PidFd;
use fermi_process::warden::{FOR_RANKS, LauncherDeath};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::chief::Chief;
use super::hands::Hands;
use super::member::Membership;
use super::teller::Teller;
use crate::bundle::NodeBundle;
use crate::frame::{Inbox, Order, Reading};
use crate::port;
use fermi_domain::event::RunEvent;
use fermi_domain::language::{Explained, FrontEnd};
use fermi_domain::launch::Serves;

/// A terminal that takes nothing for so long gets no more when the run is over; one that goes on reading gets everything.
const LAST_LINES: Duration = Duration::from_secs(5);
/// The same when somebody has asked for the end.
const LAST_LINES_WHEN_ASKED: Duration = Duration::from_secs(1);
/// How often it is looked whether the terminal has everything.
const LOOK_EVERY: Duration = Duration::from_millis(10);

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
    let mut life = Life::new(bundle, control, inbox, warden, on_launcher_death).map_err(LifeError::Machine)?;
    if life.begin().map_err(LifeError::Machine)? {
        life.live();
    }
    life.let_terminal_finish();
    life.hands.give_up_terminal(&mut life.teller);
    life.teller.finish();
    life.hands.clean_up();
    Ok(())
}

/// A link to each node and the streams of each rank may be more than the usual 1,024 files. Ranks inherit the limit, so
/// it is raised only where it must be.
fn allow_files_for(bundle: &NodeBundle) {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let guests = match bundle.serves {
        Serves::Nothing => 0,
        // Ranks come and go there, at times many at once.
        Serves::HorovodRendezvous => 512,
    };
    let needed = 64 + guests + 2 * u64::from(bundle.gathering.nodes) + 8 * bundle.ranks.len() as u64;
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
        match inbox.take::<Order>()? {
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

/// Who decides for this node.
#[derive(Debug)]
enum Lead {
    Here(Box<Chief>),
    Elsewhere(Membership),
    /// Not yet, or not any more.
    Nobody,
}

struct Life {
    control: Option<UnixStream>,
    inbox: Inbox,
    warden: PidFd,
    on_launcher_death: LauncherDeath,
    signals: SignalFd,
    hands: Hands,
    teller: Teller,
    lead: Lead,
    /// How often somebody has asked for the end.
    asked: u32,
    over: bool,
}

/// What a wait brought.
struct Wake {
    warden_died: bool,
    control: bool,
    lead: bool,
}

impl Life {
    fn new(
        bundle: NodeBundle,
        control: UnixStream,
        inbox: Inbox,
        warden: PidFd,
        on_launcher_death: LauncherDeath,
    ) -> io::Result<Self> {
        allow_files_for(&bundle);
        // The warden blocked these before it forked; from here they are read, never delivered.
        let mut mask = SigSet::thread_get_mask()?;
        FOR_RANKS.into_iter().for_each(|signal| mask.remove(signal));
        let journal = match &bundle.run_folder {
            Some(folder) => Journal::create(folder)?,
            None => Journal::none(),
        };
        Ok(Self {
            teller: Teller::new(journal, &control)?,
            control: Some(control),
            inbox,
            warden,
            on_launcher_death,
            signals: SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?,
            hands: Hands::new(bundle)?,
            lead: Lead::Nobody,
            asked: 0,
            over: false,
        })
    }

    /// Takes the port and lets the lead begin; or says why the run cannot begin, and answers false.
    fn begin(&mut self) -> io::Result<bool> {
        let bundle = &self.hands.bundle;
        if bundle.gathering.coordinates {
            match port::lease(bundle.master_port) {
                Ok(lease) => self.lead = Lead::Here(Box::new(Chief::new(bundle, lease)?)),
                Err(error) => {
                    let hint = error.hint().unwrap_or_else(|| error.text().into()).spelled(FrontEnd::CommandLine);
                    self.teller.tell(RunEvent::Refused { message: error.text(), hint });
                    return Ok(false);
                }
            }
        } else {
            self.lead = Lead::Elsewhere(Membership::new(&self.hands)?);
        }
        self.hands.leave_note(self.warden.pid());
        self.teller.tell(RunEvent::RunStarted {
            run_id: self.hands.bundle.run_id.clone(),
            world_size: self.hands.bundle.own_placement().world_size,
            folder: self.hands.bundle.run_folder.clone(),
            warden_pid: self.warden.pid(),
            supervisor_pid: nix::unistd::getpid().as_raw(),
            master_port: match &self.lead {
                Lead::Here(chief) => Some(chief.port()),
                Lead::Elsewhere(_) | Lead::Nobody => None,
            },
        });
        if let Lead::Here(chief) = &mut self.lead {
            chief.begin(&mut self.hands, &mut self.teller);
        }
        Ok(true)
    }

    fn live(&mut self) {
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
                self.read_control();
            }
            match &mut self.lead {
                Lead::Here(chief) => chief.turn(wake.lead, &mut self.hands, &mut self.teller),
                Lead::Elsewhere(member) => member.turn(wake.lead, &mut self.hands, &mut self.teller),
                Lead::Nobody => return,
            }
        }
    }

    /// Waits for the terminal to take the last lines, as long as it takes any; whoever asks for the end is not made to wait.
    fn let_terminal_finish(&mut self) {
        let patience = if self.asked == 0 { LAST_LINES } else { LAST_LINES_WHEN_ASKED };
        let asked_before = self.asked;
        while self.asked == asked_before
            && !self.is_abandoned()
            && self.hands.terminal_stuck_for().is_some_and(|stuck| stuck < patience)
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

    /// Whether those who would see the end are gone.
    fn is_abandoned(&self) -> bool {
        self.over || (self.control.is_none() && self.on_launcher_death == LauncherDeath::EndsRun)
    }

    fn is_over(&self) -> bool {
        self.over
            || match &self.lead {
                Lead::Here(chief) => chief.is_over(),
                Lead::Elsewhere(member) => member.is_over(),
                Lead::Nobody => true,
            }
    }

    fn wait(&self) -> Wake {
        let lead = match &self.lead {
            Lead::Here(chief) => Some(chief.as_fd()),
            Lead::Elsewhere(member) => member.as_fd(),
            Lead::Nobody => None,
        };
        let control = self.control.as_ref().map(AsFd::as_fd);
        let lead_at = 2 + usize::from(control.is_some());
        let mut fds: Vec<PollFd<'_>> = [self.warden.as_fd(), self.signals.as_fd()]
            .into_iter()
            .chain(control)
            .chain(lead)
            .chain([self.hands.terminal_fd()])
            .chain(self.hands.rank_fds())
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, self.patience());
        let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
        Wake { warden_died: ready(0), control: control.is_some() && ready(2), lead: lead.is_some() && ready(lead_at) }
    }

    fn patience(&self) -> PollTimeout {
        let wake_in = match &self.lead {
            Lead::Here(chief) => chief.wake_in(),
            Lead::Elsewhere(member) => member.wake_in(),
            Lead::Nobody => Some(Duration::ZERO),
        };
        wake_in.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::MAX))
    }

    fn read_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            self.stop_asked(i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM));
        }
    }

    fn stop_asked(&mut self, signal: i32) {
        self.asked += 1;
        match &mut self.lead {
            Lead::Here(chief) => chief.stop_asked(signal, &mut self.hands, &mut self.teller),
            Lead::Elsewhere(member) => member.stop_asked(signal, &mut self.teller),
            Lead::Nobody => {}
        }
    }

    fn kill_asked(&mut self) {
        self.asked += 1;
        match &mut self.lead {
            Lead::Here(chief) => chief.kill_asked(&mut self.hands, &mut self.teller),
            Lead::Elsewhere(member) => member.kill_asked(&mut self.hands, &mut self.teller),
            Lead::Nobody => {}
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
        while let Ok(Some(order)) = self.inbox.take::<Order>() {
            match order {
                Order::Stop { signal } => self.stop_asked(signal),
                Order::Kill => self.kill_asked(),
                Order::Input(bytes) => self.hands.input(&bytes),
                Order::InputEnded => self.hands.input_ended(),
                Order::Resize(size) => self.hands.resize(size),
                // There is one launch per life.
                Order::Launch(_) => {}
            }
        }
    }

    /// A keeper of ours is dead: nothing stays.
    fn end_at_once(&mut self) {
        self.over = true;
        self.hands.end_at_once(&mut self.teller);
    }
}

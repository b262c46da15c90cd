//! The launcher's side: starts warden and supervisor, sends orders, hears events, and makes sure that nothing is left.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use fermi_process::sweep;
use fermi_process::warden::{self, LauncherDeath};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use crate::bundle::NodeBundle;
use crate::event::Record;
use crate::frame::{self, Inbox, Order, Reading};
use crate::node;

/// The hidden command by which the binary becomes warden and supervisor.
pub const SUPERVISE: &str = "supervise";

/// A run that was launched from here.
#[derive(Debug)]
pub struct Launch {
    child: Child,
    control: UnixStream,
    inbox: Inbox,
}

/// Where the standard output of ranks appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    Stdout,
    /// The launcher needs its own stdout for something else.
    Stderr,
}

/// What listening brought.
#[derive(Debug)]
pub enum Heard {
    Records(Vec<Record>),
    /// The supervisor is gone; these were its last words.
    Gone(Vec<Record>),
}

/// Keepers that are coming up and wait for their launch order. Dropped, they end by themselves.
#[derive(Debug)]
pub struct Keepers {
    child: Child,
    control: UnixStream,
}

impl Keepers {
    /// Starts the keepers. They need a few milliseconds, in which the launcher can make ready what they will use.
    pub fn call(run_id: &str, stdout: Stdout) -> io::Result<Self> {
        // Should both keepers die at once, what they held comes back to us.
        sweep::become_subreaper()?;
        let (control, theirs) = UnixStream::pair()?;
        // Inherited on purpose. There is nothing to run between fork and exec then, which spares us a copy of our memory.
        fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("fermi").args([SUPERVISE, run_id, &theirs.as_raw_fd().to_string()]);
        if stdout == Stdout::Stderr {
            command.stdout(io::stderr().as_fd().try_clone_to_owned()?);
        }
        Ok(Self { child: command.spawn()?, control })
    }

    /// Hands them the bundle.
    pub fn launch(mut self, bundle: NodeBundle) -> io::Result<Launch> {
        frame::write(&mut self.control, &Order::Launch(Box::new(bundle)))?;
        Ok(Launch { child: self.child, control: self.control, inbox: Inbox::default() })
    }
}

impl Launch {
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Gives an order. A supervisor that cannot hear it any more is noticed by [`Launch::listen`].
    pub fn order(&mut self, order: &Order) {
        let _ = frame::write(&mut self.control, order);
    }

    /// Reads what has come; blocks until something has.
    pub fn listen(&mut self) -> io::Result<Heard> {
        let reading = self.inbox.fill(&mut self.control)?;
        let mut records = Vec::new();
        while let Some(record) = self.inbox.take()? {
            records.push(record);
        }
        Ok(match reading {
            Reading::Open => Heard::Records(records),
            Reading::Closed => Heard::Gone(records),
        })
    }

    /// Waits for the keepers' end and ends whatever they may have left.
    pub fn finish(mut self) -> sweep::Swept {
        // The warden ends by itself once the supervisor is gone and everything below is swept.
        let _ = self.child.wait();
        sweep::end_descendants(|_, _| {})
    }
}

/// The body of the hidden command: this process becomes the warden, its child the supervisor. The socket to the launcher
/// is the descriptor with this number.
pub fn supervise(on_launcher_death: LauncherDeath, control: RawFd) -> io::Result<()> {
    // Ranks must not inherit it; and were it not open, we were not started by a launcher.
    // SAFETY: flags of a descriptor by its number.
    if unsafe { libc::fcntl(control, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let keeper = warden::enter(on_launcher_death, &[control])?;
    // SAFETY: the launcher left the socket open for us; nobody else here knows the number.
    let control = unsafe { UnixStream::from_raw_fd(control) };
    node::run(control, keeper, on_launcher_death).map_err(io::Error::other)
}

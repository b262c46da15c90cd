//! The launcher's side: starts warden and supervisor, sends orders, hears events, and makes sure that nothing is left.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use fermi_process::warden::{self, LauncherDeath};
use fermi_process::{last_word, lease, no_dump, sweep};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

use crate::bundle::NodeBundle;
use crate::frame::{self, Inbox, Reading, SupervisorOrder};
use crate::node::{self, SupervisorError};
use fermi_domain::event::Record;
use fermi_domain::exit::Exit;
use fermi_domain::verdict::LeaseHolder;

/// The hidden command by which the binary becomes warden and supervisor.
pub const SUPERVISE: &str = "supervise";
/// The descriptor on which it finds its socket.
const CONTROL_FD: i32 = 3;
/// The descriptor of the lock that keepers hold which outlive their launcher.
const LOCK_FD: i32 = 4;
/// Says that the run goes on when the launcher dies.
const OUTLIVES: &str = "outlives-launcher";

/// A run that was launched from here.
#[derive(Debug)]
pub struct Launch {
    warden: Pid,
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
pub enum Received {
    Records(Vec<Record>),
    /// The supervisor is gone; these are its last records.
    Gone(Vec<Record>),
}

impl Launch {
    /// Starts the keepers and hands them the bundle.
    pub fn start(bundle: NodeBundle, stdout: Stdout) -> io::Result<Self> {
        // Should both keepers die at once, what they held comes back to us.
        sweep::become_subreaper()?;
        let (mut control, theirs) = UnixStream::pair()?;
        let warden = if is_single_threaded() {
            by_fork(&control, theirs, stdout, bundle)?
        } else {
            let warden = by_exec(&theirs, &bundle.run_id, stdout)?;
            frame::write(&mut control, &SupervisorOrder::Launch(Box::new(bundle)))?;
            warden
        };
        Ok(Self { warden, control, inbox: Inbox::default() })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Whether an order can be given without waiting: a supervisor that stands still takes none.
    pub fn has_room(&self) -> bool {
        let mut fds = [PollFd::new(self.as_fd(), PollFlags::POLLOUT)];
        matches!(poll(&mut fds, PollTimeout::ZERO), Ok(n) if n > 0)
    }

    /// Gives an order. A supervisor that cannot hear it any more is noticed by [`Launch::listen`].
    pub fn order(&mut self, order: &SupervisorOrder) {
        let _ = frame::write(&mut self.control, order);
    }

    /// Reads what has come; blocks until something has.
    pub fn listen(&mut self) -> io::Result<Received> {
        let reading = self.inbox.fill(&mut self.control)?;
        let mut records = Vec::new();
        while let Some(record) = self.inbox.take()? {
            records.push(record);
        }
        Ok(match reading {
            Reading::Some | Reading::Nothing => Received::Records(records),
            Reading::Closed => Received::Gone(records),
        })
    }

    /// Ends keepers that do not end by themselves, as when a signal has stopped the supervisor, and everything below them.
    pub fn end_by_force(self) {
        sweep::end_descendants(|_, _| {});
    }

    /// Waits for the keepers' end and ends whatever they may have left. The answer is whose lease ended the run, where one
    /// did.
    pub fn finish(self) -> Option<LeaseHolder> {
        // The warden ends by itself once the supervisor is gone and everything below is swept; one that a signal has stopped
        // would not.
        let _ = nix::sys::signal::kill(self.warden, nix::sys::signal::Signal::SIGCONT);
        let end = loop {
            match waitpid(self.warden, None) {
                Err(Errno::EINTR) => {}
                end => break end.ok().and_then(sweep::exit_of),
            }
        };
        sweep::end_descendants(|_, _| {});
        match end {
            Some((_, Exit::Code { code })) => lease::by_exit_code(code),
            _ => None,
        }
    }
}

/// Whether a fork leaves the child with whole memory: no other thread can hold a lock in it.
fn is_single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// The quick way: an exec costs more than all else in a start, most of it in the dynamic linker. The child is a copy of
/// this process, so that the bundle is there already.
fn by_fork(ours: &UnixStream, theirs: UnixStream, stdout: Stdout, bundle: NodeBundle) -> io::Result<Pid> {
    // SAFETY: there is one thread.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            // SAFETY: descriptors of this copy only. The launcher's end must be the launcher's alone, or its death would
            // not be heard; if the other call fails, the output stays where it was.
            unsafe {
                libc::close(ours.as_raw_fd());
                if stdout == Stdout::Stderr {
                    libc::dup2(2, 1);
                }
            }
            let lived = keep(theirs, LauncherDeath::EndsRun, None, Some(bundle));
            // SAFETY: nothing of the launcher, whose memory this is a copy of, may run at this end.
            unsafe { libc::_exit(i32::from(lived.is_err())) }
        }
    }
}

/// The way for a launcher with threads: the same binary, started anew.
fn by_exec(theirs: &UnixStream, run_id: &str, stdout: Stdout) -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("fermi").args([SUPERVISE, run_id]);
    let fd = theirs.as_raw_fd();
    // SAFETY: dup2 and fcntl only.
    unsafe {
        command.pre_exec(move || {
            if stdout == Stdout::Stderr && libc::dup2(2, 1) < 0 {
                return Err(io::Error::last_os_error());
            }
            // dup2 onto itself would leave the close-on-exec flag set.
            let done = if fd == CONTROL_FD { libc::fcntl(fd, libc::F_SETFD, 0) } else { libc::dup2(fd, CONTROL_FD) };
            if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    let child = command.spawn()?;
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// Starts keepers that do not need the caller: it may die at any moment, and the run goes on.
///
/// Both keepers hold `lock`, a file that the caller has locked, as long as they live: a process that gets the lock
/// knows that they are gone; the warden writes there if a lease ends the run. Variables named in `hidden` are not passed on.
pub fn launch_to_outlive(bundle: NodeBundle, lock: &File, hidden: &[OsString]) -> io::Result<()> {
    let (mut control, theirs) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("fermi").args([SUPERVISE, &bundle.run_id, OUTLIVES]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in hidden {
        command.env_remove(name);
    }
    let (control_fd, lock_fd) = (theirs.as_raw_fd(), lock.as_raw_fd());
    // SAFETY: fcntl and dup2 only.
    unsafe {
        command.pre_exec(move || {
            let high = |fd: i32| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
            let (control, lock) = (high(control_fd), high(lock_fd));
            let put = |from: i32, to: i32| from >= 0 && libc::dup2(from, to) == to;
            if put(control, CONTROL_FD) && put(lock, LOCK_FD) { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
    // The warden is reaped with all other children of this process.
    drop(command.spawn()?);
    drop(theirs);
    // The order waits in the socket; nothing more will be said on it.
    frame::write(&mut control, &SupervisorOrder::Launch(Box::new(bundle)))
}

/// The body of the hidden command, for a process that was started by exec with these words behind its name.
pub fn supervise(words: &[OsString]) -> io::Result<()> {
    let outlives = words.iter().any(|word| word == OUTLIVES);
    if outlives {
        // The bundle of an agent holds secrets of a task, and its ranks may run as the agent's own user.
        no_dump::set();
    }
    // SAFETY: the launcher put the socket there before it started us; nothing else uses the number.
    let control = unsafe { <UnixStream as std::os::fd::FromRawFd>::from_raw_fd(CONTROL_FD) };
    // SAFETY: flags of our own descriptors. Ranks must not inherit them.
    unsafe {
        libc::fcntl(CONTROL_FD, libc::F_SETFD, libc::FD_CLOEXEC);
        if outlives {
            libc::fcntl(LOCK_FD, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    match outlives {
        true => keep(control, LauncherDeath::RunGoesOn, Some(LOCK_FD), None),
        false => keep(control, LauncherDeath::EndsRun, None, None),
    }
}

/// This process becomes the warden, its child the supervisor, which lives here. Without a bundle it comes as an order.
fn keep(
    control: UnixStream,
    on_launcher_death: LauncherDeath,
    last_word: Option<i32>,
    bundle: Option<NodeBundle>,
) -> io::Result<()> {
    // Who is not there to hear it finds it beside the lock.
    let leave_word = |error: &io::Error| {
        if let Some(file) = last_word {
            last_word::leave_not_started(file, &node::why_not_started(error));
        }
    };
    let warden = warden::enter(on_launcher_death, &[control.as_raw_fd()], last_word)
        .inspect_err(|error| node::tell_not_started(&control, error))
        .inspect_err(leave_word)?;
    let ran = node::run(control, warden, on_launcher_death, bundle);
    if let Err(SupervisorError::Machine(error)) = &ran {
        leave_word(error);
    }
    ran.map_err(io::Error::other)
}

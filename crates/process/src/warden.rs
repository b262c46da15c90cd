//! The warden: a process above the supervisor that does nothing but outlive it.
//!
//! `enter` forks while there is still one thread only. The parent becomes the warden and never returns; the child, which
//! returns, is the supervisor. Either ends all processes of the run on this node when the other dies. The
//! warden also does so when a [`Lease`] ends, and lets a supervisor go on that a signal has stopped.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use fermi_domain::exit::Exit;
use fermi_domain::verdict::LeaseHolder;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid, setsid};

use crate::last_word::LastWord;
use crate::lease::{self, Lease, SERVER_HEARD, boot_ms};
use crate::pidfd::PidFd;
use crate::sweep;

/// What the run does when the process that launched it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherDeath {
    /// `fermi run`: the run ends with it.
    EndsRun,
    /// An agent: the run goes on and is adopted by the next one.
    RunGoesOn,
}

/// Signals whose meaning is the training script's; the keepers outlive them.
pub const FOR_RANKS: [Signal; 2] = [Signal::SIGUSR1, Signal::SIGUSR2];
/// Sent to who writes beyond the limit of a file's size (`ulimit -f`). Where it is blocked the write fails, as on a full disk.
pub const FILE_TOO_LARGE: Signal = Signal::SIGXFSZ;

/// How long the supervisor has to end the run in order after the launcher's death, before the warden does it by force.
const ORDERLY: Duration = Duration::from_millis(150);
/// How often a lease is looked at: a wait does not count the time during which the machine sleeps.
const LOOK_AT_LEASE_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether the supervisor stands still. Who stops every process of a job, as Slurm does to suspend it,
/// stops this one too before it looks.
const LOOK_AT_SUPERVISOR_EVERY: Duration = Duration::from_secs(2);

/// What the supervisor has of its warden.
#[derive(Debug)]
pub struct Warden {
    pub process: PidFd,
    pub lease: Lease,
}

/// Splits this process in two; returns in the supervisor only, with a handle on the warden.
///
/// Must be called while the process has a single thread. Descriptors in `supervisors_own` are closed in the warden, so
/// that their other ends see when the supervisor dies. A warden that ends its run for a lease says so by its exit code;
/// for those who are not its parent it leaves a [`LastWord`] in the file `last_word`, open for appending.
pub fn enter(on_launcher_death: LauncherDeath, supervisors_own: &[i32], last_word: Option<i32>) -> io::Result<Warden> {
    let launcher = match on_launcher_death {
        LauncherDeath::EndsRun => Some(PidFd::open(getppid().as_raw())?),
        LauncherDeath::RunGoesOn => None,
    };
    // A session of our own: the terminal's signals go to the launcher, which passes on what is meant.
    setsid().map_err(io::Error::from)?;
    sweep::become_subreaper()?;
    let handled = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
    let mask: SigSet = handled.into_iter().collect();
    // Slurm sends a signal to every process of a step, and one that is meant for the ranks must not end their keepers.
    let blocked: SigSet = handled.into_iter().chain(FOR_RANKS).chain([FILE_TOO_LARGE]).collect();
    // Set, not added to: what the launcher had blocked is its own affair.
    blocked.thread_set_mask().map_err(io::Error::from)?;

    let lease = Lease::new()?;
    let warden = nix::unistd::getpid();
    // SAFETY: there is one thread, so the child's memory is whole.
    match unsafe { fork() }.map_err(io::Error::from)? {
        ForkResult::Parent { child } => {
            for fd in supervisors_own {
                // SAFETY: the caller gives these descriptors up in this process.
                unsafe { libc::close(*fd) };
            }
            let code = match keep_watch(child, launcher, mask, &lease) {
                // Nothing of the run is left: a disk that does not answer holds up nobody but the next to ask.
                WardenEnd::WithSupervisor { code } => {
                    if code == 0 {
                        leave_word(LastWord::InOrder, last_word);
                    }
                    code
                }
                WardenEnd::ByLease(holder) => {
                    leave_word(LastWord::LeaseEnded(holder), last_word);
                    lease::exit_code(holder)
                }
            };
            // SAFETY: this process may be a copy of a launcher, none of whose ends may run here.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Child => {
            be_called(c"fermi-super");
            sweep::become_subreaper()?;
            let process = PidFd::open(warden.as_raw())?;
            if getppid() != warden {
                return Err(io::Error::other("the warden died while the supervisor was starting"));
            }
            Ok(Warden { process, lease })
        }
    }
}

/// What `ps` and `top` show beside the command line, which may be the launcher's.
fn be_called(name: &std::ffi::CStr) {
    // A name is for people; without it all works the same.
    let _ = nix::sys::prctl::set_name(name);
}

/// Why a warden has ended, with everything below it.
enum WardenEnd {
    /// The supervisor is gone, and ended with this code.
    WithSupervisor { code: i32 },
    /// This lease is over.
    ByLease(LeaseHolder),
}

/// Tells those who cannot wait for this process why it ended.
fn leave_word(word: LastWord, file: Option<i32>) {
    let Some(file) = file else { return };
    let word = word.text().as_bytes();
    // SAFETY: the caller of [`enter`] keeps this descriptor open. Without room the end goes unexplained.
    unsafe { libc::write(file, word.as_ptr().cast(), word.len()) };
}

/// The whole life of a warden.
fn keep_watch(supervisor: Pid, launcher: Option<PidFd>, mut mask: SigSet, lease: &Lease) -> WardenEnd {
    be_called(c"fermi-warden");
    mask.add(SERVER_HEARD);
    // Where this fails the signal is ignored, and the lease ends as if nothing were heard.
    let _ = mask.thread_block();
    release_streams();
    let Ok(handle) = PidFd::open(supervisor.as_raw()) else {
        sweep::end_descendants(|_, _| {});
        return WardenEnd::WithSupervisor { code: 1 };
    };
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).ok();
    let mut forced_at: Option<Instant> = None;
    let mut looked = Instant::now();
    loop {
        let mut fds =
            vec![PollFd::new(handle.as_fd(), PollFlags::POLLIN), PollFd::new(lease.bell(), PollFlags::POLLIN)];
        if let Some(signals) = &signals {
            fds.push(PollFd::new(signals.as_fd(), PollFlags::POLLIN));
        }
        let watching_launcher = launcher.as_ref().filter(|_| forced_at.is_none());
        if let Some(launcher) = watching_launcher {
            fds.push(PollFd::new(launcher.as_fd(), PollFlags::POLLIN));
        }
        let lease_left = lease.until().map(|until| Duration::from_millis(until.saturating_sub(boot_ms())));
        let left = [
            forced_at.map(|at| at.saturating_duration_since(Instant::now())),
            lease_left.map(|left| left.min(LOOK_AT_LEASE_EVERY)),
        ]
        .into_iter()
        .flatten()
        .fold(LOOK_AT_SUPERVISOR_EVERY.saturating_sub(looked.elapsed()), Duration::min);
        let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::ZERO);
        let ready = poll(&mut fds, timeout);
        let is_ready = |index: usize| fds.get(index).and_then(|fd| fd.any()).unwrap_or(false);
        if matches!(ready, Ok(n) if n > 0) {
            if is_ready(0) {
                break;
            }
            if watching_launcher.is_some() && is_ready(fds.len() - 1) {
                forced_at = Some(Instant::now() + ORDERLY);
            }
            drop(fds);
            lease.hush();
            take_signals(signals.as_ref(), &handle, lease);
        }
        let is_forced = forced_at.is_some_and(|at| Instant::now() >= at);
        if let Some(holder) = lease.ended(boot_ms()).filter(|_| !is_forced) {
            finish(supervisor, &handle);
            return WardenEnd::ByLease(holder);
        }
        if is_forced {
            break;
        }
        // Its lease has not ended: what it does when it goes on is in time.
        if looked.elapsed() >= LOOK_AT_SUPERVISOR_EVERY {
            looked = Instant::now();
            if is_stopped(supervisor) {
                lease.tell_woken();
                // One that is gone shows in the next poll.
                let _ = handle.signal(libc::SIGCONT);
            }
        }
    }
    WardenEnd::WithSupervisor { code: finish(supervisor, &handle) }
}

/// Whether a signal has stopped a child. The kernel says so without a look at any file.
fn is_stopped(child: Pid) -> bool {
    let asked = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    matches!(waitid(Id::Pid(child), asked), Ok(WaitStatus::Stopped(..)))
}

/// A signal to the warden is meant for the run, but for the one that is meant for its lease.
fn take_signals(signals: Option<&SignalFd>, supervisor: &PidFd, lease: &Lease) {
    while let Some(Ok(Some(info))) = signals.map(SignalFd::read_signal) {
        let signal = i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM);
        if signal == SERVER_HEARD as i32 {
            lease.server_heard();
            continue;
        }
        // The supervisor that cannot be signalled is dead, which the next poll shows.
        let _ = supervisor.signal(signal);
    }
}

/// Ends whatever the supervisor left, or could not end in time.
fn finish(supervisor: Pid, handle: &PidFd) -> i32 {
    let _ = handle.signal(libc::SIGKILL);
    let end = waitpid(supervisor, None).ok().and_then(sweep::exit_of);
    sweep::end_descendants(|_, _| {});
    match end {
        Some((_, Exit::Code { code })) => code,
        Some((_, Exit::Signal { signal, .. })) => 128 + signal,
        _ => 1,
    }
}

/// The warden writes and reads nothing: the other end of a pipe shall see it close with the supervisor.
fn release_streams() {
    let Ok(null) = File::options().read(true).write(true).open("/dev/null") else { return };
    for stream in 0..=2 {
        // SAFETY: replaces our own standard streams.
        unsafe { libc::dup2(null.as_raw_fd(), stream) };
    }
}

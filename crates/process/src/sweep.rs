//! Ends every process below this one, however often it forked and whatever signals it ignores.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fermi_domain::exit::Exit;
use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::pidfd::PidFd;
use crate::procfs::{self, Stat};
use crate::spent;

/// How long processes that do not even obey SIGKILL (uninterruptible sleep on a dead disk or driver) are waited for.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// How many processes got SIGKILL.
    pub killed: usize,
    /// Those that would not die in time.
    pub survivors: Vec<i32>,
    /// Spent ones that are left to the kernel.
    pub freeing: Vec<i32>,
}

/// Makes this process the one to which orphans below it return.
pub fn become_subreaper() -> io::Result<()> {
    nix::sys::prctl::set_child_subreaper(true).map_err(io::Error::from)
}

/// Kills and reaps all descendants of this process until none is left.
///
/// Orphans come to us only after their parent has died, so one pass never suffices: look again until there is nothing to
/// see and nothing to wait for. `reaped` hears of every direct child that was collected.
pub fn end_descendants(reaped: impl FnMut(i32, Exit)) -> Swept {
    end_descendants_until(&[], |_| false, reaped)
}

/// The same, but for these children and what is below them; and as soon as none is left but spent ones of which `may_be_left` holds, it is over: see [`spent`].
pub fn end_descendants_until(
    spared: &[i32],
    mut may_be_left: impl FnMut(&[i32]) -> bool,
    mut reaped: impl FnMut(i32, Exit),
) -> Swept {
    let me = nix::unistd::getpid().as_raw();
    let deadline = Instant::now() + PATIENCE;
    let mut swept = Swept::default();
    // One that takes its time to die is killed again, and counted once.
    let mut killed = HashSet::new();
    let mut pause = Duration::from_micros(200);
    loop {
        if reap(&mut reaped) || procfs::has_only_children(spared) {
            return swept;
        }
        if !spared.is_empty()
            && let Some(below) = procfs::listed_below_but(spared)
            && below.iter().all(|pid| spent::is_spent(*pid))
            // One that has made a child and ended in between hides it until its end is told. Spent ones make none.
            && procfs::listed_below_but(spared).is_some_and(|now| now.iter().all(|pid| below.contains(pid)))
            && may_be_left(&below)
        {
            return Swept { freeing: below, ..swept };
        }
        let below = procfs::descendants_but(me, spared);
        if below.is_empty() && !spared.is_empty() {
            return swept;
        }
        let (spent, running): (Vec<Stat>, Vec<Stat>) = below.into_iter().partition(|stat| spent::is_spent(stat.pid));
        // To those that are spent a signal does nothing, and to one that only seemed so it is the end.
        for stat in &spent {
            kill(stat);
        }
        killed.extend(running.iter().filter(|stat| kill(stat)).map(|stat| (stat.pid, stat.started)));
        swept.killed = killed.len();
        if Instant::now() > deadline {
            let uncollected = spent.iter().filter(|stat| !stat.is_zombie());
            swept.survivors = running.iter().chain(uncollected).map(|stat| stat.pid).collect();
            return swept;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Collects the dead children; true when there is no child left, dead or alive.
pub fn reap(reaped: &mut impl FnMut(i32, Exit)) -> bool {
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return false,
            Ok(status) => {
                if let Some((pid, exit)) = exit_of(status) {
                    reaped(pid, exit);
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return true,
        }
    }
}

/// Translates the kernel's word on a dead child.
pub fn exit_of(status: WaitStatus) -> Option<(i32, Exit)> {
    match status {
        WaitStatus::Exited(pid, code) => Some((pid.as_raw(), Exit::Code { code })),
        WaitStatus::Signaled(pid, signal, core_dumped) => {
            Some((pid.as_raw(), Exit::Signal { signal: signal as i32, core_dumped }))
        }
        _ => None,
    }
}

/// Kills just the process that was seen, not one that has taken its number since.
pub fn kill(seen: &Stat) -> bool {
    let Ok(handle) = PidFd::open(seen.pid) else { return false };
    let same = procfs::stat(seen.pid).is_ok_and(|now| now.started == seen.started);
    same && handle.signal(libc::SIGKILL).is_ok()
}

/// Waits until a process is gone, at most so long; true when it is.
pub fn wait_gone(handle: &PidFd, patience: Duration) -> bool {
    let timeout = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
    let mut fds = [nix::poll::PollFd::new(handle.as_fd(), nix::poll::PollFlags::POLLIN)];
    matches!(nix::poll::poll(&mut fds, timeout), Ok(n) if n > 0)
}

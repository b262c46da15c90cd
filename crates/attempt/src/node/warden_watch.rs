//! Looks whether the warden stands still: it would keep no lease, end nothing when this process dies, and hold the run's workers
//! for ever after its end. The warden looks so after this process.

use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::healing::keeper::{self, KeeperPause};
use fermi_process::lease::Lease;
use fermi_process::pidfd::PidFd;
use fermi_process::{cgroup, procfs};

/// How often it is looked.
pub const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The watch of a supervisor over its warden.
#[derive(Debug)]
pub struct WardenWatch {
    looked: Instant,
    /// How it stood still at the last look.
    paused: Option<KeeperPause>,
    /// How often the warden had let this process go on when that was last told.
    woken: u64,
}

impl WardenWatch {
    pub fn new() -> Self {
        Self { looked: Instant::now(), paused: None, woken: 0 }
    }

    /// Lets a warden go on that a signal has stopped; the answer is what is to be told, once for each pause.
    pub fn look(&mut self, warden: &PidFd) -> Option<RunEvent> {
        if self.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        self.looked = Instant::now();
        let before = std::mem::replace(&mut self.paused, pause_of(warden.pid()));
        let pause = self.paused?;
        // One that is gone is noticed by its descriptor.
        let _ = warden.signal(libc::SIGCONT);
        let pid = warden.pid();
        (before != Some(pause)).then(|| RunEvent::KeeperStopped { pid, pause, text: pause.text(pid) })
    }

    /// What is to be told when the warden has let this process go on.
    pub fn hear(&mut self, lease: &Lease) -> Option<RunEvent> {
        let before = std::mem::replace(&mut self.woken, lease.woken());
        (self.woken > before).then(|| {
            let pid = nix::unistd::getpid().as_raw();
            RunEvent::KeeperStopped { pid, pause: KeeperPause::Stopped, text: keeper::supervisor_woken(pid) }
        })
    }
}

fn pause_of(pid: i32) -> Option<KeeperPause> {
    let stat = procfs::stat(pid).ok()?;
    if stat.is_held_by_tracer() {
        return Some(KeeperPause::Traced);
    }
    if stat.is_stopped() {
        return Some(KeeperPause::Stopped);
    }
    cgroup::is_frozen(pid).then_some(KeeperPause::Frozen)
}

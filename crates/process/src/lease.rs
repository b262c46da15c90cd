//! Until when a node's ranks may go on without word from those they depend on. The supervisor and the launcher renew it, the
//! warden keeps it: one that hangs on a disk or was stopped renews nothing.
//!
//! All times are of the clock that goes on while the machine sleeps.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use fermi_domain::verdict::LeaseHolder;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

/// Sent to the warden by the process that launched the run: the server has been heard. A process that is not a warden
/// ignores it.
pub const SERVER_HEARD: Signal = Signal::SIGURG;
/// The same to a supervisor asks where its ranks stand; one of an older release ignores it.
pub const STACKS_ASKED: Signal = Signal::SIGURG;

/// Milliseconds of the clock that counts the time during which the machine sleeps.
pub fn boot_ms() -> u64 {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        seconds.saturating_mul(1_000) + u64::try_from(time.tv_nsec()).unwrap_or(0) / 1_000_000
    })
}

/// With what a warden ends that has ended its run for a lease.
pub fn exit_code(holder: LeaseHolder) -> i32 {
    match holder {
        LeaseHolder::Coordinator => 81,
        LeaseHolder::Server => 82,
    }
}

/// Whose lease it was, by how a warden ended.
pub fn by_exit_code(code: i32) -> Option<LeaseHolder> {
    [LeaseHolder::Coordinator, LeaseHolder::Server].into_iter().find(|holder| exit_code(*holder) == code)
}

/// A page that warden and supervisor share. Zero stands for no lease.
#[derive(Debug, Default)]
struct Page {
    /// Held from the coordinator of the run.
    coordinator_until: AtomicU64,
    /// Held from the server, through the agent.
    server_until: AtomicU64,
    /// How long the server's lasts from when it is renewed.
    server_length: AtomicU64,
    /// How often the warden has let the supervisor go on that a signal had stopped.
    woken: AtomicU64,
}

/// The leases of one run on one node.
#[derive(Debug)]
pub struct Lease {
    page: &'static Page,
    /// Rings in the warden when a lease is taken for the first time.
    bell: EventFd,
}

impl Lease {
    /// Made before the fork that parts warden and supervisor.
    pub fn new() -> io::Result<Self> {
        let (size, access) = (NonZeroUsize::MIN.saturating_add(4_095), ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
        // SAFETY: new memory, which stays as long as the process and is zero, as the atomics may be.
        let page = unsafe { mmap_anonymous(None, size, access, MapFlags::MAP_SHARED)?.cast::<Page>().as_ref() };
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { page, bell })
    }

    /// The coordinator is known to have heard this node; ranks may go on until then.
    pub fn renew_coordinator(&self, until_ms: u64) {
        if self.page.coordinator_until.swap(until_ms.max(1), Ordering::AcqRel) == 0 {
            self.ring();
        }
    }

    /// The ranks were ended, or nobody waits for their end: nothing is held from the coordinator.
    pub fn drop_coordinator(&self) {
        self.page.coordinator_until.store(0, Ordering::Release);
    }

    /// A lease of the server, which lasts for so long from whenever the server was heard.
    pub fn hold_from_server(&self, ServerLease { length_ms, until_ms }: ServerLease) {
        self.page.server_length.store(length_ms, Ordering::Release);
        self.page.server_until.store(until_ms.max(1), Ordering::Release);
        self.ring();
    }

    /// The server was heard just now.
    pub(crate) fn server_heard(&self) {
        let length = self.page.server_length.load(Ordering::Acquire);
        if length > 0 {
            self.page.server_until.store(boot_ms().saturating_add(length), Ordering::Release);
        }
    }

    /// When the first lease ends; none while there is none.
    pub(crate) fn until(&self) -> Option<u64> {
        self.first_to_end().map(|(until, _)| until)
    }

    /// From whom the lease was held that has ended by now.
    pub(crate) fn ended(&self, now_ms: u64) -> Option<LeaseHolder> {
        self.first_to_end().filter(|(until, _)| now_ms >= *until).map(|(_, holder)| holder)
    }

    fn first_to_end(&self) -> Option<(u64, LeaseHolder)> {
        let leases =
            [(&self.page.coordinator_until, LeaseHolder::Coordinator), (&self.page.server_until, LeaseHolder::Server)];
        let held = leases.into_iter().map(|(until, holder)| (until.load(Ordering::Acquire), holder));
        held.filter(|(until, _)| *until > 0).min_by_key(|(until, _)| *until)
    }

    /// Leaves a word for the supervisor, which may record what the warden cannot.
    pub(crate) fn tell_woken(&self) {
        self.page.woken.fetch_add(1, Ordering::AcqRel);
    }

    /// How often this process was stopped by a signal, and the warden has let it go on.
    pub fn woken(&self) -> u64 {
        self.page.woken.load(Ordering::Acquire)
    }

    fn ring(&self) {
        // A bell that is full has rung.
        let _ = self.bell.write(1);
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub(crate) fn hush(&self) {
        let _ = self.bell.read();
    }
}

/// What a run holds from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerLease {
    pub length_ms: u64,
    /// When it ends unless the server is heard, by [`boot_ms`].
    pub until_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warden_says_whose_lease_it_was_by_its_exit_code() {
        for holder in [LeaseHolder::Coordinator, LeaseHolder::Server] {
            assert_eq!(by_exit_code(exit_code(holder)), Some(holder));
        }
        assert_eq!((by_exit_code(0), by_exit_code(1), by_exit_code(137)), (None, None, None));
    }

    #[test]
    fn the_first_lease_to_end_counts_and_the_servers_is_renewed_by_its_length() {
        let lease = Lease::new().unwrap();
        assert_eq!(lease.until(), None);
        lease.server_heard();
        assert_eq!(lease.until(), None, "there is none to renew");
        lease.renew_coordinator(500);
        assert_eq!(lease.until(), Some(500));
        lease.hold_from_server(ServerLease { length_ms: 60_000, until_ms: 400 });
        assert_eq!(lease.until(), Some(400));
        assert_eq!((lease.ended(399), lease.ended(400)), (None, Some(LeaseHolder::Server)));
        lease.server_heard();
        assert_eq!(lease.until(), Some(500));
        lease.drop_coordinator();
        let left = lease.until().unwrap().saturating_sub(boot_ms());
        assert!((50_000..=60_000).contains(&left), "{left}");
    }
}

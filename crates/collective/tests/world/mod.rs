//! Ranks as threads of one process, at a port that is held the way a launcher holds it: bound, reusable, not listening.

use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use fermi_collective::{Communicator, Rendezvous};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, setsockopt, socket, sockopt};

pub struct HeldPort {
    pub port: u16,
    _socket: OwnedFd,
}

pub fn hold_port() -> HeldPort {
    let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&held, sockopt::ReuseAddr, &true).unwrap();
    bind(held.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, 0)).unwrap();
    let port = getsockname::<SockaddrIn>(held.as_raw_fd()).unwrap().port();
    HeldPort { port, _socket: held }
}

pub fn rendezvous(port: u16, rank: usize, world_size: usize) -> Rendezvous {
    Rendezvous {
        rank,
        world_size,
        master_addr: "127.0.0.1".to_owned(),
        master_port: port,
        run_id: "test".to_owned(),
        timeout: Duration::from_secs(20),
    }
}

/// Runs every rank of a world and returns what each came to, by rank.
#[allow(dead_code, reason = "every test binary compiles this module, and not all need whole worlds")]
pub fn run_world<T: Send>(world_size: usize, rank_main: impl Fn(Communicator) -> T + Sync) -> Vec<T> {
    let held = hold_port();
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..world_size)
            .map(|rank| {
                let rendezvous = rendezvous(held.port, rank, world_size);
                let rank_main = &rank_main;
                scope.spawn(move || rank_main(Communicator::connect(&rendezvous).unwrap()))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

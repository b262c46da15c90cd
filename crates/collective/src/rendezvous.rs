//! How the ranks of a run find each other: all come to rank 0, and all leave with the same table.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crate::acceptor::Acceptor;
use crate::admission::receive_ranks;
use crate::communicator::LONGEST_TIMEOUT;
use crate::error::ConnectError;
use crate::hello::{FrameError, Hello, HelloPurpose, HelloReply, receive, send};
use crate::listener::{families_of, listen};
use crate::neighbours::close_ring;
use crate::ring::Ring;

const ONE_TRY: Duration = Duration::from_secs(5);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
/// Rank 0 may have started its clock later than this rank; wait a little longer for its reasons than for its presence.
const GRACE_FOR_ANSWER: Duration = Duration::from_secs(5);

/// Everything a rank must know to meet the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendezvous {
    pub rank: usize,
    pub world_size: usize,
    pub master_addr: String,
    /// Rank 0 listens here; the others come here.
    pub master_port: u16,
    /// Ranks of different runs refuse each other.
    pub run_id: String,
    pub timeout: Duration,
}

/// Where every rank listens for its left neighbour, and how to read that from this rank's point of view.
pub(crate) struct Table {
    pub ring: Vec<SocketAddr>,
    /// The address at which this rank reached rank 0; none on rank 0 itself.
    pub rank0: Option<IpAddr>,
}

impl Table {
    /// A rank that rank 0 sees at a loopback address lives on rank 0's machine. Others reach that machine where they
    /// reached rank 0, whatever their own loopback address may lead to.
    pub fn address_of(&self, rank: usize) -> SocketAddr {
        let address = self.ring[rank];
        match self.rank0 {
            Some(machine) if address.ip().is_loopback() => SocketAddr::new(machine, address.port()),
            _ => address,
        }
    }
}

impl Rendezvous {
    pub(crate) fn meet(&self) -> Result<Ring, ConnectError> {
        let deadline = Instant::now() + self.timeout.min(LONGEST_TIMEOUT);
        let families = families_of(&self.master_addr);
        let mut ring_gate = listen(families, 0).and_then(Acceptor::new).map_err(ConnectError::Socket)?;
        let ring_port = ring_gate.port().map_err(ConnectError::Socket)?;
        let table = if self.rank == 0 {
            let port = self.master_port;
            let acceptor = listen(families, port).and_then(Acceptor::new);
            let acceptor = acceptor.map_err(|source| ConnectError::Listen { port, source })?;
            let own = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), ring_port);
            Table { ring: receive_ranks(self, acceptor, own, deadline)?, rank0: None }
        } else {
            self.join(ring_port, deadline)?
        };
        close_ring(self, &mut ring_gate, &table, deadline)
    }

    pub(crate) fn hello(&self, purpose: HelloPurpose) -> Hello {
        Hello { run_id: self.run_id.clone(), rank: self.rank, world_size: self.world_size, purpose }
    }

    fn join(&self, ring_port: u16, deadline: Instant) -> Result<Table, ConnectError> {
        let address = format!("{}:{}", self.master_addr, self.master_port);
        let waited_s = self.timeout.as_secs_f64();
        loop {
            // Rank 0 may not have started yet, its name may not be known yet, a connection may break: all of that is
            // ordinary until the time is up.
            let trouble = match self.dial(deadline) {
                Err(error) => error,
                Ok(mut stream) => match self.ask(&mut stream, ring_port, deadline + GRACE_FOR_ANSWER) {
                    Ok(HelloReply::Welcome { ring }) if ring.len() == self.world_size => {
                        let peer = stream.peer_addr().map_err(ConnectError::Socket)?;
                        return Ok(Table { ring, rank0: Some(peer.ip().to_canonical()) });
                    }
                    Ok(HelloReply::Welcome { .. }) => {
                        let what = "knows a different number of ranks".to_owned();
                        return Err(ConnectError::Stranger { address, what });
                    }
                    Ok(HelloReply::Refused { reason }) => return Err(ConnectError::Refused { by: 0, reason }),
                    Err(FrameError::HungUp(error)) => error,
                    Err(FrameError::Silent(_)) => return Err(ConnectError::NoAnswer { address, waited_s }),
                    Err(error) => return Err(ConnectError::Stranger { address, what: error.to_string() }),
                },
            };
            if Instant::now() + BETWEEN_TRIES >= deadline {
                return Err(ConnectError::Unreachable { address, waited_s, source: trouble });
            }
            thread::sleep(BETWEEN_TRIES);
        }
    }

    fn dial(&self, deadline: Instant) -> io::Result<TcpStream> {
        let mut trouble = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (self.master_addr.as_str(), self.master_port).to_socket_addrs()? {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&address, left.min(ONE_TRY)) {
                Ok(stream) if is_self_connected(&stream) => trouble = io::ErrorKind::ConnectionRefused.into(),
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }

    fn ask(&self, stream: &mut TcpStream, ring_port: u16, deadline: Instant) -> Result<HelloReply, FrameError> {
        send(stream, &self.hello(HelloPurpose::Join { ring_port })).map_err(FrameError::HungUp)?;
        receive(stream, deadline)
    }
}

/// On one machine, with nobody listening yet, TCP may connect a socket to itself when the port it is given to call from
/// happens to be the port it calls.
fn is_self_connected(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(local), Ok(peer)) if local == peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_beside_rank_0_is_reached_where_rank_0_was_reached() {
        let ring: Vec<SocketAddr> =
            ["127.0.0.1:1", "127.0.0.1:2", "10.0.0.7:3"].map(|text| text.parse().unwrap()).into();
        let elsewhere = Table { ring: ring.clone(), rank0: Some("10.0.0.1".parse().unwrap()) };
        assert_eq!(elsewhere.address_of(0), "10.0.0.1:1".parse().unwrap());
        assert_eq!(elsewhere.address_of(1), "10.0.0.1:2".parse().unwrap());
        assert_eq!(elsewhere.address_of(2), "10.0.0.7:3".parse().unwrap());
        let on_rank0 = Table { ring, rank0: None };
        assert_eq!(on_rank0.address_of(1), "127.0.0.1:2".parse().unwrap());
    }
}

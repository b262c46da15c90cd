//! Closing the ring: call the right neighbour, let the left one in.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::acceptor::Acceptor;
use crate::error::ConnectError;
use crate::hello::{FrameError, Hello, HelloPurpose, HelloReply, receive, send};
use crate::rendezvous::{Rendezvous, Table};
use crate::ring::Ring;

/// The rendezvous may have used up nearly all of its time; closing the ring is quick but not instant.
const AT_LEAST: Duration = Duration::from_secs(10);

pub(crate) fn close_ring(
    rendezvous: &Rendezvous,
    acceptor: &mut Acceptor,
    table: &Table,
    deadline: Instant,
) -> Result<Ring, ConnectError> {
    let Rendezvous { rank, world_size, .. } = *rendezvous;
    let deadline = deadline.max(Instant::now() + AT_LEAST);
    let left_rank = (rank + world_size - 1) % world_size;
    let right_rank = (rank + 1) % world_size;
    // Everybody already listens, so the call and the hello go through before anybody answers: calling first and
    // answering second cannot block around the ring.
    let mut right = call(rendezvous, table, right_rank, deadline)?;
    let left = let_in(rendezvous, acceptor, left_rank, deadline)?;
    match receive(&mut right, deadline) {
        Ok(HelloReply::Welcome { .. }) => Ring::new(left, left_rank, right, right_rank).map_err(ConnectError::Socket),
        Ok(HelloReply::Refused { reason }) => Err(ConnectError::Refused { by: right_rank, reason }),
        Err(FrameError::HungUp(source)) => Err(ConnectError::Lost { rank: right_rank, source }),
        Err(error) => {
            Err(ConnectError::Stranger { address: table.address_of(right_rank).to_string(), what: error.to_string() })
        }
    }
}

fn call(rendezvous: &Rendezvous, table: &Table, rank: usize, deadline: Instant) -> Result<TcpStream, ConnectError> {
    let address = table.address_of(rank);
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let unreachable = |source| ConnectError::NeighbourUnreachable { rank, address, source };
    let mut stream = TcpStream::connect_timeout(&address, left).map_err(unreachable)?;
    stream.set_nodelay(true).map_err(ConnectError::Socket)?;
    send(&mut stream, &rendezvous.hello(HelloPurpose::Neighbour))
        .map_err(|source| ConnectError::Lost { rank, source })?;
    Ok(stream)
}

fn let_in(
    rendezvous: &Rendezvous,
    acceptor: &mut Acceptor,
    rank: usize,
    deadline: Instant,
) -> Result<TcpStream, ConnectError> {
    let expected = Hello { rank, ..rendezvous.hello(HelloPurpose::Neighbour) };
    let start = Instant::now();
    loop {
        let Some(mut peer) = acceptor.next(deadline).map_err(ConnectError::Socket)? else {
            return Err(ConnectError::NeighbourMissing { rank, waited_s: start.elapsed().as_secs_f64() });
        };
        if peer.hello.as_ref().is_ok_and(|hello| *hello == expected) {
            let welcome = HelloReply::Welcome { ring: Vec::new() };
            send(&mut peer.stream, &welcome).map_err(|source| ConnectError::Lost { rank, source })?;
            return Ok(peer.stream);
        }
        peer.refuse(&format!("only rank {rank} of this run is expected at this port"));
    }
}

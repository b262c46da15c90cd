//! Rank 0's part of the rendezvous: admits the ranks of this run, refuses all others, and tells all why when
//! the run cannot become complete.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use crate::acceptor::{Acceptor, Peer};
use crate::error::ConnectError;
use crate::hello::{Hello, HelloPurpose, HelloReply, send};
use crate::rendezvous::Rendezvous;

/// As many refusals as a person wants to read in one error.
const MOST_REASONS: usize = 5;

struct Member {
    stream: TcpStream,
    ring: SocketAddr,
}

#[derive(Debug, PartialEq, Eq)]
enum AdmissionDecision {
    Admit {
        ring_port: u16,
    },
    /// Not one of ours; the run goes on without it.
    Refuse(String),
    /// One of ours that contradicts the others, so that waiting longer cannot help.
    Conflict(String),
}

/// The ring's addresses by rank, which every member has also been told.
pub(crate) fn receive_ranks(
    rendezvous: &Rendezvous,
    mut acceptor: Acceptor,
    own: SocketAddr,
    deadline: Instant,
) -> Result<Vec<SocketAddr>, ConnectError> {
    let mut members: Vec<Option<Member>> = (0..rendezvous.world_size).map(|_| None).collect();
    let mut refused = Vec::new();
    loop {
        forget_the_dead(&mut members);
        let ranks: Vec<usize> = (1..members.len()).filter(|rank| members[*rank].is_none()).collect();
        if ranks.is_empty() {
            return welcome_all(members, own);
        }
        let Some(peer) = acceptor.next(deadline).map_err(ConnectError::Socket)? else {
            let error = ConnectError::Missing { ranks, waited_s: rendezvous.timeout.as_secs_f64(), refused };
            refuse_all(members, &error.to_string());
            return Err(error);
        };
        forget_the_dead(&mut members);
        let address = peer.address;
        match admit(rendezvous, &mut members, peer) {
            AdmissionDecision::Admit { .. } => {}
            AdmissionDecision::Refuse(reason) => {
                if refused.len() < MOST_REASONS {
                    refused.push(format!("{address} {reason}"));
                }
            }
            AdmissionDecision::Conflict(reason) => {
                refuse_all(members, &reason);
                return Err(ConnectError::Conflict { reason });
            }
        }
    }
}

fn admit(rendezvous: &Rendezvous, members: &mut [Option<Member>], peer: Peer) -> AdmissionDecision {
    let hello = match &peer.hello {
        Ok(hello) => hello,
        Err(error) => {
            let reason = error.to_string();
            peer.refuse(&format!("the caller {reason}"));
            return AdmissionDecision::Refuse(reason);
        }
    };
    let is_taken = members.get(hello.rank).is_some_and(Option::is_some);
    let rank = hello.rank;
    let judgement = judge(rendezvous, hello, is_taken);
    match &judgement {
        AdmissionDecision::Admit { ring_port } => {
            let ring = SocketAddr::new(peer.address.ip(), *ring_port);
            members[rank] = Some(Member { stream: peer.stream, ring });
        }
        AdmissionDecision::Refuse(reason) | AdmissionDecision::Conflict(reason) => peer.refuse(reason),
    }
    judgement
}

fn judge(rendezvous: &Rendezvous, hello: &Hello, is_taken: bool) -> AdmissionDecision {
    let Rendezvous { run_id, world_size, .. } = rendezvous;
    if hello.run_id != *run_id {
        return AdmissionDecision::Refuse(format!("belongs to run `{}`, and this is run `{run_id}`", hello.run_id));
    }
    let HelloPurpose::Join { ring_port } = hello.purpose else {
        return AdmissionDecision::Refuse("is looking for a neighbour at the port of the rendezvous".to_owned());
    };
    let rank = hello.rank;
    if hello.world_size != *world_size {
        let theirs = hello.world_size;
        return AdmissionDecision::Conflict(format!(
            "rank {rank} expects a world of {theirs} and rank 0 one of {world_size}"
        ));
    }
    if rank >= *world_size {
        return AdmissionDecision::Conflict(format!("a process calls itself rank {rank} in a world of {world_size}"));
    }
    if rank == 0 || is_taken {
        return AdmissionDecision::Conflict(format!("two processes call themselves rank {rank}"));
    }
    AdmissionDecision::Admit { ring_port }
}

/// A rank that died while it waited may come again; keeping its old connection would make it its own duplicate.
fn forget_the_dead(members: &mut [Option<Member>]) {
    for member in members {
        if member.as_ref().is_some_and(|member| has_hung_up(&member.stream)) {
            *member = None;
        }
    }
}

/// Members are silent after their hello, so that anything but "nothing yet" is the end of the connection.
fn has_hung_up(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let restored = stream.set_nonblocking(false);
    restored.is_err() || !peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

fn welcome_all(members: Vec<Option<Member>>, own: SocketAddr) -> Result<Vec<SocketAddr>, ConnectError> {
    let ring: Vec<SocketAddr> =
        members.iter().map(|member| member.as_ref().map_or(own, |member| member.ring)).collect();
    let answer = HelloReply::Welcome { ring: ring.clone() };
    for (rank, member) in members.into_iter().enumerate() {
        if let Some(mut member) = member {
            send(&mut member.stream, &answer).map_err(|source| ConnectError::Lost { rank, source })?;
        }
    }
    Ok(ring)
}

fn refuse_all(members: Vec<Option<Member>>, reason: &str) {
    let answer = HelloReply::Refused { reason: reason.to_owned() };
    for mut member in members.into_iter().flatten() {
        // Whoever no longer listens has its own reasons to end.
        let _ = send(&mut member.stream, &answer);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn strangers_are_refused_and_contradictions_end_the_rendezvous() {
        let rendezvous = Rendezvous {
            rank: 0,
            world_size: 4,
            master_addr: "127.0.0.1".into(),
            master_port: 1,
            run_id: "a".into(),
            timeout: Duration::from_secs(1),
        };
        let hello = |run: &str, rank, world_size| Hello {
            run_id: run.into(),
            rank,
            world_size,
            purpose: HelloPurpose::Join { ring_port: 9 },
        };
        let refuse = |text: &str| AdmissionDecision::Refuse(text.into());
        let conflict = |text: &str| AdmissionDecision::Conflict(text.into());
        let cases = [
            (hello("a", 3, 4), false, AdmissionDecision::Admit { ring_port: 9 }),
            (hello("b", 3, 4), false, refuse("belongs to run `b`, and this is run `a`")),
            (hello("a", 3, 5), false, conflict("rank 3 expects a world of 5 and rank 0 one of 4")),
            (hello("a", 4, 4), false, conflict("a process calls itself rank 4 in a world of 4")),
            (hello("a", 2, 4), true, conflict("two processes call themselves rank 2")),
            (hello("a", 0, 4), false, conflict("two processes call themselves rank 0")),
        ];
        for (hello, is_taken, expected) in cases {
            assert_eq!(judge(&rendezvous, &hello, is_taken), expected);
        }
    }
}

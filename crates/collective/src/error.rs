//! What can go wrong while ranks meet, and while they work together.

use std::fmt;
use std::io;
use std::net::SocketAddr;

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("rank {rank} does not exist in a world of {world_size}; ranks count from 0")]
    NoSuchRank { rank: usize, world_size: usize },
    #[error("rank 0 cannot listen on port {port}")]
    Listen {
        port: u16,
        #[source]
        source: io::Error,
    },
    #[error("rank 0 could not be reached at {address} within {waited_s:.0} s")]
    Unreachable {
        address: String,
        waited_s: f64,
        #[source]
        source: io::Error,
    },
    #[error("rank 0 at {address} did not answer within {waited_s:.0} s; it may still be waiting for other ranks")]
    NoAnswer { address: String, waited_s: f64 },
    #[error("what answers at {address} is not rank 0 of this run: it {what}")]
    Stranger { address: String, what: String },
    /// The other side of [`ConnectError::Conflict`] and [`ConnectError::Missing`], or a rank that came to the wrong run.
    #[error("rank {by} turned this rank away: {reason}")]
    Refused { by: usize, reason: String },
    /// Rank 0's view of a run that contradicts itself and so can never become complete.
    #[error("the ranks of this run contradict each other: {reason}")]
    Conflict { reason: String },
    #[error("{}", missing(ranks, *waited_s, refused))]
    Missing {
        ranks: Vec<usize>,
        waited_s: f64,
        /// Callers that were turned away meanwhile, each with the reason.
        refused: Vec<String>,
    },
    #[error("connection to rank {rank} lost while the ranks were meeting")]
    Lost {
        rank: usize,
        #[source]
        source: io::Error,
    },
    #[error("rank {rank} cannot be reached at {address}; every rank needs an open path to its right neighbour")]
    NeighbourUnreachable {
        rank: usize,
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("rank {rank} did not connect to this rank within {waited_s:.0} s; a firewall may be in between")]
    NeighbourMissing { rank: usize, waited_s: f64 },
    #[error("a socket could not be used")]
    Socket(#[source] io::Error),
}

fn missing(ranks: &[usize], waited_s: f64, refused: &[String]) -> String {
    let names = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let mut sentence = format!("{noun} {names} never came within {waited_s:.0} s");
    if !refused.is_empty() {
        sentence.push_str("; turned away meanwhile: ");
        sentence.push_str(&refused.join("; "));
    }
    sentence
}

/// What the ranks were doing together; also how they find out that they are not doing the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    AllReduce,
    AllGather,
    Broadcast,
    Barrier,
    ReduceScatter,
}

impl Operation {
    pub(crate) fn code(self) -> u8 {
        match self {
            Operation::AllReduce => 1,
            Operation::AllGather => 2,
            Operation::Broadcast => 3,
            Operation::Barrier => 4,
            Operation::ReduceScatter => 5,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        const ALL: [Operation; 5] = [
            Operation::AllReduce,
            Operation::AllGather,
            Operation::Broadcast,
            Operation::Barrier,
            Operation::ReduceScatter,
        ];
        ALL.into_iter().find(|operation| operation.code() == code)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::AllReduce => "all-reduce",
            Operation::AllGather => "all-gather",
            Operation::Broadcast => "broadcast",
            Operation::Barrier => "barrier",
            Operation::ReduceScatter => "reduce-scatter",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    #[error("connection to rank {rank} lost during {operation}")]
    Lost {
        rank: usize,
        operation: Operation,
        #[source]
        source: io::Error,
    },
    #[error("rank {rank} has been silent for {waited_s:.0} s during {operation}")]
    Silent { rank: usize, operation: Operation, waited_s: f64 },
    /// The ranks call different operations, or with different lengths: a bug in the peer, never the network's fault.
    #[error("rank {rank} is out of step: it sent {theirs} where this rank expected {ours}")]
    OutOfStep { rank: usize, theirs: String, ours: String },
    #[error("there is no rank {root} to broadcast from in a world of {world_size}")]
    NoSuchRoot { root: usize, world_size: usize },
}

impl OperationError {
    /// The rank that this rank saw failing, which is the cause or its first victim on this side of the ring.
    pub fn rank(&self) -> usize {
        match self {
            OperationError::Lost { rank, .. }
            | OperationError::Silent { rank, .. }
            | OperationError::OutOfStep { rank, .. } => *rank,
            OperationError::NoSuchRoot { root, .. } => *root,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_names_every_rank_that_never_came_and_whom_it_turned_away() {
        let alone = ConnectError::Missing { ranks: vec![3], waited_s: 30.0, refused: vec![] };
        assert_eq!(alone.to_string(), "rank 3 never came within 30 s");
        let refused = vec!["10.0.0.9:4711 spoke no Fermi".to_owned()];
        let several = ConnectError::Missing { ranks: vec![1, 2], waited_s: 5.0, refused };
        assert_eq!(
            several.to_string(),
            "ranks 1, 2 never came within 5 s; turned away meanwhile: 10.0.0.9:4711 spoke no Fermi"
        );
    }

    #[test]
    fn every_operation_is_found_by_its_code() {
        for code in 0..=255 {
            if let Some(operation) = Operation::from_code(code) {
                assert_eq!(operation.code(), code);
            }
        }
        assert_eq!((0..=255).filter_map(Operation::from_code).count(), 5);
    }
}

//! Connections between ranks on which nobody answers: whom the network has cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::sample::RankSample;

/// What was sent so often without an answer did not get lost by chance.
const UNANSWERED_AFTER: u32 = 2;

/// A connection of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// How often the kernel has sent again what was not acknowledged.
    pub resent: u32,
}

/// One on which nobody answers, by who is at its other end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unanswered {
    Rank(u32),
    Elsewhere(std::net::IpAddr),
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rank(rank) => write!(f, "rank {rank}"),
            Self::Elsewhere(address) => write!(f, "{address}"),
        }
    }
}

/// Of each rank with whom its connections do not work, whichever end has noticed it.
pub fn unanswered(connections: &BTreeMap<u32, Vec<Connection>>) -> BTreeMap<u32, Vec<Unanswered>> {
    let of_rank: BTreeMap<(SocketAddr, SocketAddr), u32> = connections
        .iter()
        .flat_map(|(rank, own)| own.iter().map(|connection| ((connection.from, connection.to), *rank)))
        .collect();
    let mut broken: BTreeMap<u32, BTreeSet<Unanswered>> = BTreeMap::new();
    for (rank, own) in connections {
        for Connection { from, to, .. } in own.iter().filter(|own| own.resent >= UNANSWERED_AFTER) {
            match of_rank.get(&(*to, *from)).filter(|peer| *peer != rank) {
                Some(peer) => {
                    broken.entry(*rank).or_default().insert(Unanswered::Rank(*peer));
                    broken.entry(*peer).or_default().insert(Unanswered::Rank(*rank));
                }
                None => {
                    broken.entry(*rank).or_default().insert(Unanswered::Elsewhere(to.ip()));
                }
            }
        }
    }
    broken.into_iter().map(|(rank, peers)| (rank, peers.into_iter().collect())).collect()
}

/// The ranks with the most connections that do not work: where one rank is cut off, each of the others has lost one, and it
/// has lost all of these.
pub(super) fn cut_off(samples: &[RankSample]) -> Vec<u32> {
    let lost = |sample: &RankSample| sample.work.as_ref().map_or(0, |work| work.unanswered.len());
    let most = samples.iter().map(lost).max().unwrap_or(0);
    samples.iter().filter(|sample| most > 0 && lost(sample) == most).map(|sample| sample.rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Both ends of a connection between these ports.
    fn between(a: (u32, u16, u32), b: (u32, u16, u32)) -> [(u32, Connection); 2] {
        let end = |(rank, port, resent): (u32, u16, u32), to| (rank, Connection { from: at(port), to: at(to), resent });
        [end(a, b.1), end(b, a.1)]
    }

    fn all(ends: &[[(u32, Connection); 2]]) -> BTreeMap<u32, Vec<Connection>> {
        let mut all: BTreeMap<u32, Vec<Connection>> = BTreeMap::new();
        for (rank, connection) in ends.iter().flatten() {
            all.entry(*rank).or_default().push(*connection);
        }
        all
    }

    #[test]
    fn a_rank_that_is_cut_off_has_lost_what_each_of_the_others_has_lost() {
        // A ring of four; what comes to rank 2 is dropped, so that it and the one before it send again.
        let ring = all(&[
            between((0, 10, 0), (1, 11, 0)),
            between((1, 12, 5), (2, 13, 0)),
            between((2, 14, 4), (3, 15, 0)),
            between((3, 16, 0), (0, 17, 1)),
        ]);
        let lost = unanswered(&ring);
        assert_eq!(lost[&2], [Unanswered::Rank(1), Unanswered::Rank(3)]);
        assert_eq!((&lost[&1], &lost[&3]), (&vec![Unanswered::Rank(2)], &vec![Unanswered::Rank(2)]));
        assert!(!lost.contains_key(&0), "once is by chance");
    }

    #[test]
    fn who_is_elsewhere_is_told_by_address() {
        let far = SocketAddr::from(([10, 0, 0, 7], 80));
        let one = [(0, vec![Connection { from: at(1), to: far, resent: 3 }])].into();
        assert_eq!(unanswered(&one)[&0][0].to_string(), "10.0.0.7");
        assert!(unanswered(&BTreeMap::new()).is_empty());
    }
}

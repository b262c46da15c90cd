//! Carries out the orders of the first node, on every node alike.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fermi_collective::{Communicator, Rendezvous};

use super::engine::EngineRank;
use super::message::{NodeAnswer, NodeOrder, Peer};
use super::survey::{PathPing, PingRow, Reach, SumOutcome, Transfer};
use super::{folder, probe, survey};
use crate::facts::{MachineFacts, Seen};
use crate::look::Step;

/// Peers that are measured at the same time.
const AT_ONCE: usize = 16;
/// Peers that are not reached by then are left out: the rest of the minute is for other steps.
const PINGS: Duration = Duration::from_secs(5);
/// Ranks meet, then add; each has this long.
const RANKS: Duration = Duration::from_secs(4);
pub const VALUES: usize = 1 << 18;

/// What a node needs to obey.
pub struct Obedient {
    pub node: usize,
    /// The look at this machine, which began before the nodes met.
    pub look: Mutex<Option<Step<MachineFacts>>>,
    /// The Python of the engines; the usual one where none.
    pub python: Option<PathBuf>,
}

impl Obedient {
    /// None for what is no question, or where there is no answer.
    pub fn obey(&self, order: &NodeOrder) -> Option<NodeAnswer> {
        match order {
            NodeOrder::Facts => Some(NodeAnswer::Facts(self.facts().map(Box::new))),
            NodeOrder::Ping { peers, master_port } => Some(NodeAnswer::Pings(self.pings(peers, *master_port))),
            NodeOrder::Transfer { peer } => Some(NodeAnswer::Transfers(self.transfers(peer))),
            NodeOrder::AllReduce { id, port, rank, world_size, master_addr } => {
                let rendezvous = Rendezvous {
                    rank: *rank,
                    world_size: *world_size,
                    master_addr: master_addr.clone(),
                    master_port: *port,
                    run_id: id.clone(),
                    timeout: RANKS,
                };
                Some(NodeAnswer::Sum(sum(&rendezvous).unwrap_or_else(|reason| SumOutcome::Failed { reason })))
            }
            NodeOrder::Engine { engine, backend, rank, world_size, master_addr, port, patience_ms } => {
                let rank = EngineRank {
                    engine: *engine,
                    backend,
                    rank: *rank,
                    world_size: *world_size,
                    address: master_addr,
                    port: *port,
                    patience: Duration::from_millis(*patience_ms),
                };
                Some(NodeAnswer::Engine(rank.add(self.python.clone())))
            }
            NodeOrder::Folder { path, mark } => Some(NodeAnswer::Folder(folder::look(path.into(), mark.clone()))),
            NodeOrder::Known { .. } | NodeOrder::Done { .. } | NodeOrder::Refused { .. } => None,
        }
    }

    fn facts(&self) -> Option<MachineFacts> {
        let step = self.look.lock().ok()?.take()?;
        match step.wait() {
            Seen::Known(facts) => Some(facts),
            Seen::Late { .. } => None,
        }
    }

    fn pings(&self, peers: &[Peer], master_port: u16) -> Vec<PingRow> {
        let others: Vec<&Peer> = peers.iter().filter(|peer| peer.node != self.node).collect();
        let mut rows = Vec::new();
        // Not all nodes begin with the same peer.
        let from = others.iter().position(|peer| peer.node > self.node).unwrap_or(0);
        let turned: Vec<&Peer> = others[from..].iter().chain(&others[..from]).copied().collect();
        let start = Instant::now();
        for some in turned.chunks(AT_ONCE).take_while(|_| start.elapsed() < PINGS) {
            thread::scope(|scope| {
                let running: Vec<_> = some.iter().map(|peer| scope.spawn(|| row(peer, master_port))).collect();
                rows.extend(running.into_iter().filter_map(|thread| thread.join().ok()));
            });
        }
        rows
    }

    fn transfers(&self, peer: &Peer) -> Vec<Transfer> {
        let over = |address: &super::message::Address| Transfer {
            from: self.node,
            to: peer.node,
            interface: address.interface.clone(),
            ip: address.ip,
            there: probe::send_to(address.ip, peer.port),
            back: probe::take_from(address.ip, peer.port),
        };
        peer.addresses.iter().map(over).collect()
    }
}

fn row(peer: &Peer, master_port: u16) -> PingRow {
    let paths: Vec<PathPing> = peer
        .addresses
        .iter()
        .map(|address| {
            let stream = probe::connect(address.ip, peer.port);
            let reach = stream.as_ref().map_or_else(|reach| *reach, |_| Reach::Connected);
            PathPing {
                interface: address.interface.clone(),
                ip: address.ip,
                reach,
                pings: stream.ok().and_then(probe::ping),
            }
        })
        .collect();
    let door = peer.has_master_port.then(|| {
        let tries = peer.addresses.iter().map(|address| match probe::connect(address.ip, master_port) {
            Ok(_) => Reach::Connected,
            Err(reach) => reach,
        });
        tries.fold(Reach::Silent, |best, reach| if best == Reach::Connected { best } else { reach })
    });
    survey::PingRow { node: peer.node, paths, master_port: door }
}

fn sum(rendezvous: &Rendezvous) -> Result<SumOutcome, String> {
    let Rendezvous { rank, world_size, .. } = *rendezvous;
    let mut ranks = Communicator::connect(rendezvous).map_err(|error| error.to_string())?;
    ranks.set_operation_timeout(RANKS);
    let mut values: Vec<f32> = (0..VALUES).map(|index| (index % 1_000 + rank) as f32).collect();
    let start = Instant::now();
    ranks.all_reduce_sum(&mut values).map_err(|error| error.to_string())?;
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let of_ranks = world_size * (world_size - 1) / 2;
    let is_right =
        values.iter().enumerate().all(|(index, value)| *value == (index % 1_000 * world_size + of_ranks) as f32);
    // FNV-1a over the bits.
    let digest = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, value| {
        (digest ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(SumOutcome::Added { micros, is_right, digest })
}

//! Carries out the orders of the first node, on every node alike.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fermi_collective::{Communicator, Rendezvous};
use fermi_domain::language::Text;

use super::candidates::elsewhere;
use super::engine::EngineRank;
use super::message::{Address, NodeAnswer, NodeOrder, Peer};
use super::probe::PingBudget;
use super::survey::{PathPing, PingRow, Reach, SumOutcome, Transfer};
use super::{folder, probe};
use crate::facts::{MachineFacts, Reason, Seen};
use crate::look::loopback::of_ranks;
use crate::look::{self, Step};

/// Peers that are measured at the same time.
const AT_ONCE: usize = 16;
/// Peers that are not reached by then are left out: the rest of the minute is for other steps.
const PINGS: Duration = Duration::from_secs(5);
/// Begins another address until then; one that swallows data takes over three seconds.
const TRANSFERS: Duration = Duration::from_millis(1_400);
/// More than a machine has over which it is trained.
const MOST_ADDRESSES: usize = 16;
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
            NodeOrder::AllReduce { id, port, rank, world_size, master_addr, patience_ms } => {
                let whole = patience_ms.map_or(RANKS * 2, Duration::from_millis);
                let rendezvous = Rendezvous {
                    rank: *rank,
                    world_size: *world_size,
                    master_addr: master_addr.clone(),
                    master_port: *port,
                    run_id: id.clone(),
                    timeout: whole / 2,
                };
                Some(NodeAnswer::Sum(sum_in(rendezvous, whole)))
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
        // Not all nodes begin with the same peer.
        let from = others.iter().position(|peer| peer.node > self.node).unwrap_or(0);
        let turned: Vec<&Peer> = others[from..].iter().chain(&others[..from]).copied().collect();
        let own: Vec<IpAddr> = look::own_addresses().into_iter().map(|(_, ip)| ip).collect();
        let budget = PingBudget::of(turned.len(), AT_ONCE, PINGS);
        let start = Instant::now();
        let next = AtomicUsize::new(0);
        let some = || {
            let mut rows = Vec::new();
            while start.elapsed() < PINGS {
                let Some(peer) = turned.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                rows.push(row(peer, &own, master_port, budget));
            }
            rows
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..AT_ONCE.min(turned.len())).map(|_| scope.spawn(some)).collect();
            running.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        })
    }

    /// One address after the other, as they may share a card. Where the first takes long, the others are left out.
    fn transfers(&self, peer: &Peer) -> Vec<Transfer> {
        let start = Instant::now();
        let over = |address: &Address| Transfer {
            from: self.node,
            to: peer.node,
            interface: address.interface.clone(),
            ip: address.ip,
            there: probe::send_to(address.ip, peer.port),
            back: probe::take_from(address.ip, peer.port),
        };
        peer.addresses.iter().take_while(|_| start.elapsed() < TRANSFERS).map(over).collect()
    }
}

/// All addresses at once: those that lead nowhere take their time together.
fn row(peer: &Peer, own: &[IpAddr], master_port: u16, budget: PingBudget) -> PingRow {
    let mut addresses = elsewhere(&peer.addresses, own);
    addresses.truncate(MOST_ADDRESSES);
    thread::scope(|scope| {
        let paths: Vec<_> = addresses.iter().map(|address| scope.spawn(|| path(address, peer.port, budget))).collect();
        let ips: Vec<IpAddr> = addresses.iter().map(|address| address.ip).collect();
        let master_port = peer.has_master_port.then(|| probe::any_open(&ips, master_port));
        let paths = paths.into_iter().filter_map(|thread| thread.join().ok()).collect();
        PingRow { node: peer.node, paths, master_port }
    })
}

fn path(address: &Address, port: u16, budget: PingBudget) -> PathPing {
    let stream = probe::connect(address.ip, port);
    let reach = stream.as_ref().map_or_else(|reach| *reach, |_| Reach::Connected);
    let pings = stream.ok().and_then(|stream| probe::ping(stream, budget));
    PathPing { interface: address.interface.clone(), ip: address.ip, reach, pings }
}

/// Whatever it waits for, it is over in time.
fn sum_in(rendezvous: Rendezvous, whole: Duration) -> SumOutcome {
    let added = Step::start(whole, move || sum(&rendezvous));
    match added.wait() {
        Seen::Known(Ok(outcome)) => outcome,
        Seen::Known(Err(reason)) => SumOutcome::Failed(reason),
        Seen::Late { seconds } => SumOutcome::Failed(
            Text::new(format!("{seconds} 秒内没有完成"), format!("it was not over after {seconds} s")).into(),
        ),
    }
}

fn sum(rendezvous: &Rendezvous) -> Result<SumOutcome, Reason> {
    let Rendezvous { rank, world_size, .. } = *rendezvous;
    let mut ranks = Communicator::connect(rendezvous).map_err(|error| of_ranks(&error))?;
    ranks.set_operation_timeout(rendezvous.timeout);
    let mut values: Vec<f32> = (0..VALUES).map(|index| (index % 1_000 + rank) as f32).collect();
    let start = Instant::now();
    ranks.all_reduce_sum(&mut values).map_err(|error| of_ranks(&error))?;
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

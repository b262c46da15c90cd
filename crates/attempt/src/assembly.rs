//! Who has come to a run, and which seat each node gets.
//!
//! Plain values: greetings in, seats or refusals out.

use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};

use crate::coordinator::Seat;
use crate::word::Placement;

/// Version of the words on a link. The previous one is understood.
pub const LINK_VERSION: u32 = 1;

/// How a node introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    pub version: u32,
    /// The release of Fermi, for the sentence when versions differ.
    pub fermi: String,
    /// Which run it means: the user's `--rdzv-id`, else empty.
    pub run: String,
    pub secret: String,
    pub name: String,
    /// The seat it wants, when its user named one.
    pub node_rank: Option<u32>,
    pub ranks: u32,
}

/// Why a node gets no seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Refusal {
    OtherVersion { ours: String, theirs: String },
    OtherRun { ours: String, theirs: String },
    WrongSecret,
    SeatTaken { node_rank: u32, by: String },
    NoSuchSeat { node_rank: u32, nodes: u32 },
    Full { nodes: u32 },
    NoRanks,
}

impl Refusal {
    pub fn text(&self) -> Text {
        match self {
            Self::OtherVersion { ours, theirs } => Text::new(
                format!("版本不一致：主节点是 fermi {ours}，本节点是 fermi {theirs}；请在所有节点安装同一版本"),
                format!(
                    "versions differ: the first node runs fermi {ours}, this one fermi {theirs}; install the same on all nodes"
                ),
            ),
            Self::OtherRun { ours, theirs } => Text::new(
                format!(
                    "该地址属于另一个任务：那里在等待 “{ours}”，而本节点要加入 “{theirs}”；检查 --rdzv-id 或换一个端口"
                ),
                format!(
                    "another run waits at this address: it is '{ours}', this node wants '{theirs}'; check --rdzv-id or use another port"
                ),
            ),
            Self::WrongSecret => {
                Text::new("--rdzv-secret 与主节点不一致", "--rdzv-secret is not that of the first node")
            }
            Self::SeatTaken { node_rank, by } => Text::new(
                format!("--node-rank {node_rank} 已由 {by} 使用；每个节点要用不同的值"),
                format!("--node-rank {node_rank} is taken by {by}; each node needs its own"),
            ),
            Self::NoSuchSeat { node_rank, nodes } => Text::new(
                format!("--node-rank {node_rank} 超出范围：共 {nodes} 个节点，从 0 开始"),
                format!("--node-rank {node_rank} does not exist: there are {nodes} nodes, counted from 0"),
            ),
            Self::Full { nodes } => Text::new(
                format!("{nodes} 个节点已经到齐；检查 --nnodes 是否一致，或是否已有同一任务在运行"),
                format!(
                    "all {nodes} nodes are there already; check that --nnodes is the same everywhere and that no second run uses this address"
                ),
            ),
            Self::NoRanks => Text::new("该节点没有 rank", "that node has no ranks"),
        }
    }
}

/// A node that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Guest {
    name: String,
    ranks: u32,
    wants: Option<u32>,
}

/// Everybody who has come so far. Guests are known by the order in which they came; number 0 is the coordinator's node.
#[derive(Debug)]
pub struct Assembly {
    nodes: u32,
    run: String,
    secret: String,
    guests: Vec<Option<Guest>>,
}

impl Assembly {
    pub fn new(nodes: u32, run: String, secret: String) -> Self {
        Self { nodes, run, secret, guests: Vec::new() }
    }

    /// Takes a node in, or says why not. The answer is the guest's number.
    pub fn welcome(&mut self, greeting: &Greeting) -> Result<usize, Refusal> {
        self.check(greeting)?;
        let guest = Guest { name: greeting.name.clone(), ranks: greeting.ranks, wants: greeting.node_rank };
        self.guests.push(Some(guest));
        Ok(self.guests.len() - 1)
    }

    fn check(&self, greeting: &Greeting) -> Result<(), Refusal> {
        if greeting.version != LINK_VERSION {
            let ours = env!("CARGO_PKG_VERSION").to_owned();
            return Err(Refusal::OtherVersion { ours, theirs: greeting.fermi.clone() });
        }
        if !same(&greeting.secret, &self.secret) {
            return Err(Refusal::WrongSecret);
        }
        if greeting.run != self.run {
            return Err(Refusal::OtherRun { ours: self.run.clone(), theirs: greeting.run.clone() });
        }
        if greeting.ranks == 0 {
            return Err(Refusal::NoRanks);
        }
        if let Some(node_rank) = greeting.node_rank {
            if node_rank >= self.nodes {
                return Err(Refusal::NoSuchSeat { node_rank, nodes: self.nodes });
            }
            if let Some(sitter) = self.present().find(|(_, guest)| guest.wants == Some(node_rank)) {
                return Err(Refusal::SeatTaken { node_rank, by: sitter.1.name.clone() });
            }
        }
        if self.present().count() >= self.nodes as usize {
            return Err(Refusal::Full { nodes: self.nodes });
        }
        Ok(())
    }

    pub fn leave(&mut self, number: usize) {
        if let Some(guest) = self.guests.get_mut(number) {
            *guest = None;
        }
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Guest)> {
        self.guests.iter().enumerate().filter_map(|(number, guest)| guest.as_ref().map(|guest| (number, guest)))
    }

    pub fn missing(&self) -> u32 {
        self.nodes - u32::try_from(self.present().count()).unwrap_or(self.nodes)
    }

    /// Seats for all once everybody is there: guests who named a seat have it, the others fill up in the order in which
    /// they came. The answer is in the order of node ranks, each with the guest's number.
    pub fn seats(&self) -> Option<Vec<(usize, Seat)>> {
        if self.missing() > 0 {
            return None;
        }
        let mut order: Vec<Option<(usize, &Guest)>> = vec![None; self.nodes as usize];
        for (number, guest) in self.present() {
            if let Some(slot) = guest.wants.and_then(|seat| order.get_mut(seat as usize)) {
                *slot = Some((number, guest));
            }
        }
        let mut free = self.present().filter(|(_, guest)| guest.wants.is_none());
        for slot in &mut order {
            if slot.is_none() {
                *slot = free.next();
            }
        }
        let mut first = 0;
        order
            .into_iter()
            .map(|slot| {
                let (number, guest) = slot?;
                let ranks = first..first + guest.ranks;
                first = ranks.end;
                Some((number, Seat { name: guest.name.clone(), ranks }))
            })
            .collect()
    }
}

/// What each node is told of its place.
pub fn placements(seats: &[Seat]) -> Vec<Placement> {
    let world_size = seats.iter().map(|seat| seat.ranks.end).max().unwrap_or(0);
    let node_count = u32::try_from(seats.len()).unwrap_or(u32::MAX);
    (0..node_count)
        .zip(seats)
        .map(|(node_rank, seat)| Placement { first_rank: seat.ranks.start, world_size, node_rank, node_count })
        .collect()
}

/// Compares in a time that does not tell how much of a guess was right.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len() && one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(name: &str, node_rank: Option<u32>, ranks: u32) -> Greeting {
        Greeting {
            version: LINK_VERSION,
            fermi: "1".into(),
            run: "r".into(),
            secret: "s".into(),
            name: name.into(),
            node_rank,
            ranks,
        }
    }

    fn assembly(nodes: u32) -> Assembly {
        Assembly::new(nodes, "r".into(), "s".into())
    }

    #[test]
    fn unequal_nodes_get_contiguous_ranks_in_node_order_whoever_comes_first() {
        let mut assembly = assembly(3);
        assembly.welcome(&greeting("a", Some(0), 2)).unwrap();
        assembly.welcome(&greeting("c", Some(2), 8)).unwrap();
        assert_eq!(assembly.seats(), None);
        assert_eq!(assembly.missing(), 1);
        assembly.welcome(&greeting("b", Some(1), 4)).unwrap();
        let seats: Vec<Seat> = assembly.seats().unwrap().into_iter().map(|(_, seat)| seat).collect();
        assert_eq!(
            seats.iter().map(|seat| (seat.name.as_str(), seat.ranks.clone())).collect::<Vec<_>>(),
            [("a", 0..2), ("b", 2..6), ("c", 6..14)]
        );
        assert_eq!(placements(&seats)[1], Placement { first_rank: 2, world_size: 14, node_rank: 1, node_count: 3 });
    }

    #[test]
    fn nodes_without_a_number_fill_up_in_the_order_of_arrival() {
        let mut assembly = assembly(3);
        for (name, seat) in [("host", Some(0)), ("x", None), ("y", None)] {
            assembly.welcome(&greeting(name, seat, 1)).unwrap();
        }
        let names: Vec<String> = assembly.seats().unwrap().into_iter().map(|(_, seat)| seat.name).collect();
        assert_eq!(names, ["host", "x", "y"]);
    }

    #[test]
    fn who_does_not_belong_is_refused_with_the_reason() {
        let mut assembly = assembly(2);
        assembly.welcome(&greeting("a", Some(0), 1)).unwrap();
        let refused = |assembly: &mut Assembly, change: fn(&mut Greeting)| {
            let mut greeting = greeting("b", Some(1), 1);
            change(&mut greeting);
            assembly.welcome(&greeting).unwrap_err()
        };
        assert!(matches!(refused(&mut assembly, |g| g.version = 9), Refusal::OtherVersion { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.run = "x".into()), Refusal::OtherRun { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.secret = "x".into()), Refusal::WrongSecret));
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = Some(0)), Refusal::SeatTaken { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = Some(5)), Refusal::NoSuchSeat { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.ranks = 0), Refusal::NoRanks));
        assembly.welcome(&greeting("b", None, 1)).unwrap();
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = None), Refusal::Full { .. }));
    }

    #[test]
    fn a_seat_is_free_again_when_its_node_leaves() {
        let mut assembly = assembly(2);
        assembly.welcome(&greeting("a", Some(0), 1)).unwrap();
        let b = assembly.welcome(&greeting("b", Some(1), 1)).unwrap();
        assembly.leave(b);
        assert_eq!(assembly.missing(), 1);
        assert!(assembly.welcome(&greeting("b again", Some(1), 2)).is_ok());
        assert_eq!(assembly.seats().unwrap()[1].1.ranks, 1..3);
    }
}

//! Who has come to a run, and which ranks each node gets.
//!
//! Plain values: greetings in, ranks or refusals out.

use std::collections::HashMap;
use std::fmt;

use fermi_domain::contract::RolePosition;
use fermi_domain::environment::MOST_WORKERS;
use fermi_domain::language::{Explained, Hint, Setting, Text};
use serde::{Deserialize, Serialize};

use crate::bundle::{Gathering, NodeBundle};
use crate::coordinator::NodeRanks;
use crate::handshake::Nonce;
use crate::node_message::NodePosition;
use crate::strangers_words::legible;

/// Version of the messages on a link: since 2 both ends prove that they know the secret, and sign every frame.
pub const LINK_VERSION: u32 = 2;
/// The oldest version that is understood: the one before ours, so that nodes can be upgraded one after the other. Where a
/// secret is set nodes of version 1 are refused, since they send it in clear.
pub const OLDEST_LINK_VERSION: u32 = LINK_VERSION - 1;
/// What nodes without a secret speak: there is nothing to prove, and coordinators of version 1 take them in.
pub const LINK_VERSION_WITHOUT_SECRET: u32 = 1;

/// How a node introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    pub version: u32,
    /// The release of Fermi, for the sentence when versions differ.
    pub fermi: String,
    /// Which run it means: the user's `--rdzv-id`, else empty.
    pub run: String,
    /// Empty since version 2; nodes of version 1 send the secret itself.
    pub secret: String,
    /// What this node has never said before; only where it knows a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Nonce>,
    pub name: String,
    /// The node rank it wants, when its user named one.
    pub node_rank: Option<u32>,
    pub ranks: u32,
    /// Whether it answers when it is asked for its checkpoints; older releases do not.
    #[serde(default)]
    pub tells_checkpoints: bool,
    /// Whether its ranks can meet at a store that the coordinator hosts; those of older releases look for rank 0's.
    #[serde(default)]
    pub meets_at_hosted_store: bool,
    /// The role of its ranks; older releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it was told of the run, which all nodes must be told alike; older releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
}

/// What every node of a run is told by itself, and by which it decides how long its ranks may go on: where two were told
/// otherwise, the ranks of one could outlive what the other believes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    pub nodes: NodeCount,
    pub node_lost_after_ms: u64,
}

/// How many nodes a run has, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    pub least: u32,
    pub most: u32,
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}", self.most),
            false => write!(f, "{}:{}", self.least, self.most),
        }
    }
}

impl Terms {
    pub fn of(gathering: &Gathering) -> Self {
        let nodes = NodeCount { least: gathering.least_nodes, most: gathering.nodes };
        Self { nodes, node_lost_after_ms: gathering.node_lost_after_ms }
    }

    /// Leases, which hang on the time after which a node is lost, are held in elastic runs alone.
    fn check(self, theirs: Self) -> Result<(), JoinRefusal> {
        let is_elastic = self.nodes.least < self.nodes.most;
        if theirs.nodes != self.nodes {
            return Err(JoinRefusal::OtherNodeCount { ours: self.nodes, theirs: theirs.nodes });
        }
        if is_elastic && theirs.node_lost_after_ms != self.node_lost_after_ms {
            let (ours_ms, theirs_ms) = (self.node_lost_after_ms, theirs.node_lost_after_ms);
            return Err(JoinRefusal::OtherPatience { ours_ms, theirs_ms });
        }
        Ok(())
    }
}

/// Why a node gets no ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JoinRefusal {
    OtherVersion {
        ours: String,
        theirs: String,
    },
    OtherRun {
        ours: String,
        theirs: String,
    },
    WrongSecret,
    /// It is of a release that sends the secret in clear and cannot prove that it knows it.
    ProvesNothing {
        ours: String,
        theirs: String,
    },
    #[serde(rename = "seatTaken")]
    NodeRankTaken {
        node_rank: u32,
        by: String,
    },
    #[serde(rename = "noSuchSeat")]
    NoSuchNodeRank {
        node_rank: u32,
        nodes: u32,
    },
    Full {
        nodes: u32,
    },
    OtherNodeCount {
        ours: NodeCount,
        theirs: NodeCount,
    },
    /// Another time after which a node that is silent is lost.
    OtherPatience {
        ours_ms: u64,
        theirs_ms: u64,
    },
    NoRanks,
    TooManyRanks {
        ranks: u32,
        most: u32,
    },
}

impl Greeting {
    /// How this node introduces itself.
    pub fn of(bundle: &NodeBundle) -> Self {
        Self {
            version: LINK_VERSION,
            fermi: env!("CARGO_PKG_VERSION").to_owned(),
            run: bundle.gathering.run.clone(),
            secret: String::new(),
            nonce: None,
            name: bundle.node_name.clone(),
            node_rank: bundle.gathering.node_rank,
            ranks: u32::try_from(bundle.ranks.len()).unwrap_or(u32::MAX),
            tells_checkpoints: true,
            meets_at_hosted_store: true,
            role: bundle.ranks.first().map(|rank| rank.place.role.clone()),
            terms: Some(Terms::of(&bundle.gathering)),
        }
    }
}

impl JoinRefusal {
    /// What the user of the refused node would set differently.
    pub fn settings(&self) -> Vec<Setting> {
        match self {
            Self::OtherRun { .. } => vec![Setting::RendezvousId, Setting::MasterPort],
            Self::WrongSecret => vec![Setting::RendezvousSecret],
            Self::NodeRankTaken { .. } | Self::NoSuchNodeRank { .. } => vec![Setting::NodeRank],
            Self::Full { .. } | Self::OtherNodeCount { .. } => vec![Setting::Nodes],
            Self::OtherPatience { .. } => vec![Setting::NodeLostAfter],
            Self::OtherVersion { .. } | Self::ProvesNothing { .. } => Vec::new(),
            Self::NoRanks | Self::TooManyRanks { .. } => Vec::new(),
        }
    }

    /// The same with words of the other side that people may be told.
    pub fn legible(self) -> Self {
        match self {
            Self::OtherVersion { ours, theirs } => {
                Self::OtherVersion { ours: legible(&ours), theirs: legible(&theirs) }
            }
            Self::OtherRun { ours, theirs } => Self::OtherRun { ours: legible(&ours), theirs: legible(&theirs) },
            Self::ProvesNothing { ours, theirs } => {
                Self::ProvesNothing { ours: legible(&ours), theirs: legible(&theirs) }
            }
            Self::NodeRankTaken { node_rank, by } => Self::NodeRankTaken { node_rank, by: legible(&by) },
            Self::WrongSecret | Self::NoSuchNodeRank { .. } | Self::Full { .. } => self,
            Self::OtherNodeCount { .. } | Self::OtherPatience { .. } => self,
            Self::NoRanks | Self::TooManyRanks { .. } => self,
        }
    }

    /// The same as a node that speaks this version can read it.
    pub fn as_known_to(self, version: u32) -> Self {
        match self {
            Self::ProvesNothing { ours, theirs } if version < LINK_VERSION => Self::OtherVersion { ours, theirs },
            known => known,
        }
    }
}

impl Explained for JoinRefusal {
    fn id(&self) -> &'static str {
        "node_refused"
    }

    fn text(&self) -> Text {
        match self {
            Self::OtherVersion { ours, theirs } => Text::new(
                format!(
                    "版本相差太大：主节点是 fermi {ours}，只接受连接协议相同或低一个版本的节点，本节点是 fermi {theirs}；请在所有节点安装同一版本"
                ),
                format!(
                    "versions differ too much: the first node runs fermi {ours}, which takes in nodes of its own link version and the one before, this one runs fermi {theirs}; install the same on all nodes"
                ),
            ),
            Self::OtherRun { ours, theirs } => Text::new(
                format!("该地址属于另一个任务：那里在等待 “{ours}”，而本节点要加入 “{theirs}”"),
                format!("another run waits at this address: it is '{ours}', this node wants '{theirs}'"),
            ),
            Self::WrongSecret => Text::new(
                "集合口令与主节点不一致：两边设置的不同，或者只有一边设置了",
                "the rendezvous secret is not that of the first node: the two differ, or only one of them has one",
            ),
            Self::ProvesNothing { ours, theirs } => Text::new(
                format!(
                    "该节点的 fermi {theirs} 会明文发送集合口令，无法证明自己知道口令；请把它更新到主节点的版本（fermi {ours}）"
                ),
                format!(
                    "that node's fermi {theirs} sends the rendezvous secret in clear and cannot prove that it knows it; update fermi there to that of the first node ({ours})"
                ),
            ),
            Self::NodeRankTaken { node_rank, by } => Text::new(
                format!("节点编号 {node_rank} 已由 {by} 使用；每个节点要用不同的编号"),
                format!("node rank {node_rank} is taken by {by}; each node needs its own"),
            ),
            Self::NoSuchNodeRank { node_rank, nodes } => Text::new(
                format!("节点编号 {node_rank} 超出范围：共 {nodes} 个节点，从 0 开始"),
                format!("node rank {node_rank} does not exist: there are {nodes} nodes, counted from 0"),
            ),
            Self::Full { nodes } => Text::new(
                format!("{nodes} 个节点已经到齐；节点数应在各处一致，也许已有同一任务在运行"),
                format!(
                    "all {nodes} nodes are there already; their number must be the same everywhere, or a second run uses this address"
                ),
            ),
            Self::OtherNodeCount { ours, theirs } => Text::new(
                format!("节点数不一致：主节点为 {ours}，要加入的节点为 {theirs}；各节点必须相同"),
                format!(
                    "the number of nodes differs: it is {ours} on the first node and {theirs} on the one that joins, and must be the same everywhere"
                ),
            ),
            Self::OtherPatience { ours_ms, theirs_ms } => {
                let (ours, theirs) = (seconds(*ours_ms), seconds(*theirs_ms));
                Text::new(
                    format!(
                        "节点失联时限不一致：主节点为 {ours} 秒，要加入的节点为 {theirs} 秒；节点数可变的运行中各节点必须相同"
                    ),
                    format!(
                        "the time after which a silent node is lost differs: it is {ours} s on the first node and {theirs} s on the one that joins, and must be the same everywhere in a run with a range of nodes"
                    ),
                )
            }
            Self::NoRanks => Text::new("该节点没有 rank", "that node has no ranks"),
            Self::TooManyRanks { ranks, most } => Text::new(
                format!("该节点要带来 {ranks} 个 rank，每个节点至多 {most} 个"),
                format!("that node would bring {ranks} ranks; a node has {most} at most"),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Hint::check(&self.settings())
    }
}

/// As people write it: `15`, or `0.5`.
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// A node that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Peer {
    name: String,
    ranks: u32,
    wants: Option<u32>,
    tells_checkpoints: bool,
    meets_at_hosted_store: bool,
    role: Option<String>,
}

/// Everybody who has come so far. Nodes are known by the order in which they came; number 0 is the coordinator's node.
#[derive(Debug)]
pub struct Assembly {
    /// With fewer nodes than the least the run does not start, with the most no further one is waited for.
    terms: Terms,
    run: String,
    peers: Vec<Option<Peer>>,
    /// How many of them are there, and which of them has a node rank by its own wish.
    count: u32,
    taken: HashMap<u32, usize>,
}

impl Assembly {
    pub fn new(terms: Terms, run: String) -> Self {
        Self { terms, run, peers: Vec::new(), count: 0, taken: HashMap::new() }
    }

    /// Takes a node in that has proved itself where it had to, or says why not. The answer is the node's number.
    pub fn welcome(&mut self, greeting: &Greeting) -> Result<usize, JoinRefusal> {
        self.check(greeting)?;
        let peer = Peer {
            name: greeting.name.clone(),
            ranks: greeting.ranks,
            wants: greeting.node_rank,
            tells_checkpoints: greeting.tells_checkpoints,
            meets_at_hosted_store: greeting.meets_at_hosted_store,
            role: greeting.role.clone(),
        };
        let number = self.peers.len();
        if let Some(node_rank) = peer.wants {
            self.taken.insert(node_rank, number);
        }
        self.peers.push(Some(peer));
        self.count += 1;
        Ok(number)
    }

    fn check(&self, greeting: &Greeting) -> Result<(), JoinRefusal> {
        check_version(greeting)?;
        if greeting.run != self.run {
            return Err(JoinRefusal::OtherRun { ours: self.run.clone(), theirs: legible(&greeting.run) });
        }
        if let Some(terms) = greeting.terms {
            self.terms.check(terms)?;
        }
        if greeting.ranks == 0 {
            return Err(JoinRefusal::NoRanks);
        }
        if greeting.ranks > MOST_WORKERS {
            return Err(JoinRefusal::TooManyRanks { ranks: greeting.ranks, most: MOST_WORKERS });
        }
        let nodes = self.terms.nodes.most;
        if let Some(node_rank) = greeting.node_rank {
            if node_rank >= nodes {
                return Err(JoinRefusal::NoSuchNodeRank { node_rank, nodes });
            }
            let holder = self.taken.get(&node_rank).and_then(|number| self.peers.get(*number)?.as_ref());
            if let Some(holder) = holder {
                return Err(JoinRefusal::NodeRankTaken { node_rank, by: legible(&holder.name) });
            }
        }
        if self.is_full() {
            return Err(JoinRefusal::Full { nodes });
        }
        Ok(())
    }

    pub fn leave(&mut self, number: usize) {
        if let Some(peer) = self.peers.get_mut(number).and_then(Option::take) {
            self.count -= 1;
            if let Some(node_rank) = peer.wants {
                self.taken.remove(&node_rank);
            }
        }
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Peer)> {
        self.peers.iter().enumerate().filter_map(|(number, peer)| peer.as_ref().map(|peer| (number, peer)))
    }

    /// How many more could come.
    pub fn missing(&self) -> u32 {
        self.terms.nodes.most.saturating_sub(self.count)
    }

    pub fn is_full(&self) -> bool {
        self.missing() == 0
    }

    /// Whether the run can go on without so many of those who are there.
    pub fn can_spare(&self, nodes: usize) -> bool {
        (self.count as usize).saturating_sub(nodes) >= self.terms.nodes.least as usize
    }

    /// Whether a node is of a release that tells of its checkpoints, and passes over what it does not know.
    pub fn tells_checkpoints(&self, number: usize) -> bool {
        self.peers.get(number).and_then(Option::as_ref).is_some_and(|peer| peer.tells_checkpoints)
    }

    /// Whether all who are there can meet at a store that the coordinator hosts.
    pub fn all_meet_at_hosted_store(&self) -> bool {
        self.present().all(|(_, peer)| peer.meets_at_hosted_store)
    }

    /// Where each node's ranks are among those of its role, in this order of nodes; none where all have the same role, or
    /// one does not tell its own.
    pub fn role_positions(&self, order: &[usize]) -> Vec<Option<RolePosition>> {
        let of = |number: &usize| self.peers.get(*number)?.as_ref();
        let nodes: Option<Vec<(&str, u32)>> =
            order.iter().map(|number| of(number).and_then(|peer| Some((peer.role.as_deref()?, peer.ranks)))).collect();
        let nodes = nodes.unwrap_or_default();
        if nodes.iter().all(|(role, _)| Some(*role) == nodes.first().map(|(first, _)| *first)) {
            return vec![None; order.len()];
        }
        let sum = |nodes: &[(&str, u32)], role: &str| {
            let ranks = nodes.iter().filter(|(other, _)| *other == role).map(|it| it.1);
            ranks.fold(0, u32::saturating_add)
        };
        let position = |(index, (role, _)): (usize, &(&str, u32))| {
            Some(RolePosition { first_rank: sum(&nodes[..index], role), world_size: sum(&nodes, role) })
        };
        nodes.iter().enumerate().map(position).collect()
    }

    /// Whether those who are there may start without the others.
    pub fn is_enough(&self) -> bool {
        self.count >= self.terms.nodes.least
    }

    /// The ranks of those who are there: by the number a node named, then in the order in which they came, so that those
    /// who stay keep their order. The answer is in the order of node ranks, each with the node's number.
    pub fn node_ranks(&self) -> Vec<(usize, NodeRanks)> {
        let mut order: Vec<(usize, &Peer)> = self.present().collect();
        order.sort_by_key(|(number, peer)| (peer.wants.is_none(), peer.wants, *number));
        self.fill_gaps(&mut order);
        let mut first: u32 = 0;
        order
            .into_iter()
            .map(|(number, peer)| {
                let ranks = first..first.saturating_add(peer.ranks);
                first = ranks.end;
                (number, NodeRanks { name: peer.name.clone(), ranks, tells_checkpoints: peer.tells_checkpoints })
            })
            .collect()
    }

    /// Where some named a node rank and others did not, the unnamed ones take those in between.
    fn fill_gaps<'a>(&self, order: &mut Vec<(usize, &'a Peer)>) {
        let named = order.iter().filter(|(_, peer)| peer.wants.is_some()).count();
        let free = order.split_off(named);
        let mut free = free.into_iter();
        let mut in_order: Vec<(usize, &'a Peer)> = Vec::with_capacity(order.len() + free.len());
        for (number, peer) in order.drain(..) {
            while peer.wants.is_some_and(|node_rank| node_rank as usize > in_order.len()) {
                match free.next() {
                    Some(other) => in_order.push(other),
                    None => break,
                }
            }
            in_order.push((number, peer));
        }
        in_order.extend(free);
        *order = in_order;
    }
}

/// What each node is told of its place.
pub fn node_positions(nodes_in_order: &[NodeRanks]) -> Vec<NodePosition> {
    let world_size = nodes_in_order.iter().map(|node| node.ranks.end).max().unwrap_or(0);
    let node_count = u32::try_from(nodes_in_order.len()).unwrap_or(u32::MAX);
    (0..node_count)
        .zip(nodes_in_order)
        .map(|(node_rank, node)| NodePosition { first_rank: node.ranks.start, world_size, node_rank, node_count })
        .collect()
}

/// Whether the node speaks a version that is understood.
pub fn check_version(greeting: &Greeting) -> Result<(), JoinRefusal> {
    if is_understood(greeting.version, OLDEST_LINK_VERSION, LINK_VERSION) {
        return Ok(());
    }
    let ours = env!("CARGO_PKG_VERSION").to_owned();
    Err(JoinRefusal::OtherVersion { ours, theirs: legible(&greeting.fermi) })
}

/// A newer node knows how to speak to us only if it understands our version, and it does not ask.
fn is_understood(version: u32, oldest: u32, own: u32) -> bool {
    (oldest..=own).contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(name: &str, node_rank: Option<u32>, ranks: u32) -> Greeting {
        Greeting {
            version: LINK_VERSION,
            fermi: "1".into(),
            run: "r".into(),
            secret: String::new(),
            nonce: None,
            name: name.into(),
            node_rank,
            ranks,
            tells_checkpoints: true,
            meets_at_hosted_store: true,
            role: Some("default".into()),
            terms: None,
        }
    }

    fn terms(least: u32, most: u32) -> Terms {
        Terms { nodes: NodeCount { least, most }, node_lost_after_ms: 15_000 }
    }

    fn elastic(least: u32, most: u32) -> Assembly {
        Assembly::new(terms(least, most), "r".into())
    }

    fn assembly(nodes: u32) -> Assembly {
        elastic(nodes, nodes)
    }

    #[test]
    fn strangers_greetings_are_read_or_refused() {
        let frame = |body: &[u8]| [&u32::try_from(body.len()).unwrap().to_le_bytes(), body].concat();
        let samples: Vec<Vec<u8>> =
            [greeting("a", Some(0), 2), Greeting { role: None, ..greeting("b", None, u32::MAX) }]
                .iter()
                .map(|greeting| frame(&serde_json::to_vec(greeting).unwrap()))
                .collect();
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let mut gathered = assembly(3);
        fermi_mutator::try_all(&samples, 4_000, |case| {
            // What has come so far may be cut anywhere.
            let mut inbox = crate::frame::Inbox::for_stranger(crate::link::LARGEST_GREETING);
            let (first, second) = case.split_at(case.len() / 3);
            for mut part in [first, second] {
                let _ = inbox.fill(&mut part);
                while let Ok(Some(greeting)) = inbox.take::<Greeting>() {
                    if let Err(refusal) = gathered.welcome(&greeting) {
                        assert!(!refusal.text().en.contains('\x1b'), "it may be shown on a terminal");
                    }
                }
            }
            let nodes: Vec<NodeRanks> = gathered.node_ranks().into_iter().map(|(_, node)| node).collect();
            let _ = node_positions(&nodes);
            if gathered.is_full() {
                gathered = assembly(3);
            }
        });
    }

    #[test]
    fn unequal_nodes_get_contiguous_ranks_in_node_order_whoever_comes_first() {
        let mut assembly = assembly(3);
        assembly.welcome(&greeting("a", Some(0), 2)).unwrap();
        assembly.welcome(&greeting("c", Some(2), 8)).unwrap();
        assert!(!assembly.is_enough());
        assert_eq!(assembly.missing(), 1);
        assembly.welcome(&greeting("b", Some(1), 4)).unwrap();
        let nodes_in_order: Vec<NodeRanks> = assembly.node_ranks().into_iter().map(|(_, node)| node).collect();
        assert_eq!(
            nodes_in_order.iter().map(|node| (node.name.as_str(), node.ranks.clone())).collect::<Vec<_>>(),
            [("a", 0..2), ("b", 2..6), ("c", 6..14)]
        );
        assert_eq!(
            node_positions(&nodes_in_order)[1],
            NodePosition { first_rank: 2, world_size: 14, node_rank: 1, node_count: 3 }
        );
    }

    #[test]
    fn nodes_without_a_number_fill_up_in_the_order_of_arrival() {
        let mut assembly = assembly(3);
        for (name, node_rank) in [("host", Some(0)), ("x", None), ("y", None)] {
            assembly.welcome(&greeting(name, node_rank, 1)).unwrap();
        }
        let names: Vec<String> = assembly.node_ranks().into_iter().map(|(_, node)| node.name).collect();
        assert_eq!(names, ["host", "x", "y"]);
    }

    #[test]
    fn unnamed_nodes_take_the_node_ranks_between_the_named() {
        let mut assembly = assembly(4);
        for (name, node_rank) in [("host", Some(0)), ("last", Some(3)), ("x", None), ("y", None)] {
            assembly.welcome(&greeting(name, node_rank, 1)).unwrap();
        }
        let names: Vec<String> = assembly.node_ranks().into_iter().map(|(_, node)| node.name).collect();
        assert_eq!(names, ["host", "x", "y", "last"]);
    }

    #[test]
    fn an_elastic_run_starts_with_fewer_and_those_who_stay_keep_their_order() {
        let mut assembly = elastic(2, 4);
        for (name, node_rank) in [("host", Some(0)), ("a", None), ("b", None), ("c", None)] {
            assembly.welcome(&greeting(name, node_rank, 2)).unwrap();
        }
        assert!(assembly.is_full());
        assembly.leave(2);
        assert!(assembly.is_enough() && !assembly.is_full());
        let nodes_in_order = assembly.node_ranks();
        assert_eq!(nodes_in_order.iter().map(|(_, node)| node.name.as_str()).collect::<Vec<_>>(), ["host", "a", "c"]);
        assert_eq!(nodes_in_order[2].1.ranks, 4..6);
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
        assert!(matches!(refused(&mut assembly, |g| g.version = 9), JoinRefusal::OtherVersion { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.run = "x".into()), JoinRefusal::OtherRun { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = Some(0)), JoinRefusal::NodeRankTaken { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = Some(5)), JoinRefusal::NoSuchNodeRank { .. }));
        assert!(matches!(refused(&mut assembly, |g| g.ranks = 0), JoinRefusal::NoRanks));
        assert!(matches!(refused(&mut assembly, |g| g.ranks = u32::MAX), JoinRefusal::TooManyRanks { .. }));
        assembly.welcome(&greeting("b", None, 1)).unwrap();
        assert!(matches!(refused(&mut assembly, |g| g.node_rank = None), JoinRefusal::Full { .. }));
    }

    #[test]
    fn a_node_that_was_told_otherwise_of_the_run_is_refused_and_both_hear_what() {
        let joins = |mut assembly: Assembly, terms: Option<Terms>| {
            assembly.welcome(&Greeting { terms, ..greeting("b", Some(1), 1) }).map_err(|refusal| refusal.text().en)
        };
        let told = |refused: Result<usize, std::borrow::Cow<'static, str>>| refused.unwrap_err().into_owned();
        assert!(joins(assembly(2), Some(terms(2, 2))).is_ok());
        assert!(joins(assembly(2), None).is_ok(), "older releases do not say");
        for (ours, theirs, differs) in [
            (assembly(2), terms(3, 3), "it is 2 on the first node and 3 on the one that joins"),
            (assembly(2), terms(1, 2), "it is 2 on the first node and 1:2 on the one that joins"),
            (elastic(1, 2), terms(2, 2), "it is 1:2 on the first node and 2 on the one that joins"),
            (elastic(1, 4), terms(2, 4), "it is 1:4 on the first node and 2:4 on the one that joins"),
        ] {
            let refused = told(joins(ours, Some(theirs)));
            assert!(refused.contains(differs), "{refused}");
        }
        // A lease of the node's own patience would outlast that of the first node.
        let slower = |least| Some(Terms { node_lost_after_ms: 60_500, ..terms(least, 2) });
        let refused = told(joins(elastic(1, 2), slower(1)));
        assert!(refused.contains("it is 15 s on the first node and 60.5 s on the one that joins"), "{refused}");
        assert!(joins(assembly(2), slower(2)).is_ok(), "a run of a fixed size has no such leases");
    }

    #[test]
    fn the_version_before_is_understood_and_no_other() {
        let understood = |own: u32| (0..6).filter(|version| is_understood(*version, own - 1, own)).collect::<Vec<_>>();
        assert_eq!(understood(3), [2, 3]);
        const { assert!(OLDEST_LINK_VERSION + 1 >= LINK_VERSION && OLDEST_LINK_VERSION >= 1) };
        for version in OLDEST_LINK_VERSION..=LINK_VERSION {
            let greeting = Greeting { version, ..greeting("a", Some(0), 1) };
            assert!(assembly(2).welcome(&greeting).is_ok(), "{version}");
        }
        for version in [0, LINK_VERSION + 1] {
            let refusal = assembly(2).welcome(&Greeting { version, ..greeting("a", Some(0), 1) }).unwrap_err();
            assert_eq!(
                refusal,
                JoinRefusal::OtherVersion { ours: env!("CARGO_PKG_VERSION").into(), theirs: "1".into() }
            );
        }
    }

    #[test]
    fn a_node_rank_is_free_again_when_its_node_leaves() {
        let mut assembly = assembly(2);
        assembly.welcome(&greeting("a", Some(0), 1)).unwrap();
        let b = assembly.welcome(&greeting("b", Some(1), 1)).unwrap();
        assembly.leave(b);
        assert_eq!(assembly.missing(), 1);
        assert!(assembly.welcome(&greeting("b again", Some(1), 2)).is_ok());
        assert_eq!(assembly.node_ranks()[1].1.ranks, 1..3);
    }

    #[test]
    fn only_an_elastic_run_with_enough_nodes_can_spare_one() {
        let mut assembly = elastic(2, 4);
        for name in ["a", "b", "c"] {
            assembly.welcome(&greeting(name, None, 1)).unwrap();
        }
        assert!(assembly.can_spare(1) && !assembly.can_spare(2));
        let mut fixed = super::tests::assembly(1);
        fixed.welcome(&greeting("a", None, 1)).unwrap();
        assert!(!fixed.can_spare(1));
    }

    #[test]
    fn a_node_of_an_older_release_keeps_the_store_with_rank_0() {
        let mut assembly = assembly(2);
        assembly.welcome(&greeting("a", None, 1)).unwrap();
        assert!(assembly.all_meet_at_hosted_store());
        assembly.welcome(&Greeting { meets_at_hosted_store: false, ..greeting("b", None, 1) }).unwrap();
        assert!(!assembly.all_meet_at_hosted_store());
    }

    #[test]
    fn ranks_are_counted_within_their_role_where_there_are_several() {
        let mut assembly = assembly(3);
        for (name, role) in [("a", "trainer"), ("b", "reader"), ("c", "trainer")] {
            assembly.welcome(&Greeting { role: Some(role.into()), ..greeting(name, None, 2) }).unwrap();
        }
        let at = |first_rank, world_size| Some(RolePosition { first_rank, world_size });
        assert_eq!(assembly.role_positions(&[0, 1, 2]), [at(0, 4), at(0, 2), at(2, 4)]);
        assert_eq!(assembly.role_positions(&[0, 2]), [None, None]);
        assembly.peers[1].as_mut().unwrap().role = None;
        assert_eq!(assembly.role_positions(&[0, 1, 2]), [None, None, None]);
    }
}

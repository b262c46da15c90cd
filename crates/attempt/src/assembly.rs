//! Who has come to a run, and which ranks each node gets.
//!
//! Plain values: greetings in, ranks or refusals out.

use std::collections::HashMap;

use fermi_domain::contract::RolePosition;
use fermi_domain::environment::MOST_WORKERS;

use crate::coordinator::NodeRanks;
use crate::greeting::{Greeting, Terms};
use crate::join_refusal::JoinRefusal;
use crate::node_message::NodePosition;
use crate::strangers_words::legible;

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
        greeting.check_version()?;
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

#[cfg(test)]
mod tests {
    use fermi_domain::language::Explained;

    use super::*;
    use crate::greeting::NodeCount;

    fn greeting(name: &str, node_rank: Option<u32>, ranks: u32) -> Greeting {
        Greeting { name: name.into(), node_rank, ranks, role: Some("default".into()), ..Greeting::sample() }
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

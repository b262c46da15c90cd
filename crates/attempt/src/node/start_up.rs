//! The coordinator's look at a start-up: which ranks of all nodes wait for which others. What follows from what is seen is
//! decided by [`view`] and [`Telling`].

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::start_up::{RankStanding, RanksWait, Standing, StartUp, Telling, view};
use fermi_tcpstore::WaitingClient;

use crate::coordinator::NodeRanks;
use crate::node_message::RankSeen;

/// Nodes are asked at most so often.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Nobody waits any more when so many looks in a row have found nobody.
const QUIET_LOOKS: u32 = 2;

/// The watch over the start-up of the attempt that runs.
#[derive(Debug, Default)]
pub struct StartUpWatch {
    attempt: u32,
    /// None while there is nothing to watch.
    nodes: BTreeMap<usize, SeatedNode>,
    began: Option<Instant>,
    looked: Option<Instant>,
    asked: Option<Instant>,
    waits_since: Option<Instant>,
    quiet_looks: u32,
    ended: BTreeSet<u32>,
    telling: Telling,
}

/// A node of the attempt, by its number in the assembly.
#[derive(Debug)]
struct SeatedNode {
    name: String,
    ranks: Range<u32>,
    /// None of the coordinator's own.
    address: Option<IpAddr>,
    /// How many questions it has not answered.
    unanswered: u32,
    answer: Option<NodeAnswer>,
}

#[derive(Debug)]
struct NodeAnswer {
    missing: Vec<u32>,
    ranks: Vec<RankSeen>,
}

impl StartUpWatch {
    /// An attempt begins. A rank that is alone waits for nobody.
    pub fn begin(&mut self, attempt: u32, nodes: impl IntoIterator<Item = (usize, NodeRanks, Option<IpAddr>)>) {
        let nodes: BTreeMap<usize, SeatedNode> = nodes
            .into_iter()
            .map(|(number, NodeRanks { name, ranks, .. }, address)| {
                (number, SeatedNode { name, ranks, address, unanswered: 0, answer: None })
            })
            .collect();
        let ranks: usize = nodes.values().map(|node| node.ranks.len()).sum();
        let nodes = if ranks > 1 { nodes } else { BTreeMap::new() };
        *self = Self { attempt, nodes, began: Some(Instant::now()), ..Self::default() };
    }

    /// Ranks are being ended, or have all met.
    pub fn rest(&mut self) {
        // What was asked before is answered still.
        let unanswered = self.nodes.values().any(|node| node.unanswered > 0);
        match unanswered {
            true => self.began = None,
            false => *self = Self::default(),
        }
    }

    /// When to look even if nothing happens; less and less often.
    pub fn wake_in(&self) -> Option<Duration> {
        let began = self.began.filter(|_| !self.nodes.is_empty())?;
        Some(match began.elapsed().as_secs() {
            0..60 => Duration::from_millis(250),
            60..600 => Duration::from_secs(5),
            _ => Duration::from_secs(30),
        })
    }

    pub fn is_due(&self) -> bool {
        self.wake_in().is_some_and(|every| self.looked.is_none_or(|looked| looked.elapsed() >= every))
    }

    pub fn rank_ended(&mut self, rank: u32) {
        self.ended.insert(rank);
    }

    /// Whether nodes are to be asked: where a store is hosted only if somebody waits there.
    pub fn asks(&mut self, waiting: Option<&[WaitingClient]>) -> bool {
        self.looked = Some(Instant::now());
        let is_of_use = waiting.is_none_or(|waiting| !waiting.is_empty());
        let asks = is_of_use && self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY);
        if asks {
            self.asked = Some(Instant::now());
        }
        asks
    }

    pub fn asked(&mut self, number: usize) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.unanswered += 1;
        }
    }

    /// Takes an answer, unless it is one to a question of the coordinator's; whether it was taken.
    pub fn hear(&mut self, number: usize, missing: &[u32], ranks: &[RankSeen]) -> bool {
        let Some(node) = self.nodes.get_mut(&number).filter(|node| node.unanswered > 0) else { return false };
        node.unanswered -= 1;
        node.answer = Some(NodeAnswer { missing: missing.to_vec(), ranks: ranks.to_vec() });
        true
    }

    /// What is to be told, from what all nodes have answered last and those who wait at the hosted store.
    pub fn look(&mut self, waiting: Option<&[WaitingClient]>) -> Option<RunEvent> {
        let found = match waiting {
            Some([]) => StartUp::Quiet,
            _ if self.nodes.values().any(|node| node.answer.is_none()) => return None,
            waiting => {
                let ranks = self.standings(waiting.unwrap_or_default());
                let knows_who_waits = ranks.iter().any(|rank| rank.waits_for.is_some());
                view(&ranks, waiting.is_some() && knows_who_waits)
            }
        };
        match found {
            StartUp::Waits(wait) => self.waits(wait),
            StartUp::Quiet => self.quiet(),
            StartUp::Over => {
                let told = self.passed();
                self.rest();
                told
            }
        }
    }

    fn waits(&mut self, wait: RanksWait) -> Option<RunEvent> {
        self.quiet_looks = 0;
        let waited_ms = millis(self.waits_since.get_or_insert_with(Instant::now).elapsed());
        let text = self.telling.is_due(&wait, waited_ms).then(|| Box::new(wait.text()))?;
        Some(RunEvent::RanksWaiting { attempt: self.attempt, waited_ms, wait, text })
    }

    fn quiet(&mut self) -> Option<RunEvent> {
        self.quiet_looks += 1;
        if self.quiet_looks < QUIET_LOOKS { None } else { self.passed() }
    }

    fn passed(&mut self) -> Option<RunEvent> {
        let since = self.waits_since.take()?;
        let waited_ms = millis(since.elapsed());
        self.telling.pass().then_some(RunEvent::RanksMet { attempt: self.attempt, waited_ms })
    }

    fn standings(&self, waiting: &[WaitingClient]) -> Vec<RankStanding> {
        let mut keys: BTreeMap<u32, &str> = BTreeMap::new();
        for client in waiting {
            if let Some(rank) = self.rank_of(client) {
                keys.insert(rank, &client.key);
            }
        }
        let of_node = |node: &SeatedNode| {
            let standing = |rank: u32| {
                let answer = node.answer.as_ref();
                let is_missing = answer.is_some_and(|answer| answer.missing.contains(&rank));
                let seen = answer.and_then(|answer| answer.ranks.iter().find(|seen| seen.rank == rank));
                RankStanding {
                    rank,
                    node: node.name.clone(),
                    standing: match self.ended.contains(&rank) {
                        true => Standing::Ended,
                        false if is_missing => Standing::NotJoined,
                        false => Standing::Joined,
                    },
                    phase: seen.and_then(|seen| seen.phase),
                    waits_for: keys.get(&rank).map(|key| (*key).to_owned()),
                }
            };
            node.ranks.clone().map(standing).collect::<Vec<_>>()
        };
        let mut all: Vec<RankStanding> = self.nodes.values().flat_map(of_node).collect();
        all.sort_by_key(|standing| standing.rank);
        all
    }

    /// The rank of the process that a client has said. The same number may be a process on several nodes: there the address
    /// tells which is meant.
    fn rank_of(&self, client: &WaitingClient) -> Option<u32> {
        let pid = i32::try_from(client.process?).ok()?;
        let rank_of = |node: &SeatedNode| {
            let seen = node.answer.iter().flat_map(|answer| &answer.ranks);
            seen.into_iter().find(|seen| seen.pids.contains(&pid)).map(|seen| seen.rank)
        };
        let found: Vec<(&SeatedNode, u32)> =
            self.nodes.values().filter_map(|node| Some((node, rank_of(node)?))).collect();
        match found.as_slice() {
            [(_, rank)] => Some(*rank),
            several => {
                let there = several.iter().find(|(node, _)| node.address == Some(client.address));
                let here = several.iter().find(|(node, _)| node.address.is_none());
                there.or(here).map(|(_, rank)| *rank)
            }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use fermi_domain::pulse::Phase;

    use super::*;

    const OF_3: &str = "/default_pg/0//cpu//0/3";

    fn two_nodes() -> StartUpWatch {
        let node = |name: &str, ranks| NodeRanks { name: name.to_owned(), ranks, tells_checkpoints: true };
        let mut watch = StartUpWatch::default();
        watch.begin(1, [(0, node("a", 0..2), None), (1, node("b", 2..4), Some("10.0.0.2".parse().unwrap()))]);
        watch
    }

    fn client(address: &str, process: u32) -> WaitingClient {
        WaitingClient { address: address.parse().unwrap(), process: Some(process), key: OF_3.to_owned() }
    }

    fn seen(rank: u32, phase: Phase, pid: Option<i32>) -> RankSeen {
        RankSeen { rank, phase: Some(phase), pids: pid.into_iter().collect() }
    }

    /// Both nodes answer; their processes have the same numbers, as in containers.
    fn answered() -> StartUpWatch {
        let mut watch = two_nodes();
        (0..2).for_each(|number| watch.asked(number));
        assert!(watch.hear(0, &[], &[seen(0, Phase::Init, Some(7)), seen(1, Phase::Init, Some(8))]));
        assert!(watch.hear(1, &[3], &[seen(2, Phase::Init, Some(7)), seen(3, Phase::Import, None)]));
        watch
    }

    #[test]
    fn clients_are_ranks_by_their_process_and_where_that_is_not_enough_by_their_address() {
        let watch = answered();
        let rank = |address, process| watch.rank_of(&client(address, process));
        assert_eq!((rank("10.0.0.1", 8), rank("10.0.0.2", 7), rank("127.0.0.1", 7)), (Some(1), Some(2), Some(0)));
        assert_eq!(rank("10.0.0.2", 9), None);
    }

    #[test]
    fn it_is_told_who_waits_for_whom_and_that_they_have_met() {
        let mut watch = answered();
        let waiting = [client("10.0.0.1", 7), client("10.0.0.1", 8), client("10.0.0.2", 7)];
        assert_eq!(watch.look(Some(&waiting)), None, "nobody has waited long");
        watch.waits_since = Instant::now().checked_sub(Duration::from_secs(2));
        let Some(RunEvent::RanksWaiting { wait, text, .. }) = watch.look(Some(&waiting)) else { panic!("not told") };
        assert_eq!(wait.waiting, [0, 1, 2]);
        assert_eq!(text.en, "ranks 0–2 wait for rank 3 on b, which is importing");
        assert_eq!(watch.look(Some(&[])), None, "a moment between two waits");
        assert!(matches!(watch.look(Some(&[])), Some(RunEvent::RanksMet { .. })));
        assert_eq!(watch.look(Some(&[])), None);
    }

    #[test]
    fn nothing_is_told_before_all_nodes_have_answered_and_of_one_rank_never() {
        let mut watch = two_nodes();
        let waiting = [client("10.0.0.1", 7)];
        assert!(watch.is_due() && watch.asks(Some(&waiting)) && !watch.is_due());
        assert_eq!(watch.look(Some(&waiting)), None);
        let alone = NodeRanks { name: "a".to_owned(), ranks: 0..1, tells_checkpoints: true };
        watch.begin(1, [(0, alone, None)]);
        assert!(!watch.is_due() && watch.wake_in().is_none());
    }

    #[test]
    fn answers_to_the_coordinators_own_question_are_left_to_it() {
        let mut watch = two_nodes();
        assert!(!watch.hear(1, &[3], &[]), "nothing was asked");
        watch.asked(1);
        watch.rest();
        assert!(watch.hear(1, &[3], &[]), "asked before the ranks were ended");
        assert!(!watch.hear(1, &[3], &[]));
        assert!(!watch.is_due());
    }

    #[test]
    fn without_a_hosted_store_those_who_have_joined_wait_for_those_who_have_not() {
        let mut watch = answered();
        watch.waits_since = Instant::now().checked_sub(Duration::from_secs(2));
        let Some(RunEvent::RanksWaiting { text, .. }) = watch.look(None) else { panic!("not told") };
        assert_eq!(text.en, "ranks 0–2 wait for rank 3 on b, which is importing");
        watch.asked(1);
        watch.hear(1, &[], &[]);
        assert!(matches!(watch.look(None), Some(RunEvent::RanksMet { .. })));
        assert!(watch.wake_in().is_none(), "all have joined");
    }
}

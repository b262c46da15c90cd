//! After a sum that failed: the same two at a time, in rounds, which shows with whom it fails.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::NodesOptions;
use super::hub::{ANSWER, ENGINE, FOLDER, Hub};
use super::message::{NodeAnswer, NodeOrder};
use super::obey::Obedient;
use super::schedule;
use super::survey::{EngineOutcome, EngineSurvey, PairSum, StepName, SumOutcome};

/// How long two nodes have.
const SUM: Duration = Duration::from_secs(3);
const ENGINE_SUM: Duration = Duration::from_secs(8);
/// What two rounds of the engine's take.
pub const ENGINES: Duration = Duration::from_secs(20);

/// One rank of two.
struct PairRank {
    rank: usize,
    master_addr: String,
    port: u16,
}

/// What is tried, and how long two nodes have for it.
struct Try<O, W> {
    step: StepName,
    patience: Duration,
    /// What is left for what follows.
    later: Duration,
    order: O,
    is_right: W,
}

impl Hub {
    pub(super) fn sums_of_pairs(&mut self, me: &Obedient, options: &NodesOptions) -> Vec<PairSum> {
        let knows = |node: &usize| self.survey.nodes[*node].greeting.as_ref().is_some_and(|it| it.knows_pairs);
        if !self.survey.present().iter().all(knows) {
            return Vec::new();
        }
        let order = |rank: PairRank| NodeOrder::AllReduce {
            id: format!("doctor-{}-{}", std::process::id(), rank.port),
            port: rank.port,
            rank: rank.rank,
            world_size: 2,
            master_addr: rank.master_addr,
            patience_ms: Some(millis(SUM)),
        };
        let is_right = |answer: &NodeAnswer| matches!(answer, NodeAnswer::Sum(sum) if SumOutcome::is_right(sum));
        let engine = if options.engine.is_some() { ENGINE } else { Duration::ZERO };
        let later = engine + options.path.as_ref().map_or(Duration::ZERO, |_| FOLDER);
        self.by_pairs(me, &Try { step: StepName::AllReduce, patience: SUM, later, order, is_right })
    }

    /// Where it has failed for another reason than that an engine is missing.
    pub(super) fn engines_of_pairs(
        &mut self,
        me: &Obedient,
        tried: &EngineSurvey,
        options: &NodesOptions,
    ) -> Vec<PairSum> {
        let outcomes = || tried.outcomes.iter().map(|(_, outcome)| outcome.as_ref());
        let has_added = outcomes().all(|it| it.is_some_and(EngineOutcome::is_right));
        let has_met = |it: Option<&EngineOutcome>| it.is_none_or(EngineOutcome::may_be_the_network);
        if has_added || !outcomes().all(has_met) {
            return Vec::new();
        }
        let order = |rank: PairRank| NodeOrder::Engine {
            engine: tried.engine,
            backend: tried.backend.clone(),
            rank: rank.rank,
            world_size: 2,
            master_addr: rank.master_addr,
            port: rank.port,
            patience_ms: millis(ENGINE_SUM),
        };
        let is_right = |answer: &NodeAnswer| matches!(answer, NodeAnswer::Engine(sum) if EngineOutcome::is_right(sum));
        let later = options.path.as_ref().map_or(Duration::ZERO, |_| FOLDER);
        self.by_pairs(me, &Try { step: StepName::Engine, patience: ENGINE_SUM, later, order, is_right })
    }

    /// Each node with two partners, as far as there is time: whoever fails with both is the bad one.
    fn by_pairs(
        &mut self,
        me: &Obedient,
        what: &Try<impl Fn(PairRank) -> NodeOrder, impl Fn(&NodeAnswer) -> bool>,
    ) -> Vec<PairSum> {
        let present = self.survey.present();
        // With an odd number somebody pauses in each round.
        let rounds = if present.len() < 3 { 0 } else { 2 + present.len() % 2 };
        let mut found = Vec::new();
        for round in schedule::rounds(&present).into_iter().take(rounds) {
            if self.until.saturating_duration_since(Instant::now()) < what.patience + ANSWER + what.later {
                break;
            }
            found.extend(self.round(me, round, what));
        }
        found
    }

    fn round(
        &mut self,
        me: &Obedient,
        pairs: Vec<(usize, usize)>,
        what: &Try<impl Fn(PairRank) -> NodeOrder, impl Fn(&NodeAnswer) -> bool>,
    ) -> Vec<PairSum> {
        let present = self.survey.present();
        let peers = self.peers();
        // Ports that are free here are most likely free there too. All are taken at once, so that no two are the same.
        let ports: Vec<TcpListener> = pairs.iter().filter_map(|_| TcpListener::bind(("0.0.0.0", 0)).ok()).collect();
        let ports: Vec<u16> = ports.iter().filter_map(|it| it.local_addr().ok()).map(|it| it.port()).collect();
        let (mut tried, mut orders) = (Vec::new(), Vec::new());
        for ((a, b), port) in pairs.into_iter().zip(ports) {
            if !present.contains(&a) || !present.contains(&b) {
                continue;
            }
            let master = peers.iter().find(|peer| peer.node == a).and_then(|peer| self.reachable(peer, b, false));
            let Some(master) = master.and_then(|peer| peer.addresses.first().map(|it| it.ip.to_string())) else {
                continue;
            };
            let rank = |rank: usize| (what.order)(PairRank { rank, master_addr: master.clone(), port });
            orders.extend([(a, rank(0)), (b, rank(1))]);
            tried.push((a, b));
        }
        let answers = self.ask(me, what.step, what.patience + ANSWER, orders);
        let is_right = |node: usize| answers.iter().any(|(it, answer)| *it == node && (what.is_right)(answer));
        tried.into_iter().map(|nodes| PairSum { nodes, is_right: is_right(nodes.0) && is_right(nodes.1) }).collect()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

//! The first node: one order after the other to all, each with a deadline.

use std::collections::BTreeSet;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fermi_attempt::port as lease;
use fermi_domain::language::Text;
use fermi_domain::preflight::{PreflightEngine, PreflightStep};

use super::candidates::candidates;
use super::gather::{Member, gather};
use super::message::{Address, Greeting, NodeAnswer, NodeOrder, Peer};
use super::obey::{Obedient, VALUES};
use super::schedule::Trial;
use super::survey::{EngineSurvey, FolderSurvey, NodeSeen, Reach, StepName, SumOutcome, SumSeen, Survey};
use super::{NodesOptions, folder, frame, pairs, responder, schedule};
use crate::facts::{EngineAnswer, MachineFacts, PythonFacts, Seen};
use crate::look::Step;

/// How long each step may take in all.
const FACTS: Duration = Duration::from_secs(15);
const PINGS: Duration = Duration::from_secs(12);
const ROUND: Duration = Duration::from_secs(6);
const TRANSFERS: Duration = Duration::from_secs(14);
const SUM: Duration = Duration::from_secs(10);
/// Importing takes most of it; the nodes have done so once before, to be asked for its version.
pub(super) const ENGINE: Duration = Duration::from_secs(20);
const SHORT_ENGINE: Duration = Duration::from_secs(12);
/// Between a node's own deadline and that of its answer.
pub(super) const ANSWER: Duration = Duration::from_secs(2);
pub(super) const FOLDER: Duration = Duration::from_secs(8);
/// Bytes of a packet that any network carries, with its headers.
const SMALL: u32 = 500;
/// Rounds beyond these tell little more.
const MOST_ROUNDS: usize = 15;

/// What is left to do when all is known.
#[derive(Debug)]
pub struct Hub {
    pub survey: Survey,
    members: Vec<Option<Member>>,
    pub(super) until: Instant,
}

/// Where the others come to.
pub fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = responder::listen(port)?;
    // Orders and answers come through where an MTU is wrong, so that it can be said.
    let _ = nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::TcpMaxSeg, &SMALL);
    Ok(listener)
}

/// Measures with all nodes that come, and tells each step as it begins, with how much of it is done. The look at this
/// machine has begun already.
pub fn run(
    listener: TcpListener,
    options: &NodesOptions,
    look: Step<MachineFacts>,
    tell: impl Fn(PreflightStep, u32, u32),
) -> io::Result<Hub> {
    let port = responder::start()?;
    tell(PreflightStep::Meeting, 0, 0);
    let greeting = Greeting {
        node_rank: 0,
        nnodes: options.nnodes,
        name: options.name.clone(),
        port,
        has_master_port: true,
        addresses: candidates(),
        fresh: String::new(),
        proof: String::new(),
        knows_engines: true,
        knows_pairs: true,
    };
    let mut hub = Hub::gathered(options, greeting, gather(listener, options));
    let me = Obedient { node: 0, look: Mutex::new(Some(look)), python: options.python.clone() };
    tell(PreflightStep::Looking, 0, 0);
    hub.facts(&me);
    tell(PreflightStep::Latency, 0, 0);
    hub.pings(&me);
    hub.transfers(&me, options.engine, |done, of| tell(PreflightStep::Bandwidth, done, of));
    tell(PreflightStep::AllReduce, 0, 0);
    hub.sum(&me, options)?;
    if let Some(engine) = options.engine {
        tell(PreflightStep::Engine, 0, 0);
        hub.engine(&me, engine, options)?;
    }
    if let Some(path) = &options.path {
        tell(PreflightStep::Folder, 0, 0);
        hub.folder(&me, path);
    }
    Ok(hub)
}

impl Hub {
    fn gathered(options: &NodesOptions, own: Greeting, came: Vec<Member>) -> Self {
        let mut members: Vec<Option<Member>> = (0..options.nnodes).map(|_| None).collect();
        let expected = |node: usize| NodeSeen { node, name: options.names.get(node).cloned(), ..NodeSeen::default() };
        let mut nodes: Vec<NodeSeen> = (0..options.nnodes).map(expected).collect();
        let mut seat = |greeting: &Greeting| {
            if let Some(seen) = nodes.get_mut(greeting.node_rank) {
                seen.name = Some(greeting.name.clone());
                seen.greeting = Some(greeting.clone());
            }
        };
        seat(&own);
        for member in came {
            seat(&member.greeting);
            let node = member.greeting.node_rank;
            if let Some(place) = members.get_mut(node) {
                *place = Some(member);
            }
        }
        let survey = Survey {
            nnodes: options.nnodes,
            nodes,
            pings: vec![Vec::new(); options.nnodes],
            join_seconds: options.join.as_secs(),
            master_port: options.master_port,
            ..Survey::default()
        };
        Self { survey, members, until: options.until }
    }

    /// Gives each node its order and returns what came back in time. Who did not answer is lost.
    pub(super) fn ask(
        &mut self,
        me: &Obedient,
        step: StepName,
        patience: Duration,
        orders: Vec<(usize, NodeOrder)>,
    ) -> Vec<(usize, NodeAnswer)> {
        let deadline = (Instant::now() + patience).min(self.until);
        let members = &self.members;
        let asked = |node: usize, order: &NodeOrder| match members.get(node) {
            Some(Some(member)) => {
                frame::send(&member.stream, order, deadline).ok()?;
                frame::receive::<NodeAnswer>(&member.stream, deadline).ok()
            }
            _ if node == me.node => me.obey(order),
            _ => None,
        };
        let answers: Vec<(usize, Option<NodeAnswer>)> = thread::scope(|scope| {
            let running: Vec<_> =
                orders.iter().map(|(node, order)| (*node, scope.spawn(|| asked(*node, order)))).collect();
            running.into_iter().map(|(node, thread)| (node, thread.join().ok().flatten())).collect()
        });
        let mut heard = Vec::new();
        for (node, answer) in answers {
            match answer {
                Some(answer) => heard.push((node, answer)),
                None if node != me.node => {
                    self.members[node] = None;
                    self.survey.nodes[node].lost = Some(step);
                }
                None => {}
            }
        }
        heard
    }

    pub(super) fn peers(&self) -> Vec<Peer> {
        let present = self.survey.present();
        let greetings = present.iter().filter_map(|node| self.survey.nodes[*node].greeting.as_ref());
        greetings
            .map(|greeting| Peer {
                node: greeting.node_rank,
                port: greeting.port,
                has_master_port: greeting.has_master_port,
                addresses: greeting.addresses.clone(),
            })
            .collect()
    }

    fn facts(&mut self, me: &Obedient) {
        let orders = self.survey.present().into_iter().map(|node| (node, NodeOrder::Facts)).collect();
        for (node, answer) in self.ask(me, StepName::Facts, FACTS, orders) {
            if let NodeAnswer::Facts(facts) = answer {
                self.survey.nodes[node].facts = facts;
            }
        }
    }

    fn pings(&mut self, me: &Obedient) {
        let order = NodeOrder::Ping { peers: self.peers(), master_port: self.survey.master_port };
        let orders = self.survey.present().into_iter().map(|node| (node, order.clone())).collect();
        for (node, answer) in self.ask(me, StepName::Ping, PINGS, orders) {
            if let NodeAnswer::Pings(rows) = answer {
                self.survey.pings[node] = rows;
            }
        }
    }

    /// All addresses of each node once, else over the one that answered quickest.
    fn transfers(&mut self, me: &Obedient, engine: Option<PreflightEngine>, tell: impl Fn(u32, u32)) {
        let later = SUM + FOLDER + engine.map_or(Duration::ZERO, |_| ENGINE);
        let left = self.until.saturating_duration_since(Instant::now()).saturating_sub(later);
        let deadline = Instant::now() + TRANSFERS.min(left);
        let rounds: Vec<_> = schedule::rounds(&self.survey.present()).into_iter().take(MOST_ROUNDS).collect();
        let count = rounds.len() as u32;
        let has_several = |peer: &&Peer| peer.addresses.len() > 1;
        let mut unweighed: BTreeSet<usize> = self.peers().iter().filter(has_several).map(|peer| peer.node).collect();
        for (number, round) in rounds.into_iter().enumerate() {
            tell(number as u32, count);
            if Instant::now() >= deadline {
                return;
            }
            self.transfer_round(me, &round, &mut unweighed);
        }
        loop {
            let round = schedule::rest(&self.survey.present(), &unweighed);
            if round.is_empty() || Instant::now() >= deadline {
                return;
            }
            self.transfer_round(me, &round, &mut unweighed);
        }
    }

    fn transfer_round(&mut self, me: &Obedient, round: &[(usize, usize)], unweighed: &mut BTreeSet<usize>) {
        let (peers, present) = (self.peers(), self.survey.present());
        let are_there = |(a, b): &(usize, usize)| present.contains(a) && present.contains(b);
        let round: Vec<(usize, usize)> = round.iter().copied().filter(are_there).collect();
        let order = |trial: Trial| {
            let peer = self.reachable(peers.iter().find(|peer| peer.node == trial.to)?, trial.from, trial.over_all)?;
            Some((trial.from, NodeOrder::Transfer { peer }))
        };
        let orders = schedule::trials(&round, unweighed).into_iter().filter_map(order).collect();
        for (_, answer) in self.ask(me, StepName::Transfer, ROUND, orders) {
            if let NodeAnswer::Transfers(found) = answer {
                self.survey.transfers.extend(found);
            }
        }
    }

    /// The peer with those of its addresses that the node has reached.
    pub(super) fn reachable(&self, peer: &Peer, from: usize, with_all: bool) -> Option<Peer> {
        const MOST_PATHS: usize = 3;
        let row = self.survey.row(from, peer.node)?;
        let mut paths: Vec<_> = row.paths.iter().filter(|path| path.reach == Reach::Connected).collect();
        paths.sort_by_key(|path| path.pings.map_or(u64::MAX, |pings| pings.least_us));
        paths.truncate(if with_all { MOST_PATHS } else { 1 });
        let addresses: Vec<Address> =
            paths.iter().map(|path| Address { interface: path.interface.clone(), ip: path.ip }).collect();
        (!addresses.is_empty()).then(|| Peer { addresses, ..peer.clone() })
    }

    fn sum(&mut self, me: &Obedient, options: &NodesOptions) -> io::Result<()> {
        let present = self.survey.present();
        if present.len() < 2 {
            return Ok(());
        }
        // Held until all are done: on a busy machine another program would be given it meanwhile.
        let lease = lease::free()?;
        let port = lease.port;
        let id = format!("doctor-{}-{port}", std::process::id());
        let order = |rank: usize| NodeOrder::AllReduce {
            id: id.clone(),
            port,
            rank,
            world_size: present.len(),
            master_addr: options.master_addr.clone(),
            patience_ms: None,
        };
        let orders = present.iter().enumerate().map(|(rank, node)| (*node, order(rank))).collect();
        let answers = self.ask(me, StepName::AllReduce, SUM, orders);
        let of = |node: usize| answers.iter().find(|(it, _)| *it == node).and_then(|(_, answer)| outcome(answer));
        let outcomes = present.iter().map(|node| (*node, of(*node))).collect();
        let mut seen = SumSeen { bytes: (VALUES * 4) as u64, outcomes, pairs: Vec::new() };
        if !seen.is_right() {
            seen.pairs = self.sums_of_pairs(me, options);
        }
        self.survey.sum = Some(seen);
        Ok(())
    }

    /// One rank on each node. Who is of an older release would hang up on an order that it does not know.
    fn engine(&mut self, me: &Obedient, engine: PreflightEngine, options: &NodesOptions) -> io::Result<()> {
        let present = self.survey.present();
        let knows = |node: usize| self.survey.nodes[node].greeting.as_ref().is_some_and(|it| it.knows_engines);
        let outdated: Vec<usize> = present.iter().copied().filter(|node| !knows(*node)).collect();
        let backend = backend(engine, &self.survey).to_owned();
        let mut survey = EngineSurvey { engine, backend, outcomes: Vec::new(), outdated, pairs: Vec::new() };
        if survey.outdated.is_empty() {
            let folder = options.path.as_ref().map_or(Duration::ZERO, |_| FOLDER);
            let left = self.until.saturating_duration_since(Instant::now()).saturating_sub(folder + ANSWER);
            // Among three and more, what fails is tried again two at a time.
            let later = if present.len() > 2 { pairs::ENGINES } else { Duration::ZERO };
            let patience = ENGINE.min(left.saturating_sub(later).max(SHORT_ENGINE)).min(left);
            let port = TcpListener::bind(("0.0.0.0", 0)).and_then(|listener| listener.local_addr())?.port();
            let order = |rank: usize| NodeOrder::Engine {
                engine,
                backend: survey.backend.clone(),
                rank,
                world_size: present.len(),
                master_addr: options.master_addr.clone(),
                port,
                patience_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            };
            let orders = present.iter().enumerate().map(|(rank, node)| (*node, order(rank))).collect();
            let mut answers = self.ask(me, StepName::Engine, patience + ANSWER, orders);
            survey.outcomes = present.iter().map(|node| (*node, None)).collect();
            for (node, outcome) in &mut survey.outcomes {
                let at = answers.iter().position(|(it, _)| it == node);
                if let Some((_, NodeAnswer::Engine(said))) = at.map(|at| answers.swap_remove(at)) {
                    *outcome = Some(said);
                }
            }
            survey.pairs = self.engines_of_pairs(me, &survey, options);
        }
        self.survey.engine = Some(survey);
        Ok(())
    }

    /// One node after the other may cache what a folder holds: the mark is there before any of them looks.
    fn folder(&mut self, me: &Obedient, path: &Path) {
        let mark = folder::mark(path.to_owned());
        let path = path.display().to_string();
        let order = NodeOrder::Folder { path: path.clone(), mark: mark.as_ref().ok().map(|mark| mark.name.clone()) };
        let orders = self.survey.present().into_iter().map(|node| (node, order.clone())).collect();
        let answers = self.ask(me, StepName::Folder, FOLDER, orders);
        let nodes = answers.into_iter().filter_map(|(node, answer)| match answer {
            NodeAnswer::Folder(seen) => Some((node, seen)),
            _ => None,
        });
        self.survey.folder = Some(FolderSurvey { path, nodes: nodes.collect(), unmarked: mark.err() });
    }

    /// Tells every node how it ended.
    pub fn tell(&self, errors: usize, said: impl Fn(usize) -> Vec<Text>) {
        let deadline = Instant::now() + Duration::from_secs(2);
        for member in self.members.iter().flatten() {
            let order = NodeOrder::Done { errors, said: said(member.greeting.node_rank) };
            let _ = frame::send(&member.stream, &order, deadline);
        }
    }
}

/// NCCL where every node has a GPU of its own that torch sees; JAX chooses by itself.
fn backend(engine: PreflightEngine, survey: &Survey) -> &'static str {
    let seen = |node: usize| survey.nodes[node].facts.as_deref();
    let has_nccl = |facts: &MachineFacts| match &facts.python {
        Seen::Known(Some(PythonFacts { torch: EngineAnswer::Imported(torch), .. })) => {
            torch.has_nccl && torch.devices > 0
        }
        _ => false,
    };
    let present = survey.present();
    let hosts: BTreeSet<&str> =
        present.iter().filter_map(|node| seen(*node)).map(|facts| facts.host.as_str()).collect();
    let is_ready = hosts.len() == present.len() && present.iter().all(|node| seen(*node).is_some_and(has_nccl));
    match engine {
        PreflightEngine::Torch if is_ready => "nccl",
        PreflightEngine::Torch | PreflightEngine::Jax => "gloo",
    }
}

fn outcome(answer: &NodeAnswer) -> Option<SumOutcome> {
    match answer {
        NodeAnswer::Sum(outcome) => Some(outcome.clone()),
        _ => None,
    }
}

//! One preflight, from the first question to what is concluded.

use std::net::IpAddr;

use super::conclusion::{Evidence, findings};
use super::{
    NodeAccount, NodeReadiness, PreflightNews, PreflightNode, PreflightPart, PreflightProgress, PreflightReport,
    PreflightStep, PreflightWish, WHOLE_MS,
};
use crate::finding::{Finding, FindingTopic};
use crate::language::Text;

/// How long the first one may take until it lets others in.
const FIRST_MS: u64 = 8_000;
/// How long others may take until they have begun.
const BEGIN_MS: u64 = 6_000;
/// How long the others try to reach the first, and how long that waits for them.
const REACH_MS: u64 = 9_000;
const JOIN_MS: u64 = 12_000;
/// How long those that did not come are waited for to say why.
const SETTLE_MS: u64 = 2_500;
/// A second round with less time than this would not come to its end.
const ROUND_MS: u64 = 30_000;

/// What the caller is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CourseEffect {
    /// Nodes by their place in the preflight's list. What was asked of it before is over.
    Ask {
        node: usize,
        part: PreflightPart,
    },
    End {
        node: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The first was asked.
    First {
        asked_ms: u64,
    },
    Together {
        step: PreflightStep,
        done: u32,
        of: u32,
    },
    /// All is measured; who did not come may say why.
    Settling {
        until_ms: u64,
    },
    Over {
        ended_ms: u64,
    },
}

/// Everything that is known of it.
#[derive(Clone, Debug)]
pub struct PreflightCourse {
    nodes: Vec<PreflightNode>,
    wish: PreflightWish,
    accounts: Vec<NodeAccount>,
    /// Who has which rank in this round.
    order: Vec<usize>,
    is_second_round: bool,
    phase: Phase,
    began_ms: u64,
    earlier: Vec<Finding>,
    report: Option<PreflightReport>,
    findings: Vec<Finding>,
    is_called_off: bool,
}

impl PreflightCourse {
    pub fn begin(nodes: Vec<PreflightNode>, wish: PreflightWish, now_ms: u64) -> (Self, Vec<CourseEffect>) {
        let ready = nodes.iter().enumerate().filter(|(_, node)| node.readiness == NodeReadiness::Ready);
        let mut order: Vec<usize> = ready.map(|(number, _)| number).collect();
        // Who is known by an address of its own machine alone is no place for others to come to.
        order.sort_by_key(|number| !is_reachable(&nodes[*number]));
        let mut course = Self {
            accounts: vec![NodeAccount::Absent; nodes.len()],
            nodes,
            wish,
            order: Vec::new(),
            is_second_round: false,
            phase: Phase::Over { ended_ms: now_ms },
            began_ms: now_ms,
            earlier: Vec::new(),
            report: None,
            findings: Vec::new(),
            is_called_off: false,
        };
        let effects = course.start_round(order, now_ms);
        (course, effects)
    }

    pub fn nodes(&self) -> impl Iterator<Item = (&PreflightNode, &NodeAccount)> {
        self.nodes.iter().zip(&self.accounts)
    }

    pub fn report(&self) -> Option<&PreflightReport> {
        self.report.as_ref()
    }

    /// Empty until it is over.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub fn ended_ms(&self) -> Option<u64> {
        match self.phase {
            Phase::Over { ended_ms } => Some(ended_ms),
            _ => None,
        }
    }

    pub fn began_ms(&self) -> u64 {
        self.began_ms
    }

    pub fn progress(&self) -> PreflightProgress {
        let names = |is_meant: &dyn Fn(&NodeAccount) -> bool| -> Vec<String> {
            let meant = self.order.iter().filter(|number| is_meant(&self.accounts[**number]));
            meant.map(|number| self.nodes[*number].name.clone()).collect()
        };
        let (step, done, of, waits_for) = match self.phase {
            Phase::First { .. } => (PreflightStep::Asking, 0, 0, names(&NodeAccount::is_open)),
            Phase::Together { step: PreflightStep::Meeting, done, of } => {
                (PreflightStep::Meeting, done, of, names(&|account| matches!(account, NodeAccount::Asked { .. })))
            }
            Phase::Together { step, done, of } => (step, done, of, Vec::new()),
            Phase::Settling { .. } => (PreflightStep::Folder, 1, 1, Vec::new()),
            Phase::Over { .. } => (PreflightStep::Over, 0, 0, Vec::new()),
        };
        PreflightProgress::of(step, done, of, waits_for)
    }

    /// A node has said something about its present part.
    pub fn heard(&mut self, node: usize, news: PreflightNews, now_ms: u64) -> Vec<CourseEffect> {
        let Some(rank) = self.order.iter().position(|number| *number == node) else { return Vec::new() };
        if self.ended_ms().is_some() {
            return Vec::new();
        }
        match (news, rank) {
            (PreflightNews::Started, _) => {
                if matches!(self.accounts[node], NodeAccount::Asked { .. } | NodeAccount::Silent) {
                    self.accounts[node] = NodeAccount::TakesPart;
                }
            }
            (PreflightNews::Meeting { port }, 0) if matches!(self.phase, Phase::First { .. }) => {
                return self.ask_others(port, now_ms);
            }
            (PreflightNews::Step { step, done, of }, 0) => {
                if let Phase::Together { step: at, .. } = self.phase
                    && step >= at
                    && step < PreflightStep::Over
                {
                    self.phase = Phase::Together { step, done, of };
                }
            }
            (PreflightNews::Report(report), 0) => {
                self.accounts[node] = NodeAccount::Done;
                self.report = Some(report.renumbered(&self.order, self.nodes.len()));
                return self.reported(now_ms);
            }
            (PreflightNews::Failed { reason, hint }, rank) => {
                self.accounts[node] = NodeAccount::Failed { reason, hint };
                return if rank == 0 { self.without_first(now_ms) } else { self.settle(now_ms) };
            }
            (PreflightNews::Over, _) => {
                self.accounts[node] = NodeAccount::Done;
                return self.settle(now_ms);
            }
            (PreflightNews::Meeting { .. } | PreflightNews::Step { .. } | PreflightNews::Report(_), _) => {}
        }
        Vec::new()
    }

    /// The link to a node's agent broke: what it says from now on is lost.
    pub fn left(&mut self, node: usize, now_ms: u64) -> Vec<CourseEffect> {
        let is_open = self.accounts.get(node).is_some_and(NodeAccount::is_open);
        if !is_open || self.ended_ms().is_some() {
            return Vec::new();
        }
        self.accounts[node] = NodeAccount::Left { during: self.progress().step };
        if self.order.first() == Some(&node) { self.without_first(now_ms) } else { self.settle(now_ms) }
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ms: u64) -> Vec<CourseEffect> {
        if self.ended_ms().is_some() {
            return Vec::new();
        }
        if now_ms >= self.began_ms.saturating_add(WHOLE_MS) {
            let progress = self.progress();
            return self.conclude(now_ms, Some(&progress));
        }
        for account in &mut self.accounts {
            if matches!(account, NodeAccount::Asked { at_ms } if now_ms >= at_ms.saturating_add(BEGIN_MS)) {
                *account = NodeAccount::Silent;
            }
        }
        match self.phase {
            Phase::First { asked_ms } if now_ms >= asked_ms.saturating_add(FIRST_MS) => {
                if let Some(first) = self.order.first() {
                    self.accounts[*first] = NodeAccount::Silent;
                }
                self.without_first(now_ms)
            }
            Phase::Settling { until_ms } if now_ms >= until_ms => self.conclude(now_ms, None),
            _ => Vec::new(),
        }
    }

    /// Nobody waits for it any more: it is over, with nothing to say of the nodes. What was asked of them ends with it.
    pub fn call_off(&mut self, now_ms: u64) {
        if self.ended_ms().is_some() {
            return;
        }
        let text = Text::new(
            "任务不再等待，检查没有做完",
            "the task does not wait for it any more: the check was not carried through",
        );
        self.findings = vec![Finding::skipped("preflight.called_off", FindingTopic::Nodes, text)];
        self.phase = Phase::Over { ended_ms: now_ms };
        self.is_called_off = true;
    }

    /// Whether it is over without having found out anything.
    pub fn is_called_off(&self) -> bool {
        self.is_called_off
    }

    fn start_round(&mut self, order: Vec<usize>, now_ms: u64) -> Vec<CourseEffect> {
        self.order = order;
        for number in &self.order {
            self.accounts[*number] = NodeAccount::Waits;
        }
        let Some(first) = self.order.first().copied() else { return self.conclude(now_ms, None) };
        self.phase = Phase::First { asked_ms: now_ms };
        vec![self.ask(first, self.wish.master_port, now_ms)]
    }

    fn ask(&mut self, node: usize, master_port: Option<u16>, now_ms: u64) -> CourseEffect {
        self.accounts[node] = NodeAccount::Asked { at_ms: now_ms };
        let node_rank = self.order.iter().position(|number| *number == node).unwrap_or(0);
        let part = PreflightPart {
            node_rank,
            names: self.order.iter().map(|number| self.nodes[*number].name.clone()).collect(),
            master_address: self.meeting_address(),
            master_port,
            join_ms: if node_rank == 0 { JOIN_MS } else { REACH_MS },
            whole_ms: self.left_ms(now_ms),
            path: self.wish.path.clone(),
            asks_python: self.wish.asks_python,
            engine: self.wish.engine,
            word: self.wish.word.clone(),
        };
        CourseEffect::Ask { node, part }
    }

    fn meeting_address(&self) -> String {
        let first = self.order.first().and_then(|number| self.nodes[*number].address.clone());
        first.unwrap_or_else(|| "127.0.0.1".to_owned())
    }

    fn left_ms(&self, now_ms: u64) -> u64 {
        self.began_ms.saturating_add(WHOLE_MS).saturating_sub(now_ms)
    }

    fn ask_others(&mut self, port: u16, now_ms: u64) -> Vec<CourseEffect> {
        self.phase = Phase::Together { step: PreflightStep::Meeting, done: 0, of: 0 };
        let others: Vec<usize> = self.order.iter().skip(1).copied().collect();
        others.into_iter().map(|number| self.ask(number, Some(port), now_ms)).collect()
    }

    /// The first has nothing to say any more: the others go on without it, if there is time.
    fn without_first(&mut self, now_ms: u64) -> Vec<CourseEffect> {
        let rest: Vec<usize> = self.order.iter().skip(1).copied().collect();
        if self.is_second_round || rest.is_empty() || self.left_ms(now_ms) < ROUND_MS {
            return self.conclude(now_ms, None);
        }
        self.next_round(rest, now_ms)
    }

    /// Nobody came to the first: whether that is its fault shows when they meet elsewhere.
    fn reported(&mut self, now_ms: u64) -> Vec<CourseEffect> {
        let others = self.order.len().saturating_sub(1);
        let came_none = self.report.as_ref().is_some_and(|report| report.missing.len() >= others);
        if self.is_second_round || others < 2 || !came_none || self.left_ms(now_ms) < ROUND_MS {
            return self.settle(now_ms);
        }
        self.earlier.extend(self.shunned());
        self.report = None;
        let mut order = self.order.clone();
        order.rotate_left(1);
        self.next_round(order, now_ms)
    }

    fn next_round(&mut self, order: Vec<usize>, now_ms: u64) -> Vec<CourseEffect> {
        self.is_second_round = true;
        let mut effects = self.end_open();
        effects.extend(self.start_round(order, now_ms));
        effects
    }

    /// What is known of a first node to which nobody came.
    fn shunned(&self) -> Option<Finding> {
        let first = *self.order.first()?;
        let (name, address) = (&self.nodes[first].name, self.meeting_address());
        let text = Text::new(
            format!("其他节点都没有到达 {name}（{address}）"),
            format!("no other node reached {name} ({address})"),
        );
        let finding = Finding::error("nodes.meeting", FindingTopic::Nodes, text).of(first);
        let said = self.order.iter().skip(1).find_map(|number| match &self.accounts[*number] {
            NodeAccount::Failed { reason, hint } => Some((reason.clone(), hint.clone())),
            _ => None,
        });
        Some(match said {
            Some((reason, hint)) => finding.seen(reason).advice(hint),
            None => finding,
        })
    }

    /// Over once everybody who did not come has said why.
    fn settle(&mut self, now_ms: u64) -> Vec<CourseEffect> {
        let Some(report) = &self.report else { return Vec::new() };
        if !report.missing.iter().any(|number| self.accounts[*number].is_open()) {
            return self.conclude(now_ms, None);
        }
        if !matches!(self.phase, Phase::Settling { .. }) {
            self.phase = Phase::Settling { until_ms: now_ms.saturating_add(SETTLE_MS) };
        }
        Vec::new()
    }

    fn conclude(&mut self, now_ms: u64, cut_off: Option<&PreflightProgress>) -> Vec<CourseEffect> {
        let effects = self.end_open();
        self.findings = findings(&Evidence {
            nodes: &self.nodes,
            accounts: &self.accounts,
            report: self.report.as_ref(),
            engine: self.wish.engine,
            earlier: &self.earlier,
            cut_off,
        });
        self.phase = Phase::Over { ended_ms: now_ms };
        effects
    }

    fn end_open(&self) -> Vec<CourseEffect> {
        let open = self.order.iter().filter(|number| self.accounts[**number].is_open());
        open.map(|number| CourseEffect::End { node: *number }).collect()
    }
}

fn is_reachable(node: &PreflightNode) -> bool {
    let address = node.address.as_deref();
    address.is_some_and(|address| !address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

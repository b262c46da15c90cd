//! Between the nodes' coming together and the start of ranks: what their checkpoints say.

use std::collections::BTreeMap;

use fermi_domain::checkpoint::{NamedCheckpoints, NodeCheckpoints, ResumePlan, resume_plan};
use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::language::Setting;
use fermi_domain::verdict::{Verdict, VerdictKind};

use super::machine::{Coordinator, State};
use super::vocabulary::RunEffect;

/// How long nodes may look at their checkpoints; a disk that takes longer counts as one with nothing on it.
const SURVEY_MS: u64 = 30_000;

impl Coordinator {
    /// Starts the next attempt: at once where there is nothing to ask, else when the nodes have told what they have.
    pub(super) fn start(&mut self, now_ms: u64) {
        if self.nodes.len() <= 1 && !self.wants_resume() {
            self.start_ranks(ResumePlan::FRESH, now_ms);
            return;
        }
        let tells = |node: &usize| self.nodes.get(*node).is_some_and(|node| node.tells_checkpoints);
        let waiting_for = self.present().into_iter().filter(tells).collect();
        self.state = State::Surveying { until: now_ms + SURVEY_MS, waiting_for, found: BTreeMap::new() };
        self.effects.push(RunEffect::SurveyCheckpoints { attempt: self.attempt + 1 });
    }

    /// Whether the next attempt shall continue.
    fn wants_resume(&self) -> bool {
        self.policy.resume || self.attempt > 0
    }

    pub(super) fn surveyed(&mut self, node: usize, answer: NodeCheckpoints, now_ms: u64) {
        let State::Surveying { waiting_for, found, .. } = &mut self.state else { return };
        if waiting_for.remove(&node) {
            found.insert(node, answer);
        }
        if waiting_for.is_empty() {
            self.start_by_survey(now_ms);
        }
    }

    pub(super) fn start_by_survey(&mut self, now_ms: u64) {
        let State::Surveying { found, .. } = &mut self.state else { return };
        let mut found = std::mem::take(found);
        let nodes: Vec<NamedCheckpoints> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| NamedCheckpoints { node: node.name.clone(), checkpoints: found.remove(&index) })
            .collect();
        let wants_resume = self.wants_resume();
        let plan = resume_plan(wants_resume, &nodes);
        let attempt = self.attempt + 1;
        self.tell(RunEvent::CheckpointsFound {
            attempt,
            nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            shared: plan.shared,
            resume: plan.resume,
            step: plan.step,
            text: plan.text(attempt, &nodes, wants_resume),
            settings: if plan.shared { Vec::new() } else { vec![Setting::CheckpointFolder] },
        });
        self.start_ranks(plan, now_ms);
    }

    pub(super) fn superseded(&mut self, node: usize, generation: u64, now_ms: u64) {
        self.superseded_by.get_or_insert((node, generation));
        match self.state {
            State::Idle
            | State::Assembling { .. }
            | State::Surveying { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. } => self.conclude_superseded(),
            State::Running { .. } | State::Gathering { .. } | State::Stopping { .. } if self.alive.is_empty() => {
                self.sweep();
            }
            State::Running { .. } | State::Gathering { .. } | State::Stopping { .. } => self.kill(now_ms),
            State::Killing { .. } | State::Sweeping { .. } | State::Over => {}
        }
    }

    pub(super) fn conclude_superseded(&mut self) {
        let (index, generation) = self.superseded_by.unwrap_or_default();
        let node = self.nodes.get(index).map(|node| node.name.clone()).unwrap_or_default();
        self.finish(Outcome::Failed, Verdict::of(VerdictKind::Superseded { node, generation }));
    }
}

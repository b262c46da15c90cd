//! The first node: the coordinator gets its inputs, and its effects are carried out on all nodes.

use std::collections::VecDeque;

use fermi_attempt::coordinator::{RunEffect, RunInput};
use fermi_attempt::node_message::{MarkDuty, NodeCommand, NodePosition, Start, Survey};
use fermi_domain::checkpoint::Fence;
use fermi_domain::event::RunEvent;

use super::{PeerLetter, Role};
use crate::world::{Event, World};

impl World {
    pub(super) fn feed(&mut self, index: usize, input: RunInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let now = self.now;
            let Role::First(first) = &mut self.keepers[index].role else { return };
            let effects = first.coordinator.on(input, now);
            for effect in effects {
                inputs.extend(self.carry_out_run(index, effect));
                if !self.keepers[index].is_up {
                    return;
                }
            }
        }
        let Role::First(first) = &mut self.keepers[index].role else { return };
        let wake_at = first.coordinator.wake_at();
        if let Some(at) = wake_at.filter(|_| wake_at != first.wakes_at) {
            first.wakes_at = wake_at;
            self.at(at, Event::CoordinatorWake { keepers: index });
        }
    }

    pub fn coordinator_wake(&mut self, index: usize) {
        if self.keepers[index].is_up {
            if let Role::First(first) = &mut self.keepers[index].role {
                first.wakes_at = None;
            }
            self.feed(index, RunInput::TimePassed);
        }
    }

    fn carry_out_run(&mut self, index: usize, effect: RunEffect) -> Vec<RunInput> {
        let Role::First(first) = &mut self.keepers[index].role else { return Vec::new() };
        let command = match effect {
            RunEffect::Assemble => {
                first.is_assembling = true;
                return self.assembled(index).into_iter().collect();
            }
            RunEffect::SurveyCheckpoints { .. } => {
                let fence = Fence { owner: String::new(), generation: 0, attempt: 0, has_ended: false };
                NodeCommand::Survey(Survey { fence, first_rank: 0, mark: MarkDuty::Nothing })
            }
            RunEffect::StartRanks { attempt, plan } => return self.start_attempt(index, attempt, plan.resume),
            RunEffect::Tell(event) => {
                if first.order.is_empty() {
                    self.record(index, event);
                    return Vec::new();
                }
                NodeCommand::Tell(Some(Box::new(event)))
            }
            RunEffect::SignalRanks { signal } => NodeCommand::Signal { signal },
            RunEffect::KillRanks => NodeCommand::Kill,
            RunEffect::CheckJoined => NodeCommand::CheckJoined,
            RunEffect::Sweep => NodeCommand::Sweep,
            RunEffect::Finish => {
                let inputs = self.command_all(index, &NodeCommand::Over);
                self.ends_in_order(index);
                return inputs;
            }
        };
        self.command_all(index, &command)
    }

    pub(super) fn assembled(&mut self, index: usize) -> Option<RunInput> {
        let Role::First(first) = &mut self.keepers[index].role else { return None };
        if !first.is_assembling || !first.assembly.is_full() {
            return None;
        }
        first.is_assembling = false;
        let (order, nodes) = first.assembly.node_ranks().into_iter().unzip();
        first.order = order;
        Some(RunInput::Assembled { nodes })
    }

    fn start_attempt(&mut self, index: usize, attempt: u32, resume: bool) -> Vec<RunInput> {
        let started = RunEvent::AttemptStarted { attempt, master_addr: String::new(), master_port: 29_500, resume };
        let mut inputs = self.command_all(index, &NodeCommand::Tell(Some(Box::new(started))));
        let start = Start {
            task_id: String::new(),
            torch_run_id: String::new(),
            attempt,
            resume,
            resume_step: None,
            checkpoints_shared: None,
            master_port: 29_500,
            hosted_store: false,
            role: None,
            position: NodePosition { first_rank: 0, world_size: 0, node_rank: 0, node_count: 0 },
        };
        inputs.extend(self.command_all(index, &NodeCommand::Start(start)));
        inputs
    }

    fn command_all(&mut self, index: usize, command: &NodeCommand) -> Vec<RunInput> {
        let Role::First(first) = &self.keepers[index].role else { return Vec::new() };
        let order = first.order.clone();
        let mut inputs = Vec::new();
        for (node, number) in order.into_iter().enumerate() {
            if number == 0 {
                let reports = self.obey(index, command.clone());
                inputs.extend(reports.into_iter().map(|report| RunInput::Reported { node, report }));
                continue;
            }
            let Role::First(first) = &self.keepers[index].role else { return inputs };
            if let Some((member, _)) = first.members.get(&number) {
                let member = *member;
                self.post_peer(member, PeerLetter::Command { number, command: command.clone() }, index);
            }
        }
        inputs
    }
}

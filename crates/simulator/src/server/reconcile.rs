//! What agents are told: one look of all reconcilers.

use fermi_api::link::{Assignment, Master, ServerMessage};
use fermi_domain::fleet::Liveness;
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::launch::{NodeLaunch, RankLaunch, RunPolicy};
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{DesiredState, NodeRun, Task, TaskInput};

use super::Server;
use crate::truth::Truth;

impl Server {
    /// One look of all reconcilers. The answer is what agents are told, by link.
    pub fn reconcile(&mut self, now: u64, truth: &mut Truth) -> Vec<(usize, ServerMessage)> {
        self.is_rung = false;
        let _ = self.place(now, truth);
        let mut messages = Vec::new();
        let ids: Vec<TaskId> = self.live_tasks().map(|task| task.id.clone()).collect();
        for id in ids {
            let _ = self.give_up_lost_nodes(&id, now, truth);
            let Some(task) = self.database.tasks.get(&id) else { continue };
            let connected_ms = |id: &EnvironmentId| {
                let session = self.sessions.get(id).filter(|session| session.link.is_some())?;
                Some(now.saturating_sub(session.connected_ms))
            };
            let since = |began_ms: Option<u64>| began_ms.map_or(0, |began| self.wall(now).saturating_sub(began));
            if task.is_stop_overdue(since(task.phase_since_ms), connected_ms) {
                let _ = self.apply(&id, [TaskInput::StopOverdue], now, truth);
            } else if task.is_over_limit(since(task.placed_ms)) {
                let _ = self.apply(&id, [TaskInput::TimeLimitReached], now, truth);
            } else if task.is_due(self.wall(now)) {
                let _ = self.apply(&id, [TaskInput::TimePassed], now, truth);
            } else if task.is_abandoned(|environment| self.liveness(environment, now) == Liveness::Offline) {
                let _ = self.apply(&id, [TaskInput::CoordinatorUnreachable], now, truth);
            }
            let Some(task) = self.database.tasks.get(&id) else { continue };
            for (node, desired) in task.nodes.iter().zip(task.desired_states()) {
                let run = task.run_key(node);
                let (what, message) = match desired {
                    DesiredState::Rest => continue,
                    DesiredState::Stop => ("stop", ServerMessage::Stop { run: run.clone() }),
                    DesiredState::Kill => ("kill", ServerMessage::Kill { run: run.clone() }),
                    DesiredState::Launch if self.is_held(task) => continue,
                    DesiredState::Launch => {
                        let assignment = assignment(task, node, self.newest_written(task));
                        ("launch", ServerMessage::Launch(Box::new(assignment)))
                    }
                };
                let Some(session) = self.sessions.get_mut(&node.environment) else { continue };
                let Some(link) = session.link else { continue };
                if session.sent.insert((run, what)) {
                    messages.push((link, message));
                }
            }
        }
        messages
    }

    pub(super) fn live_tasks(&self) -> impl Iterator<Item = &Task> {
        let is_live = |task: &&Task| {
            let is_waiting = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
            !(is_waiting || task.phase.is_final() && task.is_swept())
        };
        self.database.tasks.values().filter(is_live)
    }
}

fn assignment(task: &Task, node: &NodeRun, written: u32) -> Assignment {
    let slots = task.rank_map.iter().flat_map(|map| map.slots());
    let ranks = slots.filter(|slot| slot.environment == node.environment).map(|slot| RankLaunch {
        rank: slot.rank,
        worker: slot.worker.clone(),
        gpu: None,
        env: Vec::new(),
    });
    let restarts = task.spec.policies.restart.max_restarts.saturating_sub(task.restarts_used);
    let launch = NodeLaunch {
        node_name: node.name.clone(),
        node_count: u32::try_from(task.nodes.len()).unwrap_or(u32::MAX),
        world_size: task.world_size(),
        ranks: ranks.collect(),
        ..NodeLaunch::default()
    };
    let policy = RunPolicy {
        restarts: RestartPolicy { max_restarts: restarts },
        ladder: task.spec.policies.stop.clone(),
        join_timeout_ms: 60_000,
        attempts_before: task.attempts_before(written),
        resume: task.resume,
        server_lease_ms: task.spec.policies.server_lease_ms(),
        ..RunPolicy::default()
    };
    let master = Master { address: String::new(), port: task.master_port };
    Assignment { policy, ..Assignment::new(task.run_key(node), launch, master) }
}

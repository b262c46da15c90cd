//! The preflight of a task's nodes before its ranks start.

use fermi_domain::environment::Environment;
use fermi_domain::ids::{EnvironmentId, NodeRank};
use fermi_domain::language::{StoredMessage, Text};
use fermi_domain::preflight::PreflightWish;
use fermi_domain::principal::Principal;
use fermi_domain::task::{NodeRunState, Task, TaskInput};
use fermi_store::StoreError;

use super::{PreflightRequest, StartProblem, start};
use crate::core::Core;

/// Whether ranks may start.
#[derive(Debug)]
pub enum Gate {
    Open,
    /// The nodes are being checked.
    Held,
    /// They do not start, and this is what happens to the task.
    Refused(TaskInput),
}

/// Lets the nodes of a launch check each other, where the task wants that, before any of them is told to start.
pub async fn gate(core: &Core, task: &Task) -> Result<Gate, StoreError> {
    let policy = task.spec.policies.preflight;
    if policy.is_off() || !is_unstarted(task) {
        return Ok(Gate::Open);
    }
    let Some(kept) = core.preflights().of_launch(&task.id, task.generation) else {
        return match start(core, request(core, task)).await {
            Ok(_) | Err(StartProblem::Busy { .. }) => Ok(Gate::Held),
            Err(StartProblem::Store(error)) => Err(error),
        };
    };
    let course = kept.course();
    if course.ended_ms().is_none() {
        return Ok(Gate::Held);
    }
    Ok(match policy.refusal(course.findings()) {
        None => Gate::Open,
        Some(refusal) => {
            let node = task.nodes.get(refusal.node).or(task.nodes.first()).map_or(NodeRank(0), |node| node.node_rank);
            let message = StoredMessage { reason: refusal.text, settings: Vec::new() };
            Gate::Refused(TaskInput::LaunchFailed { node, message })
        }
    })
}

/// Why the ranks of a task are not started yet, where that is its preflight.
pub fn hold_of(core: &Core, task: &Task) -> Option<Text> {
    if task.spec.policies.preflight.is_off() || !is_unstarted(task) {
        return None;
    }
    let Some(kept) = core.preflights().of_launch(&task.id, task.generation) else {
        return Some(Text::new("等待启动前的节点检查", "it waits for the check of its nodes before the start"));
    };
    let course = kept.course();
    if course.ended_ms().is_some() {
        return None;
    }
    let step = course.progress().text;
    Some(Text::new(
        format!("启动前正在检查节点：{}", step.zh),
        format!("its nodes are being checked before the start: {}", step.en),
    ))
}

/// A launch of which no node is known to have begun.
fn is_unstarted(task: &Task) -> bool {
    let is_new = |state: NodeRunState| matches!(state, NodeRunState::Waiting | NodeRunState::Wanted);
    task.phase.waits_for_launch() && !task.nodes.is_empty() && task.nodes.iter().all(|node| is_new(node.state))
}

/// In the order of node ranks.
fn request(core: &Core, task: &Task) -> PreflightRequest {
    let known = core.known_environments();
    let environment = |id: &EnvironmentId| known.iter().find(|it| it.id == *id).cloned();
    let environments: Vec<Environment> = task.nodes.iter().filter_map(|node| environment(&node.environment)).collect();
    PreflightRequest {
        environments,
        wish: PreflightWish {
            master_port: task.spec.options.master_port,
            asks_python: true,
            ..PreflightWish::default()
        },
        by: Principal::System,
        launch: Some((task.id.clone(), task.generation)),
    }
}

//! The preflight of a task's nodes before its ranks start.

use fermi_api::link::ABILITY_INTERFACE;
use fermi_domain::environment::Environment;
use fermi_domain::ids::{EnvironmentId, NodeRank};
use fermi_domain::language::{StoredMessage, Text};
use fermi_domain::preflight::{InterfaceDecision, InterfaceRule, NodeAccount, NodeReadiness, PreflightWish};
use fermi_domain::principal::Principal;
use fermi_domain::task::{NodeRunState, Task, TaskInput};
use fermi_store::StoreError;

use super::{CheckedLaunch, KeptPreflight, PreflightRequest, StartProblem, start};
use crate::core::Core;

/// Whether ranks may start.
#[derive(Debug)]
pub enum Gate {
    Open,
    /// The nodes are being checked.
    Held,
    /// They do not start before this has happened to the task, if at all.
    After(TaskInput),
}

/// Lets the nodes of a launch check each other, where the task wants that, before any of them is told to start.
pub async fn gate(core: &Core, task: &Task) -> Result<Gate, StoreError> {
    let policy = task.spec.policies.preflight;
    if policy.is_off() || !is_unstarted(task) {
        return Ok(Gate::Open);
    }
    let Some(kept) = core.preflights().of_launch(&task.id, task.generation) else {
        return begin(core, task).await;
    };
    let refusal = {
        let course = kept.course();
        if course.ended_ms().is_none() {
            return Ok(Gate::Held);
        }
        let refusal = policy.refusal(course.findings());
        refusal.map(|refusal| (refusal, course.nodes().any(|(_, account)| matches!(account, NodeAccount::Left { .. }))))
    };
    Ok(match refusal {
        None => found(core, task, &kept).map_or(Gate::Open, Gate::After),
        // A link that broke says little of the machine: when its agent is back they are checked once more.
        Some((_, true)) if core.preflights().count_of_launch(&task.id, task.generation) == 1 => {
            return begin(core, task).await;
        }
        Some((refusal, _)) => {
            let node = task.nodes.get(refusal.node).or(task.nodes.first()).map_or(NodeRank(0), |node| node.node_rank);
            let message = StoredMessage { reason: refusal.text, settings: Vec::new() };
            Gate::After(TaskInput::LaunchFailed { node, message })
        }
    })
}

/// What the preflight has found for the ranks, as long as the task does not know it.
fn found(core: &Core, task: &Task, kept: &KeptPreflight) -> Option<TaskInput> {
    let decision = kept.interfaces(|environment| core.hub().is_able(environment, ABILITY_INTERFACE));
    let InterfaceDecision::Set { interfaces, text } = decision else { return None };
    let known = task.nodes.iter().map(|node| node.interface.as_deref());
    let is_new = task.nodes.len() == interfaces.len() && !known.eq(interfaces.iter().map(|it| Some(it.as_str())));
    is_new.then_some(TaskInput::InterfacesFound { interfaces, text })
}

/// Begins when all can be asked: who is not back yet after a restart of the server is waited for, as by every launch.
async fn begin(core: &Core, task: &Task) -> Result<Gate, StoreError> {
    if away(core, task).next().is_some() {
        return Ok(Gate::Held);
    }
    match start(core, request(core, task)).await {
        Ok(_) | Err(StartProblem::Busy { .. }) => Ok(Gate::Held),
        Err(StartProblem::Store(error)) => Err(error),
    }
}

/// Ends the checks for which no launch waits any more: their tasks are stopped or deleted. `live` are all tasks that are not
/// over.
pub fn call_off(core: &Core, live: &[Task]) {
    core.preflights().call_off(core.now_ms(), |id, generation| {
        live.iter().any(|task| task.id == *id && task.generation == generation && is_unstarted(task))
    });
}

/// Why the ranks of a task are not started yet, where that is its preflight.
pub fn hold_of(core: &Core, task: &Task) -> Option<Text> {
    if task.spec.policies.preflight.is_off() || !is_unstarted(task) {
        return None;
    }
    let Some(kept) = core.preflights().of_launch(&task.id, task.generation) else {
        let away: Vec<&str> = away(core, task).collect();
        if !away.is_empty() {
            let names = away.join(", ");
            return Some(Text::new(
                format!("启动前要检查节点，正在等待 {names} 的代理连接"),
                format!("its nodes are to be checked before the start, and the agents of {names} are waited for"),
            ));
        }
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

/// The nodes whose agents do not answer.
fn away<'a>(core: &'a Core, task: &'a Task) -> impl Iterator<Item = &'a str> {
    let is_away = |environment: &EnvironmentId| core.hub().readiness(environment) == NodeReadiness::Offline;
    task.nodes.iter().filter(move |node| is_away(&node.environment)).map(|node| node.name.as_str())
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
        launch: Some(CheckedLaunch {
            task: task.id.clone(),
            generation: task.generation,
            rule: InterfaceRule::of(&task.spec),
        }),
    }
}

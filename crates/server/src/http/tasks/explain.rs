//! Why a task is where it is.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{Envelope, Explanation, Failure, NodeWish, Verdict, WaitingFor};
use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::language::{FrontEnd, Hint, Text};
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{NodeRun, NodeRunState, Task, Wish};
use fermi_store::StoreError;
use fermi_store::events::EventFilter;

use super::view;
use crate::core::Core;
use crate::envelope::{Answer, Problem, Reply, TASK, front_end};
use crate::http::id::TaskPath;
use crate::http::speaker::event;

/// How many events are shown.
const EVENTS: usize = 20;

/// Why a task is where it is: what it waits for, what its nodes are asked to do, why it failed and what to do.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/explain", tag = "training-tasks", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Explanation>), (status = 404, body = Failure)))]
pub async fn explain(State(core): State<Core>, TaskPath(id): TaskPath, headers: HeaderMap) -> Reply {
    let front_end = front_end(&headers);
    let wanted = id.clone();
    let read: Result<_, StoreError> = core
        .store()
        .read(move |view| {
            let filter = EventFilter { task: Some(wanted.clone()), ..EventFilter::default() };
            Ok((view.task(&wanted)?, view.leases()?, view.events(0, &filter, 10_000)?))
        })
        .await;
    let (task, leases, events) = read?;
    let task = task.ok_or_else(|| Problem::not_found(&TASK, id.as_str()))?.value;
    let environments = core.known_environments();
    let waiting_for = waiting_for(&task, &environments, &leases);
    let nodes = task.nodes.iter().zip(task.wishes()).map(|(node, wish)| node_wish(node, wish)).collect();
    let newest = events.len().saturating_sub(EVENTS);
    Answer::ok(&Explanation {
        task_id: task.id.to_string(),
        name: task.spec.name.clone(),
        status: task.phase,
        status_text: task.phase.text(),
        summary: summary(&task),
        advice: advice(&task, &waiting_for, front_end),
        waiting_for,
        nodes,
        verdict: task.verdict.as_ref().map(|verdict| Verdict::of(verdict, front_end)),
        attempts: task.attempts.iter().map(|attempt| view::attempt(attempt, front_end)).collect(),
        restarts_used: task.restarts_used,
        max_restarts: task.spec.policies.restart.max_restarts,
        events: events[newest..].iter().map(event).collect(),
    })
}

fn summary(task: &Task) -> Text {
    if let Some(verdict) = task.verdict.as_ref().filter(|_| task.phase.is_final()) {
        return verdict.headline();
    }
    if let Some(reason) = &task.reason {
        return reason.clone();
    }
    let alive = task.nodes.iter().filter(|node| node.state == NodeRunState::Alive).count();
    let nodes = task.nodes.len();
    match task.phase {
        TaskPhase::Initializing => {
            Text::new("任务刚刚创建，正在准备", "the task was just created and is being prepared")
        }
        TaskPhase::Queued => Text::new("等待分配 Worker", "waits for its workers"),
        TaskPhase::Starting => Text::new(
            format!("正在启动：{nodes} 个节点中已有 {alive} 个就绪"),
            format!("is coming up: {alive} of {nodes} nodes are ready"),
        ),
        TaskPhase::Running => {
            let world = task.world_size();
            Text::new(format!("全部 {world} 个 rank 正在训练"), format!("all {world} ranks are training"))
        }
        TaskPhase::Restarting => {
            Text::new("上一次启动失败，正在重新启动", "the last attempt failed; it is started again")
        }
        TaskPhase::Stopping => {
            Text::new("有人请求停止，正在等待进程结束", "somebody asked for its end; processes are ending")
        }
        TaskPhase::Succeeded | TaskPhase::Failed | TaskPhase::Stopped => {
            let text = task.phase.text();
            Text::new(format!("任务{}", text.zh), format!("the task is {}", text.en))
        }
    }
}

fn advice(task: &Task, waiting_for: &[WaitingFor], front_end: FrontEnd) -> Option<Text> {
    if let Some(advice) = task.verdict.as_ref().and_then(|verdict| verdict.advice()) {
        return Some(advice.spelled(front_end));
    }
    let holder = waiting_for.iter().find_map(|waiting| waiting.task_id.as_ref());
    if let Some(holder) = holder {
        let hint = Hint::new(format!("等待 {holder} 结束，或停止它"), format!("wait for {holder}, or stop it"))
            .on_command_line(
                format!("等待 {holder} 结束，或停止它：fermi task stop {holder}"),
                format!("wait for {holder}, or stop it: fermi task stop {holder}"),
            );
        return Some(hint.spelled(front_end));
    }
    let absent = waiting_for.first()?;
    Some(Text::new(
        format!("在 {} 上启动 fermi agent", absent.environment_name),
        format!("start `fermi agent` on {}", absent.environment_name),
    ))
}

/// Only a task in the queue waits for workers; one that has them waits for nobody.
fn waiting_for(task: &Task, environments: &[Environment], leases: &HashMap<WorkerId, TaskId>) -> Vec<WaitingFor> {
    let is_queued = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    let mut found = Vec::new();
    for environment in view::chosen(&task.spec, environments) {
        let is_absent = matches!(environment.status, EnvironmentStatus::Offline | EnvironmentStatus::Suspect);
        if is_absent && !task.phase.is_final() {
            let status = environment.status.text();
            found.push(WaitingFor {
                environment: environment.id.to_string(),
                environment_name: environment.name.clone(),
                worker: None,
                task_id: None,
                text: Text::new(
                    format!("开发环境 {}：{}", environment.name, status.zh),
                    format!("the environment {} is {}", environment.name, status.en.to_lowercase()),
                ),
            });
        }
        if !is_queued {
            continue;
        }
        let chosen = task.spec.distributed.workers.get(&environment.id);
        for worker in environment.workers() {
            let holder = leases.get(&worker.id).filter(|holder| **holder != task.id);
            let is_wanted = chosen.is_none_or(|chosen| chosen.contains(&worker.id.index()));
            if let Some(holder) = holder.filter(|_| is_wanted) {
                found.push(WaitingFor {
                    environment: environment.id.to_string(),
                    environment_name: environment.name.clone(),
                    worker: Some(worker.id.to_string()),
                    task_id: Some(holder.to_string()),
                    text: Text::new(
                        format!("{} 正被 {holder} 使用", worker.id),
                        format!("{} is held by {holder}", worker.id),
                    ),
                });
            }
        }
    }
    found
}

fn node_wish(node: &NodeRun, wish: Wish) -> NodeWish {
    let name = &node.name;
    let (word, text) = match (wish, node.state) {
        (Wish::Launch, _) => ("launch", Text::new(format!("要求 {name} 启动"), format!("{name} is asked to start"))),
        (Wish::Stop, _) => ("stop", Text::new(format!("要求 {name} 停止"), format!("{name} is asked to stop"))),
        (Wish::Kill, _) => (
            "kill",
            Text::new(format!("要求 {name} 立即结束全部进程"), format!("{name} is asked to end everything now")),
        ),
        (Wish::Rest, NodeRunState::Waiting) => {
            ("rest", Text::new(format!("{name} 等待主节点的端口"), format!("{name} waits for the first node's port")))
        }
        (Wish::Rest, NodeRunState::Gone) => {
            ("rest", Text::new(format!("{name} 上已没有进程"), format!("no process is left on {name}")))
        }
        (Wish::Rest, NodeRunState::Wanted | NodeRunState::Alive) => {
            ("rest", Text::new(format!("{name} 正在运行"), format!("{name} is running")))
        }
    };
    NodeWish {
        environment: node.environment.to_string(),
        name: name.clone(),
        node_rank: node.node_rank.0,
        state: node.state,
        wish: word.to_owned(),
        text,
    }
}

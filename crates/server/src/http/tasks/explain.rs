//! Why a task is where it is.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{
    Envelope, Explanation, Failure, NodeWish, QueuePlace, QueuedTask, ReservedWorkers, Verdict, WaitingFor,
};
use fermi_domain::explain::{self, Known, NodeTurn, Obstacle, StepsHeard};
use fermi_domain::fleet::LastHeard;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::WaitReason;
use fermi_domain::queue::{Reserved, TaskName};
use fermi_store::StoreError;
use fermi_store::events::EventFilter;

use super::show::missing_secret;
use super::{progress, view};
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, TASK, front_end};
use crate::http::fan_out::event;
use crate::http::id::TaskPath;
use crate::preflights;

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
            Ok((view.task(&wanted)?, view.leases()?, view.newest_events(&filter, EVENTS)?))
        })
        .await;
    let (task, leases, events) = read?;
    let task = task.ok_or_else(|| ApiProblem::not_found(&TASK, id.as_str()))?.value;
    let environments = core.known_environments();
    let heard = match progress::of(&core, &task).await {
        Some(_) => StepsHeard::Some,
        None => StepsHeard::None,
    };
    let held = core.hold_of(&task).filter(|_| task.phase.waits_for_launch());
    let held = held.or_else(|| preflights::hold_of(&core, &task));
    let is_queued = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    // Answered when the scheduler is free again for those who decide.
    let question = is_queued.then(|| core.scheduler().question(&task.id));
    let waits = question.and_then(|question| question.answer(core.now_ms()));
    let last_heard = environments.iter().map(|it| (it.id.clone(), last_heard(&core, &it.id))).collect();
    let known = Known {
        environments: &environments,
        last_heard: &last_heard,
        leases: &leases,
        progress: heard,
        waiting: waits.as_ref(),
    };
    let found = explain::explain(&task, &known);
    let secret = if task.phase.waits_for_launch() { missing_secret(&core, &task).await? } else { None };
    let summary = held.or(secret).or_else(|| waits.as_ref().map(WaitReason::text));
    EnvelopeAnswer::ok(&Explanation {
        task_id: task.id.to_string(),
        name: task.spec.name.clone(),
        status: task.phase,
        status_text: task.phase.text(),
        summary: summary.unwrap_or_else(|| found.summary.text()),
        queue: waits.as_ref().and_then(queue_place),
        advice: found.advice.map(|advice| advice.hint().spelled(front_end)),
        waiting_for: found.obstacles.iter().map(waiting_for).collect(),
        nodes: found.nodes.iter().map(node_wish).collect(),
        verdict: task.verdict.as_ref().map(|verdict| Verdict::of(verdict, front_end)),
        attempts: task.attempts.iter().map(|attempt| view::attempt(attempt, front_end)).collect(),
        restarts_used: task.restarts_used,
        max_restarts: task.spec.policies.restart.max_restarts,
        course: view::course(&task, core.now_ms()),
        events: events.iter().map(event).collect(),
    })
}

/// When something was last heard of an environment.
fn last_heard(core: &Core, id: &EnvironmentId) -> LastHeard {
    let ago = |silence: Duration| core.now_ms().saturating_sub(u64::try_from(silence.as_millis()).unwrap_or(u64::MAX));
    match core.hub().silence(id) {
        Some(silence) => LastHeard::At(ago(silence)),
        None => LastHeard::NotSince(ago(core.hub().silent_for(id))),
    }
}

fn queue_place(reason: &WaitReason) -> Option<QueuePlace> {
    let WaitReason::Queued(waiting) = reason else { return None };
    let before = u32::try_from(waiting.before).unwrap_or(u32::MAX);
    Some(QueuePlace {
        before,
        starts_by: waiting.from.known(),
        is_promised: waiting.is_promised,
        ahead: waiting.ahead.iter().map(queued).collect(),
        reservation: waiting.reserved.as_ref().map(reserved),
    })
}

fn queued(name: &TaskName) -> QueuedTask {
    QueuedTask { task_id: name.task.to_string(), name: name.name.clone() }
}

fn reserved(kept: &Reserved) -> ReservedWorkers {
    ReservedWorkers {
        task_id: kept.task.task.to_string(),
        name: kept.task.name.clone(),
        workers: kept.workers.iter().map(ToString::to_string).collect(),
        worker_count: kept.count as u64,
        from: kept.from.known(),
        text: kept.text(),
    }
}

fn waiting_for(obstacle: &Obstacle) -> WaitingFor {
    let (environment, environment_name, worker, task_id) = match obstacle {
        Obstacle::Absent { environment, name, .. } => (environment, name, None, None),
        Obstacle::Held { environment, name, worker, holder } => {
            (environment, name, Some(worker.to_string()), Some(holder.to_string()))
        }
    };
    WaitingFor {
        environment: environment.to_string(),
        environment_name: environment_name.clone(),
        worker,
        task_id,
        text: obstacle.text(),
    }
}

fn node_wish(turn: &NodeTurn<'_>) -> NodeWish {
    NodeWish {
        environment: turn.node.environment.to_string(),
        name: turn.node.name.clone(),
        node_rank: turn.node.node_rank.0,
        state: turn.node.state,
        wish: turn.word().to_owned(),
        text: turn.text(),
        interface: turn.node.interface.clone(),
    }
}

//! A task as it is shown.

use std::borrow::Cow;

use fermi_api::v1;
use fermi_domain::aggregate::Aggregate;
use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::{FrontEnd, Language};
use fermi_domain::placement::on_workers;
use fermi_domain::principal::Principal;
use fermi_domain::rank_map::{self, RankMap};
use fermi_domain::task::{AttemptRecord, NodeRun, Selection, Task, TaskSpec, waits_for_machine};
use fermi_domain::warnings;
use fermi_store::tasks::TaskRow;

/// Who reads what is shown of a task: what they may do with it, in their words.
#[derive(Clone, Debug)]
pub struct TaskReader {
    pub principal: Principal,
    pub language: Language,
    pub front_end: FrontEnd,
    pub now_ms: u64,
}

/// A row of a list.
pub fn row(row: TaskRow, known: &[Environment], reader: &Principal) -> v1::TaskRow {
    let TaskRow { id, name, phase, priority, created_ms, updated_ms, ended_ms, brief, .. } = row;
    let mut used = known.iter().filter(|known| phase.has_runs() && brief.environments.contains(&known.id));
    let absent = used.find(|known| known.status == EnvironmentStatus::Offline);
    let reason = brief.reason.or_else(|| absent.map(|absent| waits_for_machine(&absent.name, phase)));
    let environments: Vec<String> = brief.environments.into_iter().map(|id| id.0).collect();
    let owner = brief.created_by.as_ref().and_then(Principal::user);
    v1::TaskRow {
        id: id.0,
        name,
        allowed_actions: v1::AllowedAction::all(phase, reader, owner),
        status: phase,
        status_text: phase.text(),
        reason,
        headline: brief.headline,
        framework: brief.framework,
        node_count: count(environments.len()),
        environments,
        world_size: brief.world_size,
        attempt: brief.attempt,
        restarts_used: brief.restarts_used,
        created_by: brief.created_by.as_ref().map(v1::Principal::from),
        priority,
        labels: brief.labels,
        created_at: created_ms,
        updated_at: updated_ms,
        started_at: brief.started_ms,
        ended_at: ended_ms,
    }
}

/// The same of a whole task.
pub fn row_of(task: &Task, updated_ms: u64, known: &[Environment], reader: &Principal) -> v1::TaskRow {
    let is_offline =
        |id: &EnvironmentId| known.iter().any(|known| known.id == *id && known.status == EnvironmentStatus::Offline);
    let environments: Vec<String> = task.environments().into_iter().map(ToString::to_string).collect();
    v1::TaskRow {
        id: task.id.to_string(),
        name: task.spec.name.clone(),
        status: task.phase,
        status_text: task.phase.text(),
        reason: task.reason.clone().or_else(|| task.waits_for(is_offline)),
        headline: task.verdict.as_ref().map(|verdict| verdict.headline()),
        framework: task.spec.distributed.framework,
        node_count: count(environments.len()),
        environments,
        world_size: task.world_size(),
        attempt: task.newest_attempt(),
        restarts_used: task.restarts_used,
        created_by: task.created_by.as_ref().map(v1::Principal::from),
        priority: task.spec.priority,
        labels: task.spec.labels.clone(),
        created_at: task.created_ms,
        updated_at: updated_ms,
        started_at: task.started_ms,
        ended_at: task.ended_ms,
        allowed_actions: v1::AllowedAction::all(task.phase, reader, task.owner()),
    }
}

/// Everything about a task, for the one who reads it.
pub fn whole(
    task: &Task,
    progress: Option<v1::Progress>,
    environments: &[Environment],
    reader: &TaskReader,
) -> v1::Task {
    let TaskReader { principal, language, front_end, now_ms } = reader;
    let (language, front_end) = (*language, *front_end);
    let warnings = warnings::of_task(task, environments);
    v1::Task {
        row: row_of(task, last_change(task), environments, principal),
        distributed_info: distributed_info(&placed_spec(task, environments), environments),
        spec: task.spec.clone(),
        generation: task.generation.0,
        max_restarts: task.spec.policies.restart.max_restarts,
        restart_at: task.restart_at_ms,
        stop_requested: task.stop.is_some(),
        progress,
        attempts: task.attempts.iter().map(|record| attempt(record, front_end)).collect(),
        nodes: task.nodes.iter().map(node).collect(),
        rank_map: task.rank_map.clone().map(Vec::from).unwrap_or_default(),
        master_port: task.master_port,
        verdict: task.verdict.as_ref().map(|verdict| v1::Verdict::of(verdict, front_end)),
        course: course(task, *now_ms),
        warnings: warnings.iter().map(|warning| v1::Warning::of(warning, language, front_end)).collect(),
    }
}

/// Up to now.
pub fn course(task: &Task, now_ms: u64) -> v1::TaskCourse {
    v1::TaskCourse {
        ledger: task.ledger.as_ref().map(|ledger| v1::Ledger::from(&ledger.account(now_ms))),
        hang: task.hang.as_deref().cloned(),
        waits: task.waits.as_deref().cloned(),
    }
}

/// The newest time that stands in a task.
fn last_change(task: &Task) -> u64 {
    let attempts = task.attempts.iter().flat_map(|attempt| [Some(attempt.started_ms), attempt.ended_ms]);
    let own = [Some(task.created_ms), task.started_ms, task.ended_ms];
    own.into_iter().chain(attempts).flatten().max().unwrap_or(task.created_ms)
}

/// What was asked for, on the workers that it was given.
fn placed_spec<'a>(task: &'a Task, environments: &[Environment]) -> Cow<'a, TaskSpec> {
    let given = task.rank_map.as_ref().filter(|_| matches!(task.spec.selection, Selection::Auto(_)));
    given.map_or(Cow::Borrowed(&task.spec), |map| {
        let workers: Vec<_> = map.slots().iter().map(|slot| slot.worker.clone()).collect();
        Cow::Owned(on_workers(&task.spec, &workers, environments))
    })
}

/// Null for one node.
pub fn distributed_info(spec: &TaskSpec, environments: &[Environment]) -> Option<v1::DistributedInfo> {
    let distributed = &spec.distributed;
    if distributed.node_ids.len() < 2 {
        return None;
    }
    let aggregate = Aggregate::of_workers(&spec.chosen(environments), &distributed.workers);
    Some(v1::DistributedInfo {
        node_count: count(distributed.node_ids.len()),
        total_gpus: aggregate.map_or(0, |aggregate| aggregate.total_gpus),
        master_node: distributed.master_node.as_ref()?.to_string(),
        framework: distributed.framework.unwrap_or_default(),
    })
}

pub fn attempt(attempt: &AttemptRecord, front_end: FrontEnd) -> v1::Attempt {
    v1::Attempt {
        number: attempt.number.get(),
        generation: attempt.generation.0,
        status: attempt.phase,
        status_text: attempt.phase.text(),
        started_at: attempt.started_ms,
        ended_at: attempt.ended_ms,
        resumed: attempt.resumed,
        ranks_started: count(attempt.ranks.len()),
        verdict: attempt.verdict.as_ref().map(|verdict| v1::Verdict::of(verdict, front_end)),
    }
}

fn node(node: &NodeRun) -> v1::TaskNode {
    v1::TaskNode {
        environment: node.environment.to_string(),
        name: node.name.clone(),
        node_rank: node.node_rank.0,
        incarnation: node.incarnation,
        state: node.state,
        interface: node.interface.clone(),
    }
}

/// The ranks of a task: those it has, else those it would get.
pub fn rank_map(task: &Task, environments: &[Environment]) -> Option<RankMap> {
    task.rank_map.clone().or_else(|| rank_map::of_spec(&task.spec, environments).ok())
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

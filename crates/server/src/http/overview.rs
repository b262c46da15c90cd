//! The cluster at a glance.

use std::collections::BTreeMap;

use axum::extract::State;
use fermi_api::v1::{Envelope, EnvironmentCounts, Overview, WorkerCounts};
use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::phase::TaskPhase;
use fermi_store::events::EventFilter;
use fermi_store::tasks::{ListError, TaskFilter, TaskOrder};

use super::environments::all;
use super::fan_out::event;
use super::tasks::view;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply};

/// How many tasks and events are shown.
const TASKS: usize = 20;
const EVENTS: usize = 20;

/// Counts, the tasks that are not over, and the last events.
#[utoipa::path(get, path = "/api/v1/overview", tag = "overview",
    responses((status = 200, body = Envelope<Overview>)))]
pub async fn show(State(core): State<Core>, Caller(caller): Caller) -> Reply {
    let read = core.store().read(|view| {
        let open = TaskPhase::ALL.into_iter().filter(|phase| !phase.is_final()).collect();
        let filter = TaskFilter { phases: open, ..TaskFilter::default() };
        let active = view.list_tasks(&filter, TaskOrder::default(), TASKS, None)?;
        let events = view.newest_events(&EventFilter::default(), EVENTS)?;
        Ok::<_, ListError>((view.count_by_phase()?, active, events))
    });
    let (counts, active, events) = read.await?;
    let environments = all(&core).await?;
    let mut by_status = EnvironmentCounts::default();
    let (mut workers, mut gpus) = (WorkerCounts::default(), WorkerCounts::default());
    for environment in &environments {
        by_status.total += 1;
        match environment.status {
            EnvironmentStatus::Running => by_status.running += 1,
            EnvironmentStatus::Busy => by_status.busy += 1,
            EnvironmentStatus::Suspect => by_status.suspect += 1,
            EnvironmentStatus::Drained => by_status.drained += 1,
            EnvironmentStatus::Offline => {
                by_status.offline += 1;
                continue;
            }
            EnvironmentStatus::Lost => {
                by_status.lost += 1;
                continue;
            }
        }
        for worker in &environment.workers {
            add(&mut workers, worker.task_id.is_some());
            if worker.gpu.is_some() {
                add(&mut gpus, worker.task_id.is_some());
            }
        }
    }
    let tasks: BTreeMap<String, u64> =
        counts.into_iter().map(|(phase, count)| (phase.text().en.into_owned(), count)).collect();
    let known = core.known_environments();
    EnvelopeAnswer::ok(&Overview {
        tasks,
        environments: by_status,
        workers,
        gpus,
        active_tasks: active.rows.into_iter().map(|row| view::row(row, &known, &caller)).collect(),
        events: events.iter().rev().map(event).collect(),
    })
}

fn add(counts: &mut WorkerCounts, is_busy: bool) {
    counts.total += 1;
    if is_busy {
        counts.busy += 1;
    } else {
        counts.free += 1;
    }
}

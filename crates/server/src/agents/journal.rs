//! The journals of runs: each line is applied to its task exactly once.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fermi_domain::event::RunEvent;
use fermi_domain::hang::StackGroup;
use fermi_domain::task::{RunKey, TaskInput};
use fermi_store::runs::JournalError;
use fermi_store::{StoreError, Transaction, WriteError};
use serde::Deserialize;
use tracing::Instrument;

use super::journal_lines::{self, Lines};
use super::sender::Sender;
use super::streams::answer;
use super::{faulty_gpu, owner};
use crate::core::Core;
use crate::hub::StacksTold;
use crate::lifecycle::{self, Cause, Changed, LifecycleError};

pub async fn length(State(core): State<Core>, Sender(agent): Sender, Path(run): Path<RunKey>) -> Response {
    if let Err(refused) = owner::check(&core, &agent, &run).await {
        return *refused;
    }
    let row: Result<_, StoreError> = core.store().read(move |view| view.run(&run)).await;
    match row {
        Ok(row) => answer(StatusCode::OK, row.map_or(0, |row| row.journal_length)),
        Err(error) => unavailable(&error),
    }
}

/// What a piece of a journal led to.
enum Taking {
    Taken {
        length: u64,
        /// Where ranks stand, if that is told.
        stacks: Option<StacksTold>,
        /// Whether it has taken its environment out of service.
        is_drained: bool,
        /// What its lines made of the task, one after the other; nothing without a whole line.
        changed: Vec<Changed>,
    },
    /// The piece begins elsewhere than where the last one ended.
    Elsewhere { length: u64 },
    /// The run is of an older launch, or of a task that is not there any more.
    Unwanted,
    /// The run is of another environment than the one that sends.
    Foreign,
}

impl Taking {
    fn changes(&self) -> &[Changed] {
        match self {
            Self::Taken { changed, .. } => changed,
            Self::Elsewhere { .. } | Self::Unwanted | Self::Foreign => &[],
        }
    }
}

/// Where in the journal a piece begins.
#[derive(Debug, Deserialize)]
pub struct Offset {
    offset: u64,
}

pub async fn take(
    State(core): State<Core>,
    Sender(agent): Sender,
    Path(run): Path<RunKey>,
    Query(Offset { offset }): Query<Offset>,
    bytes: Bytes,
) -> Response {
    let (key, cause) = (run.clone(), Cause { principal: agent.clone(), now_ms: core.now_ms() });
    let span = tracing::info_span!("journal", task = %run.task, %run, %agent);
    let drains = core.drains_faulty_gpus();
    let change = core.change(move |tx| apply(tx, &key, offset, &bytes, drains, &cause), Taking::changes);
    let taken = change.instrument(span).await;
    match taken {
        Ok(Taking::Taken { length, stacks, is_drained, .. }) => {
            if is_drained && let Err(error) = core.refresh_environments().await {
                tracing::warn!(%error, "a drained environment is shown as before for now");
            }
            if let Some(told) = stacks {
                core.hub().stacks_told(&run, &told);
            }
            answer(StatusCode::OK, length)
        }
        Ok(Taking::Foreign) => owner::refused(&agent, &run),
        Ok(Taking::Elsewhere { length }) => answer(StatusCode::CONFLICT, length),
        Ok(Taking::Unwanted) => owner::unwanted(&core, &run),
        Err(error) => unavailable(&WriteError::flatten(error)),
    }
}

fn apply(
    tx: &mut Transaction<'_>,
    run: &RunKey,
    offset: u64,
    bytes: &[u8],
    drains: bool,
    cause: &Cause,
) -> Result<Taking, LifecycleError> {
    let Some(task) = tx.task(&run.task)? else { return Ok(Taking::Unwanted) };
    let Some(node) = task.value.node_of(run) else { return Ok(Taking::Unwanted) };
    if !cause.principal.is_agent_of(&node.environment) {
        return Ok(Taking::Foreign);
    }
    let row = match tx.put_run(run, &node.environment) {
        Ok(row) => row,
        Err(JournalError::Store(error)) => return Err(error.into()),
        Err(JournalError::Offset { .. } | JournalError::NoRun) => return Ok(Taking::Unwanted),
    };
    if row.journal_length != offset {
        return Ok(Taking::Elsewhere { length: row.journal_length });
    }
    let Lines { events, rest, dropped } = journal_lines::take(row.tail, bytes);
    if dropped > 0 {
        tracing::warn!(%run, dropped, "lines of a journal are too long and were passed over");
    }
    let stacks = events.iter().rev().find_map(|(_, event)| match event {
        RunEvent::StacksTaken { stacks, silent, .. } => {
            let world_size = task.value.world_size();
            let silent = silent.iter().copied().filter(|rank| *rank < world_size).take(world_size as usize).collect();
            Some(StacksTold { stacks: StackGroup::bounded(stacks, world_size), silent })
        }
        _ => None,
    });
    let reported = events.iter().map(|(_, event)| event);
    let is_drained = drains && faulty_gpu::drain(tx, &node.environment, reported, cause.now_ms)?;
    let groups = journal_lines::grouped(events, task.value.created_ms..=cause.now_ms);
    let length = offset + bytes.len() as u64;
    match tx.advance_journal(run, offset, length, &rest) {
        Ok(()) => {}
        Err(JournalError::Offset { have }) => return Ok(Taking::Elsewhere { length: have }),
        Err(JournalError::NoRun) => return Ok(Taking::Unwanted),
        Err(JournalError::Store(error)) => return Err(error.into()),
    }
    let mut changed = Vec::with_capacity(groups.len());
    for events in groups {
        let now_ms = events.first().map_or(cause.now_ms, |(begin, _)| *begin);
        let node = run.node_rank;
        let inputs =
            events.into_iter().map(|(time_ms, event)| TaskInput::Journal { node, time_ms, event: Box::new(event) });
        let cause = Cause { principal: cause.principal.clone(), now_ms };
        changed.push(lifecycle::apply(tx, &run.task, inputs.collect::<Vec<_>>(), &cause)?);
    }
    Ok(Taking::Taken { length, stacks, is_drained, changed })
}

pub fn unavailable(error: &dyn std::fmt::Display) -> Response {
    tracing::error!(%error, "what an agent sent could not be stored");
    let message = format!("{error}");
    (StatusCode::SERVICE_UNAVAILABLE, Json(serde_json::json!({ "code": 503, "message": message, "data": null })))
        .into_response()
}

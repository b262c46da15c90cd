//! What ranks wrote, piece by piece.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fermi_api::link::Taken;
use fermi_domain::task::RunKey;
use fermi_store::chunks::{AppendError, StreamKind, StreamName};
use serde::Deserialize;

use super::journal::unavailable;
use super::owner;
use crate::caller::Caller;
use crate::core::Core;

/// Where in its stream a piece begins.
#[derive(Debug, Deserialize)]
pub struct Offset {
    pub offset: u64,
}

type StreamPath = Path<(RunKey, u32, u32, StreamKind)>;

fn name((run, attempt, rank, kind): (RunKey, u32, u32, StreamKind)) -> StreamName {
    StreamName { task: run.task, attempt, rank, kind }
}

pub async fn length(State(core): State<Core>, Caller(agent): Caller, Path(stream): StreamPath) -> Response {
    if let Err(refused) = owner::check(&core, &agent, &stream.0).await {
        return *refused;
    }
    let chunks = core.chunks().clone();
    match tokio::task::spawn_blocking(move || chunks.length(&name(stream))).await {
        Ok(Ok(length)) => answer(StatusCode::OK, length),
        Ok(Err(error)) => unavailable(&error),
        Err(error) => unavailable(&error),
    }
}

pub async fn take(
    State(core): State<Core>,
    Caller(agent): Caller,
    Path(stream): StreamPath,
    Query(Offset { offset }): Query<Offset>,
    bytes: Bytes,
) -> Response {
    let run = stream.0.clone();
    // A run that is not the task's present one may still have lines to deliver: of an attempt that was.
    if let Err(refused) = owner::check(&core, &agent, &run).await {
        return *refused;
    }
    let (attempt, rank, kind) = (stream.1, stream.2, stream.3);
    let bytes_sent = bytes.len();
    let chunks = core.chunks().clone();
    let appended = tokio::task::spawn_blocking(move || chunks.append(&name(stream), offset, &bytes)).await;
    match appended {
        Ok(Ok(length)) => {
            tracing::debug!(task = %run.task, %run, attempt, rank, kind = kind.as_str(), bytes_sent, "a piece was taken");
            core.tell_logs_grown(&run.task);
            answer(StatusCode::OK, length)
        }
        Ok(Err(AppendError::Offset { have })) => answer(StatusCode::CONFLICT, have),
        Ok(Err(error)) => unavailable(&error),
        Err(error) => unavailable(&error),
    }
}

/// How much of a stream the server has.
pub fn answer(status: StatusCode, length: u64) -> Response {
    let message = status.canonical_reason().unwrap_or_default();
    let body = serde_json::json!({ "code": status.as_u16(), "message": message, "data": Taken { length } });
    (status, Json(body)).into_response()
}

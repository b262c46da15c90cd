//! What ranks wrote, piece by piece.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fermi_api::link::Taken;
use fermi_domain::disk::GapReason;
use fermi_domain::fleet::{JournalSent, Wanted};
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::RunKey;
use fermi_store::chunks::{AppendError, StreamKind, StreamName};
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, WriteError};
use serde::Deserialize;

use super::journal::unavailable;
use super::owner;
use super::sender::Sender;
use crate::core::Core;
use crate::disk::PieceTaken;
use crate::envelope::ApiProblem;

/// Where in its stream a piece begins, and what is known of the run's journal.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PiecePlace {
    pub offset: u64,
    /// The server has all of the run's journal, and there will be no more of it.
    #[serde(default)]
    pub journal_whole: bool,
}

impl PiecePlace {
    fn journal(&self) -> JournalSent {
        if self.journal_whole { JournalSent::Whole } else { JournalSent::Partly }
    }
}

type StreamPath = Path<(RunKey, u32, u32, StreamKind)>;

fn name((run, attempt, rank, kind): (RunKey, u32, u32, StreamKind)) -> StreamName {
    StreamName { task: run.task, attempt, rank, kind }
}

pub async fn length(State(core): State<Core>, Sender(agent): Sender, Path(stream): StreamPath) -> Response {
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
    Sender(agent): Sender,
    Path(stream): StreamPath,
    Query(place): Query<PiecePlace>,
    bytes: Bytes,
) -> Response {
    let run = stream.0.clone();
    // A run that is not the task's present one may still have lines to deliver: of an attempt that was.
    if let Err(refused) = owner::check(&core, &agent, &run).await {
        return *refused;
    }
    let (attempt, rank, kind) = (stream.1, stream.2, stream.3);
    let bytes_sent = bytes.len();
    let worker = core.clone();
    let taking = tokio::task::spawn_blocking(move || keep(&worker, stream, place, &bytes));
    match taking.await {
        Ok(Ok(PieceTaken { length, news })) => {
            if let Some(reason) = news {
                tell_gap(&core, &run, reason).await;
            }
            tracing::debug!(task = %run.task, %run, attempt, rank, kind = kind.as_str(), bytes_sent, "a piece was taken");
            if kind != StreamKind::Start {
                core.tell_logs_grown(&run.task);
            }
            answer(StatusCode::OK, length)
        }
        Ok(Err(PieceRefusal::Append(AppendError::Offset { have }))) => answer(StatusCode::CONFLICT, have),
        Ok(Err(PieceRefusal::NoSuchStream)) => no_such_stream(&run, attempt, rank),
        Ok(Err(PieceRefusal::Unwanted)) => owner::unwanted(&core, &run),
        // What ranks write often comes before the news that they were started.
        Ok(Err(PieceRefusal::NotYet)) => answer(StatusCode::SERVICE_UNAVAILABLE, 0),
        Ok(Err(error)) => unavailable(&error),
        Err(error) => unavailable(&error),
    }
}

/// Why a piece is not taken.
#[derive(Debug, thiserror::Error)]
enum PieceRefusal {
    #[error("no rank of the task can have this stream")]
    NoSuchStream,
    #[error("the attempt of this number is another launch's")]
    Unwanted,
    #[error("the journal has not told of the attempt yet")]
    NotYet,
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes a piece; the first one of a stream only if a rank of the task can have it. Blocks.
fn keep(
    core: &Core,
    stream: (RunKey, u32, u32, StreamKind),
    place: PiecePlace,
    bytes: &[u8],
) -> Result<PieceTaken, PieceRefusal> {
    let (run, attempt, rank) = (stream.0.clone(), stream.1, stream.2);
    let name = name(stream);
    let chunks = &**core.chunks();
    let is_new = chunks.length(&name).map_err(AppendError::from)? == 0;
    if is_new || core.generation_of(&name.task, attempt) != Some(run.generation) {
        let id = name.task.clone();
        let task = core.store().read_blocking(move |view| view.task(&id))?;
        let task = task.ok_or(PieceRefusal::Unwanted)?.value;
        if !task.may_have_written(attempt, rank) {
            return Err(PieceRefusal::NoSuchStream);
        }
        match task.wants_stream(&run, attempt, place.journal()) {
            Wanted::Yes => core.note_generation(&name.task, attempt, run.generation),
            Wanted::NotYet => return Err(PieceRefusal::NotYet),
            Wanted::Never => return Err(PieceRefusal::Unwanted),
        }
    }
    Ok(core.disk().take(chunks, &name, place.offset, bytes)?)
}

fn no_such_stream(run: &RunKey, attempt: u32, rank: u32) -> Response {
    tracing::warn!(%run, attempt, rank, "a piece of a stream that cannot be was refused");
    let text = Text::new(
        format!("{run} 没有第 {attempt} 次启动的 rank {rank}"),
        format!("{run} has no rank {rank} in attempt {attempt}"),
    );
    let hint = Text::new("检查代理的版本与数据目录", "look at the agent's release and at its data folder");
    ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_stream", text).hint(hint).into_response()
}

/// Says once of each task that what its ranks write is not kept any more.
async fn tell_gap(core: &Core, run: &RunKey, reason: GapReason) {
    let mut event = NewEvent::new(core.now_ms(), "task.logs_dropped", reason.notice(), Principal::System);
    event = event.about_task(&run.task);
    tracing::warn!(task = %run.task, %run, ?reason, "bytes of a log are not kept");
    let told = core.store().write(move |tx| tx.append_event(event)).await;
    if let Err(error) = told.map_err(WriteError::<StoreError>::flatten) {
        tracing::error!(task = %run.task, %error, "it could not be stored that a log is not kept");
    }
}

/// How much of a stream the server has.
pub fn answer(status: StatusCode, length: u64) -> Response {
    answer_with(status, Taken { length, unwanted: None })
}

pub fn answer_with(status: StatusCode, taken: Taken) -> Response {
    let message = status.canonical_reason().unwrap_or_default();
    let body = serde_json::json!({ "code": status.as_u16(), "message": message, "data": taken });
    (status, Json(body)).into_response()
}

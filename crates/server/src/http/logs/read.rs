//! Reading logs: pieces in JSON, bytes as they are, or a stream that goes on.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use fermi_api::v1::{Envelope, Failure, LogChunk, LogGap, Logs, Stream};
use fermi_domain::language::Language;
use fermi_store::chunks::{ChunkStore, StreamKind, StreamName};

use super::selection::{Extent, KNOWN, Selection, Start, whole_letters};
use super::{follow, raw, shown};
use crate::envelope::{self, ApiProblem, EnvelopeAnswer};
use crate::http::app_state::AppState;
use crate::http::id::TaskPath;
use crate::http::params::Params;
use crate::http::stream_format::{StreamFormat, accepts};
use crate::http::tasks::show;

/// What a plain request gets of each stream.
const USUAL_LINES: usize = 200;
/// The most bytes of one answer in JSON.
const MOST_BYTES: u64 = 8 << 20;
const USUAL_BYTES: u64 = 1 << 20;

/// What ranks wrote.
///
/// JSON by default: the last 200 lines of each stream, or from `offset` on. `Accept: text/plain` gives the bytes as they
/// are, with `follow=true` as they come; `text/event-stream` and `application/x-ndjson` give a `LogPiece` each.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/logs", tag = "training-tasks",
    params(
        ("id" = String, Path),
        ("rank" = Option<u32>, Query, description = "One rank; all when not given"),
        ("stream" = Option<String>, Query, description = "`stdout`, `stderr` or `all`"),
        ("attempt" = Option<u32>, Query, minimum = 1, description = "The newest when not given"),
        ("tail" = Option<u32>, Query, description = "So many lines of each stream, from its end"),
        ("offset" = Option<u64>, Query, description = "From this byte on; needs one rank and one stream"),
        ("limitBytes" = Option<u64>, Query, minimum = 1, description = "At most so many bytes of each stream"),
        ("follow" = Option<bool>, Query, description = "Go on until the task is over"),
    ),
    responses((status = 200, description = "The logs", content(
        (Envelope<Logs> = "application/json"), (String = "text/plain"), (String = "text/event-stream"),
        (String = "application/x-ndjson"))),
        (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn logs(
    State(state): State<AppState>,
    TaskPath(id): TaskPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let params = Params::read(query.as_deref(), &KNOWN)?;
    let selection = Selection::read(id.clone(), &params)?;
    let mut extent = Extent::read(&params, &selection)?;
    show::find_with(&state.core, &id, selection.attempt, selection.rank).await?;
    let is_plain = accepts(&headers, "text/plain");
    let format = StreamFormat::wanted(&headers);
    extent.follow |= format == Some(StreamFormat::Sse);
    if is_plain && !extent.follow {
        return raw::answer(&state.core, selection, extent, envelope::language(&headers)).await;
    }
    if is_plain || format.is_some() {
        let last_id = headers.get("last-event-id").and_then(|value| value.to_str().ok());
        return follow::answer(state, selection, extent, format, last_id, envelope::language(&headers)).await;
    }
    let chunks = state.core.chunks().clone();
    let language = envelope::language(&headers);
    let read = tokio::task::spawn_blocking(move || gather(&*chunks, &selection, extent, language)).await;
    let logs = blocking(read)?;
    Ok(EnvelopeAnswer::ok(&logs)?.into_response())
}

/// What a blocking read came to.
pub fn blocking<T>(read: Result<std::io::Result<T>, tokio::task::JoinError>) -> Result<T, ApiProblem> {
    match read {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => Err(ApiProblem::broken("cannot read a stream", &error)),
        Err(error) => Err(ApiProblem::broken("reading a stream failed", &error)),
    }
}

/// The streams that are wanted, of the attempt that is wanted, with their lengths.
pub fn streams(chunks: &dyn ChunkStore, selection: &Selection) -> std::io::Result<(u32, Vec<(StreamName, u64)>)> {
    let mut all = chunks.streams(&selection.task)?;
    let attempt = selection.attempt.unwrap_or_else(|| newest(&all));
    all.retain(|(name, _)| name.attempt == attempt && selection.wants(name));
    Ok((attempt, all))
}

/// The newest attempt in which a rank has written something; that it was started is not its own writing.
pub fn newest(streams: &[(StreamName, u64)]) -> u32 {
    let written = streams.iter().filter(|(name, _)| name.kind != StreamKind::Start);
    written.map(|(name, _)| name.attempt).max().unwrap_or(0)
}

fn gather(chunks: &dyn ChunkStore, selection: &Selection, extent: Extent, language: Language) -> std::io::Result<Logs> {
    let (attempt, found) = streams(chunks, selection)?;
    let mut room = MOST_BYTES;
    let mut pieces = Vec::new();
    for (name, length) in found {
        let most = extent.limit_bytes.unwrap_or(USUAL_BYTES).min(room);
        let offset = match extent.start.unwrap_or(Start::Tail(USUAL_LINES)) {
            Start::Tail(lines) => tail(chunks, &name, lines, most)?,
            Start::Offset(offset) => offset,
        };
        let chunk = chunk(chunks, &name, length, offset, most, language)?;
        room = room.saturating_sub(chunk.text.len() as u64);
        pieces.push(chunk);
    }
    Ok(Logs { attempt, chunks: pieces })
}

/// Where the last lines begin, cut at the front where they are too many bytes.
pub fn tail(chunks: &dyn ChunkStore, name: &StreamName, lines: usize, most: u64) -> std::io::Result<u64> {
    if lines == 0 {
        return chunks.length(name);
    }
    let (offset, bytes) = chunks.tail(name, lines)?;
    Ok(offset + (bytes.len() as u64).saturating_sub(most))
}

/// At most so many bytes of a stream from an offset on, and a line for each gap among them.
fn chunk(
    chunks: &dyn ChunkStore,
    name: &StreamName,
    length: u64,
    offset: u64,
    most: u64,
    language: Language,
) -> std::io::Result<LogChunk> {
    let (mut text, mut gaps, mut next) = (Vec::new(), Vec::new(), offset);
    let mut left = usize::try_from(most).unwrap_or(usize::MAX);
    while left > 0 {
        let part = shown::part(chunks, name, next, left, language)?;
        if part.bytes.is_empty() {
            break;
        }
        left = left.saturating_sub(part.bytes.len());
        next = part.next;
        text.extend_from_slice(&part.bytes);
        gaps.extend(part.gap.map(|gap| LogGap { offset: gap.offset, length: gap.length }));
    }
    // At the end of what there is a letter may be half written; the next read begins with it.
    let whole = whole_letters(&text);
    let whole = if next >= length { whole } else { whole.max(1).min(text.len()) };
    next -= (text.len() - whole) as u64;
    Ok(LogChunk {
        attempt: name.attempt,
        rank: name.rank,
        stream: stream(name.kind),
        offset,
        next_offset: next,
        length: length.max(next),
        text: String::from_utf8_lossy(&text[..whole]).into_owned(),
        gaps,
    })
}

/// As the API calls it. What ranks report of their progress and what they were started with is no log and never comes here.
pub fn stream(kind: StreamKind) -> Stream {
    match kind {
        StreamKind::Stdout | StreamKind::Progress | StreamKind::Start => Stream::Stdout,
        StreamKind::Stderr => Stream::Stderr,
        StreamKind::Hang => Stream::Hang,
    }
}

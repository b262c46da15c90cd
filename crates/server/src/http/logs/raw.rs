//! The bytes of streams as they are, one stream behind the other.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use fermi_domain::language::Language;
use fermi_store::chunks::{ChunkStore, StreamName};
use futures_util::stream;

use super::read::{blocking, streams, tail};
use super::selection::{Extent, Selection, Start};
use super::shown;
use crate::core::Core;
use crate::envelope::ApiProblem;

/// Read and sent at once.
const PIECE: usize = 256 << 10;

struct Reader {
    chunks: Arc<dyn ChunkStore>,
    /// Streams with the ranges that are still to be sent.
    left: VecDeque<(StreamName, u64, u64)>,
    language: Language,
}

/// Sends what there is now, and ends.
pub async fn answer(
    core: &Core,
    selection: Selection,
    extent: Extent,
    language: Language,
) -> Result<Response, ApiProblem> {
    let chunks = core.chunks().clone();
    let planned = tokio::task::spawn_blocking(move || plan(&*chunks, &selection, extent)).await;
    let reader = Reader { chunks: core.chunks().clone(), left: blocking(planned)?, language };
    let body = Body::from_stream(stream::unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Some((piece, reader))
    }));
    let mut response = Response::new(body);
    plain(&mut response);
    Ok(response)
}

/// Marks an answer as text that no browser shall take for anything else.
pub fn plain(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

fn plan(
    chunks: &dyn ChunkStore,
    selection: &Selection,
    extent: Extent,
) -> io::Result<VecDeque<(StreamName, u64, u64)>> {
    let most = extent.limit_bytes.unwrap_or(u64::MAX);
    let (_, found) = streams(chunks, selection)?;
    found
        .into_iter()
        .map(|(name, length)| {
            let start = match extent.start.unwrap_or(Start::Offset(0)) {
                Start::Offset(offset) => offset.min(length),
                Start::Tail(lines) => tail(chunks, &name, lines, most)?,
            };
            Ok((name, start, start.saturating_add(most).min(length)))
        })
        .collect()
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        loop {
            let (name, start, end) = self.left.pop_front()?;
            if start >= end {
                continue;
            }
            let size = usize::try_from(end - start).unwrap_or(PIECE).min(PIECE);
            let (chunks, wanted, language) = (self.chunks.clone(), name.clone(), self.language);
            let read = tokio::task::spawn_blocking(move || shown::part(&*chunks, &wanted, start, size, language));
            return match read.await {
                Ok(Ok(part)) if part.bytes.is_empty() => continue,
                Ok(Ok(part)) => {
                    self.left.push_front((name, part.next, end));
                    Some(Ok(part.bytes.into()))
                }
                Ok(Err(error)) => Some(Err(error)),
                Err(error) => Some(Err(io::Error::other(error))),
            };
        }
    }
}

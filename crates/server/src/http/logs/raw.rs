//! The bytes of streams as they are, one stream behind the other.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use fermi_store::chunks::{ChunkStore, StreamName};
use futures_util::stream;

use super::read::{blocking, streams, tail};
use super::selection::{Extent, Selection, Start};
use crate::core::Core;
use crate::envelope::ApiProblem;

/// Read and sent at once.
const PIECE: usize = 256 << 10;

struct Reader {
    chunks: Arc<dyn ChunkStore>,
    /// Streams with the ranges that are still to be sent.
    left: VecDeque<(StreamName, u64, u64)>,
}

/// Sends what there is now, and ends.
pub async fn answer(core: &Core, selection: Selection, extent: Extent) -> Result<Response, ApiProblem> {
    let chunks = core.chunks().clone();
    let planned = tokio::task::spawn_blocking(move || plan(&*chunks, &selection, extent)).await;
    let reader = Reader { chunks: core.chunks().clone(), left: blocking(planned)? };
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
                Start::Tail(lines) => tail(chunks, &name, lines, most)?.0,
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
            let (chunks, wanted) = (self.chunks.clone(), name.clone());
            let read = tokio::task::spawn_blocking(move || chunks.read(&wanted, start, size)).await;
            return match read {
                Ok(Ok(bytes)) if bytes.is_empty() => continue,
                Ok(Ok(bytes)) => {
                    self.left.push_front((name, start + bytes.len() as u64, end));
                    Some(Ok(bytes.into()))
                }
                Ok(Err(error)) => Some(Err(error)),
                Err(error) => Some(Err(io::Error::other(error))),
            };
        }
    }
}

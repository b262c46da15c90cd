//! Bodies that go on: event streams for pages, lines of JSON for programs.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::Stream;

/// Something is sent at least this often, so that a dead connection is noticed on both sides.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Stands with an answer that goes on, however it is written: it ends when its caller may not ask any more.
#[derive(Clone, Copy, Debug)]
pub struct GoesOn;

/// How a stream is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamFormat {
    Sse,
    Lines,
}

impl StreamFormat {
    pub const ALL: [Self; 2] = [Self::Sse, Self::Lines];

    /// The one that the caller asks for; none when he wants a plain answer.
    pub fn wanted(headers: &HeaderMap) -> Option<Self> {
        Self::ALL.into_iter().find(|format| accepts(headers, format.content_type()))
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Lines => "application/x-ndjson",
        }
    }

    /// Carries nothing, and keeps the connection open.
    pub fn keep_alive(self) -> Bytes {
        match self {
            Self::Sse => Bytes::from_static(b": keep-alive\n\n"),
            Self::Lines => Bytes::from_static(b"\n"),
        }
    }

    /// A stream as an answer.
    pub fn response(self, stream: impl Stream<Item = Bytes> + Send + 'static) -> Response {
        use futures_util::StreamExt;
        let body = Body::from_stream(stream.map(Ok::<_, Infallible>));
        let mut response = Response::new(body);
        response.extensions_mut().insert(GoesOn);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // A proxy that collects an answer before it passes it on would make it a dead one.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        response
    }
}

/// Whether the caller names this type; wildcards do not count.
pub fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|entry| entry.split(';').next().is_some_and(|named| named.trim().eq_ignore_ascii_case(kind)))
}

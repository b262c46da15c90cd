//! Sources that were sent once, for the agents that need them.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio_util::io::ReaderStream;

use super::journal::unavailable;
use super::streams::answer;
use crate::core::Core;

pub async fn give(State(core): State<Core>, Path(digest): Path<String>) -> Response {
    let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
    // A digest is hexadecimal, so that it cannot lead out of the folder.
    if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return answer(StatusCode::NOT_FOUND, 0);
    }
    match tokio::fs::File::open(core.snapshots().join(format!("{digest}.tar.gz"))).await {
        Ok(file) => {
            ([(header::CONTENT_TYPE, "application/gzip")], Body::from_stream(ReaderStream::new(file))).into_response()
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => answer(StatusCode::NOT_FOUND, 0),
        Err(error) => unavailable(&error),
    }
}

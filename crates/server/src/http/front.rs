//! The front door: every request passes the guard, is measured, and is answered in the caller's language even if its
//! handler panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::meters::Meters;
use crate::envelope::{Problem, front_end, language, render};
use crate::guard::Guard;

#[derive(Clone, Debug)]
struct Front {
    guard: Arc<Guard>,
    meters: Arc<Meters>,
}

/// Puts the front door before a router.
pub fn front(guard: Guard, router: Router) -> Router {
    let front = Front { guard: Arc::new(guard), meters: Arc::new(Meters::default()) };
    router.layer(from_fn_with_state(front, pass))
}

/// Where agents send what their ranks wrote.
const STREAMS: &str = "/api/agent/v1/runs/{run}/streams/";

fn sent_bytes(method: &Method, headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).filter(|_| *method == Method::POST);
    length.and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0)
}

async fn pass(State(front): State<Front>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let language = language(request.headers());
    let front_end = front_end(request.headers());
    let is_head = request.method() == Method::HEAD;
    let route = request.extensions().get::<MatchedPath>().cloned();
    let sent = sent_bytes(request.method(), request.headers());
    let response = match front.guard.judge(request.method(), request.uri(), request.headers()) {
        Err(problem) => problem.into_response(),
        Ok(()) => {
            request.extensions_mut().insert(front.meters.clone());
            let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            answered.unwrap_or_else(|_| Problem::panicked().into_response())
        }
    };
    let response = render(response, language, front_end, is_head);
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    if route.starts_with(STREAMS) && response.status().is_success() {
        front.meters.took_bytes(sent);
    }
    front.meters.record(route, response.status(), began.elapsed());
    response
}

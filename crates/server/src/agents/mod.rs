//! What agents say and send: the [`link`] over which they are led once [`registration`] has let them in, and what their ranks
//! wrote ([`journal`], [`streams`]), which is taken from its [`owner`] alone.

mod admission;
mod bounds;
mod dataset;
mod faulty_gpu;
pub(crate) mod identity;
mod journal;
mod journal_lines;
mod link;
pub(crate) mod owner;
mod registration;
mod sender;
mod snapshots;
mod streams;

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tower_http::timeout::TimeoutLayer;

use crate::core::Core;

/// The largest piece of a stream that is taken at once.
const LARGEST_PIECE: usize = 4 << 20;

/// How long a piece may take to come; the agent sends it again.
const PIECE_PATIENCE: Duration = Duration::from_secs(60);

/// The routes for agents.
pub fn router(core: Core) -> Router {
    let in_time = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, PIECE_PATIENCE);
    Router::new()
        .route("/api/agent/v1/runs/{run}/journal", post(journal::take).get(journal::length))
        .route("/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}", post(streams::take).get(streams::length))
        .layer(in_time)
        .route(fermi_api::link::LINK_PATH, get(link::answer))
        .route("/api/agent/v1/snapshots/{digest}", get(snapshots::give))
        .layer(DefaultBodyLimit::max(LARGEST_PIECE))
        .with_state(core)
}

//! What agents say and send: the [`link`] over which they are led once [`registration`] has let them in, and what their ranks
//! wrote ([`journal`], [`streams`]), which is taken from its [`owner`] alone.

mod admission;
mod bounds;
pub(crate) mod identity;
mod journal;
mod journal_lines;
mod link;
mod owner;
mod registration;
mod sender;
mod snapshots;
mod streams;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::core::Core;

/// The largest piece of a stream that is taken at once.
const LARGEST_PIECE: usize = 4 << 20;

/// The routes for agents.
pub fn router(core: Core) -> Router {
    Router::new()
        .route(fermi_api::link::LINK_PATH, get(link::answer))
        .route("/api/agent/v1/runs/{run}/journal", post(journal::take).get(journal::length))
        .route("/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}", post(streams::take).get(streams::length))
        .route("/api/agent/v1/snapshots/{digest}", get(snapshots::give))
        .layer(DefaultBodyLimit::max(LARGEST_PIECE))
        .with_state(core)
}

//! Whether the server lives, and which one it is.

use axum::extract::State;
use fermi_api::v1::{Empty, Envelope, Failure, Readiness, Version};
use fermi_store::StoreError;

use crate::core::Core;
use crate::envelope::{Answer, Reply};

/// The process answers.
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, body = Envelope<Empty>)))]
pub async fn live() -> Reply {
    Answer::ok(&Empty {})
}

/// The store can be read.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = Envelope<Readiness>), (status = 503, body = Failure)))]
pub async fn ready(State(core): State<Core>) -> Reply {
    let read: Result<u64, StoreError> = core.store().read(|view| view.last_cursor()).await;
    read?;
    Answer::ok(&Readiness { ready: true })
}

/// Which release this is.
#[utoipa::path(get, path = "/version", tag = "health", responses((status = 200, body = Envelope<Version>)))]
pub async fn version() -> Reply {
    Answer::ok(&Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: vec!["v1".to_owned()],
        link: fermi_api::link::LINK_VERSION,
    })
}

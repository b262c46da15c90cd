//! What handlers share.

use std::sync::Arc;

use axum::extract::FromRef;

use super::fan_out::FanOut;
use crate::core::Core;

/// The server's core, and the one who tells followers what is new.
#[derive(Clone, Debug)]
pub struct AppState {
    pub core: Core,
    pub fan_out: Arc<FanOut>,
}

impl FromRef<AppState> for Core {
    fn from_ref(state: &AppState) -> Self {
        state.core.clone()
    }
}

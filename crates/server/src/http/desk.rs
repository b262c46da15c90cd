//! What handlers share.

use std::sync::Arc;

use axum::extract::FromRef;

use super::speaker::Speaker;
use crate::core::Core;

/// The server's core, and the one who tells followers what is new.
#[derive(Clone, Debug)]
pub struct Desk {
    pub core: Core,
    pub speaker: Arc<Speaker>,
}

impl FromRef<Desk> for Core {
    fn from_ref(desk: &Desk) -> Self {
        desk.core.clone()
    }
}

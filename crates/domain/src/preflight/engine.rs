//! The engines that a preflight can let add over all nodes.

use serde::{Deserialize, Serialize};

/// Which engine's own device list and all-reduce are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PreflightEngine {
    Torch,
    Jax,
}

impl PreflightEngine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Jax => "jax",
        }
    }
}

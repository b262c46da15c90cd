//! Optimizers and the bytes that they keep per parameter.

use serde::{Deserialize, Serialize};

/// What updates the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    #[default]
    Adam,
    Adam8bit,
    Sgd,
    SgdMomentum,
    Lion,
    Muon,
    Adafactor,
}

impl Optimizer {
    pub const NAMES: &'static str = "adamw, adamw_8bit, sgd, sgd_momentum, lion, muon, adafactor";

    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "adam" | "adamw" | "adamw_torch" | "adamw_torch_fused" | "fused_adam" | "lamb" => Self::Adam,
            "adam_8bit" | "adamw_8bit" | "adam8bit" | "adamw8bit" | "adamw_bnb_8bit" => Self::Adam8bit,
            "sgd" => Self::Sgd,
            "sgd_momentum" | "momentum" => Self::SgdMomentum,
            "lion" => Self::Lion,
            "muon" => Self::Muon,
            "adafactor" => Self::Adafactor,
            _ => return None,
        })
    }

    /// Moments per parameter, in elements of the state's own format.
    pub fn moments(self) -> f64 {
        match self {
            Self::Adam => 2.0,
            Self::Adam8bit => 0.5,
            Self::SgdMomentum | Self::Lion | Self::Muon => 1.0,
            Self::Sgd => 0.0,
            Self::Adafactor => 0.01,
        }
    }
}

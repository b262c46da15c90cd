//! What is thrown away in the forward pass and computed again.

use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};

/// Activation checkpointing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recompute {
    None,
    /// Only the attention core, which is large and cheap.
    Attention,
    /// Every other product, or every other block.
    Half,
    /// Each block from its input.
    Full,
}

impl Recompute {
    pub fn parse(name: &str) -> Option<Self> {
        let n = name.to_ascii_lowercase().replace(['-', ' '], "_");
        Some(match n.as_str() {
            "none" | "no" | "false" | "off" => Self::None,
            "selective" | "selective_attn" | "selective_attention" | "attention" | "attn" | "core_attn" => {
                Self::Attention
            }
            "selective_op" | "selective_layer" | "selective_block" | "half" | "every_second" => Self::Half,
            "full" | "true" | "uniform" | "block" => Self::Full,
            _ if n.starts_with("selective") => Self::Half,
            _ if n.starts_with("full") => Self::Full,
            _ => return None,
        })
    }

    /// For people.
    pub fn text(self) -> Text {
        match self {
            Self::None => Text::new("无", "none"),
            Self::Attention => Text::new("注意力", "attention"),
            Self::Half => Text::new("一半", "half"),
            Self::Full => Text::new("全部", "full"),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Attention => "selective",
            Self::Half => "selective_op",
            Self::Full => "full",
        }
    }
}

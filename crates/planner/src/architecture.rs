//! The shape of a transformer, and how many parameters it has.

use serde::{Deserialize, Serialize};

/// Which linear layers carry a bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Biases {
    #[default]
    None,
    Qkv,
    All,
}

/// RMS norms have one vector, layer norms two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    #[default]
    Rms,
    Layer,
}

/// What stands between the products of a feed-forward block, as frameworks write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// One kernel, input kept.
    #[default]
    Fused,
    /// The tanh form of GELU written out in several kernels (GPT-2, BLOOM).
    GeluComposed,
    /// Cheap, and needs only its own output.
    Relu,
}

/// A mixture of experts in place of each feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    pub count: u64,
    pub active: u64,
    pub shared: u64,
    pub ffn: u64,
}

/// What of a network decides its cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    pub layers: u64,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head_dim: u64,
    pub ffn: u64,
    pub vocab: u64,
    pub gated: bool,
    pub tied: bool,
    pub biases: Biases,
    pub norm: Norm,
    /// Rows of the table of learned positions; 0 with rotary or ALiBi positions.
    pub learned_positions: u64,
    pub activation: Activation,
    /// Tokens see only those before them; encoders such as BERT see all.
    pub causal: bool,
    /// Queries and keys are normed head by head (Qwen3, OLMo 2, Gemma 3).
    pub qk_norm: bool,
    pub experts: Option<Experts>,
    /// The published count, where it differs from what the shape says.
    pub stated_params: Option<u64>,
}

impl Architecture {
    /// Width of the query projection.
    pub fn query_width(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Width of the key (or value) projection.
    pub fn kv_width(&self) -> u64 {
        self.kv_heads.saturating_mul(self.head_dim)
    }

    fn matrices_into_ffn(&self) -> u64 {
        if self.gated { 2 } else { 1 }
    }

    fn attention_params(&self) -> u64 {
        let (h, q, kv) = (self.hidden, self.query_width(), self.kv_width());
        let bias = match self.biases {
            Biases::None => 0,
            Biases::Qkv => q + 2 * kv,
            Biases::All => q + 2 * kv + h,
        };
        h.saturating_mul(q + 2 * kv).saturating_add(q.saturating_mul(h)).saturating_add(bias)
    }

    fn ffn_params(&self, width: u64) -> u64 {
        let bias = if self.biases == Biases::All { width * self.matrices_into_ffn() + self.hidden } else { 0 };
        self.hidden.saturating_mul(width).saturating_mul(self.matrices_into_ffn() + 1).saturating_add(bias)
    }

    fn norm_params(&self) -> u64 {
        match self.norm {
            Norm::Rms => self.hidden,
            Norm::Layer if self.biases == Biases::All => 2 * self.hidden,
            Norm::Layer => self.hidden,
        }
    }

    /// Parameters of one transformer block.
    pub fn layer_params(&self) -> u64 {
        let blocks = match self.experts {
            Some(e) => self
                .ffn_params(e.ffn)
                .saturating_mul(e.count.saturating_add(e.shared))
                .saturating_add(self.hidden.saturating_mul(e.count)),
            None => self.ffn_params(self.ffn),
        };
        self.attention_params().saturating_add(blocks).saturating_add(2 * self.norm_params())
    }

    /// Parameters of the routed experts of all blocks; 0 without experts.
    pub fn routed_params(&self) -> u64 {
        let each = |e: Experts| self.ffn_params(e.ffn).saturating_mul(e.count);
        self.experts.map_or(0, |e| each(e).saturating_mul(self.layers)).min(self.params())
    }

    /// Parameters that the matrix products of one block touch per token: routed experts count only when active.
    pub fn active_layer_params(&self) -> u64 {
        let blocks = match self.experts {
            Some(e) => self.ffn_params(e.ffn).saturating_mul(e.active.saturating_add(e.shared)),
            None => self.ffn_params(self.ffn),
        };
        self.attention_params().saturating_add(blocks)
    }

    /// Parameters of one table of token embeddings.
    pub fn embedding_params(&self) -> u64 {
        self.vocab.saturating_mul(self.hidden)
    }

    /// Everything the shape says, whatever was published.
    pub fn counted_params(&self) -> u64 {
        let tables = if self.tied { 1 } else { 2 };
        self.layer_params()
            .saturating_mul(self.layers)
            .saturating_add(self.embedding_params().saturating_mul(tables))
            .saturating_add(self.learned_positions.saturating_mul(self.hidden))
            .saturating_add(self.norm_params())
    }

    /// All parameters.
    pub fn params(&self) -> u64 {
        self.stated_params.unwrap_or_else(|| self.counted_params())
    }

    /// Model FLOPs of one token, forward and backward, causal attention, as the trade counts MFU.
    pub fn flops_per_token(&self, seq_len: u64) -> f64 {
        let products = self.active_layer_params() as f64 * self.layers as f64 + self.embedding_params() as f64;
        6.0 * products + 6.0 * self.layers as f64 * self.query_width() as f64 * seq_len as f64
    }
}

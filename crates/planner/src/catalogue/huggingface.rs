//! The shape of a model from a Hugging Face `config.json`.

use serde::Deserialize;

use crate::architecture::{Architecture, Biases, Experts};
use crate::error::PlanError;

/// Fields under the names that the model families use.
#[derive(Debug, Deserialize)]
struct Config {
    model_type: Option<String>,
    #[serde(alias = "n_layer", alias = "n_layers", alias = "num_layers")]
    num_hidden_layers: Option<u64>,
    #[serde(alias = "n_embd", alias = "d_model", alias = "n_embed")]
    hidden_size: Option<u64>,
    #[serde(alias = "n_head", alias = "n_heads")]
    num_attention_heads: Option<u64>,
    num_key_value_heads: Option<u64>,
    head_dim: Option<u64>,
    #[serde(alias = "ffn_dim", alias = "n_inner", alias = "ffn_hidden_size")]
    intermediate_size: Option<u64>,
    vocab_size: Option<u64>,
    #[serde(alias = "n_positions", alias = "max_seq_len")]
    max_position_embeddings: Option<u64>,
    tie_word_embeddings: Option<bool>,
    #[serde(alias = "num_experts", alias = "n_routed_experts")]
    num_local_experts: Option<u64>,
    num_experts_per_tok: Option<u64>,
    n_shared_experts: Option<u64>,
    moe_intermediate_size: Option<u64>,
}

/// Reads a configuration; says which field is missing.
pub fn architecture_of_config(json: &str) -> Result<Architecture, PlanError> {
    let config: Config = serde_json::from_str(json).map_err(|error| {
        PlanError::new(
            "model-config",
            fermi_domain::language::Text::new(
                format!("读不懂模型配置：{error}"),
                format!("cannot read the model configuration: {error}"),
            ),
            fermi_domain::language::Text::new(
                "请使用 Hugging Face 的 config.json",
                "use the config.json of a Hugging Face model",
            ),
        )
    })?;
    let kind = config.model_type.unwrap_or_default();
    let lineage = super::lineage::of(&kind);
    let learned = matches!(kind.as_str(), "gpt2" | "opt" | "bert" | "roberta");
    let plain = !lineage.gated;
    let hidden = config.hidden_size.ok_or_else(|| PlanError::missing("hidden_size"))?;
    let heads = config.num_attention_heads.ok_or_else(|| PlanError::missing("num_attention_heads"))?;
    let ffn = config.intermediate_size.unwrap_or(hidden.saturating_mul(4));
    Ok(Architecture {
        layers: config.num_hidden_layers.ok_or_else(|| PlanError::missing("num_hidden_layers"))?,
        hidden,
        heads,
        kv_heads: config.num_key_value_heads.unwrap_or(heads),
        head_dim: config.head_dim.unwrap_or_else(|| hidden.checked_div(heads).unwrap_or(0)),
        ffn,
        vocab: config.vocab_size.ok_or_else(|| PlanError::missing("vocab_size"))?,
        gated: !plain,
        tied: config.tie_word_embeddings.unwrap_or(learned || kind == "bloom"),
        biases: match kind.as_str() {
            "qwen2" | "qwen2_moe" => Biases::Qkv,
            _ => lineage.biases,
        },
        norm: lineage.norm,
        learned_positions: match kind.as_str() {
            "opt" => config.max_position_embeddings.unwrap_or(2048) + 2,
            _ if learned => config.max_position_embeddings.unwrap_or(1024),
            _ => 0,
        },
        causal: !kind.contains("bert"),
        qk_norm: lineage.qk_norm,
        activation: lineage.activation,
        experts: config.num_local_experts.filter(|count| *count > 0).map(|count| Experts {
            count,
            active: config.num_experts_per_tok.unwrap_or(2),
            shared: config.n_shared_experts.unwrap_or(0),
            ffn: config.moe_intermediate_size.unwrap_or(ffn),
        }),
        stated_params: None,
    })
}

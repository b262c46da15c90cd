//! The shape of a model from a Hugging Face `config.json`.

use fermi_domain::language::{Text, reason};
use fermi_domain::model::{ModelExperts, ModelShape};
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
    shape_of_config(json).map(|shape| Architecture::of_shape(&shape))
}

/// The numbers of a configuration; says which field is missing.
pub fn shape_of_config(json: &str) -> Result<ModelShape, PlanError> {
    let config: Config = serde_json::from_str(json).map_err(|error| {
        let why = reason::of_json(&error);
        PlanError::new(
            "model-config",
            Text::new(
                format!("读不懂模型配置：{}", why.zh),
                format!("cannot read the model configuration: {}", why.en),
            ),
            Text::new("请使用 Hugging Face 的 config.json", "use the config.json of a Hugging Face model"),
        )
    })?;
    let hidden = config.hidden_size.ok_or_else(|| PlanError::missing("hidden_size"))?;
    let heads = config.num_attention_heads.ok_or_else(|| PlanError::missing("num_attention_heads"))?;
    let ffn = config.intermediate_size.unwrap_or(hidden.saturating_mul(4));
    Ok(ModelShape {
        layers: config.num_hidden_layers.ok_or_else(|| PlanError::missing("num_hidden_layers"))?,
        hidden,
        heads,
        kv_heads: config.num_key_value_heads.unwrap_or(heads),
        ffn,
        vocab: config.vocab_size.ok_or_else(|| PlanError::missing("vocab_size"))?,
        head_dim: config.head_dim,
        family: Some(config.model_type.unwrap_or_default()),
        tied: config.tie_word_embeddings,
        max_positions: config.max_position_embeddings,
        experts: config.num_local_experts.filter(|count| *count > 0).map(|count| ModelExperts {
            count,
            active: config.num_experts_per_tok.unwrap_or(2),
            shared: config.n_shared_experts.unwrap_or(0),
            ffn: config.moe_intermediate_size.unwrap_or(ffn),
        }),
        parameters: None,
    })
}

impl Architecture {
    /// What the family of a model says about its blocks joins its numbers. Without a family, a feed-forward layer of another
    /// width than four times the hidden one is taken for a gated one.
    pub fn of_shape(shape: &ModelShape) -> Self {
        let kind = shape.family.as_deref().unwrap_or_default();
        let lineage = super::lineage::of(kind);
        let learned = matches!(kind, "gpt2" | "opt" | "bert" | "roberta");
        let is_plain = shape.family.is_none() && shape.ffn == shape.hidden.saturating_mul(4);
        Self {
            layers: shape.layers,
            hidden: shape.hidden,
            heads: shape.heads,
            kv_heads: shape.kv_heads,
            head_dim: shape.head_dim.unwrap_or_else(|| shape.hidden.checked_div(shape.heads).unwrap_or(0)),
            ffn: shape.ffn,
            vocab: shape.vocab,
            gated: lineage.gated && !is_plain,
            tied: shape.tied.unwrap_or(learned || kind == "bloom"),
            biases: match kind {
                "qwen2" | "qwen2_moe" => Biases::Qkv,
                _ => lineage.biases,
            },
            norm: lineage.norm,
            learned_positions: match kind {
                "opt" => shape.max_positions.unwrap_or(2048).saturating_add(2),
                _ if learned => shape.max_positions.unwrap_or(1024),
                _ => 0,
            },
            causal: !kind.contains("bert"),
            qk_norm: lineage.qk_norm,
            activation: lineage.activation,
            experts: shape.experts.map(|it| Experts {
                count: it.count,
                active: it.active,
                shared: it.shared,
                ffn: it.ffn,
            }),
            stated_params: shape.parameters,
        }
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::model::ModelNumbers;

    use super::*;

    #[test]
    fn a_shape_that_was_stored_is_the_same_network() {
        let config = r#"{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
            "intermediate_size": 11008, "vocab_size": 32000, "tie_word_embeddings": false}"#;
        let shape = shape_of_config(config).unwrap();
        let stored: ModelShape = serde_json::from_str(&serde_json::to_string(&shape).unwrap()).unwrap();
        let (read, again) = (architecture_of_config(config).unwrap(), Architecture::of_shape(&stored));
        assert_eq!(read, again);
        assert_eq!(again.params(), 6_738_415_616);
    }

    #[test]
    fn numbers_by_hand_say_by_the_width_whether_a_block_is_gated() {
        let by_hand = |ffn| {
            let numbers = ModelNumbers { layers: Some(2), hidden: Some(64), heads: Some(4), ffn, ..Default::default() };
            Architecture::of_shape(&numbers.shape().unwrap()).gated
        };
        assert_eq!((by_hand(None), by_hand(Some(172))), (false, true));
    }
}

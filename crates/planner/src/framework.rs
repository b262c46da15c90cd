//! What of a training framework decides memory and speed.

use serde::{Deserialize, Serialize};

/// Frameworks that behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Megatron-LM of 2020 to 2022: no flash attention, nothing overlapped.
    MegatronLegacy,
    /// Megatron-DeepSpeed: as above with DeepSpeed's pipeline and ZeRO-1.
    MegatronDeepspeed,
    /// Megatron-Core, NeMo, Megatron-Bridge: Transformer Engine, overlapped communication.
    MegatronCore,
    /// Composer / LLM Foundry on FSDP1 with flash attention.
    Composer,
    Torchtitan,
    /// FSDP2 with DTensor, other loops than torchtitan.
    Fsdp2,
    /// IBM's fms-fsdp on FSDP1.
    FmsFsdp,
    MaxText,
    Deepspeed,
    /// Hugging Face transformers, eager, SDPA.
    Transformers,
    /// A loop of one's own on PyTorch, or unknown.
    Pytorch,
    /// Fermi's own trainer: one thread of a processor, which starts no kernels and waits for no Python.
    BuiltIn,
}

/// What a row calls Fermi's own trainer.
pub const BUILT_IN: &str = "fermi trainer";

impl Family {
    pub const ALL: [Self; 12] = [
        Self::MegatronLegacy,
        Self::MegatronDeepspeed,
        Self::MegatronCore,
        Self::Composer,
        Self::Torchtitan,
        Self::Fsdp2,
        Self::FmsFsdp,
        Self::MaxText,
        Self::Deepspeed,
        Self::Transformers,
        Self::Pytorch,
        Self::BuiltIn,
    ];

    /// Recognises a framework by the words of its description.
    pub fn parse(name: &str) -> Self {
        let n = name.to_ascii_lowercase();
        let has = |word: &str| n.contains(word);
        if n == BUILT_IN {
            Self::BuiltIn
        } else if has("maxtext") || has("jax") {
            Self::MaxText
        } else if has("megatron-deepspeed") || has("megatron deepspeed") || has("gpt-neox") {
            Self::MegatronDeepspeed
        } else if has("2020") || has("2021") || has("2022") || (has("megatron") && has("ptd")) {
            Self::MegatronLegacy
        } else if has("megatron") || has("nemo") || has("mcore") || has("transformer engine") {
            Self::MegatronCore
        } else if has("composer") || has("llm-foundry") || has("llm foundry") || has("mosaic") {
            Self::Composer
        } else if has("torchtitan") {
            Self::Torchtitan
        } else if has("fms") {
            Self::FmsFsdp
        } else if has("deepspeed") {
            Self::Deepspeed
        } else if has("transformers") || has("hugging") || has("trl") || has("accelerate") || has("torch 2.") {
            Self::Transformers
        } else if has("fsdp2") || has("dtensor") {
            Self::Fsdp2
        } else {
            Self::Pytorch
        }
    }

    pub fn index(self) -> usize {
        Self::ALL.iter().position(|f| *f == self).unwrap_or(Self::ALL.len() - 1)
    }

    /// Attention that never writes the s × s scores to memory.
    pub fn flash_attention(self) -> bool {
        !matches!(self, Self::MegatronLegacy | Self::MegatronDeepspeed)
    }

    pub fn is_megatron(self) -> bool {
        matches!(self, Self::MegatronLegacy | Self::MegatronDeepspeed | Self::MegatronCore)
    }

    /// The loss is computed on logits that stay split over the tensor-parallel group.
    pub fn splits_logits(self) -> bool {
        self.is_megatron() || matches!(self, Self::Torchtitan | Self::MaxText)
    }

    /// Gradients are accumulated and reduced in 32 bits.
    pub fn reduces_in_full(self) -> bool {
        matches!(self, Self::MegatronCore | Self::Torchtitan | Self::Fsdp2 | Self::Transformers)
    }
}

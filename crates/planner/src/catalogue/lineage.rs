//! What a model's name says about its blocks, where no catalogue knows the model itself.

use crate::architecture::{Activation, Biases, Norm};

/// Traits that a family of models shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub gated: bool,
    pub norm: Norm,
    pub biases: Biases,
    pub tied: bool,
    pub activation: Activation,
    pub qk_norm: bool,
    pub causal: bool,
}

/// Llama's block: what an unknown name is taken for, since most models of today follow it.
const LLAMA: Lineage = Lineage {
    gated: true,
    norm: Norm::Rms,
    biases: Biases::None,
    tied: false,
    activation: Activation::Fused,
    qk_norm: false,
    causal: true,
};

/// GPT-2's block with a fused activation and tables that are not tied.
const NEOX: Lineage = Lineage { gated: false, norm: Norm::Layer, biases: Biases::All, ..LLAMA };

/// GPT-2's block as large-scale frameworks write it.
const GPT: Lineage = Lineage { tied: true, ..NEOX };

/// By words of the name; the first that occurs decides, so that `distilgpt2` comes before `gpt`.
const KNOWN: [(&[&str], Lineage); 14] = [
    (&["gpt2", "gpt-2", "bloom"], Lineage { activation: Activation::GeluComposed, ..GPT }),
    (&["gpt-neox", "gpt_neox", "neox", "pythia", "dolly", "redpajama"], NEOX),
    (&["gpt-neo", "gpt_neo", "gpt-j", "gptj"], Lineage { activation: Activation::GeluComposed, ..NEOX }),
    (&["starcoder2"], NEOX),
    (&["starcoder", "santacoder", "bigcode"], GPT),
    (&["gpt"], GPT),
    (&["opt"], Lineage { activation: Activation::Relu, ..GPT }),
    (&["bert", "electra"], Lineage { causal: false, ..GPT }),
    (&["mpt", "falcon"], Lineage { biases: Biases::None, ..GPT }),
    (&["nemotron"], Lineage { gated: false, norm: Norm::Layer, ..LLAMA }),
    (&["phi-1", "phi-2", "phi1", "phi2"], Lineage { activation: Activation::GeluComposed, ..NEOX }),
    (&["gemma3", "gemma-3"], Lineage { tied: true, qk_norm: true, ..LLAMA }),
    (&["gemma"], Lineage { tied: true, ..LLAMA }),
    (&["qwen3", "olmo2", "olmo-2"], Lineage { qk_norm: true, ..LLAMA }),
];

/// The traits of a family or of a model's name.
pub fn of(name: &str) -> Lineage {
    let name = name.to_ascii_lowercase();
    let found = KNOWN.iter().find(|(words, _)| words.iter().any(|word| name.contains(word)));
    match name.as_str() {
        // Hugging Face calls the first two generations of Phi by this word alone.
        "phi" => Lineage { activation: Activation::GeluComposed, ..NEOX },
        _ if name.contains("qwen2") || name.contains("qwen1") => Lineage { biases: Biases::Qkv, ..LLAMA },
        _ => found.map_or(LLAMA, |(_, lineage)| *lineage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_block_a_model_has() {
        assert_eq!(of("EleutherAI/pythia-1.4b").norm, Norm::Layer);
        assert!(!of("EleutherAI/pythia-1.4b").gated);
        assert_eq!(of("microsoft/phi-2").activation, Activation::GeluComposed);
        assert!(of("Qwen/Qwen3-8B").qk_norm && !of("Qwen/Qwen2.5-7B").qk_norm);
        assert_eq!(of("facebook/opt-350m").activation, Activation::Relu);
        assert!(!of("roberta-large").causal);
        assert_eq!(of("something new"), LLAMA);
    }
}

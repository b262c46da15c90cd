//! Who keeps which part of parameters, gradients and optimizer states.

use serde::{Deserialize, Serialize};

/// Data-parallel sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharding {
    Ddp,
    Zero1,
    Zero2,
    Zero3,
    FsdpFull,
    FsdpGradOp,
    /// Full sharding inside groups of so many ranks, copies between the groups.
    Hybrid(u64),
}

/// Where states go that do not stay on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offload {
    #[default]
    None,
    /// Optimizer states and the update itself on the processor.
    OptimizerCpu,
    /// Parameters too.
    AllCpu,
    /// Everything on NVMe.
    AllNvme,
}

impl Sharding {
    pub fn parse(name: &str) -> Option<Self> {
        let n = name.to_ascii_lowercase().replace(['-', ' '], "_");
        Some(match n.as_str() {
            "ddp" | "dp" | "none" | "no_shard" | "zero0" | "zero_0" => Self::Ddp,
            "zero1" | "zero_1" | "distributed_optimizer" => Self::Zero1,
            "zero2" | "zero_2" => Self::Zero2,
            "zero3" | "zero_3" => Self::Zero3,
            "fsdp" | "fsdp1" | "fsdp2" | "fsdp_full" | "full_shard" | "full" => Self::FsdpFull,
            "fsdp_grad_op" | "shard_grad_op" => Self::FsdpGradOp,
            "hsdp" | "hybrid_shard" => Self::Hybrid(8),
            _ => {
                let size = n.strip_prefix("hsdp_").or_else(|| n.strip_prefix("hybrid_"));
                if let Some(size) = size {
                    return size.parse().ok().filter(|size| *size > 0).map(Self::Hybrid);
                }
                return Self::by_word(&n);
            }
        })
    }

    /// `deepspeed_stage_2`, `zero3_offload`, `fsdp(full)`: the words inside.
    fn by_word(name: &str) -> Option<Self> {
        let has = |word: &str| name.contains(word);
        let stage = |n: char| (has("zero") || has("stage")) && name.contains(n);
        Some(match () {
            () if stage('3') => Self::Zero3,
            () if stage('2') => Self::Zero2,
            () if stage('1') => Self::Zero1,
            () if has("fsdp") && has("grad") => Self::FsdpGradOp,
            () if has("fsdp") && (has("no_shard") || has("none")) => Self::Ddp,
            () if has("fsdp") || has("full_shard") => Self::FsdpFull,
            () if has("dist") && has("opt") => Self::Zero1,
            () if has("ddp") || has("data_parallel") => Self::Ddp,
            () => return None,
        })
    }

    pub fn name(self) -> String {
        match self {
            Self::Ddp => "ddp".to_owned(),
            Self::Zero1 => "zero1".to_owned(),
            Self::Zero2 => "zero2".to_owned(),
            Self::Zero3 => "zero3".to_owned(),
            Self::FsdpFull => "fsdp_full".to_owned(),
            Self::FsdpGradOp => "fsdp_grad_op".to_owned(),
            Self::Hybrid(size) => format!("hsdp_{size}"),
        }
    }

    /// Parameters are gathered for each block and let go again.
    pub fn gathers_parameters(self) -> bool {
        matches!(self, Self::Zero3 | Self::FsdpFull | Self::FsdpGradOp | Self::Hybrid(_))
    }

    /// Ranks over which states are spread, of `dp` ranks.
    pub fn group(self, dp: f64) -> f64 {
        match self {
            Self::Ddp => 1.0,
            Self::Hybrid(size) => (size as f64).min(dp),
            _ => dp,
        }
    }
}

//! One run, fully described: what every estimate takes.

use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::catalogue::Gpu;
use crate::error::PlanError;
use crate::framework::Family;
use crate::network::Network;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::recompute::Recompute;
use crate::sharding::{Offload, Sharding};

/// LoRA: only low-rank adapters of this rank are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lora {
    pub rank: u64,
}

/// How the work is cut over the GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    pub tp: u64,
    pub pp: u64,
    /// Virtual stages per GPU; 1 without interleaving.
    pub vp: u64,
    pub cp: u64,
    pub ep: u64,
    pub dp: u64,
    pub micro_batch: u64,
    /// Micro-batches per step and replica.
    pub accumulation: u64,
    pub sharding: Sharding,
    pub offload: Offload,
    pub recompute: Recompute,
    pub sequence_parallel: bool,
}

impl Layout {
    pub fn gpus(&self) -> u64 {
        self.tp.saturating_mul(self.pp).saturating_mul(self.cp).saturating_mul(self.dp)
    }

    pub fn global_batch(&self) -> u64 {
        self.micro_batch.saturating_mul(self.accumulation).saturating_mul(self.dp)
    }
}

/// Zones that the machines stand in, and the link between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zones {
    pub count: u64,
    /// What one zone sends to the others, in gigabits per second.
    pub gbps: f64,
    pub round_trip_ms: f64,
}

/// The machines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    pub gpu: Gpu,
    pub gpus: u64,
    pub gpus_per_node: u64,
    pub network: Network,
    /// None where all stand together.
    pub zones: Option<Zones>,
    /// Memory of one node's processors in GiB, for what is offloaded; none where it is not known.
    #[serde(default)]
    pub host_gib: Option<f64>,
}

impl Cluster {
    pub fn nodes(&self) -> u64 {
        self.gpus.div_ceil(self.gpus_per_node.max(1))
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub architecture: Architecture,
    pub seq_len: u64,
    pub cluster: Cluster,
    pub layout: Layout,
    pub precision: Precision,
    pub optimizer: Optimizer,
    pub family: Family,
    /// Gradients are kept in 16 bits where the family would keep 32.
    pub half_gradients: bool,
    /// Kernels are fused by a compiler.
    pub compiled: bool,
    /// Tensor-parallel messages travel while products are computed.
    pub hides_tensor: bool,
    /// Gradients and updated parameters travel while blocks are computed.
    pub hides_data: bool,
    pub lora: Option<Lora>,
}

/// No training known is larger than this in any one number.
const LIMIT: u64 = 1 << 40;

impl Job {
    /// Refuses what describes no run.
    pub fn check(&self) -> Result<(), PlanError> {
        let a = &self.architecture;
        let l = &self.layout;
        let numbers = [
            ("layers", a.layers),
            ("hidden", a.hidden),
            ("heads", a.heads),
            ("kv_heads", a.kv_heads),
            ("ffn", a.ffn),
            ("vocab", a.vocab),
            ("seq_len", self.seq_len),
            ("gpus", self.cluster.gpus),
            ("gpus_per_node", self.cluster.gpus_per_node),
            ("tp", l.tp),
            ("pp", l.pp),
            ("vp", l.vp),
            ("cp", l.cp),
            ("dp", l.dp),
            ("micro_batch", l.micro_batch),
            ("grad_accum", l.accumulation),
        ];
        for (field, value) in numbers {
            if value == 0 {
                return Err(PlanError::zero(field));
            }
            if value > LIMIT {
                return Err(PlanError::too_large(field));
            }
        }
        if a.params() > 1 << 50 {
            return Err(PlanError::too_large("params"));
        }
        if l.global_batch() > LIMIT || l.gpus() > LIMIT {
            return Err(PlanError::too_large("gpus, global_batch"));
        }
        if self.lora.is_some_and(|lora| lora.rank == 0) {
            return Err(PlanError::zero("lora_rank"));
        }
        if self.lora.is_some_and(|lora| lora.rank > 1 << 20) {
            return Err(PlanError::too_large("lora_rank"));
        }
        // Some families choose the width of a head freely; where it was derived, it has to come out even.
        let derived = a.head_dim == a.hidden / a.heads;
        if a.head_dim == 0 || (derived && !a.hidden.is_multiple_of(a.heads)) {
            return Err(PlanError::indivisible("heads", a.hidden, a.heads));
        }
        if a.kv_heads > a.heads || !a.heads.is_multiple_of(a.kv_heads) {
            return Err(PlanError::indivisible("kv_heads", a.heads, a.kv_heads));
        }
        Ok(())
    }

    /// Tokens of one optimizer step, over all replicas.
    pub fn tokens_per_step(&self) -> f64 {
        self.layout.global_batch() as f64 * self.seq_len as f64
    }

    /// Tokens that one GPU works on at once.
    pub fn tokens_per_micro_batch(&self) -> f64 {
        self.layout.micro_batch as f64 * self.seq_len as f64 / self.layout.cp as f64
    }

    /// Layers of the fullest pipeline stage.
    pub fn layers_per_stage(&self) -> f64 {
        let (layers, pp) = (self.architecture.layers, self.layout.pp);
        if layers.is_multiple_of(pp) { (layers / pp) as f64 } else { layers.div_ceil(pp) as f64 }
    }
}

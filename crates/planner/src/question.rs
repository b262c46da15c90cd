//! What a task that is about to be created says of itself, as far as a plan needs it.

use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::catalogue::{Catalogue, Gpu};
use crate::job::Cluster;
use crate::network::Network;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::recompute::Recompute;
use crate::search::Request;

/// One environment's GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Machine {
    /// The name that the driver reports, such as `NVIDIA A100-SXM4-80GB`.
    pub gpu: String,
    pub gpus: u64,
    /// What the driver reports, where it does.
    pub memory_gib: Option<f64>,
}

/// Fields that are absent are taken as usual; without a model that is known there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Question {
    pub model: Option<String>,
    /// Wins over the name.
    pub architecture: Option<Architecture>,
    /// `pytorch-ddp`, `deepspeed-zero3`, `fsdp`, `megatron`, or words like these.
    pub framework: Option<String>,
    pub machines: Vec<Machine>,
    /// What one node sends: `100Gbps`.
    pub network: Option<String>,
    pub seq_len: Option<u64>,
    pub global_batch: Option<u64>,
    /// Sequences that one GPU takes at once.
    pub micro_batch: Option<u64>,
    pub precision: Option<String>,
    pub optimizer: Option<String>,
    /// `none`, `selective`, `full`.
    pub recompute: Option<String>,
}

/// Sequences per GPU and step where nobody says.
const USUAL_SHARE: u64 = 8;
const USUAL_SEQUENCE: u64 = 2048;

impl Question {
    /// None where the model is unknown, a machine has no GPU or one that nobody knows, or the numbers describe no run.
    pub(crate) fn request(&self, catalogue: &Catalogue) -> Option<Request> {
        let architecture =
            self.architecture.or_else(|| catalogue.model(self.model.as_deref()?).map(|entry| entry.architecture()))?;
        let cluster = self.cluster(catalogue)?;
        let least = cluster.gpus.checked_mul(self.micro_batch.unwrap_or(1).max(1))?;
        let usual = cluster.gpus.saturating_mul(USUAL_SHARE).max(least);
        let request = Request {
            architecture,
            seq_len: self.seq_len.filter(|n| *n > 0).unwrap_or(USUAL_SEQUENCE),
            global_batch: self.global_batch.filter(|n| *n > 0).unwrap_or(usual),
            cluster,
            precision: self.precision.as_deref().and_then(Precision::parse).unwrap_or(Precision::Bf16),
            optimizer: self.optimizer.as_deref().and_then(Optimizer::parse).unwrap_or_default(),
            lora: None,
        };
        request.check().ok().map(|()| request)
    }

    pub(crate) fn stated_recompute(&self) -> Option<Recompute> {
        self.recompute.as_deref().and_then(Recompute::parse)
    }

    /// All machines as one cluster, at the pace of the slowest GPU and in the memory of the smallest.
    fn cluster(&self, catalogue: &Catalogue) -> Option<Cluster> {
        // Hundreds of machines are mostly of one kind; each kind is looked up once.
        let mut kinds: Vec<&Machine> = Vec::new();
        for machine in &self.machines {
            if !kinds.iter().any(|k| k.gpu == machine.gpu && k.memory_gib == machine.memory_gib) {
                kinds.push(machine);
            }
        }
        let known = kinds.iter().map(|m| catalogue.gpu(&m.gpu, m.memory_gib).ok()).collect::<Option<Vec<Gpu>>>()?;
        let gpu = known.into_iter().reduce(Gpu::slower)?;
        let gpus = self.machines.iter().try_fold(0u64, |sum, m| sum.checked_add(m.gpus))?;
        let per_node = self.machines.iter().map(|m| m.gpus).min().filter(|least| *least > 0)?;
        let usual = || Network::of_gbps(gpu.usual_gbps * per_node as f64);
        let network = self.network.as_deref().and_then(|words| Network::parse(words, per_node)).unwrap_or_else(usual);
        Some(Cluster { gpu, gpus, gpus_per_node: per_node, network, zones: None })
    }
}

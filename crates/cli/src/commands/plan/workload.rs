//! What is to be trained, from the flags.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::language::Text;
use fermi_planner::architecture::Architecture;
use fermi_planner::catalogue::{Catalogue, architecture_of_config};
use fermi_planner::error::PlanError;
use fermi_planner::job::Lora;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::precision::Precision;
use fermi_planner::resolve;
use fermi_planner::run::Run;
use fermi_planner::search::Request;

use super::machines::{self, Links, Machines, OwnGpu};
use super::{PlanRefusal, files, registered};
use crate::connection::ServerFlags;

/// By what a model is named, which then has its own numbers.
const NAMED: [&str; 2] = ["model", "model_config"];
const USUAL_GPUS: &str = "1xA100-80";
const USUAL_ZONE_RTT: f64 = 10.0;
/// In milliseconds: what lies beyond is no link between machines that train together.
const LONGEST_RTT: f64 = 60_000.0;
/// In GiB: what no GPU has.
const LARGEST_GPU: f64 = 100_000.0;
const USUAL_PRECISION: &str = "bf16";
const USUAL_OPTIMIZER: &str = "adamw";

/// The model, the machines, the batch.
#[derive(Debug, Args)]
pub struct WorkloadFlags {
    /// A model of the catalogue, such as llama2-7b or facebook/opt-350m, or one that is registered at the server
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    #[command(flatten)]
    server: ServerFlags,
    /// A Hugging Face config.json
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    model_config: Option<PathBuf>,
    /// Layers of a model that is described by hand, with --hidden and --heads
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    layers: Option<u64>,
    /// Width of the hidden state
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    hidden: Option<u64>,
    /// Attention heads
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    heads: Option<u64>,
    /// Key and value heads, where fewer than heads
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    kv_heads: Option<u64>,
    /// Width of the feed-forward layer
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    ffn: Option<u64>,
    /// Size of the vocabulary
    #[arg(long, value_name = "N", conflicts_with_all = NAMED)]
    vocab: Option<u64>,
    /// Machines: 8xH100 or 4x8xA100-80G (nodes, GPUs of each, name); several with commas, zones with @
    #[arg(long, value_name = "GPUS", default_value = USUAL_GPUS)]
    pub gpus: String,
    /// What one node sends: 100Gbps, 8x200Gbps, 400Gbps/GPU [default: what nodes with such GPUs usually have]
    #[arg(long, value_name = "RATE")]
    pub network: Option<String>,
    /// What one zone sends to the others [default: 10Gbps]
    #[arg(long, value_name = "RATE")]
    zone_network: Option<String>,
    /// Round trip between zones, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = USUAL_ZONE_RTT)]
    zone_rtt: f64,
    /// An unknown GPU by its numbers: dense 16-bit TFLOP/s
    #[arg(long, value_name = "N")]
    gpu_tflops: Option<f64>,
    /// Memory of one GPU in GiB; of a known one, its variant
    #[arg(long, value_name = "GIB")]
    gpu_memory: Option<f64>,
    /// Memory bandwidth of the unknown GPU in GB/s
    #[arg(long, value_name = "GBS", requires = "gpu_tflops")]
    gpu_bandwidth: Option<f64>,
    /// Link of the unknown GPU to the others of its node, one direction, in GB/s
    #[arg(long, value_name = "GBS", requires = "gpu_tflops")]
    gpu_link: Option<f64>,
    /// Memory of one node's processors in GiB, for what is offloaded [default: twice its GPUs']
    #[arg(long, value_name = "GIB")]
    host_memory: Option<f64>,
    /// Tokens per sequence
    #[arg(long, value_name = "N", default_value_t = Request::USUAL_SEQUENCE)]
    pub seq_len: u64,
    /// Sequences per optimizer step, over all GPUs [default: 8 per GPU]
    #[arg(long, value_name = "N")]
    pub global_batch: Option<u64>,
    /// bf16, fp16, fp8, amp_bf16, bf16_pure, tf32, fp32
    #[arg(long, default_value = USUAL_PRECISION)]
    precision: String,
    /// adamw, adamw_8bit, sgd, sgd_momentum, lion, muon, adafactor
    #[arg(long, default_value = USUAL_OPTIMIZER)]
    optimizer: String,
    /// Train only LoRA adapters of this rank
    #[arg(long, value_name = "RANK")]
    lora_rank: Option<u64>,
}

/// Read and checked.
#[derive(Debug)]
pub struct Workload {
    pub request: Request,
    pub model: String,
    pub machines: Machines,
}

impl WorkloadFlags {
    /// A model was described, by file or by hand.
    pub fn is_described(&self) -> bool {
        self.model_config.is_some() || self.layers.is_some()
    }

    /// The first flag that says something and means nothing without a model.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--hidden", self.hidden.is_some()),
            ("--heads", self.heads.is_some()),
            ("--kv-heads", self.kv_heads.is_some()),
            ("--ffn", self.ffn.is_some()),
            ("--vocab", self.vocab.is_some()),
            ("--gpus", self.gpus != USUAL_GPUS),
            ("--network", self.network.is_some()),
            ("--zone-network", self.zone_network.is_some()),
            ("--zone-rtt", self.zone_rtt != USUAL_ZONE_RTT),
            ("--gpu-tflops", self.gpu_tflops.is_some()),
            ("--gpu-memory", self.gpu_memory.is_some()),
            ("--gpu-bandwidth", self.gpu_bandwidth.is_some()),
            ("--gpu-link", self.gpu_link.is_some()),
            ("--host-memory", self.host_memory.is_some()),
            ("--seq-len", self.seq_len != Request::USUAL_SEQUENCE),
            ("--global-batch", self.global_batch.is_some()),
            ("--precision", self.precision != USUAL_PRECISION),
            ("--optimizer", self.optimizer != USUAL_OPTIMIZER),
            ("--lora-rank", self.lora_rank.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    pub fn read(&self, catalogue: &Catalogue) -> Result<Workload, PlanRefusal> {
        let (architecture, model) = self.architecture(catalogue)?;
        let own = OwnGpu {
            tflops: self.gpu_tflops,
            memory_gib: self.gpu_memory,
            bandwidth_gbs: self.gpu_bandwidth,
            link_gbs: self.gpu_link,
        };
        let links = Links {
            network: self.network.as_deref(),
            zone_network: self.zone_network.as_deref(),
            zone_rtt_ms: self.zone_rtt,
        };
        if self.zone_rtt.is_nan() || self.zone_rtt > LONGEST_RTT {
            return Err(PlanError::too_large("zone-rtt").into());
        }
        if self.zone_rtt < 0.0 {
            return Err(PlanError::zero("zone-rtt").into());
        }
        match self.gpu_memory {
            Some(gib) if gib > LARGEST_GPU => return Err(PlanError::too_large("gpu-memory").into()),
            Some(gib) if gib.is_nan() || gib <= 0.0 => return Err(PlanError::zero("gpu-memory").into()),
            _ => {}
        }
        let mut machines = machines::parse(&self.gpus, catalogue, own, links)?;
        if self.host_memory.is_some_and(|gib| !(gib.is_finite() && gib > 0.0)) {
            return Err(PlanError::zero("host-memory").into());
        }
        machines.cluster.host_gib = self.host_memory;
        let usual = Request::usual(architecture, machines.cluster);
        let request = Request {
            seq_len: self.seq_len,
            global_batch: self.global_batch.unwrap_or(usual.global_batch),
            precision: Precision::parse(&self.precision).ok_or_else(|| {
                PlanError::not_among(
                    "precision",
                    &self.precision,
                    &["bf16", "fp16", "fp8", "amp_bf16", "bf16_pure", "tf32", "fp32"],
                )
            })?,
            optimizer: Optimizer::parse(&self.optimizer)
                .ok_or_else(|| PlanError::not_among("optimizer", &self.optimizer, &[Optimizer::NAMES]))?,
            lora: self.lora_rank.map(|rank| Lora { rank }),
            ..usual
        };
        request.check()?;
        Ok(Workload { request, model, machines })
    }

    fn architecture(&self, catalogue: &Catalogue) -> Result<(Architecture, String), PlanRefusal> {
        if let Some(path) = &self.model_config {
            return Ok((architecture_of_config(&files::read(path)?)?, path.display().to_string()));
        }
        if let Some(name) = &self.model {
            return registered::find(name, catalogue, &self.server);
        }
        let (Some(layers), Some(hidden), Some(heads)) = (self.layers, self.hidden, self.heads) else {
            return Err(PlanRefusal::new(
                Text::new("请说明训练什么模型", "say which model is to be trained"),
                Text::new(
                    "--model llama2-7b，或 --model-config config.json，或 --layers、--hidden、--heads",
                    "--model llama2-7b, or --model-config config.json, or --layers, --hidden and --heads",
                ),
            ));
        };
        let as_row = |n: Option<u64>| n.map(|n| n as f64);
        let run = Run {
            layers: Some(layers as f64),
            hidden: Some(hidden as f64),
            heads: Some(heads as f64),
            kv_heads: as_row(self.kv_heads),
            ffn: as_row(self.ffn),
            vocab: as_row(self.vocab),
            ..Run::default()
        };
        Ok((resolve::architecture(&run, catalogue)?, format!("{layers}L × {hidden}")))
    }
}

//! A model planned on machines: every layout with its memory and speed. No task is needed, and nothing is stored.

use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PlanId;

/// The body of `POST /plans`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PlanRequest {
    #[schema(example = "model-001")]
    pub model_id: String,
    /// Environments whose GPUs train, in the order in which they join in the curve of `scaling`.
    #[schema(example = json!(["env-001", "env-002"]))]
    pub node_ids: Vec<String>,
    /// Tokens per sequence; 2,048 when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_length: Option<u64>,
    /// Sequences of a step over all GPUs; eight for each GPU when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_batch: Option<u64>,
    /// `bf16` when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "bf16")]
    pub precision: Option<String>,
    /// `adam` when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "adam")]
    pub optimizer: Option<String>,
    /// How many layouts are listed; 20 when not given, 200 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<u32>,
}

/// What the planner says of a model on these machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    pub parameters: u64,
    pub nodes: u64,
    pub gpus: u64,
    /// What one GPU has.
    pub gpu_memory_gib: f64,
    /// Of one node; the one that usually comes with such GPUs.
    pub network_gbps: f64,
    pub seq_length: u64,
    pub global_batch: u64,
    /// How many layouts were looked at.
    pub layout_count: u64,
    /// The one to take; null where nothing fits.
    pub choice: Option<PlanChoice>,
    /// The best of all: those that fit first, the fastest first; of the rest the nearest to fitting.
    pub layouts: Vec<PlannedLayout>,
    /// The best of each strategy, in the same order.
    pub strategies: Vec<PlannedLayout>,
    /// What would make the model fit of which no layout does, the mildest first.
    pub remedies: Vec<PlanRemedy>,
    /// How fast it would be on the first of the environments, the first two, and so on, with the same batch on each GPU.
    pub scaling: Vec<PlanPoint>,
}

/// The layout to take, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanChoice {
    pub layout: PlannedLayout,
    /// `table`, `memory`, `speed` or `one_gpu`.
    #[schema(example = "table")]
    pub decided_by: String,
    pub reason: Text,
}

/// One way to cut the work over the GPUs, with its estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedLayout {
    #[schema(example = "zero2")]
    pub strategy: String,
    /// The strategy as people call it.
    #[schema(example = "DeepSpeed ZeRO-2")]
    pub name: String,
    pub id: PlanId,
    pub data_parallel: u64,
    pub tensor_parallel: u64,
    pub pipeline_parallel: u64,
    /// Stages of the pipeline on each GPU; 1 without interleaving.
    pub virtual_stages: u64,
    #[schema(example = "zero2")]
    pub sharding: String,
    pub micro_batch: u64,
    /// Micro-batches of a step.
    pub accumulation: u64,
    /// `none`, `attention`, `half` or `full`.
    #[schema(example = "none")]
    pub recompute: String,
    /// What one GPU needs, and at most in four of five such runs.
    pub memory_gib: f64,
    pub memory_high_gib: f64,
    /// GiB by which a GPU is too small; 0 where it fits.
    pub missing_gib: f64,
    /// What the memory of one GPU is for.
    pub memory: PlannedMemory,
    pub step_time_s: f64,
    /// Four of five such runs are between these.
    pub step_time_low_s: f64,
    pub step_time_high_s: f64,
    pub tokens_per_s: f64,
    /// The share of the data sheet's rate that is spent on the model's own arithmetic.
    pub mfu: f64,
}

/// GiB of one GPU at the peak, by what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedMemory {
    pub parameters: f64,
    pub gradients: f64,
    pub optimizer: f64,
    pub activations: f64,
    pub logits: f64,
    /// Gathered blocks, buckets, casts.
    pub transient: f64,
    /// What the driver, libraries and the allocator take besides.
    pub context: f64,
}

/// One thing that would make a model fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanRemedy {
    pub what: Text,
    pub needed_gib: f64,
    pub fits: bool,
    pub step_time_s: f64,
}

/// The best speed on so many of the environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanPoint {
    pub nodes: u64,
    pub gpus: u64,
    /// The strategy as people call it; null where nothing fits, and then there is no speed.
    pub name: Option<String>,
    pub tokens_per_s: Option<f64>,
}

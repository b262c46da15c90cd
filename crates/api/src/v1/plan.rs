//! The planner's word on a task before it starts.

use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a model fits, how fast it trains, and what would be better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub id: PlanId,
    pub fits: bool,
    /// GiB by which a GPU is too small; 0 where it fits.
    pub missing_gib: f64,
    /// What one GPU needs.
    pub memory_gib: f64,
    /// What one GPU needs at most in four of five such runs.
    #[serde(default)]
    pub memory_high_gib: f64,
    /// What one GPU has.
    pub gpu_memory_gib: f64,
    #[schema(example = "zero2")]
    pub strategy: String,
    /// The strategy as people call it.
    pub name: String,
    pub micro_batch: u64,
    pub global_batch: u64,
    /// Null where it does not fit: what does not run has no speed.
    pub step_time_s: Option<f64>,
    /// Four of five such runs are between these.
    #[serde(default)]
    pub step_time_low_s: Option<f64>,
    #[serde(default)]
    pub step_time_high_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    /// What to take instead; null where nothing is better.
    pub suggestion: Option<PlanSuggestion>,
    /// To be shown; a warning where `fits` is false.
    pub sentence: Text,
}

/// Which sentence it is, for those who act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PlanId {
    Fits,
    /// Fits as predicted, but not at the upper end of what such runs need.
    FitsTightly,
    DoesNotFit,
}

/// A strategy to take instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanSuggestion {
    #[schema(example = "zero3")]
    pub strategy: String,
    /// The strategy as people call it.
    pub name: String,
    pub micro_batch: u64,
    /// `none`, `attention`, `half` or `full`.
    pub recompute: String,
    /// `none`, `optimizer_cpu`, `all_cpu` or `all_nvme`.
    pub offload: String,
    pub memory_gib: f64,
    /// What a node needs in the memory of its processors, for what is offloaded.
    #[serde(default)]
    pub host_gib: f64,
    pub step_time_s: f64,
    pub tokens_per_s: f64,
    pub reason: Text,
}

//! Parameters and optimizer states that a GPU holds.

use super::Stage;
use super::keeping::BytesKept;
use crate::framework::Family;
use crate::job::Job;
use crate::sharding::Offload;

/// Counts, after tensor and pipeline parallelism.
#[derive(Clone, Copy, Debug)]
pub struct HeldParameters {
    pub blocks: f64,
    /// Embeddings and head.
    pub tables: f64,
    /// One block.
    pub block: f64,
    /// Ranks that the states are spread over.
    pub group: f64,
    /// Parameters that are trained.
    pub trained: f64,
    /// Routed experts among them, which only the ranks that hold the same experts share.
    routed: f64,
    routed_group: f64,
}

impl HeldParameters {
    pub fn all(&self) -> f64 {
        self.blocks + self.tables
    }

    /// Of all parameters, as many as this GPU keeps where they are spread.
    pub fn all_spread(&self) -> f64 {
        (self.all() - self.routed) / self.group + self.routed / self.routed_group
    }

    /// Of the trained ones.
    pub fn trained_spread(&self) -> f64 {
        let routed = self.routed.min(self.trained);
        (self.trained - routed) / self.group + routed / self.routed_group
    }
}

pub fn held(job: &Job, stage: Stage) -> HeldParameters {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let table = a.embedding_params() as f64;
    let tables_whole = if a.tied { table } else { 2.0 * table } + (a.learned_positions * a.hidden) as f64;
    // Experts are spread over their own group, which is cut out of the data-parallel one.
    let expert_cut = job.layout.ep.max(1) as f64;
    let published = (a.params() as f64 - tables_whole).max(a.layers as f64);
    let layers = a.layers as f64;
    let mut block = published / layers / tp;
    let mut routed = 0.0;
    if let Some(e) = a.experts {
        let everywhere = a.hidden as f64 * e.ffn as f64 * if a.gated { 3.0 } else { 2.0 } * e.count as f64 / tp;
        routed = everywhere.min(block) / expert_cut;
        block = (block - everywhere).max(0.0) + routed;
    }
    let on_stage = if job.layout.pp > 1 { job.layers_per_stage() } else { layers };
    let tables = match stage {
        // DTensor's plans leave the embedding whole and cut the head.
        Stage::Only if job.family == Family::Fsdp2 && !a.tied => (tables_whole - table) + table / tp,
        Stage::First if job.family == Family::Fsdp2 => table,
        Stage::Only => tables_whole / tp,
        Stage::First | Stage::Last => table / tp,
    };
    // The published accounting of this family leaves the tables out.
    let tables = if job.family == Family::MegatronLegacy { 0.0 } else { tables };
    let replicas = (job.layout.dp * if shards_over_context(job) { job.layout.cp } else { 1 }) as f64;
    let blocks = block * on_stage;
    let trained = match job.lora {
        Some(lora) => on_stage * (lora.rank * (8 * a.hidden + 3 * a.ffn)) as f64 / tp,
        None => blocks + tables,
    };
    HeldParameters {
        blocks,
        tables,
        block,
        group: job.layout.sharding.group(replicas).max(1.0),
        trained,
        routed: if job.lora.is_some() { 0.0 } else { routed * on_stage },
        routed_group: job.layout.sharding.group((replicas / expert_cut).max(1.0)).max(1.0),
    }
}

/// States are spread over the context-parallel ranks too.
fn shards_over_context(job: &Job) -> bool {
    matches!(job.family, Family::Torchtitan | Family::MegatronCore | Family::Fsdp2)
}

/// Parameters as they lie on the GPU.
pub fn parameters(job: &Job, keeping: &BytesKept, held: &HeldParameters) -> f64 {
    if matches!(job.layout.offload, Offload::AllCpu | Offload::AllNvme) {
        return 4.0 * held.block;
    }
    let frozen = if job.lora.is_some() { 2.0f64.min(keeping.parameter) } else { keeping.parameter };
    frozen * if keeping.parameter_spread { held.all_spread() } else { held.all() }
}

/// Optimizer states and master copies.
pub fn optimizer(job: &Job, keeping: &BytesKept, held: &HeldParameters) -> f64 {
    if job.layout.offload != Offload::None {
        return 0.0;
    }
    keeping.optimizer * if keeping.optimizer_spread { held.trained_spread() } else { held.trained }
}

//! How long a step takes: products, attention, memory traffic, launches, communication, bubbles, the update.
//!
//! Every part is a closed formula over the job and the fitted constants. Start reading at [`estimate`].

mod block;
mod collective;
mod kernels;
mod pipeline;
mod rates;
mod replicas;
mod update;
mod zones;

pub use rates::Rates;

use serde::{Deserialize, Serialize};

use crate::constants::Constants;
use crate::job::Job;

/// Where the seconds of a step go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Matrix products, attention and memory traffic of all micro-batches.
    pub compute: f64,
    /// Tensor- and context-parallel communication that remains visible.
    pub tensor: f64,
    /// Pipeline messages and bubbles.
    pub pipeline: f64,
    /// Gathering parameters and reducing gradients, as far as it does not hide.
    pub data: f64,
    /// The optimizer.
    pub update: f64,
    /// Everything else of a step.
    pub fixed: f64,
}

impl StepTime {
    pub fn total(&self) -> f64 {
        self.compute + self.tensor + self.pipeline + self.data + self.update + self.fixed
    }
}

/// The predicted step.
pub fn estimate(job: &Job, constants: &Constants) -> StepTime {
    let rates = Rates::of(job, constants);
    let block = block::of(job, &rates);
    let stage = pipeline::stage(job, &rates, &block);
    let micro_batches = job.layout.accumulation as f64;
    let (micro, gathering) = replicas::with_gathering(job, &rates, stage.micro_batch);
    let scale = if stage.micro_batch > 0.0 { micro / stage.micro_batch } else { 1.0 };
    let compute = stage.compute * micro_batches;
    let tensor = stage.tensor * micro_batches;
    let messages = (stage.micro_batch - stage.compute - stage.tensor).max(0.0) * micro_batches;
    let bubble = stage.bubble * scale;
    let reduction = replicas::reduction(job, &rates, &stage) + zones::seconds(job);
    let slow = 1.0 + rates.per_doubling * (job.cluster.nodes() as f64).log2();
    StepTime {
        compute: compute * slow,
        tensor: tensor * slow,
        pipeline: (messages + bubble) * slow,
        data: (gathering * micro_batches) * slow + reduction,
        update: update::seconds(job, &rates),
        fixed: rates.step,
    }
}

/// A smooth maximum: the sharper, the larger the exponent.
fn smooth_max(a: f64, b: f64, exponent: f64) -> f64 {
    let top = a.max(b);
    if top <= 0.0 {
        return 0.0;
    }
    top * ((a / top).powf(exponent) + (b / top).powf(exponent)).powf(1.0 / exponent)
}

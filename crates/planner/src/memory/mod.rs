//! Peak memory of one GPU, term by term.
//!
//! A step has three moments at which memory may peak: the end of the forward pass, the start of the backward pass (all
//! activations and the gradient of the logits), and its end (all gradients and one block at work). [`estimate`] takes
//! the largest.

mod activations;
mod gradients;
pub mod host;
mod keeping;
mod overhead;
mod states;

use serde::{Deserialize, Serialize};

use crate::job::Job;

/// One GiB.
pub const GIB: f64 = (1u64 << 30) as f64;

/// Bytes of each kind at the peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub parameters: f64,
    pub gradients: f64,
    pub optimizer: f64,
    pub activations: f64,
    pub logits: f64,
    /// Gathered blocks, buckets, casts.
    pub transient: f64,
    /// What a profiler of the driver sees besides: context, libraries, the allocator's slack.
    pub context: f64,
    /// The outer count (the driver's) was asked for, so that context belongs to the peak.
    pub counts_context: bool,
}

impl Memory {
    /// What the framework's allocator hands out at most.
    pub fn allocated(&self) -> f64 {
        self.parameters + self.gradients + self.optimizer + self.activations + self.logits + self.transient
    }

    /// The peak as it would be reported: allocated, or with context where the driver was asked.
    pub fn peak_gib(&self) -> f64 {
        (self.allocated() + if self.counts_context { self.context } else { 0.0 }) / GIB
    }

    /// Everything that has to fit on the card.
    pub fn needed_gib(&self) -> f64 {
        (self.allocated() + self.context) / GIB
    }

    /// Runs on a card of so many GiB.
    pub fn fits(&self, card_gib: f64) -> bool {
        self.needed_gib() <= card_gib
    }

    /// The terms by name, for bars.
    pub fn terms(&self) -> [(&'static str, f64); 7] {
        [
            ("parameters", self.parameters),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("activations", self.activations),
            ("logits", self.logits),
            ("transient", self.transient),
            ("context", self.context),
        ]
    }
}

/// The predicted peak of the fullest GPU.
pub fn estimate(job: &Job) -> Memory {
    let stages: &[Stage] = if job.layout.pp > 1 { &[Stage::First, Stage::Last] } else { &[Stage::Only] };
    stages
        .iter()
        .map(|stage| on_stage(job, *stage))
        .max_by(|a, b| a.allocated().total_cmp(&b.allocated()))
        .unwrap_or_default()
}

/// The pipeline stages that may be the fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Only,
    First,
    Last,
}

impl Stage {
    fn has_head(self) -> bool {
        matches!(self, Self::Only | Self::Last)
    }
}

fn on_stage(job: &Job, stage: Stage) -> Memory {
    let keeping = keeping::of(job);
    let held = states::held(job, stage);
    let base = Memory {
        parameters: states::parameters(job, &keeping, &held),
        optimizer: states::optimizer(job, &keeping, &held),
        ..Memory::default()
    };
    let kept = gradients::kept_between_micro_batches(job, &keeping, &held);
    let grads = gradients::at_the_end(job, &keeping, &held);
    let transient = overhead::transient(job, &held);
    let casts = overhead::casts(job, &held);
    let acts = activations::all(job, stage);
    let working = activations::one_block_at_work(job);
    let (loss_forward, loss_backward) = if stage.has_head() { activations::logits(job) } else { (0.0, 0.0) };
    let recomputes = activations::recomputes(job);
    let moments = [
        // The end of the forward pass; autocast's copies are still there.
        Memory { gradients: kept, activations: acts, logits: loss_forward, transient: transient + casts, ..base },
        // The start of the backward pass.
        Memory {
            gradients: kept,
            activations: acts,
            logits: loss_backward,
            transient: transient + if recomputes { 0.0 } else { casts },
            ..base
        },
        // The end of the backward pass.
        Memory { gradients: grads, activations: working, transient, ..base },
        // Between: the first block on the way back is at work while all others still hold what they kept.
        Memory { gradients: kept, activations: acts + working, transient, ..base },
    ];
    let mut peak = moments.into_iter().max_by(|a, b| a.allocated().total_cmp(&b.allocated())).unwrap_or(base);
    peak.counts_context = overhead::counts_context(job);
    peak.context = overhead::context(job, &peak);
    peak
}

//! All sensible layouts of a model on given machines, estimated and ranked.

use std::cmp::Ordering;

use serde::Serialize;

use crate::architecture::Architecture;
use crate::constants::Constants;
use crate::error::PlanError;
use crate::framework::Family;
use crate::interval::{Interval, Intervals, Verdict};
use crate::job::{Cluster, Job, Layout, Lora};
use crate::memory::{self, Memory};
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::recompute::Recompute;
use crate::sharding::{Offload, Sharding};
use crate::time::{self, StepTime};

/// What is to be trained, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub architecture: Architecture,
    pub seq_len: u64,
    pub global_batch: u64,
    pub cluster: Cluster,
    pub precision: Precision,
    pub optimizer: Optimizer,
    pub lora: Option<Lora>,
}

/// One layout with its estimates.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Candidate {
    pub job: Job,
    pub memory: Memory,
    pub step: StepTime,
    /// As predicted; [`Self::verdict`] looks at the upper end.
    pub fits: bool,
    pub verdict: Verdict,
}

impl Candidate {
    pub fn seconds(&self) -> f64 {
        self.step.total()
    }

    pub fn tokens_per_s(&self) -> f64 {
        self.job.tokens_per_step() / self.seconds()
    }

    /// Model FLOPs over what the data sheet's 16-bit rate allows.
    pub fn mfu(&self) -> f64 {
        let flops = self.job.architecture.flops_per_token(self.job.seq_len) * self.tokens_per_s();
        flops / (self.job.cluster.gpu.bf16_flops * self.job.cluster.gpus as f64)
    }

    /// Four of five such runs take so many seconds a step.
    pub fn seconds_interval(&self) -> Interval {
        Intervals::builtin().step(&self.job, self.seconds())
    }

    /// Four of five such runs need so many GiB of a card.
    pub fn needed_interval(&self) -> Interval {
        Intervals::builtin().memory(&as_kept(&self.job), self.memory.needed_gib())
    }

    /// Those that fit come first, then those that are tight, the fastest first; among the rest the nearest to fitting.
    pub(crate) fn better_first(a: &Self, b: &Self) -> Ordering {
        a.verdict.cmp(&b.verdict).then_with(|| {
            if a.fits {
                a.seconds_per_token().total_cmp(&b.seconds_per_token())
            } else {
                a.missing_gib().total_cmp(&b.missing_gib())
            }
        })
    }

    /// By this layouts are compared: a step has fewer sequences where replicas cannot share the batch evenly.
    fn seconds_per_token(&self) -> f64 {
        self.seconds() / self.job.tokens_per_step()
    }

    /// How many times as fast as another.
    pub(crate) fn gain_over(&self, other: &Self) -> f64 {
        other.seconds_per_token() / self.seconds_per_token()
    }

    /// GiB by which the card is too small; 0 where it fits.
    pub fn missing_gib(&self) -> f64 {
        (self.memory.needed_gib() - self.job.cluster.gpu.memory_gib).max(0.0)
    }
}

/// A job as its memory is counted: replicas with the stages of ZeRO are DeepSpeed's, with its buckets and copies.
fn as_kept(job: &Job) -> Job {
    let is_zero = matches!(job.layout.sharding, Sharding::Zero1 | Sharding::Zero2 | Sharding::Zero3);
    let is_here = job.layout.offload == Offload::None;
    let family = if is_zero && is_here && job.family == Family::Pytorch { Family::Deepspeed } else { job.family };
    Job { family, ..*job }
}

impl Request {
    /// Tokens per sequence where none are given.
    pub const USUAL_SEQUENCE: u64 = 2048;
    /// Sequences per GPU and step where none are given.
    pub const USUAL_SHARE: u64 = 8;

    /// A request with the usual numbers, for callers to change those that they know.
    pub fn usual(architecture: Architecture, cluster: Cluster) -> Self {
        Self {
            architecture,
            seq_len: Self::USUAL_SEQUENCE,
            global_batch: cluster.gpus.saturating_mul(Self::USUAL_SHARE),
            cluster,
            precision: Precision::Bf16,
            optimizer: Optimizer::default(),
            lora: None,
        }
    }

    /// The job of one layout; plain data parallelism runs under PyTorch, the rest under Megatron.
    pub fn job(&self, layout: Layout) -> Job {
        let three_dimensional = layout.tp > 1 || layout.pp > 1 || layout.cp > 1;
        Job {
            architecture: self.architecture,
            seq_len: self.seq_len,
            cluster: self.cluster,
            layout,
            precision: self.precision,
            optimizer: self.optimizer,
            family: if three_dimensional { Family::MegatronCore } else { Family::Pytorch },
            half_gradients: false,
            // Layouts are compared under software of one quality; memory is counted for plain kernels all the same.
            compiled: true,
            hides_tensor: three_dimensional,
            hides_data: true,
            lora: self.lora,
        }
    }

    /// A layout that is valid for any request, for checks of the rest.
    pub fn plain_layout(&self) -> Layout {
        Layout {
            tp: 1,
            pp: 1,
            vp: 1,
            cp: 1,
            ep: 1,
            dp: self.cluster.gpus,
            micro_batch: 1,
            accumulation: (self.global_batch / self.cluster.gpus.max(1)).max(1),
            sharding: Sharding::Ddp,
            offload: Offload::None,
            recompute: Recompute::None,
            sequence_parallel: false,
        }
    }

    pub fn estimate(&self, layout: Layout, constants: &Constants) -> Candidate {
        let job = self.job(layout);
        let kept = as_kept(&job);
        let memory = memory::estimate(&kept);
        let step = time::estimate(&job, constants);
        let (needed, card) = (memory.needed_gib(), self.cluster.gpu.memory_gib);
        let verdict = Verdict::of(needed, Intervals::builtin().memory(&kept, needed).high, card);
        Candidate { job, memory, step, fits: verdict != Verdict::DoesNotFit, verdict }
    }

    pub fn check(&self) -> Result<(), PlanError> {
        if self.global_batch == 0 {
            return Err(PlanError::zero("global-batch"));
        }
        let arithmetic = self.precision.arithmetic();
        if !self.cluster.gpu.multiplies(arithmetic) {
            return Err(PlanError::not_multiplied(arithmetic));
        }
        self.job(self.plain_layout()).check()
    }
}

const RECOMPUTES: [Recompute; 3] = [Recompute::None, Recompute::Half, Recompute::Full];

/// Every layout of the search space, unestimated.
pub fn layouts(request: &Request) -> Vec<Layout> {
    let gpus = request.cluster.gpus;
    let per_node = request.cluster.gpus_per_node.min(gpus).max(1);
    let a = &request.architecture;
    let mut found = Vec::new();
    for tp in divisors(per_node).into_iter().filter(|t| a.heads.is_multiple_of(*t)) {
        for pp in divisors(gpus / tp).into_iter().filter(|p| *p <= a.layers && a.layers.is_multiple_of(*p)) {
            let dp = gpus / tp / pp;
            if dp.saturating_mul(tp).saturating_mul(pp) != gpus || dp > request.global_batch {
                continue;
            }
            let share = request.global_batch / dp;
            for micro_batch in micro_batches(share) {
                let accumulation = share / micro_batch;
                if pp > 1 && accumulation < pp {
                    continue;
                }
                for recompute in RECOMPUTES {
                    for sharding in shardings(tp * pp, dp, per_node) {
                        found.push(Layout {
                            tp,
                            pp,
                            vp: if pp > 1 && a.layers.is_multiple_of(pp * 2) && accumulation.is_multiple_of(pp) {
                                2
                            } else {
                                1
                            },
                            cp: 1,
                            ep: 1,
                            dp,
                            micro_batch,
                            accumulation,
                            sharding,
                            offload: Offload::None,
                            recompute,
                            sequence_parallel: tp > 1,
                        });
                    }
                }
            }
        }
    }
    found
}

fn shardings(model: u64, dp: u64, per_node: u64) -> Vec<Sharding> {
    if dp == 1 {
        return vec![Sharding::Ddp];
    }
    if model > 1 {
        return vec![Sharding::Ddp, Sharding::Zero1];
    }
    let mut all = vec![
        Sharding::Ddp,
        Sharding::Zero1,
        Sharding::Zero2,
        Sharding::Zero3,
        Sharding::FsdpFull,
        Sharding::FsdpGradOp,
    ];
    if dp > per_node && per_node > 1 {
        all.push(Sharding::Hybrid(per_node));
    }
    all
}

fn micro_batches(share: u64) -> Vec<u64> {
    (1..=share.min(64)).filter(|b| share.is_multiple_of(*b)).collect()
}

fn divisors(n: u64) -> Vec<u64> {
    let mut small: Vec<u64> =
        (1..=n).take_while(|d| d.saturating_mul(*d) <= n).filter(|d| n.is_multiple_of(*d)).collect();
    let mut large: Vec<u64> = small.iter().rev().map(|d| n / d).filter(|d| n / d != *d).collect();
    small.append(&mut large);
    small
}

/// All layouts estimated, in the order of [`Candidate::better_first`].
pub fn rank(request: &Request, constants: &Constants) -> Vec<Candidate> {
    let mut all: Vec<Candidate> =
        layouts(request).into_iter().map(|layout| request.estimate(layout, constants)).collect();
    all.sort_by(Candidate::better_first);
    all
}

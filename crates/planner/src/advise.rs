//! The answer to a task that is about to be created: does it fit, how fast, what would be better.

use fermi_domain::framework::Framework;
use fermi_domain::language::Text;
use serde::Serialize;

use crate::interval::Verdict;
use crate::job::Layout;
use crate::memory;
use crate::plan::Plan;
use crate::recompute::Recompute;
use crate::search::Candidate;
use crate::sharding::{Offload, Sharding};
use crate::strategy::{CLEARLY, Strategy};

/// Which sentence it is, for those who act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AdviceId {
    Fits,
    /// Fits as predicted, but not at the upper end of what such runs need.
    FitsTightly,
    DoesNotFit,
}

/// A strategy to take instead.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    pub strategy: Strategy,
    pub name: &'static str,
    pub micro_batch: u64,
    pub recompute: Recompute,
    pub offload: Offload,
    pub memory_gib: f64,
    /// What a node needs in the memory of its processors, for what is offloaded.
    pub host_gib: f64,
    pub step_time_s: f64,
    pub tokens_per_s: f64,
    pub reason: Text,
}

/// What is known of a task before it starts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    pub id: AdviceId,
    pub fits: bool,
    /// GiB by which a GPU is too small; 0 where it fits.
    pub missing_gib: f64,
    /// What one GPU needs, what it may need, and has.
    pub memory_gib: f64,
    pub memory_high_gib: f64,
    pub gpu_memory_gib: f64,
    pub strategy: Strategy,
    pub name: &'static str,
    pub micro_batch: u64,
    pub global_batch: u64,
    /// Present where it fits: what does not run has no speed.
    pub step_time_s: Option<f64>,
    /// Four of five such runs are between these.
    pub step_time_low_s: Option<f64>,
    pub step_time_high_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub suggestion: Option<Suggestion>,
    /// To be shown; a warning where `fits` is false.
    pub sentence: Text,
}

/// The engine that a task has chosen, as far as it decides the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Replicas, their states spread like this.
    Replicas(Sharding),
    /// Tensor and pipeline parallelism as well.
    Megatron,
}

impl Engine {
    /// The engine of a framework; `zero_stage` is DeepSpeed's.
    pub fn of(framework: Framework, zero_stage: Option<u64>) -> Self {
        match framework {
            Framework::MegatronLm => Self::Megatron,
            Framework::PytorchFsdp => Self::Replicas(Sharding::FsdpFull),
            Framework::Deepspeed => Self::Replicas(match zero_stage {
                Some(0) => Sharding::Ddp,
                Some(1) => Sharding::Zero1,
                Some(3) => Sharding::Zero3,
                // Without a stage: the one that most configurations name.
                _ => Sharding::Zero2,
            }),
            Framework::PytorchDdp | Framework::Horovod | Framework::Jax | Framework::Command | Framework::Builtin => {
                Self::Replicas(Sharding::Ddp)
            }
        }
    }

    fn allows(self, layout: &Layout) -> bool {
        let replicas_only = layout.tp == 1 && layout.pp == 1 && layout.cp == 1;
        match self {
            // One GPU keeps its states whole.
            Self::Replicas(_) if layout.gpus() == 1 => layout.sharding == Sharding::Ddp,
            Self::Replicas(sharding) => replicas_only && layout.sharding == sharding,
            Self::Megatron => matches!(layout.sharding, Sharding::Ddp | Sharding::Zero1),
        }
    }
}

/// What a task has decided about its layout before it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    pub engine: Engine,
    /// Sequences that one GPU takes at once.
    pub micro_batch: Option<u64>,
}

impl Plan<'_> {
    /// The best layout of those that the task's decisions leave, without recomputation.
    pub fn as_decided(&self, decided: Decided) -> Option<Candidate> {
        let mut allowed = self.ranked.iter().filter(|candidate| {
            let layout = &candidate.job.layout;
            decided.engine.allows(layout) && layout.recompute == Recompute::None
        });
        let Some(micro_batch) = decided.micro_batch.filter(|size| *size > 0) else { return allowed.next().copied() };
        // The search takes divisors of a replica's share; a task may name any number.
        let named = allowed.filter(|candidate| candidate.job.layout.micro_batch == 1).map(|candidate| {
            let share = candidate.job.layout.accumulation;
            let micro_batch = micro_batch.min(share);
            let layout = Layout { micro_batch, accumulation: (share / micro_batch).max(1), ..candidate.job.layout };
            self.request.estimate(layout, self.constants)
        });
        named.min_by(Candidate::better_first)
    }

    /// What a task is told before it starts; none where no layout is left to it.
    pub fn advice(&self, decided: Decided) -> Option<Advice> {
        let asked = self.as_decided(decided)?;
        let suggestion = if asked.fits { self.faster(&asked) } else { self.fitting() };
        let card = self.request.cluster.gpu.memory_gib;
        let needed = asked.memory.needed_gib();
        Some(Advice {
            id: match asked.verdict {
                Verdict::DoesNotFit => AdviceId::DoesNotFit,
                Verdict::Tight => AdviceId::FitsTightly,
                Verdict::Fits => AdviceId::Fits,
            },
            fits: asked.fits,
            missing_gib: asked.missing_gib(),
            memory_gib: needed,
            memory_high_gib: asked.needed_interval().high,
            gpu_memory_gib: card,
            strategy: Strategy::of(&asked),
            name: Strategy::of(&asked).name(),
            micro_batch: asked.job.layout.micro_batch,
            global_batch: asked.job.layout.global_batch(),
            step_time_s: asked.fits.then(|| asked.seconds()),
            step_time_low_s: asked.fits.then(|| asked.seconds_interval().low),
            step_time_high_s: asked.fits.then(|| asked.seconds_interval().high),
            tokens_per_s: asked.fits.then(|| asked.tokens_per_s()),
            sentence: sentence(&asked, suggestion.as_ref(), self.short_of_host_memory(&asked)),
            suggestion,
        })
    }

    /// The plan's choice, where it is clearly faster than what was asked for.
    fn faster(&self, asked: &Candidate) -> Option<Suggestion> {
        if Strategy::of(asked) == Strategy::ThreeD {
            return None;
        }
        let choice = self.choice.as_ref()?;
        let gain = choice.candidate.gain_over(asked);
        (choice.strategy != Strategy::of(asked) && gain > CLEARLY).then(|| {
            let percent = (gain - 1.0) * 100.0;
            let needed = choice.candidate.memory.needed_gib();
            let reason = Text::new(
                format!("预计快 {percent:.0} %，每张 GPU 需要 {needed:.0} GiB"),
                format!("about {percent:.0} % faster, and needs {needed:.0} GiB per GPU"),
            );
            suggestion(&choice.candidate, reason)
        })
    }

    /// What fits instead: the plan's choice, or the mildest remedy on these GPUs.
    fn fitting(&self) -> Option<Suggestion> {
        let remedy = || self.remedies_here().into_iter().find(|remedy| remedy.fits).map(|remedy| remedy.candidate);
        let found = self.choice.as_ref().map(|choice| choice.candidate).or_else(remedy)?;
        let (needed, card) = (found.memory.needed_gib(), self.request.cluster.gpu.memory_gib);
        let reason = Text::new(
            format!("需要 {needed:.1} GiB，每张 GPU 有 {card:.0} GiB"),
            format!("needs {needed:.1} of {card:.0} GiB per GPU"),
        );
        Some(suggestion(&found, reason))
    }

    /// GiB by which the processors' memory is too small for the offload that would let the GPUs hold it.
    fn short_of_host_memory(&self, asked: &Candidate) -> Option<f64> {
        if asked.fits {
            return None;
        }
        let short = self.remedies_here().into_iter().filter(|remedy| remedy.host_missing_gib > 0.0);
        short.filter(|remedy| remedy.candidate.fits).map(|remedy| remedy.host_missing_gib).reduce(f64::min)
    }
}

fn suggestion(c: &Candidate, reason: Text) -> Suggestion {
    let strategy = Strategy::of(c);
    let layout = &c.job.layout;
    Suggestion {
        strategy,
        name: strategy.name(),
        micro_batch: layout.micro_batch,
        recompute: layout.recompute,
        offload: layout.offload,
        memory_gib: c.memory.needed_gib(),
        host_gib: memory::host::of(&c.job).gib(),
        step_time_s: c.seconds(),
        tokens_per_s: c.tokens_per_s(),
        reason,
    }
}

/// `ZeRO-3, full checkpointing, optimizer on the CPU, micro-batch 1`, in both languages.
fn in_words(s: &Suggestion) -> (String, String) {
    let (mut zh, mut en) = (s.name.to_owned(), s.name.to_owned());
    match s.recompute {
        Recompute::None => {}
        Recompute::Attention | Recompute::Half => {
            zh += "、部分重计算";
            en += ", selective checkpointing";
        }
        Recompute::Full => {
            zh += "、全部重计算";
            en += ", full checkpointing";
        }
    }
    match s.offload {
        Offload::None => {}
        Offload::OptimizerCpu => {
            zh += &format!("、优化器卸载到 CPU（每节点约 {:.0} GiB 内存）", s.host_gib);
            en += &format!(", the optimizer on the CPU (about {:.0} GiB of memory per node)", s.host_gib);
        }
        Offload::AllCpu => {
            zh += &format!("、参数和优化器卸载到 CPU（每节点约 {:.0} GiB 内存）", s.host_gib);
            en += &format!(", parameters and optimizer on the CPU (about {:.0} GiB of memory per node)", s.host_gib);
        }
        Offload::AllNvme => {
            zh += "、参数和优化器卸载到 NVMe";
            en += ", parameters and optimizer on NVMe";
        }
    }
    zh += &format!("、微批 {}", s.micro_batch);
    en += &format!(" and micro-batch {}", s.micro_batch);
    (zh, en)
}

fn sentence(asked: &Candidate, instead: Option<&Suggestion>, host_missing: Option<f64>) -> Text {
    let name = Strategy::of(asked).name();
    let (needed, card) = (asked.memory.needed_gib(), asked.job.cluster.gpu.memory_gib);
    let micro = asked.job.layout.micro_batch;
    let change = instead.map(in_words);
    if asked.fits {
        let speed = asked.tokens_per_s();
        let high = asked.needed_interval().high;
        let (fits_zh, fits_en, up_zh, up_en) = match asked.verdict {
            Verdict::Tight => {
                ("勉强放得下", "just fits", format!("，可能到 {high:.0}"), format!(", up to {high:.0} possible"))
            }
            _ => ("放得下", "fits", String::new(), String::new()),
        };
        let zh =
            format!("{name} {fits_zh}：每张 GPU 约 {needed:.0} / {card:.0} GiB{up_zh}，预计每秒 {speed:.0} tokens");
        let en = format!(
            "{name} {fits_en}: about {needed:.0} of {card:.0} GiB per GPU{up_en}, {speed:.0} tokens/s expected"
        );
        return match (change, instead) {
            (Some((z, e)), Some(s)) => {
                Text::new(format!("{zh}；{z} {}", s.reason.zh), format!("{en}; {e} would be {}", s.reason.en))
            }
            _ => Text::new(zh, en),
        };
    }
    let missing = asked.missing_gib();
    let zh = format!("{name}（微批 {micro}）放不下：每张 GPU 差 {missing:.1} GiB");
    let en = format!("{name} with micro-batch {micro} does not fit: {missing:.1} GiB too much per GPU");
    match (change, host_missing) {
        (Some((z, e)), _) => Text::new(format!("{zh}；改用{z}就放得下"), format!("{en}; with {e} it does")),
        (None, Some(host)) => Text::new(
            format!("{zh}；卸载后 GPU 放得下，但主机内存放不下：每个节点差 {host:.0} GiB；需要更多内存、节点或 GPU"),
            format!(
                "{en}; offloaded it would fit the GPUs, but does not fit in host memory: {host:.0} GiB too much per node; it \
                 needs more memory, nodes or GPUs"
            ),
        ),
        (None, None) => Text::new(
            format!("{zh}；重计算、分片和卸载都不够，需要更多或更大的 GPU"),
            format!("{en}; checkpointing, sharding and offload are not enough: it needs more or larger GPUs"),
        ),
    }
}

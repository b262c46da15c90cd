//! The answer to a task that is about to be created: does it fit, how fast, what would be better.

use std::sync::OnceLock;

use fermi_domain::language::Text;
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::job::Layout;
use crate::question::Question;
use crate::recompute::Recompute;
use crate::search::{Candidate, Request};
use crate::sharding::{Offload, Sharding};
use crate::strategy::{Strategy, choose};

/// Which sentence it is, for those who act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AdviceId {
    Fits,
    /// Fits with less than a tenth of the card to spare.
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
    /// What one GPU needs, and has.
    pub memory_gib: f64,
    pub gpu_memory_gib: f64,
    pub strategy: Strategy,
    pub name: &'static str,
    pub micro_batch: u64,
    pub global_batch: u64,
    /// Present where it fits: what does not run has no speed.
    pub step_time_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub suggestion: Option<Suggestion>,
    /// To be shown; a warning where `fits` is false.
    pub sentence: Text,
}

struct Knowledge {
    catalogue: Catalogue,
    constants: Constants,
}

/// Read once: the files are part of the program.
fn builtin() -> &'static Knowledge {
    static BUILTIN: OnceLock<Knowledge> = OnceLock::new();
    BUILTIN.get_or_init(|| Knowledge { catalogue: Catalogue::builtin(), constants: Constants::builtin() })
}

/// Answers with what comes with Fermi; none where the model or the GPUs are unknown.
pub fn advise(question: &Question) -> Option<Advice> {
    let known = builtin();
    advise_with(question, &known.catalogue, &known.constants)
}

/// The same with a catalogue and constants of one's own, such as those of a calibrated cluster.
pub fn advise_with(question: &Question, catalogue: &Catalogue, constants: &Constants) -> Option<Advice> {
    let request = question.request(catalogue)?;
    let asked = as_asked(question, &request, constants)?;
    let suggestion =
        if asked.fits { faster(&asked, &request, constants) } else { fitting(&asked, &request, constants) };
    let card = request.cluster.gpu.memory_gib;
    let needed = asked.memory.needed_gib();
    Some(Advice {
        id: match asked.fits {
            false => AdviceId::DoesNotFit,
            true if needed > 0.9 * card => AdviceId::FitsTightly,
            true => AdviceId::Fits,
        },
        fits: asked.fits,
        missing_gib: asked.missing_gib(),
        memory_gib: needed,
        gpu_memory_gib: card,
        strategy: Strategy::of(&asked),
        name: Strategy::of(&asked).name(),
        micro_batch: asked.job.layout.micro_batch,
        global_batch: asked.job.layout.global_batch(),
        step_time_s: asked.fits.then(|| asked.seconds()),
        tokens_per_s: asked.fits.then(|| asked.tokens_per_s()),
        sentence: sentence(&asked, suggestion.as_ref()),
        suggestion,
    })
}

/// The layout that the question describes: its own micro-batch, or the largest usual one that fits.
fn as_asked(question: &Question, request: &Request, constants: &Constants) -> Option<Candidate> {
    let words = question.framework.as_deref().unwrap_or_default().to_ascii_lowercase();
    let recompute = question.stated_recompute().unwrap_or(Recompute::None);
    let shapes: Vec<Layout> = if words.contains("megatron") {
        three_dimensional(request)
    } else {
        vec![Layout { sharding: sharding_of(&words, request.cluster.gpus), ..request.plain_layout() }]
    };
    let all = shapes.into_iter().flat_map(|shape| {
        let batches = question.micro_batch.filter(|b| *b > 0).map_or_else(|| vec![8, 4, 2, 1], |b| vec![b]);
        batches.into_iter().map(move |micro| with_micro_batch(Layout { recompute, ..shape }, micro, request))
    });
    let estimated: Vec<Candidate> = all.map(|layout| request.estimate(layout, constants)).collect();
    let fastest = estimated.iter().filter(|c| c.fits).min_by(|a, b| a.seconds().total_cmp(&b.seconds()));
    fastest.or_else(|| estimated.iter().min_by(|a, b| a.missing_gib().total_cmp(&b.missing_gib()))).copied()
}

fn with_micro_batch(layout: Layout, micro_batch: u64, request: &Request) -> Layout {
    let share = (request.global_batch / layout.dp.max(1)).max(1);
    let micro_batch = micro_batch.clamp(1, share);
    Layout { micro_batch, accumulation: (share / micro_batch).max(1), ..layout }
}

/// How a framework named in words spreads its states.
fn sharding_of(words: &str, gpus: u64) -> Sharding {
    if gpus <= 1 {
        return Sharding::Ddp;
    }
    match Sharding::parse(words) {
        Some(sharding) => sharding,
        // DeepSpeed without a stage: the one that most configurations name.
        None if words.contains("deepspeed") => Sharding::Zero2,
        None => Sharding::Ddp,
    }
}

/// Tensor parallelism inside a node and pipelines beyond it.
fn three_dimensional(request: &Request) -> Vec<Layout> {
    let (gpus, per_node) = (request.cluster.gpus, request.cluster.gpus_per_node);
    let powers = |most: u64| (0..7).map(|p| 1u64 << p).take_while(move |n| *n <= most);
    let mut all = Vec::new();
    for tp in powers(per_node).filter(|t| request.architecture.heads.is_multiple_of(*t)) {
        for pp in powers(gpus / tp).filter(|p| *p <= request.architecture.layers) {
            let dp = gpus / tp / pp;
            if dp * tp * pp == gpus && dp <= request.global_batch {
                let sharding = if dp > 1 { Sharding::Zero1 } else { Sharding::Ddp };
                all.push(Layout { tp, pp, dp, sharding, sequence_parallel: tp > 1, ..request.plain_layout() });
            }
        }
    }
    if all.is_empty() { vec![request.plain_layout()] } else { all }
}

/// The usual strategies with the usual micro-batches, ranked: few enough to be estimated while a person types.
fn usual(request: &Request, constants: &Constants) -> Vec<Candidate> {
    let gpus = request.cluster.gpus;
    let shardings: &[Sharding] = if gpus > 1 {
        &[Sharding::Ddp, Sharding::Zero1, Sharding::Zero2, Sharding::Zero3, Sharding::FsdpFull]
    } else {
        &[Sharding::Ddp]
    };
    let mut all = Vec::new();
    for sharding in shardings {
        for recompute in [Recompute::None, Recompute::Full] {
            for micro in [8, 4, 2, 1] {
                let layout = Layout { sharding: *sharding, recompute, ..request.plain_layout() };
                all.push(request.estimate(with_micro_batch(layout, micro, request), constants));
            }
        }
    }
    all.sort_by(|a, b| b.fits.cmp(&a.fits).then_with(|| a.seconds().total_cmp(&b.seconds())));
    all
}

/// Another strategy, where it is clearly faster than what was asked for.
fn faster(asked: &Candidate, request: &Request, constants: &Constants) -> Option<Suggestion> {
    if Strategy::of(asked) == Strategy::ThreeD {
        return None;
    }
    let choice = choose(&usual(request, constants))?;
    let gain = asked.seconds() / choice.candidate.seconds();
    (choice.strategy != Strategy::of(asked) && gain > 1.1).then(|| {
        let percent = (gain - 1.0) * 100.0;
        let reason = Text::new(
            format!("预计快 {percent:.0} %，每张 GPU 需要 {:.0} GiB", choice.candidate.memory.needed_gib()),
            format!("about {percent:.0} % faster, and needs {:.0} GiB per GPU", choice.candidate.memory.needed_gib()),
        );
        suggestion(&choice.candidate, reason)
    })
}

/// What fits instead: the mildest change first.
fn fitting(asked: &Candidate, request: &Request, constants: &Constants) -> Option<Suggestion> {
    let card = request.cluster.gpu.memory_gib;
    let needs = |c: &Candidate| {
        let needed = c.memory.needed_gib();
        Text::new(
            format!("需要 {needed:.1} GiB，每张 GPU 有 {card:.0} GiB"),
            format!("needs {needed:.1} of {card:.0} GiB per GPU"),
        )
    };
    let same = Layout { recompute: Recompute::Full, ..asked.job.layout };
    let checkpointed = request.estimate(same, constants);
    let others = usual(request, constants);
    let offloaded = [Offload::OptimizerCpu, Offload::AllCpu].map(|offload| {
        let sharding = if request.cluster.gpus > 1 { Sharding::Zero3 } else { Sharding::Ddp };
        let least = Layout { sharding, offload, recompute: Recompute::Full, ..request.plain_layout() };
        request.estimate(with_micro_batch(least, 1, request), constants)
    });
    let plain = others.iter().find(|c| c.fits && c.job.layout.recompute == Recompute::None);
    let found = plain.or(Some(&checkpointed).filter(|c| c.fits)).or_else(|| others.iter().find(|c| c.fits));
    found.or_else(|| offloaded.iter().find(|c| c.fits)).map(|c| suggestion(c, needs(c)))
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
        step_time_s: c.seconds(),
        tokens_per_s: c.tokens_per_s(),
        reason,
    }
}

/// `ZeRO-3, full checkpointing, optimizer on the CPU, micro-batch 1`, in both languages.
fn in_words(s: &Suggestion) -> (String, String) {
    let (mut zh, mut en) = (s.name.to_owned(), s.name.to_owned());
    if s.recompute == Recompute::Full {
        zh += "、全部重计算";
        en += ", full checkpointing";
    }
    match s.offload {
        Offload::None => {}
        Offload::OptimizerCpu => {
            zh += "、优化器卸载到 CPU";
            en += ", the optimizer on the CPU";
        }
        Offload::AllCpu | Offload::AllNvme => {
            zh += "、参数和优化器卸载到 CPU";
            en += ", parameters and optimizer on the CPU";
        }
    }
    zh += &format!("、微批 {}", s.micro_batch);
    en += &format!(" and micro-batch {}", s.micro_batch);
    (zh, en)
}

fn sentence(asked: &Candidate, instead: Option<&Suggestion>) -> Text {
    let name = Strategy::of(asked).name();
    let (needed, card) = (asked.memory.needed_gib(), asked.job.cluster.gpu.memory_gib);
    let micro = asked.job.layout.micro_batch;
    let change = instead.map(in_words);
    if asked.fits {
        let speed = asked.tokens_per_s();
        let zh = format!("{name} 放得下：每张 GPU 约 {needed:.0} / {card:.0} GiB，预计每秒 {speed:.0} tokens");
        let en = format!("{name} fits: about {needed:.0} of {card:.0} GiB per GPU, {speed:.0} tokens/s expected");
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
    match change {
        Some((z, e)) => Text::new(format!("{zh}；改用{z}就放得下"), format!("{en}; with {e} it does")),
        None => Text::new(
            format!("{zh}；重计算、分片和卸载都不够，需要更多或更大的 GPU"),
            format!("{en}; checkpointing, sharding and offload are not enough: it needs more or larger GPUs"),
        ),
    }
}

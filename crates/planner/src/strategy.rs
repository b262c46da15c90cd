//! Which strategy: the tables decide, unless their choice does not fit or is clearly slower.

use fermi_domain::auto::AutoStrategy;
use fermi_domain::language::Text;
use serde::Serialize;

use crate::search::Candidate;
use crate::sharding::Sharding;

/// What a user would choose by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    Ddp,
    Zero1,
    Zero2,
    Zero3,
    Fsdp,
    FsdpGradOp,
    FsdpHybrid,
    /// Tensor, pipeline and data parallelism together.
    ThreeD,
}

impl Strategy {
    pub fn of(candidate: &Candidate) -> Self {
        let layout = &candidate.job.layout;
        if layout.tp > 1 || layout.pp > 1 || layout.cp > 1 {
            return Self::ThreeD;
        }
        match layout.sharding {
            Sharding::Ddp => Self::Ddp,
            Sharding::Zero1 => Self::Zero1,
            Sharding::Zero2 => Self::Zero2,
            Sharding::Zero3 => Self::Zero3,
            Sharding::FsdpFull => Self::Fsdp,
            Sharding::FsdpGradOp => Self::FsdpGradOp,
            Sharding::Hybrid(_) => Self::FsdpHybrid,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Ddp => "DDP",
            Self::Zero1 => "DeepSpeed ZeRO-1",
            Self::Zero2 => "DeepSpeed ZeRO-2",
            Self::Zero3 => "DeepSpeed ZeRO-3",
            Self::Fsdp => "FSDP (full shard)",
            Self::FsdpGradOp => "FSDP (shard grad op)",
            Self::FsdpHybrid => "FSDP (hybrid shard)",
            Self::ThreeD => "Megatron 3D",
        }
    }
}

/// What the table of `distributed_strategy: auto` says, as a strategy of the planner.
pub fn by_table(params: u64) -> Strategy {
    match AutoStrategy::of(params) {
        AutoStrategy::Ddp => Strategy::Ddp,
        AutoStrategy::Zero2 => Strategy::Zero2,
        AutoStrategy::Zero3 => Strategy::Zero3,
    }
}

/// The framework that the console advises for a model of this size.
pub fn framework_by_table(params: u64) -> &'static str {
    match params {
        0..1_000_000_000 => "PyTorch DDP",
        1_000_000_000..=10_000_000_000 => "PyTorch FSDP / Horovod",
        10_000_000_001..=100_000_000_000 => "DeepSpeed",
        _ => "Megatron-LM + DeepSpeed",
    }
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The table's choice fits and is within a tenth of the fastest.
    Table,
    /// The table's choice does not fit.
    Memory,
    /// Another is more than a tenth faster.
    Speed,
    /// There is but one GPU.
    OneGpu,
}

/// A choice with its reason.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    pub strategy: Strategy,
    pub decided_by: Decision,
    pub table_says: Strategy,
    pub reason: Text,
    pub candidate: Candidate,
}

/// Below this, tensor and pipeline parallelism are chosen only where nothing else fits.
const SMALL: u64 = 1_000_000_000;

/// How much faster another strategy has to be before it overrules the table.
pub(crate) const CLEARLY: f64 = 1.10;

/// Chooses among ranked candidates; none where nothing fits.
pub fn choose(ranked: &[Candidate]) -> Option<Choice> {
    let first = ranked.first().filter(|c| c.fits)?;
    // What is tight is taken only where nothing has room to spare.
    let safe = |c: &&Candidate| c.verdict == first.verdict;
    let params = first.job.architecture.params();
    // A model that fits whole on a GPU is not cut for a few percent, which do not pay for a second stack.
    let simple = ranked.iter().filter(safe).find(|c| Strategy::of(c) != Strategy::ThreeD);
    let fastest = simple.filter(|_| params < SMALL).unwrap_or(first);
    let table = by_table(params);
    let size = params as f64 / 1e9;
    let chosen = |candidate: &Candidate, decided_by, reason| Choice {
        strategy: Strategy::of(candidate),
        decided_by,
        table_says: table,
        reason,
        candidate: *candidate,
    };
    if fastest.job.cluster.gpus == 1 {
        let reason = Text::new(
            "只有一张 GPU：不需要分布式策略，取能放下的最快配置",
            "one GPU: no distributed strategy is needed; this is the fastest setting that fits",
        );
        return Some(chosen(fastest, Decision::OneGpu, reason));
    }
    let winner = Strategy::of(fastest).name();
    let Some(by_rule) = ranked.iter().filter(safe).find(|c| Strategy::of(c) == table) else {
        let mut of_table = ranked.iter().filter(|c| Strategy::of(c) == table).peekable();
        let (zh, en) = if of_table.peek().is_none() {
            ("全局批次少于 GPU 数", "needs a global batch of at least one sequence per GPU")
        } else if of_table.any(|c| c.fits) {
            ("显存余量太小", "leaves too little memory to spare")
        } else {
            ("显存放不下", "does not fit")
        };
        let reason = Text::new(
            format!("规则表（{size:.1}B 参数）选 {}，但{zh}；{winner} 是能放下的最快方案", table.name()),
            format!(
                "the table says {} for {size:.1}B parameters, but it {en}; {winner} is the fastest that fits",
                table.name()
            ),
        );
        return Some(chosen(fastest, Decision::Memory, reason));
    };
    let gain = fastest.gain_over(by_rule);
    if gain > CLEARLY {
        let percent = (gain - 1.0) * 100.0;
        let reason = Text::new(
            format!("规则表（{size:.1}B 参数）选 {}，但预测 {winner} 快 {percent:.0} %", table.name()),
            format!(
                "the table says {} for {size:.1}B parameters, but {winner} is predicted {percent:.0} % faster",
                table.name()
            ),
        );
        return Some(chosen(fastest, Decision::Speed, reason));
    }
    let (zh, en) = why_not_the_fastest(by_rule, first, ranked);
    let reason = Text::new(
        format!("规则表（{size:.1}B 参数）选 {}，放得下，{zh}", table.name()),
        format!("the table says {} for {size:.1}B parameters; it fits{en}", table.name()),
    );
    Some(chosen(by_rule, Decision::Table, reason))
}

/// The table's choice stands although something that fits may be clearly faster: what has no room to spare, or what cuts a
/// small model.
fn why_not_the_fastest(by_rule: &Candidate, first: &Candidate, ranked: &[Candidate]) -> (&'static str, &'static str) {
    let clearly_faster = |c: &Candidate| c.fits && c.gain_over(by_rule) > CLEARLY;
    if clearly_faster(first) {
        ("更快的方案要切分一张 GPU 就放得下的模型", "; what is faster cuts a model that fits whole on a GPU")
    } else if ranked.iter().any(clearly_faster) {
        ("更快的方案显存余量太小", "; what is faster leaves too little memory to spare")
    } else {
        ("且与最快方案相差不到 10 %", " and is within 10 % of the fastest")
    }
}

/// The best of each strategy, in the order of the ranking.
pub fn best_of_each(ranked: &[Candidate]) -> Vec<(Strategy, Candidate)> {
    let mut seen = Vec::new();
    for candidate in ranked {
        let strategy = Strategy::of(candidate);
        if !seen.iter().any(|(s, _)| *s == strategy) {
            seen.push((strategy, *candidate));
        }
    }
    seen
}

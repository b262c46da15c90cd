//! The answer to one row: numbers with an explanation, or the reason why there are none.

use fermi_domain::language::{FrontEnd, Language, Text};
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::error::PlanError;
use crate::interval::{Intervals, Verdict};
use crate::memory::{self, GIB, Memory};
use crate::resolve;
use crate::run::Run;
use crate::time::{self, StepTime};

/// What a run would do.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    pub step_time_s: f64,
    /// Four of five such runs are between these.
    pub step_time_low_s: f64,
    pub step_time_high_s: f64,
    pub tokens_per_s: f64,
    pub peak_mem_gib: f64,
    pub peak_mem_low_gib: f64,
    pub peak_mem_high_gib: f64,
    /// Also at the upper end of its memory.
    pub fits: bool,
    pub verdict: Verdict,
    pub explain: String,
}

/// A row of the answer.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum RowPrediction {
    Numbers(Prediction),
    /// This row cannot be modelled.
    Reason {
        reason: String,
        explain: String,
    },
}

impl RowPrediction {
    pub fn numbers(&self) -> Option<&Prediction> {
        match self {
            Self::Numbers(prediction) => Some(prediction),
            Self::Reason { .. } => None,
        }
    }
}

/// Answers one row.
pub fn predict(run: &Run, catalogue: &Catalogue, constants: &Constants, language: Language) -> RowPrediction {
    match numbers(run, catalogue, constants, language) {
        Ok(prediction) => RowPrediction::Numbers(prediction),
        Err(error) => RowPrediction::Reason {
            reason: error.message.in_language(language).to_owned(),
            explain: error.hint.spelled(FrontEnd::CommandLine).in_language(language).to_owned(),
        },
    }
}

fn numbers(
    run: &Run,
    catalogue: &Catalogue,
    constants: &Constants,
    language: Language,
) -> Result<Prediction, PlanError> {
    let resolved = resolve::job(run, catalogue)?;
    let step = time::estimate(&resolved.job, constants);
    let used = memory::estimate(&resolved.for_memory());
    let seconds = step.total();
    if !(seconds.is_finite() && seconds > 0.0 && used.allocated().is_finite()) {
        return Err(PlanError::too_large("params"));
    }
    let card = resolved.job.cluster.gpu.memory_gib;
    let intervals = Intervals::builtin();
    let (within, peak) = (intervals.step(&resolved.job, seconds), intervals.memory(&resolved.job, used.peak_gib()));
    let verdict = Verdict::of(used.needed_gib(), intervals.memory(&resolved.job, used.needed_gib()).high, card);
    Ok(Prediction {
        step_time_s: rounded(seconds),
        step_time_low_s: rounded(within.low),
        step_time_high_s: rounded(within.high),
        tokens_per_s: rounded(resolved.job.tokens_per_step() / seconds),
        peak_mem_gib: rounded(used.peak_gib()),
        peak_mem_low_gib: rounded(peak.low),
        peak_mem_high_gib: rounded(peak.high),
        fits: verdict == Verdict::Fits,
        verdict,
        explain: explain(&step, &used, card).in_language(language).to_owned(),
    })
}

/// Six digits say more than any estimate knows.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let digits = 10f64.powf(5.0 - value.abs().log10().floor());
    (value * digits).round() / digits
}

/// Where time and memory go, in a sentence.
pub fn explain(step: &StepTime, used: &Memory, card: f64) -> Text {
    let total = step.total();
    let share = |part: f64| (part / total * 100.0).round();
    let parts = [
        ("计算", "compute", step.compute),
        ("张量并行通信", "tensor-parallel communication", step.tensor),
        ("流水线", "pipeline", step.pipeline),
        ("数据并行通信", "data-parallel communication", step.data),
        ("优化器", "optimizer", step.update),
        ("固定开销", "fixed costs", step.fixed),
    ];
    let list = |zh: bool| {
        let shown = parts.iter().filter(|(_, _, part)| share(*part) >= 1.0);
        shown
            .map(|(z, e, part)| format!("{} {} %", if zh { z } else { e }, share(*part)))
            .collect::<Vec<_>>()
            .join(if zh { "、" } else { ", " })
    };
    let largest = used.terms().into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", 0.0));
    let needed = used.needed_gib();
    Text::new(
        format!(
            "时间：{}。显存：需要 {needed:.1} / {card:.0} GiB，最大项 {} {:.1} GiB。",
            list(true),
            largest.0,
            largest.1 / GIB
        ),
        format!(
            "time: {}; memory: {needed:.1} of {card:.0} GiB needed, largest term {} {:.1} GiB",
            list(false),
            largest.0,
            largest.1 / GIB
        ),
    )
}

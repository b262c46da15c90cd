//! The one door to the planner: what is to be trained on what, and everything that follows from it.
//!
//! `fermi plan` shows a [`Plan`] whole; the server asks it about a task whose framework is chosen already
//! ([`crate::advise`]). Both read the same ranking and the same choice, so that they cannot disagree.

use std::sync::OnceLock;

use fermi_domain::language::Text;

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::error::PlanError;
use crate::precision::Precision;
use crate::remedies::{Remedy, more_gpus, within_these_gpus};
use crate::search::{Candidate, Request, rank};
use crate::strategy::{Choice, choose};

/// What a plan is made from besides the request.
#[derive(Clone, Debug)]
pub struct Knowledge {
    pub catalogue: Catalogue,
    pub constants: Constants,
}

impl Knowledge {
    /// What comes with Fermi, read once: the files are part of the program.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Knowledge> = OnceLock::new();
        BUILTIN.get_or_init(|| Self { catalogue: Catalogue::builtin(), constants: Constants::builtin() })
    }
}

/// Every layout of a request, ranked, and the one to take.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub request: Request,
    /// Those that fit first, the fastest first; never empty.
    pub ranked: Vec<Candidate>,
    /// None where nothing fits.
    pub choice: Option<Choice>,
    pub(crate) constants: &'a Constants,
}

impl<'a> Plan<'a> {
    /// Refuses a request that describes no run.
    pub fn of(request: Request, constants: &'a Constants) -> Result<Self, PlanError> {
        request.check()?;
        let ranked = rank(&request, constants);
        if ranked.is_empty() {
            return Err(PlanError::too_small_a_batch());
        }
        Ok(Self { choice: choose(&ranked), request, ranked, constants })
    }

    /// What else is to be known of the plan: where it is not quite what was asked for, and what was not looked at.
    pub fn notes(&self) -> Vec<Text> {
        let notes = [self.uneven_batch(), self.without_bf16(), self.unspread_experts()];
        notes.into_iter().flatten().collect()
    }

    fn uneven_batch(&self) -> Option<Text> {
        let (asked, layout) = (self.request.global_batch, self.choice.as_ref()?.candidate.job.layout);
        let (taken, replicas) = (layout.global_batch(), layout.dp);
        (taken != asked).then(|| {
            let more = asked.next_multiple_of(replicas);
            Text::new(
                format!("{asked} 个序列无法平均分给 {replicas} 个副本：推荐方案每步取 {taken} 个；{more} 也能平分"),
                format!(
                    "{asked} sequences cannot be shared evenly by {replicas} replicas: what is recommended takes {taken} a step; \
                     {more} could be shared too"
                ),
            )
        })
    }

    fn without_bf16(&self) -> Option<Text> {
        let is_asked = matches!(self.request.precision, Precision::Bf16 | Precision::PureBf16 | Precision::AmpBf16);
        (is_asked && self.request.cluster.gpu.lacks_bf16()).then(|| {
            Text::new(
                "这些 GPU 没有 bf16 运算单元，PyTorch 只能慢速模拟：以下数字对 fp16 成立，请用 fp16 训练",
                "these GPUs have no units for bf16, and PyTorch emulates it slowly: the numbers hold for fp16, so train in fp16",
            )
        })
    }

    fn unspread_experts(&self) -> Option<Text> {
        self.request.architecture.experts.filter(|_| self.request.cluster.gpus > 1).map(|_| {
            Text::new(
                "混合专家模型：未估算专家并行（把专家分散到各 GPU）的布局，它们可能更快、更省显存",
                "a mixture of experts: layouts that spread experts over the GPUs (expert parallelism) are not looked at, and may be \
                 faster and need less memory",
            )
        })
    }

    /// What would make a model fit of which no layout does, the mildest first; empty where one fits.
    pub fn remedies(&self) -> Vec<Remedy> {
        let mut all = self.remedies_here();
        if self.choice.is_none() {
            all.extend(more_gpus(&self.request, self.constants));
        }
        all
    }

    /// Those of the remedies that need no other machines.
    pub(crate) fn remedies_here(&self) -> Vec<Remedy> {
        if self.choice.is_none() { within_these_gpus(&self.request, self.constants) } else { Vec::new() }
    }
}

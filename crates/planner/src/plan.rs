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
        let notes = [
            self.crowded_node(),
            self.uneven_batch(),
            self.without_bf16(),
            self.unspread_experts(),
            self.uncut_sequence(),
        ];
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

    /// `64xH100` is one machine of 64 GPUs, whose messages take the links inside a node; whoever writes it mostly means eight.
    fn crowded_node(&self) -> Option<Text> {
        let cluster = &self.request.cluster;
        let per_node = cluster.gpus_per_node.min(cluster.gpus);
        (per_node > cluster.gpu.largest_node()).then(|| {
            Text::new(
                format!("按每个节点 {per_node} 张 GPU、全部由节点内链路相连估算；若每个节点 8 张，请写成“节点数x8xGPU”"),
                format!(
                    "estimated as nodes of {per_node} GPUs, all joined by the links inside a node; of nodes with 8 write NODESx8xGPU"
                ),
            )
        })
    }

    /// What long sequences keep is more than a GPU has however the model is cut.
    fn uncut_sequence(&self) -> Option<Text> {
        let nearest = self.ranked.first().filter(|_| self.choice.is_none() && self.request.cluster.gpus > 1)?;
        let kept = nearest.memory.activations + nearest.memory.logits;
        (nearest.job.layout.micro_batch == 1 && kept > nearest.memory.allocated() / 2.0).then(|| {
            Text::new(
                "激活占了大半：未估算切分序列的布局（上下文并行），它们或许放得下",
                "activations are most of it: layouts that cut the sequence (context parallelism) are not looked at, and may fit",
            )
        })
    }

    fn unspread_experts(&self) -> Option<Text> {
        self.request.architecture.experts.filter(|_| self.request.cluster.gpus > 1).map(|_| {
            Text::new(
                "混合专家模型：未估算专家并行（把专家分散到各 GPU）的布局，它们可能更快、更省显存；拟合中没有这类模型的运行，所以区间较宽",
                "a mixture of experts: layouts that spread experts over the GPUs (expert parallelism) are not looked at, and may be \
                 faster and need less memory; no run of such a model is in the fit, so that the interval is wide",
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

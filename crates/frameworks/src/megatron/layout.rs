//! How the ranks are divided: by the task's strategy, or as the command says.

use fermi_domain::{language::Text, layout, messages::RequestRefusal, task::Strategy};

use super::{
    given_arguments::{GivenArguments, agree},
    names,
};
use crate::{order::LaunchOrder, refusal::LaunchRefusal};

/// The division of exactly these ranks; data parallel when nothing is given.
pub(super) fn strategy(order: &LaunchOrder<'_>, args: &GivenArguments<'_>) -> Result<Strategy, LaunchRefusal> {
    let ranks = order.ranks.world_size();
    let given = order.spec.distributed.strategy;
    let degree = |name: &names::Name, given: Option<u32>| -> Result<u32, LaunchRefusal> {
        let Some(flag) = args.flag(name) else { return Ok(given.unwrap_or(1)) };
        let here = args.argv.count(flag, 1)?.map(|degree| u32::try_from(degree).unwrap_or(u32::MAX));
        Ok(agree(flag, here, name.setting, given)?.unwrap_or(1))
    };
    let tensor_parallel = degree(&names::TENSOR, given.map(|strategy| strategy.tensor_parallel))?;
    let pipeline_parallel = degree(&names::PIPELINE, given.map(|strategy| strategy.pipeline_parallel))?;
    let parts = tensor_parallel.saturating_mul(pipeline_parallel).max(1);
    let data_parallel = given.map_or((ranks / parts).max(1), |strategy| strategy.data_parallel);
    let strategy = Strategy { data_parallel, pipeline_parallel, tensor_parallel };
    if strategy.ranks() == u64::from(ranks) {
        return Ok(strategy);
    }
    let fitting = layout::that_fit(&order.ranks_per_node(), strategy, 3);
    Err(LaunchRefusal::Layout(RequestRefusal::LayoutMismatch { strategy, ranks, fitting }))
}

/// Tensor parallel parts talk in every layer; over a network that is slow.
pub(super) fn tensor_across_nodes(order: &LaunchOrder<'_>, strategy: Strategy) -> Option<Text> {
    let within = order.ranks_per_node().iter().all(|ranks| ranks.is_multiple_of(strategy.tensor_parallel.max(1)));
    (!within).then(|| {
        Text::new(
            format!("张量并行 {} 跨越节点，会变慢", strategy.tensor_parallel),
            format!("tensor parallel {} reaches over nodes and will be slow", strategy.tensor_parallel),
        )
    })
}

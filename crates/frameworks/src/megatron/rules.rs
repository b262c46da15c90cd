//! Megatron's rules, as it checks them itself once every process is up.

use fermi_domain::language::{Setting, Text};

use super::{
    given_arguments::GivenArguments,
    names::{self, Name, Parser},
    shape::Shape,
};
use crate::refusal::{LaunchRefusal, Words};

/// Arguments with which stages are not of one size.
const UNEVEN_STAGES: [&str; 7] = [
    "--decoder-first-pipeline-num-layers",
    "--decoder-last-pipeline-num-layers",
    "--pipeline-model-parallel-layout",
    "--account-for-embedding-in-pipeline-split",
    "--account-for-loss-in-pipeline-split",
    "--hybrid-layer-pattern",
    "--standalone-embedding-stage",
];

/// A number, a divisor, and what they are called. A number that is not known is not checked.
struct Rule {
    name: Name,
    what: Words,
    number: Option<u64>,
    by_what: Words,
    by: Option<u64>,
}

pub(super) fn check(args: &GivenArguments<'_>, shape: &Shape) -> Result<(), LaunchRefusal> {
    for rule in divisions(args, shape) {
        let (Some(number), Some(by)) = (rule.number, rule.by) else { continue };
        if !number.is_multiple_of(by) {
            return Err(LaunchRefusal::Indivisible {
                key: args.key(&rule.name),
                number,
                what: rule.what,
                by,
                by_what: rule.by_what,
            });
        }
    }
    positions(args, shape)?;
    interleaving(args, shape)
}

fn divisions(args: &GivenArguments<'_>, shape: &Shape) -> [Rule; 12] {
    let tensor: Words = ("张量并行度", "tensor parallelism");
    let groups: Words = ("查询组数", "query groups");
    let heads: Words = ("注意力头数", "The number of attention heads");
    let stages = (!UNEVEN_STAGES.iter().any(|flag| args.argv.has(flag))).then_some(shape.pipeline);
    let stage_layers = shape.layers.zip(stages).map(|(layers, stages)| layers / stages.max(1));
    let rule = |name: Name, what: Words, number: Option<u64>, by_what: Words, by: Option<u64>| Rule {
        name,
        what,
        number,
        by_what,
        by,
    };
    [
        rule(
            names::LAYERS,
            ("层数", "The number of layers"),
            shape.layers,
            ("流水线并行度", "pipeline parallelism"),
            stages,
        ),
        rule(
            names::VIRTUAL_LAYERS,
            ("每段流水线的层数", "The layers of a stage"),
            stage_layers,
            ("每虚拟段层数", "layers of a virtual stage"),
            shape.layers_per_virtual_stage,
        ),
        rule(
            names::LAYERS,
            ("每段流水线的层数", "The layers of a stage"),
            stage_layers,
            ("虚拟段数", "virtual stages"),
            shape.virtual_stages,
        ),
        rule(names::HEADS, heads, shape.heads, tensor, Some(shape.tensor)),
        rule(names::HEADS, heads, shape.heads, groups, shape.query_groups),
        rule(
            names::QUERY_GROUPS,
            ("查询组数", "The number of query groups"),
            shape.query_groups.filter(|groups| *groups >= shape.tensor),
            tensor,
            Some(shape.tensor),
        ),
        rule(
            names::QUERY_GROUPS,
            ("张量并行度", "Tensor parallelism"),
            Some(shape.tensor),
            groups,
            shape.query_groups.filter(|groups| *groups < shape.tensor),
        ),
        rule(
            names::HIDDEN,
            ("隐藏维度", "The hidden size"),
            shape.hidden,
            ("注意力头数", "attention heads"),
            // Heads of a size of their own need not add up to the hidden size.
            shape.heads.filter(|_| !args.argv.has("--kv-channels")),
        ),
        rule(names::FFN_HIDDEN, ("前馈层维度", "The feed-forward size"), shape.ffn_hidden, tensor, Some(shape.tensor)),
        rule(
            names::SEQUENCE,
            ("序列长度", "The sequence length"),
            shape.sequence,
            tensor,
            shape.sequence_parallel.then_some(shape.tensor),
        ),
        rule(
            names::SEQUENCE,
            ("序列长度", "The sequence length"),
            shape.sequence,
            ("两倍上下文并行度", "twice the context parallelism"),
            (shape.context > 1 && args.parser == Parser::MegatronLm).then_some(shape.context * 2),
        ),
        rule(
            names::EXPERTS,
            ("专家数", "The number of experts"),
            shape.experts,
            ("专家并行度", "expert parallelism"),
            shape.expert,
        ),
    ]
}

/// There is a position for every place of a sequence.
fn positions(args: &GivenArguments<'_>, shape: &Shape) -> Result<(), LaunchRefusal> {
    match (shape.sequence, shape.positions) {
        (Some(sequence), Some(positions)) if positions < sequence => Err(LaunchRefusal::Rule {
            key: "--max-position-embeddings".to_owned(),
            text: Text::new(
                format!("位置数 {positions} 少于序列长度 {sequence}"),
                format!("{positions} positions are fewer than the sequence length of {sequence}"),
            ),
            hint: Text::new(
                format!("提高 --max-position-embeddings，或减小 {}", args.key(&names::SEQUENCE)),
                format!("give a higher --max-position-embeddings, or a smaller {}", args.key(&names::SEQUENCE)),
            ),
        }),
        _ => Ok(()),
    }
}

/// Interleaved schedules need stages to alternate between, and send micro-batches in rounds of one per stage.
fn interleaving(args: &GivenArguments<'_>, shape: &Shape) -> Result<(), LaunchRefusal> {
    let by_layers = shape.layers_per_virtual_stage.is_some();
    if !by_layers && shape.virtual_stages.is_none_or(|stages| stages == 1) {
        return Ok(());
    }
    let key =
        if by_layers { args.key(&names::VIRTUAL_LAYERS) } else { "--num-virtual-stages-per-pipeline-rank".to_owned() };
    let without_overlap = args.parser == Parser::MegatronDeepspeed || args.argv.has("--no-overlap-p2p-communication");
    let least = if without_overlap { 3 } else { 2 };
    if shape.pipeline < least {
        return Err(LaunchRefusal::Rule {
            key,
            text: Text::new(
                format!("交错流水线需要流水线并行大于 {}", least - 1),
                format!("Virtual stages need pipeline parallelism above {}", least - 1),
            ),
            hint: Text::new(
                format!("提高 {}，或去掉此设置", Setting::PipelineParallel),
                format!("give a higher {}, or leave it out", Setting::PipelineParallel),
            ),
        });
    }
    let own_rounds = args.argv.has("--microbatch-group-size-per-virtual-pipeline-stage")
        || args.argv.has("--step-batch-size-schedule")
        || args.argv.has("--rampup-batch-size");
    if !own_rounds && !shape.batch.accumulation.is_multiple_of(shape.pipeline) {
        return Err(LaunchRefusal::Indivisible {
            key: args.key(&names::GLOBAL_BATCH),
            number: shape.batch.accumulation,
            what: ("微批次数", "The number of micro-batches"),
            by: shape.pipeline,
            by_what: ("流水线并行度", "pipeline parallelism"),
        });
    }
    Ok(())
}

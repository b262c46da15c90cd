//! Megatron's rules of division, as it checks them itself once every process is up.

use fermi_domain::language::Text;

use super::shape::Shape;
use crate::{
    refusal::{LaunchRefusal, Words},
    settings::Settings,
};

/// A number, a divisor, and what they are called. A number that is not known is not checked.
struct Rule {
    key: &'static str,
    what: Words,
    number: Option<u64>,
    by_what: Words,
    by: Option<u64>,
}

pub(super) fn check(settings: &Settings<'_>, shape: &Shape) -> Result<(), LaunchRefusal> {
    for rule in rules(shape) {
        let (Some(number), Some(by)) = (rule.number, rule.by) else { continue };
        if !number.is_multiple_of(by) {
            return Err(LaunchRefusal::Indivisible {
                key: settings.key(rule.key),
                number,
                what: rule.what,
                by,
                by_what: rule.by_what,
            });
        }
    }
    interleaving(settings, shape)
}

fn rules(shape: &Shape) -> [Rule; 9] {
    let tensor: Words = ("张量并行度", "tensor parallelism");
    let groups = shape.query_groups.filter(|groups| *groups >= shape.tensor);
    let stage_layers = shape.layers.map(|layers| layers / shape.pipeline.max(1));
    [
        Rule {
            key: "numLayers",
            what: ("层数", "The number of layers"),
            number: shape.layers,
            by_what: ("流水线并行度", "pipeline parallelism"),
            by: Some(shape.pipeline),
        },
        Rule {
            key: "layersPerVirtualStage",
            what: ("每段流水线的层数", "The layers of a stage"),
            number: stage_layers,
            by_what: ("每虚拟段层数", "layers of a virtual stage"),
            by: shape.layers_per_virtual_stage,
        },
        Rule {
            key: "numAttentionHeads",
            what: ("注意力头数", "The number of attention heads"),
            number: shape.heads,
            by_what: tensor,
            by: Some(shape.tensor),
        },
        Rule {
            key: "numQueryGroups",
            what: ("查询组数", "The number of query groups"),
            number: groups,
            by_what: tensor,
            by: Some(shape.tensor),
        },
        Rule {
            key: "hiddenSize",
            what: ("隐藏维度", "The hidden size"),
            number: shape.hidden,
            by_what: ("注意力头数", "attention heads"),
            by: shape.heads,
        },
        Rule {
            key: "ffnHiddenSize",
            what: ("前馈层维度", "The feed-forward size"),
            number: shape.ffn_hidden,
            by_what: tensor,
            by: Some(shape.tensor),
        },
        Rule {
            key: "seqLength",
            what: ("序列长度", "The sequence length"),
            number: shape.sequence,
            by_what: tensor,
            by: shape.sequence_parallel.then_some(shape.tensor),
        },
        Rule {
            key: "seqLength",
            what: ("序列长度", "The sequence length"),
            number: shape.sequence,
            by_what: ("两倍上下文并行度", "twice the context parallelism"),
            by: (shape.context > 1).then_some(shape.context * 2),
        },
        Rule {
            key: "numExperts",
            what: ("专家数", "The number of experts"),
            number: shape.experts,
            by_what: ("专家并行度", "expert parallelism"),
            by: shape.expert,
        },
    ]
}

/// Interleaved schedules send micro-batches in rounds of one per stage.
fn interleaving(settings: &Settings<'_>, shape: &Shape) -> Result<(), LaunchRefusal> {
    if shape.layers_per_virtual_stage.is_none() {
        return Ok(());
    }
    if shape.pipeline < 2 {
        return Err(LaunchRefusal::Rule {
            key: settings.key("layersPerVirtualStage"),
            text: Text::new("交错流水线需要流水线并行大于 1", "Virtual stages need pipeline parallelism above 1"),
            hint: Text::new("提高 pipelineParallel，或去掉此设置", "give a higher pipelineParallel, or leave it out"),
        });
    }
    if !shape.batch.accumulation.is_multiple_of(shape.pipeline) {
        return Err(LaunchRefusal::Indivisible {
            key: settings.key("globalBatchSize"),
            number: shape.batch.accumulation,
            what: ("微批次数", "The number of micro-batches"),
            by: shape.pipeline,
            by_what: ("流水线并行度", "pipeline parallelism"),
        });
    }
    Ok(())
}

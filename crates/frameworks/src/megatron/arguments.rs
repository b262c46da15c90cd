//! The arguments by the parser's names.

use fermi_domain::launch::{Placeholder, Template};

use super::{
    argv::Argv,
    given_arguments::GivenArguments,
    names::{self, Name},
    shape::Shape,
};
use crate::{draft::Draft, order::LaunchOrder, precision::Precision};

/// A flag, with its value unless it is a switch.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    flag: &'static str,
    value: Option<Template>,
}

impl Argument {
    pub(super) fn switch(flag: &'static str) -> Self {
        Self { flag, value: None }
    }

    pub(super) fn with(flag: &'static str, value: impl Into<Template>) -> Self {
        Self { flag, value: Some(value.into()) }
    }
}

/// All arguments that follow from the shape, under the user's spelling where the command has them already.
pub(super) fn of(order: &LaunchOrder<'_>, args: &GivenArguments<'_>, shape: &Shape, backend: &str) -> Vec<Argument> {
    let scheduled = args.argv.has("--step-batch-size-schedule");
    let numbers = [
        (names::TENSOR, Some(shape.tensor)),
        (names::PIPELINE, Some(shape.pipeline)),
        (names::CONTEXT, (shape.context > 1).then_some(shape.context)),
        (names::EXPERT, shape.expert),
        (names::EXPERTS, shape.experts),
        (names::VIRTUAL_LAYERS, shape.layers_per_virtual_stage),
        (names::MICRO_BATCH, Some(shape.batch.micro)),
        (names::GLOBAL_BATCH, (!scheduled).then_some(shape.batch.global)),
        (names::LAYERS, shape.layers),
        (names::HIDDEN, shape.hidden),
        (names::FFN_HIDDEN, shape.ffn_hidden),
        (names::HEADS, shape.heads),
        (names::QUERY_GROUPS, shape.query_groups),
        (names::SEQUENCE, shape.sequence),
    ];
    let mut all: Vec<Argument> = numbers.into_iter().filter_map(|(name, number)| named(args, name, number)).collect();
    all.extend(shape.positions.map(|places| Argument::with("--max-position-embeddings", places.to_string())));
    all.extend(named(args, names::TRAIN_ITERS, shape.train_iters));
    all.extend(named(args, names::SAVE_INTERVAL, shape.saves.interval));
    let minutes = order.spec.options.timeout.map(|seconds| seconds.div_ceil(60));
    all.extend(minutes.map(|minutes| Argument::with("--distributed-timeout-minutes", minutes.to_string())));
    all.extend(named(args, names::LEARNING_RATE, shape.learning_rate));
    all.extend(named(args, names::CLIP_GRAD, shape.clip_grad));
    all.extend(switches(args, shape).into_iter().flatten().map(Argument::switch));
    if let Some(how) = shape.recompute {
        all.push(Argument::with("--recompute-granularity", how));
        if how == "full" {
            all.push(Argument::with("--recompute-method", "uniform"));
            all.push(Argument::with("--recompute-num-layers", "1"));
        }
    }
    all.push(Argument::with("--distributed-backend", backend));
    if shape.saves.in_our_folder {
        let folder =
            ["--save", "--load"].map(|flag| Argument::with(flag, Template::placeholder(Placeholder::CheckpointFolder)));
        all.extend(folder);
    }
    all
}

fn named(args: &GivenArguments<'_>, name: Name, number: Option<impl ToString>) -> Option<Argument> {
    let flag = args.flag(&name).or_else(|| name.flags(args.parser).first().copied())?;
    number.map(|number| Argument::with(flag, number.to_string()))
}

fn switches(args: &GivenArguments<'_>, shape: &Shape) -> [Option<&'static str>; 4] {
    // The fork takes the number alone.
    let grouped = shape.query_groups.is_some() && args.parser == names::Parser::MegatronLm;
    [
        shape.sequence_parallel.then_some("--sequence-parallel"),
        grouped.then_some("--group-query-attention"),
        shape.distributed_optimizer.then_some("--use-distributed-optimizer"),
        match shape.precision {
            Precision::Fp32 => None,
            Precision::Fp16 => Some("--fp16"),
            Precision::Bf16 => Some("--bf16"),
        },
    ]
}

/// One argument with its value per line.
pub(super) fn file(arguments: &[Argument]) -> Template {
    let mut text = Template::default();
    for Argument { flag, value } in arguments {
        text = text.then(*flag);
        if let Some(value) = value {
            text = text.then(" ").followed_by(value);
        }
        text = text.then("\n");
    }
    text
}

/// Puts those behind the user's own that are not among them.
pub(super) fn append(argv: Argv<'_>, arguments: Vec<Argument>, draft: &mut Draft) {
    for Argument { flag, value } in arguments {
        if !argv.has(flag) {
            draft.engine_args.push(Template::text(flag));
            draft.engine_args.extend(value);
        }
    }
}

//! The arguments by Megatron-LM's names.

use fermi_domain::{
    launch::{Phrase, Place},
    task::Work,
};

use super::shape::Shape;
use crate::{draft::Draft, order::LaunchOrder, precision::Precision, refusal::LaunchRefusal};

/// All arguments that follow from the shape, flags and values as separate words.
pub(super) fn of(order: &LaunchOrder<'_>, shape: &Shape, backend: &str) -> Vec<Phrase> {
    let mut words = Vec::new();
    let numbers = [
        ("--tensor-model-parallel-size", Some(shape.tensor)),
        ("--pipeline-model-parallel-size", Some(shape.pipeline)),
        ("--context-parallel-size", (shape.context > 1).then_some(shape.context)),
        ("--expert-model-parallel-size", shape.expert),
        ("--num-experts", shape.experts),
        ("--num-layers-per-virtual-pipeline-stage", shape.layers_per_virtual_stage),
        ("--micro-batch-size", Some(shape.batch.micro)),
        ("--global-batch-size", Some(shape.batch.global)),
        ("--num-layers", shape.layers),
        ("--hidden-size", shape.hidden),
        ("--ffn-hidden-size", shape.ffn_hidden),
        ("--num-attention-heads", shape.heads),
        ("--num-query-groups", shape.query_groups),
        ("--seq-length", shape.sequence),
        ("--max-position-embeddings", shape.sequence),
        ("--train-iters", shape.train_iters),
        ("--save-interval", shape.save_interval),
        ("--distributed-timeout-minutes", order.spec.options.timeout.map(|seconds| seconds.div_ceil(60))),
    ];
    for (flag, number) in numbers {
        words.extend(number.into_iter().flat_map(|number| [Phrase::text(flag), Phrase::text(number.to_string())]));
    }
    for (flag, number) in [("--lr", shape.learning_rate), ("--clip-grad", shape.clip_grad)] {
        words.extend(number.into_iter().flat_map(|number| [Phrase::text(flag), Phrase::text(number.to_string())]));
    }
    let precision = match shape.precision {
        Precision::Fp32 => None,
        Precision::Fp16 => Some("--fp16"),
        Precision::Bf16 => Some("--bf16"),
    };
    let switches = [
        shape.sequence_parallel.then_some("--sequence-parallel"),
        shape.query_groups.map(|_| "--group-query-attention"),
        shape.distributed_optimizer.then_some("--use-distributed-optimizer"),
        precision,
    ];
    words.extend(switches.into_iter().flatten().map(Phrase::text));
    if let Some(how) = shape.recompute {
        words.extend([Phrase::text("--recompute-granularity"), Phrase::text(how)]);
        if how == "full" {
            words.extend(["--recompute-method", "uniform", "--recompute-num-layers", "1"].map(Phrase::text));
        }
    }
    words.extend([Phrase::text("--distributed-backend"), Phrase::text(backend)]);
    let checkpoints = || Phrase::place(Place::CheckpointFolder);
    words.extend([Phrase::text("--save"), checkpoints(), Phrase::text("--load"), checkpoints()]);
    words
}

/// One argument with its value per line.
pub(super) fn file(words: &[Phrase]) -> Phrase {
    let mut text = Phrase::default();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text = text.then(if is_flag(word) { "\n" } else { " " });
        }
        text = text.followed_by(word);
    }
    text.then("\n")
}

fn is_flag(word: &Phrase) -> bool {
    word.shown().starts_with("--")
}

/// Puts the arguments behind the user's own. One that the user gave too stays the user's; another value for it than the
/// one that everything here was checked with is refused.
pub(super) fn append(order: &LaunchOrder<'_>, words: Vec<Phrase>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let Work::Command { argv, .. } = &order.spec.work else { return Ok(()) };
    let mut words = words.into_iter().peekable();
    while let Some(flag) = words.next() {
        let value = words.next_if(|next| !is_flag(next));
        let name = flag.shown();
        match (given(argv, &name), &value) {
            (None, _) => {
                draft.argv.push(flag);
                draft.argv.extend(value);
            }
            (Some(Some(theirs)), Some(ours)) if ours.places().next().is_none() && ours.shown() != theirs => {
                return Err(LaunchRefusal::Contradiction { key: name, here: theirs, there: ours.shown() });
            }
            (Some(_), _) => {}
        }
    }
    Ok(())
}

/// Whether the user's words hold a flag, and its value.
fn given(argv: &[String], flag: &str) -> Option<Option<String>> {
    argv.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(flag) {
        Some("") => Some(argv.get(at + 1).filter(|next| !next.starts_with("--")).cloned()),
        Some(rest) => rest.strip_prefix('=').map(|value| Some(value.to_owned())),
        None => None,
    })
}

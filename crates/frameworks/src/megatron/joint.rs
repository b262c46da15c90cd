//! Megatron-DeepSpeed: DeepSpeed's JSON beside Megatron's arguments, and the arguments that name it.

use fermi_domain::language::Text;
use serde_json::{Map, Value};

use super::{
    arguments::Argument,
    given_arguments::{GivenArguments, agree},
    shape::Shape,
};
use crate::{deepspeed, draft::Draft, order::LaunchOrder, refusal::LaunchRefusal, settings::Settings};

/// Writes DeepSpeed's JSON with Megatron's numbers.
pub(super) fn add(
    order: &LaunchOrder<'_>,
    args: &GivenArguments<'_>,
    section: &Settings<'_>,
    shape: &Shape,
    draft: &mut Draft,
) -> Result<Vec<Argument>, LaunchRefusal> {
    if let Some(own) = args.argv.value("--deepspeed_config") {
        let (key, there) = ("--deepspeed_config".to_owned(), format!("deepspeed={}", deepspeed::FILE));
        return Err(LaunchRefusal::Contradiction { key, here: own.to_owned(), there });
    }
    let stage_in_command = args.argv.count("--zero-stage", 0)?;
    agree("--zero-stage", stage_in_command, "deepspeed.zeroStage", section.count_from("zeroStage", 0)?)?;
    let mut usual = Map::new();
    usual.extend(stage_in_command.map(|stage| ("zeroStage".to_owned(), Value::from(stage))));
    usual.extend(shape.clip_grad.map(|norm| ("gradientClipping".to_owned(), Value::from(norm))));
    let section = &section.with_usual(&usual);
    let configuration = deepspeed::Configuration::read(order, section)?;
    let configuration = configuration.within_megatron(shape.batch, shape.precision, section);
    let stage = configuration.zero.stage;
    let known = draft.notes.clone();
    let first = known.len();
    let file = deepspeed::add_file(order, &configuration, draft);
    // What Megatron was told already need not be told again.
    let news: Vec<Text> = draft.notes.split_off(first).into_iter().filter(|note| !known.contains(note)).collect();
    draft.notes.extend(news);
    let mut all = vec![
        Argument::switch("--deepspeed"),
        Argument::with("--deepspeed_config", file),
        Argument::with("--zero-stage", stage.to_string()),
    ];
    all.extend(without_pipeline(shape, stage));
    Ok(all)
}

/// For a command that brings DeepSpeed's file itself.
pub(super) fn of_command(args: &GivenArguments<'_>, shape: &Shape) -> Result<Option<Argument>, LaunchRefusal> {
    Ok(args.argv.count("--zero-stage", 0)?.and_then(|stage| without_pipeline(shape, stage)))
}

/// The fork builds a pipeline of one stage unless told otherwise, and no pipeline takes ZeRO-2 or ZeRO-3.
fn without_pipeline(shape: &Shape, stage: u64) -> Option<Argument> {
    (shape.pipeline == 1 && stage > 1).then(|| Argument::switch("--no-pipeline-parallel"))
}

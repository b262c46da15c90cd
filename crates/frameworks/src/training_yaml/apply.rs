//! A task whose settings come from a training.yaml.

use std::borrow::Cow;

use fermi_domain::{framework::Framework, language::Text, task::TaskSpec};
use serde_json::{Map, Value};

use super::{
    problem::{Problem, Problems},
    reader::TrainingYaml,
    resolved::{Facts, Resolved},
};
use crate::{order::LaunchOrder, refusal::LaunchRefusal, registry::settings_of, settings::in_camel_case};

/// The task with what its training.yaml decides, and what is to be said about that. What the task says itself wins.
pub(crate) fn apply<'a>(order: &LaunchOrder<'a>) -> Result<(Cow<'a, TaskSpec>, Vec<Text>), LaunchRefusal> {
    let Some(sections) = &order.spec.options.training else { return Ok((Cow::Borrowed(order.spec), Vec::new())) };
    let file = TrainingYaml::of(sections).map_err(LaunchRefusal::Training)?;
    let given = &order.spec.options.framework;
    let facts = Facts {
        ranks: order.ranks.world_size(),
        on_gpus: order.on_gpus(),
        model_parameters: None,
        deepspeed_file: given.get("config").and_then(Value::as_object),
    };
    let resolved = file.resolve(facts).map_err(LaunchRefusal::Training)?;
    let framework = order.spec.distributed.framework.unwrap_or(resolved.strategy.framework());
    agree(&file, framework).map_err(LaunchRefusal::Training)?;
    let mut spec = order.spec.clone();
    spec.distributed.framework = Some(framework);
    let notes = notes(&resolved, framework, given);
    // Where the file names none, the engine has its own to choose.
    if file.get("training.distributed_backend").is_some() {
        spec.options.backend.get_or_insert_with(|| resolved.backend.to_owned());
    }
    let known = settings_of(framework);
    let is_given = |name: &str| given.keys().any(|key| in_camel_case(key) == name);
    for (name, value) in resolved.settings() {
        if known.iter().any(|setting| setting.name == name) && !is_given(name) {
            spec.options.framework.insert(name.clone(), value.clone());
        }
    }
    Ok((Cow::Owned(spec), notes))
}

/// A strategy that the file names is the framework's own; programs without an engine may have any.
fn agree(file: &TrainingYaml, framework: Framework) -> Result<(), Problems> {
    let path = "training.distributed_strategy";
    let Some(word) = file.get(path).and_then(Value::as_str).filter(|word| *word != "auto") else { return Ok(()) };
    if file.framework() == framework || matches!(framework, Framework::Command | Framework::Builtin) {
        return Ok(());
    }
    let one = (path.to_owned(), word.to_owned());
    Err(Problems(vec![Problem::Disagree { one, other: ("framework".to_owned(), framework.as_str().to_owned()) }]))
}

/// The file's own lines, without those that the task's settings overrule or that the engine says itself.
fn notes(resolved: &Resolved, framework: Framework, given: &Map<String, Value>) -> Vec<Text> {
    let mut lines = Vec::new();
    if resolved.strategy.framework() == framework {
        lines.push(resolved.strategy_line());
    }
    if !settings_of(framework).iter().any(|setting| setting.name == "microBatchSize") {
        lines.push(resolved.batch.text());
    }
    let is_open = given.get("integration").is_some_and(|word| word == "transformers")
        && !resolved.settings().contains_key("precision");
    if !given.contains_key("precision") && !is_open {
        lines.push(resolved.precision_line());
    }
    lines.extend(resolved.rate_line());
    lines.extend(resolved.warnings.iter().cloned());
    if framework == Framework::Deepspeed && !given.contains_key("scheduler") {
        lines.extend(resolved.notes().iter().cloned());
    }
    lines
}

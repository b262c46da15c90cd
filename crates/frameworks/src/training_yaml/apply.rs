//! A task whose settings come from a training.yaml.

use std::borrow::Cow;

use fermi_domain::{
    framework::Framework,
    language::{Hint, Text},
    task::{TaskSpec, Work},
};
use serde_json::Value;

use super::{
    keys,
    mistake::{Mistake, Mistakes},
    overlay::{Above, MICRO, word_of},
    reader::TrainingYaml,
    resolved::{Facts, Resolved},
};
use crate::{order::LaunchOrder, refusal::LaunchRefusal, registry::settings_of, settings::in_camel_case};

/// The task with what its training.yaml decides, and what is to be said about that. What the task says itself wins.
pub(crate) fn apply<'a>(order: &LaunchOrder<'a>) -> Result<(Cow<'a, TaskSpec>, Vec<Text>), LaunchRefusal> {
    let Some(sections) = &order.spec.options.training else { return Ok((Cow::Borrowed(order.spec), Vec::new())) };
    let mut spec = order.spec.clone();
    let file = TrainingYaml::of(sections)
        .map_err(LaunchRefusal::Training)?
        .knowing(order.model_parameters, order.known_models);
    let framework = spec.distributed.framework.unwrap_or_else(|| file.framework());
    agree(&file, framework).map_err(LaunchRefusal::Training)?;
    let given = &order.spec.options.framework;
    let own_file = given.get("config").and_then(Value::as_object).filter(|_| framework == Framework::Deepspeed);
    if framework == Framework::Deepspeed && own_file.is_none() {
        sent_along(&file).map_err(LaunchRefusal::Training)?;
    }
    let backend = spec.options.backend.as_deref();
    let file = file.under(Above { framework, settings: given, backend, ranks: order.world() });
    let facts = Facts {
        ranks: order.ranks.world_size(),
        on_gpus: order.on_gpus(),
        model_parameters: None,
        deepspeed_file: own_file,
    };
    let resolved = file.resolve(facts).map_err(LaunchRefusal::Training)?;
    // Where the file names none, the engine has its own to choose.
    if file.get("training.distributed_backend").is_some() {
        spec.options.backend.get_or_insert_with(|| resolved.backend.to_owned());
    }
    let known = settings_of(framework);
    let is_given = |name: &str| given.keys().any(|key| in_camel_case(key) == name);
    // The whole batch of a task is shared out by the engine, which refuses what cannot be.
    let is_shared_out = |name: &str| {
        let left = name == "gradientAccumulationSteps" || (name == "microBatchSize" && file.get(MICRO).is_none());
        left && is_given("globalBatchSize")
    };
    for (name, value) in resolved.settings() {
        if known.iter().any(|setting| setting.name == name) && !is_given(name) && !is_shared_out(name) {
            spec.options.framework.insert(name.clone(), value.clone());
        }
    }
    spec.distributed.framework = Some(framework);
    spec.options.training = Some(file.document());
    let mut said = notes(&resolved, framework);
    said.extend(left_to_the_script(&file, &order.spec.work));
    Ok((Cow::Owned(spec), said))
}

/// The keys that a script of the user's own has to obey itself.
fn left_to_the_script(file: &TrainingYaml, work: &Work) -> Option<Text> {
    let left = keys::FOR_THE_SCRIPT.iter().filter(|path| file.get(path).is_some());
    let names: Vec<&str> = left.filter_map(|path| path.rsplit('.').next()).collect();
    (matches!(work, Work::Command { .. }) && !names.is_empty()).then(|| {
        Text::new(
            format!("{} 由脚本自己遵守（FERMI_TRAINING_FILE 中有这些值）；fermi train 会遵守", names.join("、")),
            format!("{}: for your script to obey (FERMI_TRAINING_FILE has them); fermi train does", names.join(", ")),
        )
    })
}

/// A strategy that the file names is the framework's own; programs without an engine may have any.
fn agree(file: &TrainingYaml, framework: Framework) -> Result<(), Mistakes> {
    let path = "training.distributed_strategy";
    let Some(word) = file.get(path).and_then(Value::as_str).filter(|word| *word != "auto") else { return Ok(()) };
    if word_of(framework) == Some(word) || matches!(framework, Framework::Command | Framework::Builtin) {
        return Ok(());
    }
    let one = (path.to_owned(), word.to_owned());
    Err(Mistakes(vec![Mistake::Disagree { one, other: ("framework".to_owned(), framework.as_str().to_owned()) }]))
}

/// A path means nothing on other machines, so what it names comes along as a setting.
fn sent_along(file: &TrainingYaml) -> Result<(), Mistakes> {
    let Some(path) = file.deepspeed_file() else { return Ok(()) };
    Err(Mistakes(vec![Mistake::Unfit {
        path: "training.deepspeed.config_path".to_owned(),
        text: Text::new(format!("{path} 的内容没有随任务给出"), format!("{path} did not come along")),
        hint: Some(Hint::new("把其 JSON 放入 options.framework.config", "send its JSON as options.framework.config")),
    }]))
}

/// The file's own lines; the batch is the engine's to tell.
fn notes(resolved: &Resolved, framework: Framework) -> Vec<Text> {
    let mut lines = Vec::new();
    if word_of(framework).is_some() {
        lines.push(resolved.strategy_line());
    }
    // What nobody said is the engine's to choose, and DeepSpeed's choice is known.
    let is_known = resolved.settings().contains_key("precision") || framework == Framework::Deepspeed;
    if let Some(precision) = is_known.then_some(resolved.precision) {
        lines.push(Text::new(format!("精度 {precision}"), format!("precision {precision}")));
    }
    lines.extend(resolved.rate_line());
    lines.extend(resolved.warnings.iter().cloned());
    lines.extend(resolved.notes().iter().cloned());
    lines
}

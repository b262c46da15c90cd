//! The frameworks: one line each.

use fermi_domain::{
    framework::Framework,
    language::Text,
    launch::TaskLaunch,
    task::{TaskSpec, Work},
};

use crate::{
    ddp, deepspeed,
    draft::Draft,
    fsdp, horovod, jax, megatron,
    order::LaunchOrder,
    plain,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
    training_yaml,
};
use fermi_domain::contract::engines;

/// How a framework takes part in a launch.
struct Engine {
    settings: &'static [&'static [Setting]],
    add: fn(&LaunchOrder<'_>, &Settings<'_>, &mut Draft) -> Result<(), LaunchRefusal>,
}

fn engine(framework: Framework) -> Engine {
    match framework {
        Framework::PytorchDdp => Engine { settings: ddp::SETTINGS, add: ddp::add },
        Framework::PytorchFsdp => Engine { settings: fsdp::SETTINGS, add: fsdp::add },
        Framework::Deepspeed => Engine { settings: deepspeed::SETTINGS, add: deepspeed::add },
        Framework::Horovod => Engine { settings: horovod::SETTINGS, add: horovod::add },
        Framework::MegatronLm => Engine { settings: megatron::SETTINGS, add: megatron::add },
        Framework::Jax => Engine { settings: jax::SETTINGS, add: jax::add },
        Framework::Command | Framework::Builtin => Engine { settings: plain::SETTINGS, add: plain::add },
    }
}

/// The framework of a task: the one it names, else what its work is.
fn framework_of(order: &LaunchOrder<'_>) -> Framework {
    order.spec.distributed.framework.unwrap_or(match order.spec.work {
        Work::Builtin { .. } => Framework::Builtin,
        Work::Recipe { .. } => Framework::PytorchDdp,
        Work::Command { .. } => Framework::Command,
    })
}

/// The keys of `options.framework` that a framework knows.
pub fn settings_of(framework: Framework) -> Vec<Setting> {
    engine(framework).settings.iter().copied().flatten().copied().collect()
}

/// Everything that starts, on every node, or the first reason why it cannot.
pub fn launch(order: &LaunchOrder<'_>) -> Result<TaskLaunch, LaunchRefusal> {
    let (spec, said) = training_yaml::apply(order)?;
    let order = &LaunchOrder { spec: &spec, ..order.clone() };
    let framework = framework_of(order);
    let engine = engine(framework);
    let settings = Settings::read(framework, "", engine.settings, &spec.options.framework)?;
    let mut draft = Draft::begin(order)?;
    draft.env.set(engines::FERMI_FRAMEWORK, framework.as_str());
    // The built-in trainer listens at the port itself, whatever framework the task names.
    let is_builtin = matches!(spec.work, Work::Builtin { .. });
    draft.hosts_store = framework.meets_at_torch_store() && !is_builtin;
    if let Some(sections) = &spec.options.training {
        let text = serde_json::to_string_pretty(sections).unwrap_or_default();
        let file = draft.file("training.json", text + "\n");
        draft.env.set(engines::FERMI_TRAINING_FILE, file);
    }
    (engine.add)(order, &settings, &mut draft)?;
    draft.notes.splice(0..0, said);
    draft.notes.extend(degrees_for_the_script(order, framework));
    draft.notes.extend(degrees_of_other_ranks(order, framework));
    Ok(draft.finish(order))
}

/// The task as its training.yaml makes it, for those who ask before there is a launch; itself where there is none.
pub fn with_training(order: &LaunchOrder<'_>) -> Result<TaskSpec, LaunchRefusal> {
    training_yaml::apply(order).map(|(spec, _)| spec.into_owned())
}

/// Degrees whose product is not the number of ranks are the user's slip, unless the script knows better. DeepSpeed and
/// Megatron have their own word on it.
fn degrees_of_other_ranks(order: &LaunchOrder<'_>, framework: Framework) -> Option<Text> {
    let strategy = order.spec.distributed.strategy.filter(|strategy| strategy.ranks() != order.world())?;
    let (needed, ranks) = (strategy.ranks(), order.world());
    (!matches!(framework, Framework::Deepspeed | Framework::MegatronLm)).then(|| {
        Text::new(
            format!("并行策略需要 {needed} 个 rank，现有 {ranks} 个"),
            format!("the strategy needs {needed} ranks and there are {ranks}"),
        )
    })
}

/// Engines that know data parallelism only leave the other degrees to the script.
fn degrees_for_the_script(order: &LaunchOrder<'_>, framework: Framework) -> Option<Text> {
    let strategy = order.spec.distributed.strategy?;
    let wanted = strategy.tensor_parallel > 1 || strategy.pipeline_parallel > 1;
    (framework.is_data_parallel_only() && wanted).then(|| {
        Text::new(
            format!("{} 只做数据并行；张量与流水线并行度以环境变量交给脚本", framework.label()),
            format!("{} is data parallel only; the script gets the other degrees as variables", framework.label()),
        )
    })
}

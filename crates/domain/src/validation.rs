//! The checks of a create request, in the order in which the form makes them.
//!
//! The first thing that is wrong is the answer; nothing has been changed by then.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    access::check_secret_name,
    aggregate::Aggregate,
    environment::Environment,
    framework::Framework,
    ids::{EnvironmentId, is_id},
    layout,
    messages::RequestRefusal,
    task::{
        AutoSelection, DatasetChoice, DistributedConfig, LaunchOptions, Policies, Selection, Source, Strategy,
        TaskSpec, Work,
    },
    unseen,
    warnings::{Warning, of_work, warnings},
};

mod policies;

pub use policies::LONGEST_SPAN;

/// The longest name of a task, in letters.
pub const LONGEST_NAME: usize = 128;
/// What people call the newest task, whatever its name.
pub const LAST_TASK: &str = "last";
/// How many layouts a refusal offers.
const LAYOUTS_OFFERED: usize = 3;

/// A create request as it came: everything may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateRequest {
    pub task_name: String,
    pub dataset_id: Option<String>,
    pub dataset_version_id: Option<String>,
    pub model_id: Option<String>,
    /// Where the workers come from.
    #[serde(rename = "launchMode")]
    pub selection: Selection,
    pub distributed_config: RequestedNodes,
    /// What each rank runs; with neither this nor a recipe the built-in trainer.
    pub command: Option<RequestedCommand>,
    pub recipe: Option<RequestedRecipe>,
    pub source: Option<Source>,
    pub options: LaunchOptions,
    pub policies: Policies,
    pub priority: i32,
    pub labels: BTreeMap<String, String>,
}

/// The request's `command`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestedCommand {
    pub argv: Vec<String>,
    pub working_directory: Option<String>,
    pub env: BTreeMap<String, String>,
    /// Variables whose values are secrets, by the names of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    pub interpreter: Option<String>,
}

/// The request's `recipe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestedRecipe {
    /// sft, rm, dpo, grpo or ppo; builtin is Fermi's own small trainer.
    pub name: String,
    /// A training.yaml that every node has under this path, where its content is not in `options.training`.
    pub config: Option<String>,
    /// Flags for the built-in trainer, or for the recipe.
    pub args: Vec<String>,
    pub working_directory: Option<String>,
    pub env: BTreeMap<String, String>,
    /// The Python of the nodes; its libraries are those of the recipe.
    pub interpreter: Option<String>,
}

/// The request's `distributedConfig`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestedNodes {
    pub enabled: Option<bool>,
    pub node_ids: Vec<EnvironmentId>,
    pub master_node: Option<EnvironmentId>,
    /// The framework's value as it was sent, known or not.
    pub framework: Option<String>,
    pub strategy: Option<Strategy>,
    /// Workers by number; all of an environment where nothing is said.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Vec<u32>>))]
    pub workers: BTreeMap<EnvironmentId, Vec<u32>>,
}

/// A request that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub spec: TaskSpec,
    /// None where the launch mode brings its own workers.
    pub aggregate: Option<Aggregate>,
    pub warnings: Vec<Warning>,
}

/// The recipe that stands for Fermi's own trainer.
pub const BUILTIN: &str = "builtin";
/// The recipes that train by a training.yaml; `reward` is `rm`.
pub const RECIPES: [&str; 6] = ["sft", "rm", "reward", "dpo", "grpo", "ppo"];

/// Checks a request against the environments that exist.
pub fn validate(request: &CreateRequest, known: &[Environment]) -> Result<Accepted, RequestRefusal> {
    let name = name(&request.task_name)?;
    let dataset = dataset(request)?;
    supported(&request.selection, &request.policies, &request.options)?;
    if request.options.master_port == Some(0) {
        return Err(RequestRefusal::MasterPortInvalid);
    }
    if let Some(given) = request.options.master_address.as_deref().filter(|given| !is_address(given)) {
        return Err(RequestRefusal::MasterAddressInvalid { given: given.to_owned() });
    }
    if let Some(Source::Path(folder)) = &request.source {
        path("source.path", Some(folder))?;
    }
    if let Some(path) = request.options.checkpoint_dir.as_deref().filter(|path| !is_plain_absolute(path)) {
        return Err(RequestRefusal::CheckpointFolderInvalid { path: path.to_owned() });
    }
    let wanted = &request.distributed_config;
    let environments = chosen(&request.selection, &wanted.node_ids, known)?;
    let (master_node, framework) = if environments.len() > 1 {
        several_nodes(wanted)?
    } else {
        // Nodes that are picked get their master when they are. One node is its own master, whatever the form still holds; a
        // framework may be named all the same.
        (wanted.node_ids.first().cloned(), wanted.framework.as_deref().filter(given).map(framework).transpose()?)
    };
    if request.selection.picks_several() && framework.is_none() {
        return Err(RequestRefusal::FrameworkRequired);
    }
    let workers = workers(&wanted.workers, &environments)?;
    strategy(wanted.strategy, framework, &per_node(&request.selection, &environments, &workers))?;
    let work = work(request)?;
    labels(&request.labels)?;
    let model_id = request.model_id.as_deref().map(str::trim).filter(given).map(str::to_owned);
    Ok(Accepted {
        aggregate: Aggregate::of_workers(&environments, &workers),
        warnings: {
            let mut found = warnings(&environments, framework, wanted.strategy);
            found.extend(of_work(&work).filter(|_| request.recipe.is_none()));
            found
        },
        spec: TaskSpec {
            name,
            dataset,
            model_id,
            selection: request.selection.clone(),
            work,
            source: request.source.clone(),
            distributed: DistributedConfig {
                enabled: environments.len() > 1 || request.selection.picks_several(),
                node_ids: wanted.node_ids.clone(),
                master_node,
                framework,
                strategy: wanted.strategy,
                workers,
                standby: Vec::new(),
            },
            options: request.options.clone(),
            policies: request.policies.clone(),
            priority: request.priority,
            labels: request.labels.clone(),
        },
    })
}

/// The longest name of a host.
const LONGEST_HOST: usize = 253;

/// What may name a host: no blanks, no port, nothing that a shell would read.
fn is_address(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':');
    let is_bare_or_v6 = !text.contains(':') || text.parse::<std::net::Ipv6Addr>().is_ok();
    !text.is_empty() && text.len() <= LONGEST_HOST && text.chars().all(is_plain) && is_bare_or_v6
}

/// The longest path that Linux takes.
const LONGEST_PATH: usize = 4_096;

/// A path that means the same on every node: absolute, without a way back up, a variable or a placeholder in it.
fn is_plain_absolute(path: &str) -> bool {
    path.starts_with('/')
        && path.len() < LONGEST_PATH
        // The root of every machine is nobody's folder.
        && path.split('/').any(|part| !matches!(part, "" | "."))
        && !path.split('/').any(|part| part == "..")
        && !path.chars().any(|letter| letter.is_control() || "${}<>".contains(letter))
}

/// Checks a copy of a task against the environments as they are now: the same rules, and the same refusals, as for a
/// request. Without a name of its own it is called after the original.
pub fn validate_copy(
    spec: &TaskSpec,
    copy_name: Option<&str>,
    known: &[Environment],
) -> Result<Accepted, RequestRefusal> {
    let name = copy_name.map_or_else(|| Ok(name_of_copy(&spec.name)), name)?;
    supported(&spec.selection, &spec.policies, &spec.options)?;
    let wanted = &spec.distributed;
    let environments = chosen(&spec.selection, &wanted.node_ids, known)?;
    let workers = workers(&wanted.workers, &environments)?;
    strategy(wanted.strategy, wanted.framework, &per_node(&spec.selection, &environments, &workers))?;
    Ok(Accepted {
        aggregate: Aggregate::of_workers(&environments, &workers),
        warnings: warnings(&environments, wanted.framework, wanted.strategy),
        spec: TaskSpec { name, ..spec.clone() },
    })
}

/// Within the bounds of names.
fn name_of_copy(name: &str) -> String {
    const BEHIND: &str = "-copy";
    let kept: String = name.chars().take(LONGEST_NAME - BEHIND.len()).collect();
    kept + BEHIND
}

/// The longest command line and the most labels, so that no request grows without bound.
const MOST_ARGUMENTS: usize = 4_096;
const MOST_LABELS: usize = 64;

fn work(request: &CreateRequest) -> Result<Work, RequestRefusal> {
    match (&request.command, &request.recipe) {
        (Some(_), Some(_)) => Err(RequestRefusal::CommandAndRecipe),
        (None, None) => Ok(Work::Builtin { args: Vec::new() }),
        (None, Some(recipe)) if recipe.name == BUILTIN => Ok(Work::Builtin { args: recipe.args.clone() }),
        (None, Some(asked)) if RECIPES.contains(&asked.name.as_str()) => {
            recipe(asked, request.options.training.is_some())
        }
        (None, Some(recipe)) => Err(RequestRefusal::RecipeUnknown { name: recipe.name.clone() }),
        (Some(command), None) => {
            let RequestedCommand { argv, working_directory, env, secrets, interpreter } = command.clone();
            if argv.first().is_none_or(|program| program.trim().is_empty()) {
                return Err(RequestRefusal::CommandEmpty);
            }
            words(&argv, &env)?;
            path("command.workingDirectory", working_directory.as_deref())?;
            path("command.interpreter", interpreter.as_deref())?;
            check_secrets(&env, &secrets)?;
            Ok(Work::Command { argv, directory: working_directory, env, secrets, interpreter })
        }
    }
}

/// A recipe has its settings from one place.
fn recipe(asked: &RequestedRecipe, has_training: bool) -> Result<Work, RequestRefusal> {
    let RequestedRecipe { name, config, args, working_directory, env, interpreter } = asked.clone();
    if has_training == config.is_some() {
        return Err(RequestRefusal::RecipeSettings { has_both: has_training });
    }
    words(&args, &env)?;
    path("recipe.config", config.as_deref())?;
    path("recipe.workingDirectory", working_directory.as_deref())?;
    path("recipe.interpreter", interpreter.as_deref())?;
    Ok(Work::Recipe { name, config, args, directory: working_directory, env, interpreter })
}

/// It is named where a node does not have it.
fn path(field: &'static str, path: Option<&str>) -> Result<(), RequestRefusal> {
    match path {
        Some(path) if path.contains(char::is_control) => Err(RequestRefusal::PathWithControlCharacters { field }),
        _ => Ok(()),
    }
}

/// Arguments and variables that a process can be given.
fn words(argv: &[String], env: &BTreeMap<String, String>) -> Result<(), RequestRefusal> {
    let bad_name = |name: &String| name.is_empty() || name.contains(['=', '\0']);
    if argv.len() > MOST_ARGUMENTS || argv.iter().chain(env.values()).any(|text| text.contains('\0')) {
        return Err(RequestRefusal::CommandInvalid);
    }
    match env.keys().find(|name| bad_name(name)) {
        Some(name) => Err(RequestRefusal::VariableInvalid { name: name.clone() }),
        None => Ok(()),
    }
}

/// Variables that are given a secret by its name: each has one value.
fn check_secrets(env: &BTreeMap<String, String>, secrets: &BTreeMap<String, String>) -> Result<(), RequestRefusal> {
    if let Some(name) = secrets.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(RequestRefusal::VariableInvalid { name: name.clone() });
    }
    if let Some(name) = secrets.keys().find(|name| env.contains_key(*name)) {
        return Err(RequestRefusal::VariableTwice { name: name.clone() });
    }
    match secrets.values().find(|name| check_secret_name(name).is_err()) {
        Some(name) => Err(RequestRefusal::SecretUnknown { name: name.clone() }),
        None => Ok(()),
    }
}

fn labels(labels: &BTreeMap<String, String>) -> Result<(), RequestRefusal> {
    let fits = |text: &str| text.chars().count() <= LONGEST_NAME && !text.chars().any(char::is_control);
    let is_right =
        labels.len() <= MOST_LABELS && labels.iter().all(|(key, value)| !key.is_empty() && fits(key) && fits(value));
    if !is_right {
        return Err(RequestRefusal::LabelsInvalid);
    }
    // Two labels that look the same would choose different machines.
    match labels.iter().flat_map(|(key, value)| [key, value]).find_map(|word| unseen::find(word)) {
        Some(letter) => Err(RequestRefusal::LabelWithUnseenLetter(letter)),
        None => Ok(()),
    }
}

/// The chosen workers, each once and in their order. An environment without a choice is used whole and not named.
fn workers(
    wanted: &BTreeMap<EnvironmentId, Vec<u32>>,
    environments: &[&Environment],
) -> Result<BTreeMap<EnvironmentId, Vec<u32>>, RequestRefusal> {
    let mut chosen = BTreeMap::new();
    for (id, numbers) in wanted {
        let environment = environments.iter().find(|environment| environment.id == *id);
        let environment = environment.ok_or_else(|| RequestRefusal::EnvironmentUnknown { id: id.clone() })?;
        let count = environment.worker_count();
        let mut numbers = numbers.clone();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() || numbers.iter().any(|number| *number >= count) {
            return Err(RequestRefusal::WorkersUnknown { name: environment.name.clone(), count });
        }
        chosen.insert(id.clone(), numbers);
    }
    Ok(chosen)
}

fn given(text: &&str) -> bool {
    !text.trim().is_empty()
}

fn name(name: &str) -> Result<String, RequestRefusal> {
    let name = name.trim();
    if name.is_empty() {
        return Err(RequestRefusal::NameRequired);
    }
    if name.chars().any(char::is_control) {
        return Err(RequestRefusal::NameWithControlCharacters);
    }
    if let Some(letter) = unseen::find(name) {
        return Err(RequestRefusal::NameWithUnseenLetter(letter));
    }
    // What is said of tasks is said by id, by name, or by this word.
    if is_id(name, "task") || name.eq_ignore_ascii_case(LAST_TASK) {
        return Err(RequestRefusal::NameReserved { name: name.to_owned() });
    }
    let letters = name.chars().count();
    if letters > LONGEST_NAME {
        Err(RequestRefusal::NameTooLong { letters, most: LONGEST_NAME })
    } else {
        Ok(name.to_owned())
    }
}

/// A command may bring its own data, and so may the file of a recipe and the words for the built-in trainer; everything else
/// is trained on a dataset.
fn dataset(request: &CreateRequest) -> Result<Option<DatasetChoice>, RequestRefusal> {
    let field = |value: &Option<String>| value.as_deref().map(str::trim).filter(given).map(str::to_owned);
    let brings_data = |recipe: &RequestedRecipe| recipe.name != BUILTIN || !recipe.args.is_empty();
    let is_recipe = request.recipe.as_ref().is_some_and(brings_data);
    match (field(&request.dataset_id), field(&request.dataset_version_id)) {
        (None, None) if request.command.is_some() || is_recipe => Ok(None),
        (None, _) => Err(RequestRefusal::DatasetRequired),
        (_, None) => Err(RequestRefusal::DatasetVersionRequired),
        (Some(dataset_id), Some(dataset_version_id)) => Ok(Some(DatasetChoice { dataset_id, dataset_version_id })),
    }
}

/// What can be written down and read back, and would not be carried out.
fn supported(selection: &Selection, policies: &Policies, options: &LaunchOptions) -> Result<(), RequestRefusal> {
    match selection {
        // The workers of a group are written into the request before it is checked.
        Selection::Environments | Selection::Group(_) => {}
        Selection::Auto(auto) => picks(auto)?,
        Selection::New => return Err(RequestRefusal::NewNotSupported),
    }
    policies::check(policies, options)
}

/// The most nodes, and the most workers of one, that a task may ask for.
const MOST_NODES: u32 = 10_000;

/// Numbers that mean something.
fn picks(auto: &AutoSelection) -> Result<(), RequestRefusal> {
    let is_twice = auto.gpus_per_node.is_some() && auto.workers_per_node.is_some();
    let sizes = [Some(auto.nodes), auto.gpus_per_node, auto.workers_per_node];
    let fits = |size: u32| (1..=MOST_NODES).contains(&size);
    if is_twice || !sizes.into_iter().flatten().all(fits) {
        return Err(RequestRefusal::AutoInvalid { most: MOST_NODES });
    }
    for (field, word) in [("gpuType", &auto.gpu_type), ("zone", &auto.zone)] {
        let is_wrong = |word: &String| {
            word.chars().count() > LONGEST_NAME || word.chars().any(char::is_control) || unseen::find(word).is_some()
        };
        if word.as_ref().is_some_and(is_wrong) {
            return Err(RequestRefusal::AutoWordInvalid { field });
        }
    }
    labels(&auto.labels)
}

/// The environments of a request: none where Fermi picks them, and then none may be named.
fn chosen<'a>(
    selection: &Selection,
    ids: &[EnvironmentId],
    known: &'a [Environment],
) -> Result<Vec<&'a Environment>, RequestRefusal> {
    match selection {
        Selection::Auto(_) if ids.is_empty() => Ok(Vec::new()),
        Selection::Auto(_) => Err(RequestRefusal::AutoWithEnvironments),
        Selection::Environments | Selection::Group(_) | Selection::New => environments(ids, known),
    }
}

/// The environments that the request names, in its order.
fn environments<'a>(ids: &[EnvironmentId], known: &'a [Environment]) -> Result<Vec<&'a Environment>, RequestRefusal> {
    if ids.is_empty() {
        return Err(RequestRefusal::EnvironmentRequired);
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(RequestRefusal::EnvironmentTwice { id: id.clone() });
        }
        let environment = known.iter().find(|environment| environment.id == *id);
        let environment = environment.ok_or_else(|| RequestRefusal::EnvironmentUnknown { id: id.clone() })?;
        if !environment.status.can_be_chosen() {
            return Err(RequestRefusal::EnvironmentOffline { name: environment.name.clone() });
        }
        found.push(environment);
    }
    Ok(found)
}

fn several_nodes(wanted: &RequestedNodes) -> Result<(Option<EnvironmentId>, Option<Framework>), RequestRefusal> {
    if wanted.enabled == Some(false) {
        return Err(RequestRefusal::DistributedDisabled { nodes: wanted.node_ids.len() });
    }
    let master = wanted.master_node.as_ref().filter(|master| wanted.node_ids.contains(master));
    let master = master.ok_or(RequestRefusal::MasterInvalid)?;
    let value = wanted.framework.as_deref().filter(given).ok_or(RequestRefusal::FrameworkRequired)?;
    Ok((Some(master.clone()), Some(framework(value)?)))
}

fn framework(value: &str) -> Result<Framework, RequestRefusal> {
    Framework::parse(value.trim()).ok_or_else(|| RequestRefusal::FrameworkUnknown { value: value.to_owned() })
}

/// The ranks of each node.
fn per_node(
    selection: &Selection,
    environments: &[&Environment],
    workers: &BTreeMap<EnvironmentId, Vec<u32>>,
) -> Vec<u32> {
    if let Selection::Auto(auto) = selection {
        return vec![auto.per_node(); auto.nodes as usize];
    }
    let ranks_on = |environment: &&Environment| match workers.get(&environment.id) {
        Some(chosen) => u32::try_from(chosen.len()).unwrap_or(u32::MAX),
        None => environment.worker_count(),
    };
    environments.iter().map(ranks_on).collect()
}

/// A degree of zero means nothing anywhere. Megatron-LM stops at once on a layout that does not multiply; elsewhere
/// that is a warning.
fn strategy(strategy: Option<Strategy>, framework: Option<Framework>, per_node: &[u32]) -> Result<(), RequestRefusal> {
    let Some(strategy) = strategy else { return Ok(()) };
    if strategy.ranks() == 0 {
        return Err(RequestRefusal::StrategyZero);
    }
    let ranks: u32 = per_node.iter().fold(0, |sum, ranks| sum.saturating_add(*ranks));
    if framework == Some(Framework::MegatronLm) && ranks > 0 && strategy.ranks() != u64::from(ranks) {
        let fitting = layout::that_fit(per_node, strategy, LAYOUTS_OFFERED);
        return Err(RequestRefusal::LayoutMismatch { strategy, ranks, fitting });
    }
    Ok(())
}

#[cfg(test)]
mod tests;

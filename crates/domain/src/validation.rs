//! The checks of a create request, in the order in which the form makes them.
//!
//! The first thing that is wrong is the answer; nothing has been changed by then.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{
    aggregate::Aggregate,
    environment::Environment,
    framework::Framework,
    ids::EnvironmentId,
    layout,
    messages::Refusal,
    task::{DatasetVersion, DistributedConfig, LaunchMode, Strategy},
    warnings::{Warning, warnings},
};

/// The longest name of a task, in letters.
pub const LONGEST_NAME: usize = 128;
/// How many layouts a refusal offers.
const LAYOUTS_OFFERED: usize = 3;

/// A create request as it came: everything may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateRequest {
    pub task_name: String,
    pub dataset_id: Option<String>,
    pub dataset_version_id: Option<String>,
    pub model_id: Option<String>,
    pub launch_mode: LaunchMode,
    pub distributed_config: RequestedNodes,
}

/// The request's `distributedConfig`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestedNodes {
    pub enabled: Option<bool>,
    pub node_ids: Vec<EnvironmentId>,
    pub master_node: Option<EnvironmentId>,
    /// The framework's value as it was sent, known or not.
    pub framework: Option<String>,
    pub strategy: Option<Strategy>,
}

/// A request that can be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Without the spaces around it.
    pub name: String,
    pub dataset: DatasetVersion,
    pub model_id: Option<String>,
    pub distributed: DistributedConfig,
    /// None where the launch mode brings its own workers.
    pub aggregate: Option<Aggregate>,
    pub warnings: Vec<Warning>,
}

/// Checks a request against the environments that exist.
pub fn validate(request: &CreateRequest, known: &[Environment]) -> Result<Accepted, Refusal> {
    let name = name(&request.task_name)?;
    let dataset = dataset(request)?;
    let wanted = &request.distributed_config;
    let environments = environments(request, known)?;
    let (master_node, framework) = if environments.len() > 1 {
        several_nodes(wanted)?
    } else {
        // One node is its own master, whatever the form still holds; a framework may be named all the same.
        (wanted.node_ids.first().cloned(), wanted.framework.as_deref().filter(given).map(framework).transpose()?)
    };
    strategy(wanted.strategy, framework, &environments)?;
    let model_id = request.model_id.as_deref().map(str::trim).filter(given).map(str::to_owned);
    Ok(Accepted {
        name,
        dataset,
        model_id,
        distributed: DistributedConfig {
            enabled: environments.len() > 1,
            node_ids: wanted.node_ids.clone(),
            master_node,
            framework,
            strategy: wanted.strategy,
        },
        aggregate: Aggregate::of(&environments),
        warnings: warnings(&environments, framework, wanted.strategy),
    })
}

fn given(text: &&str) -> bool {
    !text.trim().is_empty()
}

fn name(name: &str) -> Result<String, Refusal> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Refusal::NameRequired);
    }
    if name.chars().any(char::is_control) {
        return Err(Refusal::NameWithControlCharacters);
    }
    let letters = name.chars().count();
    if letters > LONGEST_NAME { Err(Refusal::NameTooLong { letters, most: LONGEST_NAME }) } else { Ok(name.to_owned()) }
}

fn dataset(request: &CreateRequest) -> Result<DatasetVersion, Refusal> {
    let field = |value: &Option<String>| value.as_deref().map(str::trim).filter(given).map(str::to_owned);
    let dataset_id = field(&request.dataset_id).ok_or(Refusal::DatasetRequired)?;
    let dataset_version_id = field(&request.dataset_version_id).ok_or(Refusal::DatasetVersionRequired)?;
    Ok(DatasetVersion { dataset_id, dataset_version_id })
}

/// The environments that the request names, in its order.
fn environments<'a>(request: &CreateRequest, known: &'a [Environment]) -> Result<Vec<&'a Environment>, Refusal> {
    let ids = &request.distributed_config.node_ids;
    match &request.launch_mode {
        LaunchMode::Existing if ids.is_empty() => return Err(Refusal::EnvironmentRequired),
        LaunchMode::Existing | LaunchMode::Group(_) => {}
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(Refusal::EnvironmentTwice { id: id.clone() });
        }
        let environment = known.iter().find(|environment| environment.id == *id);
        let environment = environment.ok_or_else(|| Refusal::EnvironmentUnknown { id: id.clone() })?;
        if !environment.status.can_be_chosen() {
            return Err(Refusal::EnvironmentOffline { name: environment.name.clone() });
        }
        found.push(environment);
    }
    Ok(found)
}

fn several_nodes(wanted: &RequestedNodes) -> Result<(Option<EnvironmentId>, Option<Framework>), Refusal> {
    if wanted.enabled == Some(false) {
        return Err(Refusal::DistributedDisabled { nodes: wanted.node_ids.len() });
    }
    let master = wanted.master_node.as_ref().filter(|master| wanted.node_ids.contains(master));
    let master = master.ok_or(Refusal::MasterInvalid)?;
    let value = wanted.framework.as_deref().filter(given).ok_or(Refusal::FrameworkRequired)?;
    Ok((Some(master.clone()), Some(framework(value)?)))
}

fn framework(value: &str) -> Result<Framework, Refusal> {
    Framework::parse(value.trim()).ok_or_else(|| Refusal::FrameworkUnknown { value: value.to_owned() })
}

/// A degree of zero means nothing anywhere. Megatron-LM stops at once on a layout that does not multiply; elsewhere
/// that is a warning.
fn strategy(
    strategy: Option<Strategy>,
    framework: Option<Framework>,
    environments: &[&Environment],
) -> Result<(), Refusal> {
    let Some(strategy) = strategy else { return Ok(()) };
    if strategy.ranks() == 0 {
        return Err(Refusal::StrategyZero);
    }
    let per_node: Vec<u32> = environments.iter().map(|environment| environment.worker_count()).collect();
    let ranks: u32 = per_node.iter().fold(0, |sum, ranks| sum.saturating_add(*ranks));
    if framework == Some(Framework::MegatronLm) && ranks > 0 && strategy.ranks() != u64::from(ranks) {
        let fitting = layout::that_fit(&per_node, strategy, LAYOUTS_OFFERED);
        return Err(Refusal::LayoutMismatch { strategy, ranks, fitting });
    }
    Ok(())
}

#[cfg(test)]
mod tests;

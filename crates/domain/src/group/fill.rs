//! From a request for a group to a request for its environments.

use std::collections::BTreeMap;

use super::{Group, GroupRefusal};
use crate::{
    environment::Environment,
    framework::Framework,
    ids::{EnvironmentId, WorkerId},
    rank_map::{GroupRanks, of_group},
    task::{Selection, TaskSpec},
    validation::{CreateRequest, RequestedNodes},
};

/// Writes the group's ranks into a request, as environments in their order with the workers of each. From there on it is a
/// request like any other: it is checked, stored, placed and explained by the same rules.
pub fn fill(request: &CreateRequest, group: &Group, known: &[Environment]) -> Result<CreateRequest, GroupRefusal> {
    let given = &request.distributed_config;
    let named = [
        (!given.node_ids.is_empty(), "distributedConfig.nodeIds"),
        (given.master_node.is_some(), "distributedConfig.masterNode"),
        (!given.workers.is_empty(), "distributedConfig.workers"),
    ];
    if let Some((_, field)) = named.into_iter().find(|(is_given, _)| *is_given) {
        return Err(GroupRefusal::WithEnvironments { field });
    }
    let GroupNodes { node_ids, workers, .. } = nodes(group, known)?;
    let mut filled = request.clone();
    filled.selection = Selection::Group(group.id.clone());
    filled.distributed_config = RequestedNodes {
        enabled: Some(node_ids.len() > 1),
        master_node: node_ids.first().cloned(),
        framework: given.framework.clone().or_else(|| Some(Framework::default().as_str().to_owned())),
        strategy: given.strategy,
        node_ids,
        workers,
    };
    let options = &mut filled.options;
    options.master_port = options.master_port.or(group.launch.pinned_port());
    options.backend.get_or_insert_with(|| group.launch.backend.as_str().to_owned());
    Ok(filled)
}

/// The same for a copy of a task: on the group as it is now.
pub fn refill(spec: &TaskSpec, group: &Group, known: &[Environment]) -> Result<TaskSpec, GroupRefusal> {
    let GroupNodes { node_ids, workers, standby } = nodes(group, known)?;
    let mut filled = spec.clone();
    filled.distributed.enabled = node_ids.len() > 1;
    filled.distributed.master_node = node_ids.first().cloned();
    filled.distributed.node_ids = node_ids;
    filled.distributed.workers = workers;
    filled.distributed.standby = standby;
    filled.options.master_address = None;
    Ok(filled)
}

/// Environments in the order of node ranks, with the workers of each.
struct GroupNodes {
    node_ids: Vec<EnvironmentId>,
    workers: BTreeMap<EnvironmentId, Vec<u32>>,
    standby: Vec<WorkerId>,
}

fn nodes(group: &Group, known: &[Environment]) -> Result<GroupNodes, GroupRefusal> {
    let members = group.members(known);
    let ranks = of_group(&members.workers, &group.launch)?;
    let missing = missing_ranked(&members.missing, &ranks);
    if !missing.is_empty() {
        return Err(GroupRefusal::WorkersMissing { workers: missing });
    }
    let mut workers: BTreeMap<EnvironmentId, Vec<u32>> = BTreeMap::new();
    for slot in ranks.map.slots() {
        workers.entry(slot.environment.clone()).or_default().push(slot.worker.index());
    }
    let node_ids = ranks.map.nodes().map(|node| node.environment.clone()).collect();
    Ok(GroupNodes { node_ids, workers, standby: ranks.standby })
}

/// Those of the missing workers that would have a rank.
pub(super) fn missing_ranked(missing: &[WorkerId], ranks: &GroupRanks) -> Vec<WorkerId> {
    missing.iter().filter(|worker| !ranks.standby.contains(worker)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{environment::tests::environment, ids::GroupId, language::Explained, rank_map, validation::validate};

    fn group(workers: &[&str]) -> Group {
        let workers: Vec<&&str> = workers.iter().collect();
        serde_json::from_value(serde_json::json!({
            "id": "group-001", "name": "llm", "workers": workers,
            "launch": {"masterAddr": "gn6", "masterPort": 29600, "backend": "gloo"}
        }))
        .unwrap()
    }

    fn known() -> Vec<Environment> {
        [("env-001", "gn7"), ("env-002", "gn40"), ("env-003", "gn6"), ("env-004", "gn39")]
            .map(|(id, name)| environment(id, name, 2, "A100", "z"))
            .to_vec()
    }

    fn request() -> CreateRequest {
        serde_json::from_str(r#"{"taskName": "x", "command": {"argv": ["a"]}, "launchMode": {"group": "llm"}}"#)
            .unwrap()
    }

    #[test]
    fn the_task_of_a_group_has_the_ranks_of_the_group() {
        let group = group(&["gn7-0", "gn39-1", "gn6-1", "gn40-0", "gn6-0"]);
        let filled = fill(&request(), &group, &known()).unwrap();
        let spec = validate(&filled, &known()).unwrap().spec;
        let of_task = rank_map::of_spec(&spec, &known()).unwrap();
        assert_eq!(of_task, of_group(&group.members(&known()).workers, &group.launch).unwrap().map);
        assert_eq!(spec.selection.group().map(GroupId::as_str), Some("group-001"));
        assert_eq!((spec.options.master_port, spec.options.backend.as_deref()), (Some(29_600), Some("gloo")));
        assert_eq!(spec.distributed.framework, Some(Framework::default()));
    }

    #[test]
    fn what_the_request_says_of_port_backend_and_framework_wins() {
        let mut request = request();
        request.options.master_port = Some(1234);
        request.options.backend = Some("nccl".into());
        request.distributed_config.framework = Some("deepspeed".into());
        let filled = fill(&request, &group(&["gn6-0", "gn7-0"]), &known()).unwrap();
        assert_eq!((filled.options.master_port, filled.options.backend.as_deref()), (Some(1234), Some("nccl")));
        assert_eq!(filled.distributed_config.framework.as_deref(), Some("deepspeed"));
    }

    #[test]
    fn workers_that_are_gone_are_named_unless_they_stand_by() {
        let mut group = group(&["gn6-0", "gn9-0"]);
        let refused = fill(&request(), &group, &known()).unwrap_err();
        assert_eq!((refused.id(), refused.text().en.contains("gn9-0")), ("workers_missing", true));
        group.launch.world_size = Some(1);
        assert!(fill(&request(), &group, &known()).is_ok());
    }

    #[test]
    fn a_group_and_environments_together_are_refused() {
        let mut request = request();
        request.distributed_config.node_ids.push("env-001".into());
        let refused = fill(&request, &group(&["gn6-0"]), &known()).unwrap_err();
        assert_eq!(refused.id(), "group_with_environments");
    }
}

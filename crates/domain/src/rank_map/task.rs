//! The ranks of a task.

use std::collections::{HashMap, HashSet};

use super::{RankMap, RankMapError};
use crate::{environment::Environment, ids::EnvironmentId, task::TaskSpec, worker::Worker};

/// An environment that a task uses, with the workers that the user chose in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenNode {
    pub environment: EnvironmentId,
    pub name: String,
    pub workers: Vec<Worker>,
}

impl ChosenNode {
    /// The whole environment.
    pub fn all_of(environment: &Environment) -> Self {
        Self { environment: environment.id.clone(), name: environment.name.clone(), workers: environment.workers() }
    }
}

/// The ranks of a task on the environments as they are now; those that are not there any more add none.
pub fn of_spec(spec: &TaskSpec, environments: &[Environment]) -> Result<RankMap, RankMapError> {
    let wanted = &spec.distributed;
    let by_id: HashMap<_, _> = environments.iter().map(|environment| (&environment.id, environment)).collect();
    let node = |environment: &&Environment| {
        let mut node = ChosenNode::all_of(environment);
        if let Some(chosen) = wanted.workers.get(&environment.id) {
            node.workers.retain(|worker| chosen.contains(&worker.id.index()));
        }
        node
    };
    let find =
        |id: &EnvironmentId| by_id.get(id).map(node).ok_or_else(|| RankMapError::NodeMissing { node: id.to_string() });
    let nodes: Vec<ChosenNode> = wanted.node_ids.iter().map(find).collect::<Result<_, _>>()?;
    let master = wanted.master_node.as_ref().or(wanted.node_ids.first()).cloned();
    for_task(&nodes, &master.unwrap_or_else(|| "".into()))
}

/// Gives ranks to the nodes of a task: the master first, the others in the user's order, as many ranks on each as
/// workers were chosen there, by their number.
pub fn for_task(nodes: &[ChosenNode], master: &EnvironmentId) -> Result<RankMap, RankMapError> {
    let mut seen = HashSet::new();
    for node in nodes {
        if !seen.insert(&node.environment) {
            return Err(RankMapError::NodeTwice { node: node.name.clone() });
        }
        if node.workers.is_empty() {
            return Err(RankMapError::NodeWithoutWorkers { node: node.name.clone() });
        }
    }
    if !nodes.is_empty() && !seen.contains(master) {
        let nodes = nodes.iter().map(|node| node.name.clone()).collect();
        return Err(RankMapError::MasterUnknown { master: master.to_string(), nodes });
    }
    let (first, others): (Vec<&ChosenNode>, Vec<&ChosenNode>) =
        nodes.iter().partition(|node| node.environment == *master);
    let ordered: Vec<(&str, Vec<&Worker>)> =
        first.into_iter().chain(others).map(|node| (node.name.as_str(), by_number(&node.workers))).collect();
    let mut seen = HashSet::new();
    if let Some(twice) = ordered.iter().flat_map(|(_, workers)| workers).find(|worker| !seen.insert(&worker.id)) {
        return Err(RankMapError::WorkerTwice { worker: twice.id.clone() });
    }
    RankMap::number(&ordered)
}

fn by_number(workers: &[Worker]) -> Vec<&Worker> {
    let mut workers: Vec<&Worker> = workers.iter().collect();
    workers.sort_by_key(|worker| worker.id.index());
    workers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::environment::tests::environment;
    use crate::language::Explained;

    fn chosen(id: &str, name: &str, gpus: u32) -> ChosenNode {
        ChosenNode::all_of(&environment(id, name, gpus, "A100", "zone"))
    }

    #[test]
    fn unequal_nodes_of_two_four_and_eight_give_fourteen_ranks() {
        let nodes = [
            chosen("env-1", "pytorch-dev-env", 2),
            chosen("env-3", "llm-training-env", 4),
            chosen("env-5", "nlp-research-lab", 8),
        ];
        let map = for_task(&nodes, &EnvironmentId::from("env-1")).unwrap();
        assert_eq!((map.world_size(), map.node_count()), (14, 3));
        let shape: Vec<(u32, u32, u32)> =
            map.nodes().map(|node| (node.node_rank.0, node.slots[0].rank.0, node.slots[0].local_world_size)).collect();
        assert_eq!(shape, [(0, 0, 2), (1, 2, 4), (2, 6, 8)]);
        assert_eq!((map.slots()[13].local_rank.0, map.slots()[13].gpu), (7, Some(7)));
    }

    #[test]
    fn the_users_order_is_kept_behind_the_master() {
        let nodes = [chosen("c", "gn9", 1), chosen("a", "gn10", 1), chosen("b", "gn1", 1)];
        let map = for_task(&nodes, &EnvironmentId::from("b")).unwrap();
        let order: Vec<&str> = map.nodes().map(|node| node.node).collect();
        assert_eq!(order, ["gn1", "gn9", "gn10"]);
    }

    #[test]
    fn only_chosen_workers_get_ranks() {
        let mut node = chosen("a", "gn1", 4);
        node.workers.retain(|worker| worker.id.index() % 2 == 1);
        node.workers.reverse();
        let map = for_task(&[node], &EnvironmentId::from("a")).unwrap();
        assert_eq!(map.slots().iter().map(|slot| slot.gpu).collect::<Vec<_>>(), [Some(1), Some(3)]);
        assert_eq!(map.slots()[1].local_rank.0, 1);
    }

    #[test]
    fn a_specification_is_mapped_onto_the_environments_that_are_there() {
        let mut spec: TaskSpec = serde_json::from_value(serde_json::json!({
            "name": "x", "work": {"kind": "builtin"},
            "distributed": {"enabled": true, "nodeIds": ["b", "a"], "masterNode": "a", "workers": {"b": [1]}}
        }))
        .unwrap();
        let known = [environment("a", "gn1", 2, "A100", "z"), environment("b", "gn2", 2, "A100", "z")];
        let map = of_spec(&spec, &known).unwrap();
        let workers: Vec<String> = map.slots().iter().map(|slot| slot.worker.to_string()).collect();
        assert_eq!(workers, ["gn1-0", "gn1-1", "gn2-1"]);
        spec.distributed.node_ids.push("gone".into());
        assert_eq!(of_spec(&spec, &known).unwrap_err().id(), "node_missing", "the world does not shrink");
        spec.distributed.node_ids.clear();
        assert_eq!(of_spec(&spec, &known).unwrap_err().id(), "workers_required");
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let master = EnvironmentId::from("a");
        let one = chosen("a", "gn1", 1);
        assert_eq!(for_task(&[], &master).unwrap_err().id(), "workers_required");
        assert_eq!(for_task(&[one.clone(), one.clone()], &master).unwrap_err().id(), "node_duplicate");
        assert_eq!(for_task(std::slice::from_ref(&one), &EnvironmentId::from("z")).unwrap_err().id(), "master_invalid");
        let bare = ChosenNode { workers: vec![], ..one };
        assert_eq!(for_task(&[bare], &master).unwrap_err().id(), "node_without_workers");
    }

    #[test]
    fn a_map_travels_as_a_list_of_slots() {
        let map = for_task(&[chosen("a", "gn1", 1)], &EnvironmentId::from("a")).unwrap();
        let json = serde_json::to_value(&map).unwrap();
        assert_eq!(json[0]["localWorldSize"], 1);
        assert_eq!(json[0]["worker"], "gn1-0");
        assert_eq!(serde_json::from_value::<RankMap>(json.clone()).unwrap(), map);
        let mut gap = json;
        gap[0]["rank"] = 1.into();
        assert!(serde_json::from_value::<RankMap>(gap).is_err());
    }

    proptest! {
        #[test]
        fn ranks_are_contiguous_whatever_the_nodes(gpus in proptest::collection::vec(1_u32..9, 1..10), pick in any::<prop::sample::Index>()) {
            let nodes: Vec<ChosenNode> =
                gpus.iter().enumerate().map(|(at, gpus)| chosen(&format!("e{at}"), &format!("n{at}"), *gpus)).collect();
            let master = pick.get(&nodes);
            let map = for_task(&nodes, &master.environment).unwrap();
            prop_assert_eq!(map.world_size(), gpus.iter().sum::<u32>());
            prop_assert_eq!(&map.slots()[0].environment, &master.environment);
            for (rank, slot) in (0_u32..).zip(map.slots()) {
                prop_assert_eq!(slot.rank.0, rank);
            }
            for (node_rank, node) in (0_u32..).zip(map.nodes()) {
                prop_assert_eq!(node.node_rank.0, node_rank);
                prop_assert!(node.slots.iter().zip(0_u32..).all(|(slot, local)| slot.local_rank.0 == local));
            }
            let others: Vec<&EnvironmentId> = nodes.iter().map(|node| &node.environment).filter(|id| **id != master.environment).collect();
            prop_assert_eq!(map.nodes().skip(1).map(|node| node.environment).collect::<Vec<_>>(), others);
        }
    }
}

//! What the chosen environments are together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    ids::EnvironmentId,
    units::{Bytes, as_whole_gib},
};

/// The sums that the summary card shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Aggregate {
    pub node_count: u32,
    pub total_gpus: u32,
    /// The number of ranks; differs from the GPUs where an environment has none.
    pub total_workers: u32,
    pub total_cpus: u32,
    #[serde(with = "as_whole_gib")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub total_memory: Bytes,
    /// Distinct, in the order of the environments.
    pub gpu_types: Vec<String>,
    /// Distinct, in the order of the environments; those without a zone add none.
    pub zones: Vec<String>,
    pub is_distributed: bool,
}

impl Aggregate {
    /// Adds up the chosen environments; nothing when none is chosen.
    pub fn of(environments: &[&Environment]) -> Option<Self> {
        Self::of_workers(environments, &BTreeMap::new())
    }

    /// The same where in some of them only these workers were chosen: the GPUs and workers are theirs.
    pub fn of_workers(environments: &[&Environment], chosen: &BTreeMap<EnvironmentId, Vec<u32>>) -> Option<Self> {
        if environments.is_empty() {
            return None;
        }
        let sum = |count: fn(&Environment) -> u32| {
            environments.iter().map(|environment| count(environment)).fold(0_u32, u32::saturating_add)
        };
        let used = |count: fn(&Environment) -> u32| {
            let of_one = |environment: &&Environment| {
                let workers =
                    chosen.get(&environment.id).map(|numbers| u32::try_from(numbers.len()).unwrap_or(u32::MAX));
                workers.map_or(count(environment), |workers| workers.min(count(environment)))
            };
            environments.iter().map(of_one).fold(0_u32, u32::saturating_add)
        };
        let models = environments.iter().flat_map(|environment| &environment.gpus).filter(|gpus| gpus.count > 0);
        Some(Self {
            node_count: u32::try_from(environments.len()).unwrap_or(u32::MAX),
            total_gpus: used(Environment::gpu_count),
            total_workers: used(Environment::worker_count),
            total_cpus: sum(|environment| environment.cpu_cores),
            total_memory: environments.iter().map(|environment| environment.memory).sum(),
            gpu_types: distinct(models.map(|gpus| &gpus.model)),
            zones: distinct(environments.iter().filter_map(|environment| environment.zone.as_ref())),
            is_distributed: environments.len() > 1,
        })
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::environment::tests::environment;

    fn aggregate(environments: &[Environment]) -> Aggregate {
        Aggregate::of(&environments.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn one_environment_is_single_machine_training() {
        let sum = aggregate(&[environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A")]);
        let expected = json!({
            "nodeCount": 1, "totalGpus": 2, "totalWorkers": 2, "totalCpus": 16, "totalMemory": 128,
            "gpuTypes": ["A100"], "zones": ["北京可用区A"], "isDistributed": false
        });
        assert_eq!(serde_json::to_value(&sum).unwrap(), expected);
    }

    #[test]
    fn of_chosen_workers_their_gpus_count_and_not_all_of_the_machines() {
        let nodes = [
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("3", "llm-training-env", 4, "A100", "深圳可用区C"),
        ];
        let chosen = BTreeMap::from([(nodes[1].id.clone(), vec![0, 2])]);
        let sum = Aggregate::of_workers(&nodes.iter().collect::<Vec<_>>(), &chosen).unwrap();
        assert_eq!((sum.total_gpus, sum.total_workers, sum.total_cpus), (4, 4, 48));
    }

    #[test]
    fn two_environments_of_one_zone_name_both_gpu_types() {
        let sum = aggregate(&[
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("2", "cv-experiment-env", 2, "V100", "北京可用区A"),
        ]);
        assert_eq!((sum.node_count, sum.total_gpus, sum.total_cpus), (2, 4, 32));
        assert_eq!(sum.total_memory.to_string(), "256 GB");
        assert_eq!((sum.gpu_types, sum.zones.len()), (vec!["A100".to_owned(), "V100".to_owned()], 1));
    }

    #[test]
    fn three_environments_of_three_zones_count_each_zone() {
        let sum = aggregate(&[
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("3", "llm-training-env", 4, "A100", "深圳可用区C"),
            environment("5", "nlp-research-lab", 8, "A100", "上海可用区A"),
        ]);
        let expected = json!({
            "nodeCount": 3, "totalGpus": 14, "totalWorkers": 14, "totalCpus": 112, "totalMemory": 896,
            "gpuTypes": ["A100"], "zones": ["北京可用区A", "深圳可用区C", "上海可用区A"], "isDistributed": true
        });
        assert_eq!(serde_json::to_value(&sum).unwrap(), expected);
    }

    #[test]
    fn nothing_chosen_has_no_sum() {
        assert_eq!(Aggregate::of(&[]), None);
    }

    #[test]
    fn machines_without_gpus_count_their_workers() {
        let mut cpu = environment("1", "cpu-box", 0, "", "z");
        cpu.cpu_workers = 4;
        let sum = aggregate(&[cpu]);
        assert_eq!((sum.total_gpus, sum.total_workers, sum.gpu_types.len()), (0, 4, 0));
    }
}

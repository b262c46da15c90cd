//! What is allowed but should be known before a task starts.

use crate::{
    aggregate::Aggregate,
    environment::{Environment, EnvironmentStatus, Versions},
    framework::Framework,
    phase::TaskPhase,
    task::{Selection, Strategy, Task, TaskSpec, Work},
};

/// Something that does not stop a task from being created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Several nodes: the network between them must work.
    SeveralNodes,
    /// The nodes stand in different zones.
    CrossZone { zones: Vec<String> },
    /// The slowest GPU sets the pace.
    MixedGpuTypes { types: Vec<String> },
    /// Some nodes have GPUs and some have none, so that NCCL cannot be used.
    MixedDevices { without: Vec<String> },
    /// The degrees do not multiply to the number of ranks.
    LayoutMismatch { strategy: Strategy, ranks: u32 },
    /// The framework knows no tensor or pipeline parallelism; the script has to.
    ParallelismIgnored { framework: Framework },
    /// What is installed differs between the nodes.
    MixedVersions { differences: Vec<VersionDifference> },
    /// Nothing says what to train: Fermi's own small trainer runs.
    BuiltinTrainer,
    /// Others use these now; the task waits for them.
    Busy { environments: Vec<String> },
    /// These have not answered for some seconds.
    Suspect { environments: Vec<String> },
}

/// A part that is not the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionDifference {
    /// Such as `torch`.
    pub part: &'static str,
    /// Each version, none where an agent knows that there is none, with the environments that have it.
    pub versions: Vec<(Option<String>, Vec<String>)>,
}

/// What is to be said about a task as it stands: environments that it holds itself are not in its way, and once it is over
/// only what has run is of interest.
pub fn of_task(task: &Task, known: &[Environment]) -> Vec<Warning> {
    if task.phase.is_final() {
        return of_work(&task.spec.work).into_iter().collect();
    }
    let distributed = &task.spec.distributed;
    let found = warnings(&task.spec.chosen(known), distributed.framework, distributed.strategy);
    let waits = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    let found = found.into_iter().filter(|warning| waits || !matches!(warning, Warning::Busy { .. }));
    found.chain(of_work(&task.spec.work)).collect()
}

/// What is to be said about what shall run, whatever the environments are.
pub fn of_work(work: &Work) -> Option<Warning> {
    matches!(work, Work::Builtin { .. }).then_some(Warning::BuiltinTrainer)
}

/// Everything to be said about these environments with this framework and strategy, the gravest last.
pub fn warnings(
    environments: &[&Environment],
    framework: Option<Framework>,
    strategy: Option<Strategy>,
) -> Vec<Warning> {
    let Some(sum) = Aggregate::of(environments) else { return Vec::new() };
    let named = |status: EnvironmentStatus| names(environments, |environment| environment.status == status);
    let mut found = Vec::new();
    if sum.is_distributed {
        found.push(Warning::SeveralNodes);
    }
    if sum.zones.len() > 1 {
        found.push(Warning::CrossZone { zones: sum.zones.clone() });
    }
    if sum.gpu_types.len() > 1 {
        found.push(Warning::MixedGpuTypes { types: sum.gpu_types.clone() });
    }
    let without = names(environments, |environment| environment.gpu_count() == 0);
    if sum.total_gpus > 0 && !without.is_empty() {
        found.push(Warning::MixedDevices { without });
    }
    let differences = version_differences(environments);
    if !differences.is_empty() {
        found.push(Warning::MixedVersions { differences });
    }
    found.extend(strategy.into_iter().flat_map(|strategy| about_strategy(strategy, framework, sum.total_workers)));
    let busy = named(EnvironmentStatus::Busy);
    if !busy.is_empty() {
        found.push(Warning::Busy { environments: busy });
    }
    let suspect = named(EnvironmentStatus::Suspect);
    if !suspect.is_empty() {
        found.push(Warning::Suspect { environments: suspect });
    }
    found
}

/// Whether two tasks that are not over may write their checkpoints into one folder: they name the same one, and may have an
/// environment in common.
pub fn shares_checkpoints(one: &TaskSpec, other: &TaskSpec) -> bool {
    let folder = |spec: &TaskSpec| Some(spec.options.checkpoint_dir.as_deref()?.trim_end_matches('/').to_owned());
    let is_picked = |spec: &TaskSpec| matches!(spec.selection, Selection::Auto(_));
    let shares = one.distributed.node_ids.iter().any(|id| other.distributed.node_ids.contains(id));
    folder(one).is_some() && folder(one) == folder(other) && (shares || is_picked(one) || is_picked(other))
}

fn about_strategy(strategy: Strategy, framework: Option<Framework>, ranks: u32) -> Vec<Warning> {
    let mut found = Vec::new();
    if strategy.ranks() != u64::from(ranks) {
        found.push(Warning::LayoutMismatch { strategy, ranks });
    }
    let divides_the_network = strategy.tensor_parallel > 1 || strategy.pipeline_parallel > 1;
    if let Some(framework) = framework.filter(|framework| divides_the_network && framework.is_data_parallel_only()) {
        found.push(Warning::ParallelismIgnored { framework });
    }
    found
}

/// The parts of which some environments have one version and others another, or none. Where an agent does not know a part,
/// nothing is said of that environment: torch is missing only where it was looked for beside a Python.
fn version_differences(environments: &[&Environment]) -> Vec<VersionDifference> {
    type Part = (&'static str, fn(&Versions) -> Option<&String>);
    let parts: [Part; 5] = [
        ("Python", |versions| versions.python.as_ref()),
        ("torch", |versions| versions.torch.as_ref()),
        ("CUDA", |versions| versions.cuda.as_ref()),
        ("NCCL", |versions| versions.nccl.as_ref()),
        ("driver", |versions| versions.driver.as_ref()),
    ];
    let difference = |(part, version): Part| {
        let mut versions: Vec<(Option<String>, Vec<String>)> = Vec::new();
        let is_missing = |versions: &Versions| part == "torch" && versions.python.is_some();
        for environment in environments {
            let found = version(&environment.versions).cloned();
            if found.is_none() && !is_missing(&environment.versions) {
                continue;
            }
            match versions.iter_mut().find(|(known, _)| *known == found) {
                Some((_, names)) => names.push(environment.name.clone()),
                None => versions.push((found, vec![environment.name.clone()])),
            }
        }
        (versions.len() > 1).then_some(VersionDifference { part, versions })
    };
    parts.into_iter().filter_map(difference).collect()
}

fn names(environments: &[&Environment], wanted: impl Fn(&Environment) -> bool) -> Vec<String> {
    environments.iter().filter(|environment| wanted(environment)).map(|environment| environment.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tests::environment;
    use crate::language::Explained;

    fn ids(environments: &[Environment], framework: Framework, strategy: Option<Strategy>) -> Vec<&'static str> {
        let environments: Vec<&Environment> = environments.iter().collect();
        warnings(&environments, Some(framework), strategy).iter().map(Warning::id).collect()
    }

    fn three_zones() -> [Environment; 3] {
        [
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("3", "llm-training-env", 4, "A100", "深圳可用区C"),
            environment("5", "nlp-research-lab", 8, "A100", "上海可用区A"),
        ]
    }

    #[test]
    fn one_node_has_nothing_to_be_warned_of() {
        assert!(ids(&three_zones()[..1], Framework::PytorchDdp, None).is_empty());
        assert!(warnings(&[], None, None).is_empty());
    }

    #[test]
    fn zones_and_models_that_differ_are_named() {
        assert_eq!(ids(&three_zones(), Framework::Deepspeed, None), ["several_nodes", "cross_zone"]);
        let mixed = [environment("1", "a", 2, "A100", "北京可用区A"), environment("2", "b", 2, "V100", "北京可用区A")];
        assert_eq!(ids(&mixed, Framework::PytorchDdp, None), ["several_nodes", "mixed_gpu_types"]);
    }

    #[test]
    fn a_layout_that_does_not_multiply_is_a_warning() {
        let strategy = Strategy { data_parallel: 2, pipeline_parallel: 4, tensor_parallel: 8 };
        assert!(ids(&three_zones(), Framework::Deepspeed, Some(strategy)).contains(&"layout_mismatch"));
        let fits = Strategy { data_parallel: 7, pipeline_parallel: 1, tensor_parallel: 2 };
        assert_eq!(ids(&three_zones(), Framework::Deepspeed, Some(fits)), ["several_nodes", "cross_zone"]);
        assert!(ids(&three_zones(), Framework::PytorchDdp, Some(fits)).contains(&"parallelism_ignored"));
        assert!(!ids(&three_zones(), Framework::MegatronLm, Some(fits)).contains(&"parallelism_ignored"));
    }

    #[test]
    fn versions_that_differ_are_named_with_who_has_them() {
        let mut nodes = three_zones();
        for node in &mut nodes {
            node.versions.torch = Some("2.15".into());
            node.versions.python = Some("3.13".into());
        }
        assert!(!ids(&nodes, Framework::PytorchDdp, None).contains(&"mixed_versions"));
        nodes[1].versions.torch = None;
        nodes[2].versions.torch = Some("2.14".into());
        let environments: Vec<&Environment> = nodes.iter().collect();
        let found = warnings(&environments, None, None);
        let told = found.iter().find(|warning| warning.id() == "mixed_versions").unwrap();
        assert_eq!(
            told.text().en,
            "versions differ: torch 2.15 (pytorch-dev-env), none found (llm-training-env), 2.14 (nlp-research-lab)"
        );
        assert_eq!(
            told.text().zh,
            "版本不一致：torch 2.15（pytorch-dev-env）、未找到（llm-training-env）、2.14（nlp-research-lab）"
        );
    }

    #[test]
    fn what_an_agent_does_not_know_is_not_called_missing() {
        let mut nodes = three_zones();
        let told = |nodes: &[Environment]| ids(nodes, Framework::PytorchDdp, None).contains(&"mixed_versions");
        nodes[0].versions = Versions { python: Some("3.13".into()), torch: Some("2.15".into()), ..Versions::default() };
        assert!(!told(&nodes), "the others have not said what they have");
        nodes[1].versions.python = Some("3.13".into());
        assert!(told(&nodes), "the second has a Python without torch");
        nodes[1].versions.torch = Some("2.15".into());
        nodes[2].versions.driver = Some("570".into());
        assert!(!told(&nodes));
    }

    #[test]
    fn a_task_is_not_in_its_own_way() {
        let spec = serde_json::json!({"name": "x", "work": {"kind": "builtin"}, "distributed": {"enabled": true, "nodeIds": ["1", "3"]}});
        let mut task = Task::new("task-1".into(), serde_json::from_value(spec).unwrap(), 1);
        let mut nodes = three_zones();
        nodes[0].status = EnvironmentStatus::Busy;
        let told = |task: &Task| of_task(task, &nodes).iter().map(Warning::id).collect::<Vec<_>>();
        assert_eq!(told(&task), ["several_nodes", "cross_zone", "environments_busy", "builtin_trainer"]);
        task.phase = TaskPhase::Running;
        assert_eq!(told(&task), ["several_nodes", "cross_zone", "builtin_trainer"]);
        task.phase = TaskPhase::Succeeded;
        assert_eq!(told(&task), ["builtin_trainer"], "whose model it was");
    }

    #[test]
    fn busy_suspect_and_gpuless_nodes_are_named() {
        let mut nodes = three_zones();
        nodes[0].status = EnvironmentStatus::Busy;
        nodes[1].status = EnvironmentStatus::Suspect;
        nodes[2].gpus.clear();
        let found = ids(&nodes, Framework::Command, None);
        assert_eq!(
            found,
            ["several_nodes", "cross_zone", "mixed_devices", "environments_busy", "environments_suspect"]
        );
    }
}

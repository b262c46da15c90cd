//! What one node of a task shall run, put together from what was decided.

use std::borrow::Cow;

use fermi_api::link::{Assignment, Master};
use fermi_domain::access::SecretProblem;
use fermi_domain::dataset::{DatasetExpectation, LocationKind};
use fermi_domain::environment::Environment;
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::language::{StoredMessage, Text};
use fermi_domain::launch::{RunPolicy, TaskLaunch};
use fermi_domain::principal::Principal;
use fermi_domain::rank_map::{self, RankMap};
use fermi_domain::task::{NodeRun, Task, TaskSpec, Work};
use fermi_domain::units::Seconds;
use fermi_frameworks::{LaunchOrder, LaunchRefusal, NodeFacts};
use fermi_store::StoreError;
use fermi_store::datasets::Version;

use crate::access::vault::SecretVariable;
use crate::core::Core;
use crate::model_numbers::{self, KnownModel};
use crate::run_secret;

/// The launch of a task on these ranks, as the engines want it.
pub fn launch(
    spec: &TaskSpec,
    ranks: &RankMap,
    environments: &[Environment],
    paths: &Paths,
) -> Result<TaskLaunch, LaunchRefusal> {
    fermi_frameworks::launch(&LaunchOrder {
        spec,
        ranks,
        nodes: &nodes(ranks, environments),
        dataset_path: paths.dataset.clone(),
        model_path: paths.model.clone(),
        model_parameters: paths.model_parameters,
        known_models: fermi_planner::catalogue::parameters_of,
    })
}

/// The task as its training.yaml makes it; itself where it has none, or one that will be refused anyway.
pub fn with_training<'a>(
    spec: &'a TaskSpec,
    environments: &[Environment],
    model_parameters: Option<u64>,
) -> Cow<'a, TaskSpec> {
    let Some(ranks) = spec.options.training.as_ref().and(rank_map::of_spec(spec, environments).ok()) else {
        return Cow::Borrowed(spec);
    };
    let nodes = nodes(&ranks, environments);
    let order = LaunchOrder {
        spec,
        ranks: &ranks,
        nodes: &nodes,
        dataset_path: None,
        model_path: None,
        model_parameters,
        known_models: fermi_planner::catalogue::parameters_of,
    };
    fermi_frameworks::with_training(&order).map_or(Cow::Borrowed(spec), Cow::Owned)
}

fn nodes(ranks: &RankMap, environments: &[Environment]) -> Vec<NodeFacts> {
    let facts = |name: &str, environment: Option<&Environment>| NodeFacts {
        name: name.to_owned(),
        address: environment.and_then(|environment| environment.address.clone()),
        zone: environment.and_then(|environment| environment.zone.clone()),
        gpu_model: environment.and_then(|environment| environment.gpus.first().map(|gpus| gpus.model.clone())),
        gpu_count: environment.map_or(0, Environment::gpu_count),
    };
    let known = |id: &EnvironmentId| environments.iter().find(|environment| environment.id == *id);
    ranks.nodes().map(|node| facts(node.node, known(node.environment))).collect()
}

/// Where the chosen dataset and model are, and what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    pub dataset: Option<String>,
    pub model: Option<String>,
    /// Whether the chosen model is registered; it may have no path.
    pub is_model_known: bool,
    /// How large the model is, where its numbers are known.
    pub model_parameters: Option<u64>,
    /// What each node must see before it starts ranks; none where nothing can be seen by looking.
    pub expectation: Option<DatasetExpectation>,
}

/// Looks up where a task's dataset and model are.
pub async fn paths(core: &Core, spec: &TaskSpec) -> Result<Paths, StoreError> {
    let (dataset, model) = (spec.dataset.clone(), spec.model_id.clone());
    if dataset.is_none() && model.is_none() {
        return Ok(Paths::default());
    }
    core.store()
        .read(move |view| {
            let version = dataset.as_ref().map(|dataset| view.version(&dataset.dataset_version_id));
            let version = version.transpose()?.flatten();
            let named = dataset.map(|dataset| view.dataset(&dataset.dataset_id)).transpose()?.flatten();
            let name = named.map_or_else(String::new, |dataset| dataset.name);
            let model = model.map(|id| model_numbers::find(view, &id)).transpose()?.flatten();
            Ok::<_, StoreError>(Paths {
                dataset: version.as_ref().map(|version| version.path.clone()),
                is_model_known: model.is_some(),
                model_parameters: model.as_ref().and_then(KnownModel::parameters),
                model: model.and_then(|model| model.entry.path),
                expectation: version.and_then(|version| expectation(name, version)),
            })
        })
        .await
}

/// What nodes can see for themselves.
fn expectation(dataset: String, version: Version) -> Option<DatasetExpectation> {
    if !LocationKind::of(&version.path).can_be_proven() {
        return None;
    }
    let Version { id: version_id, version, path, size, checksum, format, .. } = version;
    Some(DatasetExpectation { version_id, dataset, version, path, size, checksum, format })
}

/// Why a node has no assignment.
#[derive(Debug, thiserror::Error)]
pub enum AssignmentError {
    /// The same task would come to nothing again.
    #[error("{}", .0.reason.en)]
    Refused(StoredMessage),
    /// The task is as good as before, and its assignment is made later.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The newest attempt of which something is kept; 0 where that cannot be told.
async fn newest_written(core: &Core, task: &TaskId) -> u32 {
    let (chunks, task) = (core.chunks().clone(), task.clone());
    let streams = tokio::task::spawn_blocking(move || chunks.streams(&task)).await;
    let streams = streams.ok().and_then(Result::ok).unwrap_or_default();
    streams.iter().map(|(name, _)| name.attempt).max().unwrap_or(0)
}

/// One node's part of a task that has its workers.
pub async fn of(core: &Core, task: &Task, node: &NodeRun) -> Result<Assignment, AssignmentError> {
    let refused = |zh, en| AssignmentError::Refused(StoredMessage { reason: Text::new(zh, en), settings: Vec::new() });
    let paths = paths(core, &task.spec).await?;
    if task.spec.dataset.is_some() && paths.dataset.is_none() {
        return Err(refused("任务所用的数据集版本已被删除", "the dataset version of the task was deleted"));
    }
    if task.spec.model_id.is_some() && !paths.is_model_known {
        return Err(refused("任务所用的模型已被删除", "the model of the task was deleted"));
    }
    let environments = core.known_environments();
    let ranks = task.rank_map.as_ref().ok_or_else(|| refused("尚未分配 rank", "no ranks are given yet"))?;
    let launch = launch(&task.spec, ranks, &environments, &paths)
        .map_err(|refusal| AssignmentError::Refused(StoredMessage::of(&refusal)))?;
    let secrets =
        secrets(core, task).await?.map_err(|problem| AssignmentError::Refused(StoredMessage::of(&problem)))?;
    let mut launch = launch.node(node.node_rank).ok_or_else(|| refused("该节点没有 rank", "this node has no ranks"))?;
    secrets.iter().for_each(|(name, value)| launch.set_variable(name, value.as_str().into()));
    let first = task.nodes.first().map(|first| &first.environment);
    let address_of_first = || environments.iter().find(|it| Some(&it.id) == first)?.address.clone();
    // The name is that of the first node that was chosen; another may have taken its place.
    let is_chosen = first == task.spec.distributed.master_node.as_ref();
    let named = task.spec.options.master_address.clone().filter(|_| is_chosen);
    let master_address = named.or_else(address_of_first).unwrap_or_else(|| "127.0.0.1".to_owned());
    let is_first = node.node_rank.0 == 0;
    let written = newest_written(core, &task.id).await;
    let policies = &task.spec.policies;
    Ok(Assignment {
        run: task.run_key(node),
        task_name: task.spec.name.clone(),
        launch,
        policy: RunPolicy {
            restarts: RestartPolicy { max_restarts: policies.restart.max_restarts.saturating_sub(task.restarts_used) },
            ladder: policies.stop.clone(),
            node_lost_after_ms: policies.node_lost_after.as_millis(),
            start_timeout_ms: policies.start_timeout.map(Seconds::as_millis),
            server_lease_ms: policies.server_lease_ms(),
            has_hook: task.spec.options.hook.unwrap_or(true),
            restart_hung_after_ms: policies.restart_hung_after_ms(),
            warm: policies.warm,
            attempts_before: task.attempts_before(written),
            resume: task.resume,
            ..RunPolicy::default()
        },
        master: Master {
            address: master_address,
            port: if is_first { task.spec.options.master_port } else { task.master_port },
        },
        interpreter: match &task.spec.work {
            Work::Command { interpreter, .. } | Work::Recipe { interpreter, .. } => interpreter.clone(),
            Work::Builtin { .. } => None,
        },
        source: task.spec.source.clone(),
        checkpoint_dir: task.spec.options.checkpoint_dir.clone(),
        interface: node.interface.clone(),
        dataset: paths.expectation,
        secret: run_secret::of(core.secret(), task),
        secret_variables: secrets.into_iter().map(|(name, _)| name).collect(),
        owner: Some(task.created_by.as_ref().unwrap_or(&Principal::System).to_string()),
    })
}

/// The variables of a task that are secrets, with their values; none where it names none.
pub async fn secrets(core: &Core, task: &Task) -> Result<Result<Vec<SecretVariable>, SecretProblem>, StoreError> {
    if task.spec.secrets().next().is_none() {
        return Ok(Ok(Vec::new()));
    }
    let (vault, task) = (core.vault().clone(), task.clone());
    core.store().read(move |view| vault.variables(view, &task)).await
}

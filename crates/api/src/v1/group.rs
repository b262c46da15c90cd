//! Groups of workers, and the workers themselves.

use std::collections::BTreeMap;

use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::group::{Backend, CheckState, DEFAULT_PORT};
use fermi_domain::language::{Explained, FrontEnd, Text};
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{LaunchOptions, Policies, Source, Strategy};
use fermi_domain::validation::{RequestedCommand, RequestedRecipe};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::{AllowedAction, CreateAnswer};

/// How a group is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GroupConfig {
    /// The name of the master node, such as `gn6`; a group without one cannot start.
    #[schema(example = "gn6")]
    pub master_addr: Option<String>,
    /// How many processes; all workers of the group when null. The workers beyond it stand by.
    pub world_size: Option<u32>,
    /// Of the default, the first free one from it on is taken; any other one is taken as it stands.
    #[schema(minimum = 1, maximum = 65535, default = 29500)]
    pub master_port: u16,
    pub backend: Backend,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self { master_addr: None, world_size: None, master_port: DEFAULT_PORT, backend: Backend::default() }
    }
}

/// What is to be another in a group's configuration: a field that is left out stays, null is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GroupConfigChange {
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub master_addr: Option<Option<String>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>)]
    pub world_size: Option<Option<u32>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u16>)]
    pub master_port: Option<Option<u16>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Backend>)]
    pub backend: Option<Option<Backend>>,
}

/// Tells null from a field that is not there.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The body of `POST /groups`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateGroup {
    #[schema(example = "llm")]
    pub name: String,
    pub config: GroupConfig,
    /// Workers that it shall have from the start; each leaves the group in which it was.
    pub workers: Vec<String>,
}

/// The body of `PATCH /groups/{id}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ChangeGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub config: GroupConfigChange,
    /// The version that was seen; refused where it is another one now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// The body of `POST /groups/{id}/workers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MoveWorkers {
    /// All of them move, or none.
    #[schema(example = json!(["gn6-0", "gn7-0"]))]
    pub workers: Vec<String>,
    /// The version of the group that was seen; refused where it is another one now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// The body of `POST /groups/{id}/start`: a task on the group's ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StartGroup {
    /// What each rank runs; with neither this nor a recipe the built-in trainer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<RequestedCommand>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<RequestedRecipe>,
    /// The group's name when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// `pytorch-ddp` when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_version_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    pub options: LaunchOptions,
    pub policies: Policies,
    pub priority: i32,
    pub labels: BTreeMap<String, String>,
}

/// The answer to `POST /groups/{id}/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartGroupAnswer {
    #[serde(flatten)]
    pub created: CreateAnswer,
    /// What was looked at before the start.
    pub checks: Vec<Check>,
    pub ranks: GroupRanks,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// `unassigned` of the one in which the workers are that are in no other.
    #[schema(example = "group-001")]
    pub id: String,
    pub name: String,
    /// Whether it is the one of the workers that are in no other: it has no configuration and cannot be changed.
    pub is_default: bool,
    pub config: GroupConfig,
    /// By node and number.
    pub workers: Vec<String>,
    /// How many processes a start would have; null where it cannot start.
    pub world_size: Option<u32>,
    /// How many workers would stand by.
    pub standby: u32,
    /// Tasks on it that are not over.
    pub tasks: Vec<GroupTask>,
    /// What goes wrong with groups, answered as far as it is known without asking nodes.
    pub checks: Vec<Check>,
    /// Grows with every change.
    pub version: u64,
    /// Unix milliseconds.
    pub created_at: u64,
    pub updated_at: u64,
    /// What the one who asks may do with it.
    #[serde(default)]
    pub allowed_actions: Vec<AllowedAction>,
}

/// A task on a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupTask {
    pub id: String,
    pub name: String,
    pub status: TaskPhase,
    pub status_text: Text,
}

/// One question of the troubleshooting list with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    #[schema(example = "master_address")]
    pub id: String,
    pub state: CheckState,
    pub text: Text,
    pub hint: Option<Text>,
}

impl Check {
    pub fn of(check: &fermi_domain::group::Check, front_end: FrontEnd) -> Self {
        Self {
            id: check.id.to_owned(),
            state: check.state,
            text: check.text.clone(),
            hint: check.hint.as_ref().map(|hint| hint.spelled(front_end)),
        }
    }
}

/// Who would be which rank, as things stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupRanks {
    pub group_id: String,
    pub group_name: String,
    pub version: u64,
    /// MASTER_ADDR as it is configured.
    pub master_addr: Option<String>,
    pub master_port: u16,
    pub backend: Backend,
    /// WORLD_SIZE; null where there are no ranks.
    pub world_size: Option<u32>,
    pub node_count: u32,
    /// In the order of ranks; those that stand by are last.
    pub rows: Vec<GroupRank>,
    /// Why there are no ranks.
    pub problem: Option<GroupProblem>,
}

/// The row of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupRank {
    #[schema(example = "gn6-0")]
    pub worker: String,
    #[schema(example = "gn6")]
    pub node: String,
    /// RANK; null where it has none.
    pub rank: Option<u32>,
    /// LOCAL_RANK
    pub local_rank: Option<u32>,
    /// NODE_RANK
    pub node_rank: Option<u32>,
    /// WORLD_SIZE
    pub world_size: Option<u32>,
    /// The number of its GPU on that machine; null on CPU.
    pub gpu: Option<u32>,
    /// Beyond the world size.
    pub standby: bool,
    pub status: WorkerStatus,
    pub status_text: Text,
}

/// A refusal, in both languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupProblem {
    pub id: String,
    pub field: Option<String>,
    pub text: Text,
    pub hint: Option<Text>,
}

impl GroupProblem {
    pub fn of(refusal: &impl Explained, front_end: FrontEnd) -> Self {
        Self {
            id: refusal.id().to_owned(),
            field: refusal.field(),
            text: refusal.text(),
            hint: refusal.hint().map(|hint| hint.spelled(front_end)),
        }
    }
}

/// How a worker fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkerStatus {
    /// It can be given to a task.
    Free,
    /// A task holds it.
    Busy,
    /// Its environment has been silent for some seconds.
    Suspect,
    Offline,
    /// Its environment is out of service.
    Drained,
    /// The machine of its environment is declared lost.
    Lost,
    /// Its environment does not exist, or has fewer workers.
    Missing,
}

impl WorkerStatus {
    /// Of a worker by its environment, and whether a task holds it.
    pub fn of(environment: EnvironmentStatus, is_held: bool) -> Self {
        match environment {
            EnvironmentStatus::Offline => Self::Offline,
            EnvironmentStatus::Lost => Self::Lost,
            EnvironmentStatus::Suspect => Self::Suspect,
            _ if is_held => Self::Busy,
            EnvironmentStatus::Drained => Self::Drained,
            EnvironmentStatus::Running | EnvironmentStatus::Busy => Self::Free,
        }
    }

    pub fn text(self) -> Text {
        match self {
            Self::Free => Text::new("空闲", "Free"),
            Self::Busy => Text::new("使用中", "Busy"),
            Self::Suspect => Text::new("连接不稳", "Suspect"),
            Self::Offline => Text::new("离线", "Offline"),
            Self::Drained => Text::new("已停用", "Drained"),
            Self::Lost => Text::new("已丢失", "Lost"),
            Self::Missing => Text::new("不存在", "Missing"),
        }
    }

    pub const ALL: [Self; 7] =
        [Self::Free, Self::Busy, Self::Suspect, Self::Offline, Self::Drained, Self::Lost, Self::Missing];
}

/// A worker of any environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerRow {
    #[schema(example = "gn6-0")]
    pub id: String,
    /// The name of its environment.
    #[schema(example = "gn6")]
    pub environment: String,
    pub environment_id: String,
    pub index: u32,
    /// The number of its GPU on that machine; null on CPU.
    pub gpu: Option<u32>,
    #[schema(example = "A100")]
    pub gpu_type: Option<String>,
    pub zone: Option<String>,
    /// `unassigned` where it is in no group.
    pub group_id: String,
    pub group_name: String,
    pub status: WorkerStatus,
    pub status_text: Text,
    /// Who holds it.
    pub task_id: Option<String>,
}

/// The answer to `POST /groups/{id}/workers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveAnswer {
    /// How many are in another group than before.
    pub moved: u32,
    /// The group with its workers as they are now.
    pub group: Group,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_tells_null_from_what_is_left_out() {
        let change: GroupConfigChange = serde_json::from_str(r#"{"worldSize": null, "masterAddr": "gn6"}"#).unwrap();
        assert_eq!(change.world_size, Some(None));
        assert_eq!((change.master_addr, change.master_port), (Some(Some("gn6".to_owned())), None));
    }
}

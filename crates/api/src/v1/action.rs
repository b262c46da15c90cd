//! What may be done with a task, a dataset, a model or a group, and the requests that do it to tasks.

use fermi_domain::access::{Deed, permit};
use fermi_domain::language::{Explained, Text};
use fermi_domain::phase::TaskPhase;
use fermi_domain::principal::Principal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that can be done with a task, a dataset, a model or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    Stop,
    Restart,
    Clone,
    /// Of a dataset: a version is added; of a group: another name or configuration, workers come or go.
    Change,
    Delete,
}

impl Action {
    /// What it is to the table of who may what.
    pub fn deed(self) -> Deed {
        match self {
            Self::Stop | Self::Restart | Self::Change | Self::Delete => Deed::Change,
            Self::Clone => Deed::Create,
        }
    }
}

/// Whether it can be done now, by the one who asks. Pages ask here and know no rule themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedAction {
    pub action: Action,
    pub allowed: bool,
    /// Why not.
    pub reason: Option<Text>,
}

impl AllowedAction {
    /// Everything that the principal can do with a task of this owner, with the reason where it cannot.
    pub fn all(phase: TaskPhase, principal: &Principal, owner: Option<&str>) -> Vec<Self> {
        let all = [Action::Stop, Action::Restart, Action::Clone, Action::Delete];
        let why_not = |action| Self::denied(action, principal, owner).or_else(|| Self::of(action, phase).reason);
        all.map(|action| Self::unless(action, why_not(action))).into()
    }

    /// What the principal can do with a dataset, a model or a group of this owner.
    pub fn on_owned(principal: &Principal, owner: Option<&str>) -> Vec<Self> {
        [Action::Change, Action::Delete]
            .map(|action| Self::unless(action, Self::denied(action, principal, owner)))
            .into()
    }

    /// Why the principal may not do this with something of this owner.
    pub fn denied(action: Action, principal: &Principal, owner: Option<&str>) -> Option<Text> {
        permit(principal, action.deed(), owner).err().map(|denied| denied.text())
    }

    /// It can be done unless something stands against it.
    pub fn unless(action: Action, reason: Option<Text>) -> Self {
        Self { action, allowed: reason.is_none(), reason }
    }

    /// Whether this can be done in this phase.
    pub fn of(action: Action, phase: TaskPhase) -> Self {
        let reason = match action {
            Action::Stop if phase.is_final() => Some(Text::new("任务已结束", "the task is over")),
            Action::Delete if !phase.is_final() => {
                Some(Text::new("任务尚未结束，请先停止", "the task is not over; stop it first"))
            }
            Action::Stop | Action::Delete | Action::Restart | Action::Clone | Action::Change => None,
        };
        Self::unless(action, reason)
    }
}

/// The body of `POST /training-tasks/{id}/stop`; may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StopRequest {
    /// At once, without a grace.
    pub force: bool,
}

/// The body of `POST /training-tasks/{id}/clone`; may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CloneRequest {
    /// The old name with `-copy` behind it when not given.
    pub task_name: Option<String>,
}

/// What is done with many tasks at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum BulkVerb {
    Stop,
    Restart,
    Delete,
}

/// The body of `POST /training-tasks/bulk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BulkRequest {
    pub action: BulkVerb,
    /// At most 1,000.
    pub ids: Vec<String>,
    /// For `stop`: at once, without a grace. For `delete`: also while the rest of the logs is still to come.
    #[serde(default)]
    pub force: bool,
}

/// What became of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkAnswer {
    /// In the order of the request.
    pub results: Vec<BulkResult>,
    pub succeeded: u32,
    pub failed: u32,
}

/// What became of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkResult {
    pub id: String,
    /// The status that it alone would have got.
    pub code: u16,
    /// In the caller's language.
    pub message: String,
}

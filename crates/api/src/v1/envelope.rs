//! The envelope around every answer.

use fermi_domain::ids::TaskId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An answer. `code` equals the HTTP status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<T> {
    pub code: u16,
    /// A sentence in the caller's language.
    pub message: String,
    pub data: T,
}

/// An answer that says no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub code: u16,
    /// What is wrong, in the caller's language.
    #[schema(example = "请选择数据集")]
    pub message: String,
    /// Always null.
    #[schema(value_type = Option<Object>)]
    pub data: Option<()>,
    pub error: ErrorBody,
}

/// What is wrong, for programs; and what to do, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// Stable; see the reference.
    #[schema(example = "dataset_required")]
    pub id: String,
    /// The field of the request that is to be corrected.
    #[schema(example = "datasetId")]
    pub field: Option<String>,
    /// What to do about it, in the caller's language.
    pub hint: Option<String>,
}

/// The id of what was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Id {
    pub id: String,
}

impl From<TaskId> for Id {
    fn from(id: TaskId) -> Self {
        Self { id: id.0 }
    }
}

/// There is nothing to say beyond the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Empty {}

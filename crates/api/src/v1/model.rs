//! Models that a training begins with.

use fermi_domain::dataset::LocationKind;
use fermi_domain::language::Text;
use fermi_domain::model::{ModelNumbers, ModelShape, ShapeSource};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AllowedAction;

/// The body of `POST /models`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateModel {
    pub name: String,
    /// Where every node finds its weights: an absolute path, a hub's name such as facebook/opt-350m, or a URI.
    pub path: Option<String>,
    pub description: Option<String>,
    /// Its numbers, for the planner; read from the config.json in `path` where the server sees it, else found by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<ModelNumbers>,
}

/// A neural network by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    #[schema(example = "model-001")]
    pub id: String,
    pub name: String,
    pub path: Option<String>,
    /// What `path` is, where there is one.
    #[serde(default)]
    pub location: Option<LocationKind>,
    pub description: Option<String>,
    /// Null where nobody knows its numbers: then nothing is predicted for it.
    #[serde(default)]
    pub architecture: Option<ModelArchitecture>,
    /// Where the numbers come from, or what to do for the planner to have them.
    #[serde(default)]
    pub planning: Option<Text>,
    /// Unix milliseconds.
    pub created_at: u64,
    /// What the one who asks may do with it.
    #[serde(default)]
    pub allowed_actions: Vec<AllowedAction>,
}

/// The numbers by which a plan is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelArchitecture {
    #[serde(flatten)]
    pub shape: ModelShape,
    /// All parameters, as the shape says or as was published.
    pub total_parameters: u64,
    pub source: ShapeSource,
    /// The entry of the catalogue, where the numbers are that one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue_name: Option<String>,
}

//! What a create request would lead to; nothing is stored.

use fermi_domain::aggregate::Aggregate;
use fermi_domain::language::Text;
use fermi_domain::rank_map::RankSlot;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Launch, Plan, Warning};

/// The answer to `POST /training-tasks/preview`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The sums of the chosen environments.
    pub aggregate: Option<Aggregate>,
    pub warnings: Vec<Warning>,
    pub rank_map: Vec<RankSlot>,
    pub launch: Option<Launch>,
    /// The lines of the summary card, from top to bottom.
    pub card: Vec<CardLine>,
    /// The planner's advice, where the model is known.
    pub plan: Option<Plan>,
    /// Whether it would start at once, on what and why there, or what it would wait for; null where the queue is very long.
    pub placement: Option<Text>,
}

/// A line of the summary card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardLine {
    pub text: Text,
}

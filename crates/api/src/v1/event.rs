//! What happened.

use fermi_domain::language::Text;
use fermi_domain::task::EventDetail;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Principal;

/// An entry of the event log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Opaque; give it as `after`, or as `Last-Event-ID`, to read on behind it.
    pub cursor: String,
    /// Unix milliseconds.
    pub time: u64,
    /// Such as `task.running`, `environment.offline`.
    pub kind: String,
    /// The task or environment that it is about; empty where it is about neither.
    pub subject: String,
    pub task_id: Option<String>,
    pub environment_id: Option<String>,
    pub attempt: Option<u32>,
    pub rank: Option<u32>,
    pub text: Text,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<EventDetail>,
    /// On whose behalf it happened; not known of events of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
}

//! How long is waited, how often is restarted, how is stopped.

use serde::{Deserialize, Serialize};

use crate::healing::RestartPolicy;
use crate::ladder::StopLadder;
use crate::task::Warm;

/// The rules by which the ranks of a run live on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPolicy {
    /// Restarts that are left.
    pub restarts: RestartPolicy,
    pub ladder: StopLadder,
    /// After how long a silence a node counts as lost.
    pub node_lost_after_ms: u64,
    /// How long is waited for the other nodes.
    pub join_timeout_ms: u64,
    /// How long ranks may take from their start until they have come together; none for as long as they like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timeout_ms: Option<u64>,
    /// How long ranks go on when the server is not heard; none for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_lease_ms: Option<u64>,
    /// Whether Python ranks load the hook.
    #[serde(default = "is_usual")]
    pub has_hook: bool,
    /// After how long a hang ends the attempt; none where it is only told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_hung_after_ms: Option<u64>,
    /// Whether interpreters are parked beside Python ranks.
    #[serde(default, skip_serializing_if = "Warm::is_off")]
    pub warm: Warm,
    /// Attempts that were made before this launch; the next one is one more.
    pub attempts_before: u32,
    /// Continue from the newest checkpoint already in the first attempt.
    pub resume: bool,
}

fn is_usual() -> bool {
    true
}

impl RunPolicy {
    pub const USUAL_JOIN_MS: u64 = 600_000;
    pub const USUAL_NODE_LOST_MS: u64 = 15_000;
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            restarts: RestartPolicy::default(),
            ladder: StopLadder::default(),
            node_lost_after_ms: Self::USUAL_NODE_LOST_MS,
            join_timeout_ms: Self::USUAL_JOIN_MS,
            start_timeout_ms: None,
            server_lease_ms: None,
            has_hook: true,
            restart_hung_after_ms: None,
            warm: Warm::Off,
            attempts_before: 0,
            resume: false,
        }
    }
}

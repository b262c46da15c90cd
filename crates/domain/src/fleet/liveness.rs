//! How well an environment is heard.

use std::time::Duration;

/// After this silence an environment is suspect.
pub const SUSPECT_AFTER: Duration = Duration::from_secs(4);
/// After this one it is offline.
pub const OFFLINE_AFTER: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Here,
    Suspect,
    Offline,
}

impl Liveness {
    /// From the time since something was heard, and whether there is a connection.
    pub fn of(silence: Duration, is_connected: bool) -> Self {
        match silence {
            silence if silence >= OFFLINE_AFTER => Self::Offline,
            silence if silence >= SUSPECT_AFTER || !is_connected => Self::Suspect,
            _ => Self::Here,
        }
    }
}

//! How well an environment is heard.

use std::time::Duration;

use crate::{language::Text, queue::written};

/// After this silence an environment is suspect.
pub const SUSPECT_AFTER: Duration = Duration::from_secs(4);
/// After this one it is offline.
pub const OFFLINE_AFTER: Duration = Duration::from_secs(15);

/// When something was last heard of an environment, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastHeard {
    At(u64),
    /// Nothing since the server started, which was then.
    NotSince(u64),
}

impl LastHeard {
    /// The beginning of the silence, as far as the server knows it.
    pub fn ms(self) -> u64 {
        match self {
            Self::At(at) | Self::NotSince(at) => at,
        }
    }

    /// What is said of an environment with this name that is out of reach.
    pub fn text(self, name: &str) -> Text {
        // To the minute, and never later than it was.
        let since = written(self.ms() / 60_000 * 60_000);
        match self {
            Self::At(_) => {
                Text::new(format!("{name} 自 {since} 起失去联系"), format!("{name} is out of reach since {since}"))
            }
            Self::NotSince(_) => Text::new(
                format!("服务器启动（{since}）以来没有 {name} 的消息"),
                format!("nothing was heard of {name} since the server started at {since}"),
            ),
        }
    }
}

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

//! What is seen of a rank at one time.

use serde::Deserialize;

use crate::pulse::{Phase, Pulse};

/// A rank that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSample {
    pub rank: u32,
    pub pid: i32,
    /// None where no hook keeps a page.
    pub pulse: Option<Pulse>,
    /// The letter of its main thread in `/proc`: R, S, D, T …
    pub state: u8,
    /// Looked at once things are quiet.
    pub work: Option<Work>,
}

/// What a rank and its children have done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// When this was looked at; a sample may repeat it.
    pub seen_ms: u64,
    pub cpu_ms: u64,
    pub io_bytes: u64,
    /// A child that is stopped.
    pub stopped_child: Option<i32>,
    /// The file that a read or write which does not return is about.
    pub waits_for_file: Option<String>,
    /// The collectives that have not ended, oldest first.
    pub pending: Vec<Pending>,
}

/// A collective that a rank has entered and not left, as its hook tells it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Pending {
    /// Its number in its group.
    pub seq: u64,
    /// Such as `all_reduce`.
    pub name: String,
    pub sizes: String,
    pub group: String,
}

impl RankSample {
    pub fn is_stopped(&self) -> bool {
        self.state == b'T'
    }

    pub fn phase(&self) -> Option<Phase> {
        self.pulse.and_then(|pulse| pulse.phase)
    }

    pub(super) fn enqueued(&self) -> u64 {
        self.pulse.map_or(0, |pulse| pulse.enqueued)
    }

    pub(super) fn waits_in_collective(&self) -> bool {
        self.pulse.is_some_and(|pulse| pulse.completed < pulse.enqueued)
    }

    pub(super) fn pending(&self) -> Option<&Pending> {
        self.work.as_ref().and_then(|work| work.pending.last())
    }
}

//! What torch's flight recorder writes as JSON.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One rank's record. What is not known is passed over.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FlightRecord {
    pub rank: Option<u32>,
    /// By the number of a process group.
    pub pg_status: BTreeMap<String, GroupStatus>,
    pub entries: Vec<Entry>,
}

/// How far a rank is in a process group; -1 where it has not begun.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GroupStatus {
    pub last_enqueued_collective: i64,
    pub last_completed_collective: i64,
}

/// A collective.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Entry {
    pub collective_seq_id: i64,
    /// Such as `nccl:all_reduce`.
    pub profiling_name: String,
    /// Number and name.
    pub process_group: Vec<String>,
    /// `scheduled`, `started` or `completed`.
    pub state: String,
    pub is_p2p: bool,
    pub retired: bool,
}

impl FlightRecord {
    /// What it was in a group, such as `all_reduce`.
    pub(super) fn name_of(&self, group: &str, seq: i64) -> Option<&str> {
        let is_it = |entry: &&Entry| {
            !entry.is_p2p
                && entry.collective_seq_id == seq
                && entry.process_group.first().is_some_and(|number| number == group)
        };
        let entry = self.entries.iter().rev().find(is_it)?;
        entry.profiling_name.rsplit(':').next()
    }

    pub(super) fn waits(&self) -> bool {
        self.pg_status.values().any(|group| group.last_completed_collective < group.last_enqueued_collective)
    }
}

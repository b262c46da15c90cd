//! Spent processes of an attempt that is over: every thread of one is on its way out, and the kernel still frees its memory. What
//! decides whether the next attempt may begin beside them, or has to wait until they are collected.

use serde::{Deserialize, Serialize};

/// So many times what the spent ranks had has to be free: the next attempt takes as much, and the kernel is not in a hurry.
const ROOM: u64 = 2;

/// What a spent process still has that is missed, or still does, until it is collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Kept {
    /// A GPU's memory, for one.
    Device { path: String },
    /// A lock on this file.
    Lock { path: String },
    /// Connections to this port come to it; not one of those that the kernel gives out.
    Port { port: u16 },
    /// A file of another machine, which gets what was written when it is closed.
    RemoteFile { path: String },
    /// Writes to a disk that go on by themselves.
    Writes,
    /// Memory that the next attempt may need; in bytes.
    Memory { needed: u64, available: u64 },
    /// That cannot be told.
    Unknown,
}

/// Whether so much free memory is too little for ranks of this size, all together, beside the spent ones; in bytes.
pub fn lacks_memory(available: u64, resident: u64) -> Option<Kept> {
    let needed = resident.saturating_mul(ROOM);
    (available < needed).then_some(Kept::Memory { needed, available })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_has_to_be_room_for_two_attempts_at_once() {
        assert_eq!(lacks_memory(2_000, 1_000), None);
        assert_eq!(lacks_memory(1_999, 1_000), Some(Kept::Memory { needed: 2_000, available: 1_999 }));
        assert_eq!(
            lacks_memory(u64::MAX - 1, u64::MAX),
            Some(Kept::Memory { needed: u64::MAX, available: u64::MAX - 1 })
        );
    }
}

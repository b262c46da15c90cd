//! What torch's flight recorder writes as JSON: thousands of collectives, of which the newest of each process group matters.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One rank's record. What is not known is passed over.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FlightRecord {
    pub rank: Option<u32>,
    /// By the number of a process group.
    pub pg_status: BTreeMap<String, GroupStatus>,
    /// By the same number.
    #[serde(rename = "entries", deserialize_with = "newest")]
    pub newest: BTreeMap<String, NewestCollective>,
}

/// How far a rank is in a process group; -1 where it has not begun.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GroupStatus {
    #[serde(deserialize_with = "number")]
    pub last_enqueued_collective: i64,
    #[serde(deserialize_with = "number")]
    pub last_completed_collective: i64,
}

impl GroupStatus {
    pub(super) fn waits(&self) -> bool {
        self.last_completed_collective < self.last_enqueued_collective
    }
}

/// The last collective that a rank has begun in a process group.
#[derive(Clone, Debug, PartialEq)]
pub struct NewestCollective {
    pub seq: i64,
    /// Such as `all_reduce`.
    pub name: String,
    pub is_over: bool,
}

impl FlightRecord {
    /// The process groups of which something is known.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.pg_status.keys().chain(self.newest.keys()).map(String::as_str)
    }

    /// How far it is in a group; of a record that does not say so, as far as its last collective there.
    pub(super) fn status(&self, group: &str) -> Option<GroupStatus> {
        let by_newest = |newest: &NewestCollective| GroupStatus {
            last_enqueued_collective: newest.seq,
            last_completed_collective: newest.seq - i64::from(!newest.is_over),
        };
        self.pg_status.get(group).cloned().or_else(|| self.newest.get(group).map(by_newest))
    }

    /// What it was in a group, such as `all_reduce`.
    pub(super) fn name_of(&self, group: &str, seq: i64) -> Option<&str> {
        self.newest.get(group).filter(|newest| newest.seq == seq).map(|newest| newest.name.as_str())
    }

    pub(super) fn waits(&self) -> bool {
        self.groups().filter_map(|group| self.status(group)).any(|status| status.waits())
    }
}

/// A collective, as far as it is looked at. Its words stay in the text that is read: a record has thousands.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry<'a> {
    collective_seq_id: i64,
    /// Such as `nccl:all_reduce`.
    #[serde(borrow)]
    profiling_name: Cow<'a, str>,
    #[serde(borrow)]
    process_group: GroupNumber<'a>,
    is_p2p: bool,
    /// `scheduled`, `started` or `completed`.
    #[serde(borrow)]
    state: Cow<'a, str>,
}

/// The first of number and name of a process group.
#[derive(Default)]
struct GroupNumber<'a>(Option<GroupWord<'a>>);

#[derive(Deserialize)]
struct GroupWord<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for GroupNumber<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Option<GroupWord<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("number and name of a process group")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Self::Value, A::Error> {
                let first = words.next_element()?;
                while words.next_element::<IgnoredAny>()?.is_some() {}
                Ok(first)
            }
        }
        deserializer.deserialize_seq(Words).map(Self)
    }
}

/// A number, which some releases of torch write as a text.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(i64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Text(text) => text.parse().map_err(D::Error::custom),
    }
}

/// Of the collectives of each group the one with the highest number.
fn newest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, NewestCollective>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = BTreeMap<String, NewestCollective>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of collectives")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut newest: BTreeMap<Cow<'de, str>, (i64, Cow<'de, str>, bool)> = BTreeMap::new();
            while let Some(Entry { collective_seq_id: seq, profiling_name, process_group, is_p2p, state }) =
                entries.next_element()?
            {
                let GroupNumber(Some(GroupWord(group))) = process_group else { continue };
                if !is_p2p && newest.get(&group).is_none_or(|(highest, ..)| *highest <= seq) {
                    newest.insert(group, (seq, profiling_name, state == "completed"));
                }
            }
            let owned = |(group, (seq, name, is_over)): (Cow<'de, str>, (i64, Cow<'de, str>, bool))| {
                let name = name.rsplit(':').next().unwrap_or_default().to_owned();
                (group.into_owned(), NewestCollective { seq, name, is_over })
            };
            Ok(newest.into_iter().map(owned).collect())
        }
    }
    deserializer.deserialize_seq(Entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_collective_of_each_group_is_kept() {
        let text = r#"{"entries": [
            {"collective_seq_id": 6, "profiling_name": "nccl:broadcast", "process_group": ["0", "x"], "frames": [{"line": 1}]},
            {"collective_seq_id": 7, "profiling_name": "nccl:all_\u0072educe", "process_group": ["0", "x"], "state": "started"},
            {"collective_seq_id": 7, "profiling_name": "nccl:send 0->1", "process_group": ["0", "x"], "is_p2p": true},
            {"collective_seq_id": 2, "profiling_name": "all_gather", "process_group": ["1", "y"], "is_p2p": false},
            {"collective_seq_id": 9, "profiling_name": "of no group"}],
            "pg_status": {"0": {"last_enqueued_collective": 7, "last_completed_collective": 6}}, "version": "2.10"}"#;
        let record: FlightRecord = serde_json::from_str(text).unwrap();
        assert_eq!((record.name_of("0", 7), record.name_of("0", 6)), (Some("all_reduce"), None));
        assert_eq!((record.name_of("1", 2), record.newest.len()), (Some("all_gather"), 2));
        assert!(record.waits());
    }

    #[test]
    fn numbers_may_be_texts() {
        let record = |last: &str| {
            let text = format!(r#"{{"pg_status": {{"0": {{"last_enqueued_collective": {last}}}}}}}"#);
            serde_json::from_str::<FlightRecord>(&text).map(|record| record.pg_status["0"].last_enqueued_collective)
        };
        assert_eq!((record("21").unwrap(), record("\"21\"").unwrap(), record("\"-1\"").unwrap()), (21, 21, -1));
        assert!(record("\"many\"").is_err() && record("[]").is_err());
    }
}

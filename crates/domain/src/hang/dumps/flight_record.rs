//! What torch's flight recorder writes, as JSON or pickled: thousands of collectives, of which the newest of each process group
//! matters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::pickle::Item;

/// One rank's record. What is not known is passed over.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FlightRecord {
    pub rank: Option<u32>,
    /// By the number that a process group has in this process, which may differ from rank to rank.
    pub pg_status: BTreeMap<String, GroupStatus>,
    #[serde(rename = "entries", deserialize_with = "newest")]
    pub collectives: Collectives,
}

/// What the list of collectives says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collectives {
    /// By the name of a process group, the same on all ranks.
    pub newest: BTreeMap<String, NewestCollective>,
    /// The names of groups by their numbers in this process.
    pub names: BTreeMap<String, String>,
    numbers: BTreeSet<i64>,
}

impl Collectives {
    fn take(&mut self, entry: Entry<'_>) {
        let Entry { collective_seq_id: seq, profiling_name, process_group, pg_id, is_p2p, state } = entry;
        let GroupNumber(Some(GroupWord(group))) = process_group else { return };
        if let Some(number) = pg_id.filter(|number| self.numbers.insert(*number)) {
            self.names.insert(number.to_string(), group.clone().into_owned());
        }
        let name = profiling_name.rsplit(':').next().unwrap_or_default();
        let is_over = state == "completed";
        match self.newest.get_mut(&*group) {
            _ if is_p2p => {}
            Some(newest) if newest.seq > seq => {}
            Some(newest) => {
                (newest.seq, newest.is_over) = (seq, is_over);
                if newest.name != name {
                    name.clone_into(&mut newest.name);
                }
            }
            None => {
                self.newest.insert(group.into_owned(), NewestCollective { seq, name: name.to_owned(), is_over });
            }
        }
    }
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
    /// What a pickle says; nothing where it is no flight record.
    pub(super) fn of_pickle(whole: &Item) -> Option<Self> {
        let int = |of: &Item, name: &str| of.get(name).and_then(Item::as_int);
        let mut record = Self { rank: int(whole, "rank").and_then(|rank| rank.try_into().ok()), ..Self::default() };
        if let Some(Item::Dict(groups)) = whole.get("pg_status") {
            let status = |of: &Item| GroupStatus {
                last_enqueued_collective: int(of, "last_enqueued_collective").unwrap_or(0),
                last_completed_collective: int(of, "last_completed_collective").unwrap_or(0),
            };
            record.pg_status = groups.iter().map(|(number, of)| (number.to_string(), status(of))).collect();
        }
        for entry in whole.get("entries").map_or(&[][..], Item::as_list) {
            let word = |name: &str| entry.get(name).and_then(Item::as_str).unwrap_or_default();
            let group = entry.get("process_group").and_then(|words| words.as_list().first()).and_then(Item::as_word);
            record.collectives.take(Entry {
                collective_seq_id: int(entry, "collective_seq_id").unwrap_or(0),
                profiling_name: word("profiling_name").into(),
                process_group: GroupNumber(group.map(|group| GroupWord(group.into()))),
                pg_id: int(entry, "pg_id"),
                is_p2p: entry.get("is_p2p") == Some(&Item::Bool(true)),
                state: word("state").into(),
            });
        }
        record.says_something().then_some(record)
    }

    pub(super) fn says_something(&self) -> bool {
        !self.pg_status.is_empty() || !self.collectives.newest.is_empty()
    }

    /// The process groups of which something is known, by their names.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        let names = &self.collectives.names;
        let by_number = self.pg_status.keys().map(move |number| names.get(number).unwrap_or(number).as_str());
        by_number.chain(self.collectives.newest.keys().map(String::as_str))
    }

    /// The number that a group has here. Where no entry tells, numbers are the names, as they are of the first groups.
    fn number_of<'a>(&'a self, group: &'a str) -> Option<&'a str> {
        let names = &self.collectives.names;
        let told = names.iter().find(|(_, name)| *name == group).map(|(number, _)| number.as_str());
        told.or_else(|| (!names.contains_key(group)).then_some(group))
    }

    /// Takes the names of groups from other ranks, where all that know a number call it the same.
    pub(super) fn with_names_of(&self, others: &BTreeMap<String, BTreeSet<&str>>) -> Self {
        let mut named = self.clone();
        for number in self.pg_status.keys().filter(|number| !self.collectives.names.contains_key(*number)) {
            match others.get(number).map(|names| names.iter().collect::<Vec<_>>()).as_deref() {
                Some([only]) => {
                    named.collectives.names.insert(number.clone(), (**only).to_owned());
                }
                // Nobody can say which of them it is.
                Some(_) => {
                    named.pg_status.remove(number);
                }
                None => {}
            }
        }
        named
    }

    /// How far it is in a group; of a record that does not say so, as far as its last collective there.
    pub(super) fn status(&self, group: &str) -> Option<GroupStatus> {
        let by_newest = |newest: &NewestCollective| GroupStatus {
            last_enqueued_collective: newest.seq,
            last_completed_collective: newest.seq - i64::from(!newest.is_over),
        };
        let told = self.number_of(group).and_then(|number| self.pg_status.get(number)).cloned();
        told.or_else(|| self.collectives.newest.get(group).map(by_newest))
    }

    /// What it was in a group, such as `all_reduce`.
    pub(super) fn name_of(&self, group: &str, seq: i64) -> Option<&str> {
        self.collectives.newest.get(group).filter(|newest| newest.seq == seq).map(|newest| newest.name.as_str())
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
    pg_id: Option<i64>,
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

/// Of the collectives of each group the one with the highest number, and what groups are called.
fn newest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Collectives, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Collectives;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of collectives")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut collectives = Collectives::default();
            while let Some(entry) = entries.next_element::<Entry<'de>>()? {
                collectives.take(entry);
            }
            Ok(collectives)
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
        assert_eq!((record.name_of("1", 2), record.collectives.newest.len()), (Some("all_gather"), 2));
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

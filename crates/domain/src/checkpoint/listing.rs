//! A checkpoint folder as a node lists it: names, two levels deep, and nothing that is large.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What was seen of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// What lies directly in it, by name; Fermi's own folder is not among it.
    pub entries: BTreeMap<String, Entry>,
    /// The text of `latest`, as DeepSpeed writes it.
    pub latest: Option<String>,
    /// The text of `latest_checkpointed_iteration.txt`, as Megatron-LM writes it.
    pub latest_iteration: Option<String>,
}

/// A file or folder directly in a checkpoint folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was last changed, in nanoseconds by the disk's own clock; only compared for equality.
    pub modified_ns: u64,
    pub kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File {
        bytes: u64,
    },
    /// The names of what lies in it.
    Folder {
        names: BTreeSet<String>,
    },
}

/// Checkpoints that an attempt went back behind. They stay on the disk but are of a course that was given up: the same
/// step of two courses need not hold the same values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftBehind {
    /// The run that went back; to any other its own checkpoints are as good as ever.
    pub owner: String,
    /// When each was last changed: one that was written again counts again.
    pub entries: BTreeMap<String, u64>,
}

impl LeftBehind {
    /// What an attempt that goes on from this step, or from the beginning, leaves behind.
    pub fn after(listing: &Listing, owner: &str, step: Option<u64>) -> Self {
        let is_later = |name: &str| step_in_name(name).is_some_and(|of| step.is_none_or(|step| of > step));
        let later = listing.entries.iter().filter(|(name, _)| is_later(name));
        Self {
            owner: owner.to_owned(),
            entries: later.map(|(name, entry)| (name.clone(), entry.modified_ns)).collect(),
        }
    }
}

impl Listing {
    /// The same without what the run has left behind.
    pub fn without(mut self, left: &LeftBehind, owner: &str) -> Self {
        if left.owner == owner {
            self.entries.retain(|name, entry| left.entries.get(name) != Some(&entry.modified_ns));
        }
        self
    }
}

/// The last number in a name before its extension, such as 120 in `step-000120.pt`, `global_step120` or `iter_0000120`.
pub fn step_in_name(name: &str) -> Option<u64> {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
    stem.get(digits..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_the_last_number_of_a_name() {
        let cases = [
            ("step-000120.pt", Some(120)),
            ("step-7", Some(7)),
            ("global_step40", Some(40)),
            ("iter_0000300", Some(300)),
            ("checkpoint-500", Some(500)),
            ("42", Some(42)),
            ("latest", None),
            (".draft", None),
            ("step-99999999999999999999999", None),
            ("检查点-3", Some(3)),
        ];
        for (name, step) in cases {
            assert_eq!(step_in_name(name), step, "{name}");
        }
    }

    #[test]
    fn what_was_left_behind_counts_again_once_it_is_written_again_and_for_another_run() {
        let file = |modified_ns| Entry { modified_ns, kind: EntryKind::File { bytes: 1 } };
        let listing = |third| Listing {
            entries: [("step-1.pt", file(1)), ("step-2.pt", file(2)), ("step-3.pt", file(third))]
                .map(|(name, entry)| (name.to_owned(), entry))
                .into(),
            ..Listing::default()
        };
        let left = LeftBehind::after(&listing(3), "run", Some(1));
        assert_eq!(left.entries.keys().collect::<Vec<_>>(), ["step-2.pt", "step-3.pt"]);
        let names = |listing: Listing| listing.entries.into_keys().collect::<Vec<_>>();
        assert_eq!(names(listing(3).without(&left, "run")), ["step-1.pt"]);
        assert_eq!(names(listing(9).without(&left, "run")), ["step-1.pt", "step-3.pt"]);
        assert_eq!(names(listing(3).without(&left, "another")).len(), 3);
        assert_eq!(LeftBehind::after(&listing(3), "run", None).entries.len(), 3);
    }
}

//! The names by which things are told apart; each its own type, so that a rank is never passed as a node rank.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::language::{Explained, Text};

/// Declares an id that is an opaque string.
macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(pub String);

        impl $name {
            /// The id as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

/// Declares an id that is a number.
macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(pub $inner);

        impl $name {
            /// The bare number.
            pub fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

string_id!(
    /// Names a training task, such as `task-distributed-001`.
    TaskId
);
string_id!(
    /// Names an environment in requests, such as `env-001`; its readable name is separate and may change.
    EnvironmentId
);
string_id!(
    /// Names a group of workers.
    GroupId
);

number_id!(
    /// Who a process is among all processes of an attempt, from 0.
    Rank(u32)
);
number_id!(
    /// Who a process is among the processes of its node, from 0.
    LocalRank(u32)
);
number_id!(
    /// Which node of an attempt this is; the master is 0.
    NodeRank(u32)
);
number_id!(
    /// Grows with every instruction about a task, so that an agent can refuse one that comes late.
    Generation(u64)
);

/// Which launch of a task this is. Counts from 1; zero does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct AttemptNumber(u32);

impl AttemptNumber {
    /// The launch that every task begins with.
    pub const FIRST: Self = Self(1);

    /// Refuses zero, which would be a launch before the first.
    pub fn new(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// The bare number, at least 1.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The launch that would come after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// How many launches came before, which is what torch's restart counter holds.
    pub fn restarts(self) -> u32 {
        self.0 - 1
    }
}

impl TryFrom<u32> for AttemptNumber {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        Self::new(number).ok_or("attempts count from 1")
    }
}

impl From<AttemptNumber> for u32 {
    fn from(number: AttemptNumber) -> Self {
        number.0
    }
}

impl fmt::Display for AttemptNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A slot of a node, written `<node>-<index>`; the node's own name may hold hyphens, so the last one divides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkerId {
    node: String,
    index: u32,
}

/// Why a text is not a worker's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a worker: expected <node>-<index>, such as gn6-0")]
pub struct WorkerIdError {
    text: String,
}

impl Explained for WorkerIdError {
    fn id(&self) -> &'static str {
        "worker_invalid"
    }

    fn text(&self) -> Text {
        Text::new(format!("“{}”不是 Worker 名称：应为 <节点>-<编号>，例如 gn6-0", self.text), self.to_string())
    }
}

impl WorkerId {
    /// Names the slot `index` of `node`.
    pub fn new(node: impl Into<String>, index: u32) -> Self {
        Self { node: node.into(), index }
    }

    /// The node's name, hyphens and all.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Which slot of its node, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }
}

impl std::str::FromStr for WorkerId {
    type Err = WorkerIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || WorkerIdError { text: text.to_owned() };
        let (node, index) = text.rsplit_once('-').ok_or_else(refused)?;
        // `parse` alone would take "+0", and "00" would be a second name of worker 0.
        let plain = index.bytes().all(|byte| byte.is_ascii_digit()) && (index == "0" || !index.starts_with('0'));
        if node.is_empty() || !plain {
            return Err(refused());
        }
        Ok(Self { node: node.to_owned(), index: index.parse().map_err(|_| refused())? })
    }
}

impl TryFrom<String> for WorkerId {
    type Error = WorkerIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<WorkerId> for String {
    fn from(worker: WorkerId) -> Self {
        worker.to_string()
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-{}", self.node, self.index))
    }
}

/// Whether a text is an id of things whose ids begin so, or could become one: the prefix, a dash, digits.
pub fn is_id(text: &str, prefix: &str) -> bool {
    let digits = text.split_at_checked(prefix.len()).filter(|(start, _)| start.eq_ignore_ascii_case(prefix));
    let digits = digits.and_then(|(_, rest)| rest.strip_prefix('-'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_names() {
        for id in ["dataset-001", "Dataset-1", "dataset-123456"] {
            assert!(is_id(id, "dataset"), "{id}");
        }
        for name in ["dataset", "dataset-", "dataset-a1", "dataset1", "数据集-1", "my-dataset-1", ""] {
            assert!(!is_id(name, "dataset"), "{name}");
        }
    }

    #[test]
    fn a_worker_is_split_at_the_last_hyphen() {
        let worker: WorkerId = "node-1-0".parse().unwrap();
        assert_eq!((worker.node(), worker.index()), ("node-1", 0));
        assert_eq!(worker.to_string(), "node-1-0");
    }

    #[test]
    fn what_is_no_worker_is_refused_with_its_text() {
        for text in ["", "gn6", "-0", "gn6-", "gn6-x", "gn6-+1", "gn6-01", "gn6-99999999999"] {
            let refused = text.parse::<WorkerId>().unwrap_err();
            assert!(refused.to_string().contains(&format!("`{text}`")), "{text}");
            assert!(refused.text().zh.contains("gn6-0"));
        }
    }

    #[test]
    fn ids_travel_as_plain_json_values() {
        let worker = WorkerId::new("gn6", 3);
        assert_eq!(serde_json::to_string(&worker).unwrap(), "\"gn6-3\"");
        assert_eq!(serde_json::from_str::<WorkerId>("\"gn6-3\"").unwrap(), worker);
        assert_eq!(serde_json::to_string(&TaskId::from("task-1")).unwrap(), "\"task-1\"");
        assert_eq!(serde_json::to_string(&Rank(7)).unwrap(), "7");
    }

    #[test]
    fn attempts_count_from_one() {
        assert_eq!(AttemptNumber::new(0), None);
        assert!(serde_json::from_str::<AttemptNumber>("0").is_err());
        assert_eq!(AttemptNumber::FIRST.next().get(), 2);
        assert_eq!(AttemptNumber::FIRST.restarts(), 0);
    }
}

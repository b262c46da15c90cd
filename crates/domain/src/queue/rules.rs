//! What operators decide about the queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Seconds;

/// The rules of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct Rules {
    /// After this long what a user has used counts half.
    pub half_life: Seconds,
    /// The first task of a user that has been first for so long counts as one priority higher, after twice as long as two:
    /// nothing waits for ever. Never where it is absent.
    pub aging: Option<Seconds>,
    /// Those of a user of whom nothing else is said.
    pub limits: Limits,
    pub users: BTreeMap<String, UserRules>,
    pub preemption: Preemption,
    /// Who has waited for so long is told of, once. Never where it is absent.
    pub long_wait: Option<Seconds>,
}

/// What is said of one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct UserRules {
    /// How much of the cluster the user gets beside the others; 1 is usual.
    pub share: u32,
    /// In place of the usual ones.
    pub limits: Option<Limits>,
}

/// The most that a user may have at a time; absent is as much as there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct Limits {
    pub workers: Option<u32>,
    pub tasks: Option<u32>,
}

/// Whether a task may take the place of one that runs. Written as `off` or `{after: 120}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PreemptionText", rename_all = "snake_case")]
pub enum Preemption {
    #[default]
    Off,
    /// Of a lower priority and preemptible, which is asked to stop and has so long to end.
    After(Seconds),
}

/// `off` is a word, or what YAML takes the word for.
#[derive(Deserialize)]
#[serde(untagged)]
enum PreemptionText {
    After { after: Seconds },
    Off(Off),
    No(No),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Off {
    Off,
}

/// `false`, and nothing else.
#[derive(Deserialize)]
#[serde(try_from = "bool")]
struct No;

impl TryFrom<bool> for No {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        if value { Err("off, or after with a number of seconds") } else { Ok(Self) }
    }
}

impl From<PreemptionText> for Preemption {
    fn from(text: PreemptionText) -> Self {
        match text {
            PreemptionText::After { after } => Self::After(after),
            PreemptionText::Off(Off::Off) | PreemptionText::No(No) => Self::Off,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            half_life: Seconds(7 * 86_400),
            aging: Some(Seconds(86_400)),
            limits: Limits::default(),
            users: BTreeMap::new(),
            preemption: Preemption::Off,
            long_wait: Some(Seconds(1_800)),
        }
    }
}

impl Default for UserRules {
    fn default() -> Self {
        Self { share: 1, limits: None }
    }
}

impl Rules {
    /// Never 0, which would be no share at all.
    pub fn share(&self, owner: &str) -> u32 {
        self.users.get(owner).map_or(1, |user| user.share.max(1))
    }

    pub fn limits(&self, owner: &str) -> Limits {
        self.users.get(owner).and_then(|user| user.limits).unwrap_or(self.limits)
    }
}

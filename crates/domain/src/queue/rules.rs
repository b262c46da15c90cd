//! What operators decide about the queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    language::{Explained, Hint, Text},
    units::Seconds,
};

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

/// A rule under which nothing would ever start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesRefusal {
    /// Such as `users.alice.limits.tasks`.
    key: String,
    kind: ZeroKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZeroKind {
    Limit,
    Share,
    Time,
}

impl Rules {
    /// Refuses numbers that are 0: no task of the user would start, or no time would pass.
    pub fn check(&self) -> Result<(), RulesRefusal> {
        let refused = |key: String, kind| Err(RulesRefusal { key, kind });
        let zero = |limits: Limits| match limits {
            Limits { workers: Some(0), .. } => Some("workers"),
            Limits { tasks: Some(0), .. } => Some("tasks"),
            _ => None,
        };
        if let Some(what) = zero(self.limits) {
            return refused(format!("limits.{what}"), ZeroKind::Limit);
        }
        for (name, user) in &self.users {
            if user.share == 0 {
                return refused(format!("users.{name}.share"), ZeroKind::Share);
            }
            if let Some(what) = user.limits.and_then(zero) {
                return refused(format!("users.{name}.limits.{what}"), ZeroKind::Limit);
            }
        }
        let times = [("half_life", Some(self.half_life)), ("aging", self.aging)];
        match times.into_iter().find(|(_, time)| *time == Some(Seconds(0))) {
            Some((key, _)) => refused(key.to_owned(), ZeroKind::Time),
            None => Ok(()),
        }
    }
}

impl Explained for RulesRefusal {
    fn id(&self) -> &'static str {
        "queue_rule_zero"
    }

    fn field(&self) -> Option<String> {
        Some(format!("queue.{}", self.key))
    }

    fn text(&self) -> Text {
        let key = &self.key;
        match self.kind {
            ZeroKind::Limit => Text::new(
                format!("queue.{key} 为 0：任务永远不会启动"),
                format!("queue.{key} is 0: no task would ever start"),
            ),
            ZeroKind::Share => Text::new(
                format!("queue.{key} 为 0：该用户什么也得不到"),
                format!("queue.{key} is 0: the user would get nothing"),
            ),
            ZeroKind::Time => Text::new(format!("queue.{key} 不能为 0 秒"), format!("queue.{key} cannot be 0 seconds")),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self.kind {
            ZeroKind::Limit => Hint::new(
                "写 1 或更大的数；去掉该键则不限；要不让某人创建任务，把其角色设为 viewer",
                "write 1 or more; without the key there is no limit; who shall create no tasks is given the role viewer",
            ),
            ZeroKind::Share => Hint::new("写 1 或更大的数", "write 1 or more"),
            ZeroKind::Time => Hint::new("写秒数；去掉该键则用默认值", "write seconds; without the key it is the usual"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_under_which_nothing_starts_is_refused_by_its_key() {
        assert_eq!(Rules::default().check(), Ok(()));
        for (text, key) in [
            (r#"{"limits": {"workers": 0}}"#, "queue.limits.workers"),
            (r#"{"limits": {"tasks": 0}}"#, "queue.limits.tasks"),
            (r#"{"users": {"li": {"share": 0}}}"#, "queue.users.li.share"),
            (r#"{"users": {"li": {"limits": {"tasks": 0}}}}"#, "queue.users.li.limits.tasks"),
            (r#"{"half_life": 0}"#, "queue.half_life"),
            (r#"{"aging": 0}"#, "queue.aging"),
        ] {
            let rules: Rules = serde_json::from_str(text).unwrap();
            let refusal = rules.check().unwrap_err();
            assert_eq!(refusal.field().as_deref(), Some(key));
            assert!(refusal.text().en.contains(key) && refusal.hint().is_some());
        }
    }
}

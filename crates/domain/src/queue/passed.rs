//! The environments that a choice has passed over, and why: counted by kind, because a thousand sentences are none.

use std::collections::BTreeMap;

use super::moment::{Latest, written};
use crate::{environment::EnvironmentStatus, language::Text};

/// How many names stand for all of a kind.
pub(super) const NAMED: usize = 3;

/// Why an environment was not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    OtherGpu(Option<String>),
    OtherZone(Option<String>),
    /// It does not have this label with the value that is asked for.
    OtherLabel(String),
    NotServing(EnvironmentStatus),
    /// All its workers together are too few.
    TooFew(u32),
    /// It has too few free workers until then.
    Busy(Latest),
    /// Its free workers are kept for a task before this one.
    Kept,
    /// It has room, and another environment fits more closely.
    HasRoom,
}

impl Why {
    fn kind(&self) -> u8 {
        match self {
            Self::Busy(_) => 0,
            Self::Kept => 1,
            Self::HasRoom => 2,
            Self::TooFew(_) => 3,
            Self::NotServing(_) => 4,
            Self::OtherGpu(_) => 5,
            Self::OtherZone(_) => 6,
            Self::OtherLabel(_) => 7,
        }
    }

    /// What is true of all of its kind.
    fn heading(&self) -> Text {
        match self {
            Self::Busy(_) => Text::new("使用中", "busy"),
            Self::Kept => Text::new("留给排在前面的任务", "kept for a task before it"),
            Self::HasRoom => Text::new("空闲，但不如所选的合适", "free, but a less close fit"),
            Self::TooFew(_) => Text::new("Worker 太少", "with too few workers"),
            Self::NotServing(_) => Text::new("不可用", "out of service"),
            Self::OtherGpu(_) => Text::new("GPU 型号不符", "with another GPU"),
            Self::OtherZone(_) => Text::new("可用区不符", "in another zone"),
            Self::OtherLabel(_) => Text::new("标签不符", "without the label"),
        }
    }

    fn detail(&self) -> Option<Text> {
        let plain = |word: &str| Text::new(word.to_owned(), word.to_owned());
        match self {
            Self::Busy(Latest::At(at)) => {
                Some(Text::new(format!("最迟 {} 空出", written(*at)), format!("until {} at the latest", written(*at))))
            }
            Self::TooFew(workers) => Some(plain(&workers.to_string())),
            Self::NotServing(status) => Some(status.text()),
            Self::OtherGpu(model) => Some(model.as_deref().map_or(Text::new("无 GPU", "no GPU"), plain)),
            Self::OtherZone(zone) => zone.as_deref().map(plain),
            Self::OtherLabel(label) => Some(plain(label)),
            Self::Busy(Latest::Unknown) | Self::Kept | Self::HasRoom => None,
        }
    }
}

/// Environments that were passed over, by kind; the first of each kind by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    kinds: BTreeMap<u8, OfKind>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfKind {
    count: usize,
    first: Vec<(String, Why)>,
}

impl PassedOver {
    pub(super) fn add(&mut self, name: &str, why: Why) {
        let kind = self.kinds.entry(why.kind()).or_default();
        kind.count += 1;
        if kind.first.len() < NAMED {
            kind.first.push((name.to_owned(), why));
        }
    }

    /// So many of one kind, of which these are the first.
    pub(super) fn add_all(&mut self, count: usize, first: impl Iterator<Item = (String, Why)>) {
        let first: Vec<(String, Why)> = first.take(NAMED).collect();
        if let Some((_, why)) = first.first() {
            let kind = self.kinds.entry(why.kind()).or_default();
            kind.count += count;
            kind.first.extend(first);
            kind.first.truncate(NAMED);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// How many in all.
    pub fn count(&self) -> usize {
        self.kinds.values().map(|kind| kind.count).sum()
    }

    /// The first of each kind, by name.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Why)> {
        self.kinds.values().flat_map(|kind| kind.first.iter().map(|(name, why)| (name.as_str(), why)))
    }

    /// Such as `2 busy (gn7 until … at the latest, gn8), 1 with another GPU (gn9: A100)`.
    pub fn text(&self) -> Text {
        let kinds = self.kinds.values().filter_map(OfKind::text);
        let (zh, en): (Vec<_>, Vec<_>) = kinds.map(|text| (text.zh, text.en)).unzip();
        Text::new(zh.join("；"), en.join("; "))
    }
}

impl OfKind {
    fn text(&self) -> Option<Text> {
        let heading = self.first.first()?.1.heading();
        let (mut zh, mut en) = (Vec::new(), Vec::new());
        for (name, why) in &self.first {
            let detail = why.detail();
            zh.push(detail.as_ref().map_or(name.clone(), |detail| format!("{name} {}", detail.zh)));
            en.push(detail.as_ref().map_or(name.clone(), |detail| format!("{name} {}", detail.en)));
        }
        let more = if self.count > self.first.len() { " …" } else { "" };
        Some(Text::new(
            format!("{} 个{}（{}{more}）", self.count, heading.zh, zh.join("、")),
            format!("{} {} ({}{more})", self.count, heading.en, en.join(", ")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_busy_environments_are_one_clause() {
        let mut passed = PassedOver::default();
        assert!(passed.is_empty() && passed.text().en.is_empty());
        passed.add_all(1_000, (0..1_000).map(|number| (format!("gn{number}"), Why::Busy(Latest::At(number)))));
        passed.add("old", Why::OtherGpu(Some("V100".into())));
        passed.add("shut", Why::NotServing(EnvironmentStatus::Drained));
        assert_eq!(passed.count(), 1_002);
        assert_eq!(
            passed.text().en,
            "1000 busy (gn0 until 1970-01-01 00:00 UTC at the latest, gn1 until 1970-01-01 00:01 UTC at the latest, \
             gn2 until 1970-01-01 00:01 UTC at the latest …); 1 out of service (shut Drained); 1 with another GPU (old V100)"
        );
        assert!(passed.text().zh.contains("1 个GPU 型号不符（old V100）"), "{}", passed.text().zh);
    }
}

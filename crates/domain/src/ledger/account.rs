//! What a ledger says: shares of the whole, and the bar that people look at.

use serde::{Deserialize, Serialize};

use super::Cause;
use crate::language::Text;

/// Cells of the bar.
const BAR: u64 = 20;
/// How many causes are named beside the productive share; smaller ones than a hundredth never are.
const NAMED: usize = 5;

/// The time of a run by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub wall_ms: u64,
    /// The productive time first, then the largest; those without any are left out. They add up to the whole.
    pub causes: Vec<CauseTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CauseTime {
    pub cause: Cause,
    pub ms: u64,
}

impl Account {
    /// Sorted as people read it.
    pub fn new(mut causes: Vec<CauseTime>) -> Self {
        causes.retain(|time| time.ms > 0);
        causes.sort_by_key(|time| (time.cause != Cause::Productive, std::cmp::Reverse(time.ms), time.cause));
        Self { wall_ms: causes.iter().map(|time| time.ms).sum(), causes }
    }

    pub fn of(&self, cause: Cause) -> u64 {
        self.causes.iter().find(|time| time.cause == cause).map_or(0, |time| time.ms)
    }

    /// The part of the whole that was productive, from 0 to 1.
    pub fn productive_share(&self) -> f64 {
        self.part(self.of(Cause::Productive))
    }

    /// This time as a part of the whole, from 0 to 1.
    pub fn part(&self, ms: u64) -> f64 {
        if self.wall_ms == 0 { 0.0 } else { ms as f64 / self.wall_ms as f64 }
    }

    /// In thousandths of the whole.
    fn share(&self, ms: u64) -> u64 {
        (ms * 1_000).checked_div(self.wall_ms).unwrap_or(0)
    }

    /// The part of the bar that is filled, and the rest.
    pub fn bar(&self) -> (String, String) {
        let filled = (self.share(self.of(Cause::Productive)) * BAR + 500) / 1_000;
        let cells = |sign: &str, count: u64| sign.repeat(usize::try_from(count).unwrap_or(0));
        (cells("█", filled), cells("░", BAR - filled.min(BAR)))
    }

    /// What is said first: the productive share, or where no step was seen, that none was.
    fn leading(&self) -> Cause {
        let saw_nothing = self.of(Cause::Productive) == 0 && self.of(Cause::NoSteps) > 0;
        if saw_nothing { Cause::NoSteps } else { Cause::Productive }
    }

    /// The productive share, and what took the rest.
    pub fn text(&self) -> Text {
        let percent = |ms: u64| match self.share(ms) {
            whole if whole >= 100 => format!("{} %", (whole + 5) / 10),
            tenths => format!("{}.{} %", tenths / 10, tenths % 10),
        };
        let leading = self.leading();
        let (word, part) = (leading.text(), percent(self.of(leading)));
        let rest = self.causes.iter().filter(|time| time.cause != leading && self.share(time.ms) >= 10);
        let (mut zh, mut en) = (format!("{} {part}", word.zh), format!("{part} {}", word.en));
        for time in rest.take(NAMED) {
            let (word, part) = (time.cause.text(), percent(time.ms));
            zh.push_str(&format!(" · {} {part}", word.zh));
            en.push_str(&format!(" · {} {part}", word.en));
        }
        Text::new(zh, en)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(times: &[(Cause, u64)]) -> Account {
        Account::new(times.iter().map(|(cause, ms)| CauseTime { cause: *cause, ms: *ms }).collect())
    }

    #[test]
    fn the_productive_share_comes_first_and_small_causes_are_not_named() {
        let account = account(&[
            (Cause::Stop, 1),
            (Cause::Import, 400),
            (Cause::Init, 35),
            (Cause::Productive, 1_564),
            (Cause::Queue, 0),
        ]);
        assert_eq!(account.wall_ms, 2_000);
        assert_eq!(account.text().en, "78 % productive · import 20 % · init 1.7 %");
        assert_eq!(account.text().zh, "有效训练 78 % · 导入 20 % · 组建进程组 1.7 %");
        let (filled, rest) = account.bar();
        assert_eq!((filled.chars().count(), rest.chars().count()), (16, 4));
        assert_eq!(account.causes.len(), 4);
    }

    #[test]
    fn where_no_step_was_seen_that_is_said_first() {
        let silent = account(&[(Cause::Spawn, 30), (Cause::NoSteps, 970)]);
        assert_eq!(silent.text().en, "97 % running, no steps seen · spawn 3.0 %");
        assert_eq!(silent.text().zh, "运行中（未见训练步） 97 % · 启动进程 3.0 %");
        assert!(silent.bar().0.is_empty());
        let late = account(&[(Cause::NoSteps, 500), (Cause::Productive, 500)]);
        assert_eq!(late.text().en, "50 % productive · running, no steps seen 50 %");
    }

    #[test]
    fn a_run_without_time_has_an_empty_bar() {
        let none = account(&[]);
        assert_eq!(none.text().en, "0.0 % productive");
        assert!(none.bar().0.is_empty());
    }
}

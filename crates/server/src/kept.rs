//! What is kept, how much of it, and what was let go: the account of the retention, for those who look after the server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fermi_api::link::{KeptFolders, KeptThere};
use fermi_domain::language::Text;
use fermi_domain::retention::RetentionPolicy;
use fermi_domain::units::{Bytes, Seconds};

use crate::disk::Disk;

const DAY_MS: u64 = 24 * 3_600_000;

/// A kind of thing that grows with use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Logs,
    Snapshots,
    /// On machines.
    Sources,
    /// On machines.
    Outputs,
    Leftovers,
    Events,
    Answers,
    Samples,
    Database,
}

/// How much of a kind there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    pub count: u64,
    pub bytes: Option<u64>,
    /// Since the server started.
    pub removed: u64,
    pub removed_bytes: u64,
}

/// What the last look found. The time that is believed stands beside it.
#[derive(Debug, Default)]
pub struct Account(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stocks: BTreeMap<Kind, Stock>,
    believed_ms: Option<u64>,
}

impl Account {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn found(&self, kind: Kind, count: u64, bytes: Option<u64>) {
        let mut inner = self.inner();
        let stock = inner.stocks.entry(kind).or_default();
        (stock.count, stock.bytes) = (count, bytes);
    }

    pub fn removed(&self, kind: Kind, count: u64, bytes: u64) {
        let mut inner = self.inner();
        let stock = inner.stocks.entry(kind).or_default();
        stock.removed += count;
        stock.removed_bytes += bytes;
    }

    pub fn believe(&self, believed_ms: u64) {
        self.inner().believed_ms = Some(believed_ms);
    }

    pub fn believed_ms(&self) -> Option<u64> {
        self.inner().believed_ms
    }

    /// What is here and what is on machines, by kind.
    pub fn stocks(&self, there: &[KeptThere]) -> Vec<(Kind, Stock)> {
        let here = self.inner().stocks.clone();
        let of = |kind: Kind, folders: fn(&KeptThere) -> &KeptFolders| (kind, Stock::of(there.iter().map(folders)));
        let machines = [of(Kind::Sources, |there| &there.sources), of(Kind::Outputs, |there| &there.outputs)];
        here.into_iter().chain(machines).collect::<BTreeMap<_, _>>().into_iter().collect()
    }
}

impl Stock {
    /// Of all machines together. Where one has not counted its bytes, those of the others would mislead.
    fn of<'a>(folders: impl Iterator<Item = &'a KeptFolders>) -> Self {
        let nothing = Self { bytes: Some(0), ..Self::default() };
        folders.fold(nothing, |all, one| Self {
            count: all.count.saturating_add(one.count),
            bytes: all.bytes.zip(one.bytes).map(|(all, one)| all.saturating_add(one)),
            removed: all.removed.saturating_add(one.removed),
            removed_bytes: all.removed_bytes.saturating_add(one.removed_bytes),
        })
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Snapshots => "snapshots",
            Self::Sources => "sources",
            Self::Outputs => "outputs",
            Self::Leftovers => "leftovers",
            Self::Events => "events",
            Self::Answers => "answers",
            Self::Samples => "samples",
            Self::Database => "database",
        }
    }

    pub fn name(self) -> Text {
        match self {
            Self::Logs => Text::new("日志", "logs"),
            Self::Snapshots => Text::new("代码快照", "code"),
            Self::Sources => Text::new("机器上的代码", "code on machines"),
            Self::Outputs => Text::new("机器上的输出", "outputs on machines"),
            Self::Leftovers => Text::new("残留文件", "leftovers"),
            Self::Events => Text::new("事件", "events"),
            Self::Answers => Text::new("幂等应答", "answers"),
            Self::Samples => Text::new("机器指标", "samples"),
            Self::Database => Text::new("数据库", "database"),
        }
    }

    /// What is kept, and why.
    pub fn rule(self, policy: &RetentionPolicy, disk: &Disk) -> Text {
        let span = |span_ms: u64| span_ms.checked_div(DAY_MS).filter(|days| days * DAY_MS == span_ms && *days > 0);
        let zh = |span_ms| match span(span_ms) {
            Some(days) => format!("{days} 天"),
            None => Seconds(span_ms / 1_000).written(),
        };
        let en = |span_ms| match span(span_ms) {
            Some(1) => "1 day".to_owned(),
            Some(days) => format!("{days} days"),
            None => Seconds(span_ms / 1_000).written(),
        };
        let budgets = disk.budgets();
        match self {
            Self::Logs => {
                let (span, task, all) =
                    (policy.logs_ms, Bytes(budgets.per_task).rounded(), Bytes(budgets.in_all).rounded());
                Text::new(
                    format!(
                        "任务结束后保留 {}，每个任务至多 {task}，共至多 {all}；空间不足时先删最早结束的任务的日志",
                        zh(span)
                    ),
                    format!(
                        "{} after the end of their task, at most {task} of each and {all} in all; where room is short those of the task that ended first go",
                        en(span)
                    ),
                )
            }
            Self::Snapshots => Text::new(
                format!("有任务使用时保留，否则保留 {}", zh(policy.snapshots_ms)),
                format!("as long as a task refers to it, otherwise {}", en(policy.snapshots_ms)),
            ),
            // Agents have no settings of their own for it.
            Self::Sources => {
                let span = RetentionPolicy::default().snapshots_ms;
                Text::new(
                    format!("那里有运行使用时保留，否则保留 {}", zh(span)),
                    format!("as long as a run there refers to it, otherwise {}", en(span)),
                )
            }
            Self::Outputs => Text::new(
                "训练进程写出的文件与任务自己的代码副本，归任务所有者，Fermi 从不删除",
                "what ranks wrote and each task's own copy of its code: they are its owner's, and Fermi never removes them",
            ),
            Self::Leftovers => Text::new("未传完的文件，保留 1 天", "files that were never sent whole, 1 day"),
            Self::Events => {
                let (span, most) = (policy.events_ms, policy.most_events);
                Text::new(format!("{}，至多 {most} 条", zh(span)), format!("{}, at most {most}", en(span)))
            }
            Self::Answers => Text::new("供重复请求使用，保留 1 天", "for repeated requests, 1 day"),
            Self::Samples => Text::new("每个环境最近一小时", "the last hour of each environment"),
            Self::Database => Text::new(
                "任务、环境与事件；另为其预留磁盘空间",
                "tasks, environments and events; room on the disk is kept for it",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::DiskLimits;

    #[test]
    fn what_machines_keep_stands_beside_what_is_here() {
        let account = Account::default();
        account.found(Kind::Database, 3, Some(9));
        account.found(Kind::Logs, 1, Some(5));
        let folders = |count, bytes| KeptFolders { count, bytes, removed: 1, removed_bytes: 7 };
        let there = |bytes| KeptThere { sources: folders(2, Some(10)), outputs: folders(3, bytes) };
        let stocks = account.stocks(&[there(Some(100)), there(None)]);
        let kinds: Vec<Kind> = stocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [Kind::Logs, Kind::Sources, Kind::Outputs, Kind::Database]);
        assert_eq!(stocks[1].1, Stock { count: 4, bytes: Some(20), removed: 2, removed_bytes: 14 });
        assert_eq!((stocks[2].1.count, stocks[2].1.bytes), (6, None), "one machine has too many to count");
        let huge = KeptThere { outputs: folders(u64::MAX, Some(u64::MAX)), ..KeptThere::default() };
        assert_eq!(account.stocks(&[huge, huge])[2].1.bytes, Some(u64::MAX));
        assert_eq!(account.stocks(&[])[1].1, Stock { bytes: Some(0), ..Stock::default() });
    }

    #[test]
    fn every_rule_says_its_bound_in_both_languages() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), DiskLimits::default());
        let policy = RetentionPolicy { logs_ms: 90_000, events_ms: DAY_MS, ..RetentionPolicy::default() };
        let logs = Kind::Logs.rule(&policy, &disk);
        assert!(logs.en.starts_with("90 s after the end") && logs.zh.contains("保留 90 s"), "{logs:?}");
        assert!(Kind::Events.rule(&policy, &disk).en.starts_with("1 day, at most 2000000"));
        assert!(Kind::Snapshots.rule(&policy, &disk).en.ends_with("otherwise 7 days"));
        assert!(Kind::Sources.rule(&policy, &disk).zh.ends_with("否则保留 7 天"));
    }
}

//! What is kept, how much of it, and what was let go: the account of the retention, for those who look after the server.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fermi_domain::language::Text;
use fermi_domain::retention::RetentionPolicy;
use fermi_domain::units::Bytes;

use crate::disk::Disk;

/// A kind of thing that grows with use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Logs,
    Snapshots,
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

    pub fn stocks(&self) -> Vec<(Kind, Stock)> {
        self.inner().stocks.iter().map(|(kind, stock)| (*kind, *stock)).collect()
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Snapshots => "snapshots",
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
            Self::Leftovers => Text::new("残留文件", "leftovers"),
            Self::Events => Text::new("事件", "events"),
            Self::Answers => Text::new("幂等应答", "answers"),
            Self::Samples => Text::new("机器指标", "samples"),
            Self::Database => Text::new("数据库", "database"),
        }
    }

    /// What is kept, and why.
    pub fn rule(self, policy: &RetentionPolicy, disk: &Disk) -> Text {
        let days = |span_ms: u64| span_ms / (24 * 3_600_000);
        let budgets = disk.budgets();
        match self {
            Self::Logs => {
                let (days, task, all) =
                    (days(policy.logs_ms), Bytes(budgets.per_task).rounded(), Bytes(budgets.in_all).rounded());
                Text::new(
                    format!(
                        "任务结束后保留 {days} 天，每个任务至多 {task}，共至多 {all}；空间不足时先删最早结束的任务的日志"
                    ),
                    format!(
                        "{days} days after the end of their task, at most {task} of each and {all} in all; where room is short those of the task that ended first go"
                    ),
                )
            }
            Self::Snapshots => {
                let days = days(policy.snapshots_ms);
                Text::new(
                    format!("有任务使用时保留，否则保留 {days} 天"),
                    format!("as long as a task refers to it, otherwise {days} days"),
                )
            }
            Self::Leftovers => Text::new("未传完的文件，保留 1 天", "files that were never sent whole, 1 day"),
            Self::Events => {
                let (days, most) = (days(policy.events_ms), policy.most_events);
                Text::new(format!("{days} 天，至多 {most} 条"), format!("{days} days, at most {most}"))
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

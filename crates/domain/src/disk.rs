//! How full a disk is, and what may still be written to it: what ranks wrote gives way before the database does.

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// What a file system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    pub free: u64,
    pub size: u64,
}

/// How much of a disk is kept free for the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskReserve(pub u64);

impl DiskReserve {
    /// Where none was named.
    pub const USUAL: u64 = 256 << 20;

    /// On a small disk never more than an eighth of it.
    pub fn on(asked: Option<u64>, size: u64) -> Self {
        Self(asked.unwrap_or(Self::USUAL).min(size / 8))
    }
}

/// How hard-pressed a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskPressure {
    None,
    /// Less than twice the reserve is free: what is large is not kept any more.
    Low,
    /// Less than the reserve is free: only the database writes.
    Out,
}

impl DiskSpace {
    pub fn pressure(self, reserve: DiskReserve) -> DiskPressure {
        if self.free < reserve.0 {
            DiskPressure::Out
        } else if self.free < reserve.0.saturating_mul(2) {
            DiskPressure::Low
        } else {
            DiskPressure::None
        }
    }
}

/// How many bytes of logs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBudgets {
    pub per_task: u64,
    pub in_all: u64,
}

impl Default for LogBudgets {
    fn default() -> Self {
        Self { per_task: 8 << 30, in_all: 64 << 30 }
    }
}

/// What is kept already, and on which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogUse {
    pub task: u64,
    pub in_all: u64,
    pub space: DiskSpace,
    pub reserve: DiskReserve,
}

/// Why bytes of a stream were not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GapReason {
    /// The task has used up its budget.
    TaskBudget,
    /// All tasks together have used up theirs.
    Budget,
    DiskFull,
}

/// What becomes of a piece of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceFate {
    Kept,
    /// It counts as taken, so that its agent goes on, and leaves a gap.
    Dropped(GapReason),
}

/// What ranks report of their progress and what they were started with may go beyond a budget by this part of it: both outlive
/// a flood of output.
const SMALL_SHARE: u64 = 8;
/// What every task may keep while the disk is low, so that one that floods it costs the others nothing.
const SMALL: u64 = 1 << 20;

/// Judges a piece before it is written; `is_small` of a kind of stream that may go beyond a budget.
pub fn piece_fate(bytes: u64, is_small: bool, used: LogUse, budgets: LogBudgets) -> PieceFate {
    let widened = |budget: u64| if is_small { budget.saturating_add(budget / SMALL_SHARE) } else { budget };
    let small = SMALL.min(used.reserve.0 / 4);
    let is_full = match used.space.pressure(used.reserve) {
        DiskPressure::None => false,
        DiskPressure::Low => used.task.saturating_add(bytes) > small,
        DiskPressure::Out => true,
    };
    if is_full {
        PieceFate::Dropped(GapReason::DiskFull)
    } else if used.task.saturating_add(bytes) > widened(budgets.per_task) {
        PieceFate::Dropped(GapReason::TaskBudget)
    } else if used.in_all.saturating_add(bytes) > widened(budgets.in_all) {
        PieceFate::Dropped(GapReason::Budget)
    } else {
        PieceFate::Kept
    }
}

impl GapReason {
    pub fn cause(self) -> Text {
        match self {
            Self::TaskBudget => Text::new("任务的日志已达上限", "the task has reached its log budget"),
            Self::Budget => Text::new("全部日志已达上限", "all logs together have reached their budget"),
            Self::DiskFull => Text::new("服务器磁盘已满", "the server's disk is full"),
        }
    }

    /// What is told of a task when the first of its bytes are not kept.
    pub fn notice(self) -> Text {
        let cause = self.cause();
        Text::new(
            format!("之后的日志不再保存：{}；训练不受影响", cause.zh),
            format!("what ranks write from here on is not kept: {}; the training goes on", cause.en),
        )
    }

    /// The line that stands in a log where bytes are missing.
    pub fn line(self, bytes: u64) -> Text {
        let Text { zh, en } = self.cause();
        Text::new(
            format!("[fermi：此处有 {bytes} 字节未保存，{zh}]"),
            format!("[fermi: {bytes} bytes were not kept here, {en}]"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn used(task: u64, in_all: u64, free: u64) -> LogUse {
        LogUse { task, in_all, space: DiskSpace { free, size: 1_000 * MB }, reserve: DiskReserve(100 * MB) }
    }

    #[test]
    fn a_piece_is_kept_within_budgets_and_space() {
        let budgets = LogBudgets { per_task: 10 * MB, in_all: 100 * MB };
        let fate = |is_small, used| piece_fate(MB, is_small, used, budgets);
        use GapReason::{Budget, DiskFull, TaskBudget};
        use PieceFate::{Dropped, Kept};
        let cases = [
            ("all is well", false, used(0, 0, 500 * MB), Kept),
            ("just fits", false, used(9 * MB, 99 * MB, 500 * MB), Kept),
            ("the task is over", false, used(10 * MB, 10 * MB, 500 * MB), Dropped(TaskBudget)),
            ("its progress is not", true, used(10 * MB, 10 * MB, 500 * MB), Kept),
            ("its progress is too", true, used(11 * MB, 11 * MB, 500 * MB), Dropped(TaskBudget)),
            ("all are over", false, used(0, 100 * MB, 500 * MB), Dropped(Budget)),
            ("a small task on a low disk", false, used(0, 0, 150 * MB), Kept),
            ("a large task on a low disk", false, used(MB, MB, 150 * MB), Dropped(DiskFull)),
            ("nothing on a full disk", true, used(0, 0, 99 * MB), Dropped(DiskFull)),
        ];
        for (what, is_small, used, expected) in cases {
            assert_eq!(fate(is_small, used), expected, "{what}");
        }
    }

    #[test]
    fn the_reserve_is_no_more_than_an_eighth_of_a_disk() {
        assert_eq!(DiskReserve::on(None, 16 * MB), DiskReserve(2 * MB));
        assert_eq!(DiskReserve::on(None, 1_000_000 * MB), DiskReserve(256 * MB));
        assert_eq!(DiskReserve::on(Some(5 * MB), 1_000 * MB), DiskReserve(5 * MB));
    }

    #[test]
    fn a_gap_is_a_line_in_both_languages() {
        let line = GapReason::TaskBudget.line(7);
        assert_eq!(line.en, "[fermi: 7 bytes were not kept here, the task has reached its log budget]");
        assert_eq!(line.zh, "[fermi：此处有 7 字节未保存，任务的日志已达上限]");
    }
}

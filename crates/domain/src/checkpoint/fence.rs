//! The fence: a note beside the checkpoints that says which attempt of which run writes them.
//!
//! A generation that was given up because its nodes could not be reached may still run. Where it can see the checkpoints
//! it can see the fence of its successor, and ends.

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// Who writes into a checkpoint folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fence {
    /// The task or run, the same over all its generations.
    pub owner: String,
    pub generation: u64,
    pub attempt: u32,
    /// Whether its supervisor came to an end of its own; one that has not may still write.
    #[serde(default)]
    pub has_ended: bool,
}

/// What a fence that was found means for the attempt that looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceFinding {
    /// Ours is newer, or there is none that counts.
    Write,
    /// It is this very attempt's.
    Keep,
    /// A newer generation or attempt of the same run writes here: this one must end.
    YieldTo(Fence),
    /// Another run that has not ended writes here, or was killed.
    Foreign(Fence),
}

/// Compares the fence of an attempt with the one that was found.
pub fn compare(ours: &Fence, found: Option<&Fence>) -> FenceFinding {
    let Some(found) = found else { return FenceFinding::Write };
    if found.owner != ours.owner {
        return if found.has_ended { FenceFinding::Write } else { FenceFinding::Foreign(found.clone()) };
    }
    match (found.generation, found.attempt).cmp(&(ours.generation, ours.attempt)) {
        std::cmp::Ordering::Less => FenceFinding::Write,
        std::cmp::Ordering::Equal => FenceFinding::Keep,
        std::cmp::Ordering::Greater => FenceFinding::YieldTo(found.clone()),
    }
}

impl Fence {
    /// Why the ranks of an attempt end that finds this newer one.
    pub fn superseded(&self, folder: &str) -> Text {
        let Self { generation, attempt, .. } = self;
        Text::new(
            format!(
                "本任务的另一代（第 {generation} 代，第 {attempt} 次启动）正在写入检查点文件夹 {folder}，已立即结束本节点的 rank"
            ),
            format!(
                "another generation of this task ({generation}, attempt {attempt}) writes the checkpoints in {folder}: the ranks of \
                 this node were ended at once"
            ),
        )
    }

    /// What is said when this one is another run's.
    pub fn foreign(&self, folder: &str) -> Text {
        let owner = &self.owner;
        Text::new(
            format!(
                "检查点文件夹 {folder} 也被 {owner} 使用，且它没有正常结束；两个训练的检查点会混在一起，请给每个训练单独的文件夹"
            ),
            format!(
                "the checkpoint folder {folder} is used by {owner} too, which has not ended; the checkpoints of two \
                 trainings would mix, so give each its own folder"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(owner: &str, generation: u64, attempt: u32) -> Fence {
        Fence { owner: owner.into(), generation, attempt, has_ended: false }
    }

    #[test]
    fn a_newer_attempt_of_the_same_run_is_yielded_to_and_another_run_is_only_spoken_of() {
        let ours = fence("c/task-1", 2, 5);
        let ended = |fence: Fence| Fence { has_ended: true, ..fence };
        let cases = [
            (None, FenceFinding::Write),
            (Some(fence("c/task-1", 2, 5)), FenceFinding::Keep),
            (Some(ended(fence("c/task-1", 2, 5))), FenceFinding::Keep),
            (Some(fence("c/task-1", 2, 4)), FenceFinding::Write),
            (Some(fence("c/task-1", 1, 9)), FenceFinding::Write),
            (Some(fence("c/task-1", 2, 6)), FenceFinding::YieldTo(fence("c/task-1", 2, 6))),
            (Some(fence("c/task-1", 3, 1)), FenceFinding::YieldTo(fence("c/task-1", 3, 1))),
            (Some(ended(fence("c/task-1", 3, 1))), FenceFinding::YieldTo(ended(fence("c/task-1", 3, 1)))),
            (Some(fence("d/task-1", 9, 9)), FenceFinding::Foreign(fence("d/task-1", 9, 9))),
            (Some(ended(fence("d/task-1", 9, 9))), FenceFinding::Write),
        ];
        for (found, finding) in cases {
            assert_eq!(compare(&ours, found.as_ref()), finding, "{found:?}");
        }
    }
}

//! Ranks that have returned while others still needed them. Those say that a connection broke; the one that left is the cause.

use serde::{Deserialize, Serialize};

use super::{Diagnosis, FailureClass, Recurrence, Role};
use crate::hang::{Frame, listed, own_frame};
use crate::language::Text;

/// How far a rank had come when it ended, as its hook has told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reached {
    /// Optimizer steps; 0 where none was seen.
    pub steps: u64,
    /// How long before its end the script had come to its own.
    pub ending_ms: u64,
    /// Where its main thread was last seen, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// The collective in which it was, such as `all_reduce #61`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<String>,
}

/// The end of a rank, on the coordinator's clock.
#[derive(Clone, Copy, Debug)]
pub struct RankEnd<'a> {
    pub rank: u32,
    pub at_ms: u64,
    pub reached: &'a Reached,
}

/// Ranks that still need one that has left make so few steps without it: what they had begun, with several optimizers at most.
const STEPS_WITHOUT_IT: u64 = 4;
/// Where no steps are known, a connection that breaks so long after a return broke for another reason.
const BREAKS_WITHIN_MS: u64 = 10_000;
/// A rank closes its connections before its process has ended.
const ENDS_WITHIN_MS: u64 = 2_000;

/// Of the ranks that have returned 0 those for which the victims have failed, the first to return first.
pub fn returned_early<'a>(returned: &[RankEnd<'a>], victims: &[RankEnd<'a>]) -> Vec<RankEnd<'a>> {
    let Some(broke_ms) = victims.iter().map(|victim| victim.at_ms).min() else { return Vec::new() };
    let steps = victims.iter().map(|victim| victim.reached.steps).max().unwrap_or(0);
    let is_why = |end: &RankEnd<'_>| {
        let apart_ms = broke_ms.saturating_sub(end.at_ms);
        let is_missed = match (end.reached.steps, steps) {
            (0, _) | (_, 0) => apart_ms <= BREAKS_WITHIN_MS,
            (own, others) => others <= own.saturating_add(STEPS_WITHOUT_IT),
        };
        is_missed && end.at_ms <= broke_ms.saturating_add(ENDS_WITHIN_MS)
    };
    let mut early: Vec<RankEnd<'a>> = returned.iter().copied().filter(is_why).collect();
    early.sort_by_key(|end| (end.at_ms.saturating_sub(end.reached.ending_ms), end.rank));
    early
}

/// What is said of them; `line` is what the first victim has said of it.
pub fn diagnosis(early: &[RankEnd<'_>], victims: &[RankEnd<'_>], line: Option<String>) -> Diagnosis {
    let ranks: Vec<u32> = early.iter().map(|end| end.rank).collect();
    let who = listed(&ranks);
    let collective = victims.iter().find_map(|victim| victim.reached.collective.as_deref());
    let (in_zh, in_en) = match collective {
        Some(name) => (format!("（{name}）"), format!(" in {name}")),
        None => Default::default(),
    };
    let others = match victims.len() {
        1 => Text::new("1 个 rank ", "1 other rank"),
        more => Text::new(format!("{more} 个 rank "), format!("{more} other ranks")),
    };
    let place = early.first().and_then(|end| own_frame(&end.reached.frames));
    let (at_zh, at_en) = match place {
        Some(place) => (format!("；它最后位于 {place}"), format!("; it was last seen at {place}")),
        None => Default::default(),
    };
    Diagnosis {
        id: Diagnosis::EARLY_RETURN.into(),
        class: FailureClass::User,
        recurrence: Recurrence::MayPass,
        role: Role::Cause,
        cause: Text::new(
            format!("rank {who} 已正常返回（退出码 0），而另有 {}仍在等待它{in_zh}{at_zh}", others.zh),
            format!("rank {who} returned (exit code 0) while {} still waited for it{in_en}{at_en}", others.en),
        ),
        advice: Text::new(
            "让所有 rank 执行相同的步数：检查各 rank 的数据长度（DistributedSampler、drop_last），以及只有部分 rank 会走到的 return、break 或 sys.exit",
            "let all ranks make the same number of steps: see whether their data has the same length (DistributedSampler, \
             drop_last), and look for a return, break or sys.exit that only some ranks come to",
        ),
        line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(steps: u64, ending_ms: u64) -> Reached {
        Reached { steps, ending_ms, ..Reached::default() }
    }

    #[test]
    fn who_left_while_others_needed_it_is_told_from_who_was_done() {
        let table = [
            ("nobody returned", vec![], vec![(0, 100, 30)], vec![]),
            ("nobody failed", vec![(1, 100, 30, 0)], vec![], vec![]),
            ("one left, the others at the next step", vec![(1, 100, 30, 0)], vec![(0, 200, 30), (2, 210, 31)], vec![1]),
            ("steps of a minute", vec![(1, 100, 30, 0)], vec![(0, 60_100, 30)], vec![1]),
            ("one was done long before", vec![(1, 100, 30, 0)], vec![(0, 900, 60)], vec![]),
            ("no steps are known, and it breaks at once", vec![(1, 100, 0, 0)], vec![(0, 200, 0)], vec![1]),
            ("no steps are known, and it breaks much later", vec![(1, 100, 0, 0)], vec![(0, 20_000, 0)], vec![]),
            ("the interpreter took longer to end", vec![(1, 1_200, 30, 1_150)], vec![(0, 200, 30)], vec![1]),
            ("it returned after the others had failed", vec![(1, 9_000, 30, 0)], vec![(0, 200, 30)], vec![]),
            (
                "of two the one whose script ended first",
                vec![(2, 300, 30, 0), (1, 1_200, 30, 1_150)],
                vec![(0, 320, 30)],
                vec![1, 2],
            ),
        ];
        for (name, returned, victims, expected) in table {
            let returned: Vec<_> =
                returned.into_iter().map(|(rank, at, steps, ending)| (rank, at, reached(steps, ending))).collect();
            let victims: Vec<_> = victims.into_iter().map(|(rank, at, steps)| (rank, at, reached(steps, 0))).collect();
            let ends = |ends: &'static [(u32, u64, Reached)]| -> Vec<RankEnd<'static>> {
                ends.iter().map(|(rank, at_ms, reached)| RankEnd { rank: *rank, at_ms: *at_ms, reached }).collect()
            };
            let early = returned_early(&ends(returned.leak()), &ends(victims.leak()));
            assert_eq!(early.iter().map(|end| end.rank).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn it_is_told_with_its_last_line_and_with_what_the_others_were_in() {
        let frame = |file: &str, line| Frame { file: file.to_owned(), line, function: "train".to_owned() };
        let library = frame("/env/lib/python3.11/threading.py", 3);
        let left = Reached { frames: vec![library, frame("/home/me/train.py", 41)], ..reached(30, 0) };
        let waits = Reached { collective: Some("all_reduce #61".to_owned()), ..reached(30, 0) };
        let end = |rank, reached| RankEnd { rank, at_ms: 0, reached };
        let told = diagnosis(&[end(3, &left)], &[end(0, &waits), end(1, &waits)], None);
        assert_eq!(
            told.cause.en,
            "rank 3 returned (exit code 0) while 2 other ranks still waited for it in all_reduce #61; it was last seen at \
             train.py:41 (train)"
        );
        assert_eq!(
            told.cause.zh,
            "rank 3 已正常返回（退出码 0），而另有 2 个 rank 仍在等待它（all_reduce #61）；它最后位于 train.py:41 (train)"
        );
        let nothing = Reached::default();
        let told = diagnosis(&[end(3, &nothing)], &[end(0, &nothing)], None);
        assert_eq!(told.cause.en, "rank 3 returned (exit code 0) while 1 other rank still waited for it");
    }
}

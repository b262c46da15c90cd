//! Which of several failures came first.

use std::cmp::Reverse;

use super::Role;
use crate::ids::Rank;

/// One rank's failure, as the coordinator saw it. Ranks that Fermi itself stopped do not belong here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankFailure {
    pub rank: Rank,
    pub node: String,
    /// When it ended, on the coordinator's clock.
    pub at_ms: i64,
    /// How far off `at_ms` may be, either way.
    pub uncertainty_ms: u64,
    /// What its diagnosis said; none when there was no diagnosis.
    pub role: Option<Role>,
}

/// How long after a victim the rank that made it one may be seen to fail: a broken connection is noticed at once,
/// while the process that broke it may still be writing its traceback.
const VICTIM_FIRST_MS: i64 = 2_000;

/// The index of the failure that caused the others.
///
/// The first in time is the cause. Clocks differ, so among those that may have been first the evidence decides; and
/// a victim does not come first when a rank that is none failed within two seconds.
pub fn first_failure(failures: &[RankFailure]) -> Option<usize> {
    let earliest = failures.iter().min_by_key(|failure| (failure.at_ms, failure.rank))?;
    let may_be_first = |failure: &RankFailure| {
        let apart = failure.at_ms.saturating_sub(earliest.at_ms);
        let doubt = i64::try_from(failure.uncertainty_ms.saturating_add(earliest.uncertainty_ms)).unwrap_or(i64::MAX);
        let patience = match (earliest.role, failure.role) {
            (Some(Role::Victim), Some(Role::Cause) | None) => VICTIM_FIRST_MS,
            _ => 0,
        };
        apart <= doubt.saturating_add(patience)
    };
    failures
        .iter()
        .enumerate()
        .filter(|(_, failure)| may_be_first(failure))
        .min_by_key(|(_, failure)| (Reverse(weight(failure.role)), failure.at_ms, failure.rank))
        .map(|(index, _)| index)
}

fn weight(role: Option<Role>) -> u8 {
    match role {
        Some(Role::Cause) => 2,
        None => 1,
        Some(Role::Victim) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAUSE: Option<Role> = Some(Role::Cause);
    const VICTIM: Option<Role> = Some(Role::Victim);

    fn failure(rank: u32, at_ms: i64, uncertainty_ms: u64, role: Option<Role>) -> RankFailure {
        RankFailure { rank: Rank(rank), node: format!("gn{rank}"), at_ms, uncertainty_ms, role }
    }

    #[test]
    fn the_first_failure_is_chosen_by_time_then_by_evidence() {
        let table: [(&str, Vec<RankFailure>, Option<usize>); 11] = [
            ("nobody failed", vec![], None),
            ("one failed", vec![failure(3, 10, 0, VICTIM)], Some(0)),
            ("the earlier of two causes", vec![failure(0, 900, 1, CAUSE), failure(1, 100, 1, CAUSE)], Some(1)),
            ("a cause before its victim", vec![failure(0, 100, 1, CAUSE), failure(1, 150, 1, VICTIM)], Some(0)),
            ("a victim first, the cause soon", vec![failure(0, 100, 1, VICTIM), failure(1, 1_900, 1, CAUSE)], Some(1)),
            ("a victim first, one unknown soon", vec![failure(0, 100, 1, VICTIM), failure(1, 900, 1, None)], Some(1)),
            (
                "a victim first, a cause much later",
                vec![failure(0, 100, 1, VICTIM), failure(1, 2_200, 1, CAUSE)],
                Some(0),
            ),
            ("clocks in doubt, evidence decides", vec![failure(0, 100, 60, None), failure(1, 200, 60, CAUSE)], Some(1)),
            ("clocks sure, time decides", vec![failure(0, 100, 10, None), failure(1, 200, 10, CAUSE)], Some(0)),
            ("all are victims", vec![failure(2, 300, 5, VICTIM), failure(1, 100, 5, VICTIM)], Some(1)),
            ("the same moment, the lower rank", vec![failure(5, 100, 0, CAUSE), failure(4, 100, 0, CAUSE)], Some(1)),
        ];
        for (name, failures, expected) in table {
            assert_eq!(first_failure(&failures), expected, "{name}");
        }
    }

    #[test]
    fn absurd_clocks_do_not_overflow() {
        let failures = [failure(0, i64::MIN, u64::MAX, VICTIM), failure(1, i64::MAX, u64::MAX, CAUSE)];
        assert!(first_failure(&failures).is_some());
    }
}

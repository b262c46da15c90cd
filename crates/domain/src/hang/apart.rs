//! Ranks that stand while others of the run go on.

use std::collections::BTreeSet;

use super::sample::RankSample;
use super::standing::GroupStanding;

/// Those of the ranks that stand which wait for each other alone: in every group in which one of them waits all ranks are known
/// and stand too. Of those that wait nowhere the ones that have not come to such a group. Empty where that is nobody, or all.
pub(super) fn apart(samples: &[RankSample], stands: impl Fn(&RankSample) -> bool) -> BTreeSet<u32> {
    let mut standing: BTreeSet<u32> = samples.iter().filter(|sample| stands(sample)).map(|it| it.rank).collect();
    if standing.len() == samples.len() {
        return BTreeSet::new();
    }
    let of = |group: &GroupStanding| {
        let is_in = |sample: &&RankSample| sample.groups().iter().any(|own| own.group == group.group);
        samples.iter().filter(is_in).map(|sample| sample.rank).collect::<BTreeSet<u32>>()
    };
    let waited =
        |sample: &RankSample| sample.groups().iter().filter(|group| group.waits()).cloned().collect::<Vec<_>>();
    let waiting = || samples.iter().filter(|sample| sample.waits_in_collective());
    loop {
        let goes = waiting().find(|sample| {
            let groups = waited(sample);
            let is_closed = |group: &GroupStanding| {
                let members = of(group);
                members.len() == group.size && members.is_subset(&standing)
            };
            standing.contains(&sample.rank) && (groups.is_empty() || !groups.iter().all(is_closed))
        });
        match goes {
            Some(sample) => standing.remove(&sample.rank),
            None => break,
        };
    }
    let awaited: Vec<GroupStanding> = waiting().filter(|it| standing.contains(&it.rank)).flat_map(waited).collect();
    let is_late = |sample: &RankSample| {
        let behind = |own: &GroupStanding| awaited.iter().any(|it| it.group == own.group && own.begun < it.begun);
        sample.groups().iter().any(behind)
    };
    let is_one =
        |sample: &&RankSample| standing.contains(&sample.rank) && (sample.waits_in_collective() || is_late(sample));
    samples.iter().filter(is_one).map(|sample| sample.rank).collect()
}

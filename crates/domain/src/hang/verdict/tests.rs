use super::*;
use crate::hang::{GroupStanding, Work};
use crate::pulse::{Pulse, PulseWord, WORDS};

/// A group by its first rank and size, and how far a rank is in it.
type Standing = (&'static str, u32, usize, u64, u64);

/// A rank that steps, with its groups; where it waits it is in an `all_reduce`.
fn rank(rank: u32, groups: &[Standing]) -> RankSample {
    let group = |(name, first, size, begun, ended): &Standing| GroupStanding {
        group: format!("{name}/{first}"),
        name: (*name).to_owned(),
        ranks: (*first..*first + *size as u32).collect(),
        size: *size,
        is_default: *name == "0",
        begun: *begun,
        ended: *ended,
        has_messages: false,
    };
    let groups: Vec<GroupStanding> = groups.iter().map(group).collect();
    let pending = |group: &GroupStanding| Collective {
        seq: group.begun,
        name: "all_reduce".to_owned(),
        sizes: "4".to_owned(),
        group: group.group.clone(),
        done: false,
    };
    let collectives = groups.iter().filter(|group| group.waits()).map(pending).collect();
    let mut words = [0; WORDS];
    words[PulseWord::Magic as usize] = u64::from_le_bytes(*b"FERMIPLS");
    words[PulseWord::Version as usize] = 1;
    words[PulseWord::Phase as usize] = 4;
    words[PulseWord::Enqueued as usize] = groups.iter().map(|group| group.begun).sum();
    words[PulseWord::Completed as usize] = groups.iter().map(|group| group.ended).sum();
    RankSample {
        rank,
        pid: 100,
        pulse: Pulse::read(&words),
        state: b'S',
        tracer: None,
        work: Some(Work { collectives, groups, ..Work::default() }),
    }
}

fn case(samples: &[RankSample]) -> HangCase {
    HangCase::of(samples, &[], &Demand::new())
}

fn english(case: &HangCase) -> String {
    case.text(2_000, &BTreeMap::new()).en.into_owned()
}

#[test]
fn a_rank_that_is_behind_in_its_own_group_is_named_and_not_those_of_groups_with_fewer_collectives() {
    // Tensor parallel pairs, of which one has made many more collectives; rank 3 does not come to the data parallel group.
    let samples = [
        rank(0, &[("tp", 0, 2, 600, 600), ("0", 0, 4, 11, 10)]),
        rank(1, &[("tp", 0, 2, 600, 600), ("0", 0, 4, 11, 10)]),
        rank(2, &[("tp", 2, 2, 40, 40), ("0", 0, 4, 11, 10)]),
        rank(3, &[("tp", 2, 2, 40, 40), ("0", 0, 4, 10, 10)]),
    ];
    let case = case(&samples);
    assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::NotEntered, &vec![3], 3));
    let said = "rank 3 has not entered all_reduce #11 of the default group for 2.0 s, and 3 others wait in it";
    assert_eq!(english(&case), said);
}

#[test]
fn who_waits_in_another_group_is_held_up_by_somebody_there() {
    // 0 and 1 wait for each other's pairs at the end of a chain: 0 for 2 in `dp`, 2 for 3 in `tp`, and 3 sleeps.
    let samples = [
        rank(0, &[("tp", 0, 2, 40, 40), ("dp", 0, 3, 9, 8)]),
        rank(1, &[("tp", 0, 2, 41, 40)]),
        rank(2, &[("tp", 2, 2, 41, 40), ("dp", 0, 3, 8, 8)]),
        rank(3, &[("tp", 2, 2, 40, 40)]),
    ];
    let case = case(&samples);
    assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::NotEntered, &vec![3], 1));
    let said = english(&case);
    assert!(said.starts_with("rank 3 has not entered all_reduce #41 of group tp (ranks 2, 3)"), "{said}");
}

#[test]
fn one_collective_too_many_in_a_group_is_the_fault_of_who_has_made_it() {
    let samples = [
        rank(0, &[("1", 0, 2, 62, 61), ("0", 0, 4, 60, 60)]),
        rank(1, &[("1", 0, 2, 61, 61), ("0", 0, 4, 61, 60)]),
        rank(2, &[("2", 2, 2, 61, 61), ("0", 0, 4, 61, 60)]),
        rank(3, &[("2", 2, 2, 61, 61), ("0", 0, 4, 61, 60)]),
    ];
    let case = case(&samples);
    assert_eq!((case.kind, &case.ranks), (HangKind::NotEntered, &vec![0]));
    let said = "rank 0 has not entered all_reduce #61 of the default group for 2.0 s, and 3 others wait in it; \
                rank 0 itself waits in all_reduce #62 of group 1 (ranks 0, 1)";
    assert_eq!(english(&case), said);
    let zh = case.text(2_000, &BTreeMap::new()).zh;
    assert!(zh.contains("没有进入 默认进程组的 all_reduce #61，另有 3 个 rank 在等待"), "{zh}");
}

#[test]
fn ranks_that_wait_for_each_other_are_all_named_with_what_each_has_entered() {
    let samples = [rank(0, &[("a", 0, 2, 5, 4), ("b", 0, 2, 3, 3)]), rank(1, &[("a", 0, 2, 4, 4), ("b", 0, 2, 4, 3)])];
    let case = case(&samples);
    assert_eq!((case.kind, &case.ranks), (HangKind::Mismatched, &vec![0, 1]));
    let said = "ranks wait in different collectives for 2.0 s: rank 0 all_reduce #5 (group a), \
                rank 1 all_reduce #4 (group b)";
    assert_eq!(english(&case), said);
}

#[test]
fn a_rank_that_does_not_tell_of_its_groups_and_waits_nowhere_is_late() {
    let mut silent = rank(1, &[]);
    let samples = [rank(0, &[("0", 0, 2, 5, 4)]), silent.clone()];
    assert_eq!(case(&samples).ranks, [1]);
    // As does one that has been sent a message and not taken it.
    let of_messages = |sample: &mut RankSample| {
        sample.work.iter_mut().flat_map(|work| &mut work.groups).for_each(|group| group.has_messages = true);
    };
    let mut waits = rank(0, &[("pp", 0, 2, 7, 6)]);
    silent = rank(1, &[("pp", 0, 2, 7, 7)]);
    of_messages(&mut waits);
    of_messages(&mut silent);
    let found = case(&[waits, silent]);
    assert_eq!((found.kind, found.ranks), (HangKind::NotEntered, vec![1]));
}

#[test]
fn what_ranks_of_other_nodes_wait_for_is_compared_in_its_group() {
    let samples = [rank(0, &[("0", 0, 4, 9, 9), ("tp", 0, 2, 90, 90)]), rank(1, &[("0", 0, 4, 9, 9)])];
    let told: Demand = [("0/0".to_owned(), 10), (String::new(), 900), ("tp/2".to_owned(), 95)].into();
    let found = HangCase::of(&samples, &[], &told);
    assert_eq!((found.kind, &found.ranks, found.waiting_elsewhere), (HangKind::NotEntered, &vec![0, 1], true));
    let elsewhere: Demand = [(String::new(), 900), ("tp/2".to_owned(), 95)].into();
    assert_eq!(HangCase::of(&samples, &[], &elsewhere).kind, HangKind::Asleep, "it is no group of theirs");
}

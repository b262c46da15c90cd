//! Two nodes with two ranks each: what the first one tells of all of them, and what it leaves to the node that sees it.

use super::*;
use crate::hang::GroupStanding;

const ANSWERS_AFTER_MS: u64 = 800;

/// The ranks 0 and 1, and 2 and 3, whose watches hear of each other.
struct Nodes {
    jobs: [Job; 2],
    asked_ms: Option<u64>,
    /// The second node's release does not tell how its ranks stand.
    is_older: bool,
    /// The second node has something to tell by itself.
    tells_second: bool,
}

impl Nodes {
    fn under_way() -> Self {
        let mut jobs = [Job::under_way(2), Job::under_way(2)];
        jobs[1].ranks.iter_mut().for_each(|sample| sample.rank += 2);
        for job in &mut jobs {
            job.watch.elsewhere = Elsewhere::with(2);
            // All stand still from now on.
            job.held = vec![9];
        }
        Self { jobs, asked_ms: None, is_older: false, tells_second: false }
    }

    /// What the watch of the first node concludes within so long; the second one must not.
    fn judged(&mut self, ms: u64, change: impl Fn(&mut RankSample)) -> Option<(u64, HangCase)> {
        let began = self.jobs[0].now_ms;
        while self.jobs[0].now_ms < began + ms {
            let mut told = Vec::new();
            for (number, job) in self.jobs.iter_mut().enumerate() {
                job.now_ms += LOOK_MS;
                job.advance();
                job.ranks.iter_mut().for_each(&change);
                let step = job.watch.look(&job.ranks, &job.ended, TELL, job.now_ms);
                match step {
                    Some(HangStep::Judge { case, .. }) if number == 0 => return Some((job.now_ms - began, *case)),
                    Some(HangStep::Suspect { of_all, .. }) if number == 0 => {
                        self.asked_ms = of_all.then_some(job.now_ms).or(self.asked_ms);
                    }
                    _ if number == 1 && self.tells_second => {}
                    step => assert_eq!((number, step), (number, None)),
                }
                told.push(job.watch.tell_others(&job.ranks, job.now_ms));
            }
            let [first, second] = &mut self.jobs;
            for demand in told.into_iter().flatten() {
                first.watch.hear_of_others(demand.clone());
                second.watch.hear_of_others(demand);
            }
            let standing = second.watch.standing(&second.ranks, &second.ended, second.now_ms).unwrap_or_default();
            let is_asked = self.asked_ms.is_some_and(|asked| first.now_ms >= asked + ANSWERS_AFTER_MS);
            if !self.is_older {
                first.watch.hear_of_node(1, NodeStanding { is_asked, ..standing }, first.now_ms);
            }
        }
        None
    }

    fn both(&mut self, change: fn(&mut Job)) {
        self.jobs.iter_mut().for_each(change);
    }
}

fn in_group(sample: &mut RankSample, groups: &[(&str, u64, u64)]) {
    let Some(work) = &mut sample.work else { return };
    let group = |(name, begun, ended): &(&str, u64, u64)| GroupStanding {
        group: (*name).to_owned(),
        name: (*name).to_owned(),
        ranks: vec![0, 1, 2, 3],
        size: 4,
        is_default: *name == "0",
        begun: *begun,
        ended: *ended,
        has_messages: false,
    };
    work.groups = groups.iter().map(group).collect();
    let waits = work.groups.iter().filter(|group| group.waits());
    work.collectives = waits.map(|group| collective(group.begun, "all_reduce", &group.group)).collect();
}

fn collective(seq: u64, name: &str, group: &str) -> Collective {
    Collective { seq, name: name.to_owned(), sizes: "4".to_owned(), group: group.to_owned(), done: false }
}

#[test]
fn ranks_of_two_nodes_that_wait_for_each_other_are_named_with_what_each_waits_in() {
    let mut nodes = Nodes::under_way();
    let found = nodes.judged(8_000, |sample| match sample.rank {
        0 | 3 => in_group(sample, &[("0", 11, 10)]),
        1 => in_group(sample, &[("0", 10, 10), ("g", 4, 3), ("h", 3, 3)]),
        _ => in_group(sample, &[("0", 10, 10), ("g", 3, 3), ("h", 4, 3)]),
    });
    let (after_ms, case) = found.unwrap();
    assert_eq!((case.kind, &case.ranks, case.is_of_all), (HangKind::NotEntered, &vec![1, 2], true));
    assert!(after_ms <= 5_000, "{after_ms}");
    let said = case.text(2_000, &BTreeMap::new()).en;
    let expected = "ranks 1, 2 have not entered all_reduce #11 of the default group for 2.0 s, and 2 others wait in it; \
                    rank 1 itself waits in all_reduce #4 of group g (ranks 0, 1, 2, 3)";
    assert_eq!(said, expected);

    let mut nodes = Nodes::under_way();
    let (_, case) = nodes
        .judged(8_000, |sample| match sample.rank {
            0 | 1 => in_group(sample, &[("g", 4, 3), ("h", 3, 3)]),
            _ => in_group(sample, &[("g", 3, 3), ("h", 4, 3)]),
        })
        .unwrap();
    assert_eq!((case.kind, &case.ranks), (HangKind::Mismatched, &vec![0, 1, 2, 3]));
    let said = case.text(2_000, &BTreeMap::new()).en;
    assert!(said.contains("rank 0, 1 all_reduce #4 (group g), rank 2, 3 all_reduce #4 (group h)"), "{said}");
}

#[test]
fn nodes_whose_ranks_have_entered_different_collectives_are_told_apart() {
    let mut nodes = Nodes::under_way();
    let (_, case) = nodes
        .judged(8_000, |sample| {
            if let Some(work) = sample.work.as_mut().filter(|_| sample.rank >= 2) {
                work.collectives = vec![collective(111, "broadcast", "0")];
            }
        })
        .unwrap();
    assert_eq!((case.kind, case.is_of_all, &case.ranks), (HangKind::Mismatched, true, &vec![0, 1, 2, 3]));
    let said = case.text(2_000, &BTreeMap::new()).en;
    assert!(said.contains("#111") && said.contains("rank 0, 1 all_reduce, rank 2, 3 broadcast"), "{said}");
}

#[test]
fn silence_of_all_and_ranks_that_all_sleep_are_told_once_all_nodes_say_so() {
    let mut silent = Nodes::under_way();
    let (after_ms, case) = silent.judged(30_000, |_| {}).unwrap();
    assert_eq!((case.kind, &case.ranks), (HangKind::Silent, &vec![0, 1, 2, 3]));
    assert!((10_000..15_000).contains(&after_ms), "{after_ms}");

    let mut asleep = Nodes::under_way();
    asleep.both(|job| job.held = job.ranks.iter().map(|sample| sample.rank).collect());
    let (after_ms, case) = asleep.judged(60_000, |_| {}).unwrap();
    assert_eq!((case.kind, &case.ranks), (HangKind::Asleep, &vec![0, 1, 2, 3]));
    assert!(after_ms >= 30_000, "{after_ms}");

    let mut left = Nodes::under_way();
    left.jobs[0].ended = vec![0, 1];
    left.jobs[0].ranks.clear();
    let (_, case) = left.judged(8_000, |_| {}).unwrap();
    assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::Left, &vec![0, 1], 2));
}

#[test]
fn what_another_node_sees_alone_is_told_there() {
    let mut nodes = Nodes::under_way();
    nodes.tells_second = true;
    let found = nodes.judged(60_000, |sample| {
        if let Some(work) = sample.work.as_mut().filter(|_| sample.rank == 3) {
            work.collectives = vec![collective(111, "broadcast", "0")];
        }
    });
    assert_eq!(found, None);
}

#[test]
fn what_is_not_known_of_all_or_works_is_no_hang_of_all() {
    let mut older = Nodes::under_way();
    older.is_older = true;
    assert_eq!(older.judged(600_000, |_| {}), None, "nothing is known of the other node");

    let mut computes = Nodes::under_way();
    (computes.jobs[1].held, computes.jobs[1].busy) = (vec![2], vec![2]);
    assert_eq!(computes.judged(600_000, |_| {}), None, "an evaluation on rank 2");

    let mut moves = Nodes::under_way();
    moves.jobs[1].held.clear();
    assert_eq!(moves.judged(600_000, |_| {}), None, "the other node goes on");

    let mut without_hook = Nodes::under_way();
    without_hook.jobs[1].ranks[0].pulse = None;
    assert_eq!(without_hook.judged(600_000, |_| {}), None);

    let mut cut_off = Nodes::under_way();
    let found = cut_off.judged(30_000, |sample| {
        if let Some(work) = sample.work.as_mut().filter(|_| sample.rank == 0) {
            work.unanswered = vec![Unanswered::Elsewhere([10, 0, 0, 7].into())];
        }
    });
    assert!(!found.unwrap().1.is_of_all, "the network's affair is told where it is seen");
}

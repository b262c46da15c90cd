//! Two pairs of ranks in one run: the first goes on, the second may stand.

use super::*;
use crate::hang::GroupStanding;

/// What the second pair is in, by whether its ranks have entered the last collective of their group.
fn look(job: &mut Job, standing: Option<[bool; 2]>) -> Option<HangStep> {
    job.now_ms += LOOK_MS;
    job.advance();
    let steps = job.now_ms / STEP_MS;
    for (at, sample) in job.ranks.iter_mut().enumerate() {
        let Some(pulse) = &mut sample.pulse else { continue };
        let has_entered = standing.filter(|_| at >= 2).map(|entered| entered[at - 2]);
        if has_entered.is_some() {
            // It has stood since step 500.
            (pulse.steps, pulse.last_step_ns) = (500, 500 * STEP_MS * 1_000_000);
        }
        let ended = if has_entered.is_some() { 500 } else { steps };
        let begun = ended + u64::from(has_entered == Some(true));
        (pulse.enqueued, pulse.completed) = (begun, ended);
        let Some(work) = &mut sample.work else { continue };
        let (name, first) = if at < 2 { ("1", 0) } else { ("2", 2) };
        let group = |name: &str, first: u32, size: u32, (begun, ended): (u64, u64)| GroupStanding {
            group: format!("{name}/{first}/0"),
            name: name.to_owned(),
            ranks: (first..first + size).collect(),
            size: size as usize,
            is_default: name == "0",
            begun,
            ended,
            has_messages: false,
        };
        work.groups = vec![group("0", 0, 4, (7, 7)), group(name, first, 2, (begun, ended))];
        let (sizes, name, group) = ("4".to_owned(), "all_reduce".to_owned(), format!("{name}/{first}/0"));
        let pending = Collective { seq: begun, name, sizes, group, done: false };
        work.collectives = if ended < begun { vec![pending] } else { Vec::new() };
    }
    job.watch.look(&job.ranks, &[], TELL, job.now_ms)
}

fn judged(standing: [bool; 2], within_ms: u64, busy: &[u32]) -> Option<(u64, HangCase, Job)> {
    let mut job = Job::new(4);
    while job.now_ms < 50_000 {
        assert_eq!(look(&mut job, None), None);
    }
    job.busy = busy.to_vec();
    while job.now_ms < 50_000 + within_ms {
        match look(&mut job, Some(standing)) {
            Some(HangStep::Judge { case, .. }) => return Some((job.now_ms - 50_000, *case, job)),
            Some(HangStep::Suspect { .. }) | None => {}
            step => panic!("{step:?}"),
        }
    }
    None
}

#[test]
fn a_group_that_stands_while_others_go_on_is_told_and_passes_when_it_moves() {
    let (after_ms, case, mut job) = judged([true, false], 20_000, &[]).unwrap();
    assert_eq!((case.kind, &case.ranks, case.waiting), (HangKind::NotEntered, &vec![3], 1));
    assert!((10_000..13_000).contains(&after_ms), "{after_ms}");
    let said = case.text(after_ms, &BTreeMap::new()).en;
    assert!(said.starts_with("rank 3 has not entered all_reduce #501 of group 2 (ranks 2, 3) for "), "{said}");
    assert_eq!(look(&mut job, Some([true, false])), None);
    assert!(matches!(look(&mut job, None), Some(HangStep::Passed { .. })));

    let (_, case, _) = judged([true, true], 20_000, &[]).unwrap();
    assert_eq!((case.kind, &case.ranks), (HangKind::Silent, &vec![2, 3]));
    let said = case.text(11_000, &BTreeMap::new()).en;
    assert!(said.starts_with("ranks 2, 3 are in all_reduce #501 of group 2 (ranks 2, 3)"), "{said}");
}

#[test]
fn who_computes_while_others_go_on_and_ranks_that_wait_for_nobody_are_left_alone() {
    assert!(judged([true, false], 600_000, &[3]).is_none(), "it computes for ten minutes");
    assert!(judged([false, false], 600_000, &[]).is_none(), "no one waits");
}

#[test]
fn who_waits_for_a_rank_that_goes_on_does_not_hang() {
    // Rank 0 goes on in its own group, and has not come to that of all.
    let mut job = Job::new(4);
    while job.now_ms < 600_000 {
        let is_late = job.now_ms >= 50_000;
        job.now_ms += LOOK_MS;
        job.advance();
        for (at, sample) in job.ranks.iter_mut().enumerate().filter(|_| is_late) {
            let Some(pulse) = &mut sample.pulse else { continue };
            if at > 0 {
                (pulse.steps, pulse.enqueued, pulse.completed) = (500, 501, 500);
            }
            let Some(work) = &mut sample.work else { continue };
            let (group, name, ranks) = ("0/0/0".to_owned(), "0".to_owned(), (0..4).collect());
            let (begun, ended) = if at > 0 { (501, 500) } else { (500, 500) };
            work.groups = vec![GroupStanding {
                group,
                name,
                ranks,
                size: 4,
                is_default: true,
                begun,
                ended,
                has_messages: false,
            }];
        }
        assert_eq!(job.watch.look(&job.ranks, &[], TELL, job.now_ms), None);
    }
}

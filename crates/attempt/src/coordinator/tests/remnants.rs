//! What may still live of an attempt that is over.

use super::*;

/// The text of a restart that is held back, and for how long at most.
fn held_back(effects: &[RunEffect]) -> Option<(u64, &str)> {
    effects.iter().find_map(|effect| match effect {
        RunEffect::Tell(RunEvent::RestartHeldBack { at_most_ms, text, .. }) => Some((*at_most_ms, &*text.en)),
        _ => None,
    })
}

fn assembles(effects: &[RunEffect]) -> bool {
    wants(effects, &RunEffect::Assemble)
}

/// The ranks of the first node have ended, and it is swept: only then another attempt could begin.
fn first_node_is_swept(run: &mut Coordinator, now_ms: u64) -> Vec<RunEffect> {
    run.on(killed_by_us(0), now_ms);
    run.on(killed_by_us(1), now_ms);
    run.on(SWEPT, now_ms)
}

#[test]
fn an_elastic_run_waits_until_the_ranks_of_a_node_whose_link_has_closed_must_have_ended() {
    for loss in [Loss::SupervisorDied, Loss::LinkForged, Loss::LeaseEnded] {
        let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
        run.on(RunInput::NodeLost { node: 1, loss, may_run_until_ms: 15_000 }, 50);
        let effects = first_node_is_swept(&mut run, 60);
        assert!(!assembles(&effects), "{loss:?}: {effects:?}");
        let (at_most_ms, text) = held_back(&effects).unwrap_or_else(|| panic!("{loss:?}: no reason in {effects:?}"));
        assert_eq!(at_most_ms, 14_940);
        assert!(text.starts_with("gn7 is out of reach"), "{text}");
        assert_eq!(run.wake_at(), Some(15_000));
        assert_eq!(run.on(RunInput::TimePassed, 14_999), []);
        assert_eq!(run.on(RunInput::TimePassed, 15_000), [RunEffect::Assemble]);
    }
}

#[test]
fn a_node_that_is_lost_while_the_others_stop_or_are_swept_is_waited_for_too() {
    let beginnings: [fn(&mut Coordinator); 2] = [
        |run| {
            run.on(failed(0), 10);
        },
        |run| {
            run.on(failed(0), 10);
            for rank in 1..4 {
                run.on(killed_by_us(rank), 11);
            }
        },
    ];
    for begin in beginnings {
        let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
        begin(&mut run);
        run.on(RunInput::NodeLost { node: 1, loss: Loss::SupervisorDied, may_run_until_ms: 9_000 }, 50);
        let effects = first_node_is_swept(&mut run, 60);
        assert!(!assembles(&effects) && held_back(&effects).is_some(), "{effects:?}");
        assert!(assembles(&run.on(RunInput::TimePassed, 9_000)));
    }
}

#[test]
fn a_node_that_has_answered_the_sweep_has_no_ranks_to_wait_for() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
    run.on(failed(0), 10);
    for rank in 1..4 {
        run.on(killed_by_us(rank), 11);
    }
    run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 12);
    run.on(RunInput::NodeLost { node: 1, loss: Loss::SupervisorDied, may_run_until_ms: 9_000 }, 13);
    assert!(assembles(&run.on(SWEPT, 14)));
}

#[test]
fn a_back_off_that_is_longer_is_not_prolonged_by_a_node_out_of_reach() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(9) });
    for at in (0..5).map(|failure| failure * 21_000) {
        run.on(failed(0), at + 10);
        for rank in 1..4 {
            run.on(killed_by_us(rank), at + 11);
        }
        run.on(SWEPT, at + 12);
        run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, at + 12);
        let begins = at + 20_000;
        run.on(RunInput::TimePassed, begins);
        run.on(RunInput::Assembled { nodes: two_nodes() }, begins);
        run.on(found(0, true, []), begins);
        assert!(started(&run.on(found(1, true, []), begins)).is_some());
    }
    run.on(RunInput::NodeLost { node: 1, loss: Loss::SupervisorDied, may_run_until_ms: 106_000 }, 105_010);
    let effects = first_node_is_swept(&mut run, 105_020);
    assert_eq!(held_back(&effects), None);
    assert_eq!(run.wake_at(), Some(121_020), "the sixth failure in a row waits for 16 s");
    assert!(assembles(&run.on(RunInput::TimePassed, 121_020)));
}

#[test]
fn who_asks_for_the_end_does_not_wait_for_a_node_out_of_reach() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
    run.on(RunInput::NodeLost { node: 1, loss: Loss::SupervisorDied, may_run_until_ms: 15_000 }, 50);
    first_node_is_swept(&mut run, 60);
    let last = run.on(RunInput::StopAsked { signal: SIGINT }, 70);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

/// What the first node answers to a sweep that has left these.
fn still_there(pids: &[i32]) -> RunInput {
    RunInput::Reported { node: 0, report: NodeReport::StillThere { pids: pids.to_vec() } }
}

#[test]
fn no_attempt_begins_beside_processes_that_cannot_be_killed() {
    let mut run = run_of(1, policy(1));
    run.on(failed(0), 10);
    let effects = run.on(still_there(&[4711, 4712]), 5_010);
    assert!(!wants(&effects, &RunEffect::SurveyCheckpoints { attempt: 2 }), "{effects:?}");
    let (at_most_ms, text) = held_back(&effects).unwrap_or_else(|| panic!("no reason in {effects:?}"));
    assert_eq!(at_most_ms, 60_000);
    assert!(text.starts_with("processes of attempt 1 cannot be killed: gn6 (4711, 4712)"), "{text}");
    assert_eq!(run.on(RunInput::TimePassed, 60_000), []);
    assert_eq!(run.on(SWEPT, 61_000), [RunEffect::SurveyCheckpoints { attempt: 2 }]);
}

#[test]
fn of_many_processes_that_cannot_be_killed_some_are_named() {
    let mut run = run_of(1, policy(1));
    run.on(failed(0), 10);
    let effects = run.on(still_there(&(1..=1_000).collect::<Vec<i32>>()), 5_010);
    let (_, text) = held_back(&effects).unwrap_or_else(|| panic!("no reason in {effects:?}"));
    assert!(text.contains("gn6 (1, 2, 3, 4, 5, 6, 7, 8, …);"), "{text}");
}

#[test]
fn processes_that_never_die_end_the_run_with_its_verdict_and_the_reason() {
    let mut run = run_of(1, policy(1));
    run.on(failed(0), 10);
    run.on(still_there(&[4711]), 5_010);
    assert_eq!(run.wake_at(), Some(65_010));
    let last = run.on(RunInput::TimePassed, 65_010);
    let is_refused = |effect: &RunEffect| {
        matches!(effect, RunEffect::Tell(RunEvent::RestartRefused { reason: GiveUp::StillThere, .. }))
    };
    assert!(last.iter().any(is_refused), "{last:?}");
    assert_eq!(outcome(&last), Some((Outcome::Failed, VerdictKind::RankFailed, Some(0))));
}

#[test]
fn an_end_does_not_wait_for_processes_that_cannot_be_killed() {
    let mut run = run_of(1, policy(1));
    run.on(ended(0, Exit::SUCCESS, ""), 10);
    assert_eq!(outcome(&run.on(still_there(&[4711]), 11)).map(|o| o.0), Some(Outcome::Succeeded));
    let mut run = run_of(1, policy(1));
    run.on(failed(0), 10);
    run.on(RunInput::StopAsked { signal: SIGINT }, 11);
    let last = run.on(still_there(&[4711]), 12);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

#[test]
fn a_node_whose_processes_cannot_be_killed_and_that_is_lost_is_never_taken_for_swept() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
    run.on(failed(0), 10);
    for rank in 1..4 {
        run.on(killed_by_us(rank), 11);
    }
    run.on(SWEPT, 12);
    run.on(RunInput::Reported { node: 1, report: NodeReport::StillThere { pids: vec![9] } }, 13);
    assert_eq!(run.on(RunInput::NodeLost { node: 1, loss: Loss::Silent, may_run_until_ms: 30_000 }, 30_000), []);
    let last = run.on(RunInput::TimePassed, 60_013);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Failed));
}

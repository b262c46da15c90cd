//! A task that gives way, comes to its limit, or waits again.

use super::*;

fn gives_way() -> TaskInput {
    TaskInput::GiveWay { reason: Text::new("让位", "gives way") }
}

#[test]
fn a_task_that_gives_way_is_stopped_and_waits_again_as_one_that_did() {
    let mut play = Play::running(0);
    play.play(gives_way());
    assert_eq!((play.task.phase, play.task.desired_states()[0]), (TaskPhase::Stopping, DesiredState::Stop));
    play.ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser).swept();
    assert_eq!((play.task.phase, play.task.gave_way, play.task.resume), (TaskPhase::Initializing, true, true));
    play.placed();
    assert!(!play.task.gave_way && play.task.placed_ms == Some(play.now));
}

#[test]
fn one_that_is_killed_because_it_gives_way_too_slowly_waits_again_whoever_goes_last() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut play = Play::running(0);
        play.play(gives_way()).play(TaskInput::GiveWayOverdue);
        assert_eq!(play.task.desired_states(), [DesiredState::Kill; 3]);
        order.into_iter().for_each(|node| {
            play.gone(node);
        });
        assert_eq!(play.task.phase, TaskPhase::Initializing, "{order:?}");
    }
}

#[test]
fn a_stop_by_its_user_wins_over_giving_way() {
    let mut play = Play::running(0);
    play.play(gives_way()).play(TaskInput::StopAsked(StopIntent::by_user(false))).play(TaskInput::GiveWayOverdue);
    assert_eq!(play.task.stop, Some(StopIntent::by_user(false)));
    play.swept();
    assert_eq!(play.task.phase, TaskPhase::Stopped);
    // And the other way round.
    let mut play = Play::running(0);
    play.play(TaskInput::StopAsked(StopIntent::by_user(false))).play(gives_way()).play(TaskInput::GiveWayOverdue);
    play.swept();
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

#[test]
fn one_that_finishes_while_it_shall_give_way_is_not_run_again() {
    let mut play = Play::running(0);
    play.play(gives_way()).ended(Outcome::Succeeded, VerdictKind::Succeeded).swept();
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
    assert_eq!(play.task.verdict.as_ref().unwrap().kind, VerdictKind::Succeeded);
}

#[test]
fn a_machine_that_is_lost_while_the_task_gives_way_lets_it_wait_again() {
    let mut play = Play::running(0);
    play.play(gives_way()).gone(1).gone(2).play(TaskInput::NodeLost { node: NodeRank(0) });
    assert_eq!(play.task.phase, TaskPhase::Initializing);
}

#[test]
fn a_time_limit_counts_from_the_workers_and_ends_with_its_own_verdict() {
    let mut play = Play::running(0);
    play.task.spec.policies.time_limit = Some(Seconds(60));
    assert!(!play.task.is_over_limit(59_999) && play.task.is_over_limit(60_000));
    play.play(TaskInput::TimeLimitReached);
    assert_eq!(play.task.phase, TaskPhase::Stopping);
    play.ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser).swept();
    let kind = &play.task.verdict.as_ref().unwrap().kind;
    assert_eq!((play.task.phase, kind), (TaskPhase::Stopped, &VerdictKind::TimeLimitReached { limit: Seconds(60) }));
    // Another launch has as long again.
    assert!(!play.task.is_over_limit(60_000), "it has no workers");
    let placed = play.task.placed_ms;
    play.play(TaskInput::RestartAsked).placed();
    assert!(play.task.placed_ms > placed);
}

#[test]
fn one_that_is_stopped_to_wait_again_is_not_over() {
    for (input, waits_again) in [
        (gives_way(), true),
        (TaskInput::RestartAsked, true),
        (TaskInput::StopAsked(StopIntent::by_user(false)), false),
    ] {
        let mut play = Play::running(0);
        play.play(input);
        let stopped = RunEvent::RunEnded {
            outcome: Outcome::Stopped { signal: 15 },
            attempts: 1,
            verdict: Box::new(Verdict::of(VerdictKind::StoppedByUser)),
        };
        let told = TaskInput::Journal { node: NodeRank(0), time_ms: play.now, event: Box::new(stopped) };
        let notes = play.task.apply(told, play.now);
        let end = notes.iter().find_map(|note| note.detail.as_ref()?.end.clone()).unwrap();
        assert_eq!((play.task.phase, end.waits_again), (TaskPhase::Stopped, waits_again));
    }
}

#[test]
fn each_wait_is_told_and_marked_anew() {
    let mut play = Play::new(0);
    let reason = || Text::new("等", "wait");
    let wait = |play: &mut Play| {
        play.play(TaskInput::MustWait { reason: reason() }).play(TaskInput::FirstInLine);
        play.play(TaskInput::WaitsLong { reason: reason() }).play(TaskInput::WaitsLong { reason: reason() });
        assert!(play.task.told_long_wait && play.task.first_in_line);
    };
    wait(&mut play);
    play.play(TaskInput::StopAsked(StopIntent::by_user(false))).play(TaskInput::RestartAsked);
    assert_eq!((play.task.phase, play.task.first_in_line), (TaskPhase::Initializing, false));
    wait(&mut play);
    assert_eq!(play.kinds.iter().filter(|kind| **kind == "task.waits_long").count(), 2);
}

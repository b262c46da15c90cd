//! A task that is asked to stop, in whatever it is doing.

use super::*;

#[test]
fn a_stop_goes_to_the_coordinator_and_a_forced_one_to_all() {
    let mut play = Play::running(0);
    play.play(TaskInput::StopAsked(StopIntent::by_user(false)));
    assert_eq!(
        (play.task.phase, play.task.desired_states()),
        (TaskPhase::Stopping, vec![DesiredState::Stop, DesiredState::Rest, DesiredState::Rest])
    );
    play.play(TaskInput::StopAsked(StopIntent::by_user(true)));
    assert_eq!(play.task.desired_states(), [DesiredState::Kill; 3]);
    play.swept();
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

#[test]
fn ranks_that_end_with_a_stop_have_not_failed_however_it_came_to_its_end() {
    let stopped = |play: &mut Play, force| {
        play.play(TaskInput::StopAsked(StopIntent::by_user(force)));
        assert!(play.task.ends_on_request(1), "before the coordinator says so");
    };
    let mut orderly = Play::running(0);
    assert!(!orderly.task.ends_on_request(1));
    stopped(&mut orderly, false);
    orderly.ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser).swept();
    let mut forced = Play::running(0);
    stopped(&mut forced, true);
    forced.swept();
    let mut again = Play::running(0);
    again.play(TaskInput::RestartAsked);
    again.ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser).swept();
    for play in [&orderly, &forced, &again] {
        assert!(play.task.ends_on_request(1) && !play.task.ends_on_request(2), "{:?}", play.task.attempts);
    }
    let mut failed = Play::running(0);
    failed.ended(Outcome::Failed, VerdictKind::RankFailed).swept();
    assert!(!failed.task.ends_on_request(1));
}

#[test]
fn a_task_in_the_queue_stops_at_once() {
    let mut play = Play::new(0);
    play.play(TaskInput::MustWait { reason: Text::new("等", "wait") });
    play.play(TaskInput::StopAsked(StopIntent::by_user(false)));
    assert_eq!(play.task.phase, TaskPhase::Stopped);
    assert!(play.task.is_swept());
}

#[test]
fn a_stop_while_the_first_node_is_being_started_kills_what_may_have_begun() {
    let mut play = Play::new(0);
    play.placed();
    play.play(TaskInput::StopAsked(StopIntent::by_user(false)));
    assert_eq!(play.task.desired_states(), [DesiredState::Kill, DesiredState::Rest, DesiredState::Rest]);
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

#[test]
fn a_restart_of_a_running_task_goes_through_stop_and_queue() {
    let mut play = Play::running(0);
    play.play(TaskInput::RestartAsked);
    assert_eq!(play.task.phase, TaskPhase::Stopping);
    play.ended(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser);
    assert_eq!(play.task.phase, TaskPhase::Stopped, "its processes may still be there");
    play.swept();
    assert_eq!((play.task.phase, play.task.stop, play.task.resume), (TaskPhase::Initializing, None, true));
    play.placed();
    assert_eq!(play.task.generation.0, 2);
}

#[test]
fn a_stop_of_a_task_whose_coordinator_died_ends_when_the_last_node_is_swept() {
    let mut play = Play::running(2);
    play.gone(0).play(TaskInput::StopAsked(StopIntent::by_user(false)));
    assert_eq!(play.task.phase, TaskPhase::Stopping);
    play.gone(1).gone(2);
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

#[test]
fn ranks_that_return_zero_because_they_were_asked_to_stop_have_not_succeeded() {
    let mut play = Play::running(0);
    play.play(TaskInput::StopAsked(StopIntent::by_user(false)));
    for rank in 0..6 {
        let event = RunEvent::RankExited { attempt: 1, rank, local_rank: rank % 2, pid: 100, exit: Exit::SUCCESS };
        play.told(rank / 2, event);
    }
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

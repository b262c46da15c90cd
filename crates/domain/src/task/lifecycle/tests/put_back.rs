//! An older state of the database was put back, or the clock was set.

use super::*;
use crate::{
    fleet::{History, Origin},
    ids::Generation,
};

fn forgotten(node: u32) -> TaskInput {
    TaskInput::Forgotten { node: NodeRank(node) }
}

fn kind(play: &Play) -> Option<VerdictKind> {
    play.task.verdict.as_ref().map(|verdict| verdict.kind.clone())
}

/// It has succeeded since the backup, and its agent was told to forget it then.
#[test]
fn a_run_that_ended_in_the_time_that_was_lost_is_not_run_again_by_itself() {
    let mut play = Play::running(3);
    play.play(forgotten(0));
    assert_eq!(play.task.phase, TaskPhase::Running, "the other nodes may know how it ended");
    play.play(forgotten(1)).play(forgotten(2)).play(forgotten(2));
    assert_eq!((play.task.phase, play.task.generation.0), (TaskPhase::Failed, 1));
    assert_eq!(kind(&play), Some(VerdictKind::ResultUnknown { node: "a".into() }));
    play.now += 600_000;
    play.play(TaskInput::TimePassed);
    assert_eq!((play.task.phase, play.task.restart_at_ms), (TaskPhase::Failed, None));
}

/// Members that were to be started when the backup was made have nobody to go to.
#[test]
fn no_member_is_started_for_a_coordinator_that_is_forgotten() {
    let mut play = Play::new(3);
    play.placed().run_started(0);
    assert_eq!(play.task.desired_states()[1..], [DesiredState::Launch; 2]);
    play.play(forgotten(0));
    assert_eq!(play.task.desired_states()[1..], [DesiredState::Kill; 2]);
    play.gone(1).gone(2);
    assert_eq!(kind(&play), Some(VerdictKind::ResultUnknown { node: "a".into() }));
}

#[test]
fn the_end_of_a_task_is_taken_from_the_database_of_before() {
    let backup = Play::running(3).task;
    let mut done = Play::running(3);
    let verdict = Box::new(Verdict::of(VerdictKind::Succeeded));
    done.told(0, RunEvent::RunEnded { outcome: Outcome::Succeeded, attempts: 1, verdict });
    let mut restored = backup.clone();
    let told = restored.take_end_of(&done.task).unwrap();
    assert_eq!((told.kind, restored.phase), ("task.succeeded", TaskPhase::Succeeded));
    let change = told.detail.unwrap().phase.unwrap();
    assert_eq!((change.from, change.to), (TaskPhase::Running, TaskPhase::Succeeded));
    assert_eq!(restored.take_end_of(&done.task), None, "once");

    let mut none = backup.clone();
    assert_eq!(none.take_end_of(&backup), None, "it still ran");
    let mut again = done.task.clone();
    again.stop = Some(StopIntent::to_restart(true));
    assert_eq!(none.take_end_of(&again), None, "it was about to be run again");
    let other = Task { created_ms: done.task.created_ms + 1, ..done.task.clone() };
    assert_eq!(none.take_end_of(&other), None, "another task");
    let mut later = Task { generation: Generation(9), ..backup.clone() };
    assert_eq!(later.take_end_of(&done.task), None, "an end of an earlier launch");
    assert_eq!(none, backup);
}

/// A backup was put back twice; in between a run of the state that was lost first was set aside, and its task was stopped.
#[test]
fn an_end_that_is_taken_over_does_not_claim_runs_that_were_set_aside() {
    let backup = Play::new(3);
    let mut between = Play { task: backup.task.clone(), now: 0, kinds: Vec::new() };
    let run: RunKey = "task-1-g1-n0-i1".parse().unwrap();
    assert!(between.task.pass_over(&run) && !between.task.pass_over(&run), "once");
    between.play(TaskInput::StopAsked(StopIntent::by_user(true)));
    let mut restored = backup.task.clone();
    assert!(restored.take_end_of(&between.task).is_some());
    let origin = |run: &RunKey| History::default().origin(run, &[], Some(&restored), 1);
    assert_eq!((restored.generation.0, origin(&run)), (1, Origin::Stray));
    assert_eq!(origin(&"task-1-g0-n0-i1".parse().unwrap()), Origin::Past);
    assert!(!Play::running(3).task.pass_over(&"task-1-g9-n0-i1".parse().unwrap()), "it is taken up instead");
}

#[test]
fn a_clock_that_was_set_makes_nothing_longer() {
    let mut play = Play::running(0);
    let (placed_ms, since_ms) = (play.task.placed_ms.unwrap(), play.task.phase_since_ms.unwrap());
    play.play(TaskInput::ClockSet { by_ms: 10_800_000 });
    assert_eq!(play.task.placed_ms, Some(placed_ms), "it began after the clock was set");
    play.now += 10_800_000;
    play.play(TaskInput::ClockSet { by_ms: 10_800_000 });
    assert_eq!(play.task.placed_ms, Some(placed_ms + 10_800_000));
    play.play(TaskInput::ClockSet { by_ms: -10_800_000 });
    assert_eq!((play.task.placed_ms, play.task.phase_since_ms), (Some(placed_ms), Some(since_ms)));
}

/// The lease of its run ended while nothing was heard of it, and its journal tells why once it is back.
#[test]
fn an_attempt_is_told_to_have_failed_once() {
    let mut play = Play::running(0);
    play.play(TaskInput::NodeLost { node: NodeRank(0) });
    let verdict = Box::new(Verdict::of(VerdictKind::supervisor_lost("a")));
    play.told(0, RunEvent::AttemptFailed { attempt: 1, verdict });
    assert_eq!(play.kinds.iter().filter(|kind| **kind == "attempt.failed").count(), 1);
}

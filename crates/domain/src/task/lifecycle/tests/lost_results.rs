//! The run was brought to its end on its first node, and the disk there has kept neither journal nor result.

use super::*;

fn ended_in_order(node: u32) -> TaskInput {
    TaskInput::Gone { node: NodeRank(node), lease: None, in_order: true }
}

fn verdict(play: &Play) -> VerdictKind {
    play.task.verdict.as_ref().map(|verdict| verdict.kind.clone()).unwrap()
}

fn returned_zero(play: &mut Play, node: u32) {
    for rank in [2 * node, 2 * node + 1] {
        let exit = Exit::Code { code: 0 };
        play.told(node, RunEvent::RankExited { attempt: 1, rank, local_rank: rank % 2, pid: 100, exit });
    }
}

#[test]
fn a_result_that_nobody_knows_is_a_verdict_of_its_own_and_no_second_run() {
    let mut play = Play::running(3);
    play.play(ended_in_order(0));
    assert_eq!(play.task.phase, TaskPhase::Running, "the others may know how it ended");
    assert_eq!(play.task.desired_states(), [DesiredState::Rest; 3]);
    assert!(play.task.reason.as_ref().unwrap().en.contains("its result could not be kept"), "{:?}", play.task.reason);
    play.gone(1).gone(2);
    assert_eq!((play.task.phase, verdict(&play)), (TaskPhase::Failed, VerdictKind::ResultUnknown { node: "a".into() }));
    for _ in 0..3 {
        play.now += 600_000;
        play.play(TaskInput::TimePassed);
    }
    assert_eq!((play.task.phase, play.task.generation.0), (TaskPhase::Failed, 1));
    play.play(TaskInput::RestartAsked);
    assert_eq!(play.task.phase, TaskPhase::Initializing, "who wants it can start it again");
}

#[test]
fn a_lost_result_is_known_where_another_node_or_the_exits_tell_it() {
    let mut by_member = Play::running(3);
    by_member.play(ended_in_order(0));
    let verdict_of = |kind| Box::new(Verdict::of(kind));
    let ended = |outcome, kind| RunEvent::RunEnded { outcome, attempts: 1, verdict: verdict_of(kind) };
    by_member.told(1, ended(Outcome::Succeeded, VerdictKind::Succeeded));
    assert_eq!(by_member.task.phase, TaskPhase::Succeeded);

    let mut failed = Play::running(3);
    // Its own end, which it concluded when its link closed, says nothing of the run.
    let own = RunEvent::RunEnded {
        outcome: Outcome::Failed,
        attempts: 0,
        verdict: verdict_of(VerdictKind::supervisor_lost("a")),
    };
    failed.play(ended_in_order(0)).told(2, own);
    assert_eq!(failed.task.phase, TaskPhase::Running);
    failed.told(1, ended(Outcome::Failed, VerdictKind::RankFailed));
    assert_eq!((failed.task.phase, verdict(&failed)), (TaskPhase::Failed, VerdictKind::RankFailed));

    let mut by_exits = Play::running(3);
    (0..3).for_each(|node| returned_zero(&mut by_exits, node));
    by_exits.play(ended_in_order(0)).gone(1).gone(2);
    assert_eq!((by_exits.task.phase, verdict(&by_exits)), (TaskPhase::Succeeded, VerdictKind::Succeeded));
}

#[test]
fn what_other_nodes_have_told_before_counts_once_the_first_has_ended() {
    let told = |outcome, kind| {
        let mut play = Play::running(3);
        let end = RunEvent::RunEnded { outcome, attempts: 1, verdict: Box::new(Verdict::of(kind)) };
        play.told(1, end).gone(1).gone(2);
        assert_eq!(play.task.phase, TaskPhase::Running, "its own journal may bring more");
        play.play(ended_in_order(0));
        assert_eq!(play.task.told_end, None);
        (play.task.phase, verdict(&play))
    };
    let failed = told(Outcome::Failed, VerdictKind::RankFailed);
    assert_eq!(failed, (TaskPhase::Failed, VerdictKind::RankFailed));
    let stopped = told(Outcome::Stopped { signal: 15 }, VerdictKind::StoppedByUser);
    assert_eq!(stopped, (TaskPhase::Stopped, VerdictKind::StoppedByUser));

    let mut killed = Play::running(1);
    let end = Box::new(Verdict::of(VerdictKind::RankFailed));
    killed.told(1, RunEvent::RunEnded { outcome: Outcome::Failed, attempts: 1, verdict: end });
    killed.gone(1).gone(2).gone(0);
    assert_eq!((killed.task.generation.0, &killed.task.told_end), (2, &None), "another launch has another end");
}

#[test]
fn a_machine_that_is_lost_behind_a_lost_result_starts_no_second_run() {
    let mut play = Play::running(3);
    play.play(ended_in_order(0)).gone(1).play(TaskInput::NodeLost { node: NodeRank(2) });
    assert_eq!((play.task.phase, verdict(&play)), (TaskPhase::Failed, VerdictKind::ResultUnknown { node: "a".into() }));
}

#[test]
fn a_stop_behind_a_lost_result_is_a_stop() {
    let mut play = Play::running(3);
    play.play(ended_in_order(0)).play(TaskInput::StopAsked(StopIntent::by_user(false))).gone(1).gone(2);
    assert_eq!((play.task.phase, verdict(&play)), (TaskPhase::Stopped, VerdictKind::StoppedByUser));
}

#[test]
fn a_run_that_has_told_its_end_needs_no_other_word() {
    let mut play = Play::running(3);
    play.failed(1);
    play.told(0, RunEvent::RestartScheduled { attempt: 2, after_ms: 0, restarts_used: 1, max_restarts: 3 });
    play.ended(Outcome::Failed, VerdictKind::RankFailed).play(ended_in_order(0)).gone(1).gone(2);
    assert_eq!((play.task.phase, verdict(&play)), (TaskPhase::Failed, VerdictKind::RankFailed));
}

#[test]
fn members_that_end_in_order_say_nothing_of_the_run() {
    let mut play = Play::running(1);
    play.play(ended_in_order(1)).play(ended_in_order(2));
    assert_eq!(play.task.phase, TaskPhase::Running);
    play.gone(0);
    assert_eq!((play.task.phase, play.task.generation.0), (TaskPhase::Starting, 2), "its first node was killed");
}

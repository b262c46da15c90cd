//! What a task tells of itself: hangs, its time, its end, what its ranks wrote, and launches of a state that was lost.

use super::*;

/// A task that waits for its restart is launched by a restored database, as it was by the state that was lost.
#[test]
fn a_launch_after_a_restore_has_a_name_of_its_own_and_those_that_were_lost_are_strays() {
    use crate::fleet::{History, Origin};
    use crate::ids::Generation;
    let mut task = Play::new(1).task;
    let (environment, name) = (EnvironmentId::from("env-001"), "gn1".to_owned());
    let node = NodeRun {
        environment,
        name,
        node_rank: NodeRank(0),
        incarnation: 1,
        state: NodeRunState::Wanted,
        interface: None,
    };
    (task.generation, task.nodes) = (Generation(3), vec![node]);
    let mut history = History::default();
    task.pass_over_lost_launches(Generation(2), &history);
    assert_eq!(task.generation, Generation(3), "nothing was lost");
    let last = history.restored(37, 0, []);
    task.pass_over_lost_launches(Generation(2), &history);
    assert_eq!(task.generation, Generation(10_000));
    let origin = |text: &str| history.origin(&text.parse().unwrap(), &[], Some(&task), last);
    assert_eq!((origin("task-1-g2-n0-i1"), origin("task-1-g3-n0-i1")), (Origin::Past, Origin::Stray));
}

/// Each launch is checked for itself: another node may be in it, or another cable.
#[test]
fn interfaces_that_a_preflight_finds_are_told_once_and_hold_for_their_launch() {
    let mut play = Play::new(1);
    play.placed();
    let found = |names: [&str; 3]| TaskInput::InterfacesFound {
        interfaces: names.map(str::to_owned).into(),
        text: Text::new("网卡", "interfaces"),
    };
    let set = |play: &Play| play.task.nodes.iter().filter_map(|it| it.interface.clone()).collect::<Vec<_>>().join(" ");
    play.play(found(["eth1", "ens5", "eth1"])).play(found(["eth1", "ens5", "eth1"]));
    assert_eq!(set(&play), "eth1 ens5 eth1");
    let told = play.kinds.iter().filter(|kind| **kind == "preflight.interface").count();
    assert_eq!(told, 1, "{:?}", play.kinds);
    play.run_started(0).run_started(1).run_started(2).attempt_started(1);
    assert_eq!(play.task.phase, TaskPhase::Running);
    play.play(found(["eth0", "eth0", "eth0"]));
    assert_eq!(set(&play), "eth1 ens5 eth1", "what runs stays");
    let mut again = Play::new(1);
    again.placed().play(found(["eth1", "eth1", "eth1"])).run_started(0).attempt_started(1);
    again.gone(0).gone(1).gone(2);
    again.now += 3_600_000;
    again.play(TaskInput::TimePassed);
    assert_eq!((again.task.generation.0, set(&again).as_str()), (2, ""));
}

fn hang(ranks: Vec<u32>) -> RunEvent {
    RunEvent::HangVerdict {
        attempt: 1,
        since_ms: 50,
        kind: HangKind::NotEntered,
        ranks,
        place: None,
        stacks: Vec::new(),
        evidence: None,
        text: Box::new(Text::new("卡住", "hangs")),
        hint: Box::new(Text::new("查看", "look")),
    }
}

#[test]
fn a_hang_is_told_with_its_node_and_stands_in_the_task_while_it_lasts() {
    let mut play = Play::running(1);
    let notes = play.task.apply(
        TaskInput::Journal { node: NodeRank(0), time_ms: play.now, event: Box::new(hang(vec![2, 3])) },
        play.now,
    );
    let told = notes[0].detail.clone().unwrap().hang.unwrap();
    assert_eq!((notes[0].kind, told.nodes, told.ranks), ("hang.verdict", vec!["b".to_owned()], vec![2, 3]));
    assert_eq!(notes[0].text.en, "hangs (b)");
    assert_eq!(play.task.hang.as_ref().unwrap().ranks, [2, 3]);
    play.told(1, hang(vec![4]));
    assert_eq!(play.task.hang.as_ref().unwrap().ranks, [2, 3], "the first node's word counts");
    play.told(0, RunEvent::HangPassed { attempt: 1, since_ms: 50, lasted_ms: 900 });
    assert_eq!((play.task.hang.clone(), *play.kinds.last().unwrap()), (None, "hang.passed"));
    play.told(0, hang(vec![0]));
    play.failed(1).told(0, RunEvent::RestartScheduled { attempt: 2, restarts_used: 1, max_restarts: 1, after_ms: 0 });
    assert_eq!((play.task.phase, play.task.hang.clone()), (TaskPhase::Restarting, None));
}

#[test]
fn the_time_of_a_task_adds_up_from_its_creation_to_its_end() {
    let mut play = Play::running(1);
    play.failed(1).told(0, RunEvent::RestartScheduled { attempt: 2, restarts_used: 1, max_restarts: 1, after_ms: 500 });
    play.attempt_started(2).ended(Outcome::Succeeded, VerdictKind::Succeeded).swept();
    let ended = play.task.ended_ms.unwrap();
    let account = play.task.ledger.as_ref().unwrap().account(ended + 10_000);
    assert_eq!(account.wall_ms, ended - play.task.created_ms, "{account:?}");
    for cause in [Cause::Queue, Cause::Spawn, Cause::NoSteps, Cause::BackOff] {
        assert!(account.of(cause) > 0, "{cause:?}: {account:?}");
    }
}

#[test]
fn the_end_is_told_as_it_was_though_the_task_is_launched_again() {
    let mut play = Play::running(0);
    let notes = play.task.apply(
        TaskInput::Journal {
            node: NodeRank(0),
            time_ms: play.now,
            event: Box::new(RunEvent::RunEnded {
                outcome: Outcome::Failed,
                attempts: 1,
                verdict: Box::new(Verdict::of(VerdictKind::NodeLost { node: "b".into() })),
            }),
        },
        play.now,
    );
    let end = notes.iter().find_map(|note| note.detail.as_ref()?.end.clone()).unwrap();
    assert_eq!((&*end.lines[0].en, end.attempts, end.waits_again), ("the node b was lost", 1, false));
    play.swept().play(TaskInput::RestartAsked);
    assert_eq!((play.task.phase, play.task.verdict.clone()), (TaskPhase::Initializing, None));
}

#[test]
fn what_ranks_wrote_is_taken_though_the_journal_never_told_of_their_attempt() {
    let mut play = Play::new(0);
    play.placed().run_started(0);
    let run = |node: u32| format!("task-1-g1-n{node}-i1").parse::<RunKey>().unwrap();
    let wants = |play: &Play, node: u32, journal| play.task.wants_stream(&run(node), 1, journal);
    assert_eq!(wants(&play, 0, JournalSent::Partly), Wanted::NotYet, "the journal may still tell");
    assert_eq!(wants(&play, 1, JournalSent::Whole), Wanted::NotYet, "another node's says nothing of attempts");
    assert_eq!(wants(&play, 0, JournalSent::Whole), Wanted::Yes);
    play.ended(Outcome::Succeeded, VerdictKind::Succeeded).gone(0);
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
    assert_eq!(wants(&play, 1, JournalSent::Partly), Wanted::Yes, "nobody is left who could tell");
}

#[test]
fn output_that_a_disk_did_not_take_is_said_of_every_node() {
    let mut play = Play::running(0);
    let lost = Box::new(RunEvent::OutputLost { attempt: 1, bytes: 7 });
    let notes = play.task.apply(TaskInput::Journal { node: NodeRank(1), time_ms: 99, event: lost }, 99);
    let said: Vec<(&str, &str)> = notes.iter().map(|note| (note.kind, &*note.text.en)).collect();
    assert_eq!(said, [("output.lost", "attempt 1: b has lost 7 bytes of output, which its disk did not take")]);
}

//! Courses of a task, played from its creation to its end.

mod giving_way;
mod lost_results;
mod put_back;
mod stopping;
mod telling;

use std::time::Duration;

use super::journal::MOST_INCARNATIONS;
use super::*;
use crate::{
    environment::tests::environment,
    event::Outcome,
    exit::Exit,
    fleet::{JournalSent, Wanted},
    hang::HangKind,
    ids::TaskId,
    language::{FrontEnd, Setting},
    ledger::Cause,
    phase::TaskPhase,
    rank_map::{ChosenNode, for_task},
    task::{DistributedConfig, LaunchOptions, OnDisconnect, Policies, RunKey, Selection, TaskSpec, Work},
    units::Seconds,
    verdict::{LeaseHolder, Verdict, VerdictKind},
};

/// Whatever the lines of a journal say, a task takes them in.
#[test]
fn strangers_journals_break_no_task() {
    let documented = include_str!("../../../../../../docs/reference/events.md");
    let lines: Vec<&[u8]> =
        documented.lines().filter(|line| line.starts_with(r#"{"v":1"#)).map(str::as_bytes).collect();
    assert!(lines.len() > 20);
    let begun = || {
        let mut play = Play::new(2);
        play.placed().run_started(0);
        play
    };
    let mut play = begun();
    let mut taken = 0;
    fermi_mutator::try_all(&lines, 3_000, |line| {
        let Ok(record) = serde_json::from_slice::<crate::event::Record>(line) else { return };
        taken += 1;
        let node = u32::from(line.first().copied().unwrap_or(0)) % 4;
        play.told(node, record.event);
        assert!(play.task.desired_states().len() <= 3 && play.task.attempts.len() <= 1 + taken);
        if taken % 64 == 0 || play.task.phase.is_final() {
            play = begun();
        }
    });
    assert!(taken > 100, "{taken} lines were events");
}

/// A task on three nodes of two ranks each.
struct Play {
    task: Task,
    now: u64,
    kinds: Vec<&'static str>,
}

impl Play {
    fn new(max_restarts: u32) -> Self {
        let mut policies = Policies::default();
        policies.restart.max_restarts = max_restarts;
        let spec = TaskSpec {
            name: "t".into(),
            dataset: None,
            model_id: None,
            selection: Selection::Environments,
            work: Work::Builtin { args: vec![] },
            source: None,
            distributed: DistributedConfig::default(),
            options: LaunchOptions::default(),
            policies,
            priority: 0,
            labels: Default::default(),
        };
        Self { task: Task::new(TaskId::from("task-1"), spec, 0), now: 0, kinds: Vec::new() }
    }

    fn play(&mut self, input: TaskInput) -> &mut Self {
        self.now += 10;
        let notes = self.task.apply(input, self.now);
        self.kinds.extend(notes.into_iter().map(|note| note.kind));
        self
    }

    fn told(&mut self, node: u32, event: RunEvent) -> &mut Self {
        let time_ms = self.now + 10;
        self.play(TaskInput::Journal { node: NodeRank(node), time_ms, event: Box::new(event) })
    }

    fn gone(&mut self, node: u32) -> &mut Self {
        self.play(TaskInput::gone(NodeRank(node)))
    }

    fn placed(&mut self) -> &mut Self {
        let nodes: Vec<ChosenNode> =
            ["a", "b", "c"].map(|name| ChosenNode::all_of(&environment(name, name, 2, "A100", "z"))).into();
        let rank_map = for_task(&nodes, &"a".into()).unwrap();
        self.play(TaskInput::Placed { rank_map })
    }

    fn run_started(&mut self, node: u32) -> &mut Self {
        self.told(
            node,
            RunEvent::RunStarted {
                run_id: "r".into(),
                world_size: 6,
                folder: None,
                warden_pid: 1,
                supervisor_pid: 2,
                master_port: (node == 0).then_some(29500),
            },
        )
    }

    fn attempt_started(&mut self, attempt: u32) -> &mut Self {
        let resume = attempt > 1;
        self.told(0, RunEvent::AttemptStarted { attempt, master_addr: "a".into(), master_port: 29500, resume });
        for rank in 0..6 {
            let event = RunEvent::RankStarted { attempt, rank, local_rank: rank % 2, pid: 100 };
            self.told(rank / 2, event);
        }
        self
    }

    fn running(max_restarts: u32) -> Self {
        let mut play = Self::new(max_restarts);
        play.placed().run_started(0).run_started(1).run_started(2).attempt_started(1);
        assert_eq!(play.task.phase, TaskPhase::Running);
        play
    }

    fn failed(&mut self, attempt: u32) -> &mut Self {
        let verdict = Verdict::of(VerdictKind::supervisor_lost("b"));
        self.told(0, RunEvent::AttemptFailed { attempt, verdict: Box::new(verdict) })
    }

    fn ended(&mut self, outcome: Outcome, kind: VerdictKind) -> &mut Self {
        self.told(0, RunEvent::RunEnded { outcome, attempts: 1, verdict: Box::new(Verdict::of(kind)) })
    }

    fn swept(&mut self) -> &mut Self {
        self.gone(0).gone(1).gone(2)
    }
}

#[test]
fn the_first_node_starts_alone_and_the_others_when_it_has_a_port() {
    let mut play = Play::new(0);
    play.placed();
    assert_eq!(play.task.desired_states(), [DesiredState::Launch, DesiredState::Rest, DesiredState::Rest]);
    play.run_started(0);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Launch, DesiredState::Launch]);
    assert_eq!(play.task.master_port, Some(29500));
    play.run_started(1).run_started(2);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest; 3]);
}

#[test]
fn a_launch_says_for_whom_it_waits_and_for_how_long_it_may() {
    let mut play = Play::new(0);
    play.placed();
    let waits = |play: &Play, offline: &str| play.task.waits_for(|id| id.as_str() == offline).map(|text| text.en);
    assert_eq!(waits(&play, "").unwrap(), "waits for a to start its part");
    assert!(waits(&play, "a").unwrap().contains("fermi env lost a"));
    assert_eq!(waits(&play, "b").unwrap(), "waits for a to start its part", "nothing is asked of it yet");
    play.run_started(0);
    assert_eq!(waits(&play, "").unwrap(), "waits for b, c to start its part");
    play.run_started(1).run_started(2);
    assert_eq!(waits(&play, "").unwrap(), "waits for the ranks on a, b, c");
    let since = play.task.phase_since_ms.unwrap();
    assert!(!play.task.is_start_overdue(1_200_000) && play.task.is_start_overdue(1_200_001));
    play.task.spec.policies.start_timeout = Some(Seconds(60));
    assert!(!play.task.clone().apply(TaskInput::StartOverdue, since + 60_001).is_empty());
    let mut late = play.task.clone();
    late.apply(TaskInput::StartOverdue, since + 60_001);
    assert_eq!(late.phase, TaskPhase::Failed);
    let VerdictKind::StartTimedOut { missing, .. } = late.verdict.unwrap().kind else { panic!("another verdict") };
    assert_eq!(missing.len(), 6);
    play.attempt_started(1);
    assert_eq!(waits(&play, ""), None, "all ranks are up");
    assert!(waits(&play, "b").unwrap().contains("goes on"));
    assert!(!play.task.is_start_overdue(60_001));
}

#[test]
fn one_loss_costs_one_restart() {
    let mut play = Play::running(1);
    play.failed(1);
    play.told(0, RunEvent::RestartScheduled { attempt: 2, restarts_used: 1, max_restarts: 1, after_ms: 0 });
    assert_eq!((play.task.phase, play.task.restarts_used), (TaskPhase::Restarting, 1));
    play.play(TaskInput::NodeLost { node: NodeRank(1) });
    assert_eq!((play.task.phase, play.task.restarts_used), (TaskPhase::Restarting, 1));
    assert!(play.task.requeue);
}

#[test]
fn a_machine_that_is_silent_for_longer_than_its_lease_has_ended_its_ranks() {
    let mut play = Play::running(1);
    let silent =
        |seconds: u64| move |id: &EnvironmentId| Duration::from_secs(if id.as_str() == "b" { seconds } else { 0 });
    assert_eq!(play.task.nodes_without_lease(silent(100_000)), [], "it was not asked to end them");
    play.task.spec.policies.on_disconnect = OnDisconnect::StopAfter(Seconds(60));
    assert_eq!(play.task.nodes_without_lease(silent(70)), []);
    assert_eq!(play.task.nodes_without_lease(silent(76)), [NodeRank(1)]);
    // A request was stored before such a span was refused.
    play.task.spec.policies.on_disconnect = OnDisconnect::StopAfter(Seconds(u64::MAX));
    assert_eq!(play.task.nodes_without_lease(silent(76)), []);
}

#[test]
fn a_training_that_ends_well_is_succeeded_and_swept() {
    let mut play = Play::running(0);
    play.told(0, RunEvent::RankExited { attempt: 1, rank: 0, local_rank: 0, pid: 100, exit: Exit::Code { code: 0 } });
    play.ended(Outcome::Succeeded, VerdictKind::Succeeded);
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
    assert!(!play.task.is_swept());
    play.swept();
    assert!(play.task.is_swept() && play.task.phase == TaskPhase::Succeeded);
    assert_eq!(play.task.attempts.len(), 1);
    assert_eq!(play.kinds, ["task.queued", "task.starting", "attempt.started", "task.running", "task.succeeded"]);
}

#[test]
fn a_member_that_lost_its_supervisor_gets_a_new_one_when_the_coordinator_waits_for_it() {
    let mut play = Play::running(2);
    play.gone(1).failed(1);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest; 3], "the coordinator has not decided yet");
    play.told(0, RunEvent::RestartScheduled { attempt: 2, after_ms: 0, restarts_used: 1, max_restarts: 2 });
    assert_eq!(play.task.phase, TaskPhase::Restarting);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Launch, DesiredState::Rest]);
    assert_eq!(play.task.run_key(&play.task.nodes[1]).to_string(), "task-1-g1-n1-i2");
    play.run_started(1).attempt_started(2);
    assert_eq!((play.task.phase, play.task.attempts.len()), (TaskPhase::Running, 2));
}

#[test]
fn a_member_whose_death_is_heard_after_the_restart_was_decided_is_replaced_as_well() {
    let mut play = Play::running(2);
    play.failed(1);
    play.told(0, RunEvent::RestartScheduled { attempt: 2, after_ms: 0, restarts_used: 1, max_restarts: 2 });
    play.gone(2);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Rest, DesiredState::Launch]);
}

#[test]
fn when_the_coordinator_dies_the_next_generation_waits_until_every_node_is_swept() {
    let mut play = Play::running(1);
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Restarting);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Kill, DesiredState::Kill]);
    play.gone(1).play(TaskInput::TimePassed);
    assert_eq!(play.task.generation.0, 1, "a node may still write the checkpoint");
    play.gone(2).play(TaskInput::TimePassed);
    assert_eq!((play.task.generation.0, play.task.phase), (2, TaskPhase::Starting));
    assert_eq!(play.task.desired_states(), [DesiredState::Launch, DesiredState::Rest, DesiredState::Rest]);
    assert!(play.task.resume);
    play.run_started(0).run_started(1).run_started(2).attempt_started(2);
    assert_eq!(play.task.phase, TaskPhase::Running);
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Failed, "the budget counts over generations");
}

#[test]
fn without_restarts_the_death_of_the_coordinator_is_the_end_and_the_others_are_killed() {
    let mut play = Play::running(0);
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Failed);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Kill, DesiredState::Kill]);
    assert!(
        matches!(&play.task.verdict.as_ref().unwrap().kind, VerdictKind::SupervisorLost { node, lease: None } if node == "a")
    );
}

#[test]
fn keepers_that_could_not_start_are_told_as_such_and_tried_again() {
    let not_started = |node: u32| TaskInput::NotStarted {
        node: NodeRank(node),
        why: Text::new("打开的文件过多", "too many open files"),
    };
    let gone = |node: u32| TaskInput::gone(NodeRank(node));
    let mut first = Play::running(1);
    first.play(not_started(0)).play(gone(0)).play(not_started(0)).play(gone(0));
    assert_eq!((first.task.phase, first.task.restarts_used), (TaskPhase::Restarting, 1));
    let mut last = Play::running(0);
    last.play(not_started(0)).play(gone(0));
    assert_eq!(last.task.phase, TaskPhase::Failed);
    let headline = last.task.verdict.as_ref().unwrap().headline();
    assert!(
        headline.en.starts_with("the launch was refused: a: too many open files; check this node's limits"),
        "{headline:?}"
    );
    // The first node waits for another try of a member.
    let mut member = Play::running(0);
    member.play(not_started(1));
    assert!(!member.task.phase.is_final());
}

#[test]
fn a_node_that_its_lease_has_ended_is_not_told_as_a_supervisor_that_died() {
    let by_lease =
        |node: u32| TaskInput::Gone { node: NodeRank(node), lease: Some(LeaseHolder::Server), in_order: false };
    let mut first = Play::running(0);
    first.play(by_lease(0));
    let verdict = first.task.verdict.clone().unwrap();
    assert_eq!(
        verdict.headline().en,
        "a was cut off from the server for as long as the task allows, and ended its processes by its lease"
    );
    assert!(verdict.advice().unwrap().spelled(FrontEnd::Api).zh.contains("stopAfter"));
    // The coordinator saw a link that closed; the agent of that node knows more.
    let mut member = Play::running(0);
    member.ended(Outcome::Failed, VerdictKind::supervisor_lost("b")).play(by_lease(1));
    let kind = &member.task.verdict.as_ref().unwrap().kind;
    assert_eq!(*kind, VerdictKind::SupervisorLost { node: "b".into(), lease: Some(LeaseHolder::Server) });
    // Of another node it says nothing.
    let mut other = Play::running(0);
    other.ended(Outcome::Failed, VerdictKind::supervisor_lost("b")).play(by_lease(2));
    assert_eq!(other.task.verdict.as_ref().unwrap().kind, VerdictKind::supervisor_lost("b"));
}

#[test]
fn a_failed_task_runs_again_on_request() {
    let mut play = Play::running(0);
    play.ended(Outcome::Failed, VerdictKind::RankFailed).swept().play(TaskInput::RestartAsked);
    assert_eq!((play.task.phase, play.task.verdict.clone()), (TaskPhase::Initializing, None));
}

#[test]
fn an_agent_that_cannot_start_its_part_ends_the_task_with_its_reason() {
    let mut play = Play::new(3);
    play.placed().run_started(0);
    let reason = Text::new("没有 Python", "there is no Python");
    let message = StoredMessage { reason, settings: vec![Setting::MasterPort] };
    play.play(TaskInput::LaunchFailed { node: NodeRank(1), message });
    let advice = play.task.verdict.as_ref().unwrap().advice().unwrap();
    assert_eq!(advice.spelled(FrontEnd::Api).en, "check options.masterPort");
    assert_eq!(play.task.phase, TaskPhase::Failed);
    assert_eq!(play.task.desired_states(), [DesiredState::Kill, DesiredState::Rest, DesiredState::Kill]);
    assert!(play.task.reason.as_ref().unwrap().en.contains("b: there is no Python"));
}

#[test]
fn words_of_members_about_the_run_do_not_count_twice() {
    let mut play = Play::running(1);
    let scheduled = RunEvent::RestartScheduled { attempt: 2, after_ms: 0, restarts_used: 1, max_restarts: 1 };
    play.told(1, scheduled.clone()).told(2, scheduled);
    assert_eq!((play.task.phase, play.task.restarts_used), (TaskPhase::Running, 0));
}

#[test]
fn a_first_node_out_of_reach_is_waited_for_while_restarts_are_left() {
    let mut play = Play::running(1);
    play.gone(1).gone(2).play(TaskInput::CoordinatorUnreachable);
    assert_eq!(play.task.phase, TaskPhase::Running);
    assert!(play.task.reason.as_ref().unwrap().en.contains("waiting for it"));
    let mut play = Play::running(0);
    play.gone(1).gone(2).play(TaskInput::CoordinatorUnreachable);
    assert_eq!(play.task.phase, TaskPhase::Failed);
    assert!(!play.task.is_swept(), "its ranks may still run");
}

#[test]
fn ranks_that_are_heard_of_after_their_coordinator_was_lost_start_nothing() {
    let mut play = Play::new(2);
    play.placed().run_started(0).run_started(1).run_started(2);
    play.told(0, RunEvent::AttemptStarted { attempt: 1, master_addr: "a".into(), master_port: 29500, resume: false });
    for rank in 0..2 {
        play.told(0, RunEvent::RankStarted { attempt: 1, rank, local_rank: rank, pid: 100 });
    }
    play.gone(0);
    for rank in 2..6 {
        play.told(rank / 2, RunEvent::RankStarted { attempt: 1, rank, local_rank: rank % 2, pid: 100 });
    }
    assert_eq!(play.task.phase, TaskPhase::Restarting);
    play.gone(1).gone(2);
    assert_eq!((play.task.phase, play.task.generation.0), (TaskPhase::Starting, 2));
    assert!(play.task.attempts.iter().all(|attempt| attempt.phase.is_final()));
    play.run_started(0).run_started(1).run_started(2).attempt_started(2);
    assert_eq!(play.task.phase, TaskPhase::Running);
}

#[test]
fn an_attempt_that_is_heard_of_only_after_the_loss_keeps_its_number() {
    let mut play = Play::new(2);
    play.placed().run_started(0).run_started(1).run_started(2).gone(0);
    play.told(1, RunEvent::RankStarted { attempt: 1, rank: 2, local_rank: 0, pid: 100 });
    play.gone(1).gone(2);
    assert_eq!(play.task.attempts.len(), 1, "the next launch must not write under the same number");
    assert!(play.task.attempts[0].phase.is_final());
}

#[test]
fn attempts_stand_in_their_order_though_a_member_tells_of_the_second_before_the_first_is_known() {
    let mut play = Play::new(2);
    play.placed().run_started(0).run_started(1).run_started(2);
    play.told(1, RunEvent::RankStarted { attempt: 2, rank: 2, local_rank: 0, pid: 7 });
    play.attempt_started(1).failed(1).attempt_started(2);
    let numbers: Vec<u32> = play.task.attempts.iter().map(|attempt| attempt.number.get()).collect();
    assert_eq!(numbers, [1, 2]);
    play.ended(Outcome::Succeeded, VerdictKind::Succeeded);
    let last = play.task.attempt().unwrap();
    assert!(last.number.get() == 2 && last.ended_ms.is_some(), "{last:?}");
}

#[test]
fn a_member_that_dies_before_the_first_attempt_is_replaced() {
    let mut play = Play::new(0);
    play.placed().run_started(0).run_started(1).gone(1);
    assert_eq!(play.task.desired_states(), [DesiredState::Rest, DesiredState::Launch, DesiredState::Launch]);
    for _ in 0..MOST_INCARNATIONS {
        play.gone(1);
    }
    assert_eq!(play.task.phase, TaskPhase::Failed, "not for ever");
}

#[test]
fn a_task_is_abandoned_when_the_others_are_gone_and_the_first_node_is_silent() {
    let mut play = Play::running(1);
    let silent = |id: &EnvironmentId| id.as_str() == "a";
    assert!(!play.task.is_abandoned(silent));
    play.gone(1).gone(2);
    assert!(play.task.is_abandoned(silent));
    assert!(!play.task.is_abandoned(|_| false));
    play.gone(0);
    assert!(!play.task.is_abandoned(silent));
}

#[test]
fn leases_are_given_back_node_by_node_once_a_task_is_over() {
    let mut play = Play::running(0);
    assert_eq!(play.task.releasable(), Release::Nothing);
    play.ended(Outcome::Failed, VerdictKind::supervisor_lost("a"));
    assert_eq!(play.task.releasable(), Release::Environments(vec![]));
    play.gone(1);
    assert_eq!(play.task.releasable(), Release::Environments(vec![&"b".into()]));
    play.gone(0).gone(2);
    assert_eq!(play.task.releasable(), Release::All);
}

#[test]
fn a_lost_machine_sends_the_task_back_to_the_queue_once_the_others_are_swept() {
    for node in 0..3 {
        let mut play = Play::running(1);
        play.play(TaskInput::NodeLost { node: NodeRank(node) });
        assert_eq!(play.task.phase, TaskPhase::Restarting, "{node}");
        let killed = play.task.desired_states().iter().filter(|wanted| **wanted == DesiredState::Kill).count();
        assert_eq!(killed, 2, "the launch is over on the machines that are left");
        play.swept();
        assert_eq!((play.task.phase, play.task.resume), (TaskPhase::Initializing, true));
        assert_eq!(play.task.releasable(), Release::All);
        play.placed();
        assert_eq!((play.task.phase, play.task.generation.0), (TaskPhase::Starting, 2));
    }
}

#[test]
fn a_lost_machine_ends_a_task_that_may_not_start_again_and_frees_one_that_was_asked_to_stop() {
    let mut play = Play::running(0);
    play.play(TaskInput::NodeLost { node: NodeRank(0) });
    assert_eq!(play.task.phase, TaskPhase::Failed);
    assert_eq!(
        play.task.verdict.as_ref().map(|verdict| &verdict.kind),
        Some(&VerdictKind::NodeLost { node: "a".into() })
    );
    let mut play = Play::running(3);
    play.play(TaskInput::StopAsked(StopIntent::by_user(true))).gone(1).gone(2);
    assert_eq!(play.task.phase, TaskPhase::Stopping);
    play.play(TaskInput::NodeLost { node: NodeRank(0) });
    assert_eq!(play.task.phase, TaskPhase::Stopped);
}

/// All ranks have returned 0, and the supervisor that would have said so is gone.
#[test]
fn exits_that_are_all_zero_outrank_a_lost_coordinator() {
    let exits = |play: &mut Play| {
        for rank in 0..6 {
            let event = RunEvent::RankExited { attempt: 1, rank, local_rank: rank % 2, pid: 100, exit: Exit::SUCCESS };
            play.told(rank / 2, event);
        }
    };
    let mut play = Play::running(2);
    exits(&mut play);
    play.gone(0);
    assert_eq!(play.task.phase, TaskPhase::Succeeded, "known when it is lost");
    let mut play = Play::running(2);
    play.gone(0);
    exits(&mut play);
    play.gone(1).gone(2);
    assert_eq!(play.task.phase, TaskPhase::Succeeded, "known before the next launch");
    let mut play = Play::running(0);
    exits(&mut play);
    play.ended(Outcome::Failed, VerdictKind::NodeLost { node: "b".into() });
    assert_eq!(play.task.phase, TaskPhase::Succeeded, "known though the coordinator thinks otherwise");
}

#[test]
fn the_record_beside_a_journal_tells_how_a_run_ended() {
    let ended = |outcome, kind| TaskInput::Ended {
        node: NodeRank(0),
        event: Box::new(RunEvent::RunEnded { outcome, attempts: 1, verdict: Box::new(Verdict::of(kind)) }),
    };
    let mut play = Play::running(3);
    play.play(ended(Outcome::Succeeded, VerdictKind::Succeeded)).gone(0);
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
    play.play(ended(Outcome::Failed, VerdictKind::StoppedByUser));
    assert_eq!(play.task.verdict.as_ref().map(|verdict| &verdict.kind), Some(&VerdictKind::Succeeded));
}

#[test]
fn a_clock_that_was_set_back_delays_no_restart_for_longer_than_the_policy_does() {
    let mut play = Play::running(1);
    play.now = 10_000_000_000;
    play.gone(0).gone(1);
    play.now = 5_000;
    play.gone(2);
    assert_eq!(play.task.phase, TaskPhase::Starting);
}

/// The first node is out of reach, and what its coordinator said stands in the journals of the others.
#[test]
fn a_success_that_members_were_told_of_counts() {
    let mut play = Play::running(0);
    let verdict = Box::new(Verdict::of(VerdictKind::Succeeded));
    play.told(1, RunEvent::RunEnded { outcome: Outcome::Succeeded, attempts: 1, verdict });
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
    play.gone(1).gone(2).play(TaskInput::CoordinatorUnreachable);
    assert_eq!(play.task.phase, TaskPhase::Succeeded);
}

#[test]
fn what_is_heard_of_a_launch_after_it_was_given_up_starts_nothing() {
    let mut play = Play::running(2);
    play.failed(1).play(TaskInput::NodeLost { node: NodeRank(0) });
    let late = RunEvent::RestartScheduled { attempt: 2, after_ms: 0, restarts_used: 1, max_restarts: 2 };
    play.told(0, late).attempt_started(2);
    assert_eq!((play.task.phase, play.task.restarts_used), (TaskPhase::Restarting, 1));
    play.gone(1).gone(2);
    assert_eq!(play.task.phase, TaskPhase::Initializing);
}

#[test]
fn runs_of_a_launch_before_belong_to_the_environment_that_they_were_in() {
    let mut play = Play::new(1);
    play.placed();
    let before: RunKey = "task-1-g1-n1-i1".parse().unwrap();
    assert_eq!(play.task.environment_of(&before).map(|it| it.as_str()), Some("b"));
    play.play(TaskInput::NodeLost { node: NodeRank(1) }).gone(0).gone(2).play(TaskInput::TimePassed);
    assert_eq!(play.task.phase, TaskPhase::Initializing, "{:?}", play.kinds);
    let nodes: Vec<ChosenNode> =
        ["a", "c", "d"].map(|name| ChosenNode::all_of(&environment(name, name, 2, "A100", "z"))).into();
    play.play(TaskInput::Placed { rank_map: for_task(&nodes, &"a".into()).unwrap() });
    let after: RunKey = "task-1-g2-n1-i1".parse().unwrap();
    let environment_of = |run: &RunKey| play.task.environment_of(run).map(|it| it.as_str());
    assert_eq!((environment_of(&before), environment_of(&after)), (Some("b"), Some("c")));
    assert_eq!(environment_of(&"task-1-g1-n2-i1".parse().unwrap()), Some("c"));
    assert!(play.kinds.contains(&"nodes.replaced"));
}

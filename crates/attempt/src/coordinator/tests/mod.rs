//! Courses of a run, played without processes.

use fermi_domain::checkpoint::{NodeCheckpoints, ResumePlan};
use fermi_domain::exit::Exit;
use fermi_domain::failure::{Diagnosis, Evidence, FailureClass, Reached, Recurrence, Role, diagnose};
use fermi_domain::healing::{GiveUp, RestartPolicy};
use fermi_domain::ladder::{Rung, StopLadder};
use fermi_domain::pulse::Phase;
use fermi_domain::verdict::{Verdict, VerdictKind};
use proptest::prelude::*;

use super::{Coordinator, Failure, Loss, NodeRanks, Policy, RunEffect, RunInput};
use crate::node_message::{NodeReport, RankSeen};
use fermi_domain::event::{Outcome, RunEvent};

mod remnants;
mod waited_for;

const SIGTERM: i32 = 15;
const SIGINT: i32 = 2;
/// What gloo says when the other side is gone.
const VICTIM: &str = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4711";

fn policy(max_restarts: u32) -> Policy {
    Policy {
        restarts: RestartPolicy { max_restarts },
        ladder: StopLadder::default(),
        start_timeout_ms: None,
        join_timeout_ms: 60_000,
        elastic: false,
        resume: false,
        attempts_before: 0,
    }
}

/// A run on one node, all ranks of it just started at 0 ms.
fn run_of(ranks: u32, policy: Policy) -> Coordinator {
    let mut run = Coordinator::new(policy);
    run.on(RunInput::Begin, 0);
    let started = run.on(
        RunInput::Assembled { nodes: vec![NodeRanks { name: "gn6".into(), ranks: 0..ranks, tells_checkpoints: true }] },
        0,
    );
    assert_eq!(started, [RunEffect::StartRanks { attempt: 1, plan: ResumePlan::FRESH }]);
    run
}

/// Two nodes with two ranks each, just started at 0 ms.
fn run_of_two_nodes(policy: Policy) -> Coordinator {
    let mut run = Coordinator::new(policy);
    run.on(RunInput::Begin, 0);
    let asked = run.on(RunInput::Assembled { nodes: two_nodes() }, 0);
    assert_eq!(asked, [RunEffect::SurveyCheckpoints { attempt: 1 }]);
    run.on(found(0, true, []), 0);
    let plan = ResumePlan { shared: true, resume: false, step: None };
    assert_eq!(run.on(found(1, true, []), 0).last(), Some(&RunEffect::StartRanks { attempt: 1, plan }));
    run
}

/// The second node is lost, and it is known that nothing runs there.
fn lost(loss: Loss) -> RunInput {
    RunInput::NodeLost { node: 1, loss, may_run_until_ms: 0 }
}

/// What a node says of its checkpoints.
fn found<const N: usize>(node: usize, shares: bool, steps: [u64; N]) -> RunInput {
    let found = NodeCheckpoints { shares, holds_anything: N > 0, steps: steps.into() };
    RunInput::Reported { node, report: NodeReport::Surveyed { found, mark: None } }
}

/// The attempt that begins, and from where.
fn started(effects: &[RunEffect]) -> Option<(u32, bool, bool, Option<u64>)> {
    effects.iter().find_map(|effect| match effect {
        RunEffect::StartRanks { attempt, plan } => Some((*attempt, plan.shared, plan.resume, plan.step)),
        _ => None,
    })
}

/// Two nodes whose first attempt has failed and was swept; they are asked for their checkpoints.
fn second_attempt_of_two_nodes(policy: Policy) -> Coordinator {
    let mut run = run_of_two_nodes(policy);
    run.on(failed(3), 10);
    for rank in 0..3 {
        run.on(killed_by_us(rank), 11);
    }
    run.on(SWEPT, 12);
    let effects = run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 13);
    assert_eq!(effects.last(), Some(&RunEffect::SurveyCheckpoints { attempt: 2 }));
    run
}

#[test]
fn nodes_with_folders_of_their_own_go_on_from_the_newest_step_that_all_have() {
    let mut run = second_attempt_of_two_nodes(policy(1));
    assert_eq!(run.on(found(1, false, [32, 64]), 20), []);
    let effects = run.on(found(0, true, [32, 64, 96]), 21);
    assert_eq!(started(&effects), Some((2, false, true, Some(64))));
    let told = effects.iter().find_map(|effect| match effect {
        RunEffect::Tell(RunEvent::CheckpointsFound { step, settings, .. }) => Some((*step, settings.len())),
        _ => None,
    });
    assert_eq!(told, Some((Some(64), 1)));
}

#[test]
fn nodes_without_a_common_checkpoint_begin_anew_and_say_so() {
    let mut run = second_attempt_of_two_nodes(policy(1));
    run.on(found(0, true, [128]), 20);
    let effects = run.on(found(1, false, []), 21);
    assert_eq!(started(&effects), Some((2, false, false, None)));
    let Some(RunEffect::Tell(RunEvent::CheckpointsFound { text, .. })) = effects.first() else { panic!("{effects:?}") };
    assert!(text.zh.starts_with("第 2 次启动从头开始："), "{}", text.zh);
}

#[test]
fn a_node_of_an_older_release_is_not_waited_for_and_counts_as_one_with_its_own_folder() {
    let mut run = Coordinator::new(policy(0));
    run.on(RunInput::Begin, 0);
    let mut nodes = two_nodes();
    nodes[1].tells_checkpoints = false;
    assert_eq!(run.on(RunInput::Assembled { nodes }, 0), [RunEffect::SurveyCheckpoints { attempt: 1 }]);
    assert_eq!(started(&run.on(found(0, true, []), 1)), Some((1, false, false, None)));
}

#[test]
fn a_disk_that_does_not_answer_is_not_waited_for_for_ever() {
    let mut run = second_attempt_of_two_nodes(policy(1));
    run.on(found(0, true, [32]), 20);
    assert_eq!(run.wake_at(), Some(30_013));
    assert_eq!(started(&run.on(RunInput::TimePassed, 30_013)), Some((2, false, false, None)));
    assert_eq!(run.on(found(1, true, [32]), 30_020), []);
}

#[test]
fn a_node_that_is_lost_while_checkpoints_are_looked_at_is_waited_for_and_costs_no_restart() {
    let mut run = second_attempt_of_two_nodes(policy(1));
    assert_eq!(run.on(lost(Loss::SupervisorDied), 20), [RunEffect::Assemble]);
    let asked = run.on(RunInput::Assembled { nodes: two_nodes() }, 30);
    assert_eq!(asked, [RunEffect::SurveyCheckpoints { attempt: 2 }]);
    let last = run.on(RunInput::StopAsked { signal: SIGINT }, 31);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

#[test]
fn a_run_that_finds_a_newer_generation_ends_everywhere_without_a_restart() {
    let superseded = || RunInput::Reported { node: 1, report: NodeReport::Superseded { generation: 3 } };
    let verdict = VerdictKind::Superseded { node: "gn7".into(), generation: 3 };
    let mut run = run_of_two_nodes(policy(5));
    assert!(wants(&run.on(superseded(), 10), &RunEffect::KillRanks));
    for rank in 0..4 {
        run.on(ended(rank, Exit::Signal { signal: 9, core_dumped: false }, ""), 11);
    }
    run.on(SWEPT, 12);
    let last = run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 13);
    assert_eq!(outcome(&last), Some((Outcome::Failed, verdict.clone(), None)));
    // Before any rank was started.
    let mut run = second_attempt_of_two_nodes(policy(5));
    assert_eq!(outcome(&run.on(superseded(), 20)), Some((Outcome::Failed, verdict, None)));
}

fn two_nodes() -> Vec<NodeRanks> {
    vec![
        NodeRanks { name: "gn6".into(), ranks: 0..2, tells_checkpoints: true },
        NodeRanks { name: "gn7".into(), ranks: 2..4, tells_checkpoints: true },
    ]
}

const SWEPT: RunInput = RunInput::Reported { node: 0, report: NodeReport::Swept };

fn ended(rank: u32, exit: Exit, last_line: &str) -> RunInput {
    ended_at(rank, exit, last_line, None)
}

/// A rank that had come so far ends.
fn ended_at(rank: u32, exit: Exit, last_line: &str, reached: Option<Reached>) -> RunInput {
    let tail = vec![last_line.to_owned()];
    let evidence =
        Evidence { exit: &exit, tail: &tail, error_file: None, oom_killed: false, lived_ms: 100, made_progress: false };
    let failure = Box::new(Failure { diagnosis: diagnose(&evidence), ..Failure::default() });
    let (made_progress, reached) = (false, reached.map(Box::new));
    let report = NodeReport::RankEnded { rank, local_rank: 0, pid: 0, exit, failure, made_progress, reached };
    RunInput::Reported { node: 0, report }
}

fn failed(rank: u32) -> RunInput {
    ended(rank, Exit::Code { code: 1 }, "RuntimeError: boom")
}

fn killed_by_us(rank: u32) -> RunInput {
    ended(rank, Exit::Signal { signal: SIGTERM, core_dumped: false }, "")
}

fn outcome(effects: &[RunEffect]) -> Option<(Outcome, VerdictKind, Option<u32>)> {
    effects.iter().find_map(|action| match action {
        RunEffect::Tell(RunEvent::RunEnded { outcome, verdict, .. }) => {
            Some((*outcome, verdict.kind.clone(), verdict.first.as_ref().map(|first| first.rank.0)))
        }
        _ => None,
    })
}

fn wants(effects: &[RunEffect], wanted: &RunEffect) -> bool {
    effects.contains(wanted)
}

#[test]
fn all_ranks_returning_zero_is_success_after_the_sweep() {
    let mut run = run_of(2, policy(0));
    assert_eq!(run.on(ended(0, Exit::SUCCESS, ""), 5), []);
    assert_eq!(run.on(ended(1, Exit::SUCCESS, ""), 6), [RunEffect::Sweep]);
    let last = run.on(SWEPT, 7);
    assert_eq!(outcome(&last), Some((Outcome::Succeeded, VerdictKind::Succeeded, None)));
    assert_eq!(last.last(), Some(&RunEffect::Finish));
}

#[test]
fn a_failing_rank_stops_the_others_and_is_named() {
    let mut run = run_of(3, policy(0));
    let effects = run.on(failed(1), 10);
    assert!(wants(&effects, &RunEffect::SignalRanks { signal: SIGTERM }));
    assert_eq!(run.wake_at(), Some(60));
    run.on(killed_by_us(0), 12);
    assert_eq!(run.on(killed_by_us(2), 13), [RunEffect::Sweep]);
    let last = run.on(SWEPT, 14);
    assert_eq!(outcome(&last), Some((Outcome::Failed, VerdictKind::RankFailed, Some(1))));
}

#[test]
fn who_ignores_sigterm_is_killed_after_the_grace() {
    let mut run = run_of(2, policy(0));
    run.on(failed(1), 10);
    assert_eq!(run.on(RunInput::TimePassed, 40), []);
    assert!(wants(&run.on(RunInput::TimePassed, 60), &RunEffect::KillRanks));
}

#[test]
fn a_victim_waits_for_the_cause_to_show_itself() {
    let mut run = run_of(3, policy(0));
    let victim = ended(0, Exit::Code { code: 1 }, VICTIM);
    assert_eq!(run.on(victim, 10), []);
    let effects = run.on(ended(2, Exit::Signal { signal: 11, core_dumped: true }, ""), 40);
    assert!(wants(&effects, &RunEffect::SignalRanks { signal: SIGTERM }));
    assert_eq!(run.on(killed_by_us(1), 41), [RunEffect::Sweep]);
    let last = run.on(SWEPT, 42);
    assert_eq!(outcome(&last).and_then(|(_, _, rank)| rank), Some(2));
}

fn failed_attempt(effects: &[RunEffect]) -> &Verdict {
    let verdict = effects.iter().find_map(|effect| match effect {
        RunEffect::Tell(RunEvent::AttemptFailed { verdict, .. }) => Some(verdict),
        _ => None,
    });
    verdict.unwrap_or_else(|| panic!("{effects:?}"))
}

#[test]
fn a_victim_alone_is_not_waited_on_for_ever() {
    let mut run = run_of(2, policy(0));
    run.on(ended(0, Exit::Code { code: 1 }, VICTIM), 10);
    assert_eq!(run.wake_at(), Some(2_010));
    assert!(wants(&run.on(RunInput::TimePassed, 2_010), &RunEffect::SignalRanks { signal: SIGTERM }));
}

#[test]
fn a_restart_follows_at_once_and_resumes() {
    let mut run = run_of(1, policy(1));
    run.on(failed(0), 10);
    assert_eq!(run.on(SWEPT, 11).last(), Some(&RunEffect::SurveyCheckpoints { attempt: 2 }));
    assert_eq!(started(&run.on(found(0, false, [32, 64]), 12)), Some((2, true, true, Some(64))));
    run.on(failed(0), 20);
    assert_eq!(outcome(&run.on(SWEPT, 21)).map(|o| o.0), Some(Outcome::Failed));
}

#[test]
fn a_start_up_error_that_would_repeat_is_not_restarted() {
    let mut run = run_of(1, policy(5));
    run.on(ended(0, Exit::Code { code: 1 }, "ModuleNotFoundError: No module named 'nope'"), 10);
    let last = run.on(SWEPT, 11);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Failed));
}

#[test]
fn repeated_start_up_failures_back_off_and_a_stop_ends_the_wait() {
    let mut run = run_of(1, policy(5));
    for _ in 0..2 {
        run.on(failed(0), 10);
        run.on(SWEPT, 10);
        run.on(found(0, false, []), 10);
    }
    assert_eq!(run.wake_at(), Some(1_010));
    let last = run.on(RunInput::StopAsked { signal: SIGINT }, 500);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

#[test]
fn ctrl_c_asks_with_a_long_grace_and_the_second_one_kills() {
    let mut run = run_of(2, policy(3));
    let effects = run.on(RunInput::StopAsked { signal: SIGINT }, 10);
    assert!(wants(&effects, &RunEffect::SignalRanks { signal: SIGINT }));
    assert_eq!(run.wake_at(), Some(30_010));
    assert!(wants(&run.on(RunInput::KillAsked, 20), &RunEffect::KillRanks));
    run.on(killed_by_us(0), 21);
    run.on(killed_by_us(1), 21);
    let last = run.on(SWEPT, 22);
    assert_eq!(outcome(&last).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

#[test]
fn the_checkpoint_signal_comes_first() {
    let ladder = StopLadder { checkpoint: Some(Rung { signal: 10, grace_ms: 500 }), ..StopLadder::default() };
    let mut run = run_of(1, Policy { ladder, ..policy(0) });
    assert!(wants(&run.on(RunInput::StopAsked { signal: SIGTERM }, 0), &RunEffect::SignalRanks { signal: 10 }));
    assert!(wants(&run.on(RunInput::TimePassed, 500), &RunEffect::SignalRanks { signal: SIGTERM }));
}

/// What a node of four ranks answers; of rank 1 it knows what it does.
fn not_joined(missing: Vec<u32>) -> NodeReport {
    let ranks = (0..4).map(|rank| RankSeen { rank, phase: (rank == 1).then_some(Phase::Import), pids: Vec::new() });
    NodeReport::NotJoined { missing, ranks: ranks.collect() }
}

#[test]
fn ranks_that_never_came_are_named() {
    let mut run = run_of(4, Policy { start_timeout_ms: Some(1_000), ..policy(0) });
    assert_eq!(run.on(RunInput::TimePassed, 1_000), [RunEffect::CheckJoined]);
    run.on(RunInput::Reported { node: 0, report: not_joined(vec![1, 3]) }, 1_001);
    for rank in 0..4 {
        run.on(killed_by_us(rank), 1_010);
    }
    let last = run.on(SWEPT, 1_011);
    let Some((Outcome::Failed, VerdictKind::StartTimedOut { missing, joined }, None)) = outcome(&last) else {
        panic!("not a time-out: {last:?}")
    };
    let missing: Vec<_> = missing.iter().map(|missing| (missing.rank.0, missing.phase)).collect();
    assert_eq!(missing, [(1, Some(Phase::Import)), (3, None)]);
    assert_eq!(joined.iter().map(|rank| rank.0).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn when_all_have_come_the_time_out_is_forgotten() {
    let mut run = run_of(2, Policy { start_timeout_ms: Some(1_000), ..policy(0) });
    run.on(RunInput::TimePassed, 1_000);
    assert_eq!(run.on(RunInput::Reported { node: 0, report: not_joined(vec![]) }, 1_001), []);
    assert_eq!(run.wake_at(), None);
}

#[test]
fn both_nodes_are_swept_before_the_verdict() {
    let mut run = run_of_two_nodes(policy(0));
    run.on(failed(3), 10);
    for rank in 0..2 {
        run.on(killed_by_us(rank), 12);
    }
    assert_eq!(run.on(killed_by_us(2), 13), [RunEffect::Sweep]);
    assert_eq!(run.on(SWEPT, 14), []);
    let last = run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 15);
    let Some(RunEffect::Tell(RunEvent::RunEnded { verdict, .. })) =
        last.iter().find(|action| matches!(action, RunEffect::Tell(RunEvent::RunEnded { .. })))
    else {
        panic!("not ended: {last:?}")
    };
    assert_eq!(verdict.first.as_ref().map(|first| first.node.as_str()), Some("gn7"));
}

#[test]
fn a_dead_supervisor_ends_the_attempt_on_all_nodes_and_is_named() {
    let mut run = run_of_two_nodes(policy(0));
    let effects = run.on(lost(Loss::SupervisorDied), 50);
    assert!(wants(&effects, &RunEffect::SignalRanks { signal: SIGTERM }));
    run.on(ended(0, Exit::Code { code: 1 }, VICTIM), 51);
    assert_eq!(run.on(killed_by_us(1), 52), [RunEffect::Sweep]);
    let last = run.on(SWEPT, 53);
    let kind = VerdictKind::supervisor_lost("gn7");
    assert_eq!(outcome(&last), Some((Outcome::Failed, kind, None)));
}

#[test]
fn a_rank_that_failed_before_its_node_was_lost_stays_the_cause() {
    let mut run = run_of_two_nodes(policy(0));
    run.on(failed(2), 10);
    run.on(lost(Loss::SupervisorDied), 20);
    run.on(killed_by_us(0), 21);
    run.on(killed_by_us(1), 21);
    assert_eq!(outcome(&run.on(SWEPT, 22)).and_then(|(_, _, rank)| rank), Some(2));
}

#[test]
fn after_a_lost_node_the_restart_waits_until_it_is_back() {
    let mut run = run_of_two_nodes(policy(1));
    run.on(lost(Loss::Silent), 50);
    run.on(killed_by_us(0), 51);
    run.on(killed_by_us(1), 51);
    let effects = run.on(SWEPT, 52);
    assert_eq!(effects.last(), Some(&RunEffect::Assemble));
    assert_eq!(run.wake_at(), Some(60_052));
    let effects = run.on(RunInput::Assembled { nodes: two_nodes() }, 900);
    assert_eq!(effects, [RunEffect::SurveyCheckpoints { attempt: 2 }]);
}

#[test]
fn an_elastic_run_goes_on_with_the_nodes_that_remain() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(1) });
    run.on(lost(Loss::SupervisorDied), 50);
    run.on(killed_by_us(0), 51);
    run.on(killed_by_us(1), 51);
    assert_eq!(run.on(SWEPT, 52).last(), Some(&RunEffect::Assemble));
    let nodes = vec![NodeRanks { name: "gn6".into(), ranks: 0..2, tells_checkpoints: true }];
    assert_eq!(run.on(RunInput::Assembled { nodes }, 60), [RunEffect::SurveyCheckpoints { attempt: 2 }]);
    assert_eq!(started(&run.on(found(0, false, [8]), 61)), Some((2, true, true, Some(8))));
    run.on(ended(0, Exit::SUCCESS, ""), 70);
    assert_eq!(run.on(ended(1, Exit::SUCCESS, ""), 70), [RunEffect::Sweep]);
    assert_eq!(outcome(&run.on(SWEPT, 71)).map(|o| o.0), Some(Outcome::Succeeded));
}

#[test]
fn a_node_that_leaves_costs_no_restart_and_the_others_begin_anew() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(0) });
    let effects = run.on(RunInput::NodeLeaves { node: 1, signal: SIGTERM }, 50);
    assert!(wants(&effects, &RunEffect::SignalRanks { signal: SIGTERM }));
    // Asked to stop, ranks may answer with any code: none of them has failed.
    run.on(killed_by_us(0), 51);
    run.on(ended(1, Exit::Code { code: 1 }, ""), 52);
    run.on(ended(2, Exit::Code { code: 143 }, ""), 53);
    assert_eq!(run.on(killed_by_us(3), 54), [RunEffect::Sweep]);
    assert_eq!(run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 55), []);
    assert_eq!(run.on(SWEPT, 56), [RunEffect::Assemble]);
    let nodes = vec![NodeRanks { name: "gn6".into(), ranks: 0..2, tells_checkpoints: true }];
    assert_eq!(run.on(RunInput::Assembled { nodes }, 60), [RunEffect::SurveyCheckpoints { attempt: 2 }]);
    run.on(found(0, false, []), 61);
    run.on(ended(0, Exit::SUCCESS, ""), 70);
    run.on(ended(1, Exit::SUCCESS, ""), 70);
    assert_eq!(outcome(&run.on(SWEPT, 71)).map(|o| o.0), Some(Outcome::Succeeded));
}

#[test]
fn a_node_that_leaves_and_dies_on_the_way_is_not_a_loss() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(0) });
    run.on(RunInput::NodeLeaves { node: 1, signal: SIGTERM }, 50);
    run.on(lost(Loss::SupervisorDied), 51);
    run.on(killed_by_us(0), 52);
    assert_eq!(run.on(killed_by_us(1), 53), [RunEffect::Sweep]);
    assert_eq!(run.on(SWEPT, 54), [RunEffect::Assemble]);
}

#[test]
fn who_stops_the_whole_run_wins_over_one_that_leaves() {
    let mut run = run_of_two_nodes(Policy { elastic: true, ..policy(3) });
    run.on(RunInput::NodeLeaves { node: 1, signal: SIGTERM }, 50);
    run.on(RunInput::StopAsked { signal: SIGINT }, 51);
    for rank in 0..4 {
        run.on(killed_by_us(rank), 52);
    }
    run.on(RunInput::Reported { node: 1, report: NodeReport::Swept }, 53);
    assert_eq!(outcome(&run.on(SWEPT, 54)).map(|o| o.0), Some(Outcome::Stopped { signal: SIGINT }));
}

#[test]
fn a_node_that_does_not_come_back_ends_the_run() {
    let mut run = run_of_two_nodes(policy(1));
    run.on(lost(Loss::Silent), 50);
    run.on(killed_by_us(0), 51);
    run.on(killed_by_us(1), 51);
    run.on(SWEPT, 52);
    let last = run.on(RunInput::TimePassed, 60_052);
    assert_eq!(outcome(&last), Some((Outcome::Failed, VerdictKind::NodeLost { node: "gn7".into() }, None)));
}

/// Its supervisor has heard nothing for long, or was ended, behind the last word of its ranks.
#[test]
fn a_node_that_is_lost_when_all_ranks_have_returned_0_takes_nothing_along() {
    for loss in [Loss::SupervisorDied, Loss::Silent, Loss::LeaseEnded] {
        let mut run = run_of_two_nodes(policy(3));
        for rank in 0..3 {
            run.on(ended(rank, Exit::SUCCESS, ""), 50);
        }
        assert_eq!(run.on(ended(3, Exit::SUCCESS, ""), 51), [RunEffect::Sweep]);
        assert_eq!(run.on(lost(loss), 52), []);
        assert_eq!(outcome(&run.on(SWEPT, 53)), Some((Outcome::Succeeded, VerdictKind::Succeeded, None)), "{loss:?}");

        let mut run = run_of_two_nodes(policy(3));
        for rank in 0..3 {
            run.on(ended(rank, Exit::SUCCESS, ""), 50);
        }
        run.on(lost(loss), 52);
        assert_eq!(outcome(&run.on(SWEPT, 53)), None, "one rank of it has not: {loss:?}");
    }
}

fn any_happening(ranks: u32) -> impl Strategy<Value = RunInput> {
    prop_oneof![
        (0..ranks, 0..3).prop_map(|(rank, code)| ended(rank, Exit::Code { code }, "")),
        (0..ranks).prop_map(|rank| ended(rank, Exit::Code { code: 1 }, VICTIM)),
        (0..ranks).prop_map(killed_by_us),
        Just(RunInput::StopAsked { signal: SIGINT }),
        Just(RunInput::NodeLeaves { node: 0, signal: SIGTERM }),
        Just(RunInput::KillAsked),
        Just(RunInput::TimePassed),
        proptest::collection::vec(0..ranks, 0..3).prop_map(|missing| RunInput::Reported {
            node: 0,
            report: NodeReport::NotJoined { missing, ranks: Vec::new() }
        }),
    ]
}

proptest! {
    /// Whatever happens in whatever order: a sweep stands between two attempts, ranks are never started while others of
    /// the attempt live, the budget is kept, and the run ends once and for all.
    #[test]
    fn no_course_of_events_breaks_the_rules(
        happenings in proptest::collection::vec((any_happening(3), 0u64..5_000), 0..60),
        max_restarts in 0u32..4,
    ) {
        let mut run = run_of(3, Policy { start_timeout_ms: Some(2_000), ..policy(max_restarts) });
        let mut now = 0;
        let mut starts = 1;
        let mut swept_since_start = false;
        let mut finished = false;
        let mut queue: Vec<RunInput> = Vec::new();
        let mut rest = happenings.into_iter();
        while let Some(happening) = queue.pop().or_else(|| {
            let (happening, later) = rest.next()?;
            now += later;
            Some(happening)
        }) {
            for action in run.on(happening, now) {
                prop_assert!(!finished, "an action after the end");
                match action {
                    RunEffect::StartRanks { attempt, .. } => {
                        prop_assert!(swept_since_start, "started without a sweep");
                        swept_since_start = false;
                        starts += 1;
                        prop_assert_eq!(attempt, starts);
                    }
                    RunEffect::SurveyCheckpoints { .. } => queue.push(found(0, true, [])),
                    RunEffect::Sweep => {
                        swept_since_start = true;
                        queue.push(SWEPT);
                    }
                    RunEffect::Finish => finished = true,
                    _ => {}
                }
            }
        }
        prop_assert!(starts <= max_restarts + 1);
    }
}

#[test]
fn a_later_launch_counts_attempts_on_and_resumes() {
    let mut run = Coordinator::new(Policy { attempts_before: 2, ..policy(0) });
    run.on(RunInput::Begin, 0);
    let nodes = vec![NodeRanks { name: "a".into(), ranks: 0..1, tells_checkpoints: true }];
    run.on(RunInput::Assembled { nodes }, 0);
    assert_eq!(started(&run.on(found(0, false, []), 1)), Some((3, true, true, None)));
}

use proptest::prelude::*;

use super::*;
use crate::event::StopCause;
use crate::exit::Exit;
use crate::language::Text;
use crate::verdict::{Verdict, VerdictKind};

fn started() -> RunEvent {
    RunEvent::RunStarted {
        run_id: "run".to_owned(),
        world_size: 1,
        folder: None,
        warden_pid: 1,
        supervisor_pid: 2,
        master_port: None,
    }
}

fn attempt(attempt: u32, resume: bool) -> RunEvent {
    RunEvent::AttemptStarted { attempt, master_addr: String::new(), master_port: 1, resume }
}

fn rank_started() -> RunEvent {
    RunEvent::RankStarted { attempt: 1, rank: 0, local_rank: 0, pid: 3 }
}

fn exited(code: i32) -> RunEvent {
    RunEvent::RankExited { attempt: 1, rank: 0, local_rank: 0, pid: 3, exit: Exit::Code { code } }
}

fn phase(phase: Phase, since_ms: u64) -> RunEvent {
    RunEvent::RanksPhase { attempt: 1, phase, since_ms }
}

fn measured(steps: u64, saved_steps: u64, saving_ms: u64) -> RunEvent {
    measured_with(steps, saved_steps, saving_ms, 0)
}

fn measured_with(steps: u64, saved_steps: u64, saving_ms: u64, slow_ms: u64) -> RunEvent {
    RunEvent::AttemptMeasured { attempt: 1, steps, saved_steps, saving_ms, slow_ms }
}

fn failed() -> RunEvent {
    RunEvent::AttemptFailed { attempt: 1, verdict: Box::new(Verdict::of(VerdictKind::RankFailed)) }
}

fn scheduled(after_ms: u64) -> RunEvent {
    RunEvent::RestartScheduled { attempt: 2, after_ms, restarts_used: 1, max_restarts: 3 }
}

fn ended(outcome: Outcome) -> RunEvent {
    RunEvent::RunEnded { outcome, attempts: 1, verdict: Box::new(Verdict::of(VerdictKind::Succeeded)) }
}

fn stopping() -> RunEvent {
    RunEvent::Stopping { attempt: 1, signal: 15, grace_ms: 50, reason: StopCause::Failure }
}

fn account(events: Vec<(u64, RunEvent)>) -> Account {
    let mut ledger = Ledger::default();
    for (seq, (time_ms, event)) in (1..).zip(events) {
        ledger.take(&Record { v: 1, seq, time_ms, event });
    }
    ledger.account(0)
}

fn times(account: &Account) -> Vec<(Cause, u64)> {
    account.causes.iter().map(|time| (time.cause, time.ms)).collect()
}

#[test]
fn a_run_with_a_failure_and_a_restart_is_told_apart_to_the_millisecond() {
    let account = account(vec![
        (1_000, started()),
        (1_010, attempt(1, false)),
        (1_020, rank_started()),
        // Seen a little later than it was.
        (2_250, phase(Phase::Import, 2_000)),
        (3_100, phase(Phase::Init, 3_020)),
        (3_250, phase(Phase::Load, 3_120)),
        (4_000, phase(Phase::FirstStep, 3_820)),
        (5_000, phase(Phase::Step, 4_820)),
        // 100 steps in 10 s, of which 1 s was saving; the last checkpoint is after 50 steps.
        (14_820, exited(1)),
        (14_850, stopping()),
        (14_900, measured(100, 50, 1_000)),
        (14_900, failed()),
        (14_900, scheduled(2_000)),
        (16_900, attempt(2, true)),
        (16_910, rank_started()),
        (17_910, phase(Phase::Step, 17_910)),
        // 200 steps in 10 s, of which 50 had been made before.
        (27_910, exited(0)),
        (27_960, measured(200, 0, 0)),
        (28_000, ended(Outcome::Succeeded)),
    ]);
    let expected = vec![
        (Cause::Productive, 10_000 - 1_000 + 7_500),
        (Cause::Import, 2_000 + 1_000),
        (Cause::Recompute, 2_500),
        (Cause::BackOff, 2_000),
        (Cause::FirstStep, 1_000),
        (Cause::CheckpointStall, 1_000),
        (Cause::Load, 700),
        (Cause::Stop, 50 + 90),
        (Cause::Init, 100),
        (Cause::Spawn, 20 + 10),
        (Cause::Detect, 30),
    ];
    assert_eq!(times(&account), expected);
    assert_eq!(account.wall_ms, 27_000);
}

#[test]
fn ranks_of_which_no_step_is_seen_are_not_called_productive() {
    let plain = |reported: Option<u64>| {
        let report = reported.map(|at| (at, RunEvent::StepsReported { attempt: 1 }));
        let begin = [(0, started()), (5, attempt(1, false)), (10, rank_started())];
        let end = [(1_010, exited(0)), (1_020, ended(Outcome::Succeeded))];
        account(begin.into_iter().chain(report).chain(end).collect())
    };
    assert_eq!(times(&plain(None)), [(Cause::NoSteps, 1_000), (Cause::Spawn, 10), (Cause::Stop, 10)]);
    // Their progress files told, at whatever time that was seen.
    assert_eq!(times(&plain(Some(900))), [(Cause::Productive, 1_000), (Cause::Spawn, 10), (Cause::Stop, 10)]);
    let events = |outcome| {
        vec![
            (0, started()),
            (5, attempt(1, false)),
            (10, rank_started()),
            (500, phase(Phase::FirstStep, 410)),
            (1_010, exited(0)),
            (1_020, ended(outcome)),
        ]
    };
    assert_eq!(account(events(Outcome::Succeeded)).of(Cause::NoSteps), 600);
    assert_eq!(account(events(Outcome::Failed)).of(Cause::FirstStep), 600);
    let mut told = events(Outcome::Succeeded);
    told.insert(4, (700, RunEvent::StepsReported { attempt: 1 }));
    let told = account(told);
    assert_eq!((told.of(Cause::Productive), told.of(Cause::FirstStep), told.of(Cause::NoSteps)), (310, 290, 0));
}

#[test]
fn a_hang_that_passes_was_a_slow_rank_and_one_that_does_not_is_a_hang() {
    let suspected = || RunEvent::HangSuspected { attempt: 1, since_ms: 2_000, ranks: vec![0] };
    let begin = || vec![(0, started()), (0, attempt(1, false)), (0, rank_started()), (0, phase(Phase::Step, 0))];
    let mut passed = begin();
    passed.extend([
        (5_000, suspected()),
        (7_000, RunEvent::HangPassed { attempt: 1, since_ms: 2_000, lasted_ms: 5_000 }),
        (9_000, ended(Outcome::Failed)),
    ]);
    assert_eq!(times(&account(passed)), [(Cause::Productive, 4_000), (Cause::SlowRank, 5_000)]);
    let mut stays = begin();
    stays.extend([(5_000, suspected()), (8_000, stopping()), (9_000, ended(Outcome::Failed))]);
    assert_eq!(times(&account(stays)), [(Cause::Productive, 2_000), (Cause::Hang, 6_000), (Cause::Stop, 1_000)]);
}

#[test]
fn what_the_others_waited_for_a_slow_rank_is_not_productive_and_counts_once() {
    let begin = || vec![(0, started()), (0, attempt(1, false)), (0, rank_started()), (0, phase(Phase::Step, 0))];
    let mut slow = begin();
    slow.extend([(10_000, measured_with(100, 0, 1_000, 4_000)), (10_000, ended(Outcome::Succeeded))]);
    let expected = [(Cause::Productive, 6_000), (Cause::SlowRank, 3_000), (Cause::CheckpointStall, 1_000)];
    assert_eq!(times(&account(slow)), expected);
    // In the hang that passed they waited too.
    let mut with_hang = begin();
    with_hang.extend([
        (5_000, RunEvent::HangSuspected { attempt: 1, since_ms: 2_000, ranks: vec![0] }),
        (6_000, RunEvent::HangPassed { attempt: 1, since_ms: 2_000, lasted_ms: 4_000 }),
        (10_000, measured_with(100, 0, 0, 4_500)),
        (10_000, ended(Outcome::Succeeded)),
    ]);
    assert_eq!(times(&account(with_hang)), [(Cause::Productive, 5_500), (Cause::SlowRank, 4_500)]);
}

#[test]
fn a_hang_in_start_up_goes_back_to_what_it_was() {
    let suspected = || RunEvent::HangSuspected { attempt: 1, since_ms: 2_000, ranks: vec![0] };
    let passed = || RunEvent::HangPassed { attempt: 1, since_ms: 2_000, lasted_ms: 5_000 };
    let begin = || {
        let events = [started(), attempt(1, false), rank_started(), phase(Phase::Load, 0)];
        events.map(|event| (0, event)).to_vec()
    };
    let mut loads_on = begin();
    loads_on.extend([(5_000, suspected()), (7_000, passed()), (9_000, phase(Phase::Step, 8_500))]);
    loads_on.push((10_000, ended(Outcome::Failed)));
    let expected = [(Cause::Productive, 1_500), (Cause::SlowRank, 5_000), (Cause::Load, 2_000 + 1_500)];
    assert_eq!(times(&account(loads_on)), expected);
    // The next phase is seen before the end of the hang is told.
    let mut steps_on = begin();
    steps_on.extend([(5_000, suspected()), (7_000, phase(Phase::Step, 6_000)), (7_100, passed())]);
    steps_on.push((10_000, ended(Outcome::Failed)));
    let expected = [(Cause::Productive, 4_000), (Cause::SlowRank, 4_000), (Cause::Load, 2_000)];
    assert_eq!(times(&account(steps_on)), expected);
}

#[test]
fn a_task_waits_in_the_queue_and_for_its_nodes() {
    let mut ledger = Ledger::queued_since(100);
    let text = Text::new("等待", "waiting");
    for (time_ms, event) in [(600, started()), (5_600, RunEvent::Waiting { text }), (7_600, attempt(1, false))] {
        ledger.take(&Record { v: 1, seq: 1, time_ms, event });
    }
    assert_eq!(times(&ledger.account(7_700)), [(Cause::NodeWait, 7_000), (Cause::Queue, 500), (Cause::Spawn, 100)]);
}

#[test]
fn a_node_that_was_cut_off_waits_once_its_ranks_are_gone() {
    let swept = RunEvent::Swept { attempt: 1, killed: 1, survivors: vec![], left: vec![], freeing: vec![], kept: None };
    let waiting = || RunEvent::Waiting { text: Text::new("等待", "waiting") };
    let account = account(vec![
        (0, started()),
        (10, attempt(1, false)),
        (20, rank_started()),
        (5_020, swept),
        (5_020, waiting()),
        (10_020, waiting()),
        (60_020, attempt(2, false)),
        (60_030, rank_started()),
        (61_030, ended(Outcome::Failed)),
    ]);
    assert_eq!(times(&account), [(Cause::NodeWait, 55_000), (Cause::NoSteps, 6_000), (Cause::Spawn, 30)]);
}

fn any_event() -> impl Strategy<Value = RunEvent> {
    let phases =
        prop::sample::select(vec![Phase::Import, Phase::Init, Phase::Load, Phase::FirstStep, Phase::Step, Phase::Save]);
    prop_oneof![
        Just(started()),
        any::<bool>().prop_map(|resume| attempt(1, resume)),
        Just(rank_started()),
        (0..2).prop_map(exited),
        (phases, 0_u64..200_000).prop_map(|(name, since)| phase(name, since)),
        (0_u64..200_000).prop_map(|since_ms| RunEvent::HangSuspected { attempt: 1, since_ms, ranks: vec![] }),
        (0_u64..200_000).prop_map(|since_ms| RunEvent::HangPassed { attempt: 1, since_ms, lasted_ms: 1 }),
        (0_u64..900, 0_u64..900, 0_u64..90_000, 0_u64..90_000)
            .prop_map(|(steps, saved, ms, slow)| measured_with(steps, saved, ms, slow)),
        Just(RunEvent::StepsReported { attempt: 1 }),
        Just(failed()),
        Just(RunEvent::Waiting { text: Text::new("等待", "waiting") }),
        (0_u64..5_000).prop_map(scheduled),
        Just(stopping()),
        Just(RunEvent::Killing { attempt: 1 }),
        Just(ended(Outcome::Succeeded)),
        Just(ended(Outcome::Failed)),
    ]
}

proptest! {
    /// Clocks may go back; then no time passes.
    #[test]
    fn every_millisecond_has_exactly_one_cause(
        events in prop::collection::vec((0_u64..200_000, any_event()), 1..60),
        sorted in any::<bool>(),
        later in 0_u64..10_000,
    ) {
        let mut events = events;
        if sorted {
            events.sort_by_key(|(time_ms, _)| *time_ms);
        }
        let began = events[0].0;
        let last = events.iter().map(|(time_ms, _)| *time_ms).max().unwrap_or(began);
        let mut ledger = Ledger::queued_since(began);
        for (time_ms, event) in events {
            ledger.take(&Record { v: 1, seq: 1, time_ms, event });
        }
        let account = ledger.account(last + later);
        prop_assert_eq!(account.causes.iter().map(|time| time.ms).sum::<u64>(), last + later - began);
        prop_assert_eq!(account.wall_ms, last + later - began);
    }
}

//! Ranks that others wait for: one that has returned, one that hangs.

use fermi_domain::hang::Frame;
use fermi_domain::language::Text;

use super::*;

#[test]
fn where_all_that_failed_are_victims_the_one_that_returned_before_is_named() {
    let frame = Frame { file: "/home/me/train.py".to_owned(), line: 41, function: "train".to_owned() };
    let left = Reached { steps: 30, frames: vec![frame], ..Reached::default() };
    let waits = Reached { steps: 30, collective: Some("all_reduce #61".to_owned()), ..Reached::default() };
    let mut run = run_of(3, policy(0));
    assert_eq!(run.on(ended_at(2, Exit::SUCCESS, "", Some(left)), 3_000), []);
    run.on(ended_at(0, Exit::Code { code: 1 }, VICTIM, Some(waits.clone())), 3_100);
    assert_eq!(run.on(ended_at(1, Exit::Code { code: 1 }, VICTIM, Some(waits)), 3_150), [RunEffect::Sweep]);
    let last = run.on(SWEPT, 3_200);
    let verdict = failed_attempt(&last);
    assert_eq!(verdict.headline().en, "rank 2 on gn6 ended early, with exit code 0");
    let diagnosis = verdict.diagnosis.as_ref().unwrap();
    assert_eq!((diagnosis.id.as_ref(), verdict.class), (Diagnosis::EARLY_RETURN, Some(FailureClass::User)));
    assert!(diagnosis.cause.en.contains("in all_reduce #61; it was last seen at train.py:41"), "{:?}", diagnosis.cause);
    assert_eq!(diagnosis.line.as_deref(), Some(VICTIM));
    assert_eq!(verdict.evidence, ["rank 2", "  /home/me/train.py:41 train"]);
    let after: Vec<i64> = verdict.others.iter().map(|other| other.after_ms).collect();
    assert_eq!(after, [100, 150]);
    assert_eq!(outcome(&last), Some((Outcome::Failed, VerdictKind::RankFailed, Some(2))));
}

#[test]
fn a_rank_that_returned_is_not_to_blame_where_another_one_failed() {
    let mut run = run_of(3, policy(0));
    run.on(ended(2, Exit::SUCCESS, ""), 3_000);
    run.on(ended(0, Exit::Code { code: 1 }, VICTIM), 3_100);
    run.on(ended(1, Exit::Signal { signal: 11, core_dumped: true }, ""), 3_150);
    assert_eq!(outcome(&run.on(SWEPT, 3_200)).and_then(|(_, _, rank)| rank), Some(1));
    // Nor is one that returned because it was asked to, when the attempt was being ended.
    let mut run = run_of(2, policy(0));
    run.on(ended(0, Exit::Code { code: 1 }, VICTIM), 10);
    run.on(RunInput::TimePassed, 2_010);
    run.on(ended(1, Exit::SUCCESS, ""), 2_020);
    assert_eq!(outcome(&run.on(SWEPT, 2_030)).and_then(|(_, _, rank)| rank), Some(0));
}

/// A rank is found to hang, and has been waited for long enough.
fn hung(rank: u32) -> RunInput {
    let diagnosis = Diagnosis {
        id: Diagnosis::HANG.into(),
        class: FailureClass::User,
        recurrence: Recurrence::MayPass,
        role: Role::Cause,
        cause: Text::new("卡住", "it hangs"),
        advice: Text::new("查看", "look"),
        line: None,
    };
    let failure = Box::new(Failure { diagnosis: Some(diagnosis), ..Failure::default() });
    let report = NodeReport::RankHung { rank, failure, made_progress: true };
    RunInput::Reported { node: 0, report }
}

#[test]
fn a_rank_that_hangs_is_ended_as_the_cause_and_the_others_with_it() {
    let mut run = run_of(2, policy(1));
    let hung = hung(1);
    let effects = run.on(hung.clone(), 60_000);
    assert!(effects.contains(&RunEffect::SignalRanks { signal: SIGTERM }), "{effects:?}");
    assert_eq!(run.on(hung, 60_001), [], "it is being ended");
    run.on(ended(1, Exit::Signal { signal: 9, core_dumped: false }, ""), 60_060);
    run.on(ended(0, Exit::Signal { signal: 15, core_dumped: false }, ""), 60_060);
    let effects = run.on(RunInput::Reported { node: 0, report: NodeReport::Swept }, 60_070);
    let verdict = failed_attempt(&effects);
    assert_eq!(verdict.headline().en, "rank 1 on gn6 hung and was ended");
    assert!(verdict.others.is_empty(), "{verdict:?}");
    assert!(effects.iter().any(|effect| matches!(effect, RunEffect::Tell(RunEvent::RestartScheduled { .. }))));
}

#[test]
fn a_rank_that_returned_while_others_wait_for_it_ends_the_attempt_too() {
    let mut run = run_of(2, policy(1));
    run.on(ended(1, Exit::Code { code: 0 }, ""), 1_000);
    let effects = run.on(hung(1), 60_000);
    assert!(effects.contains(&RunEffect::SignalRanks { signal: SIGTERM }), "{effects:?}");
}

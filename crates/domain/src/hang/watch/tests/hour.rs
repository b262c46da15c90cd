//! An hour of a training in which nothing hangs, played in fast motion.

use proptest::prelude::*;

use super::*;

const HOUR_MS: u64 = 3_600_000;
const MINUTE_MS: u64 = 60_000;

/// What trainings do instead of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interlude {
    /// Rank 0 is in `torch.save`, the others wait for it in a collective.
    Save,
    /// Rank 0 writes a checkpoint by other means.
    Write,
    /// Rank 0 computes alone, the others wait for it.
    EvaluationOnRankZero,
    /// All ranks go through the model and gather what they have found, without a step of the optimizer.
    Evaluation,
    /// All ranks compile, or their children do.
    Compilation,
    CompilationOnRankZero,
    /// All ranks wait for data that is read.
    SlowData,
    /// A step takes longer than all before.
    LongStep,
}

use Interlude::*;

impl Interlude {
    /// Up to so long it is usual.
    fn longest_ms(self) -> u64 {
        match self {
            Save | Write | Evaluation | EvaluationOnRankZero | Compilation | CompilationOnRankZero => 10 * MINUTE_MS,
            SlowData => 25_000,
            LongStep => 1_500,
        }
    }

    fn play(self, job: &mut Job, ms: u64) -> Option<HangStep> {
        let all: Vec<u32> = job.ranks.iter().map(|sample| sample.rank).collect();
        match self {
            Save => {
                job.held = vec![0];
                enter(job, Phase::Save);
            }
            Write => (job.held, job.moves) = (vec![0], vec![0]),
            EvaluationOnRankZero | CompilationOnRankZero => (job.held, job.busy) = (vec![0], vec![0]),
            Evaluation => return evaluate(job, ms),
            Compilation => (job.held, job.busy) = (all.clone(), all),
            SlowData => (job.held, job.moves) = (all.clone(), all),
            LongStep => job.held = vec![0],
        }
        let step = alarm(job, ms);
        enter(job, Phase::Step);
        (job.held, job.busy, job.moves) = Default::default();
        job.ranks.iter_mut().for_each(|sample| sample.state = b'S');
        step
    }
}

/// Rank 0 comes to another phase.
fn enter(job: &mut Job, phase: Phase) {
    if let Some(pulse) = &mut job.ranks[0].pulse {
        (pulse.phase, pulse.phase_since_ns) = (Some(phase), job.now_ms * 1_000_000);
    }
}

/// Collectives now and then, and no steps.
fn evaluate(job: &mut Job, ms: u64) -> Option<HangStep> {
    let until = job.now_ms + ms;
    while job.now_ms < until {
        job.held = job.ranks.iter().map(|sample| sample.rank).collect();
        job.busy = job.held.clone();
        if let Some(step) = alarm(job, 3_000) {
            return Some(step);
        }
        for pulse in job.ranks.iter_mut().filter_map(|sample| sample.pulse.as_mut()) {
            (pulse.enqueued, pulse.completed) = (pulse.enqueued + 1, pulse.completed + 1);
        }
    }
    (job.held, job.busy) = Default::default();
    job.ranks.iter_mut().for_each(|sample| sample.state = b'S');
    None
}

/// What is told or done about a hang in so much time; to look closer is neither.
fn alarm(job: &mut Job, ms: u64) -> Option<HangStep> {
    let until = job.now_ms + ms;
    while job.now_ms < until {
        match job.run(until - job.now_ms) {
            Some(step @ (HangStep::Judge { .. } | HangStep::Act)) => return Some(step),
            Some(HangStep::Suspect { .. } | HangStep::Passed { .. }) | None => {}
        }
    }
    None
}

fn any_interlude() -> impl Strategy<Value = (Interlude, u64, u64)> {
    let kinds = [Save, Write, EvaluationOnRankZero, Evaluation, Compilation, CompilationOnRankZero, SlowData, LongStep];
    (prop::sample::select(kinds.to_vec()), 0..=1_000_u64, 2_000..120_000_u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Nobody is named, whatever comes in which order; hangs would be acted upon here.
    #[test]
    fn an_hour_of_saves_evaluations_and_compilations_has_no_alarm(
        ranks in 2..5_u32,
        first_step_ms in 0..25 * MINUTE_MS,
        interludes in prop::collection::vec(any_interlude(), 1..64),
    ) {
        let mut job = Job::new(ranks);
        job.patience = HangPatience { act_after_ms: Some(MINUTE_MS) };
        // The first step compiles.
        for pulse in job.ranks.iter_mut().filter_map(|sample| sample.pulse.as_mut()) {
            pulse.phase = Some(Phase::FirstStep);
        }
        job.held = (0..ranks).collect();
        job.busy = job.held.clone();
        prop_assert_eq!(alarm(&mut job, first_step_ms), None, "the first step");
        for pulse in job.ranks.iter_mut().filter_map(|sample| sample.pulse.as_mut()) {
            pulse.phase = Some(Phase::Step);
        }
        (job.held, job.busy) = Default::default();
        job.ranks.iter_mut().for_each(|sample| sample.state = b'S');
        for (interlude, share, steps_ms) in interludes.into_iter().cycle() {
            prop_assert_eq!(alarm(&mut job, steps_ms), None, "steps before {:?}", interlude);
            let ms = LOOK_MS.max(interlude.longest_ms() * share / 1_000);
            prop_assert_eq!(interlude.play(&mut job, ms), None, "{:?} of {} ms", interlude, ms);
            if job.now_ms > HOUR_MS {
                break;
            }
        }
    }
}

#[test]
fn a_hang_in_such_an_hour_is_still_told() {
    let mut job = Job::under_way(3);
    for interlude in [Save, Evaluation, Compilation, SlowData] {
        assert_eq!(interlude.play(&mut job, interlude.longest_ms()), None, "{interlude:?}");
        assert_eq!(alarm(&mut job, MINUTE_MS), None, "steps after {interlude:?}");
    }
    job.held = vec![1];
    let Some(HangStep::Judge { case, .. }) = alarm(&mut job, 10_000) else { panic!("nobody is named") };
    assert_eq!(case.ranks, [1]);
}

//! How the loops fare.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fermi_domain::language::{Text, reason};

/// A run that takes longer than this hangs, and a loop that is overdue by so much is not run any more.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many failed runs in a row are no passing trouble.
const MOST_FAILURES: u32 = 3;

/// Why a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeUp {
    Start,
    Bell,
    Period,
    /// The run before failed.
    Retry,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(String),
    Panicked(String),
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct LastRun {
    pub ended: SystemTime,
    pub wake_up: WakeUp,
    pub took: Duration,
    pub outcome: Outcome,
}

/// A loop as it stands.
#[derive(Clone, Debug)]
pub struct LoopReport {
    pub name: &'static str,
    pub period: Duration,
    pub runs: u64,
    pub failures: u64,
    pub panics: u64,
    /// Since a run ended; since the start of the loop before the first.
    pub idle: Duration,
    pub last: Option<LastRun>,
}

/// A loop that does not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub name: &'static str,
    pub trouble: Trouble,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A run has not ended for so long.
    Hangs { seconds: u64 },
    /// No run has begun for so long.
    Overdue { seconds: u64 },
    /// The last runs failed or panicked.
    Failing { times: u32, reason: String },
}

/// All loops.
#[derive(Debug, Default)]
pub struct Background {
    loops: Mutex<Vec<Arc<LoopState>>>,
}

#[derive(Debug)]
pub struct LoopState {
    name: &'static str,
    period: Duration,
    inner: Mutex<Inner>,
    panics_next: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    runs: u64,
    failures: u64,
    panics: u64,
    bad_in_a_row: u32,
    running_since: Option<Instant>,
    idle_since: Instant,
    last: Option<LastRun>,
}

impl Background {
    pub(super) fn register(&self, name: &'static str, period: Duration) -> Arc<LoopState> {
        let inner = Inner {
            runs: 0,
            failures: 0,
            panics: 0,
            bad_in_a_row: 0,
            running_since: None,
            idle_since: Instant::now(),
            last: None,
        };
        let state = Arc::new(LoopState { name, period, inner: Mutex::new(inner), panics_next: AtomicBool::new(false) });
        self.loops().push(state.clone());
        state
    }

    fn loops(&self) -> MutexGuard<'_, Vec<Arc<LoopState>>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn reports(&self) -> Vec<LoopReport> {
        self.loops().iter().map(|state| state.report(Instant::now())).collect()
    }

    /// The loops that do not do their work.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.loops().iter().filter_map(|state| state.complaint(Instant::now())).collect()
    }

    /// For tests: the next run of a loop panics. Says whether there is such a loop.
    #[doc(hidden)]
    pub fn panic_in_next_run(&self, name: &str) -> bool {
        let loops = self.loops();
        let found = loops.iter().find(|state| state.name == name);
        found.inspect(|state| state.panics_next.store(true, Relaxed)).is_some()
    }
}

impl LoopState {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begins(&self) {
        self.inner().running_since = Some(Instant::now());
    }

    pub(super) fn ended(&self, wake_up: WakeUp, took: Duration, outcome: Outcome) {
        let mut inner = self.inner();
        inner.runs += 1;
        match outcome {
            Outcome::Done => inner.bad_in_a_row = 0,
            Outcome::Failed(_) => inner.failures += 1,
            Outcome::Panicked(_) => inner.panics += 1,
        }
        if outcome != Outcome::Done {
            inner.bad_in_a_row = inner.bad_in_a_row.saturating_add(1);
        }
        inner.running_since = None;
        inner.idle_since = Instant::now();
        inner.last = Some(LastRun { ended: SystemTime::now(), wake_up, took, outcome });
    }

    pub(super) fn panicked_waiting(&self, reason: String) {
        self.begins();
        self.ended(WakeUp::Bell, Duration::ZERO, Outcome::Panicked(reason));
    }

    pub(super) fn panic_if_told(&self) {
        if self.panics_next.swap(false, Relaxed) {
            std::panic::resume_unwind(Box::new("a test asked for it"));
        }
    }

    fn report(&self, now: Instant) -> LoopReport {
        let inner = self.inner();
        LoopReport {
            name: self.name,
            period: self.period,
            runs: inner.runs,
            failures: inner.failures,
            panics: inner.panics,
            idle: now.saturating_duration_since(inner.idle_since),
            last: inner.last.clone(),
        }
    }

    fn complaint(&self, now: Instant) -> Option<Complaint> {
        let inner = self.inner();
        let idle = now.saturating_duration_since(inner.idle_since);
        let running = inner.running_since.map(|since| now.saturating_duration_since(since));
        let trouble = match (running, &inner.last) {
            (Some(running), _) if running > PATIENCE => Trouble::Hangs { seconds: running.as_secs() },
            (None, _) if idle > self.period + PATIENCE => Trouble::Overdue { seconds: idle.as_secs() },
            (_, Some(LastRun { outcome: Outcome::Failed(reason) | Outcome::Panicked(reason), .. }))
                if inner.bad_in_a_row >= MOST_FAILURES =>
            {
                Trouble::Failing { times: inner.bad_in_a_row, reason: reason.clone() }
            }
            _ => return None,
        };
        Some(Complaint { name: self.name, trouble })
    }
}

impl Complaint {
    pub fn text(&self) -> Text {
        let name = self.name;
        match &self.trouble {
            Trouble::Hangs { seconds } => Text::new(
                format!("后台循环 {name} 已有 {seconds} 秒没有结束"),
                format!("a run of the background loop {name} has not ended for {seconds} s"),
            ),
            Trouble::Overdue { seconds } => Text::new(
                format!("后台循环 {name} 已有 {seconds} 秒没有运行"),
                format!("the background loop {name} has not run for {seconds} s"),
            ),
            Trouble::Failing { times, reason } => {
                let why = reason::of_said(reason);
                Text::new(
                    format!("后台循环 {name} 连续失败 {times} 次：{}", why.zh),
                    format!("the background loop {name} failed {times} times in a row: {}", why.en),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(500);

    fn state() -> Arc<LoopState> {
        Background::default().register("placement", PERIOD)
    }

    fn after(state: &LoopState, passed: Duration) -> Option<Trouble> {
        state.complaint(Instant::now() + passed).map(|complaint| complaint.trouble)
    }

    #[test]
    fn a_loop_that_runs_in_time_is_not_complained_about() {
        let state = state();
        assert_eq!(after(&state, PERIOD), None);
        state.begins();
        state.ended(WakeUp::Start, Duration::from_millis(1), Outcome::Done);
        assert_eq!(after(&state, PERIOD * 2), None);
        assert_eq!(after(&state, PERIOD + PATIENCE * 2), Some(Trouble::Overdue { seconds: 60 }));
    }

    #[test]
    fn a_run_that_does_not_end_hangs() {
        let state = state();
        state.begins();
        assert_eq!(after(&state, PATIENCE / 2), None);
        assert_eq!(after(&state, PATIENCE * 2), Some(Trouble::Hangs { seconds: 60 }));
    }

    #[test]
    fn three_failures_in_a_row_are_trouble_until_a_run_goes_well() {
        let state = state();
        let run = |outcome: Outcome| {
            state.begins();
            state.ended(WakeUp::Bell, Duration::ZERO, outcome);
            after(&state, Duration::ZERO)
        };
        assert_eq!(run(Outcome::Failed("disk".into())), None);
        assert_eq!(run(Outcome::Panicked("bug".into())), None);
        let failing = Trouble::Failing { times: 3, reason: "bug".into() };
        assert_eq!(run(Outcome::Panicked("bug".into())), Some(failing));
        assert_eq!(run(Outcome::Done), None);
        let report = state.report(Instant::now());
        assert_eq!((report.runs, report.failures, report.panics), (4, 1, 2));
    }
}

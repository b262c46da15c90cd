//! What ranks report of their progress: one JSON object per line.

use fermi_api::v1::Progress;
use fermi_domain::task::Task;
use fermi_store::chunks::{StreamKind, StreamName};
use serde::Deserialize;
use serde_json::Value;

use crate::core::Core;

/// Enough for a pace.
const LINES: usize = 20;

/// One line of a progress stream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProgressReport {
    /// Unix seconds.
    pub time: f64,
    pub step: u64,
    pub total_steps: Option<u64>,
    pub epoch: Option<f64>,
    pub loss: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub step_time_s: Option<f64>,
}

/// The lines that can be read; what is torn or no report is left out.
pub fn reports(bytes: &[u8]) -> impl Iterator<Item = ProgressReport> + '_ {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Numbers with their names.
pub type Named = Vec<(String, f64)>;

/// The time in milliseconds, the step and the numbers of one line.
pub fn numbers(line: &[u8]) -> Option<(u64, Option<u64>, Named)> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(line) else { return None };
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let time = milliseconds(number("time")?)?;
    let step = fields.get("step").and_then(Value::as_u64);
    let is_own = |name: &String| name != "time" && name != "step" && name != "totalSteps";
    let others = fields.iter().filter(|(name, _)| is_own(name));
    Some((time, step, others.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()))
}

/// Unix seconds as milliseconds; nothing for what is no time.
fn milliseconds(seconds: f64) -> Option<u64> {
    let millis = seconds * 1e3;
    (millis.is_finite() && (0.0..9e15).contains(&millis)).then_some(millis as u64)
}

/// How far the last reports of a rank say that it is.
pub fn judged(reports: &[ProgressReport]) -> Option<Progress> {
    let last = reports.last()?;
    let first = reports.iter().find(|report| report.step < last.step);
    let pace = first.map(|first| (last.time - first.time) / (last.step - first.step) as f64);
    let pace = pace.filter(|pace| *pace > 0.0).or(last.step_time_s);
    let left = last.total_steps.map(|total| total.saturating_sub(last.step));
    let eta = pace.zip(left).map(|(pace, left)| pace * left as f64).filter(|eta| eta.is_finite() && *eta >= 0.0);
    Some(Progress {
        step: last.step,
        total_steps: last.total_steps,
        epoch: last.epoch,
        loss: last.loss,
        tokens_per_s: last.tokens_per_s,
        eta_seconds: eta.map(|eta| eta.ceil() as u64),
        reported_at: milliseconds(last.time),
    })
}

/// How far rank 0 of a task's newest attempt is.
pub async fn of(core: &Core, task: &Task) -> Option<Progress> {
    let attempt = task.attempt()?.number.get();
    let name = StreamName { task: task.id.clone(), attempt, rank: 0, kind: StreamKind::Progress };
    let chunks = core.chunks().clone();
    let read = tokio::task::spawn_blocking(move || chunks.tail(&name, LINES)).await.ok()?.ok()?;
    let mut progress = judged(&reports(&read.1).collect::<Vec<_>>())?;
    if task.phase.is_final() {
        progress.eta_seconds = None;
    }
    Some(progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_reports_are_read_or_left_out() {
        let lines: [&[u8]; 2] = [
            b"{\"time\":10.5,\"step\":1,\"totalSteps\":11,\"epoch\":0.5,\"loss\":2.5,\"lr\":1e-4}\n",
            b"{\"time\":12,\"step\":3,\"totalSteps\":11,\"tokensPerS\":1e3,\"stepTimeS\":0.1}\n{\"ti",
        ];
        fermi_mutator::try_all(&lines, 4_000, |case| {
            if let Some(progress) = judged(&reports(case).collect::<Vec<_>>()) {
                assert!(serde_json::to_string(&progress).is_ok());
            }
            let read = case.split(|byte| *byte == b'\n').filter_map(numbers);
            assert!(read.flat_map(|(_, _, named)| named).all(|(_, value)| value.is_finite()));
        });
    }

    #[test]
    fn the_pace_of_the_last_steps_says_how_long_it_takes() {
        let lines = b"{\"time\":10.0,\"step\":1,\"totalSteps\":11}\nrubbish\n{\"time\":12,\"step\":3,\"totalSteps\":11,\"loss\":2.5}\n{\"ti";
        let progress = judged(&reports(lines).collect::<Vec<_>>()).unwrap();
        assert_eq!((progress.step, progress.eta_seconds, progress.loss), (3, Some(8), Some(2.5)));
        assert_eq!(progress.reported_at, Some(12_000));
        assert_eq!(judged(&[]), None);
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_nonsense() {
        let report = |time, step| ProgressReport { time, step, total_steps: Some(10), ..ProgressReport::default() };
        assert_eq!(judged(&[report(50.0, 1), report(10.0, 2)]).unwrap().eta_seconds, None);
        assert_eq!(judged(&[report(f64::MAX, 10)]).unwrap().reported_at, None);
    }

    #[test]
    fn every_number_of_a_line_is_a_series() {
        let (time, step, others) = numbers(br#"{"time":1.5,"step":2,"loss":3,"note":"x","lr":0.1}"#).unwrap();
        assert_eq!((time, step), (1_500, Some(2)));
        assert_eq!(others, [("loss".to_owned(), 3.0), ("lr".to_owned(), 0.1)]);
        assert_eq!(numbers(b"[]"), None);
    }
}

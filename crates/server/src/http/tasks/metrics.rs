//! Numbers of a task over time: what its ranks report, and what its machines do.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State};
use fermi_api::v1::{Envelope, Failure, Metrics, Point, Series};
use fermi_domain::ids::TaskId;
use fermi_domain::task::Task;
use fermi_store::chunks::{ChunkStore, StreamKind};

use super::progress::numbers;
use super::show;
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply};
use crate::http::id::TaskPath;
use crate::http::logs::blocking;
use crate::http::params::Params;

/// The most bytes of progress that one request reads, from the end of each stream.
const MOST_BYTES: u64 = 16 << 20;

/// Which numbers are wanted.
#[derive(Clone, Debug)]
struct Wanted {
    /// All when empty.
    names: Vec<String>,
    rank: Option<u32>,
    most: usize,
}

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}

/// Loss, speed and whatever else ranks report, and the use of their machines.
///
/// Where there are more points than `maxPoints`, each one stands for a stretch with its least and greatest value.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/metrics", tag = "training-tasks",
    params(
        ("id" = String, Path),
        ("series" = Option<String>, Query, example = "loss,tokensPerS", description = "Names by commas; all when not given"),
        ("maxPoints" = Option<u32>, Query, minimum = 2, maximum = 10000, description = "500 when not given"),
        ("rank" = Option<u32>, Query, description = "One rank; all when not given"),
        ("attempt" = Option<u32>, Query, minimum = 1, description = "The newest when not given"),
    ),
    responses((status = 200, body = Envelope<Metrics>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn metrics(State(core): State<Core>, TaskPath(id): TaskPath, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &["series", "maxPoints", "rank", "attempt"])?;
    let wanted = Wanted {
        names: params
            .text("series")
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        rank: params.number("rank", 0..=u32::MAX)?,
        most: params.number("maxPoints", 2..=10_000_usize)?.unwrap_or(500),
    };
    let attempt = params.number("attempt", 1..=u32::MAX)?;
    let task = show::find_with(&core, &id, attempt, wanted.rank).await?;
    let attempt = attempt.unwrap_or(task.newest_attempt());
    let (chunks, asked) = (core.chunks().clone(), wanted.clone());
    let read = tokio::task::spawn_blocking(move || reported(&*chunks, &id, attempt, &asked)).await;
    let mut series = blocking(read)?;
    series.extend(measured(&core, &task, attempt, &wanted));
    EnvelopeAnswer::ok(&Metrics { attempt, series })
}

fn reported(chunks: &dyn ChunkStore, task: &TaskId, attempt: u32, wanted: &Wanted) -> std::io::Result<Vec<Series>> {
    let mut found = chunks.streams(task)?;
    found.retain(|(name, _)| {
        name.attempt == attempt && name.kind == StreamKind::Progress && wanted.rank.is_none_or(|rank| rank == name.rank)
    });
    let share = MOST_BYTES / (found.len().max(1) as u64);
    let mut all = Vec::new();
    for (name, length) in found {
        let bytes = chunks.read(&name, length.saturating_sub(share), usize::try_from(share).unwrap_or(usize::MAX))?;
        let mut by_name: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((time, step, values)) = numbers(line) else { continue };
            for (name, value) in values.into_iter().filter(|(name, _)| wanted.has(name)) {
                by_name.entry(name).or_default().push(Point { time, step, value, min: value, max: value });
            }
        }
        all.extend(by_name.into_iter().map(|(series, points)| Series {
            name: series,
            rank: Some(name.rank),
            environment: None,
            gpu: None,
            points: thinned(points, wanted.most),
        }));
    }
    Ok(all)
}

/// Name, environment, rank, GPU.
type SeriesKey = (&'static str, String, Option<u32>, Option<u32>);

/// What agents measured lately, on the machines that the task uses.
fn measured(core: &Core, task: &Task, attempt: u32, wanted: &Wanted) -> Vec<Series> {
    let (from, to) = (task.started_ms.unwrap_or(u64::MAX), task.ended_ms.unwrap_or(u64::MAX));
    let mut by_key: BTreeMap<SeriesKey, Vec<Point>> = BTreeMap::new();
    for node in &task.nodes {
        for beat in core.hub().samples(&node.environment) {
            if !(from..=to).contains(&beat.time_ms) {
                continue;
            }
            let mut push = |name: &'static str, rank: Option<u32>, gpu: Option<u32>, value: f64| {
                if wanted.has(name) && (wanted.rank.is_none() || rank.is_none() || wanted.rank == rank) {
                    let point = Point { time: beat.time_ms, step: None, value, min: value, max: value };
                    by_key.entry((name, node.environment.to_string(), rank, gpu)).or_default().push(point);
                }
            };
            push("machine.cpu", None, None, f64::from(beat.machine.cpu));
            push("machine.memory", None, None, beat.machine.memory_used as f64);
            push("machine.received", None, None, beat.machine.received as f64);
            push("machine.sent", None, None, beat.machine.sent as f64);
            for gpu in &beat.gpus {
                push("gpu.use", None, Some(gpu.index), f64::from(gpu.use_share));
                push("gpu.memory", None, Some(gpu.index), gpu.memory_used as f64);
            }
            for rank in beat.ranks.iter().filter(|rank| *rank.task == task.id && rank.attempt == attempt) {
                push("rank.cpus", Some(rank.rank), None, f64::from(rank.cpus));
                push("rank.memory", Some(rank.rank), None, rank.memory as f64);
            }
        }
    }
    by_key
        .into_iter()
        .map(|((name, environment, rank, gpu), points)| Series {
            name: name.to_owned(),
            rank,
            environment: Some(environment),
            gpu,
            points: thinned(points, wanted.most),
        })
        .collect()
}

/// At most `most` points; none of the extremes is lost.
fn thinned(points: Vec<Point>, most: usize) -> Vec<Point> {
    if points.len() <= most {
        return points;
    }
    let stretch = points.len().div_ceil(most);
    points
        .chunks(stretch)
        .filter_map(|stretch| {
            let last = stretch.last()?;
            let min = stretch.iter().map(|point| point.min).fold(f64::INFINITY, f64::min);
            let max = stretch.iter().map(|point| point.max).fold(f64::NEG_INFINITY, f64::max);
            Some(Point { min, max, ..*last })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let point = |time: u64| {
            let value = if time == 777 { 1e9 } else { time as f64 };
            Point { time, step: Some(time), value, min: value, max: value }
        };
        let thin = thinned((0..10_000).map(point).collect(), 500);
        assert!(thin.len() <= 500 && thin.len() > 400);
        assert!(thin.iter().any(|point| point.max == 1e9));
        assert_eq!(thin.first().unwrap().min, 0.0);
        assert_eq!(thin.last().unwrap().time, 9_999);
    }
}

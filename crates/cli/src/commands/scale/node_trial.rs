//! One run of the training as a task of a server: created, followed, stopped with this process, and read.

use std::thread;
use std::time::{Duration, Instant};

use fermi_api::client::{Client, ClientError, LogQuery, Query};
use fermi_api::v1::{CreateRequest, StopRequest, Stream, Task};
use fermi_domain::language::{Explained, Text};
use fermi_domain::phase::TaskPhase;

use super::throughput::{Throughput, in_output, of_steps};
use super::trial::Outcome;
use crate::connection::CommandProblem;
use crate::{signals, speech};

/// Between two questions to the server.
const GLANCE: Duration = Duration::from_millis(250);
/// For what the ranks of an ended task wrote to arrive.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// For a task that was asked to stop.
const STOPPING: Duration = Duration::from_secs(90);
/// How long a server may be away: the task goes on without it.
const AWAY: Duration = Duration::from_secs(120);
/// Of what rank 0 printed, the end is read.
const LINES: u64 = 2_000;
const POINTS: u32 = 10_000;

/// Creates the task, waits for its end, and deletes it where its numbers are known.
pub fn run(client: &Client, request: &CreateRequest, patience: Duration) -> Outcome {
    let task = match client.create_task(request) {
        Ok(answer) => answer.data.task_id,
        Err(error) => return Outcome::Failed(said(error)),
    };
    let ended = match follow(client, &task, patience) {
        Ok(ended) => ended,
        Err(outcome) => return outcome,
    };
    if ended.row.status != TaskPhase::Succeeded {
        return Outcome::Failed(failed(&task, &ended));
    }
    match throughput(client, &task) {
        Some(throughput) => {
            let memory_bytes = memory(client, &task);
            // The logs of a measurement are nobody's.
            delete(client, &task);
            Outcome::Measured { throughput, memory_bytes }
        }
        None => Outcome::Failed(Text::new(
            format!(
                "没有得到速度：FERMI_PROGRESS_FILE 中没有 tokensPerS，rank 0 的输出中也没有 tokens/s、samples/s 或 it/s（fermi task logs {task}）"
            ),
            format!(
                "its speed is not known: there is no tokensPerS in FERMI_PROGRESS_FILE and no tokens/s, samples/s or it/s in what rank 0 printed (fermi task logs {task})"
            ),
        )),
    }
}

fn follow(client: &Client, task: &str, patience: Duration) -> Result<Task, Outcome> {
    let until = Instant::now() + patience;
    let (mut away, mut waits_for) = (None::<Instant>, None);
    loop {
        if signals::heard() > 0 {
            if stop(client, task) {
                delete(client, task);
            }
            return Err(Outcome::Interrupted);
        }
        match client.task(task) {
            Ok(answer) if answer.data.row.status.is_final() => return Ok(answer.data),
            Ok(answer) => (away, waits_for) = (None, answer.data.row.reason),
            Err(error) if error.may_pass() && away.get_or_insert_with(Instant::now).elapsed() < AWAY => {}
            Err(error) => {
                stop(client, task);
                return Err(Outcome::Failed(said(error)));
            }
        }
        if Instant::now() >= until {
            stop(client, task);
            return Err(Outcome::Failed(late(task, patience, waits_for.as_ref())));
        }
        thread::sleep(GLANCE);
    }
}

/// Stops the task and waits until it is over, which it says; a second signal stops it at once. One that goes on is named.
fn stop(client: &Client, task: &str) -> bool {
    let until = Instant::now() + STOPPING;
    let (mut asked, mut forced) = (false, false);
    while Instant::now() < until {
        let force = signals::heard() > 1;
        if !asked || force && !forced {
            let is_taken = client.stop_task(task, &StopRequest { force }).is_ok();
            (asked, forced) = (asked || is_taken, force && is_taken);
        }
        match client.task(task) {
            Ok(answer) if answer.data.row.status.is_final() => return true,
            Err(error) if is_gone(&error) => return false,
            _ => thread::sleep(GLANCE),
        }
    }
    left(task);
    false
}

/// A server keeps a task until the end of what it wrote has come; of a measurement nobody reads it, so
/// that it goes unread where that takes long.
fn delete(client: &Client, task: &str) {
    let began = Instant::now();
    let is_left = |force| client.delete_task(task, force).is_err_and(|error| !is_gone(&error));
    while is_left(began.elapsed() > LAST_WORDS / 2) {
        if began.elapsed() > LAST_WORDS {
            return left(task);
        }
        thread::sleep(GLANCE);
    }
}

fn is_gone(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(refused) if refused.code == 404)
}

fn left(task: &str) {
    let text = Text::new(
        format!("{task} 未能停止并删除；用 fermi task stop {task} 与 fermi task delete {task}"),
        format!("{task} could not be stopped and deleted; use 'fermi task stop {task}' and 'fermi task delete {task}'"),
    );
    speech::say(&format!("  ! {}\n", text.in_language(speech::language())));
}

/// What rank 0 reported, else what it printed. It is read until it grows no more, since the end of a log arrives after that of
/// its task.
fn throughput(client: &Client, task: &str) -> Option<Throughput> {
    let until = Instant::now() + LAST_WORDS;
    let mut before = None;
    loop {
        let now = read(client, task);
        let is_whole = now.1.is_some() && before.as_ref() == Some(&now);
        if is_whole || Instant::now() >= until {
            return now.1;
        }
        before = Some(now);
        thread::sleep(GLANCE);
    }
}

/// How much there is to read, and what it says.
fn read(client: &Client, task: &str) -> (usize, Option<Throughput>) {
    let speeds = series(client, task, "tokensPerS", Some(0));
    if let Some(found) = of_steps(&speeds) {
        return (speeds.len(), Some(found));
    }
    let printed = |stream| {
        let query = LogQuery { rank: Some(0), stream: Some(stream), attempt: None, tail: Some(LINES) };
        let chunks = client.logs(task, &query).map(|answer| answer.data.chunks).unwrap_or_default();
        chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>()
    };
    let texts = [Stream::Stdout, Stream::Stderr].map(printed);
    (texts.iter().map(String::len).sum(), texts.iter().find_map(|text| in_output(text)))
}

/// The most that a GPU had in use, else a rank, as far as it was sampled.
fn memory(client: &Client, task: &str) -> Option<u64> {
    let most = |name| series(client, task, name, None).into_iter().reduce(f64::max).filter(|most| *most > 0.0);
    most("gpu.memory").or_else(|| most("rank.memory")).map(|bytes| bytes as u64)
}

fn series(client: &Client, task: &str, name: &str, rank: Option<u32>) -> Vec<f64> {
    let query = Query::new().with("series", name).with("maxPoints", POINTS).with_some("rank", rank);
    let found = client.task_metrics(task, &query).map(|answer| answer.data.series).unwrap_or_default();
    found.iter().flat_map(|series| series.points.iter().map(|point| point.value)).collect()
}

fn said(error: ClientError) -> Text {
    CommandProblem::from(error).text()
}

fn failed(task: &str, ended: &Task) -> Text {
    let why = ended.row.headline.clone().unwrap_or_else(|| ended.row.status_text.clone());
    Text::new(
        format!("{task} 没有成功：{}（fermi task show {task}）", why.zh),
        format!("{task} did not succeed: {} (fermi task show {task})", why.en),
    )
}

fn late(task: &str, patience: Duration, waits_for: Option<&Text>) -> Text {
    let seconds = patience.as_secs();
    let (zh, en) = waits_for.map_or_else(Default::default, |why| (format!("，{}", why.zh), format!(", {}", why.en)));
    Text::new(
        format!("{seconds} 秒内没有结束{zh}；{task} 已停止（--timeout 可放宽）"),
        format!("it did not end within {seconds} s{en}; {task} was stopped (--timeout allows more)"),
    )
}

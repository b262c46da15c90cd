//! Answers of a server for tests.

use fermi_api::v1::{Explanation, LogChunk, Metrics, Rank, Stream, Task, TaskRow};
use fermi_domain::language::{Language, Text};
use fermi_domain::phase::TaskPhase;
use serde_json::{Value, json};

use super::{ServerNews, Size, State, TaskPage};

fn row_json(id: &str, name: &str, phase: TaskPhase) -> Value {
    json!({
        "id": id, "name": name, "status": phase, "statusText": phase.text(),
        "reason": null, "headline": null, "framework": null, "environments": ["env-1"], "nodeCount": 1, "worldSize": 2,
        "attempt": 1, "restartsUsed": 0, "createdBy": { "kind": "user", "name": "ann" }, "priority": 0, "labels": {},
        "createdAt": 1, "updatedAt": 1, "startedAt": 1, "endedAt": null,
        "allowedActions": [{ "action": "stop", "allowed": !phase.is_final(),
            "reason": phase.is_final().then(|| Text::new("任务已结束", "the task is over")) }],
    })
}

pub fn row(id: &str, name: &str, phase: TaskPhase) -> TaskRow {
    serde_json::from_value(row_json(id, name, phase)).unwrap()
}

pub fn rank(rank: u32, node: &str, gpu: Option<u32>) -> Rank {
    serde_json::from_value(json!({
        "attempt": 1, "rank": rank, "localRank": rank, "nodeRank": 0, "worker": format!("{node}-{rank}"),
        "environment": "env-1", "node": node, "gpu": gpu,
        "state": if rank == 3 { "failed" } else { "running" },
        "stateText": if rank == 3 { Text::new("失败", "failed") } else { Text::new("运行中", "running") },
        "step": 40, "memory": 1_610_612_736_u64,
    }))
    .unwrap()
}

pub fn task(id: &str, name: &str, phase: TaskPhase) -> Task {
    let mut task = row_json(id, name, phase);
    let more = json!({
        "spec": { "name": name, "work": { "kind": "builtin" },
            "distributed": { "enabled": false, "nodeIds": ["env-1"], "masterNode": "env-1", "framework": "command" } },
        "generation": 1, "maxRestarts": 0, "stopRequested": false,
        "progress": { "step": 40, "totalSteps": 120, "loss": 2.25, "tokensPerS": 3412.0, "etaSeconds": 96 },
        "attempts": [{ "number": 1, "generation": 1, "status": "running", "statusText": Text::new("运行中", "running"),
            "startedAt": 1, "endedAt": null, "resumed": false, "ranksStarted": 2, "verdict": null }],
        "nodes": [], "rankMap": [], "masterPort": null, "verdict": null, "warnings": [],
    });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(task).unwrap()
}

pub fn metrics() -> Metrics {
    let point =
        |at: u64, value: f64| json!({ "time": at * 500, "step": at, "value": value, "min": value, "max": value });
    let points = |value: fn(u64) -> f64| (1..20).map(|at| point(at, value(at))).collect::<Vec<_>>();
    serde_json::from_value(json!({ "attempt": 1, "series": [
        { "name": "loss", "rank": 0, "environment": null, "gpu": null, "points": points(|at| 3.0 / at as f64) },
        { "name": "gpu.use", "rank": null, "environment": "env-1", "gpu": 0, "points": points(|at| at as f64 / 20.0) },
        { "name": "gpu.memory", "rank": null, "environment": "env-1", "gpu": 0, "points": points(|_| 40e9) },
    ] }))
    .unwrap()
}

pub fn explanation(id: &str, name: &str, phase: TaskPhase) -> Explanation {
    serde_json::from_value(json!({
        "taskId": id, "name": name, "status": phase, "statusText": phase.text(),
        "summary": Text::new("全部 rank 正在运行", "all ranks run"),
        "advice": Text::new("不需要做什么", "nothing has to be done"),
        "waitingFor": [], "queue": null, "nodes": [], "verdict": null, "attempts": [], "restartsUsed": 0,
        "maxRestarts": 0, "events": [],
    }))
    .unwrap()
}

pub fn piece(attempt: u32, rank: u32, stream: Stream, offset: u64, text: &str) -> LogChunk {
    let next_offset = offset + text.len() as u64;
    LogChunk {
        attempt,
        rank,
        stream,
        offset,
        next_offset,
        length: next_offset,
        text: text.to_owned(),
        gaps: Vec::new(),
    }
}

/// Five tasks, two of which are over, as a server sends them: newest first.
pub fn rows() -> ServerNews {
    let rows = vec![
        row("task-5", "评测 bert-大模型", TaskPhase::Queued),
        row("task-4", "done", TaskPhase::Succeeded),
        row("task-3", "llama-7b", TaskPhase::Running),
        row("task-2", "bad", TaskPhase::Failed),
        row("task-1", "old\u{1b}[31m", TaskPhase::Running),
    ];
    ServerNews::Rows { rows, has_more: false }
}

pub fn page(id: &str, name: &str) -> ServerNews {
    ServerNews::Page(Box::new(TaskPage {
        task: task(id, name, TaskPhase::Running),
        ranks: (0..4).map(|number| rank(number, "gn6", Some(number))).collect(),
        metrics: metrics(),
        why: explanation(id, name, TaskPhase::Running),
    }))
}

/// A screen of this size with the tasks of [`rows`].
pub fn state(language: Language, columns: u16, rows: u16) -> State {
    let mut state = State::new(language, "http://10.0.0.1:7070".to_owned(), Size { columns, rows }, 6_000);
    state.hear(self::rows(), 0);
    state
}

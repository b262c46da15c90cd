//! What a rank was really started with, as long as the logs of its task are kept.

use std::io;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use fermi_api::v1::{Envelope, Failure, RankStart};
use fermi_domain::disk::GapReason;
use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::launch::{LONGEST_START_RECORD, StartRecord};
use fermi_domain::task::NotLaunched;
use fermi_store::chunks::{ChunkStore, StreamKind, StreamName};

use super::show;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply};
use crate::http::id::TaskPath;
use crate::http::logs::blocking;
use crate::http::params::Params;

/// What the API calls it that nothing is there, whatever the reason.
const NOT_KEPT: &str = "start_not_kept";

/// What one rank of an attempt was really started with: command line, folder, variables, when, where, by which release.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/start", tag = "training-tasks",
    params(
        ("id" = String, Path),
        ("rank" = Option<u32>, Query, description = "0 when not given"),
        ("attempt" = Option<u32>, Query, minimum = 1, description = "The newest that is kept when not given"),
    ),
    responses((status = 200, body = Envelope<RankStart>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn start(State(core): State<Core>, TaskPath(id): TaskPath, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &["rank", "attempt"])?;
    let rank = params.number("rank", 0..=u32::MAX)?.unwrap_or(0);
    let attempt = params.number("attempt", 1..=u32::MAX)?;
    let task = show::find_with(&core, &id, attempt, Some(rank)).await?;
    let chunks = core.chunks().clone();
    let looked = tokio::task::spawn_blocking(move || look(&*chunks, &id, rank, attempt)).await;
    let Kept { attempts, record } = blocking(looked)?;
    let record = record.map_err(|why| {
        let is_over = task.phase.is_final();
        let to_come = NotLaunched::of(task.id.as_str(), attempt, task.newest_attempt(), is_over);
        to_come.filter(|_| why == NotKept::Nothing).map_or_else(|| why.problem(), |to_come| not_launched(&to_come))
    })?;
    let start = RankStart::of(&record, rank, &task.spec).ok_or_else(|| NotKept::Nothing.problem())?;
    EnvelopeAnswer::ok(&RankStart { attempts, ..start })
}

/// What is kept of starts.
#[derive(Debug)]
struct Kept {
    attempts: Vec<u32>,
    /// Of the node whose rank was asked for, if it is any node's.
    record: Result<StartRecord, NotKept>,
}

/// Why there is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotKept {
    Nothing,
    /// It came and there was no room for it.
    Dropped(GapReason),
    /// It is on its way, or was torn with its machine.
    Unreadable,
}

/// Looks for the record of a rank's node. Ranks are numbered node by node, and a record stands with the first rank of its node.
fn look(chunks: &dyn ChunkStore, task: &TaskId, rank: u32, attempt: Option<u32>) -> io::Result<Kept> {
    let mut streams = chunks.streams(task)?;
    streams.retain(|(name, _)| name.kind == StreamKind::Start);
    let mut attempts: Vec<u32> = streams.iter().map(|(name, _)| name.attempt).collect();
    attempts.sort_unstable();
    attempts.dedup();
    let wanted = attempt.or_else(|| attempts.last().copied());
    let of_node = streams.iter().filter(|(name, _)| Some(name.attempt) == wanted && name.rank <= rank);
    let found = of_node.max_by_key(|(name, _)| name.rank);
    let record = match found {
        Some((name, length)) => read(chunks, name, *length)?,
        None => Err(NotKept::Nothing),
    };
    Ok(Kept { attempts, record })
}

fn read(chunks: &dyn ChunkStore, name: &StreamName, length: u64) -> io::Result<Result<StartRecord, NotKept>> {
    if let Some(gap) = chunks.gaps(name)?.first() {
        return Ok(Err(NotKept::Dropped(gap.reason)));
    }
    if length > LONGEST_START_RECORD as u64 {
        return Ok(Err(NotKept::Unreadable));
    }
    let json = chunks.read(name, 0, LONGEST_START_RECORD)?;
    Ok(StartRecord::read(&json).filter(|record| record.of_node.attempt == name.attempt).ok_or(NotKept::Unreadable))
}

fn not_launched(to_come: &NotLaunched) -> ApiProblem {
    ApiProblem::new(StatusCode::NOT_FOUND, NOT_KEPT, to_come.text()).hint(to_come.hint())
}

impl NotKept {
    fn problem(self) -> ApiProblem {
        let text = match self {
            Self::Nothing => Text::new(
                "没有保存该 rank 在这次启动中的启动内容",
                "what this rank was started with in this attempt is not kept",
            ),
            Self::Dropped(reason) => {
                let cause = reason.cause();
                Text::new(
                    format!("该 rank 的启动内容未能保存：{}", cause.zh),
                    format!("what this rank was started with was not kept: {}", cause.en),
                )
            }
            Self::Unreadable => Text::new(
                "该 rank 的启动内容不完整，无法读取",
                "what is kept of the start of this rank is not whole and cannot be read",
            ),
        };
        ApiProblem::new(StatusCode::NOT_FOUND, NOT_KEPT, text).hint(Text::new(
            "rank 启动后由节点上报，旧版本的 agent 不上报；与任务的日志一起保留和清理",
            "its node sends it once the rank runs, agents of older releases do not; it is kept as long as the logs of the task",
        ))
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::launch::{self, StartedNode, Withheld};
    use fermi_store::chunks::LocalChunks;

    use super::*;

    fn record(attempt: u32, ranks: impl Iterator<Item = u32>) -> Vec<u8> {
        let start =
            |rank| launch::RankStart { rank, pid: 7, argv: vec!["x".to_owned()], ..launch::RankStart::default() };
        let of_node = StartedNode { attempt, node: "gn6".to_owned(), ..StartedNode::default() };
        StartRecord::new(of_node, ranks.map(start).collect(), Withheld::default()).to_json()
    }

    fn name(attempt: u32, rank: u32) -> StreamName {
        StreamName { task: TaskId::from("task-1"), attempt, rank, kind: StreamKind::Start }
    }

    #[test]
    fn a_rank_is_found_in_the_record_of_its_node() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        let found = |rank, attempt| {
            let Kept { attempts, record } = look(&chunks, &TaskId::from("task-1"), rank, attempt).unwrap();
            (attempts, record.map(|record| (record.of_node.attempt, record.of_rank(rank).map(|start| start.rank))))
        };
        assert_eq!(found(0, None), (vec![], Err(NotKept::Nothing)));
        chunks.append(&name(1, 0), 0, &record(1, 0..3)).unwrap();
        chunks.append(&name(1, 3), 0, &record(1, 3..5)).unwrap();
        chunks.append(&name(3, 0), 0, &record(3, 0..3)).unwrap();
        chunks.append(&StreamName { kind: StreamKind::Stdout, ..name(4, 0) }, 0, b"x").unwrap();
        let kept = vec![1, 3];
        assert_eq!(found(2, Some(1)), (kept.clone(), Ok((1, Some(2)))));
        assert_eq!(found(4, Some(1)), (kept.clone(), Ok((1, Some(4)))));
        assert_eq!(found(1, None), (kept.clone(), Ok((3, Some(1)))), "the newest that is kept");
        assert_eq!(found(4, None), (kept.clone(), Ok((3, None))), "the node of this rank has sent none");
        assert_eq!(found(0, Some(2)), (kept, Err(NotKept::Nothing)));
    }

    #[test]
    fn what_was_dropped_or_torn_is_told_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        let found = |attempt| look(&chunks, &TaskId::from("task-1"), 0, Some(attempt)).unwrap().record.map(|_| ());
        chunks.skip(&name(1, 0), 0, 100, GapReason::DiskFull).unwrap();
        assert_eq!(found(1), Err(NotKept::Dropped(GapReason::DiskFull)));
        let whole = record(2, 0..2);
        chunks.append(&name(2, 0), 0, &whole[..20]).unwrap();
        assert_eq!(found(2), Err(NotKept::Unreadable));
        chunks.append(&name(2, 0), 20, &whole[20..]).unwrap();
        assert_eq!(found(2), Ok(()));
        chunks.append(&name(3, 0), 0, &whole).unwrap();
        assert_eq!(found(3), Err(NotKept::Unreadable), "it speaks of another attempt");
        chunks.append(&name(4, 0), 0, &vec![b' '; LONGEST_START_RECORD + 1]).unwrap();
        assert_eq!(found(4), Err(NotKept::Unreadable));
    }

    #[test]
    fn strangers_records_do_no_harm() {
        fermi_mutator::try_all(&[&record(1, 0..3), &record(2, 0..1)], 4_000, |case| {
            if let Some(record) = StartRecord::read(case) {
                let _ = record.of_rank(0);
            }
        });
    }
}

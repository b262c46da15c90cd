//! Asks the server for what the screen wants, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use fermi_api::client::{Client, ClientError, LogQuery, Query};
use fermi_api::v1::{LogChunk, Stream};
use fermi_domain::language::{Explained, Language};

use super::state::{Detail, ServerNews, TaskPage, Wanted, WantedPage};
use crate::connection::CommandProblem;

/// Those that are not over.
const ACTIVE: &str = "phase=initializing,queued,starting,running,restarting,stopping";
const MOST_ACTIVE: u32 = 500;
/// Of those that are over, the newest.
const MOST_OVER: u32 = 100;
/// Tasks of the list that are asked for by themselves in one round: a long list must not flood the server.
const DETAILS: usize = 6;
/// Points of each series: a screen has no more columns to draw them in.
const POINTS: u32 = 120;
/// When the first round begins: the list has been read, but nothing about its tasks.
const FIRST: Duration = Duration::from_millis(100);
/// Lines of a log at the beginning.
const LINES: u64 = 200;

/// Reads until nobody wants anything any more. `tell` says whether somebody listens.
pub fn read(
    client: &Client,
    language: Language,
    every: Duration,
    wishes: &Receiver<Wanted>,
    tell: impl Fn(ServerNews) -> bool,
) {
    let mut wanted = Wanted::default();
    let mut seen = Seen::default();
    let mut due = Instant::now() + every.min(FIRST);
    loop {
        let news = match wishes.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(wish) => {
                let wish = wishes.try_iter().last().unwrap_or(wish);
                let is_other = wish
                    .page
                    .as_ref()
                    .is_some_and(|page| wanted.page.as_ref().is_none_or(|before| !page.is_like(before)));
                wanted = wish;
                // Whoever opens a task does not wait for the next round.
                if is_other { page(client, &wanted) } else { Ok(Vec::new()) }
            }
            Err(RecvTimeoutError::Timeout) => {
                let news = round(client, &wanted, &mut seen);
                due = Instant::now() + every;
                news
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let news = news.unwrap_or_else(|error| vec![ServerNews::Lost(sentence(error, language))]);
        if !news.into_iter().all(&tell) {
            return;
        }
    }
}

/// A failed request in words.
pub fn sentence(error: ClientError, language: Language) -> String {
    CommandProblem::from(error).text().in_language(language).to_owned()
}

/// All tasks that are not over, and the newest of the others.
pub fn rows(client: &Client) -> Result<ServerNews, ClientError> {
    let active = client.tasks(&Query::new().with("pageSize", MOST_ACTIVE).with("filter", ACTIVE))?.data;
    let newest = client.tasks(&Query::new().with("pageSize", MOST_OVER))?.data;
    let mut rows = active.items;
    for row in newest.items {
        if rows.iter().all(|known| known.id != row.id) {
            rows.push(row);
        }
    }
    Ok(ServerNews::Rows { rows, has_more: active.next_page_token.is_some() })
}

/// Which tasks of the list were asked for when they had changed last, and whose turn it is.
#[derive(Default)]
struct Seen {
    changed: BTreeMap<String, u64>,
    turn: usize,
}

impl Seen {
    /// Those to ask for in this round: the ones that move, each in its turn, and the ones that have changed.
    fn next(&mut self, wanted: &Wanted) -> Vec<String> {
        self.changed.retain(|id, _| wanted.tasks.iter().any(|(wanted, _)| wanted == id));
        let is_due = |(id, changed): &&(String, u64)| {
            wanted.active.contains(id) || self.changed.get(id).is_none_or(|before| before != changed)
        };
        let due: Vec<(String, u64)> = wanted.tasks.iter().filter(is_due).cloned().collect();
        let first = if due.is_empty() { 0 } else { self.turn % due.len() };
        let (before, from) = due.split_at(first);
        let next: Vec<(String, u64)> = from.iter().chain(before).take(DETAILS).cloned().collect();
        self.turn = first + next.len();
        self.changed.extend(next.iter().cloned());
        next.into_iter().map(|(id, _)| id).collect()
    }
}

fn round(client: &Client, wanted: &Wanted, seen: &mut Seen) -> Result<Vec<ServerNews>, ClientError> {
    let mut news = vec![rows(client)?];
    if wanted.page.is_some() {
        news.extend(page(client, wanted)?);
        return Ok(news);
    }
    for id in seen.next(wanted) {
        match detail(client, &id) {
            Ok(detail) => news.push(ServerNews::Detail(id, detail)),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(news)
}

fn detail(client: &Client, id: &str) -> Result<Detail, ClientError> {
    let task = client.task(id)?.data;
    let metrics = client.task_metrics(id, &points())?.data;
    Ok(Detail::of(&task, &metrics))
}

fn points() -> Query {
    Query::new().with("rank", 0).with("maxPoints", POINTS)
}

fn is_gone(error: &ClientError) -> bool {
    error.code() == Some(404)
}

/// The open task with its log.
fn page(client: &Client, wanted: &Wanted) -> Result<Vec<ServerNews>, ClientError> {
    let Some(wanted) = &wanted.page else { return Ok(Vec::new()) };
    let id = &wanted.task;
    match whole_page(client, id) {
        Ok(page) => {
            let attempt = page.task.row.attempt;
            let mut news = vec![ServerNews::Page(Box::new(page))];
            if attempt > 0 {
                news.push(ServerNews::Log { task: id.clone(), pieces: log(client, wanted, attempt)? });
            }
            Ok(news)
        }
        Err(error) if is_gone(&error) => Ok(vec![ServerNews::Gone(id.clone())]),
        Err(error) => Err(error),
    }
}

fn whole_page(client: &Client, id: &str) -> Result<TaskPage, ClientError> {
    Ok(TaskPage {
        task: client.task(id)?.data,
        ranks: client.ranks(id, None)?.data.items,
        metrics: client.task_metrics(id, &points())?.data,
        why: client.explain(id)?.data,
    })
}

/// What the chosen ranks wrote since the offsets that are held; of an attempt that is new, the last lines.
fn log(client: &Client, wanted: &WantedPage, attempt: u32) -> Result<Vec<LogChunk>, ClientError> {
    let mut pieces = Vec::new();
    for rank in &wanted.ranks {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let held = wanted.offsets.get(&(*rank, stream)).filter(|_| wanted.attempt == attempt);
            pieces.extend(match held {
                Some(offset) => since(client, wanted, attempt, (*rank, stream), *offset)?,
                None => tail(client, wanted, attempt, (*rank, stream))?,
            });
        }
    }
    Ok(pieces)
}

fn tail(client: &Client, wanted: &WantedPage, attempt: u32, name: (u32, Stream)) -> Result<Vec<LogChunk>, ClientError> {
    let (rank, stream) = name;
    let query = LogQuery { rank: Some(rank), stream: Some(stream), attempt: Some(attempt), tail: Some(LINES) };
    Ok(client.logs(&wanted.task, &query)?.data.chunks)
}

/// Reads on; a rank that writes more than one answer holds is taken up again at its end.
fn since(
    client: &Client,
    wanted: &WantedPage,
    attempt: u32,
    name: (u32, Stream),
    offset: u64,
) -> Result<Vec<LogChunk>, ClientError> {
    let read = client.logs_from(&wanted.task, attempt, name.0, name.1, offset)?.data.chunks;
    if read.iter().all(|piece| piece.next_offset >= piece.length) {
        return Ok(read);
    }
    let end = tail(client, wanted, attempt, name)?;
    Ok(if end.iter().all(|piece| piece.offset >= offset) { end } else { read })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_move_take_turns_and_others_are_asked_for_once() {
        let ids: Vec<String> = (0..8).map(|number| format!("task-{number}")).collect();
        let mut wanted = Wanted {
            tasks: ids.iter().map(|id| (id.clone(), 1)).chain([("over".to_owned(), 1)]).collect(),
            active: ids,
            page: None,
        };
        let mut seen = Seen::default();
        let mut asked: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..6 {
            let next = seen.next(&wanted);
            assert_eq!(next.len(), DETAILS);
            next.into_iter().for_each(|id| *asked.entry(id).or_default() += 1);
        }
        assert_eq!(asked["over"], 1);
        assert!(asked.values().skip(1).all(|times| (3..=6).contains(times)), "{asked:?}");
        wanted.active.clear();
        assert!(seen.next(&wanted).is_empty());
        wanted.tasks[3].1 = 2;
        assert_eq!(seen.next(&wanted), ["task-3"]);
    }
}

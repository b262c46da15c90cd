//! Following what ranks write: each byte once, also where the connection breaks in between.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_api::client::{Client, ClientError, LogQuery, Moment};
use fermi_api::v1::{LogPiece, Logs};
use fermi_domain::phase::TaskPhase;

use super::heard::Heard;
use super::log_writer::Writer;
use super::logs::Ranks;
use super::watch;
use crate::commands::launch::lines::Bars;
use crate::connection::{CommandProblem, Outcome};
use crate::exit_code;
use crate::speech;

/// How long it is tried to read what was missed. The connection is there again when that begins.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// Shows everything until the task is over, then how it ended.
pub fn follow(client: &Client, id: &str, query: &LogQuery, ranks: Option<&Ranks>, json: bool) -> Outcome {
    // A task that is not there is an answer before anything is opened.
    client.task(id)?;
    let writer = Writer::new(client, id, ranks.cloned(), Bars::NowAndThen);
    let mut listener = Listener { client, id, query, writer, heard: already_there(client, id, query)?, json };
    let mut stream = client.follow_logs(id, query);
    let mut was_over = false;
    while let Some(moment) = stream.next()? {
        match moment {
            Moment::Event { kind, data, .. } if kind == "log" || kind == "message" => {
                let piece = serde_json::from_str(&data).map_err(|error| unreadable(client, &error))?;
                if !listener.hear(piece, &data)? {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            Moment::Event { .. } => {}
            Moment::Back => {
                if !listener.catch_up()? {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            // A stream that ends on a task that is over is at its end. One look may come before the last lines, the
            // second one cannot.
            Moment::Lost => {
                let is_over = client.task(id).is_ok_and(|task| task.data.row.status.is_final());
                if is_over && was_over {
                    break;
                }
                was_over = is_over;
            }
        }
    }
    listener.writer.finish();
    let task = watch::until_over(client, id, None)?;
    if json {
        let is_good = task.row.status == TaskPhase::Succeeded;
        return Ok(ExitCode::from(if is_good { exit_code::DONE } else { exit_code::FAILED }));
    }
    Ok(watch::end(&task))
}

/// What nobody will ask for who wants only the end of it.
fn already_there(client: &Client, id: &str, query: &LogQuery) -> Result<Heard, ClientError> {
    // Of one rank the server always says where to read on.
    if query.tail.is_none() || query.rank.is_some() {
        return Ok(Heard::default());
    }
    Ok(Heard::after(&client.logs(id, &lengths_of(query))?.data.chunks))
}

/// Asks how long the streams are, and for nothing of them.
fn lengths_of(query: &LogQuery) -> LogQuery {
    LogQuery { tail: Some(0), ..query.clone() }
}

fn unreadable(client: &Client, error: &serde_json::Error) -> CommandProblem {
    ClientError::NotUnderstood { server: client.server().to_string(), reason: error.to_string() }.into()
}

/// Who follows. What it does answers false when the reader is gone.
struct Listener<'a> {
    client: &'a Client,
    id: &'a str,
    query: &'a LogQuery,
    writer: Writer<'a>,
    heard: Heard,
    json: bool,
}

impl Listener<'_> {
    /// Takes a piece as the server has sent it, behind what was missed before it.
    fn hear(&mut self, piece: LogPiece, sent: &str) -> Result<bool, ClientError> {
        if !self.writer.wants(piece.rank) {
            return Ok(true);
        }
        if let Some(from) = self.heard.missed_before(&piece)
            && !self.read(&piece, from)?
        {
            return Ok(false);
        }
        let came = (piece.offset, piece.next_offset);
        let Some(news) = self.heard.news(piece) else { return Ok(true) };
        // As the server has sent it, unless a part of it came before.
        if self.json && came == (news.offset, news.next_offset) {
            return Ok(speech::print(&format!("{sent}\n")));
        }
        Ok(self.show(&news))
    }

    fn show(&mut self, piece: &LogPiece) -> bool {
        match self.json {
            true => speech::print(&format!("{}\n", serde_json::to_string(piece).unwrap_or_default())),
            false => self.writer.take(piece),
        }
    }

    /// Reads a stream from there to where this piece of it begins.
    fn read(&mut self, before: &LogPiece, mut from: u64) -> Result<bool, ClientError> {
        let LogPiece { attempt, rank, stream, offset: to, .. } = *before;
        while from < to {
            let (client, id) = (self.client, self.id);
            let Logs { chunks, .. } = patiently(|| Ok(client.logs_from(id, attempt, rank, stream, from)?.data))?;
            let Some(chunk) = chunks.into_iter().next().filter(|chunk| chunk.next_offset > from) else { break };
            from = chunk.next_offset;
            let (offset, next_offset, text) = (chunk.offset, chunk.next_offset, chunk.text);
            let piece = LogPiece { attempt, rank, stream, offset, next_offset, text, is_gap: false };
            if let Some(news) = self.heard.news(piece)
                && !self.show(&news)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stream goes on with the newest attempt: what the ones before it have written meanwhile is read here.
    fn catch_up(&mut self) -> Result<bool, ClientError> {
        self.heard.torn();
        let Some(heard) = self.heard.newest_attempt().filter(|_| self.query.attempt.is_none()) else { return Ok(true) };
        let (client, id, query) = (self.client, self.id, lengths_of(self.query));
        let newest = patiently(|| Ok(client.logs(id, &query)?.data.attempt))?;
        for attempt in heard..newest {
            let query = LogQuery { attempt: Some(attempt), ..query.clone() };
            let written = match patiently(|| client.logs(id, &query)) {
                Ok(answer) => answer.data.chunks,
                // Nobody has written anything in it.
                Err(ClientError::Refused(_)) => continue,
                Err(error) => return Err(error),
            };
            for chunk in written {
                if !self.writer.wants(chunk.rank) {
                    continue;
                }
                let from = self.heard.reads_on((chunk.attempt, chunk.rank, chunk.stream));
                let (attempt, rank, stream, offset) = (chunk.attempt, chunk.rank, chunk.stream, chunk.length);
                let end =
                    LogPiece { attempt, rank, stream, offset, next_offset: offset, text: String::new(), is_gap: false };
                if !self.read(&end, from)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Asks until there is an answer: the connection may break once more.
fn patiently<T>(ask: impl Fn() -> Result<T, ClientError>) -> Result<T, ClientError> {
    let since = Instant::now();
    loop {
        match ask() {
            Err(error) if error.may_pass() && since.elapsed() < PATIENCE => std::thread::sleep(RETRY_EVERY),
            answer => return answer,
        }
    }
}

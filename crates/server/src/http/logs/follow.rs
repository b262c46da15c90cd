//! Following logs: all that is there, then what comes, until the task is over.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use fermi_api::v1::LogPiece;
use fermi_domain::language::Language;
use fermi_store::StoreError;
use fermi_store::chunks::{ChunkStore, StreamKind, StreamName};
use fermi_store::tasks::Activity;
use futures_util::stream;
use tokio::sync::{broadcast, watch};

use super::raw::plain;
use super::read::{newest, stream as stream_of, tail};
use super::selection::{Extent, Selection, Start, whole_letters};
use super::shared_looks::{Asked, Lengths, Looked, SharedLooks, StreamPlaces};
use super::shown::{self, ShownPart};
use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::http::app_state::AppState;
use crate::http::fan_out::{FanOutNews, FollowerCount, Topic};
use crate::http::stream_format::{GoesOn, KEEP_ALIVE, StreamFormat};

/// The most bytes of one piece, and of one look.
const PIECE: usize = 64 << 10;
const LOOK: usize = 1 << 20;
/// Between two looks at a task that is over and not swept yet.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// With more streams than this, a piece does not carry the places of all others.
const MOST_PLACES: usize = 64;

struct Follower {
    core: Core,
    selection: Selection,
    extent: Extent,
    /// None for the bare bytes.
    format: Option<StreamFormat>,
    places: Arc<StreamPlaces>,
    has_begun: bool,
    /// Something went out on this connection.
    has_spoken: bool,
    has_said_end: bool,
    /// Asked for anew when something has happened to the task, not whenever a rank writes a line.
    activity: Option<Activity>,
    language: Language,
    ready: VecDeque<Bytes>,
    grown: watch::Receiver<u64>,
    looks: Arc<SharedLooks>,
    news: broadcast::Receiver<FanOutNews>,
    _counted: FollowerCount,
}

/// A piece of a stream with what it looks like.
struct Piece {
    name: StreamName,
    offset: u64,
    next: u64,
    bytes: Vec<u8>,
    is_gap: bool,
}

pub async fn answer(
    state: AppState,
    selection: Selection,
    extent: Extent,
    format: Option<StreamFormat>,
    last_id: Option<&str>,
    language: Language,
) -> Result<Response, ApiProblem> {
    let places = last_id.and_then(|id| places(&selection, id));
    let (grown, looks) = state.fan_out.watch_logs(&selection.task);
    let follower = Follower {
        grown,
        looks,
        news: state.fan_out.listen(Topic::Task(selection.task.clone())),
        _counted: state.fan_out.count(),
        core: state.core,
        selection,
        extent,
        format,
        has_begun: places.is_some(),
        places: Arc::new(places.unwrap_or_default()),
        has_spoken: false,
        has_said_end: false,
        activity: None,
        language,
        ready: VecDeque::new(),
    };
    let pieces = stream::unfold(follower, |mut follower| async move {
        let bytes = follower.next().await?;
        Some((bytes, follower))
    });
    Ok(match format {
        Some(format) => format.response(pieces),
        None => {
            use futures_util::StreamExt;
            let mut response = Response::new(Body::from_stream(pieces.map(Ok::<_, std::convert::Infallible>)));
            plain(&mut response);
            response.extensions_mut().insert(GoesOn);
            response
        }
    })
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.has_said_end {
                return None;
            }
            // What comes while we look wakes us again.
            let turn = *self.grown.borrow_and_update();
            let activity = self.activity().await.ok()?;
            // The last look is one's own: what came since the others looked is seen by nobody else.
            let turn = (activity == Activity::Going && self.has_begun).then_some(turn);
            if self.look(turn).await.ok()? {
                self.has_spoken = true;
                continue;
            }
            // Headers go out with the first byte: who waits for a rank's first line sees that the stream is open.
            let is_first = !std::mem::replace(&mut self.has_spoken, true);
            if let (true, Some(format), Activity::Going) = (is_first, self.format, activity) {
                return Some(format.keep_alive());
            }
            let patience = match activity {
                Activity::Over => return self.farewell(),
                Activity::Ending => LAST_WORDS,
                Activity::Going => KEEP_ALIVE,
            };
            tokio::select! {
                () = self.core.ended() => return None,
                _ = self.grown.changed() => {}
                _ = self.news.recv() => self.activity = None,
                () = tokio::time::sleep(patience) => {
                    self.activity = None;
                    if let (Some(format), Activity::Going) = (self.format, activity) {
                        return Some(format.keep_alive());
                    }
                }
            }
        }
    }

    /// A page would come back for more if it were not told that there is none.
    fn farewell(&mut self) -> Option<Bytes> {
        let is_first = !std::mem::replace(&mut self.has_said_end, true);
        let is_sse = self.format == Some(StreamFormat::Sse);
        (is_first && is_sse).then_some(Bytes::from_static(b"event: end\ndata: {}\n\n"))
    }

    async fn activity(&mut self) -> Result<Activity, StoreError> {
        if !self.extent.follow {
            return Ok(Activity::Over);
        }
        if let Some(known) = self.activity {
            return Ok(known);
        }
        let id = self.selection.task.clone();
        let found = self.core.store().read(move |view| view.task_activity(&id)).await?;
        self.activity = Some(found);
        Ok(found)
    }

    /// Takes what is new, with the others of a turn where there is one. Says whether there was anything.
    async fn look(&mut self, turn: Option<u64>) -> io::Result<bool> {
        let asked = Asked {
            selection: self.selection.clone(),
            format: self.format,
            language: self.language,
            places: self.places.clone(),
        };
        let (chunks, task) = (self.core.chunks().clone(), self.selection.task.clone());
        let list = || async move {
            let listed = tokio::task::spawn_blocking(move || chunks.streams(&task)).await;
            listed.map_err(io::Error::other)?.map(Lengths::new)
        };
        let (chunks, question) = (self.core.chunks().clone(), asked.clone());
        let start = self.extent.start.filter(|_| !self.has_begun);
        let look = |lengths: Lengths| async move {
            let looked = tokio::task::spawn_blocking(move || look(&*chunks, &question, start, &lengths)).await;
            looked.map_err(io::Error::other)?
        };
        let looked = match turn {
            Some(turn) => self.looks.take(turn, &asked, list, look).await?,
            None => look(list().await?).await?,
        };
        self.places = looked.places;
        self.has_begun = true;
        let has_news = !looked.bytes.is_empty();
        // One look is one write to the connection, however many ranks have written.
        self.ready.extend(has_news.then_some(looked.bytes));
        Ok(has_news)
    }
}

/// Writes pieces as they go out. Behind each stands where a client is that has read so far, and no further: the rest may be
/// lost on its way.
fn write(pieces: Vec<Piece>, format: Option<StreamFormat>, mut places: StreamPlaces) -> Bytes {
    for piece in pieces.iter().rev() {
        places.insert(piece.name.clone(), piece.offset);
    }
    let mut written = Vec::new();
    for piece in pieces {
        let Piece { name, offset, next: next_offset, bytes, is_gap } = piece;
        let Some(format) = format else {
            written.extend_from_slice(&bytes);
            continue;
        };
        let shown = LogPiece {
            attempt: name.attempt,
            rank: name.rank,
            stream: stream_of(name.kind),
            offset,
            next_offset,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            is_gap,
        };
        // Texts and numbers can always be written.
        let json = serde_json::to_string(&shown).unwrap_or_default();
        places.insert(name, next_offset);
        let text = match format {
            StreamFormat::Lines => format!("{json}\n"),
            StreamFormat::Sse => format!("{}data: {json}\n\n", id(&places)),
        };
        written.extend_from_slice(text.as_bytes());
    }
    written.into()
}

/// Where all streams are, for a client that comes back; one that is not named is at its beginning.
fn id(places: &StreamPlaces) -> String {
    if places.len() > MOST_PLACES {
        return String::new();
    }
    let mut id = String::from("id: ");
    for (name, place) in places.iter().filter(|(_, place)| **place > 0) {
        // Writing to a string cannot fail.
        let _ = write!(id, "{}.{}.{}.{place};", name.attempt, name.rank, name.kind.as_str());
    }
    id.push('\n');
    id
}

/// Reads what [`id`] wrote.
fn places(selection: &Selection, id: &str) -> Option<StreamPlaces> {
    let mut places = StreamPlaces::new();
    for place in id.split_terminator(';') {
        let mut parts = place.split('.');
        let (attempt, rank) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let kind = parts.next()?;
        let kind = StreamKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let place = parts.next()?.parse().ok()?;
        places.insert(StreamName { task: selection.task.clone(), attempt, rank, kind }, place);
    }
    (!places.is_empty()).then_some(places)
}

/// Reads what stands behind the places of a follower, up to these lengths; `start` is where the first look begins.
fn look(chunks: &dyn ChunkStore, asked: &Asked, start: Option<Start>, lengths: &Lengths) -> io::Result<Looked> {
    let Asked { selection, format, language, places } = asked;
    let mut places = StreamPlaces::clone(places);
    let newest = newest(lengths);
    // Those that follow without naming an attempt go on with the next one.
    let begun = places.keys().next().map_or(newest, |name| name.attempt);
    let mut pieces = Vec::new();
    let mut room = LOOK;
    for (name, length) in lengths.iter() {
        let is_wanted = selection.attempt.map_or(name.attempt >= begun, |attempt| attempt == name.attempt);
        if !is_wanted || !selection.wants(name) {
            continue;
        }
        let place = match (places.get(name), start) {
            (Some(place), _) => *place,
            (None, Some(Start::Tail(lines))) => tail(chunks, name, lines, u64::MAX)?,
            (None, Some(Start::Offset(offset))) => offset.min(*length),
            (None, None) => 0,
        };
        places.insert(name.clone(), place);
        if *length <= place || room == 0 {
            continue;
        }
        let most = PIECE.min(room).min(usize::try_from(*length - place).unwrap_or(usize::MAX));
        let ShownPart { mut next, mut bytes, gap } = shown::part(chunks, name, place, most, *language)?;
        // Letters are never cut in two.
        if format.is_some() && gap.is_none() {
            let whole = whole_letters(&bytes);
            // A letter that is half written at the end comes with its other half.
            bytes.truncate(if next >= *length { whole } else { whole.max(1) });
            next = place + bytes.len() as u64;
        }
        if bytes.is_empty() {
            continue;
        }
        room = room.saturating_sub(bytes.len());
        places.insert(name.clone(), next);
        pieces.push(Piece { name: name.clone(), offset: place, next, bytes, is_gap: gap.is_some() });
    }
    let bytes = write(pieces, *format, places.clone());
    Ok(Looked { places: Arc::new(places), bytes })
}

#[cfg(test)]
mod tests {
    use fermi_domain::ids::TaskId;
    use fermi_store::chunks::LocalChunks;

    use super::*;

    fn name(rank: u32) -> StreamName {
        StreamName { task: TaskId::from("task-1"), attempt: 1, rank, kind: StreamKind::Stdout }
    }

    fn asked(format: Option<StreamFormat>, places: StreamPlaces) -> Asked {
        let selection = Selection { task: TaskId::from("task-1"), rank: None, kind: None, attempt: None };
        Asked { selection, format, language: Language::En, places: Arc::new(places) }
    }

    fn text(looked: &Looked) -> &str {
        std::str::from_utf8(&looked.bytes).unwrap()
    }

    /// A client that is cut off behind any piece goes on with the next one: nothing is lost and nothing comes twice.
    #[test]
    fn each_piece_says_how_far_a_client_is_that_has_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        for rank in 0..3 {
            chunks.append(&name(rank), 0, format!("of rank {rank}\n").as_bytes()).unwrap();
        }
        let lengths = Lengths::new(chunks.streams(&TaskId::from("task-1")).unwrap());
        let whole = look(&chunks, &asked(Some(StreamFormat::Sse), StreamPlaces::new()), None, &lengths).unwrap();
        let events: Vec<&str> = text(&whole).split_terminator("\n\n").collect();
        assert_eq!(events.len(), 3, "{}", text(&whole));
        for (read, event) in events.iter().enumerate() {
            let id = event.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
            let question = asked(Some(StreamFormat::Sse), StreamPlaces::new());
            let question = Asked { places: Arc::new(places(&question.selection, id).unwrap()), ..question };
            let rest = look(&chunks, &question, None, &lengths).unwrap();
            let data = |event: &&str| event.lines().find(|line| line.starts_with("data: ")).map(str::to_owned);
            let again: Vec<_> = text(&rest).split_terminator("\n\n").map(|event| data(&event)).collect();
            let missed: Vec<_> = events[read + 1..].iter().map(data).collect();
            assert_eq!(again, missed, "cut off behind piece {read}");
        }
    }

    #[test]
    fn a_look_ends_at_the_lengths_that_all_share_and_cuts_no_letter() {
        let folder = tempfile::tempdir().unwrap();
        let chunks = LocalChunks::open(folder.path()).unwrap();
        chunks.append(&name(0), 0, "损失 0.5\n".as_bytes()).unwrap();
        let lengths = Lengths::new(vec![(name(0), 4)]);
        let looked = look(&chunks, &asked(Some(StreamFormat::Lines), StreamPlaces::new()), None, &lengths).unwrap();
        assert_eq!(looked.places[&name(0)], 3, "half a letter comes with its other half");
        let bare = look(&chunks, &asked(None, StreamPlaces::new()), None, &lengths).unwrap();
        assert_eq!(bare.bytes.len(), 4, "bare bytes come as they are");
    }
}

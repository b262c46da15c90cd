//! Following logs: all that is there, then what comes, until the task is over.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use fermi_api::v1::LogPiece;
use fermi_store::StoreError;
use fermi_store::chunks::{ChunkStore, StreamKind, StreamName};
use fermi_store::tasks::Activity;
use futures_util::stream;
use tokio::sync::{broadcast, watch};

use super::raw::plain;
use super::read::{stream as stream_of, tail};
use super::selection::{Extent, Selection, Start, whole_letters};
use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::http::app_state::AppState;
use crate::http::fan_out::{FanOutNews, FollowerCount, Topic};
use crate::http::stream_format::{KEEP_ALIVE, StreamFormat};

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
    /// How far each stream has been sent.
    places: BTreeMap<StreamName, u64>,
    has_begun: bool,
    has_said_end: bool,
    ready: VecDeque<Bytes>,
    grown: watch::Receiver<u64>,
    news: broadcast::Receiver<FanOutNews>,
    _counted: FollowerCount,
}

/// A piece of a stream with what it looks like.
struct Piece {
    name: StreamName,
    offset: u64,
    bytes: Vec<u8>,
}

pub async fn answer(
    state: AppState,
    selection: Selection,
    extent: Extent,
    format: Option<StreamFormat>,
    last_id: Option<&str>,
) -> Result<Response, ApiProblem> {
    let places = last_id.and_then(|id| places(&selection, id));
    let follower = Follower {
        grown: state.fan_out.watch_logs(&selection.task),
        news: state.fan_out.listen(Topic::Task(selection.task.clone())),
        _counted: state.fan_out.count(),
        core: state.core,
        selection,
        extent,
        format,
        has_begun: places.is_some(),
        places: places.unwrap_or_default(),
        has_said_end: false,
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
            self.grown.borrow_and_update();
            let activity = if self.extent.follow { self.activity().await.ok()? } else { Activity::Over };
            if self.look().await.ok()? {
                continue;
            }
            let patience = match activity {
                Activity::Over => return self.farewell(),
                Activity::Ending => LAST_WORDS,
                Activity::Going => KEEP_ALIVE,
            };
            tokio::select! {
                () = self.core.ended() => return None,
                _ = self.grown.changed() => {}
                _ = self.news.recv() => {}
                () = tokio::time::sleep(patience) => {
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

    async fn activity(&self) -> Result<Activity, StoreError> {
        let id = self.selection.task.clone();
        self.core.store().read(move |view| view.task_activity(&id)).await
    }

    /// Takes what is new. Says whether there was anything.
    async fn look(&mut self) -> io::Result<bool> {
        let chunks = self.core.chunks().clone();
        let (selection, extent) = (self.selection.clone(), self.extent);
        let (mut places, is_first, in_letters) =
            (std::mem::take(&mut self.places), !self.has_begun, self.format.is_some());
        let looked = tokio::task::spawn_blocking(move || {
            let pieces = look(&*chunks, &selection, extent, is_first, in_letters, &mut places)?;
            Ok::<_, io::Error>((places, pieces))
        });
        let (places, pieces) = looked.await.map_err(io::Error::other)??;
        self.places = places;
        self.has_begun = true;
        let has_news = !pieces.is_empty();
        for piece in pieces {
            let written = self.write(piece);
            self.ready.push_back(written);
        }
        Ok(has_news)
    }

    fn write(&self, piece: Piece) -> Bytes {
        let Piece { name, offset, bytes } = piece;
        let Some(format) = self.format else { return bytes.into() };
        let next_offset = offset + bytes.len() as u64;
        let shown = LogPiece {
            attempt: name.attempt,
            rank: name.rank,
            stream: stream_of(name.kind),
            offset,
            next_offset,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        };
        // Texts and numbers can always be written.
        let json = serde_json::to_string(&shown).unwrap_or_default();
        match format {
            StreamFormat::Lines => format!("{json}\n").into(),
            StreamFormat::Sse => format!("{}data: {json}\n\n", self.id()).into(),
        }
    }

    /// Where all streams are, for a client that comes back.
    fn id(&self) -> String {
        if self.places.len() > MOST_PLACES {
            return String::new();
        }
        let mut id = String::from("id: ");
        for (name, place) in &self.places {
            // Writing to a string cannot fail.
            let _ = write!(id, "{}.{}.{}.{place};", name.attempt, name.rank, name.kind.as_str());
        }
        id.push('\n');
        id
    }
}

/// Reads what [`Follower::id`] wrote.
fn places(selection: &Selection, id: &str) -> Option<BTreeMap<StreamName, u64>> {
    let mut places = BTreeMap::new();
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

fn look(
    chunks: &dyn ChunkStore,
    selection: &Selection,
    extent: Extent,
    is_first: bool,
    in_letters: bool,
    places: &mut BTreeMap<StreamName, u64>,
) -> io::Result<Vec<Piece>> {
    let found = chunks.streams(&selection.task)?;
    let newest = found.iter().map(|(name, _)| name.attempt).max().unwrap_or(0);
    // Those that follow without naming an attempt go on with the next one.
    let begun = places.keys().next().map_or(newest, |name| name.attempt);
    let mut pieces = Vec::new();
    let mut room = LOOK;
    for (name, length) in found {
        let is_wanted = selection.attempt.map_or(name.attempt >= begun, |attempt| attempt == name.attempt);
        if !is_wanted || !selection.wants(&name) {
            continue;
        }
        let place = match places.get(&name) {
            Some(place) => *place,
            None => match extent.start {
                Some(Start::Tail(lines)) if is_first => tail(chunks, &name, lines, u64::MAX)?.0,
                Some(Start::Offset(offset)) if is_first => offset.min(length),
                _ => 0,
            },
        };
        places.insert(name.clone(), place);
        if length <= place || room == 0 {
            continue;
        }
        let mut bytes = chunks.read(&name, place, PIECE.min(room))?;
        let is_end = place + bytes.len() as u64 >= length;
        if in_letters {
            let whole = whole_letters(&bytes);
            // A letter that is half written at the end comes with its other half.
            bytes.truncate(if is_end { whole } else { whole.max(1) });
        }
        if bytes.is_empty() {
            continue;
        }
        room = room.saturating_sub(bytes.len());
        places.insert(name.clone(), place + bytes.len() as u64);
        pieces.push(Piece { name, offset: place, bytes });
    }
    Ok(pieces)
}

//! Following logs: all that is there, then what comes, until the task is over.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io;
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
use super::read::{stream as stream_of, tail};
use super::selection::{Extent, Selection, Start, whole_letters};
use super::shown::{self, ShownPart};
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
    /// Asked for anew when something has happened to the task, not whenever a rank writes a line.
    activity: Option<Activity>,
    language: Language,
    ready: VecDeque<Bytes>,
    grown: watch::Receiver<u64>,
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

/// How a follower looks at streams.
#[derive(Clone, Copy)]
struct Manner {
    is_first: bool,
    /// Letters are never cut in two.
    in_letters: bool,
    language: Language,
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
            let activity = self.activity().await.ok()?;
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

    /// Takes what is new. Says whether there was anything.
    async fn look(&mut self) -> io::Result<bool> {
        let chunks = self.core.chunks().clone();
        let (selection, extent) = (self.selection.clone(), self.extent);
        let mut places = std::mem::take(&mut self.places);
        let manner = Manner { is_first: !self.has_begun, in_letters: self.format.is_some(), language: self.language };
        let looked = tokio::task::spawn_blocking(move || {
            let pieces = look(&*chunks, &selection, extent, manner, &mut places)?;
            Ok::<_, io::Error>((places, pieces))
        });
        let (places, pieces) = looked.await.map_err(io::Error::other)??;
        self.places = places;
        self.has_begun = true;
        let has_news = !pieces.is_empty();
        // One look is one write to the connection, however many ranks have written.
        let mut written = Vec::new();
        for piece in pieces {
            written.extend_from_slice(&self.write(piece));
        }
        if has_news {
            self.ready.push_back(written.into());
        }
        Ok(has_news)
    }

    fn write(&self, piece: Piece) -> Bytes {
        let Piece { name, offset, next: next_offset, bytes, is_gap } = piece;
        let Some(format) = self.format else { return bytes.into() };
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
    manner: Manner,
    places: &mut BTreeMap<StreamName, u64>,
) -> io::Result<Vec<Piece>> {
    let Manner { is_first, in_letters, language } = manner;
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
                Some(Start::Tail(lines)) if is_first => tail(chunks, &name, lines, u64::MAX)?,
                Some(Start::Offset(offset)) if is_first => offset.min(length),
                _ => 0,
            },
        };
        places.insert(name.clone(), place);
        if length <= place || room == 0 {
            continue;
        }
        let ShownPart { mut next, mut bytes, gap } = shown::part(chunks, &name, place, PIECE.min(room), language)?;
        if in_letters && gap.is_none() {
            let whole = whole_letters(&bytes);
            // A letter that is half written at the end comes with its other half.
            bytes.truncate(if next >= length { whole } else { whole.max(1) });
            next = place + bytes.len() as u64;
        }
        if bytes.is_empty() {
            continue;
        }
        room = room.saturating_sub(bytes.len());
        places.insert(name.clone(), next);
        pieces.push(Piece { name, offset: place, next, bytes, is_gap: gap.is_some() });
    }
    Ok(pieces)
}

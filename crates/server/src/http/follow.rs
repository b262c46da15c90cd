//! Following events: first what is in the table behind a cursor, then what happens.

use std::collections::VecDeque;

use axum::body::Bytes;
use axum::response::Response;
use fermi_store::events::EventFilter;
use fermi_store::{StoreError, View};
use futures_util::stream;
use tokio::sync::broadcast::{self, error::RecvError};

use super::app_state::AppState;
use super::fan_out::{FanOutNews, FollowerCount, Frame, Topic};
use super::stream_format::{KEEP_ALIVE, StreamFormat};
use crate::core::Core;
use crate::envelope::ApiProblem;

/// How many events are read from the table at once.
const AT_ONCE: usize = 500;

struct Follower {
    core: Core,
    news: broadcast::Receiver<FanOutNews>,
    filter: EventFilter,
    format: StreamFormat,
    /// The last one that was sent, or passed over.
    cursor: u64,
    is_behind: bool,
    /// Every event comes by, wanted or not, so that a cursor that is skipped is an event that was missed.
    hears_all: bool,
    ready: VecDeque<Bytes>,
    _counted: FollowerCount,
}

/// Events behind `after`, or from now on.
pub async fn events(
    state: AppState,
    topic: Topic,
    filter: EventFilter,
    after: Option<u64>,
    format: StreamFormat,
) -> Result<Response, ApiProblem> {
    // Listening begins before the table is read, so that nothing falls between the two.
    let hears_all = topic == Topic::Everything;
    let news = state.fan_out.listen(topic);
    let limits: Result<(u64, u64), StoreError> =
        state.core.store().read(|view| Ok((view.first_cursor()?, view.last_cursor()?))).await;
    let (first, last) = limits?;
    let mut ready = VecDeque::new();
    let cursor = match after {
        None => last,
        Some(after) if after > last || (after > 0 && after + 1 < first) => {
            // What stood behind this cursor is gone, or it is another server's.
            ready.push_back(reset(format));
            if after > last { last } else { first.saturating_sub(1) }
        }
        Some(after) => after,
    };
    if ready.is_empty() {
        // Headers go out with the first byte.
        ready.push_back(format.keep_alive());
    }
    let follower = Follower {
        core: state.core,
        news,
        filter,
        format,
        cursor,
        is_behind: after.is_some(),
        hears_all,
        ready,
        _counted: state.fan_out.count(),
    };
    Ok(format.response(stream::unfold(follower, |mut follower| async move {
        let bytes = follower.next().await?;
        Some((bytes, follower))
    })))
}

/// Says that events were skipped, so that a client that keeps a copy reads it anew.
fn reset(format: StreamFormat) -> Bytes {
    match format {
        StreamFormat::Sse => Bytes::from_static(b"event: reset\ndata: {}\n\n"),
        StreamFormat::Lines => Bytes::from_static(b"{\"reset\":true}\n"),
    }
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.is_behind {
                self.catch_up().await.ok()?;
                continue;
            }
            let news = tokio::select! {
                biased;
                () = self.core.ended() => return None,
                news = self.news.recv() => news,
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(self.format.keep_alive()),
            };
            match news {
                Ok(FanOutNews::Events(frames)) => self.take(&frames),
                Ok(FanOutNews::Missed) | Err(RecvError::Lagged(_)) => self.is_behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), StoreError> {
        let (after, filter) = (self.cursor, self.filter.clone());
        let look =
            move |view: &View<'_>| Ok::<_, StoreError>((view.events(after, &filter, AT_ONCE)?, view.last_cursor()?));
        let (found, last) = self.core.store().read(look).await?;
        self.is_behind = found.len() == AT_ONCE;
        for stored in &found {
            self.cursor = stored.cursor;
            let frame = Frame::of(stored);
            self.push(&frame);
        }
        if !self.is_behind {
            // Those in between are not wanted here.
            self.cursor = self.cursor.max(last);
        }
        Ok(())
    }

    fn take(&mut self, frames: &[Frame]) {
        for frame in frames {
            if frame.cursor <= self.cursor {
                continue;
            }
            if self.hears_all && frame.cursor != self.cursor + 1 {
                // Something was missed on the way here, and the table has it.
                self.is_behind = true;
                return;
            }
            self.cursor = frame.cursor;
            let kind = self.filter.kind.as_ref().is_none_or(|kind| frame.kind.starts_with(kind));
            let wanted = self.filter.environment.as_ref();
            if kind && wanted.is_none_or(|wanted| frame.environment.as_deref() == Some(wanted.as_str())) {
                self.push(frame);
            }
        }
    }

    fn push(&mut self, frame: &Frame) {
        self.ready.push_back(match self.format {
            StreamFormat::Sse => frame.sse.clone(),
            StreamFormat::Lines => frame.line.clone(),
        });
    }
}

//! The end of what some ranks wrote, put together from pieces at offsets.

use std::collections::{BTreeMap, VecDeque};

use fermi_api::v1::{LogChunk, Stream};

use crate::plain::{last_state, plain};

/// Lines that are held.
const MOST: usize = 500;
/// Letters of a line that are held.
const LONGEST: usize = 1_000;
/// The longest line that is not ended yet, in bytes.
const LONGEST_OPEN: usize = 64 << 10;

/// Lines in the order in which they arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Whose lines these are.
    pub ranks: Vec<u32>,
    /// 0 before there is one.
    pub attempt: u32,
    pub lines: VecDeque<LogLine>,
    streams: BTreeMap<(u32, Stream), Tail>,
}

/// One line, without anything that a terminal would obey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub rank: u32,
    pub stream: Stream,
    pub text: String,
}

/// How far a stream has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tail {
    next: u64,
    /// What has no line end yet.
    rest: String,
}

impl Default for Log {
    fn default() -> Self {
        Self::of(vec![0])
    }
}

impl Log {
    pub fn of(ranks: Vec<u32>) -> Self {
        Self { ranks, attempt: 0, lines: VecDeque::new(), streams: BTreeMap::new() }
    }

    pub fn offsets(&self) -> BTreeMap<(u32, Stream), u64> {
        self.streams.iter().map(|(name, tail)| (*name, tail.next)).collect()
    }

    /// Takes a piece. One of a newer attempt begins anew; one that is held already, or of an older attempt, is left out.
    pub fn take(&mut self, piece: &LogChunk) {
        if !self.ranks.contains(&piece.rank) || piece.attempt < self.attempt {
            return;
        }
        if piece.attempt > self.attempt {
            *self = Self { attempt: piece.attempt, ..Self::of(std::mem::take(&mut self.ranks)) };
        }
        let name = (piece.rank, piece.stream);
        let tail = self.streams.entry(name).or_default();
        if piece.offset < tail.next || piece.next_offset <= tail.next {
            return;
        }
        // What lies between was too much to be read.
        if piece.offset > tail.next {
            tail.rest.clear();
        }
        tail.next = piece.next_offset;
        tail.rest.push_str(&piece.text);
        let end = tail.rest.rfind('\n').map_or(0, |at| at + 1);
        let mut rest = tail.rest.split_off(end);
        // A progress bar writes itself anew without ever ending its line.
        if let Some(anew) = rest.trim_end_matches('\r').rfind('\r') {
            rest.drain(..=anew);
        }
        if rest.len() > LONGEST_OPEN {
            rest.clear();
        }
        let whole = std::mem::replace(&mut tail.rest, rest);
        self.lines.extend(whole.lines().map(|line| LogLine { rank: name.0, stream: name.1, text: shown(line) }));
        let surplus = self.lines.len().saturating_sub(MOST);
        self.lines.drain(..surplus);
    }

    /// All lines, and behind them what ranks are writing.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = LogLine> {
        let open = self.streams.iter().filter(|(_, tail)| !tail.rest.is_empty());
        let open = open.map(|((rank, stream), tail)| LogLine { rank: *rank, stream: *stream, text: shown(&tail.rest) });
        self.lines.iter().cloned().chain(open)
    }
}

fn shown(line: &str) -> String {
    plain(last_state(line)).chars().take(LONGEST).collect()
}

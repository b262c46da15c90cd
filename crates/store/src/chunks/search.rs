//! Finding a text in all that a task's ranks wrote, with a fixed amount of memory whatever the length of lines.

use std::io;

use fermi_domain::ids::TaskId;
use memchr::{memchr, memrchr};
use serde::{Deserialize, Serialize};

use super::{
    ChunkStore, Gap, StreamKind, StreamName,
    ahead::{self, Stretch},
    needle::Needle,
};

/// How much is looked at with one read: what stays in the processor's own memory.
pub(super) const BLOCK: usize = 256 << 10;
/// So much of what is looked through shows which bytes are rare in it.
const SAMPLE: usize = 64 << 10;
/// How much of a line is shown.
pub(super) const LINE: usize = 4 << 10;
/// How much of a long line is shown before the text.
const BEFORE: u64 = 256;
/// How many bytes one call looks at, unless the query says otherwise.
const BUDGET: u64 = 256 << 20;

/// Whether `A` is `a`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Case {
    #[default]
    Sensitive,
    /// For the letters of ASCII; all others as they are.
    Ignored,
}

/// What is looked for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// A text within a line; an empty one, and one with a line ending in it, is nowhere.
    pub text: Vec<u8>,
    pub case: Case,
    pub attempt: Option<u32>,
    pub rank: Option<u32>,
    /// None for stdout and stderr.
    pub kind: Option<StreamKind>,
    /// How many lines are wanted at most.
    pub limit: usize,
    /// How many bytes are looked at before the answer comes, found or not.
    pub budget: u64,
    /// Where an answer before left off.
    pub from: Option<SearchCursor>,
}

impl SearchQuery {
    /// Looks for a text in all that ranks print.
    pub fn new(text: impl Into<Vec<u8>>, limit: usize) -> Self {
        let text = text.into();
        Self { text, case: Case::Sensitive, attempt: None, rank: None, kind: None, limit, budget: BUDGET, from: None }
    }

    fn wants(&self, name: &StreamName) -> bool {
        self.attempt.is_none_or(|attempt| attempt == name.attempt)
            && self.rank.is_none_or(|rank| rank == name.rank)
            && self.kind.map_or_else(|| name.kind.is_output(), |kind| kind == name.kind)
            && self.from.as_ref().is_none_or(|from| *name >= from.stream)
    }
}

/// Where a search goes on: the beginning of a line, unless a very long one was left in the middle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchCursor {
    pub stream: StreamName,
    pub offset: u64,
    /// Where the line began that `offset` is in.
    pub line_offset: u64,
}

/// A line that has the text; each line is found once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub stream: StreamName,
    /// Where the line begins.
    pub line_offset: u64,
    /// Where the text first is in it.
    pub match_offset: u64,
    /// Where the shown part begins: the line's own beginning, unless the text stands too far behind it.
    pub shown_offset: u64,
    /// At most 4 KiB of the line, without its ending.
    pub shown: Vec<u8>,
}

/// Some of the lines that have the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPage {
    pub matches: Vec<Match>,
    /// None when everything has been looked at.
    pub next: Option<SearchCursor>,
}

pub(super) fn search<S: ChunkStore + ?Sized>(store: &S, task: &TaskId, query: &SearchQuery) -> io::Result<SearchPage> {
    let mut page = SearchPage::default();
    if query.text.is_empty() || query.text.contains(&b'\n') {
        return Ok(page);
    }
    let streams: Vec<_> = store.streams(task)?.into_iter().filter(|(name, _)| query.wants(name)).collect();
    let needle = Needle::new(&query.text, query.case, &sample(store, &streams, query)?);
    let mut budget = query.budget.max(BLOCK as u64);
    for (stream, length) in streams {
        let from = query.from.as_ref().filter(|from| from.stream == stream);
        let mut scan = Scan {
            store,
            needle: &needle,
            length,
            at: from.map_or(0, |from| from.offset),
            line: from.map_or(0, |from| from.line_offset),
            block: Vec::new(),
            block_at: 0,
            gaps: store.gaps(&stream)?,
            stream,
        };
        loop {
            let is_enough = page.matches.len() >= query.limit || budget == 0;
            if is_enough && scan.at < scan.length {
                page.next = Some(SearchCursor { stream: scan.stream, offset: scan.at, line_offset: scan.line });
                return Ok(page);
            }
            match scan.step(&mut budget)? {
                Step::Found(found) => page.matches.push(found),
                Step::Nothing => {}
                Step::End => break,
            }
        }
    }
    Ok(page)
}

/// Some of what will be looked through, where it matters what that is.
fn sample<S: ChunkStore + ?Sized>(
    store: &S,
    streams: &[(StreamName, u64)],
    query: &SearchQuery,
) -> io::Result<Vec<u8>> {
    let first = streams.iter().find(|(_, length)| *length > 0);
    match (query.case, first) {
        (Case::Ignored, Some((stream, _))) => {
            let from = query.from.as_ref().filter(|from| from.stream == *stream);
            store.read(stream, from.map_or(0, |from| from.offset), SAMPLE)
        }
        (Case::Ignored, None) | (Case::Sensitive, _) => Ok(Vec::new()),
    }
}

/// One stream, from some place to its end.
struct Scan<'a, S: ?Sized> {
    store: &'a S,
    needle: &'a Needle,
    stream: StreamName,
    length: u64,
    /// Everything before is done with.
    at: u64,
    /// Where the line of `at` begins.
    line: u64,
    block: Vec<u8>,
    block_at: u64,
    gaps: Vec<Gap>,
}

enum Step {
    Found(Match),
    Nothing,
    End,
}

impl<S: ChunkStore + ?Sized> Scan<'_, S> {
    /// What is left of the block in hand, or the next one.
    fn rest(&mut self, budget: &mut u64) -> io::Result<usize> {
        let end = self.block_at + self.block.len() as u64;
        let wanted = (self.length - self.at).min(self.needle.len() as u64);
        if self.at < self.block_at || self.at + wanted > end || self.block.is_empty() {
            let left = self.readable() - self.at;
            let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK.max(2 * self.needle.len()));
            self.block.resize(most, 0);
            let read = self.store.read_into(&self.stream, self.at, &mut self.block)?;
            self.block.truncate(read);
            self.block_at = self.at;
            *budget = budget.saturating_sub(self.block.len() as u64);
        }
        Ok(usize::try_from(self.at - self.block_at).unwrap_or(0))
    }

    /// A block ends where a gap begins, so that no text and no line is found across it.
    fn readable(&self) -> u64 {
        let ahead = self.gaps.iter().map(|gap| gap.offset).filter(|begin| *begin > self.at).min();
        ahead.unwrap_or(self.length).min(self.length)
    }

    /// Goes to the next block that may have the text, as far as the budget lasts. Only behind a block without it: where many
    /// lines have the text, the next one is in the block in hand.
    fn look_ahead(&mut self, budget: &mut u64) {
        let end = self.readable();
        let blocks = (end - self.at).min(*budget) / BLOCK as u64;
        if blocks < 2 {
            return;
        }
        let stretch = Stretch { from: self.at, end, blocks, block: BLOCK };
        let clear = ahead::look(self.store, &self.stream, self.needle, stretch);
        *budget = budget.saturating_sub(clear.to - self.at);
        self.at = clear.to;
        self.line = clear.line.unwrap_or(self.line);
    }

    fn step(&mut self, budget: &mut u64) -> io::Result<Step> {
        if self.at >= self.length {
            return Ok(Step::End);
        }
        if self.leaps() {
            return Ok(Step::Nothing);
        }
        let begin = self.rest(budget)?;
        let rest = &self.block[begin..];
        if rest.is_empty() {
            // It was deleted meanwhile.
            self.at = self.length;
            return Ok(Step::End);
        }
        let Some(found) = self.needle.find(rest) else {
            // The text may have begun in the last bytes, so they are looked at again with those that follow.
            let is_last = self.at + rest.len() as u64 >= self.length;
            let done = if is_last { rest.len() } else { (rest.len() + 1).saturating_sub(self.needle.len()).max(1) };
            if let Some(newline) = memrchr(b'\n', &rest[..done]) {
                self.line = self.at + newline as u64 + 1;
            }
            self.at += done as u64;
            if self.at < self.length && !self.leaps() {
                self.look_ahead(budget);
            }
            return Ok(Step::Nothing);
        };
        if let Some(newline) = memrchr(b'\n', &rest[..found]) {
            self.line = self.at + newline as u64 + 1;
        }
        let (line_offset, match_offset) = (self.line, self.at + found as u64);
        self.skip_line(begin + found, budget)?;
        Ok(Step::Found(self.shown(line_offset, match_offset)?))
    }

    /// Goes on behind the line, however long it is.
    fn skip_line(&mut self, mut begin: usize, budget: &mut u64) -> io::Result<()> {
        loop {
            if let Some(newline) = memchr(b'\n', &self.block[begin..]) {
                self.at = self.block_at + (begin + newline) as u64 + 1;
                self.line = self.at;
                return Ok(());
            }
            self.at = self.block_at + self.block.len() as u64;
            if self.leaps() {
                return Ok(());
            }
            if self.at >= self.length || self.block.is_empty() {
                self.at = self.length;
                return Ok(());
            }
            begin = self.rest(budget)?;
        }
    }

    /// Goes behind the gap that it stands in, if it does: no text is in it, and no line goes on behind it.
    fn leaps(&mut self) -> bool {
        let gap = self.gaps.iter().find(|gap| gap.contains(self.at));
        let end = gap.map(|gap| gap.end());
        if let Some(end) = end {
            (self.at, self.line) = (end, end);
        }
        end.is_some()
    }

    fn shown(&self, line_offset: u64, match_offset: u64) -> io::Result<Match> {
        let is_near = match_offset + self.needle.len() as u64 <= line_offset + LINE as u64;
        let shown_offset = if is_near { line_offset } else { match_offset.saturating_sub(BEFORE) };
        let mut shown = self.store.read(&self.stream, shown_offset, LINE)?;
        if let Some(newline) = memchr(b'\n', &shown) {
            shown.truncate(newline);
        }
        Ok(Match { stream: self.stream.clone(), line_offset, match_offset, shown_offset, shown })
    }
}

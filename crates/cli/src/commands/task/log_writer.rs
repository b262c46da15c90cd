//! What ranks wrote, as a terminal shows it.

use std::collections::BTreeMap;
use std::time::Instant;

use fermi_api::client::Client;
use fermi_api::v1::{LogPiece, Stream};

use super::logs::Ranks;
use crate::commands::launch::lines::{Bars, Lines};
use crate::speech::{self, Paint, pick};

/// A line that is longer is shown in parts.
const LONGEST_LINE: usize = 1 << 20;

/// Puts pieces together to lines and writes each behind its prefix.
pub struct Writer<'a> {
    client: &'a Client,
    task: &'a str,
    paint: Paint,
    nodes: BTreeMap<u32, String>,
    /// Of the attempt that is written.
    lines: BTreeMap<(u32, Stream), Lines>,
    bars: Bars,
    attempt: u32,
    ranks: Option<Ranks>,
    pub has_written: bool,
}

impl<'a> Writer<'a> {
    pub fn new(client: &'a Client, task: &'a str, ranks: Option<Ranks>, bars: Bars) -> Self {
        let paint = Paint::for_stdout();
        let (nodes, lines) = (BTreeMap::new(), BTreeMap::new());
        Self { client, task, paint, ranks, nodes, lines, bars, attempt: 0, has_written: false }
    }

    pub fn wants(&self, rank: u32) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.has(rank))
    }

    /// False when the reader is gone.
    pub fn take(&mut self, piece: &LogPiece) -> bool {
        if !self.wants(piece.rank) {
            return true;
        }
        if self.attempt != 0 && piece.attempt != self.attempt {
            self.finish();
            let text = format!("{} {}", pick("── 启动", "── attempt"), piece.attempt);
            speech::say(&format!("{}\n", Paint::for_stderr().bold(&text)));
        }
        self.attempt = piece.attempt;
        let key = (piece.rank, piece.stream);
        let mut lines = match self.lines.remove(&key) {
            Some(lines) => lines,
            None => Lines::behind(self.prefix(piece.rank), self.bars, LONGEST_LINE),
        };
        // What stands for a range that was not kept ends the line before it.
        let mut text = if piece.is_gap { lines.end() } else { Vec::new() };
        text.append(&mut lines.take(piece.text.as_bytes(), Instant::now()));
        self.lines.insert(key, lines);
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> bool {
        if text.is_empty() {
            return true;
        }
        self.has_written = true;
        speech::print(&String::from_utf8_lossy(text))
    }

    /// Writes a line that was found.
    pub fn line(&mut self, rank: u32, line: &str) -> bool {
        if !self.wants(rank) {
            return true;
        }
        let mut lines = Lines::behind(self.prefix(rank), Bars::Last, LONGEST_LINE);
        let mut text = lines.take(line.as_bytes(), Instant::now());
        text.append(&mut lines.take(b"\n", Instant::now()));
        self.write(&text)
    }

    fn prefix(&mut self, rank: u32) -> String {
        let prefix = format!("[{}:{rank}]", self.node(rank));
        format!("{} ", self.paint.nth(rank, &prefix))
    }

    fn node(&mut self, rank: u32) -> String {
        if !self.nodes.contains_key(&rank)
            && let Ok(answer) = self.client.ranks(self.task, None)
        {
            self.nodes = answer.data.items.into_iter().map(|rank| (rank.rank, rank.node)).collect();
        }
        // Asked once, whatever the answer was.
        self.nodes.entry(rank).or_insert_with(|| "rank".to_owned()).clone()
    }

    /// Ends the lines that have begun.
    pub fn finish(&mut self) {
        for mut lines in std::mem::take(&mut self.lines).into_values() {
            self.write(&lines.end());
        }
    }
}

//! The last bytes of a stream, for the report of a failure.

use std::collections::VecDeque;

/// A ring of the newest bytes.
#[derive(Debug)]
pub struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Tail {
    pub fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit }
    }

    pub fn push(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.limit)..];
        let excess = (self.bytes.len() + chunk.len()).saturating_sub(self.limit);
        self.bytes.drain(..excess);
        self.bytes.extend(chunk);
    }

    /// The newest lines, oldest first. Of a line that was rewritten with `\r` only the last state is kept; colours and
    /// other control sequences are taken out; bytes that are no UTF-8 become `�`.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let (front, back) = self.bytes.as_slices();
        let whole = [front, back].concat();
        let text = String::from_utf8_lossy(&whole);
        let mut lines: Vec<String> =
            text.split('\n').map(last_state).map(plain).filter(|line| !line.trim().is_empty()).collect();
        lines.drain(..lines.len().saturating_sub(most));
        lines
    }
}

/// What a terminal would still show of a line that was rewritten in place.
fn last_state(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line)
}

/// Without escape sequences and control characters.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// `ESC [ parameters letter`, or `ESC` and one character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if chars.next() == Some('[') {
        for c in chars.by_ref() {
            if c.is_ascii_alphabetic() || c == '~' {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_bytes_are_kept() {
        let mut tail = Tail::new(8);
        tail.push(b"0123456789");
        assert_eq!(tail.lines(9), ["23456789"]);
        tail.push(b"ab");
        assert_eq!(tail.lines(9), ["456789ab"]);
    }

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        let mut tail = Tail::new(100);
        tail.push(b" 10%\r 50%\r100%\ndone\r\n");
        assert_eq!(tail.lines(9), ["100%", "done"]);
    }

    #[test]
    fn colours_go_and_invalid_bytes_show_as_such() {
        let mut tail = Tail::new(100);
        tail.push(b"\x1b[31mred\x1b[0m\n\xff\xfe end\n");
        assert_eq!(tail.lines(9), ["red", "\u{fffd}\u{fffd} end"]);
    }
}

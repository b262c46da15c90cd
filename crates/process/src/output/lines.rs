//! Cuts a stream into lines without ever holding more than a capped one.

/// How a piece of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A finished line.
    Newline,
    /// A state that the next one overwrites, as progress bars do.
    Overwritten,
    /// The stream ended, or is shown early, in the middle of a line.
    Open,
}

/// Longest line that is shown of a stream that is shown line by line; the rest of it is in the file.
pub const LONGEST: usize = 1 << 20;
/// Longest line that is lifted out of a stream that is not shown.
pub const LONGEST_LIFTED: usize = 16 * 1024;
/// So much room is kept from line to line.
const KEPT: usize = 64 * 1024;

/// The unfinished end of a stream.
#[derive(Debug)]
pub struct Lines {
    longest: usize,
    open: Vec<u8>,
    cut: usize,
    carriage_return: bool,
}

impl Lines {
    /// Lines of which no more than `longest` bytes are held.
    pub fn up_to(longest: usize) -> Self {
        Self { longest, open: Vec::new(), cut: 0, carriage_return: false }
    }

    /// Feeds bytes; `each` gets every piece with its ending and how many bytes of it were left out.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8], Ending, usize)) {
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) {
            let piece = &bytes[..at];
            if self.carriage_return && !(at == 0 && bytes[0] == b'\n') {
                self.finish(Ending::Overwritten, &mut each);
            }
            self.carriage_return = false;
            self.hold(piece);
            match bytes[at] {
                b'\n' => self.finish(Ending::Newline, &mut each),
                // Whether this is half of `\r\n` shows with the next byte.
                _ => self.carriage_return = true,
            }
            bytes = &bytes[at + 1..];
        }
        if !bytes.is_empty() {
            if self.carriage_return {
                self.finish(Ending::Overwritten, &mut each);
                self.carriage_return = false;
            }
            self.hold(bytes);
        }
    }

    /// Hands out what is left at the end of the stream.
    pub fn end(&mut self, mut each: impl FnMut(&[u8], Ending, usize)) {
        if !self.open.is_empty() {
            self.finish(Ending::Open, &mut each);
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        let room = self.longest.saturating_sub(self.open.len()).min(piece.len());
        self.open.extend_from_slice(&piece[..room]);
        self.cut += piece.len() - room;
    }

    fn finish(&mut self, ending: Ending, each: &mut impl FnMut(&[u8], Ending, usize)) {
        each(&self.open, ending, self.cut);
        self.open.clear();
        self.open.shrink_to(KEPT);
        self.cut = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&[u8]]) -> Vec<(String, Ending, usize)> {
        let mut lines = Lines::up_to(LONGEST);
        let mut found = Vec::new();
        let mut take =
            |piece: &[u8], ending, cut| found.push((String::from_utf8_lossy(piece).into_owned(), ending, cut));
        for chunk in chunks {
            lines.feed(chunk, &mut take);
        }
        lines.end(&mut take);
        found
    }

    #[test]
    fn lines_are_found_across_chunks() {
        assert_eq!(
            pieces(&[b"on", b"e\ntwo\nth", b"ree"]),
            [("one".into(), Ending::Newline, 0), ("two".into(), Ending::Newline, 0), ("three".into(), Ending::Open, 0)]
        );
    }

    #[test]
    fn carriage_returns_overwrite_but_not_before_a_newline() {
        assert_eq!(
            pieces(&[b"10%\r50%\r", b"\nend\r\n"]),
            [
                ("10%".into(), Ending::Overwritten, 0),
                ("50%".into(), Ending::Newline, 0),
                ("end".into(), Ending::Newline, 0)
            ]
        );
    }

    #[test]
    fn a_line_of_a_megabyte_is_whole_and_one_beyond_it_is_capped_and_counted() {
        let found = pieces(&[&vec![b'x'; LONGEST], b"\nnext\n"]);
        assert_eq!((found[0].0.len(), found[0].2), (LONGEST, 0));
        let found = pieces(&[&vec![b'x'; LONGEST + 5], b"\nnext\n"]);
        assert_eq!((found[0].0.len(), found[0].2), (LONGEST, 5));
        assert_eq!(found[1].0, "next");
    }

    #[test]
    fn the_room_of_a_long_line_is_given_back() {
        let mut lines = Lines::up_to(LONGEST);
        lines.feed(&vec![b'x'; LONGEST], |_, _, _| {});
        assert!(lines.open.capacity() >= LONGEST);
        lines.feed(b"\n", |_, _, _| {});
        assert!(lines.open.capacity() <= KEPT, "{}", lines.open.capacity());
    }
}

//! How far each stream has been heard: a server that is asked again may send what has come before, or leave out what came
//! meanwhile.

use std::collections::BTreeMap;

use fermi_api::v1::{LogChunk, LogPiece, Stream};

/// Attempt, rank and stream.
type StreamKey = (u32, u32, Stream);

#[derive(Debug, Default)]
pub struct Heard {
    /// Where one reads on.
    next: BTreeMap<StreamKey, u64>,
    /// Where streams ended that were there before anybody followed; none of which nothing was asked for.
    before: BTreeMap<StreamKey, u64>,
    /// Whether the connection has been lost, so that a piece need not begin where the one before ended.
    is_torn: bool,
}

impl Heard {
    /// Of somebody who wants only the end of what is there by now.
    pub fn after(chunks: &[LogChunk]) -> Self {
        let before = chunks.iter().map(|chunk| ((chunk.attempt, chunk.rank, chunk.stream), chunk.length)).collect();
        Self { before, ..Self::default() }
    }

    /// The connection was lost and is there again.
    pub fn torn(&mut self) {
        self.is_torn = true;
    }

    /// The newest attempt of which something was heard.
    pub fn newest_attempt(&self) -> Option<u32> {
        self.next.keys().next_back().map(|(attempt, ..)| *attempt)
    }

    /// Where that begins which was written of a stream and not heard; after a lost connection alone.
    pub fn reads_on(&self, key: StreamKey) -> u64 {
        self.next.get(&key).or_else(|| self.before.get(&key)).copied().unwrap_or(0)
    }

    /// From where on what comes before a piece was missed.
    pub fn missed_before(&self, piece: &LogPiece) -> Option<u64> {
        let from = self.reads_on((piece.attempt, piece.rank, piece.stream));
        (self.is_torn && from < piece.offset).then_some(from)
    }

    /// What is new of a piece; none where all of it is known.
    pub fn news(&mut self, mut piece: LogPiece) -> Option<LogPiece> {
        let next = self.next.entry((piece.attempt, piece.rank, piece.stream)).or_insert(piece.offset);
        if piece.next_offset <= *next && piece.offset < *next {
            return None;
        }
        // The line that stands for a gap has nothing to do with its bytes.
        if piece.offset < *next && !piece.is_gap {
            let known = usize::try_from(*next - piece.offset).unwrap_or(usize::MAX);
            piece.text = without_bytes(&piece.text, known).to_owned();
            piece.offset = *next;
        }
        *next = piece.next_offset;
        Some(piece)
    }
}

/// The text behind so many of its bytes; a letter of which one of them is a part goes as a whole.
fn without_bytes(text: &str, bytes: usize) -> &str {
    let begin = (bytes..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(rank: u32, offset: u64, text: &str) -> LogPiece {
        let next_offset = offset + text.len() as u64;
        LogPiece { attempt: 1, rank, stream: Stream::Stdout, offset, next_offset, text: text.to_owned(), is_gap: false }
    }

    fn told(heard: &mut Heard, piece: LogPiece) -> Option<(u64, String)> {
        heard.news(piece).map(|piece| (piece.offset, piece.text))
    }

    #[test]
    fn what_comes_again_after_a_reconnection_is_left_out_or_cut() {
        let mut heard = Heard::default();
        assert_eq!(told(&mut heard, piece(0, 0, "one\n")), Some((0, "one\n".to_owned())));
        assert_eq!(told(&mut heard, piece(0, 4, "two\n")), Some((4, "two\n".to_owned())));
        assert_eq!(told(&mut heard, piece(0, 0, "one\n")), None);
        assert_eq!(told(&mut heard, piece(0, 0, "one\ntwo\nthree\n")), Some((8, "three\n".to_owned())));
        assert_eq!(told(&mut heard, piece(1, 0, "of another\n")), Some((0, "of another\n".to_owned())));
        // Nobody has begun at the beginning who asked for the last lines.
        assert_eq!(told(&mut heard, piece(2, 40, "last\n")), Some((40, "last\n".to_owned())));
        assert_eq!(told(&mut heard, piece(2, 60, "later\n")), Some((60, "later\n".to_owned())));
    }

    #[test]
    fn letters_are_whole_where_a_piece_is_cut() {
        let mut heard = Heard::default();
        heard.news(piece(0, 0, "损"));
        assert_eq!(told(&mut heard, piece(0, 0, "损失\n")), Some((3, "失\n".to_owned())));
        assert_eq!(without_bytes("损失", 1), "失");
        assert_eq!(without_bytes("x", 7), "");
    }

    #[test]
    fn a_gap_is_said_once() {
        let mut heard = Heard::default();
        let gap = LogPiece { next_offset: 4_000, is_gap: true, ..piece(0, 0, "not kept\n") };
        assert_eq!(told(&mut heard, gap.clone()), Some((0, "not kept\n".to_owned())));
        assert_eq!(told(&mut heard, gap), None);
        assert_eq!(told(&mut heard, piece(0, 4_000, "on\n")), Some((4_000, "on\n".to_owned())));
    }

    #[test]
    fn what_a_lost_connection_has_cost_is_known() {
        let chunk = |rank, length| {
            let (text, gaps) = (String::new(), Vec::new());
            let stream = Stream::Stdout;
            LogChunk { attempt: 1, rank, stream, offset: length, next_offset: length, length, text, gaps }
        };
        let mut heard = Heard::after(&[chunk(0, 40), chunk(1, 40)]);
        heard.news(piece(0, 36, "last\n"));
        assert_eq!(heard.missed_before(&piece(0, 60, "x\n")), None, "nothing is lost while the connection lives");
        heard.torn();
        assert_eq!(heard.missed_before(&piece(0, 60, "x\n")), Some(41));
        assert_eq!(heard.missed_before(&piece(0, 41, "x\n")), None);
        assert_eq!(
            heard.missed_before(&piece(1, 60, "x\n")),
            Some(40),
            "who wanted the end is not shown the beginning"
        );
        assert_eq!(heard.missed_before(&piece(2, 60, "x\n")), Some(0), "it has begun since");
        assert_eq!(heard.newest_attempt(), Some(1));
    }
}

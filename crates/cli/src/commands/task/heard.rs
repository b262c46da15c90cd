//! How far each stream has been heard: a server that is asked again may send what has come before.

use std::collections::BTreeMap;

use fermi_api::v1::{LogPiece, Stream};

/// Where one reads on, by attempt, rank and stream.
#[derive(Debug, Default)]
pub struct Heard(BTreeMap<(u32, u32, Stream), u64>);

impl Heard {
    /// What is new of a piece; none where all of it is known.
    pub fn news(&mut self, mut piece: LogPiece) -> Option<LogPiece> {
        let next = self.0.entry((piece.attempt, piece.rank, piece.stream)).or_insert(piece.offset);
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
}

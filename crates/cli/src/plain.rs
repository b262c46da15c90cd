//! Texts of strangers on our terminal: names and log lines must not move its cursor, colour it or turn it around.

use std::borrow::Cow;
use std::str::Chars;

/// Columns between the stops of a tab.
const TAB: usize = 4;
/// No change of colours has longer parameters.
const LONGEST_COLOUR: usize = 64;
/// So much of a sequence is kept that has not ended yet.
const LONGEST_KEPT: usize = 4_096;

/// The text without escape sequences, and without any other character that a terminal would obey.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = Letters(text.chars());
    while let Some(letter) = letters.peek() {
        match letter {
            '\t' => out.push_str(&" ".repeat(TAB)),
            letter if letter.is_control() || turns_around(letter) => {
                skip(&mut letters);
                continue;
            }
            letter => out.push(letter),
        }
        letters.next();
    }
    out
}

/// Passes over one character that is not shown, and what belongs to it.
fn skip(letters: &mut Letters<'_>) {
    match letters.next() {
        Some('\u{1b}') => skip_sequence(letters),
        Some('\u{9b}') => skip_control(letters),
        Some('\u{90}' | '\u{9d}' | '\u{98}' | '\u{9e}' | '\u{9f}') => skip_string(letters),
        _ => {}
    }
}

/// The text with colours and nothing else that a terminal would obey: for what a command prints, which may hold words of others.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) { Cow::Borrowed(text) } else { Cow::Owned(shown_of(text).0) }
}

/// The same for what comes in pieces, of which each may end within a letter or a sequence.
#[derive(Debug, Default)]
pub struct HarmlessPieces {
    kept: Vec<u8>,
}

impl HarmlessPieces {
    /// What is shown of a piece, and of what was kept of the one before.
    pub fn next(&mut self, piece: &[u8]) -> String {
        self.kept.extend_from_slice(piece);
        let broken_off = self.kept.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        let broken_off = self.kept.split_off(self.kept.len() - broken_off);
        let text = String::from_utf8_lossy(&self.kept).into_owned();
        let (shown, rest) = shown_of(&text);
        self.kept = if rest.len() > LONGEST_KEPT { Vec::new() } else { rest.as_bytes().to_vec() };
        self.kept.extend(broken_off);
        shown
    }
}

fn is_shown(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\t') || !letter.is_control() && !turns_around(letter)
}

/// What is shown of a text, and where a sequence begins that it may not have ended.
fn shown_of(text: &str) -> (String, &str) {
    let mut out = String::with_capacity(text.len());
    let mut letters = Letters(text.chars());
    while let Some(letter) = letters.peek() {
        let rest = letters.0.as_str();
        if let Some(sequence) = colour(rest) {
            out.push_str(sequence);
            letters = Letters(rest[sequence.len()..].chars());
        } else if is_shown(letter) {
            out.push(letter);
            letters.next();
        } else {
            skip(&mut letters);
            if letters.peek().is_none() {
                return (out, rest);
            }
        }
    }
    (out, "")
}

/// A sequence at the beginning that changes colours, or clears what is left of the line.
fn colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end =
        parameters.bytes().take(LONGEST_COLOUR).position(|byte| !byte.is_ascii_digit() && !b";:".contains(&byte))?;
    let is_colour = matches!(parameters.as_bytes()[end], b'm' | b'K');
    is_colour.then(|| &text[.."\u{1b}[".len() + end + 1])
}

/// The last state of a line that rewrites itself, as a person would see it.
pub fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches(['\r', '\n']);
    line.rsplit('\r').next().unwrap_or(line)
}

/// What is left of a text.
struct Letters<'a>(Chars<'a>);

impl Letters<'_> {
    fn peek(&self) -> Option<char> {
        self.0.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        self.0.next()
    }

    fn next_if(&mut self, is_meant: impl FnOnce(char) -> bool) -> Option<char> {
        if self.peek().is_some_and(is_meant) { self.next() } else { None }
    }
}

/// What follows an escape character; at the latest it ends with its line, or one line would hide the next.
fn skip_sequence(letters: &mut Letters<'_>) {
    match letters.next_if(|letter| letter != '\n') {
        Some('[') => skip_control(letters),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(letters),
        // Two-letter sequences, and those with intermediates such as the choice of a character set.
        Some(' '..='/') => {
            while letters.next_if(|letter| matches!(letter, ' '..='/')).is_some() {}
            letters.next_if(|letter| letter != '\n');
        }
        _ => {}
    }
}

/// A control sequence ends with its final letter.
fn skip_control(letters: &mut Letters<'_>) {
    while letters.next_if(|letter| matches!(letter, ' '..='?')).is_some() {}
    letters.next_if(|letter| matches!(letter, '@'..='~'));
}

/// A string for the terminal, such as its title, ends with BEL or ST.
fn skip_string(letters: &mut Letters<'_>) {
    while let Some(letter) = letters.next_if(|letter| letter != '\n') {
        match letter {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                letters.next_if(|letter| letter == '\\');
                return;
            }
            _ => {}
        }
    }
}

/// Characters that change the direction of what stands around them.
fn turns_around(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_gone_and_all_else_stays() {
        for (text, shown) in [
            ("训练 llama-7b ✓", "训练 llama-7b ✓"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hgone", "gone"),
            ("\u{1b}]0;title\u{7}a", "a"),
            ("\u{1b}]52;c;c2VjcmV0\u{1b}\\b", "b"),
            ("\u{1b}P+q544e\u{1b}\\c", "c"),
            ("\u{9b}31mone byte", "one byte"),
            ("\u{1b}(Bset", "set"),
            ("\u{1b}cfull reset", "full reset"),
            ("a\tb\u{8}\u{7}\u{0}", "a    b"),
            ("abc\u{202e}fed", "abcfed"),
            ("cut \u{1b}[38;5", "cut "),
            ("cut \u{1b}", "cut "),
            ("cut \u{1b}]0;never ends", "cut "),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_command_prints_colours_and_nothing_that_moves_or_asks_the_terminal() {
        for (text, shown) in [
            ("task-1\tann\r\n", "task-1\tann\r\n"),
            ("\u{1b}[1;31mred\u{1b}[0m \u{1b}[38:5:4mblue", "\u{1b}[1;31mred\u{1b}[0m \u{1b}[38:5:4mblue"),
            ("\r\u{1b}[K50 %", "\r\u{1b}[K50 %"),
            ("\u{1b}]0;title\u{7}\u{1b}[2Ja", "a"),
            ("\u{1b}]52;c;c2VjcmV0\u{1b}\\b\u{1b}[6n", "b"),
            ("\u{1b}[>4;2mkeys\u{1b}[?1049h", "keys"),
            ("\u{1b}\n]0;x", "\n]0;x"),
            ("\u{1b}]0;never ends\nthe next line", "\nthe next line"),
            ("cut \u{1b}[3", "cut "),
            ("abc\u{202e}fed\u{7}", "abcfed"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }

    #[test]
    fn what_comes_in_pieces_is_shown_as_the_whole_would_be() {
        let whole = "训练\u{1b}[31m 1 %\r\u{1b}[K\u{1b}]0;title\u{7}2 %\u{1b}[2J\u{9b}6n\u{1b}P+q\u{1b}\\ é\n";
        for size in 1..whole.len() {
            let mut pieces = HarmlessPieces::default();
            let shown: String = whole.as_bytes().chunks(size).map(|piece| pieces.next(piece)).collect();
            assert_eq!(shown, harmless(whole), "in pieces of {size}");
        }
        assert_eq!(HarmlessPieces::default().next(b"\xff\xfea"), "\u{fffd}\u{fffd}a");
    }

    #[test]
    fn a_sequence_that_never_ends_is_not_kept_for_ever() {
        let mut pieces = HarmlessPieces::default();
        assert_eq!(pieces.next(b"\x1b]0;"), "");
        for _ in 0..10 {
            pieces.next(&[b'x'; 1_000]);
            assert!(pieces.kept.len() <= LONGEST_KEPT);
        }
        assert_eq!(pieces.next(b"\nshown"), "\nshown");
    }

    #[test]
    fn a_bar_that_rewrites_itself_is_shown_as_it_is_now() {
        assert_eq!(last_state(" 10%\r 20%\r 30%\r\n"), " 30%");
        assert_eq!(last_state("a line\r\n"), "a line");
        assert_eq!(last_state(""), "");
    }
}

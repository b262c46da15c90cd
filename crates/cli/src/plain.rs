//! Texts of strangers on our terminal: names and log lines must not move its cursor, colour it or turn it around.

/// Columns between the stops of a tab.
const TAB: usize = 4;

/// The text without escape sequences, and without any other character that a terminal would obey.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_sequence(&mut letters),
            '\u{9b}' => skip_control(&mut letters),
            '\u{90}' | '\u{9d}' | '\u{98}' | '\u{9e}' | '\u{9f}' => skip_string(&mut letters),
            '\t' => out.push_str(&" ".repeat(TAB)),
            letter if letter.is_control() || turns_around(letter) => {}
            letter => out.push(letter),
        }
    }
    out
}

/// The last state of a line that rewrites itself, as a person would see it.
pub fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches(['\r', '\n']);
    line.rsplit('\r').next().unwrap_or(line)
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What follows an escape character.
fn skip_sequence(letters: &mut Letters<'_>) {
    match letters.next() {
        Some('[') => skip_control(letters),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(letters),
        // Two-letter sequences, and those with intermediates such as the choice of a character set.
        Some(' '..='/') => while letters.next().is_some_and(|letter| matches!(letter, ' '..='/')) {},
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
    while let Some(letter) = letters.next() {
        match letter {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                letters.next_if_eq(&'\\');
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
    fn a_bar_that_rewrites_itself_is_shown_as_it_is_now() {
        assert_eq!(last_state(" 10%\r 20%\r 30%\r\n"), " 30%");
        assert_eq!(last_state("a line\r\n"), "a line");
        assert_eq!(last_state(""), "");
    }
}

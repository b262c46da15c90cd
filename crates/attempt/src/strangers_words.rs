//! What others say of themselves, before anybody knows who they are: it is told to people, written down, and sent on.

use fermi_domain::unseen;

/// A name of the system has 255 letters at most.
const LONGEST: usize = 255;

/// The same as people may be told it: a terminal obeys none of its letters, all of them are seen, and they are few.
pub fn legible(words: &str) -> String {
    let mut shown: String =
        words.chars().take(LONGEST).map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect();
    while let Some(deceives) = unseen::find(&shown) {
        shown = shown.replace(deceives.0, "\u{fffd}");
    }
    if words.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_nobody_would_see_is_replaced_and_names_stay() {
        for (words, shown) in [
            ("gn7", "gn7"),
            ("节点-7", "节点-7"),
            ("", ""),
            ("a\u{1b}[2Jb\nfermi: c\r", "a\u{fffd}[2Jb\u{fffd}fermi: c\u{fffd}"),
            ("a\u{202e}b\u{200b}c\u{202e}", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("\u{9b}6n", "\u{fffd}6n"),
        ] {
            assert_eq!(legible(words), shown, "{words:?}");
        }
        let long = legible(&"长".repeat(LONGEST + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (LONGEST + 1, true));
        assert_eq!(legible(&"a".repeat(LONGEST)), "a".repeat(LONGEST));
    }

    #[test]
    fn whatever_strangers_say_is_legible_and_short() {
        fermi_mutator::try_all(&["gn7\u{1b}[2J\u{202e}节点".as_bytes()], 2_000, |case| {
            let shown = legible(&String::from_utf8_lossy(case));
            assert!(!shown.contains(char::is_control) && unseen::find(&shown).is_none());
            assert!(shown.chars().count() <= LONGEST + 1);
        });
    }
}

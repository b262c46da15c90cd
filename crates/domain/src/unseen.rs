//! Letters of a name that nobody sees, or that turn around what is read: two names that look the same would be different.
//!
//! Letters that merely look like others are not meant: whole alphabets do.

use crate::language::{Explained, Hint, Text};

/// A letter that deceives whoever reads the name that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnseenLetter(pub char);

/// The first such letter of a name.
pub fn find(name: &str) -> Option<UnseenLetter> {
    let letters: Vec<char> = name.chars().collect();
    let deceives = |at: usize| match letters[at] {
        '\u{200c}' | '\u{200d}' => {
            let before = at.checked_sub(1).map(|before| letters[before]);
            !joins(before, letters[at], letters.get(at + 1).copied())
        }
        letter => is_unseen(letter),
    };
    (0..letters.len()).find(|at| deceives(*at)).map(|at| UnseenLetter(letters[at]))
}

/// Format characters, separators of lines and paragraphs, and letters that are drawn as nothing.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        // The soft hyphen and the grapheme joiner.
        '\u{ad}' | '\u{34f}'
        // Marks, embeddings, overrides and isolates of the direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Spaces without width, separators, invisible operators, deprecated controls.
        | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        // Fillers, and vowels that are not drawn.
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
        // Controls of hieroglyphs, shorthand and music.
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags, and all else that is set aside for what is not drawn.
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a joiner or non-joiner stands where writing needs it: within a word of a script whose letters change their form beside
/// others, or, the joiner alone, between two pictures.
fn joins(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let is_picture = |it: char| matches!(it, '\u{fe0f}' | '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}');
    shapes(before) && shapes(after) || letter == '\u{200d}' && is_picture(before) && is_picture(after)
}

/// Letters and marks of scripts in which neighbours change each other's form: from Arabic to the scripts of India, and their kin.
fn shapes(letter: char) -> bool {
    matches!(letter, '\u{620}'..='\u{6ff}' | '\u{700}'..='\u{74f}' | '\u{750}'..='\u{7ff}' | '\u{840}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1700}'..='\u{18af}' | '\u{1900}'..='\u{1cff}'
        | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}')
        && !is_unseen(letter)
}

impl UnseenLetter {
    /// What is wrong with something that holds it.
    pub fn within(self, holder: &Text) -> Text {
        Text::new(
            format!("{}含有 {self}：这个字符看不见，或会改变文字的方向", holder.zh),
            format!("{} holds {self}, which is not seen or turns the text around", holder.en),
        )
    }
}

impl std::fmt::Display for UnseenLetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "U+{:04X}", u32::from(self.0))
    }
}

impl Explained for UnseenLetter {
    fn id(&self) -> &'static str {
        "name_unseen_letter"
    }

    fn text(&self) -> Text {
        self.within(&Text::new("名称", "the name"))
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::new(
            format!("删除 {self}：重新键入，不要粘贴"),
            format!("remove {self}: type it instead of pasting it"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_deceive_are_found_and_named_by_their_number() {
        let cases = [
            ("task\u{202e}1", "U+202E"),
            ("\u{2067}a", "U+2067"),
            ("a\u{200b}b", "U+200B"),
            ("a\u{200f}", "U+200F"),
            ("\u{feff}bert", "U+FEFF"),
            ("bert\u{e0041}", "U+E0041"),
            ("a\u{2028}b", "U+2028"),
            ("a\u{2029}b", "U+2029"),
            ("a\u{ad}b", "U+00AD"),
            ("a\u{2060}b", "U+2060"),
            ("\u{3164}", "U+3164"),
            ("be\u{200d}rt", "U+200D"),
            ("模\u{200c}型", "U+200C"),
            ("می\u{200c}", "U+200C"),
            ("می\u{200c}\u{202e}x", "U+200C"),
        ];
        for (name, number) in cases {
            let found = find(name).unwrap();
            assert_eq!(found.to_string(), number, "{name:?}");
            let text = found.text();
            assert!(text.en.contains(number) && text.zh.contains(number));
        }
    }

    #[test]
    fn names_of_all_scripts_are_let_through() {
        for name in [
            "bert lr=1e-4",
            "训练 任务",
            "Пётр",
            "gn6-0",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}💻",
            "é",
            "עברית",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}

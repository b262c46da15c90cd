//! Lines that fit a column of a terminal.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns where there is no terminal to ask.
const USUAL: usize = 100;
/// A window so narrow that wrapping would only harm.
const NARROWEST: usize = 40;

/// Columns of the terminal at stdout.
pub fn columns() -> usize {
    // SAFETY: the kernel fills in a plain structure that we own.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) == 0).then_some(size)
    };
    size.map_or(USUAL, |size| usize::from(size.ws_col)).max(NARROWEST)
}

/// Columns that a text takes: a Chinese character takes two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Breaks a line at spaces, and between Chinese characters, so that it fits the column. A word without a break stays
/// whole: paths and commands are there to be copied.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::Custom(words))
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).into_iter().map(String::from).collect()
}

/// The parts between which a line may end. Unicode's own rules would break a path behind each slash, and never before
/// its first one.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut start = 0;
    let ends = line
        .char_indices()
        .zip(line.chars().skip(1))
        .filter_map(|((at, before), after)| may_break(before, after).then_some(at + before.len_utf8()));
    let ends: Vec<usize> = ends.chain([line.len()]).collect();
    Box::new(ends.into_iter().map(move |end| Word::from(&line[std::mem::replace(&mut start, end)..end])))
}

/// Whether a line may end between these two: behind a space, or beside a character of two columns that is no punctuation
/// which belongs to the other.
fn may_break(before: char, after: char) -> bool {
    let is_wide = |letter: char| letter.width() == Some(2);
    let belong_together =
        "（“《【「『".contains(before) || "，。；：、！？）”》】」』…".contains(after) || after == ' ';
    (before == ' ' || is_wide(before) || is_wide(after)) && !belong_together
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_advice_stays_in_its_column_and_words_stay_whole() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(wrapped("set --max-restarts now", 8), ["set", "--max-restarts", "now"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_its_punctuation() {
        assert_eq!(wrapped("查看日志，然后重试", 8), ["查看日", "志，然后", "重试"]);
        assert_eq!(wrapped("检查端口（29500）", 10), ["检查端口", "（29500）"]);
        assert_eq!(wrapped("设置 --max-restarts 为 3", 18), ["设置", "--max-restarts 为", "3"]);
        assert_eq!(width("显存 a"), 6);
    }
}

//! The report of a failed run: who failed first, how, why, and what to do.

use std::path::PathBuf;

use fermi_attempt::run_folder::RankFolder;
use fermi_domain::language::{Language, Text};
use fermi_domain::verdict::Verdict;
use unicode_width::UnicodeWidthChar;

use super::narrate::short_path;
use crate::speech::Paint;

/// How many last lines are shown when there is no traceback.
pub const LINES: usize = 12;
/// Longest traceback that is shown whole.
pub const TRACEBACK_LINES: usize = 40;
/// Columns of the label, and of the text beside it.
const LABEL: usize = 9;
const COLUMN: usize = 88;
/// A line of a megabyte is not for the terminal.
const WIDTH: usize = 400;

/// What is known of a run that failed.
#[derive(Debug)]
pub struct Report<'a> {
    pub verdict: &'a Verdict,
    pub attempts: u32,
    /// Why there was no further attempt.
    pub gave_up: Option<&'a Text>,
    pub run_folder: Option<&'a PathBuf>,
    pub local_rank_of_first: Option<u32>,
}

impl Report<'_> {
    pub fn render(&self, language: Language, paint: Paint) -> String {
        let say = |text: &Text| text.in_language(language).to_owned();
        let word = |zh: &'static str, en: &'static str| match language {
            Language::ZhCn => zh,
            Language::En => en,
        };
        let mut out = format!("\n{} {}\n", paint.red("✗"), paint.bold(&say(&self.verdict.headline())));
        let mut row = |label: &str, text: &str| out.push_str(&labelled(label, text, paint));
        if let Some(diagnosis) = &self.verdict.diagnosis {
            row(word("原因", "cause"), &say(&diagnosis.cause));
        }
        if let Some(advice) = self.verdict.advice() {
            row(word("建议", "advice"), &say(&advice));
        }
        if let Some(others) = self.verdict.others_summary() {
            row(word("其他", "others"), &say(&others));
        }
        if let Some(reason) = self.gave_up {
            row(word("重启", "restart"), &say(reason));
        }
        if let Some(log) = self.log() {
            row(word("日志", "log"), &log);
        }
        out.push_str(&self.excerpt(language, paint));
        out
    }

    /// The log of the rank that failed first, or the run's folder.
    fn log(&self) -> Option<String> {
        let run = self.run_folder?;
        Some(match self.local_rank_of_first {
            Some(local_rank) => short_path(&RankFolder::of(run, self.attempts, local_rank).path.join("stderr.log")),
            None => short_path(run),
        })
    }

    fn excerpt(&self, language: Language, paint: Paint) -> String {
        let traceback = self.verdict.traceback.as_ref().map(|traceback| traceback.lines.as_slice());
        let lines = match traceback {
            Some(lines) => shortened(lines, TRACEBACK_LINES),
            None => {
                let evidence = &self.verdict.evidence;
                evidence[evidence.len().saturating_sub(LINES)..].to_vec()
            }
        };
        if lines.is_empty() {
            return String::new();
        }
        let title = match (language, traceback.is_some()) {
            (_, true) => String::new(),
            (Language::ZhCn, false) => format!("{}\n", paint.dim("  最后的输出")),
            (Language::En, false) => format!("{}\n", paint.dim("  last lines")),
        };
        let body: String = lines.iter().map(|line| format!("  {} {}\n", paint.dim("│"), cut(line))).collect();
        format!("\n{title}{body}")
    }
}

/// A label, then the text in a column of its own.
pub fn labelled(label: &str, text: &str, paint: Paint) -> String {
    let pad = " ".repeat(LABEL.saturating_sub(label.chars().map(columns).sum()));
    let lines: Vec<String> = text.lines().flat_map(|line| wrapped(line, COLUMN)).collect();
    let indent = " ".repeat(2 + LABEL);
    format!("  {}{pad}{}\n", paint.dim(label), lines.join(&format!("\n{indent}")))
}

/// Breaks a line at spaces, and between Chinese characters, so that it fits the column. A word without a break stays
/// whole: paths and commands are there to be copied.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for piece in pieces(line) {
        let wide: usize = piece.trim_end().chars().map(columns).sum();
        if used > 0 && used + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(piece);
        }
        used += piece.chars().map(columns).sum::<usize>();
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The parts between which a line may break.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (at, c) in line.char_indices() {
        let after_space = before == Some(' ') && c != ' ';
        let after_wide = before.is_some_and(|b| columns(b) == 2) && !"，。；：、！？）”》".contains(c);
        if after_space || after_wide {
            pieces.push(&line[start..at]);
            start = at;
        }
        before = Some(c);
    }
    pieces.push(&line[start..]);
    pieces
}

/// A Chinese character takes two columns.
fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Head and tail of a long traceback: where it began and what was raised.
pub fn shortened(lines: &[String], most: usize) -> Vec<String> {
    if lines.len() <= most {
        return lines.to_vec();
    }
    let (head, tail) = (most / 4, most - most / 4);
    let skipped = lines.len() - head - tail;
    lines[..head]
        .iter()
        .cloned()
        .chain([format!("… (+{skipped})")])
        .chain(lines[lines.len() - tail..].iter().cloned())
        .collect()
}

pub fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_advice_stays_in_its_column_and_words_stay_whole() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(wrapped("查看日志，然后重试", 8), ["查看日", "志，然后", "重试"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}

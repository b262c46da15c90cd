//! The report of a failed run: who failed first, how, why, and what to do.

use std::path::PathBuf;

use fermi_attempt::run_folder::RankFolder;
use fermi_domain::healing::GiveUp;
use fermi_domain::language::{Language, Text};
use fermi_domain::verdict::Verdict;

use super::narrate::short_path;
use crate::speech::{self, Paint};
use crate::wrap;

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
pub struct FailureReport<'a> {
    pub verdict: &'a Verdict,
    pub attempts: u32,
    /// Why there was no further attempt.
    pub gave_up: Option<&'a Text>,
    pub run_folder: Option<&'a PathBuf>,
    pub local_rank_of_first: Option<u32>,
}

impl FailureReport<'_> {
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
            row(word("建议", "advice"), &say(&speech::spelled(&advice)));
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
            Some(local_rank) => {
                let folder = RankFolder::of(run, self.attempts, local_rank).path;
                // pytest and others complain on stdout.
                let is_empty = |name: &str| folder.join(name).metadata().is_ok_and(|meta| meta.len() == 0);
                let name = if is_empty("stderr.log") && !is_empty("stdout.log") { "stdout.log" } else { "stderr.log" };
                short_path(&folder.join(name))
            }
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
    let pad = " ".repeat(LABEL.saturating_sub(wrap::width(label)));
    let lines: Vec<String> = text.lines().flat_map(|line| wrap::wrapped(line, COLUMN)).collect();
    let indent = " ".repeat(2 + LABEL);
    format!("  {}{pad}{}\n", paint.dim(label), lines.join(&format!("\n{indent}")))
}

/// Why there was no further attempt, with what would have allowed one.
pub fn given_up(reason: GiveUp, text: Text) -> Text {
    let Some(hint) = reason.hint().as_ref().map(speech::spelled) else { return text };
    Text::new(format!("{}；{}", text.zh, hint.zh), format!("{}; {}", text.en, hint.en))
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

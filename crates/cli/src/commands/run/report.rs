//! The report of a failed run: who failed first, how, why, and what to do.

use std::path::Path;

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
    /// Why there was no further attempt.
    pub gave_up: Option<&'a Text>,
    /// Where the log of the rank that failed first lies, or else all that the run has left.
    pub log: Option<String>,
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
        if let Some(log) = &self.log {
            row(word("日志", "log"), log);
        }
        out.push_str(&self.excerpt(language, paint));
        out
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

/// Where the log of the rank that failed first lies, as the launcher of a node tells it: on its own machine, or the run's
/// folder here.
pub fn log_of(verdict: &Verdict, node: &str, run_folder: Option<&Path>, language: Language) -> Option<String> {
    let elsewhere = verdict.first.as_ref().map(|first| first.node.as_str()).filter(|home| *home != node);
    let text = match (&verdict.log, elsewhere) {
        (Some(log), None) => return Some(short_path(log)),
        (None, None) => return run_folder.map(short_path),
        (Some(log), Some(home)) => {
            let log = log.display();
            Text::new(format!("{home} 上的 {log}"), format!("on {home}: {log}"))
        }
        (None, Some(home)) => Text::new(
            format!("在 {home} 上，该节点的日志目录中"),
            format!("on {home}, in the folder of logs of that node"),
        ),
    };
    Some(text.in_language(language).to_owned())
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

#[cfg(test)]
mod tests {
    use fermi_domain::exit::Exit;
    use fermi_domain::ids::Rank;
    use fermi_domain::verdict::FailedRank;

    use super::*;

    #[test]
    fn the_log_is_named_on_the_machine_that_has_it() {
        let failed = |log: Option<&str>| {
            let first = FailedRank { rank: Rank(1), node: "gn7".into(), exit: Exit::Code { code: 3 } };
            Verdict { log: log.map(Into::into), ..Verdict::rank_failed(first, None) }
        };
        let told = |verdict: &Verdict, node: &str, language: Language| {
            log_of(verdict, node, Some(Path::new("/srv/run")), language).unwrap()
        };
        let known = failed(Some("/logs/run/attempt_0/0/stderr.log"));
        assert_eq!(told(&known, "gn7", Language::En), "/logs/run/attempt_0/0/stderr.log");
        assert_eq!(told(&known, "gn6", Language::En), "on gn7: /logs/run/attempt_0/0/stderr.log");
        assert_eq!(told(&known, "gn6", Language::ZhCn), "gn7 上的 /logs/run/attempt_0/0/stderr.log");
        // A node of an older release does not say where; the folder here is not it.
        assert_eq!(told(&failed(None), "gn6", Language::En), "on gn7, in the folder of logs of that node");
        assert_eq!(told(&failed(None), "gn7", Language::En), "/srv/run");
    }
}

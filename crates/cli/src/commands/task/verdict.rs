//! Why a task ended, in the form of the report of `fermi run`.

use fermi_api::v1::Verdict;
use fermi_domain::language::{Language, Text};

use crate::commands::run::report::{LINES, TRACEBACK_LINES, cut, labelled, shortened};
use crate::speech::{Paint, pick};

pub fn render(verdict: &Verdict, language: Language, paint: Paint) -> String {
    let mut out = format!("\n{} {}\n", paint.red("✗"), paint.bold(verdict.headline.in_language(language)));
    let mut row = |label: &str, text: Option<&Text>| {
        if let Some(text) = text {
            out.push_str(&labelled(label, text.in_language(language), paint));
        }
    };
    row(pick("原因", "cause"), verdict.cause.as_ref());
    row(pick("建议", "advice"), verdict.advice.as_ref());
    row(pick("其他", "others"), verdict.others_summary.as_ref());
    out.push_str(&excerpt(verdict, paint));
    out
}

/// The traceback, else the last lines.
fn excerpt(verdict: &Verdict, paint: Paint) -> String {
    let (title, lines) = if verdict.traceback.is_empty() {
        let evidence = &verdict.evidence;
        let last = evidence[evidence.len().saturating_sub(LINES)..].to_vec();
        (format!("{}\n", paint.dim(pick("  最后的输出", "  last lines"))), last)
    } else {
        (String::new(), shortened(&verdict.traceback, TRACEBACK_LINES))
    };
    if lines.is_empty() {
        return String::new();
    }
    let body: String = lines.iter().map(|line| format!("  {} {}\n", paint.dim("│"), cut(line))).collect();
    format!("\n{title}{body}")
}

//! Findings as people read them: by topic, what is well in one line each, what is not with its evidence and its fix.

use fermi_doctor::{Counts, Finding, State, Topic};
use fermi_domain::language::{Language, Text};

use crate::speech::{self, Paint};
use crate::wrap;

/// Columns before a finding's text.
const MARGIN: usize = 4;
const LABEL: usize = 6;

/// For whom it is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub language: Language,
    pub paint: Paint,
    pub columns: usize,
}

impl View {
    pub fn for_stdout() -> Self {
        Self { language: speech::language(), paint: Paint::for_stdout(), columns: wrap::columns() }
    }

    pub fn word(self, zh: &'static str, en: &'static str) -> &'static str {
        match self.language {
            Language::ZhCn => zh,
            Language::En => en,
        }
    }

    pub fn findings(self, host: &str, findings: &[Finding]) -> String {
        let mut out = format!("{}\n", self.paint.bold(&format!("{} {host}", self.word("体检：", "Doctor:"))));
        for topic in Topic::ALL {
            let of_topic: Vec<&Finding> = findings.iter().filter(|finding| finding.topic == topic).collect();
            if of_topic.is_empty() {
                continue;
            }
            out.push_str(&format!("\n  {}\n", self.paint.bold(topic.title().in_language(self.language))));
            for finding in of_topic {
                out.push_str(&self.finding(finding));
            }
        }
        out
    }

    fn finding(self, finding: &Finding) -> String {
        let sign = match finding.state {
            State::Ok => self.paint.green("✓"),
            State::Skipped => self.paint.dim("-"),
            State::Warning => self.paint.yellow("!"),
            State::Error => self.paint.red("✗"),
        };
        let text = finding.text.in_language(self.language);
        let lines = wrap::wrapped(text, self.columns.saturating_sub(MARGIN));
        let mut out = String::new();
        for (at, line) in lines.iter().enumerate() {
            let line = if finding.state == State::Skipped { self.paint.dim(line) } else { line.clone() };
            let head = if at == 0 { format!("  {sign} ") } else { " ".repeat(MARGIN) };
            out.push_str(&format!("{head}{line}\n"));
        }
        // What is well needs no evidence; what it advises nevertheless is worth a line.
        if finding.state < State::Warning && finding.topic != Topic::Wire {
            return out;
        }
        if let Some(evidence) = &finding.evidence {
            out.push_str(&self.below(self.word("依据", "seen"), evidence));
        }
        if let Some(fix) = &finding.fix {
            out.push_str(&self.below(self.word("办法", "fix"), &fix.text));
            if let Some(command) = &fix.command {
                for line in command.lines() {
                    out.push_str(&format!("{}$ {line}\n", " ".repeat(MARGIN + LABEL)));
                }
            }
        }
        out
    }

    /// A label and a text beside it, which stays in its column.
    fn below(self, label: &str, text: &Text) -> String {
        let indent = MARGIN + LABEL;
        let lines = wrap::wrapped(text.in_language(self.language), self.columns.saturating_sub(indent));
        let pad = " ".repeat(LABEL.saturating_sub(wrap::width(label)));
        let head = format!("{}{}{pad}", " ".repeat(MARGIN), self.paint.dim(label));
        let rest = format!("\n{}", " ".repeat(indent));
        format!("{head}{}\n", lines.join(&rest))
    }

    /// What the first node has said of this one.
    pub fn told(self, said: &[Text], errors: usize) -> String {
        let lines: String = said
            .iter()
            .map(|text| format!("  {} {}\n", self.paint.yellow("!"), text.in_language(self.language)))
            .collect();
        let end = match (self.language, errors) {
            (Language::ZhCn, 0) => "没有发现错误；详细结果在节点 0 上".to_owned(),
            (Language::ZhCn, errors) => format!("共 {errors} 项错误；详细结果在节点 0 上"),
            (Language::En, 0) => "no errors; node 0 shows the whole result".to_owned(),
            (Language::En, errors) => format!("{errors} errors in all; node 0 shows the whole result"),
        };
        format!("{lines}{end}\n")
    }

    pub fn summary(self, counts: Counts, seconds: f64) -> String {
        let Counts { ok, skipped, warnings, errors } = counts;
        let parts = match self.language {
            Language::ZhCn => [
                format!("{ok} 项正常"),
                format!("{warnings} 项警告"),
                format!("{errors} 项错误"),
                format!("{skipped} 项跳过"),
                format!("用时 {seconds:.1} 秒"),
            ],
            Language::En => [
                format!("{ok} ok"),
                format!("{warnings} warnings"),
                format!("{errors} errors"),
                format!("{skipped} skipped"),
                format!("{seconds:.1} s"),
            ],
        };
        let [ok, warned, wrong, skipped, time] = parts;
        let warned = if warnings > 0 { self.paint.yellow(&warned) } else { warned };
        let wrong = if errors > 0 { self.paint.red(&wrong) } else { wrong };
        format!(
            "\n{} · {warned} · {wrong} · {} · {}\n",
            self.paint.green(&ok),
            self.paint.dim(&skipped),
            self.paint.dim(&time)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(language: Language) -> View {
        View { language, paint: Paint::none(), columns: 40 }
    }

    fn findings() -> Vec<Finding> {
        let well = Finding::ok("disk.room", Topic::Disk, Text::new("/data：剩余 9 GB", "/data: 9 GB are free"));
        let fix = Text::new("换一个端口", "choose another port, or wait for its holder to end");
        let taken =
            Finding::error("launch.port", Topic::Launch, Text::new("端口 29500 已被占用", "port 29500 is taken"));
        let taken = taken.seen(Text::new("nc (pid 7)", "nc (pid 7)")).fix(fix, "ss -ltnp 'sport = :29500'");
        let none = Finding::skipped("gpu.list", Topic::Gpu, Text::new("没有 GPU", "there is no GPU"));
        vec![taken, well, none]
    }

    #[test]
    fn findings_stand_under_their_topics_and_fixes_stay_in_their_column() {
        let shown = view(Language::En).findings("gn6", &findings());
        let expected = "Doctor: gn6\n\n  GPUs\n  - there is no GPU\n\n  disk\n  ✓ /data: 9 GB are free\n\n  launch\n  ✗ port 29500 is taken\n    \
                        seen  nc (pid 7)\n    fix   choose another port, or wait\n          for its holder to end\n          $ ss -ltnp 'sport = :29500'\n";
        assert_eq!(shown, expected);
        let chinese = view(Language::ZhCn).findings("gn6", &findings());
        assert!(chinese.contains("  ✗ 端口 29500 已被占用\n    依据  nc (pid 7)\n    办法  换一个端口\n"), "{chinese}");
    }

    #[test]
    fn the_summary_counts_every_state() {
        let counts = Counts::of(&findings());
        assert_eq!(view(Language::En).summary(counts, 1.0), "\n1 ok · 0 warnings · 1 errors · 1 skipped · 1.0 s\n");
        assert_eq!(
            view(Language::ZhCn).summary(counts, 1.0),
            "\n1 项正常 · 0 项警告 · 1 项错误 · 1 项跳过 · 用时 1.0 秒\n"
        );
    }
}

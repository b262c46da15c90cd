//! What came of the demo, and whether it is right: the loss fell, and every rank holds the same parameters.

use std::collections::BTreeMap;

use fermi_api::v1::{Logs, Metrics, Rank, Stream, Task, Verdict};
use fermi_domain::phase::TaskPhase;
use serde_json::{Value, json};

use crate::commands::task::verdict;
use crate::span;
use crate::speech::{self, Paint, pick};

/// Letters of the checksum that the trainer prints.
const CHECKSUM: usize = 16;

#[derive(Debug)]
pub struct DemoReport {
    status: TaskPhase,
    verdict: Option<Verdict>,
    world_size: usize,
    loss: Option<(f64, f64)>,
    /// By rank.
    checksums: BTreeMap<u32, String>,
    times: Times,
    tokens_per_s: Option<f64>,
}

/// When what happened, in Unix milliseconds.
#[derive(Debug, Default)]
struct Times {
    created: u64,
    placed: Option<u64>,
    ranks_up: Option<u64>,
    first_step: Option<u64>,
    ended: Option<u64>,
}

impl DemoReport {
    pub fn of(task: &Task, ranks: &[Rank], logs: &Logs, metrics: &Metrics) -> Self {
        let loss = metrics.series.iter().find(|series| series.name == "loss").map(|series| &series.points);
        let ends = loss.and_then(|points| Some((points.first()?, points.last()?)));
        let checksums = logs
            .chunks
            .iter()
            .filter(|chunk| chunk.stream == Stream::Stdout)
            .filter_map(|chunk| Some((chunk.rank, checksum(&chunk.text)?)))
            .collect();
        Self {
            status: task.row.status,
            verdict: task.verdict.clone(),
            world_size: ranks.len(),
            loss: ends.map(|(first, last)| (first.value, last.value)),
            checksums,
            times: Times {
                created: task.row.created_at,
                placed: task.row.started_at,
                ranks_up: ranks.iter().filter_map(|rank| rank.started_at).max(),
                first_step: ends.map(|(first, _)| first.time),
                ended: task.row.ended_at,
            },
            tokens_per_s: task.progress.as_ref().and_then(|progress| progress.tokens_per_s),
        }
    }

    fn loss_fell(&self) -> bool {
        self.loss.is_some_and(|(first, last)| last < first)
    }

    fn ranks_agree(&self) -> bool {
        let first = self.checksums.values().next();
        self.world_size > 1
            && self.checksums.len() == self.world_size
            && self.checksums.values().all(|sum| Some(sum) == first)
    }

    pub fn is_right(&self) -> bool {
        self.status == TaskPhase::Succeeded && self.loss_fell() && self.ranks_agree()
    }

    /// Each stretch with its length.
    fn phases(&self) -> Vec<(&'static str, &'static str, u64)> {
        let marks = [
            ("placed", pick("提交 → 已分配", "submitted → placed"), self.times.placed),
            ("ranksUp", pick("已分配 → 进程就绪", "placed → ranks up"), self.times.ranks_up),
            ("firstStep", pick("进程就绪 → 第一步", "ranks up → first step"), self.times.first_step),
            ("end", pick("第一步 → 结束", "first step → end"), self.times.ended),
        ];
        let mut before = self.times.created;
        let mut phases = Vec::new();
        for (name, text, at) in marks {
            if let Some(at) = at {
                phases.push((name, text, at.saturating_sub(before)));
                before = at;
            }
        }
        phases
    }

    pub fn render(&self, nothing_left: bool) -> String {
        let paint = Paint::for_stdout();
        let mark = |good: bool| if good { paint.green("✓") } else { paint.red("✗") };
        let mut out = String::new();
        if let Some(end) = self.verdict.as_ref().filter(|end| end.class.is_some()) {
            out.push_str(&verdict::render(end, speech::language(), paint));
        }
        let loss = match self.loss {
            Some((first, last)) => format!("{} {first:.4} → {last:.4}", pick("损失", "loss")),
            None => pick("没有损失值", "no loss was reported").to_owned(),
        };
        out.push_str(&format!("  {} {}\n", mark(self.loss_fell()), paint.bold(&loss)));
        out.push_str(&format!("  {} {}\n", mark(self.ranks_agree()), self.agreement()));
        let left = if nothing_left {
            pick("没有遗留进程和文件", "nothing is left running, no file is left behind")
        } else {
            pick("有遗留进程或文件", "something was left behind")
        };
        out.push_str(&format!("  {} {left}\n\n", mark(nothing_left)));
        let mut total = 0;
        for (_, text, length) in self.phases() {
            total += length;
            out.push_str(&format!("  {}  {}\n", paint.dim(&padded(text)), span::exact(length)));
        }
        out.push_str(&format!("  {}  {}", paint.dim(&padded(pick("合计", "in all"))), paint.bold(&span::exact(total))));
        if let Some(speed) = self.tokens_per_s {
            out.push_str(&paint.dim(&format!("  ({speed:.0} tokens/s)")));
        }
        out.push('\n');
        out
    }

    fn agreement(&self) -> String {
        let (have, world) = (self.checksums.len(), self.world_size);
        match self.checksums.values().next() {
            Some(sum) if self.ranks_agree() => match speech::language() {
                fermi_domain::language::Language::ZhCn => format!("全部 {world} 个进程的参数一致（校验和 {sum}）"),
                fermi_domain::language::Language::En => {
                    format!("all {world} ranks hold the same parameters (checksum {sum})")
                }
            },
            Some(_) if have == world => pick("各进程的参数不一致", "the ranks hold different parameters").to_owned(),
            _ => format!("{have}/{world} {}", pick("个进程给出了校验和", "ranks gave a checksum")),
        }
    }

    pub fn as_json(&self, nothing_left: bool) -> Value {
        let phases: serde_json::Map<String, Value> =
            self.phases().into_iter().map(|(name, _, length)| (format!("{name}Ms"), length.into())).collect();
        json!({
            "v": 1,
            "ok": self.is_right() && nothing_left,
            "status": self.status,
            "worldSize": self.world_size,
            "firstLoss": self.loss.map(|loss| loss.0),
            "lastLoss": self.loss.map(|loss| loss.1),
            "checksums": self.checksums,
            "ranksAgree": self.ranks_agree(),
            "nothingLeft": nothing_left,
            "phases": phases,
        })
    }
}

fn padded(text: &str) -> String {
    let width = unicode_width::UnicodeWidthStr::width(text);
    format!("{text}{}", " ".repeat(24_usize.saturating_sub(width)))
}

/// What stands behind `parameters` in the last line of a rank.
fn checksum(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| line.contains("done"))?;
    let (_, sum) = line.rsplit_once("parameters ")?;
    let sum = sum.trim();
    let is_one = sum.len() == CHECKSUM && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| sum.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_found_in_what_the_trainer_says_at_its_end() {
        let of_first =
            "step 1/2  loss 3.1\ndone: loss 5.1 -> 3.0 in 120 steps, 3,000 tokens/s, parameters 00ff00ff00ff00ff\n";
        assert_eq!(checksum(of_first).as_deref(), Some("00ff00ff00ff00ff"));
        assert_eq!(checksum("rank 3 done, parameters 00ff00ff00ff00ff\n").as_deref(), Some("00ff00ff00ff00ff"));
        assert_eq!(checksum("rank 3 of 6 starting\n"), None);
        assert_eq!(checksum("rank 3 done, parameters soon\n"), None);
    }
}

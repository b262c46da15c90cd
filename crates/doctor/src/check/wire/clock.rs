//! Clocks that differ.

use fermi_domain::language::Text;

use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

/// Logs of several nodes can still be read side by side.
const SMALL_US: i64 = 500_000;

pub fn check(survey: &Survey) -> Vec<Finding> {
    let present = survey.present();
    let Some(first) = present.first().copied() else { return Vec::new() };
    // Each clock less that of the first node.
    let mut clocks: Vec<(usize, i64)> = vec![(first, 0)];
    clocks.extend(present.iter().skip(1).filter_map(|node| Some((*node, survey.best(first, *node)?.skew_us))));
    if clocks.len() < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<i64> = clocks.iter().map(|(_, skew)| *skew).collect();
    sorted.sort_unstable();
    let middle = sorted[(sorted.len() - 1) / 2];
    let mut findings = Vec::new();
    for (node, skew) in &clocks {
        let away = skew - middle;
        if away.abs() <= SMALL_US {
            continue;
        }
        let (name, seconds) = (survey.name(*node), away.abs() as f64 / 1e6);
        let (zh, en) = if away > 0 { ("快", "ahead") } else { ("慢", "behind") };
        let text = Text::new(
            format!("节点 {node}（{name}）的时钟{zh}了 {seconds:.1} 秒"),
            format!("the clock of node {node} ({name}) is {seconds:.1} s {en}"),
        );
        let fix = Text::new("在该节点上启用时间同步", "switch time synchronisation on there");
        findings.push(
            Finding::warning("wire.clock", Topic::Wire, text)
                .of(*node)
                .fix(fix, "sudo timedatectl set-ntp true; timedatectl"),
        );
    }
    if findings.is_empty() {
        let widest = sorted.last().zip(sorted.first()).map_or(0, |(most, least)| most - least);
        let ms = widest as f64 / 1e3;
        let text =
            Text::new(format!("各节点时钟相差不超过 {ms:.1} ms"), format!("the clocks differ by {ms:.1} ms at most"));
        findings.push(Finding::ok("wire.clock", Topic::Wire, text));
    }
    findings
}

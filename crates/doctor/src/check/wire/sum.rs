//! The all-reduce over all nodes, which is what a training does.

use std::collections::BTreeSet;

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use super::blame::blame;
use super::named;
use crate::nodes::survey::{PairSum, SumOutcome, Survey};
use crate::{Finding, Topic};

pub fn check(survey: &Survey) -> Vec<Finding> {
    let Some(sum) = &survey.sum else { return Vec::new() };
    let mut longest = 0;
    let mut digests = BTreeSet::new();
    let mut failed = Vec::new();
    for (node, outcome) in &sum.outcomes {
        match outcome {
            Some(SumOutcome::Added { micros, is_right: true, digest }) => {
                longest = longest.max(*micros);
                digests.insert(*digest);
            }
            Some(SumOutcome::Added { .. }) => failed.push((*node, wrong())),
            Some(SumOutcome::Failed(reason)) => failed.push((*node, reason.text())),
            None => failed.push((*node, no_answer())),
        }
    }
    let size = Bytes(sum.bytes).rounded();
    let count = sum.outcomes.len();
    if failed.is_empty() && digests.len() == 1 {
        let ms = longest as f64 / 1e3;
        let text = Text::new(
            format!("{count} 个节点对 {size} 做 all-reduce，结果正确且逐位相同，用时 {ms:.1} ms"),
            format!("{count} nodes all-reduce {size} in {ms:.1} ms: the result is right and the same in every bit"),
        );
        return vec![Finding::ok("wire.sum", Topic::Wire, text)];
    }
    let text =
        Text::new(format!("{count} 个节点的 all-reduce 没有成功"), format!("the all-reduce of {count} nodes failed"));
    let finding = Finding::error("wire.sum", Topic::Wire, text).seen(said(survey, &failed));
    let advice =
        Text::new("先解决上面的网络问题，再运行一次", "mend what is said of the network above, then run it again");
    vec![by_pairs(survey, finding, &sum.pairs).advice(advice)]
}

pub fn wrong() -> Text {
    Text::new("结果错误", "wrong sum")
}

pub fn no_answer() -> Text {
    Text::new("没有应答", "no answer")
}

/// What each node says of it.
pub fn said(survey: &Survey, failed: &[(usize, Text)]) -> Text {
    let (zh, en): (Vec<_>, Vec<_>) = failed
        .iter()
        .map(|(node, reason)| (survey.name(*node), reason))
        .map(|(name, reason)| (format!("{name}：{}", reason.zh), format!("{name}: {}", reason.en)))
        .unzip();
    Text::new(zh.join("；"), en.join("; "))
}

/// With those named who fail two at a time as well, or the pairs where no node explains them.
pub fn by_pairs(survey: &Survey, mut finding: Finding, pairs: &[PairSum]) -> Finding {
    let nodes: Vec<usize> =
        pairs.iter().flat_map(|it| [it.nodes.0, it.nodes.1]).collect::<BTreeSet<_>>().into_iter().collect();
    let is_bad = |a: usize, b: usize| {
        let tried = pairs.iter().find(|it| it.nodes == (a, b) || it.nodes == (b, a))?;
        Some(!tried.is_right)
    };
    let found = blame(&nodes, is_bad);
    let Text { zh, en } = &finding.text;
    if !found.nodes.is_empty() {
        let names = named(survey, found.nodes.iter().copied());
        finding.text = Text::new(
            format!("{zh}：两两再试，只有与 {names} 一起时失败"),
            format!("{en}: tried again two at a time, it fails only with {names}"),
        );
        return found.nodes.into_iter().fold(finding, Finding::of);
    }
    if !found.pairs.is_empty() {
        let name = |(a, b): &(usize, usize)| format!("{} – {}", survey.name(*a), survey.name(*b));
        let names = found.pairs.iter().map(name).collect::<Vec<_>>().join(", ");
        finding.text = Text::new(
            format!("{zh}：两两再试，失败的是 {names}"),
            format!("{en}: tried again two at a time, it fails between {names}"),
        );
        let ends: BTreeSet<usize> = found.pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
        return ends.into_iter().fold(finding, Finding::of);
    }
    if !pairs.is_empty() {
        finding.text = Text::new(format!("{zh}；两两再试都成功"), format!("{en}, though it is well two at a time"));
    }
    finding
}

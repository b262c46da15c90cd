//! The all-reduce over all nodes, which is what a training does.

use std::collections::BTreeSet;

use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::nodes::survey::{SumOutcome, Survey};
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
            Some(SumOutcome::Added { .. }) => failed.push((*node, "wrong sum".to_owned())),
            Some(SumOutcome::Failed { reason }) => failed.push((*node, reason.clone())),
            None => failed.push((*node, "no answer".to_owned())),
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
    let said =
        failed.iter().map(|(node, reason)| format!("{}: {reason}", survey.name(*node))).collect::<Vec<_>>().join("; ");
    let text =
        Text::new(format!("{count} 个节点的 all-reduce 没有成功"), format!("the all-reduce of {count} nodes failed"));
    let advice =
        Text::new("先解决上面的网络问题，再运行一次", "mend what is said of the network above, then run it again");
    vec![Finding::error("wire.sum", Topic::Wire, text).seen(Text::new(said.clone(), said)).advice(advice)]
}

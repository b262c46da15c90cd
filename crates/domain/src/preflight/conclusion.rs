//! What is said in the end: a bad node once, with the reason that is nearest to the cause.

use super::{NodeAccount, PreflightEngine, PreflightNode, PreflightProgress, PreflightReport, WHOLE_MS, zones};
use crate::finding::{Finding, FindingState, FindingTopic};
use crate::language::Text;

/// Who did not come says itself why, which is more than that it did not come.
const NOT_COME: &str = "nodes.presence";

/// All that the findings are made of.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub nodes: &'a [PreflightNode],
    pub accounts: &'a [NodeAccount],
    /// With numbers instead of ranks.
    pub report: Option<&'a PreflightReport>,
    /// The engine that was asked for.
    pub engine: Option<PreflightEngine>,
    /// Of a round that came to nothing.
    pub earlier: &'a [Finding],
    /// Where it was when its time was up.
    pub cut_off: Option<&'a PreflightProgress>,
}

/// What the check of several nodes has found, the most urgent of its own first, then what each node says and what was measured.
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Evidence { nodes, accounts, report, engine, earlier, cut_off } = evidence;
    let own = nodes.iter().zip(*accounts).enumerate();
    let told: Vec<Finding> = own.filter_map(|(number, (node, account))| account.finding(number, node)).collect();
    let is_told = |finding: &&Finding| {
        finding.check == NOT_COME
            && !finding.nodes.is_empty()
            && finding.nodes.iter().all(|number| told.iter().any(|it| it.nodes.contains(number)))
    };
    let measured: Vec<Finding> =
        report.iter().flat_map(|report| &report.findings).filter(|finding| !is_told(finding)).cloned().collect();
    let is_named = |number: &usize| {
        let errors = told.iter().chain(&measured).filter(|it| it.state == FindingState::Error);
        errors.filter(|it| it.topic <= FindingTopic::Wire).any(|it| it.nodes.contains(number))
    };
    let earlier = earlier.iter().filter(|finding| !finding.nodes.iter().all(is_named)).cloned();
    let mut all: Vec<Finding> = cut_off.map(late).into_iter().chain(earlier).chain(told.iter().cloned()).collect();
    all.extend(engine.filter(|_| report.is_some()).and_then(|engine| untried(engine, &measured)));
    all.extend(measured);
    all.extend(report.and_then(|report| zones::check(nodes, report)));
    all
}

/// The first node is of a release that has not tried it, or was alone.
fn untried(engine: PreflightEngine, measured: &[Finding]) -> Option<Finding> {
    let engine = engine.name();
    let text = Text::new(
        format!("没有试 {engine} 的 all-reduce：会合的节点的 fermi 版本较旧"),
        format!("the all-reduce by {engine} was not tried: the node at which all met has an older fermi"),
    );
    let is_tried = measured.iter().any(|finding| finding.check == "engine.sum");
    (!is_tried).then(|| Finding::warning("engine.sum", FindingTopic::Wire, text))
}

fn late(progress: &PreflightProgress) -> Finding {
    let seconds = WHOLE_MS / 1_000;
    let (step, names) = (&progress.text, progress.waits_for.join(", "));
    let (zh, en) = match names.is_empty() {
        true => (String::new(), String::new()),
        false => (format!("，在等 {names}"), format!(", waiting for {names}")),
    };
    let text = Text::new(
        format!("{seconds} 秒内没有结束；当时：{}{zh}", step.zh),
        format!("it was not over after {seconds} s; then: {}{en}", step.en),
    );
    let advice = Text::new("先解决下面所说的，再检查一次", "mend what is said below, then check again");
    Finding::error("preflight.late", FindingTopic::Nodes, text).advice(advice)
}

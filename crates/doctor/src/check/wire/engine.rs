//! The engine's own all-reduce over all nodes, and the devices that it sees.

use fermi_domain::language::Text;

use super::sum;
use crate::check::python::counted;
use crate::nodes::survey::{EngineOutcome, EngineStage, EngineSurvey, Survey};
use crate::{Finding, Topic};

const SUM: &str = "engine.sum";
/// What Python says of an engine that is not there.
const NO_MODULE: &str = "ModuleNotFoundError";

pub fn check(survey: &Survey) -> Vec<Finding> {
    let Some(tried) = &survey.engine else { return Vec::new() };
    let mut findings = vec![added(survey, tried)];
    findings.extend(devices(survey, tried));
    findings
}

fn added(survey: &Survey, tried: &EngineSurvey) -> Finding {
    let (engine, backend, count) = (tried.engine.name(), &tried.backend, tried.outcomes.len());
    let (mut longest, mut failed) = (0, Vec::new());
    for (node, outcome) in &tried.outcomes {
        match outcome {
            Some(EngineOutcome::Added { micros, is_right: true, .. }) => longest = longest.max(*micros),
            Some(EngineOutcome::Added { .. }) => failed.push((*node, sum::wrong())),
            Some(EngineOutcome::Failed { reason, .. }) => failed.push((*node, reason.text())),
            Some(EngineOutcome::Late { stage, seconds, .. }) => failed.push((*node, waited(*stage, *seconds))),
            None => failed.push((*node, sum::no_answer())),
        }
    }
    if failed.is_empty() && tried.outdated.is_empty() {
        let ms = longest as f64 / 1e3;
        let text = Text::new(
            format!("{count} 个节点用 {engine}（{backend}）做 all-reduce，结果正确，用时 {ms:.1} ms"),
            format!("{count} nodes all-reduce by {engine} ({backend}) in {ms:.1} ms: the result is right"),
        );
        return Finding::ok(SUM, Topic::Wire, text);
    }
    if failed.is_empty() {
        let names = super::named(survey, tried.outdated.iter().copied());
        let text = Text::new(
            format!("没有试 {engine} 的 all-reduce：{names} 的 fermi 版本较旧"),
            format!("the all-reduce by {engine} was not tried: {names} have an older fermi"),
        );
        let advice = Text::new("让各节点的 fermi 版本一致", "have the same fermi on all nodes");
        let finding = Finding::warning(SUM, Topic::Wire, text).advice(advice);
        return tried.outdated.iter().fold(finding, |finding, node| finding.of(*node));
    }
    let seen = sum::said(survey, &failed);
    let lack: Vec<usize> =
        failed.iter().filter(|(_, reason)| reason.en.contains(NO_MODULE)).map(|(node, _)| *node).collect();
    if !lack.is_empty() {
        return lacking(survey, engine, lack).seen(seen);
    }
    let text = Text::new(
        format!("{count} 个节点用 {engine}（{backend}）做的 all-reduce 没有成功"),
        format!("the all-reduce of {count} nodes by {engine} ({backend}) failed"),
    );
    let advice = Text::new(
        "先解决上面的网络问题；Fermi 自己的 all-reduce 成功时，看 GLOO_SOCKET_IFNAME、NCCL_SOCKET_IFNAME 与防火墙",
        "mend what is said of the network above; where Fermi's own all-reduce succeeds, look at GLOO_SOCKET_IFNAME, \
         NCCL_SOCKET_IFNAME and the firewall",
    );
    let finding = sum::by_pairs(survey, Finding::error(SUM, Topic::Wire, text), &tried.pairs).seen(seen).advice(advice);
    // Where some fail, the others fail with them: whoever failed alone is the one to look at.
    if finding.nodes.is_empty() && failed.len() < count {
        return failed.iter().fold(finding, |finding, (node, _)| finding.of(*node));
    }
    finding
}

/// The others wait in vain for those: nothing is said of the network.
fn lacking(survey: &Survey, engine: &str, nodes: Vec<usize>) -> Finding {
    let names = super::named(survey, nodes.iter().copied());
    let text =
        Text::new(format!("{names} 的 Python 中没有 {engine}"), format!("{engine} is not in the Python of {names}"));
    let advice = Text::new(
        format!("在这些机器上安装 {engine}，或在装有它的虚拟环境中启动 fermi agent"),
        format!("install {engine} there, or start fermi agent in the virtual environment that has it"),
    );
    let finding = Finding::error(SUM, Topic::Wire, text).advice(advice);
    nodes.into_iter().fold(finding, Finding::of)
}

fn devices(survey: &Survey, tried: &EngineSurvey) -> Option<Finding> {
    let of = |(node, outcome): &(usize, Option<EngineOutcome>)| {
        let devices = outcome.as_ref()?.devices();
        (!devices.is_empty()).then(|| format!("{}: {}", survey.name(*node), counted(devices)))
    };
    let told = tried.outcomes.iter().filter_map(of).collect::<Vec<_>>().join("; ");
    let engine = tried.engine.name();
    let text = Text::new(format!("{engine} 看到的设备：{told}"), format!("devices by {engine}: {told}"));
    (!told.is_empty()).then(|| Finding::ok("engine.devices", Topic::Python, text))
}

fn waited(stage: EngineStage, seconds: u64) -> Text {
    let (zh, en) = match stage {
        EngineStage::Import => ("导入引擎", "to import the engine"),
        EngineStage::Meet => ("与其他节点会合", "to meet the other nodes"),
        EngineStage::Add => ("all-reduce 完成", "for the all-reduce"),
    };
    Text::new(format!("等了 {seconds} 秒：{zh}"), format!("it waited {seconds} s {en}"))
}

#[cfg(test)]
mod tests {
    use fermi_domain::preflight::PreflightEngine;

    use super::*;
    use crate::State;

    fn found(outcomes: Vec<Option<EngineOutcome>>, outdated: Vec<usize>) -> Vec<Finding> {
        let engine = EngineSurvey {
            engine: PreflightEngine::Torch,
            backend: "gloo".to_owned(),
            outcomes: outcomes.into_iter().enumerate().collect(),
            outdated,
            pairs: Vec::new(),
        };
        check(&Survey { nnodes: 2, engine: Some(engine), ..Survey::default() })
    }

    fn outcome(is_right: bool) -> Option<EngineOutcome> {
        Some(EngineOutcome::Added { devices: vec!["H100".into(), "H100".into()], micros: 1_500, is_right })
    }

    #[test]
    fn the_engines_sum_is_judged_by_what_each_node_says() {
        let well = found(vec![outcome(true), outcome(true)], Vec::new());
        assert_eq!((well[0].state, well.len()), (State::Ok, 2));
        assert!(well[1].text.en.contains("0: 2 × H100; 1: 2 × H100"), "{:?}", well[1].text);
        let late = EngineOutcome::Late { devices: Vec::new(), stage: EngineStage::Meet, seconds: 20 };
        let table = [
            (vec![outcome(true), outcome(false)], "1: wrong sum", vec![1]),
            (vec![outcome(true), None], "1: no answer", vec![1]),
            (vec![Some(late.clone()), Some(late)], "0: it waited 20 s to meet the other nodes", vec![]),
        ];
        for (outcomes, said, nodes) in table {
            let finding = &found(outcomes, Vec::new())[0];
            assert_eq!((finding.state, &finding.nodes), (State::Error, &nodes), "{said}");
            assert!(finding.evidence.as_ref().is_some_and(|it| it.en.contains(said)), "{finding:?}");
        }
        assert_eq!(found(Vec::new(), vec![1])[0].state, State::Warning);
        assert_eq!(check(&Survey::default()), []);
    }
}

//! Who came and who stayed.

use fermi_domain::language::Text;

use super::{named, place};
use crate::nodes::survey::{NodeSeen, StepName, Survey};
use crate::{Finding, Topic};

pub fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        survey.nodes.iter().filter(|node| node.greeting.is_none()).map(|it| missing(survey, it.node)).collect();
    findings.extend(survey.nodes.iter().filter_map(|node| Some(lost(survey, node.node, node.lost?))));
    let is_unknown = |node: &&NodeSeen| node.greeting.is_some() && node.lost.is_none() && node.facts.is_none();
    findings.extend(survey.nodes.iter().filter(is_unknown).map(|node| unknown(survey, node.node)));
    if findings.is_empty() {
        let count = survey.nnodes;
        let names = named(survey, 0..count);
        let text = Text::new(format!("{count} 个节点都到了：{names}"), format!("all {count} nodes came: {names}"));
        findings.push(Finding::ok("nodes.presence", Topic::Nodes, text));
    }
    findings
}

fn missing(survey: &Survey, node: usize) -> Finding {
    let (seconds, port) = (survey.join_seconds, survey.master_port);
    if let Some(name) = survey.nodes.get(node).and_then(|seen| seen.name.as_ref()) {
        let text =
            Text::new(format!("{name} 在 {seconds} 秒内没有来"), format!("{name} did not come within {seconds} s"));
        let fix = Text::new("看它是否开机、是否连得到其他节点", "see whether it is up and reaches the others");
        let finding = Finding::error("nodes.presence", Topic::Nodes, text).of(node);
        return finding.fix(fix, format!("fermi env show {name}"));
    }
    let text = Text::new(
        format!("节点 {node} 在 {seconds} 秒内没有来"),
        format!("node {node} did not come within {seconds} s"),
    );
    let fix = Text::new(
        "看它开机没有、命令是否已启动；那里的输出会说明原因（名称、路由、防火墙）",
        "see whether it is up and the command runs there: what it says names the reason (name, route, firewall)",
    );
    let master = place::address(survey, 0);
    let command = format!(
        "fermi doctor --nnodes {} --node-rank {node} --master-port {port} --master-addr {master}",
        survey.nnodes
    );
    Finding::error("nodes.presence", Topic::Nodes, text).of(node).fix(fix, command)
}

fn unknown(survey: &Survey, node: usize) -> Finding {
    let name = survey.name(node);
    let text = Text::new(
        format!("节点 {node}（{name}）没有及时查看完自己：驱动、磁盘或 Python 挂住了"),
        format!("node {node} ({name}) did not finish looking at itself: its driver, disk or Python hangs"),
    );
    let fix = Text::new("在该节点上单独运行，看它在等什么", "run it alone there and see what it waits for");
    Finding::warning("nodes.unknown", Topic::Nodes, text).of(node).fix(fix, "fermi doctor")
}

fn lost(survey: &Survey, node: usize, step: StepName) -> Finding {
    let (zh, en) = match step {
        StepName::Facts => ("查看本机", "it looked at itself"),
        StepName::Ping => ("测量延迟", "latency was measured"),
        StepName::Transfer => ("测量带宽", "bandwidth was measured"),
        StepName::AllReduce => ("all-reduce", "all nodes were adding"),
        StepName::Engine => ("用引擎做 all-reduce", "its engine was adding"),
        StepName::Folder => ("查看文件夹", "it looked at the folder"),
    };
    let name = survey.name(node);
    let text = Text::new(
        format!("节点 {node}（{name}）来过，但在{zh}时不再应答"),
        format!("node {node} ({name}) came, but stopped answering while {en}"),
    );
    let fix = Text::new("看它是否死机、断网或被结束", "see whether it hangs, is cut off, or was ended");
    let command = format!("ping -c 3 {}", place::address(survey, node));
    Finding::error("nodes.lost", Topic::Nodes, text).of(node).fix(fix, command)
}

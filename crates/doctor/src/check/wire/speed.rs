//! How well bytes get through: losses, delay, bandwidth.

use std::collections::BTreeSet;

use fermi_domain::language::Text;

use super::blame::blame;
use super::outliers::{Outliers, between_machines, outliers};
use super::place;
use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

/// One packet in so many that is sent again makes a pair bad.
const LOST_ONE_IN: u32 = 500;
/// A pair that no node explains is told only when it is worse than this.
const PAIR_LOST_ONE_IN: u32 = 100;
/// Microseconds that are no delay, whatever the others have.
const SHORT_US: f64 = 5_000.0;
const DELAYED_TIMES: f64 = 10.0;
/// A share of what others have.
const SLOW_SHARE: f64 = 0.25;
/// Bytes per second of 1 Gbit/s, less what headers take.
const GIGABIT: f64 = 0.9 * 125e6;

fn left(survey: &Survey, blamed: &BTreeSet<usize>) -> Vec<usize> {
    survey.present().into_iter().filter(|node| !blamed.contains(node)).collect()
}

fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn pairs(nodes: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    nodes.iter().enumerate().flat_map(|(at, a)| nodes[at + 1..].iter().map(|b| (*a, *b)))
}

/// Packets and how many of them were sent again, both ways, over all addresses.
fn losses(survey: &Survey, a: usize, b: usize) -> Option<(u32, u32)> {
    let rows = [survey.row(a, b), survey.row(b, a)];
    let pings = rows.into_iter().flatten().flat_map(|row| &row.paths).filter_map(|path| path.pings);
    let (count, repeated) = pings.fold((0, 0), |(count, repeated), it| (count + it.count, repeated + it.repeated));
    (count > 0).then_some((count, repeated))
}

pub fn loss(survey: &Survey, blamed: &mut BTreeSet<usize>) -> Vec<Finding> {
    let left = left(survey, blamed);
    let found = blame(&left, |a, b| {
        losses(survey, a, b).map(|(count, repeated)| repeated * LOST_ONE_IN >= count && repeated > 0)
    });
    let mut findings = Vec::new();
    for node in &found.nodes {
        let name = survey.name(*node);
        let of_node = left.iter().filter(|it| *it != node).filter_map(|it| losses(survey, *node, *it));
        let (count, repeated) = of_node.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        let share = f64::from(repeated) / f64::from(count.max(1)) * 100.0;
        let text = Text::new(
            format!("节点 {node}（{name}）丢包：约 {share:.1}% 的包需要重发"),
            format!("node {node} ({name}) loses packets: about {share:.1} % had to be sent again"),
        );
        let seen = Text::new(
            format!("{count} 次往返中重发 {repeated} 个"),
            format!("{repeated} sent again in {count} round trips"),
        );
        let fix = Text::new("更换网线、光模块或交换机端口", "replace cable, transceiver or switch port");
        let command = match place::interface(survey, *node) {
            Some(interface) => format!("ip -s -s link show dev {interface}; ethtool -S {interface} | grep -i err"),
            None => "ip -s -s link".to_owned(),
        };
        findings.push(Finding::error("wire.loss", Topic::Wire, text).of(*node).seen(seen).fix(fix, command));
    }
    for (a, b) in found.pairs {
        let Some((count, repeated)) =
            losses(survey, a, b).filter(|(count, repeated)| repeated * PAIR_LOST_ONE_IN >= *count)
        else {
            continue;
        };
        let (one, other) = (survey.name(a), survey.name(b));
        let text = Text::new(
            format!("节点 {a}（{one}）与节点 {b}（{other}）之间丢包：{count} 次往返中重发 {repeated} 个"),
            format!(
                "packets are lost between node {a} ({one}) and node {b} ({other}): {repeated} sent again in {count} round trips"
            ),
        );
        let fix = Text::new("检查两者之间的交换机与线缆", "look at switch and cables between them");
        findings.push(Finding::warning("wire.loss", Topic::Wire, text).of(a).of(b).fix(fix, "ip -s -s link"));
    }
    blamed.extend(found.nodes);
    findings
}

/// The shortest round trip, which a busy CPU does not lengthen.
fn trip(survey: &Survey, a: usize, b: usize) -> Option<u64> {
    let ways = [survey.best(a, b), survey.best(b, a)];
    ways.into_iter().flatten().map(|pings| pings.least_us).min()
}

pub fn delay(survey: &Survey, blamed: &mut BTreeSet<usize>) -> Vec<Finding> {
    let left = left(survey, blamed);
    let counts = between_machines(survey, &left);
    let trip = |a: usize, b: usize| counts(a, b).then(|| trip(survey, a, b))?;
    let Some(middle) = median(pairs(&left).filter_map(|(a, b)| trip(a, b)).collect()) else { return Vec::new() };
    let is_long = |us: f64, usual: f64| us > SHORT_US && us > usual * DELAYED_TIMES;
    let found = outliers(&left, |a, b| trip(a, b).map(|us| us as f64), is_long);
    let ms = |us: f64| us / 1e3;
    let mut findings = Vec::new();
    if let Some(Outliers { usual, nodes }) = found {
        let usual = ms(usual);
        for (node, best) in nodes {
            let (own, name, address) = (ms(best), survey.name(node), place::address(survey, node));
            let text = Text::new(
                format!("节点 {node}（{name}）往返要 {own:.1} ms，其他节点之间为 {usual:.2} ms"),
                format!("round trips to node {node} ({name}) take {own:.1} ms, among the others {usual:.2} ms"),
            );
            let fix = Text::new(
                "它可能在另一个可用区或走了隧道；换一个近的节点",
                "it may be in another zone or behind a tunnel; take a nearer node",
            );
            let command = format!("traceroute -n {address}; ip route get {address}");
            findings.push(Finding::warning("wire.delay", Topic::Wire, text).of(node).fix(fix, command));
            blamed.insert(node);
        }
    }
    if findings.is_empty() {
        let shown = ms(middle as f64);
        let text =
            Text::new(format!("往返延迟中位数 {shown:.2} ms"), format!("round trips take {shown:.2} ms (median)"));
        findings.push(match middle as f64 > SHORT_US {
            true => Finding::warning("wire.delay", Topic::Wire, text).advice(Text::new(
                "这是跨可用区的延迟：用梯度累积减少通信，或换到同一可用区",
                "these are the trips between zones: accumulate gradients to communicate less, or use one zone",
            )),
            false => Finding::ok("wire.delay", Topic::Wire, text),
        });
    }
    findings
}

pub fn bandwidth(survey: &Survey, blamed: &BTreeSet<usize>) -> Vec<Finding> {
    let left = left(survey, blamed);
    let counts = between_machines(survey, &left);
    // Where nothing came through, it is no matter of speed.
    let speed = |a: usize, b: usize| survey.speed(a, b).filter(|speed| *speed > 0.0 && counts(a, b));
    let Some(middle) = median(pairs(&left).filter_map(|(a, b)| speed(a, b)).collect()) else { return Vec::new() };
    // What is compared is how long a byte takes.
    let found = outliers(&left, |a, b| speed(a, b).map(f64::recip), |cost, usual| cost * SLOW_SHARE > usual);
    let mut findings = Vec::new();
    if let Some(Outliers { usual, nodes }) = found {
        let usual = gbit(usual.recip());
        for (node, best) in nodes {
            let (own, name) = (gbit(best.recip()), survey.name(node));
            let text = Text::new(
                format!("节点 {node}（{name}）只有 {own}，其他节点为 {usual}；它会拖慢整个训练"),
                format!("node {node} ({name}) has only {own}, others have {usual}: it holds the whole training up"),
            );
            let fix = Text::new(
                "检查网卡协商速率、线缆与限速",
                "look at the negotiated speed, the cable, and limits of rate",
            );
            let command = match place::interface(survey, node) {
                Some(interface) => format!("ethtool {interface} | grep -i speed; tc qdisc show dev {interface}"),
                None => "ip -brief link; tc qdisc show".to_owned(),
            };
            findings.push(Finding::error("wire.bandwidth", Topic::Wire, text).of(node).fix(fix, command));
        }
    }
    if findings.is_empty() {
        findings.push(usual_bandwidth(survey, &left, middle));
    }
    findings
}

/// Nobody is slower than the others: of two nodes the pair is told.
fn usual_bandwidth(survey: &Survey, nodes: &[usize], speed: f64) -> Finding {
    let shown = gbit(speed);
    let text = match nodes {
        [a, b] => {
            let (one, other) = (survey.name(*a), survey.name(*b));
            Text::new(format!("{one} 与 {other} 之间的带宽为 {shown}"), format!("{shown} between {one} and {other}"))
        }
        _ => Text::new(format!("节点间带宽中位数 {shown}"), format!("{shown} between nodes (median)")),
    };
    if speed >= GIGABIT {
        return Finding::ok("wire.bandwidth", Topic::Wire, text);
    }
    let fix = Text::new(
        "多机训练推荐 10 Gbps 以上；检查网卡协商速率与限速",
        "training over several machines wants 10 Gbps or more; look at the negotiated speed and limits of rate",
    );
    let finding = Finding::warning("wire.bandwidth", Topic::Wire, text);
    let interfaces: BTreeSet<&str> = nodes.iter().filter_map(|node| place::interface(survey, *node)).collect();
    match interfaces.first().filter(|_| interfaces.len() == 1) {
        Some(interface) => {
            finding.fix(fix, format!("ethtool {interface} | grep -i speed; tc qdisc show dev {interface}"))
        }
        None => finding.advice(fix),
    }
}

fn gbit(speed: f64) -> String {
    let bits = speed * 8.0;
    if bits >= 1e9 { format!("{:.1} Gbit/s", bits / 1e9) } else { format!("{:.0} Mbit/s", bits / 1e6) }
}

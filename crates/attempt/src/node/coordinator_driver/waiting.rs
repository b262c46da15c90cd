//! What those who wait for nodes are told: who is missing, who is there, and who came in vain.

use std::io;
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::language::{Text, reason};
use fermi_domain::verdict::VerdictKind;

use super::CoordinatorDriver;
use crate::node::local_node::Node;

/// How often those who wait are told who is missing.
const REMIND_EVERY: Duration = Duration::from_secs(5);
/// How many of those who wait are named.
const NAMED: usize = 8;

impl CoordinatorDriver {
    /// Says now and then whom the run still waits for.
    pub(super) fn remind(&mut self, node: &mut Node) {
        if self.peers.is_listening() && self.reminded.elapsed() >= REMIND_EVERY {
            self.reminded = Instant::now();
            let names: Vec<&str> = self.peers.names().collect();
            let call = self.last_call.map(|call| call.saturating_duration_since(Instant::now()));
            let call = call.filter(|_| self.assembly.is_enough());
            let text = waiting(self.assembly.missing(), self.lease.port, &names, call);
            node.record(RunEvent::Waiting { text });
            if let Some(text) = self.refusals.untold() {
                node.record(RunEvent::Waiting { text });
            }
        }
    }

    /// For how long the nodes were waited for in vain, and which of them came.
    pub(super) fn tell_who_came(&self, node: &mut Node) {
        let own = node.bundle().node_name.clone();
        let gathering = &node.bundle().gathering;
        let names: Vec<&str> = std::iter::once(own.as_str()).chain(self.peers.names()).collect();
        let text = came(&names, gathering.least_nodes, gathering.join_timeout_ms);
        node.record(RunEvent::Waiting { text });
    }
}

/// Who is missing and who is there, and when an elastic run that has enough nodes starts without the others.
fn waiting(missing: u32, port: u16, names: &[&str], call: Option<Duration>) -> Text {
    let plural = if missing == 1 { "node" } else { "nodes" };
    let more = if names.len() > NAMED { " …" } else { "" };
    let (zh, en) = match names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ") {
        nobody if nobody.is_empty() => (String::new(), String::new()),
        names => (format!("；已到：{names}{more}"), format!("; here are {names}{more}")),
    };
    let (zh_call, en_call) = call.map_or_else(Default::default, |left| {
        let seconds = left.as_millis().div_ceil(1_000);
        (
            format!("；节点已够，{seconds} 秒后不再等待，直接开始"),
            format!("; they are enough, and the run starts without others in {seconds} s"),
        )
    });
    Text::new(
        format!("正在等待另外 {missing} 个节点连接到端口 {port}{zh}{zh_call}"),
        format!("waiting for {missing} more {plural} on port {port}{en}{en_call}"),
    )
}

/// Whether the run has ended because too few nodes came.
pub(super) fn is_join_timeout(event: &RunEvent) -> bool {
    let RunEvent::RunEnded { verdict, .. } = event else { return false };
    matches!(&verdict.kind, VerdictKind::StartTimedOut { missing, .. } if missing.is_empty())
}

fn came(names: &[&str], least: u32, waited_ms: u64) -> Text {
    let (count, seconds) = (names.len(), waited_ms.div_ceil(1_000));
    let more = if count > NAMED { " …" } else { "" };
    let names = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    Text::new(
        format!("等待了 {seconds} 秒：需要 {least} 个节点，到了 {count} 个：{names}{more}"),
        format!("waited for {seconds} s: of the {least} nodes that are needed {count} came: {names}{more}"),
    )
}

pub(super) fn cannot_listen(port: u16, error: &io::Error) -> Text {
    let why = reason::of_io(error);
    Text::new(format!("无法监听端口 {port}：{}", why.zh), format!("cannot listen on port {port}: {}", why.en))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_hears_whom_for_and_when_a_run_with_enough_nodes_begins() {
        let table = [
            (waiting(2, 29_500, &[], None), "waiting for 2 more nodes on port 29500"),
            (waiting(1, 29_500, &["b"], None), "waiting for 1 more node on port 29500; here are b"),
            (
                waiting(1, 29_500, &["b"], Some(Duration::from_millis(24_100))),
                "waiting for 1 more node on port 29500; here are b; they are enough, and the run starts without others \
                 in 25 s",
            ),
            (came(&["a"], 2, 3_000), "waited for 3 s: of the 2 nodes that are needed 1 came: a"),
        ];
        for (text, en) in table {
            assert_eq!(text.en, en);
        }
        let zh = waiting(1, 29_500, &["b"], Some(Duration::from_secs(25))).zh;
        assert_eq!(zh, "正在等待另外 1 个节点连接到端口 29500；已到：b；节点已够，25 秒后不再等待，直接开始");
    }
}

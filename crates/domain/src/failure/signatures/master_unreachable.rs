//! A rank could not reach the master's address to join.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene, after},
    },
    Signature,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "master_unreachable",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Victim,
    find,
};

const MARKS: [&str; 9] = [
    "The client socket has timed out after",
    "The client socket has failed to connect",
    "waiting for clients. ",
    "while trying to connect to (",
    "DEADLINE_EXCEEDED: Barrier timed out",
    "Failed to connect to distributed JAX controller",
    "connect() timed out",
    "The IPv4 network addresses of",
    "RendezvousTimeoutError",
];
const REFUSED: [&str; 4] =
    ["Connection refused", "No route to host", "Name or service not known", "Temporary failure in name resolution"];
const RENDEZVOUS: [&str; 6] = ["TCPStore", "c10d", "init_process_group", "rendezvous", "NCCL", "gloo"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    let line = scene.line_with(&MARKS).or_else(|| {
        let line = scene.line_with(&REFUSED)?;
        scene.is_about(&RENDEZVOUS).then_some(line)
    })?;
    if is_on_loopback(scene) {
        return Some(Finding::new(Some(line), on_loopback(), choose_interface()));
    }
    let target = after(line, "trying to connect to (", &[')']).map(|target| target.replace(", ", ":"));
    let cause = match &target {
        Some(target) => {
            Text::new(format!("无法连接主节点 {target}"), format!("The master at {target} could not be reached"))
        }
        None => Text::new("无法与主节点或其他节点会合", "The rank could not join the master or the other nodes"),
    };
    let advice = Text::new(
        "确认 rank 0 已启动且没有先失败；在本节点执行 nc -vz <主节点> <端口>，检查 DNS（getent hosts <主节点>）与防火墙\
         （sudo firewall-cmd --list-all）；名称无法解析时改用 IP；所有节点的端口与 world size 必须一致",
        "Check that rank 0 started and did not fail first; run `nc -vz <master> <port>` here, check the name (`getent hosts \
         <master>`) and the firewall (`sudo firewall-cmd --list-all`); use an IP where the name does not resolve; port and \
         world size must be the same on all nodes",
    );
    Some(Finding::new(Some(line), cause, advice))
}

/// Whether gloo did not get through to a rank at an address that only its own machine has. Links that others close then are
/// what follows from it.
pub(super) fn is_on_loopback(scene: &Scene<'_>) -> bool {
    let is_failed = |line: &str| MARKS.iter().chain(&REFUSED).any(|mark| line.contains(mark));
    let line = scene.line_where(|line| line.contains("remote=[127.") && is_failed(line));
    line.is_some() && scene.is_about(&["gloo", "Gloo"])
}

/// All had joined at the master, but one gave the others the address of its own loopback.
fn on_loopback() -> Text {
    Text::new(
        "gloo 在 127.0.0.1 上寻找另一个 rank：某个节点的主机名解析到了回环地址",
        "gloo looked for another rank at 127.0.0.1: the host name of some node leads to its loopback",
    )
}

fn choose_interface() -> Text {
    Text::new(
        "各 rank 已与主节点会合，网络是通的：在每个节点上设置 GLOO_SOCKET_IFNAME=<网卡>（ip -br addr 列出网卡），\
         或从 /etc/hosts 中去掉主机名对应 127.0.x.1 的一行",
        "All ranks had met at the master, so the way is open: set GLOO_SOCKET_IFNAME=<interface> on each node (`ip -br addr` \
         lists them), or take the line that gives the host name 127.0.x.1 out of /etc/hosts",
    )
}

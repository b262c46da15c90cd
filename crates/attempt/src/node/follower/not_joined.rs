//! How people are told that a node has not joined, or no longer belongs to the others.

use fermi_domain::contract;
use fermi_domain::language::{Explained, Text, reason};

use crate::frame_signature::ForgedFrame;
use crate::link::{self, JoinError};

/// What is said of a coordinator that was not heard for too long.
pub(super) fn cut_off(is_nothing_left: bool) -> Text {
    if is_nothing_left {
        return Text::new(
            "长时间没有收到主节点的消息，已终止本节点的 rank，正在重新连接",
            "nothing was heard of the first node for too long: this node's ranks were ended, connecting again",
        );
    }
    Text::new(
        "长时间没有收到主节点的消息，但本节点有进程无法终止；等它们消失后再重新连接",
        "nothing was heard of the first node for too long, and processes of this node cannot be killed: connecting again when \
         they are gone",
    )
}

/// What is said of a run that was under way and no longer answers.
pub(super) fn no_more(endpoint: &str, run: &str, is_over: bool) -> Text {
    let name = |before: &str, after: &str| if run.is_empty() { String::new() } else { format!("{before}{run}{after}") };
    let (zh, en) = (name(" “", "”"), name(" '", "'"));
    if is_over {
        return Text::new(
            format!("{endpoint} 上的运行{zh} 已经结束，本节点没有加入"),
            format!("the run{en} at {endpoint} is over; this node was not taken in"),
        );
    }
    Text::new(
        format!("{endpoint} 上的运行{zh} 不再应答：它已经结束，或正在重启"),
        format!("the run{en} at {endpoint} no longer answers: it is over, or about to restart"),
    )
}

pub(super) fn why_not_joined(address: &str, port: u16, error: &JoinError) -> Text {
    let endpoint = contract::endpoint(address, port);
    match error {
        JoinError::Unresolved { name, .. } => Text::new(
            format!("无法解析主机名 {name}；可改用 IP 地址"),
            format!("the host name {name} does not resolve; an IP address would do"),
        ),
        // The machine answers, so no firewall swallows what is sent there.
        JoinError::Unreachable { tried, source } if source.kind() == std::io::ErrorKind::ConnectionRefused => {
            let why = reason::of_io(source);
            Text::new(
                format!(
                    "主节点 {endpoint} 上没有程序在监听（尝试 {tried}：{}）：它还没有启动；或运行已经开始，到下次重启才接纳节点；或运行已经结束",
                    why.zh
                ),
                format!(
                    "the first node {endpoint} cannot be reached (tried {tried}: {}): it is not started yet, or its run has begun and takes nodes in at its next restart, or is over",
                    why.en
                ),
            )
        }
        JoinError::Unreachable { tried, source } => {
            let why = reason::of_io(source);
            Text::new(
                format!(
                    "连接不到主节点 {endpoint}（尝试 {tried}：{}）；主节点启动了吗？防火墙放行该端口了吗？",
                    why.zh
                ),
                format!(
                    "the first node {endpoint} cannot be reached (tried {tried}: {}); is it started, and does the firewall let the port through?",
                    why.en
                ),
            )
        }
        JoinError::NotACoordinator { source, .. } if ForgedFrame::is_cause_of(source) => link::forged(),
        JoinError::Unproven { tried } => Text::new(
            format!(
                "{tried} 上的程序没有证明自己知道集合口令，本节点没有加入；那里的 fermi 可能是旧版本（请更新），也可能不是您的主节点"
            ),
            format!(
                "what listens at {tried} has not proved that it knows the rendezvous secret, and this node has not joined; it is an older fermi (update it), or not your first node"
            ),
        ),
        JoinError::GreetingTooLong { length, most } => Text::new(
            format!("本节点的自我介绍有 {length} 字节，最多允许 {most} 字节；请缩短 --rdzv-id 或 --role"),
            format!(
                "what this node says of itself has {length} bytes, at most {most} are allowed; shorten --rdzv-id or --role"
            ),
        ),
        JoinError::NotACoordinator { tried, .. } => Text::new(
            format!("{tried} 上有程序在监听，但不是在等待节点的 fermi run（也许有另一个任务正在使用该端口）"),
            format!(
                "something listens at {tried}, but it is no fermi run that waits for nodes (perhaps another run uses this port)"
            ),
        ),
        JoinError::UnderWay { run } if run.is_empty() => Text::new(
            format!("{endpoint} 上的运行已经开始；它下次重启时会接纳本节点"),
            format!("the run at {endpoint} is under way; this node can be taken in at its next restart"),
        ),
        JoinError::UnderWay { run } => Text::new(
            format!("{endpoint} 上的运行 “{run}” 已经开始；它下次重启时会接纳本节点"),
            format!("the run '{run}' at {endpoint} is under way; this node can be taken in at its next restart"),
        ),
        JoinError::Refused(refusal) => refusal.text(),
    }
}

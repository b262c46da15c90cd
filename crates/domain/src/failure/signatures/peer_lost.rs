//! A connection to another rank broke: that rank died first, this one is its victim.

use super::{
    super::{
        diagnosis::{FailureClass, Recurrence, Role},
        scene::{Finding, Scene},
    },
    Signature, master_unreachable,
};
use crate::language::Text;

pub(super) const SIGNATURE: Signature = Signature {
    id: "peer_lost",
    class: FailureClass::Infrastructure,
    recurrence: Recurrence::MayPass,
    role: Role::Victim,
    find,
};

/// Sentences that only collectives and their stores say.
const SURE: [&str; 11] = [
    "Connection closed by peer",
    "Connection closed by remote peer",
    "remote process exited",
    "ncclRemoteError",
    "Connection was likely closed. Did the remote server shutdown or crash",
    "recvValue failed",
    "Failed to recv, got 0 bytes",
    "HorovodInternalError",
    "connection to rank",
    "The tasks have crashed. This error may also be observed when a peer",
    "Terminating process because the JAX distributed service detected fatal errors",
];
/// Sentences of any socket, which count only when a collective is spoken of.
const SOCKET: [&str; 5] =
    ["Connection reset by peer", "Broken pipe", "Software caused connection abort", "ConnectionResetError", "EPIPE"];
const COLLECTIVES: [&str; 14] = [
    "NCCL",
    "nccl",
    "gloo",
    "c10d",
    "TCPStore",
    "DistBackendError",
    "DistNetworkError",
    "ProcessGroup",
    "distributed_c10d",
    "all_reduce",
    "allreduce",
    "socket.cpp",
    "jax.distributed",
    "collective",
];
/// A download or an upload that broke has nothing to do with a peer.
const WEB: [&str; 5] = ["urllib3", "requests.exceptions", "HTTPSConnectionPool", "aiohttp", "http"];

fn find(scene: &Scene<'_>) -> Option<Finding> {
    if master_unreachable::is_on_loopback(scene) {
        return None;
    }
    let line = scene.first_line_with(&SURE).or_else(|| {
        let line = scene.line_where(|line| {
            SOCKET.iter().any(|mark| line.contains(mark)) && !WEB.iter().any(|mark| line.contains(mark))
        })?;
        scene.is_about(&COLLECTIVES).then_some(line)
    })?;
    let cause = Text::new(
        "与另一个 rank 的连接断开：对方先退出，本 rank 是受害者",
        "The connection to another rank broke: that rank ended first, this one is a victim",
    );
    let advice = Text::new(
        "先看更早失败的 rank 的日志；若没有其他 rank 失败，检查节点间网络（网卡、防火墙、NCCL_SOCKET_IFNAME）与对方主机是否重启",
        "Read the log of the rank that failed earlier; if no other rank failed, check the network between the nodes (NIC, \
         firewall, NCCL_SOCKET_IFNAME) and whether the other host rebooted",
    );
    Some(Finding::new(Some(line), cause, advice))
}

//! InfiniBand: ports that carry traffic, and the way from there to the memory of GPUs.

use fermi_domain::language::Text;

use crate::facts::{InfinibandPort, NetworkFacts};
use crate::{Finding, Topic};

const ACTIVE: &str = "ACTIVE";

pub fn is_used(ports: &[InfinibandPort]) -> bool {
    ports.iter().any(|port| port.state == ACTIVE)
}

pub fn check(network: &NetworkFacts, has_gpus: bool) -> Vec<Finding> {
    let ports = &network.infiniband;
    if ports.is_empty() {
        let text = Text::new("没有 InfiniBand，节点间通信走 TCP", "there is no InfiniBand: nodes speak over TCP");
        return vec![Finding::skipped("network.infiniband", Topic::Network, text)];
    }
    let mut findings = vec![state(ports)];
    if has_gpus && is_used(ports) && !network.has_peer_memory {
        let text = Text::new(
            "没有加载 nvidia_peermem，InfiniBand 到显存要经过内存中转",
            "nvidia_peermem is not loaded: InfiniBand reaches the GPUs' memory through the host's only",
        );
        let fix = Text::new("加载它（使用 DMA-BUF 的新驱动可忽略）", "load it (newer drivers with DMA-BUF do without)");
        findings.push(
            Finding::warning("network.peer_memory", Topic::Network, text).fix(fix, "sudo modprobe nvidia_peermem"),
        );
    }
    findings
}

fn state(ports: &[InfinibandPort]) -> Finding {
    let named = |port: &InfinibandPort| format!("{} {} {}", port.name, port.state, port.rate);
    let names = ports.iter().map(named).collect::<Vec<_>>().join(", ");
    let seen = Text::new(names.clone(), names);
    let active = ports.iter().filter(|port| port.state == ACTIVE).count();
    let count = ports.len();
    if active == count {
        return Finding::ok("network.infiniband", Topic::Network, seen);
    }
    let text = Text::new(
        format!("InfiniBand 的 {count} 个端口中只有 {active} 个可用"),
        format!("{active} of {count} InfiniBand ports carry traffic"),
    );
    let fix = Text::new(
        "检查线缆与子网管理器；不用 InfiniBand 时设置 NCCL_IB_DISABLE=1",
        "look at cables and the subnet manager; to do without InfiniBand set NCCL_IB_DISABLE=1",
    );
    Finding::warning("network.infiniband", Topic::Network, text).seen(seen).fix(fix, "ibstat")
}

#[cfg(test)]
mod tests {
    use super::super::tests::states;
    use super::*;
    use crate::State::{Ok, Skipped, Warning};

    #[test]
    fn ports_that_are_down_and_a_missing_module_are_named() {
        let port = |state: &str| InfinibandPort { name: "mlx5_0/1".into(), state: state.into(), ..Default::default() };
        let network =
            |ports, has_peer_memory| NetworkFacts { infiniband: ports, has_peer_memory, ..Default::default() };
        assert_eq!(states(&check(&network(vec![], false), true)), [("network.infiniband", Skipped)]);
        assert_eq!(states(&check(&network(vec![port("ACTIVE")], true), true)), [("network.infiniband", Ok)]);
        let both = [("network.infiniband", Warning), ("network.peer_memory", Warning)];
        assert_eq!(states(&check(&network(vec![port("ACTIVE"), port("DOWN")], false), true)), both);
        assert_eq!(states(&check(&network(vec![port("DOWN")], false), true)), both[..1]);
    }
}

//! Network interfaces and what filters packets.

use std::net::IpAddr;

use fermi_domain::language::Text;

use crate::facts::{FirewallFacts, Interface, NetworkFacts};
use crate::{Finding, Topic};

/// Megabits per second that training over several machines wants.
const FAST: u64 = 10_000;
const USUAL_MTU: u32 = 1_500;
/// One damaged packet in so many is a bad cable.
const DAMAGED_SHARE: u64 = 100_000;

pub fn check(network: &NetworkFacts) -> Vec<Finding> {
    let usable: Vec<&Interface> = usable(network).collect();
    if usable.is_empty() {
        let inner: Vec<&Interface> = network.interfaces.iter().filter(|it| it.is_inner() && has_address(it)).collect();
        let text = if inner.is_empty() {
            Text::new(
                "没有已连接的网卡，只能在本机训练",
                "no network interface is up: training works on this machine alone",
            )
        } else {
            let names = shown(&inner);
            Text::new(
                format!("只有容器或虚拟机的网桥有地址（{names}），通不到其他机器：只能在本机训练"),
                format!(
                    "only bridges to containers or virtual machines have an address ({names}), which lead to no other machine: \
                     training works on this machine alone"
                ),
            )
        };
        let fix = Text::new("查看网卡状态", "see the interfaces");
        return vec![
            Finding::warning("network.interfaces", Topic::Network, text).fix(fix, "ip -brief link; ip -brief address"),
        ];
    }
    let mut findings = vec![listed(&usable), speed(&usable)];
    findings.extend(usable.iter().find_map(|interface| mtu(interface)));
    findings.extend(usable.iter().find_map(|interface| damaged(interface)));
    findings
}

/// Those over which other machines can be reached: real ones, or whatever has an address where no real one has, but for
/// bridges inside the machine.
pub(crate) fn usable(network: &NetworkFacts) -> impl Iterator<Item = &Interface> {
    let outward = || network.interfaces.iter().filter(|it| has_address(it) && !it.is_inner());
    let has_physical = outward().any(|interface| interface.is_physical);
    outward().filter(move |interface| interface.is_physical || !has_physical)
}

fn has_address(interface: &Interface) -> bool {
    interface.is_up && !interface.addresses.is_empty()
}

fn shown(interfaces: &[&Interface]) -> String {
    let names = interfaces.iter().map(|interface| {
        let addresses = interface.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let mtu = if interface.mtu > 0 { format!(" (MTU {})", interface.mtu) } else { String::new() };
        format!("{} {addresses}{mtu}", interface.name)
    });
    names.collect::<Vec<_>>().join(", ")
}

fn listed(interfaces: &[&Interface]) -> Finding {
    let names = shown(interfaces);
    Finding::ok("network.interfaces", Topic::Network, Text::new(names.clone(), names))
}

fn speed(interfaces: &[&Interface]) -> Finding {
    let Some((fastest, speed)) = interfaces.iter().filter_map(|it| Some((&it.name, it.speed?))).max_by_key(|it| it.1)
    else {
        return Finding::skipped(
            "network.speed",
            Topic::Network,
            Text::new(
                "网卡不报告速率（虚拟网卡）；用 fermi doctor --nnodes 实测",
                "the interfaces do not tell their speed, as virtual ones do not; fermi doctor --nnodes measures it",
            ),
        );
    };
    let shown = format!("{} Gbps", speed as f64 / 1_000.0);
    if speed >= FAST {
        let text = Text::new(format!("{fastest}：{shown}"), format!("{fastest}: {shown}"));
        return Finding::ok("network.speed", Topic::Network, text);
    }
    let text = Text::new(
        format!("最快的网卡 {fastest} 只有 {shown}，多机训练推荐 10 Gbps 以上"),
        format!("the fastest interface, {fastest}, has {shown}; training over several machines wants 10 Gbps or more"),
    );
    let fix = Text::new(
        "换用更快的网卡；或用梯度累积减少通信",
        "use a faster network, or accumulate gradients to communicate less",
    );
    Finding::warning("network.speed", Topic::Network, text).fix(fix, format!("ethtool {fastest} | grep -i speed"))
}

fn mtu(interface: &Interface) -> Option<Finding> {
    let (name, mtu) = (&interface.name, interface.mtu);
    // 0 where the kernel does not tell it.
    (1..USUAL_MTU).contains(&mtu).then(|| {
        let text = Text::new(
            format!("{name} 的 MTU 为 {mtu}，小于 {USUAL_MTU}；若对端更大，大包会丢"),
            format!("{name} has an MTU of {mtu}, below {USUAL_MTU}: where others have more, large packets are lost"),
        );
        let fix = Text::new("让所有节点的 MTU 相同", "give all nodes the same MTU");
        Finding::warning("network.mtu", Topic::Network, text)
            .fix(fix, format!("sudo ip link set dev {name} mtu {USUAL_MTU}"))
    })
}

fn damaged(interface: &Interface) -> Option<Finding> {
    let Interface { name, received, damaged, .. } = interface;
    (damaged * DAMAGED_SHARE > *received && *damaged > 100).then(|| {
        let text = Text::new(
            format!("{name} 收到损坏的包：{damaged} / {received}"),
            format!("{damaged} of {received} packets came damaged on {name}"),
        );
        let fix = Text::new("更换网线、光模块或交换机端口", "replace cable, transceiver or switch port");
        Finding::warning("network.damaged", Topic::Network, text).fix(fix, format!("ip -s -s link show dev {name}"))
    })
}

/// The range of private addresses that this machine is in.
fn private(network: &NetworkFacts) -> Option<&'static str> {
    let range = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) if ip.is_private() => Some(match ip.octets()[0] {
            10 => "10.0.0.0/8",
            172 => "172.16.0.0/12",
            _ => "192.168.0.0/16",
        }),
        _ => None,
    };
    usable(network).flat_map(|interface| &interface.addresses).find_map(range)
}

/// A hint, not a proof: only a connection from another machine shows what passes.
pub fn firewall(firewall: &FirewallFacts, network: Option<&NetworkFacts>, port: u16) -> Finding {
    let allow = Text::new(
        "让训练节点之间的流量通过，例如整个内网网段",
        "let traffic between the nodes pass, such as all of the internal network",
    );
    let warn = |zh: String, en: String| Finding::warning("network.firewall", Topic::Network, Text::new(zh, en));
    if firewall.has_firewalld {
        return warn(
            "firewalld 正在运行，可能拦截其他节点".into(),
            "firewalld is running and may keep other nodes out".into(),
        )
        .fix(allow, format!("sudo firewall-cmd --permanent --add-port={port}/tcp && sudo firewall-cmd --reload"));
    }
    if firewall.has_ufw {
        return warn("ufw 已启用，可能拦截其他节点".into(), "ufw is on and may keep other nodes out".into()).fix(
            allow,
            match network.and_then(private) {
                Some(network) => format!("sudo ufw allow from {network}   # or: sudo ufw allow {port}/tcp"),
                None => format!("sudo ufw allow {port}/tcp"),
            },
        );
    }
    let by_rule = firewall.refusing_rules.first().map(|rule| (rule, firewall.refusing_rules.len()));
    let by_policy = firewall.closed_chains.first().map(|chain| (chain, firewall.closed_chains.len()));
    match (by_policy, by_rule) {
        (Some((chain, _)), _) => warn(
            format!("nftables 默认丢弃传入的包（{chain}）"),
            format!("nftables drops incoming packets by default ({chain})"),
        )
        .fix(allow, format!("sudo nft insert rule {chain} tcp dport {port} accept")),
        (None, Some((rule, count))) => warn(
            format!("nftables 有 {count} 条规则拒绝传入的包"),
            format!("{count} rules of nftables refuse incoming packets"),
        )
        .seen(Text::new(rule.clone(), rule.clone()))
        .fix(allow, "sudo nft -a list ruleset"),
        (None, None) if firewall.are_rules_readable => {
            Finding::ok("network.firewall", Topic::Network, Text::new("没有发现防火墙规则", "no firewall was found"))
        }
        (None, None) => Finding::skipped(
            "network.firewall",
            Topic::Network,
            Text::new(
                "没有 ufw 与 firewalld；nftables 规则需要管理员才能查看",
                "neither ufw nor firewalld; the rules of nftables may be read by the administrator alone",
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::states;
    use super::*;
    use crate::State::{self, Ok, Skipped, Warning};

    fn interface(name: &str, speed: Option<u64>) -> Interface {
        Interface {
            name: name.into(),
            is_up: true,
            is_physical: true,
            is_bridge: false,
            speed,
            mtu: 1_500,
            addresses: vec!["10.0.0.5".parse().unwrap()],
            received: 1_000_000,
            damaged: 0,
        }
    }

    fn found(interfaces: Vec<Interface>) -> Vec<(&'static str, State)> {
        let network = NetworkFacts { interfaces, ..NetworkFacts::default() };
        states(&check(&network)).into_iter().filter(|(_, state)| *state != Ok).collect()
    }

    #[test]
    fn the_fastest_interface_counts() {
        assert_eq!(found(vec![interface("eth0", Some(1_000)), interface("eth1", Some(25_000))]), []);
        assert_eq!(found(vec![interface("eth0", Some(1_000))]), [("network.speed", Warning)]);
        assert_eq!(found(vec![interface("eth0", None)]), [("network.speed", Skipped)]);
        let untold = Interface { mtu: 0, ..interface("eth0", None) };
        assert_eq!(found(vec![untold]), [("network.speed", Skipped)]);
        assert_eq!(found(vec![]), [("network.interfaces", Warning)]);
    }

    #[test]
    fn bridges_do_not_stand_for_a_network_card() {
        let bridge = Interface { is_physical: false, mtu: 1_400, ..interface("docker0", Some(100_000)) };
        assert_eq!(found(vec![interface("eth0", Some(1_000)), bridge.clone()]), [("network.speed", Warning)]);
        // In a container the only interface has no device behind it.
        assert_eq!(found(vec![bridge]), [("network.mtu", Warning)]);
        let noisy = Interface { damaged: 5_000, ..interface("eth0", Some(10_000)) };
        assert_eq!(found(vec![noisy]), [("network.damaged", Warning)]);
    }

    #[test]
    fn bridges_of_containers_lead_to_no_other_machine() {
        let docker = Interface { is_physical: false, is_bridge: true, ..interface("docker0", Some(10_000)) };
        let said = |interfaces: Vec<Interface>| {
            let found = check(&NetworkFacts { interfaces, ..NetworkFacts::default() });
            (found[0].state, found[0].text.en.to_string())
        };
        let (state, text) = said(vec![docker.clone()]);
        assert_eq!(state, Warning);
        assert!(text.contains("only bridges") && text.contains("docker0 10.0.0.5"), "{text}");
        // A bridge that a network card belongs to, as on hosts of virtual machines.
        let (state, text) = said(vec![Interface { is_bridge: true, ..interface("br0", Some(10_000)) }, docker]);
        assert_eq!((state, text.as_str()), (Ok, "br0 10.0.0.5 (MTU 1500)"));
    }

    #[test]
    fn a_firewall_is_a_hint_with_its_own_command() {
        let judged = |change: fn(&mut FirewallFacts)| {
            let mut facts = FirewallFacts { are_rules_readable: true, ..FirewallFacts::default() };
            change(&mut facts);
            let interfaces =
                vec![Interface { addresses: vec!["172.16.4.1".parse().unwrap()], ..interface("eth0", None) }];
            let network = NetworkFacts { interfaces, ..NetworkFacts::default() };
            let finding = firewall(&facts, Some(&network), 29_500);
            (finding.state, finding.fix.and_then(|fix| fix.command).unwrap_or_default())
        };
        assert_eq!(judged(|_| ()).0, Ok);
        assert_eq!(judged(|it| it.are_rules_readable = false).0, Skipped);
        assert!(judged(|it| it.has_firewalld = true).1.contains("--add-port=29500/tcp"));
        assert!(judged(|it| it.has_ufw = true).1.contains("ufw allow from 172.16.0.0/12"));
        assert!(judged(|it| it.closed_chains = vec!["inet f input".into()]).1.contains("inet f input tcp dport 29500"));
        assert_eq!(judged(|it| it.refusing_rules = vec!["drop".into()]).0, Warning);
    }
}

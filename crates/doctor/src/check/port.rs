//! The port at which ranks meet, here and at the master.

use fermi_domain::language::Text;

use crate::facts::{MasterFacts, MasterReach, PortFacts};
use crate::{Finding, Topic};

pub fn check(port: &PortFacts) -> Finding {
    let number = port.port;
    if port.is_free {
        let text = Text::new(format!("端口 {number} 空闲"), format!("port {number} is free"));
        return Finding::ok("launch.port", Topic::Launch, text);
    }
    if let Some(refusal) = &port.refusal {
        let text = Text::new(format!("端口 {number} 无法使用"), format!("port {number} cannot be used"));
        let fix =
            Text::new("换一个端口（MASTER_PORT 或 --master-port）", "choose another (MASTER_PORT or --master-port)");
        let finding = Finding::error("launch.port", Topic::Launch, text).seen(refusal.text());
        return finding.fix(fix, "sysctl net.ipv4.ip_unprivileged_port_start; ulimit -n");
    }
    let text = Text::new(format!("端口 {number} 已被占用"), format!("port {number} is taken"));
    let fix = Text::new(
        "等占用者结束，或换一个端口（MASTER_PORT 或 --master-port）",
        "wait for its holder to end, or choose another (MASTER_PORT or --master-port)",
    );
    // Fermi takes the next port where none is named, so only a named one fails.
    let finding = if port.is_named { Finding::error } else { Finding::warning }("launch.port", Topic::Launch, text);
    let finding = match &port.holder {
        Some(holder) => finding.seen(Text::new(holder.clone(), holder.clone())),
        None => finding,
    };
    finding.fix(fix, format!("ss -ltnp 'sport = :{number}'"))
}

pub fn master(master: &MasterFacts) -> Finding {
    let MasterFacts { address, port, reach } = master;
    let at = format!("{address}:{port}");
    match reach {
        MasterReach::Here => Finding::ok(
            "launch.master",
            Topic::Launch,
            Text::new(format!("主节点 {address} 是本机"), format!("the master {address} is this machine")),
        ),
        MasterReach::Listens => Finding::ok(
            "launch.master",
            Topic::Launch,
            Text::new(format!("主节点 {at} 可以连接"), format!("the master {at} answers")),
        ),
        MasterReach::Refuses => Finding::ok(
            "launch.master",
            Topic::Launch,
            Text::new(
                format!("主节点 {address} 可达；{port} 端口还没有程序监听"),
                format!("the master {address} can be reached; nothing listens at {port} yet"),
            ),
        ),
        MasterReach::Silent(reason) => {
            let text = Text::new(format!("连接不到主节点 {at}"), format!("the master {at} does not answer"));
            let fix = Text::new(
                "检查地址、路由与防火墙；确认主节点已开机",
                "check address, route and firewall, and that the machine is up",
            );
            Finding::error("launch.master", Topic::Launch, text)
                .seen(reason.text())
                .fix(fix, format!("ping -c 3 {address}; ip route get {address}"))
        }
        MasterReach::Unresolved => {
            let text = Text::new(
                format!("主节点的名称 {address} 无法解析"),
                format!("the master's name {address} does not resolve"),
            );
            let fix =
                Text::new("使用 IP 地址，或写进 /etc/hosts", "use its IP address, or put the name into /etc/hosts");
            Finding::error("launch.master", Topic::Launch, text).fix(fix, format!("getent hosts {address}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use crate::facts::Reason;

    #[test]
    fn a_taken_port_is_an_error_only_where_it_was_named() {
        let taken = PortFacts { port: 29_500, holder: Some("nc -l (pid 7)".into()), ..PortFacts::default() };
        assert_eq!(check(&taken).state, State::Warning);
        let named = check(&PortFacts { is_named: true, ..taken.clone() });
        assert_eq!((named.state, named.evidence.unwrap().en.as_ref()), (State::Error, "nc -l (pid 7)"));
        assert_eq!(check(&PortFacts { is_free: true, ..taken }).state, State::Ok);
    }

    #[test]
    fn a_master_that_answers_in_any_way_is_reached() {
        let state = |reach| master(&MasterFacts { address: "gn6".into(), port: 29_500, reach }).state;
        assert_eq!([MasterReach::Here, MasterReach::Listens, MasterReach::Refuses].map(state), [State::Ok; 3]);
        assert_eq!(state(MasterReach::Unresolved), State::Error);
        assert_eq!(state(MasterReach::Silent(Reason::said("timed out"))), State::Error);
    }
}

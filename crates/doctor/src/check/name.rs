//! The own name, by which gloo and others look for the address to offer.

use fermi_domain::language::Text;

use crate::facts::{NameFacts, NetworkFacts};
use crate::{Finding, Topic};

pub fn check(name: &NameFacts, network: Option<&NetworkFacts>) -> Finding {
    let host = &name.host;
    let shown = name.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let own = network.into_iter().flat_map(super::network::usable).flat_map(|it| &it.addresses).next();
    let address = own.map_or_else(|| "10.0.0.5".to_owned(), ToString::to_string);
    let fix = Text::new("把本机名与内网地址写进 /etc/hosts", "put the name with its address into /etc/hosts");
    let command = format!("echo '{address} {host}' | sudo tee -a /etc/hosts");
    if name.addresses.is_empty() {
        let text = Text::new(
            format!("主机名 {host} 无法解析，gloo 会退回到回环地址，多机训练连不上"),
            format!(
                "the name {host} does not resolve: gloo falls back to the loopback, and other nodes cannot connect"
            ),
        );
        return Finding::warning("network.name", Topic::Network, text).fix(fix, command);
    }
    if own.is_some() && name.addresses.iter().all(std::net::IpAddr::is_loopback) {
        let text = Text::new(
            format!("主机名 {host} 解析为 {shown}，其他节点会被指向它们自己"),
            format!("the name {host} resolves to {shown}, which leads other nodes to themselves"),
        );
        let fix = Text::new(
            "把内网地址写在 127.0.1.1 那行之前，或设置 GLOO_SOCKET_IFNAME",
            "put the address before the line of 127.0.1.1, or set GLOO_SOCKET_IFNAME",
        );
        return Finding::warning("network.name", Topic::Network, text)
            .fix(fix, format!("sudo sed -i '1i {address} {host}' /etc/hosts"));
    }
    let text = Text::new(format!("主机名 {host} 解析为 {shown}"), format!("the name {host} resolves to {shown}"));
    Finding::ok("network.name", Topic::Network, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use crate::facts::Interface;

    #[test]
    fn a_name_that_leads_nowhere_or_home_is_a_warning() {
        let interface = Interface {
            is_up: true,
            is_physical: true,
            addresses: vec!["10.1.2.3".parse().unwrap()],
            ..Interface::default()
        };
        let network = NetworkFacts { interfaces: vec![interface], ..NetworkFacts::default() };
        let judged = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
            check(&NameFacts { host: "gn6".into(), addresses }, Some(&network))
        };
        assert_eq!(judged(&["10.1.2.3"]).state, State::Ok);
        assert_eq!(judged(&["127.0.1.1"]).state, State::Warning);
        let unknown = judged(&[]);
        assert_eq!(unknown.state, State::Warning);
        assert_eq!(unknown.fix.unwrap().command.unwrap(), "echo '10.1.2.3 gn6' | sudo tee -a /etc/hosts");
    }
}

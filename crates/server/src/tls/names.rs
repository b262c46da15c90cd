//! Under which names and addresses the server is reached.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// All of them: where it listens, what this machine is called, and what operators add.
pub fn of_server(listen: SocketAddr, allowed_hosts: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::from(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    names.extend(allowed_hosts.iter().filter(|name| is_fit(name)).cloned());
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    if let Some(host) = host.filter(|host| is_fit(host)) {
        names.extend(host.split('.').next().map(str::to_owned));
        names.insert(host);
    }
    if listen.ip().is_unspecified() {
        names.extend(addresses().filter(|address| is_lasting(*address)).map(|address| address.to_string()));
    } else {
        names.insert(listen.ip().to_canonical().to_string());
    }
    names
}

/// Whether a certificate can bear it: an address, or a name as the domain name system has it.
fn is_fit(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    name.parse::<IpAddr>().is_ok() || !name.is_empty() && name.len() < 254 && is_plain
}

fn addresses() -> impl Iterator<Item = IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    interfaces.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    })
}

/// Link-local addresses come and go with every container's cable, and no one dials them.
fn is_lasting(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !address.is_link_local(),
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_named_by_where_it_listens_and_by_what_operators_add() {
        let allowed = ["fermi.example.com", "10.1.2.3", "a b", "训练", ""].map(str::to_owned);
        let names = of_server("192.0.2.7:7070".parse().unwrap(), &allowed);
        for name in ["localhost", "127.0.0.1", "::1", "192.0.2.7", "fermi.example.com", "10.1.2.3"] {
            assert!(names.contains(name), "{name}");
        }
        assert!(!names.contains("a b") && !names.contains("训练") && !names.contains(""));
        assert!(!is_lasting("fe80::1".parse().unwrap()) && is_lasting("fd00::1".parse().unwrap()));
    }
}

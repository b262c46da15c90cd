//! Interfaces and InfiniBand, as the kernel shows them.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use crate::facts::{InfinibandPort, Interface, NetworkFacts};

pub fn look() -> NetworkFacts {
    NetworkFacts {
        interfaces: interfaces(),
        infiniband: infiniband(Path::new("/sys/class/infiniband")),
        has_peer_memory: ["nvidia_peermem", "nv_peer_mem"]
            .iter()
            .any(|name| Path::new("/sys/module").join(name).exists()),
    }
}

/// All but the loopback, by name.
pub fn interfaces() -> Vec<Interface> {
    let addresses = addresses();
    if entries(Path::new("/sys/class/net")).next().is_none() {
        return without_sys(addresses);
    }
    let mut interfaces: Vec<Interface> = entries(Path::new("/sys/class/net"))
        .filter(|name| name != "lo")
        .map(|name| {
            let folder = Path::new("/sys/class/net").join(&name);
            let addresses = addresses.get(&name).cloned().unwrap_or_default();
            interface(&folder, name, addresses)
        })
        .collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces
}

/// The addresses at which other machines may find this one, each with its interface.
pub fn own_addresses() -> Vec<(String, IpAddr)> {
    let all = addresses().into_iter().filter(|(name, _)| name != "lo");
    all.flat_map(|(name, found)| found.into_iter().map(move |address| (name.clone(), address))).collect()
}

/// What is known where /sys is not there, as in some containers: names and addresses.
fn without_sys(addresses: BTreeMap<String, Vec<IpAddr>>) -> Vec<Interface> {
    let others = addresses.into_iter().filter(|(name, _)| name != "lo");
    others.map(|(name, addresses)| Interface { name, is_up: true, addresses, ..Interface::default() }).collect()
}

fn interface(folder: &Path, name: String, addresses: Vec<IpAddr>) -> Interface {
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned());
    let number = |file: &str| text(file).and_then(|text| text.parse::<i64>().ok());
    let count = |file: &str| number(file).and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
    // Tunnels and some virtual devices are up and say "unknown".
    let is_up = match text("operstate").as_deref() {
        Some("up") => true,
        Some("unknown") => !addresses.is_empty(),
        _ => false,
    };
    Interface {
        name,
        is_up,
        is_physical: is_physical(folder),
        is_bridge: folder.join("bridge").exists(),
        speed: number("speed").filter(|speed| *speed > 0).and_then(|speed| u64::try_from(speed).ok()),
        mtu: number("mtu").and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or_default(),
        addresses,
        received: count("statistics/rx_packets"),
        damaged: count("statistics/rx_errors"),
    }
}

/// Bridges, bonds and VLANs show what they go through as `lower_eth0`.
fn is_physical(folder: &Path) -> bool {
    let mut below = entries(folder).filter(|name| name.starts_with("lower_"));
    folder.join("device").exists() || below.any(|name| is_physical(&folder.join(name)))
}

/// By interface; link-local ones lead nowhere without their interface and are left out.
fn addresses() -> BTreeMap<String, Vec<IpAddr>> {
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    for interface in nix::ifaddrs::getifaddrs().into_iter().flatten() {
        let Some(address) = interface.address.as_ref() else { continue };
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let Some(address) = v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()))) else {
            continue;
        };
        let is_link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        if !is_link_local {
            // A second address may be labelled `eth0:1`.
            let name = interface.interface_name.split(':').next().unwrap_or_default().to_owned();
            found.entry(name).or_default().push(address);
        }
    }
    found
}

fn infiniband(folder: &Path) -> Vec<InfinibandPort> {
    let mut ports = Vec::new();
    for device in entries(folder) {
        let of_device = folder.join(&device).join("ports");
        for port in entries(&of_device) {
            let text = |file: &str| {
                fs::read_to_string(of_device.join(&port).join(file)).map(|it| it.trim().to_owned()).unwrap_or_default()
            };
            // `4: ACTIVE`
            let state = text("state").rsplit(": ").next().unwrap_or_default().to_owned();
            let name = format!("{device}/{port}");
            ports.push(InfinibandPort { name, state, rate: text("rate"), layer: text("link_layer") });
        }
    }
    ports.sort_by(|a, b| a.name.cmp(&b.name));
    ports
}

fn entries(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_with_a_network_card_is_one_and_that_of_containers_is_not() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["eth0/device", "veth1", "br0/bridge", "docker0/bridge"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../eth0", root.path().join("br0/lower_eth0")).unwrap();
        std::os::unix::fs::symlink("../veth1", root.path().join("docker0/lower_veth1")).unwrap();
        let seen = |name: &str| {
            let seen = interface(&root.path().join(name), name.to_owned(), Vec::new());
            (seen.is_physical, seen.is_bridge)
        };
        assert_eq!(["eth0", "br0", "docker0"].map(seen), [(true, false), (true, true), (false, true)]);
    }

    #[test]
    fn without_sys_there_are_still_the_addresses() {
        let ip = IpAddr::from([10, 0, 0, 1]);
        let found = without_sys([("eth0", ip), ("lo", ip)].map(|(name, ip)| (name.to_owned(), vec![ip])).into());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].is_up, found[0].mtu), ("eth0", true, 0));
    }

    #[test]
    fn ports_of_infiniband_are_read_from_their_folders() {
        let root = tempfile::tempdir().unwrap();
        let port = root.path().join("mlx5_0/ports/1");
        fs::create_dir_all(&port).unwrap();
        for (file, text) in
            [("state", "4: ACTIVE\n"), ("rate", "200 Gb/sec (4X HDR)\n"), ("link_layer", "InfiniBand\n")]
        {
            fs::write(port.join(file), text).unwrap();
        }
        let found = infiniband(root.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].state.as_str()), ("mlx5_0/1", "ACTIVE"));
        assert_eq!(infiniband(&root.path().join("none")), []);
    }
}

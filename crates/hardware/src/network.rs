//! The way to other machines.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

/// The network interface by which packets to an address leave; loopback for an address of this machine alone.
pub fn interface_to(address: &str) -> Option<String> {
    let target = (address, 9).to_socket_addrs().ok()?.next()?;
    // Connecting a datagram socket sends nothing; it asks the kernel for the way.
    let socket = UdpSocket::bind(if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).ok()?;
    socket.connect(target).ok()?;
    let own = socket.local_addr().ok()?.ip();
    nix::ifaddrs::getifaddrs()
        .ok()?
        .find(|interface| interface_address(interface) == Some(own))
        .map(|interface| interface.interface_name)
}

/// Whether an interface of this name is up and has an address.
pub fn has_interface(name: &str) -> bool {
    let is_it = |interface: &nix::ifaddrs::InterfaceAddress| {
        interface.interface_name == name
            && interface.flags.contains(nix::net::if_::InterfaceFlags::IFF_UP)
            && interface_address(interface).is_some()
    };
    nix::ifaddrs::getifaddrs().is_ok_and(|mut all| all.any(|interface| is_it(&interface)))
}

fn interface_address(interface: &nix::ifaddrs::InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_oneself_is_loopback() {
        assert_eq!(interface_to("127.0.0.1").as_deref(), Some("lo"));
        assert_eq!(interface_to("no such host!"), None);
        assert_eq!([has_interface("lo"), has_interface("none9")], [true, false]);
    }
}

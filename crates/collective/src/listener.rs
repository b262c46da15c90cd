//! Opening a listening socket where a launcher may already hold the port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen as start_listening, setsockopt, socket,
    sockopt,
};

/// Whether peers may come by IPv6 as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Families {
    V4,
    Both,
}

/// A name that resolves to any IPv6 address, or not at all from here, may lead some peer over IPv6.
pub(crate) fn families_of(host: &str) -> Families {
    let is_v4_alone = (host, 0).to_socket_addrs().is_ok_and(|mut found| found.all(|address| address.is_ipv4()));
    if is_v4_alone { Families::V4 } else { Families::Both }
}

/// Listens on every interface. The launcher may keep the port bound, without listening, until a rank takes it over;
/// that works only if both sockets have SO_REUSEADDR, and have it before they are bound.
pub(crate) fn listen(families: Families, port: u16) -> io::Result<TcpListener> {
    match families {
        Families::V4 => listen_on(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
        // A machine without IPv6 is still a machine.
        Families::Both => listen_on(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
            _ => listen_on(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
        }),
    }
}

fn listen_on(ip: IpAddr, port: u16) -> io::Result<TcpListener> {
    let family = if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    if ip.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6V6Only, &false)?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(ip, port)))?;
    let backlog = Backlog::new(1024).map_err(|_| Errno::EINVAL)?;
    start_listening(&socket, backlog)?;
    Ok(TcpListener::from(socket))
}

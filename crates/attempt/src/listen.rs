//! Listening and holding a port in both families of addresses.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::{Ipv6V6Only, ReuseAddr};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket};

/// As many as the kernel allows may be about to connect: all nodes of a run come at once.
const BACKLOG: i32 = 4096;

/// A socket that listens for IPv6 and IPv4 alike, or for IPv4 alone where there is no IPv6. It shares its port with
/// sockets that have SO_REUSEADDR and do not listen, as the lease's.
pub fn on_all_addresses(port: u16) -> io::Result<TcpListener> {
    let bound = bind_all(port)?;
    listen(&bound, Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN))?;
    Ok(TcpListener::from(bound))
}

/// The same without listening.
pub fn bind_all(port: u16) -> io::Result<OwnedFd> {
    match bind_to(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))) {
        Err(Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL | Errno::EPROTONOSUPPORT) => {
            Ok(bind_to(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?)
        }
        bound => Ok(bound?),
    }
}

fn bind_to(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let bound = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&bound, ReuseAddr, &true)?;
    if address.is_ipv6() {
        setsockopt(&bound, Ipv6V6Only, &false)?;
    }
    bind(bound.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_listener_is_reached_by_both_families_and_shares_its_port_with_a_holder() {
        let holder = bind_all(0).unwrap();
        let port = TcpListener::from(holder.try_clone().unwrap()).local_addr().unwrap().port();
        let _listener = on_all_addresses(port).unwrap();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert!(TcpStream::connect(("::1", port)).is_ok());
        assert!(on_all_addresses(port).is_err());
    }
}

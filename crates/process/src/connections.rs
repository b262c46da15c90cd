//! The TCP connections of processes, as `/proc` tells them.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{listeners, procfs};

/// A connection of a process that is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConnection {
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// How often what was not acknowledged has been sent again.
    pub resent: u32,
}

const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// The ports of those of these sockets, named by their inodes, that wait for connections.
pub fn listening(sockets: &HashSet<u64>) -> Vec<u16> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let all = listeners::all().unwrap_or_else(|_| listed_as_listening());
    all.into_iter().filter(|(inode, _)| sockets.contains(inode)).map(|(_, port)| port).collect()
}

/// The same by the tables of all sockets, where the kernel does not answer questions.
fn listed_as_listening() -> Vec<(u64, u16)> {
    let mut listening = Vec::new();
    for name in ["tcp", "tcp6"] {
        let text = procfs::read_text(&format!("/proc/self/net/{name}")).unwrap_or_default();
        listening.extend(text.lines().skip(1).filter_map(parse_listening));
    }
    listening
}

fn parse_listening(line: &str) -> Option<(u64, u16)> {
    let mut fields = line.split_ascii_whitespace();
    let port = fields.nth(1)?.rsplit_once(':')?.1;
    let is_listening = fields.nth(1)? == LISTENS;
    let inode = fields.nth(5)?.parse().ok()?;
    is_listening.then_some((inode, u16::from_str_radix(port, 16).ok()?))
}

/// The connections of each of these, by one look at the tables of the first one's network.
pub fn of_all(pids: &[i32]) -> Vec<Vec<TcpConnection>> {
    let Some(first) = pids.first() else { return Vec::new() };
    let mut table = HashMap::new();
    for name in ["tcp", "tcp6"] {
        let text = procfs::read_text(&format!("/proc/{first}/net/{name}")).unwrap_or_default();
        table.extend(text.lines().skip(1).filter_map(parse));
    }
    let of_one = |pid: &i32| sockets(*pid).iter().filter_map(|inode| table.get(inode).copied()).collect();
    pids.iter().map(of_one).collect()
}

/// The inodes of a process's sockets.
fn sockets(pid: i32) -> HashSet<u64> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |path: std::path::PathBuf| path.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    files.filter_map(|file| std::fs::read_link(file.path()).ok().and_then(inode)).collect()
}

/// A line of the table: the socket's inode and what is known of it.
fn parse(line: &str) -> Option<(u64, TcpConnection)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, from, to, state, _, _, resent, _, _, inode, ..] = fields.as_slice() else { return None };
    let connection =
        TcpConnection { from: address(from)?, to: address(to)?, resent: u32::from_str_radix(resent, 16).ok()? };
    (*state == ESTABLISHED).then_some((inode.parse().ok()?, connection))
}

/// Words in the machine's order, written as numbers.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let words: Option<Vec<u8>> = (0..host.len() / 8)
        .map(|at| u32::from_str_radix(host.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes))
        .collect::<Option<Vec<_>>>()
        .map(|words| words.concat());
    let words = words?;
    let host = match words.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(words).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?)).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_ends_of_a_connection_are_found_and_a_listener_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (there, _) = listener.accept().unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let found = of_all(&[me]).remove(0);
        let end = |stream: &TcpStream| (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        for (from, to) in [end(&here), end(&there)] {
            assert!(found.contains(&TcpConnection { from, to, resent: 0 }), "{found:?}");
        }
        assert!(found.iter().all(|connection| connection.to.port() != 0));
        assert_eq!(of_all(&[0x3fff_ffff]), [Vec::new()]);
    }

    #[test]
    fn a_listener_is_known_by_its_port_and_a_connection_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _here = TcpStream::connect(address).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        let found = listening(&sockets(me));
        assert!(found.contains(&address.port()), "{found:?}");
        assert!(listed_as_listening().iter().any(|(_, port)| *port == address.port()), "the tables say the same");
        assert_eq!(listening(&HashSet::new()), Vec::<u16>::new());
        let line = "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 x";
        assert_eq!(parse_listening(line), Some((77, 8080)));
        assert_eq!(parse_listening(&line.replace(" 0A ", " 01 ")), None);
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        let line =
            "   1: 0100007F:1F90 0700000A:C350 01 00000010:00000000 01:00000019 00000004     0        0 12345 2 x";
        let (inode, connection) = parse(line).unwrap();
        assert_eq!((inode, connection.resent), (12345, 4));
        if cfg!(target_endian = "little") {
            assert_eq!(connection.to.to_string(), "10.0.0.7:50000");
        }
        for bad in
            ["", "x", &line.replace("0100007F", "01"), &line.replace(" 01 ", " 0A "), &line.replace("12345", "-")]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

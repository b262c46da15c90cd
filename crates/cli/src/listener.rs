//! Whose program listens at a port of this machine.
//!
//! A token that was found for an address of loopback must not be shown to another user's program that has taken the port since.

use std::fs;

/// `TCP_LISTEN` as the kernel writes it.
const LISTENS: &str = "0A";

/// The users whose programs listen at this port, as far as the kernel tells: there may be one at each address.
pub fn owners(port: u16) -> Vec<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(|path| fs::read_to_string(path).ok());
    tables.flat_map(|table| in_table(&table, port)).collect()
}

fn in_table(table: &str, port: u16) -> Vec<u32> {
    let owners = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let is_there = state == LISTENS && u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()? == port;
        if is_there { words.nth(3)?.parse().ok() } else { None }
    });
    owners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_of_a_listener_is_known() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(owners(port), [nix::unistd::geteuid().as_raw()]);
        drop(listener);
        assert_eq!(owners(port), [0_u32; 0]);
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   \
                     0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1\n   \
                     1: 0200007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  65534       0 1 1\n";
        assert_eq!(in_table(table, 7070), [1000, 65534]);
        assert_eq!(in_table(&table.replace(" 0A ", " 01 "), 7070), [0_u32; 0]);
    }
}

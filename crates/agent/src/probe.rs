//! Looks whether a master can be found and reached from this node, for the checks of a group before it starts.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fermi_api::link::{AgentMessage, ProbeOrder};
use fermi_attempt::bundle::MasterPort;
use fermi_attempt::port::{self, LeaseError};
use fermi_domain::group::{NameFound, PortFound, Probe, Reach};

use crate::link::Outbox;

/// How long a machine may take to answer; the server waits a little longer.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Resolvers may hang; beyond these no question is taken.
const MOST_AT_ONCE: usize = 8;
/// Addresses of a name that are tried.
const MOST_ADDRESSES: usize = 3;

/// Looks on a thread of its own, because a resolver may take long, and answers over the link.
pub fn start(order: ProbeOrder, outbox: Outbox, running: &Arc<AtomicUsize>) {
    if running.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
        running.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let done = running.clone();
    let look = move || {
        outbox.send(AgentMessage::Probed { number: order.number, found: probe(&order) });
        done.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("probe".into()).stack_size(256 * 1024).spawn(look).is_err() {
        running.fetch_sub(1, Ordering::Relaxed);
    }
}

fn probe(order: &ProbeOrder) -> Probe {
    let by_name = addresses(&order.name, order.port);
    Probe {
        name: if by_name.is_empty() { NameFound::Unresolved } else { NameFound::Resolved(reach(&by_name)) },
        address: order.address.as_deref().map(|address| reach(&addresses(address, order.port))),
        port: order.is_master.then(|| port_of_master(order.port)),
    }
}

fn addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    (host, port).to_socket_addrs().map(|found| found.take(MOST_ADDRESSES).collect()).unwrap_or_default()
}

/// A machine that refuses a connection is there, and no firewall swallows what is sent to it.
fn reach(addresses: &[SocketAddr]) -> Reach {
    let answers = |address: &SocketAddr| match TcpStream::connect_timeout(address, PATIENCE / MOST_ADDRESSES as u32) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
    };
    if addresses.iter().any(answers) { Reach::Answers } else { Reach::Silent }
}

/// By taking the port as a run would, and giving it back at once.
fn port_of_master(number: u16) -> PortFound {
    match port::lease(MasterPort::Exactly(number)) {
        Ok(_) => PortFound::Free,
        Err(LeaseError::Taken { holder, .. }) => PortFound::Taken(
            holder.map_or_else(String::new, |holder| format!("{}, pid {}", holder.command, holder.pid)),
        ),
        Err(error) => PortFound::Taken(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn order(name: &str, port: u16) -> ProbeOrder {
        ProbeOrder { number: 1, name: name.to_owned(), address: Some("127.0.0.1".to_owned()), port, is_master: true }
    }

    #[test]
    fn a_master_is_found_by_its_name_and_its_port_is_judged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().port();
        let found = probe(&order("localhost", taken));
        assert_eq!((found.name, found.address), (NameFound::Resolved(Reach::Answers), Some(Reach::Answers)));
        assert!(matches!(found.port, Some(PortFound::Taken(_))), "{:?}", found.port);
        drop(listener);
        let found = probe(&order("no-such-name.invalid", taken));
        assert_eq!((found.name, found.address), (NameFound::Unresolved, Some(Reach::Answers)));
    }
}

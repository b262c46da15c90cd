//! Names, ports and the way to the master, looked at from this node.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use fermi_attempt::bundle::MasterPort;
use fermi_attempt::port;
use fermi_domain::language::Explained;
use fermi_domain::language::{Text, reason};
use fermi_domain::messages::setup_cluster::Finding;

use super::layout::Cluster;

pub fn look(cluster: &Cluster, node_rank: u32, patience: Duration) -> Vec<Finding> {
    let name = &cluster.master_addr;
    let addresses = match resolve(name) {
        Ok(addresses) => addresses,
        Err(error) => return vec![Finding::NotResolved { name: name.clone(), error: reason::of_io(&error) }],
    };
    let list = addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
    let mut findings = vec![Finding::Resolved { name: name.clone(), addresses: list.clone() }];
    if node_rank != 0 {
        findings.push(reach(&addresses, cluster.master_port, patience));
        return findings;
    }
    // Only an address of this machine can be bound.
    if !addresses.iter().any(|address| TcpListener::bind((*address, 0)).is_ok()) {
        findings.push(Finding::NotHere { name: name.clone(), addresses: list });
        return findings;
    }
    findings.push(Finding::IsHere { name: name.clone() });
    findings.push(match port::lease(MasterPort::Exactly(cluster.master_port)) {
        Ok(lease) => Finding::PortFree { port: lease.port },
        Err(error) => Finding::PortTaken { text: error.text() },
    });
    findings
}

fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    addresses.dedup();
    if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
}

/// A refusal is an answer too: it comes from the master itself, so the way there is open.
fn reach(addresses: &[IpAddr], port: u16, patience: Duration) -> Finding {
    let mut last = Finding::MasterSilent { address: String::new(), error: Text::new("", "") };
    for address in addresses {
        let at = SocketAddr::new(*address, port);
        match TcpStream::connect_timeout(&at, patience) {
            Ok(_) => return Finding::MasterListens { address: at.to_string() },
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Finding::MasterAnswers { address: at.to_string() };
            }
            Err(error) => last = Finding::MasterSilent { address: at.to_string(), error: reason::of_io(&error) },
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::setup_cluster::layout::NodeRanks;

    fn cluster(master_addr: &str, master_port: u16) -> Cluster {
        let nodes = vec![NodeRanks { rank: 0, first_rank: 0, processes: 1 }];
        Cluster { master_addr: master_addr.into(), master_port, world_size: 1, backend: "gloo".into(), nodes }
    }

    fn checks(master_addr: &str, port: u16, node_rank: u32) -> Vec<(&'static str, bool)> {
        let findings = look(&cluster(master_addr, port), node_rank, Duration::from_millis(300));
        findings.iter().map(|finding| (finding.check(), finding.is_good())).collect()
    }

    #[test]
    fn the_master_wants_its_port_and_the_others_want_the_master() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap().port();
        assert_eq!(checks("127.0.0.1", taken, 0), [("name", true), ("address", true), ("port", false)]);
        assert_eq!(checks("127.0.0.1", taken, 1), [("name", true), ("master", true)]);
        drop(listener);
        assert_eq!(checks("127.0.0.1", taken, 1), [("name", true), ("master", true)]);
    }

    #[test]
    fn a_name_that_does_not_resolve_ends_the_look() {
        assert_eq!(checks("no-such-host.invalid", 29_500, 0), [("name", false)]);
    }

    #[test]
    fn node_0_must_be_where_the_master_is() {
        assert_eq!(checks("192.0.2.1", 29_500, 0), [("name", true), ("address", false)]);
    }
}

//! Names, ports and variables.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use fermi_attempt::bundle::MasterPort;
use fermi_attempt::port::{self as lease, LeaseError};
use fermi_domain::contract::{
    CUDA_VISIBLE_DEVICES, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, NODE_RANK, OMP_NUM_THREADS, RANK,
    WORLD_SIZE,
};
use fermi_domain::language::Explained;

use super::{own_addresses, system};
use crate::facts::{LaunchVariables, MasterFacts, MasterReach, NameFacts, PortFacts, Reason};

const ONE_TRY: Duration = Duration::from_millis(1_500);
const MOST_ADDRESSES: usize = 3;
const NAMES: [&str; 9] = [
    RANK,
    WORLD_SIZE,
    LOCAL_RANK,
    LOCAL_WORLD_SIZE,
    NODE_RANK,
    MASTER_ADDR,
    MASTER_PORT,
    CUDA_VISIBLE_DEVICES,
    OMP_NUM_THREADS,
];
/// Of the libraries that ranks use. None of them holds a secret.
const PREFIXES: [&str; 6] = ["NCCL_", "GLOO_", "TORCH_NCCL_", "JAX_", "XLA_", "UCX_"];

pub fn variables() -> LaunchVariables {
    let is_of_launch = |name: &str| NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let all = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let chosen = all.filter(|(name, _)| is_of_launch(name));
    LaunchVariables(chosen.map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect())
}

pub fn name() -> NameFacts {
    let host = system::host_name();
    let addresses = addresses(&host, 0).into_iter().map(|address| address.ip().to_canonical()).collect();
    NameFacts { host, addresses }
}

/// By taking the port as a run would, and giving it back at once.
pub fn port(port: u16, is_named: bool) -> PortFacts {
    let facts = PortFacts { port, is_named, ..PortFacts::default() };
    match lease::lease(MasterPort::Exactly(port)) {
        Ok(_) => PortFacts { is_free: true, ..facts },
        Err(LeaseError::Taken { holder, .. }) => {
            PortFacts { holder: holder.map(|it| format!("{} (pid {})", it.command, it.pid)), ..facts }
        }
        Err(error) => PortFacts { refusal: Some(error.text().into()), ..facts },
    }
}

pub fn master(address: String, port: u16) -> MasterFacts {
    let found = addresses(&address, port);
    let own: Vec<IpAddr> = own_addresses().into_iter().map(|(_, address)| address).collect();
    let is_own = |ip: IpAddr| ip.is_loopback() || own.contains(&ip);
    let reach = if found.is_empty() {
        MasterReach::Unresolved
    } else if found.iter().any(|it| is_own(it.ip().to_canonical())) {
        MasterReach::Here
    } else {
        found.iter().map(reach).find(|it| !matches!(it, MasterReach::Silent(_))).unwrap_or_else(|| reach(&found[0]))
    };
    MasterFacts { address, port, reach }
}

fn reach(address: &SocketAddr) -> MasterReach {
    match TcpStream::connect_timeout(address, ONE_TRY) {
        Ok(_) => MasterReach::Listens,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => MasterReach::Refuses,
        Err(error) => MasterReach::Silent(Reason::from(&error)),
    }
}

fn addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    (host, port).to_socket_addrs().map(|found| found.take(MOST_ADDRESSES).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_in_use_is_seen_and_its_own_machine_is_here() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = listener.local_addr().unwrap().port();
        assert!(!port(number, true).is_free);
        drop(listener);
        assert!(port(number, true).is_free);
        assert_eq!(master("127.0.0.1".into(), number).reach, MasterReach::Here);
        assert_eq!(master("no-such-name.invalid".into(), number).reach, MasterReach::Unresolved);
    }
}

//! How the nodes of a run find each other: alone, by number (`--node-rank` and `--master-addr`), or by meeting at an
//! address (`--rdzv-endpoint`).

use std::net::{IpAddr, TcpListener, ToSocketAddrs};

use fermi_attempt::bundle::{Gathering, MasterPort, Meeting, RankNumbering};
use fermi_attempt::port;
use fermi_domain::messages::run::RunProblem;

use super::devices;
use super::flags::RunFlags;
use super::policy::ms;

const DEFAULT_LAST_CALL_MS: u64 = 30_000;

pub fn plan(flags: &RunFlags) -> Result<Meeting, RunProblem> {
    let (least, most) = node_counts(&flags.nnodes)?;
    if let Some(value) = flags.node_rank.filter(|rank| *rank >= most) {
        return Err(RunProblem::NodeRankBeyond { value, nodes: most });
    }
    if most == 1 { alone(flags) } else { together(flags, least, most) }
}

/// `2`, or `2:4` for at least two and at most four.
fn node_counts(value: &str) -> Result<(u32, u32), RunProblem> {
    let bad = || RunProblem::BadNodeCount { value: value.to_owned() };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(bad);
    let (least, most) = match value.split_once(':') {
        Some((least, most)) => (number(least)?, number(most)?),
        None => (number(value)?, number(value)?),
    };
    if least <= most { Ok((least, most)) } else { Err(bad()) }
}

/// One machine needs no meeting; a rendezvous that was named is of no use and does no harm.
fn alone(flags: &RunFlags) -> Result<Meeting, RunProblem> {
    let named = named_port(flags)?;
    let port = match (flags.rank, named) {
        // Others start the other ranks, so all must agree on the port beforehand.
        (Some(0), port) => MasterPort::Exactly(port.unwrap_or(port::FIRST)),
        (Some(_), port) => MasterPort::Elsewhere(port.unwrap_or(port::FIRST)),
        (None, Some(port)) => MasterPort::Exactly(port),
        (None, None) => MasterPort::Any,
    };
    Ok(Meeting { gathering: Gathering::alone(), address: master_addr(flags), port, numbering: RankNumbering::Assigned })
}

fn together(flags: &RunFlags, least_nodes: u32, nodes: u32) -> Result<Meeting, RunProblem> {
    if flags.ranks_filter.is_some() {
        return Err(RunProblem::RanksFilterOnSeveralNodes);
    }
    let endpoint = flags.rdzv_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
    let (address, port, node_rank, coordinates) = match endpoint {
        Some(endpoint) => {
            let (host, port) = read_endpoint(endpoint)?;
            let coordinates = flags.node_rank.map_or_else(|| is_here(&host), |rank| rank == 0);
            let node_rank = flags.node_rank.or(coordinates.then_some(0));
            (host, port, node_rank, coordinates)
        }
        None => {
            let rank = flags.node_rank.ok_or(RunProblem::NodeRankMissing)?;
            let port = named_port(flags)?.unwrap_or(port::FIRST);
            if rank > 0 && flags.master_addr.is_none() {
                return Err(RunProblem::MasterAddrMissing);
            }
            (master_addr(flags), port, Some(rank), rank == 0)
        }
    };
    let gathering = Gathering {
        nodes,
        least_nodes,
        last_call_ms: last_call(flags.rdzv_conf.as_deref())?,
        node_rank,
        coordinates,
        run: flags.rdzv_id.clone().filter(|id| id != "none").unwrap_or_default(),
        secret: flags.rdzv_secret.clone().unwrap_or_default(),
        ..Gathering::alone()
    };
    let port = if coordinates { MasterPort::Exactly(port) } else { MasterPort::Elsewhere(port) };
    Ok(Meeting { gathering, address, port, numbering: RankNumbering::Assigned })
}

/// torchrun's `--rdzv-conf last_call_timeout=30`, which is its default too.
fn last_call(conf: Option<&str>) -> Result<u64, RunProblem> {
    let named = conf
        .into_iter()
        .flat_map(|conf| conf.split(','))
        .find_map(|pair| pair.trim().strip_prefix("last_call_timeout="));
    named.map_or(Ok(DEFAULT_LAST_CALL_MS), |seconds| ms("--rdzv-conf last_call_timeout", seconds))
}

pub fn master_addr(flags: &RunFlags) -> String {
    flags.master_addr.clone().unwrap_or_else(|| "127.0.0.1".to_owned())
}

pub fn named_port(flags: &RunFlags) -> Result<Option<u16>, RunProblem> {
    flags.master_port.as_deref().map(read_port).transpose()
}

fn read_port(value: &str) -> Result<u16, RunProblem> {
    let port = value.parse::<u16>().ok().filter(|port| *port > 0);
    port.ok_or_else(|| RunProblem::BadPort { value: value.to_owned() })
}

/// `host`, `host:port` or `[v6]:port`; the port is 29500 where none is given.
fn read_endpoint(endpoint: &str) -> Result<(String, u16), RunProblem> {
    let bad = || RunProblem::BadEndpoint { value: endpoint.to_owned() };
    let (host, port) = match endpoint.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, read_port(port).map_err(|_| bad())?),
        _ => (endpoint, port::FIRST),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains('/') { Err(bad()) } else { Ok((host.to_owned(), port)) }
}

/// Whether an address is this machine's own: only those can be bound.
fn is_here(host: &str) -> bool {
    let own = |address: IpAddr| TcpListener::bind((address, 0)).is_ok();
    devices::is_this_machine(host)
        || (host, 0).to_socket_addrs().is_ok_and(|addresses| addresses.into_iter().any(|address| own(address.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(options: &[&str]) -> Result<Meeting, RunProblem> {
        plan(&RunFlags::parse_for_test(options))
    }

    #[test]
    fn one_machine_takes_any_port_unless_one_is_named() {
        assert_eq!(meeting(&[]).unwrap().port, MasterPort::Any);
        assert_eq!(meeting(&["--master-port", "4711"]).unwrap().port, MasterPort::Exactly(4711));
        assert_eq!(meeting(&["--rank", "1", "--world-size", "4"]).unwrap().port, MasterPort::Elsewhere(29_500));
    }

    #[test]
    fn node_zero_coordinates_and_the_others_come_to_it() {
        let first = meeting(&["--nnodes", "2", "--node-rank", "0", "--master-addr", "10.0.0.1"]).unwrap();
        assert!(first.gathering.coordinates);
        assert_eq!(first.port, MasterPort::Exactly(29_500));
        let second = meeting(&["--nnodes", "2", "--node-rank", "1", "--master-addr", "10.0.0.1"]).unwrap();
        assert!(!second.gathering.coordinates);
        assert_eq!((second.address.as_str(), second.port), ("10.0.0.1", MasterPort::Elsewhere(29_500)));
    }

    #[test]
    fn at_an_endpoint_the_machine_that_has_the_address_coordinates() {
        let here = meeting(&["--nnodes", "2", "--rdzv-endpoint", "127.0.0.1:4711"]).unwrap();
        assert_eq!((here.gathering.coordinates, here.gathering.node_rank), (true, Some(0)));
        let there = meeting(&["--nnodes", "2", "--rdzv-endpoint", "203.0.113.7:4711"]).unwrap();
        assert_eq!((there.gathering.coordinates, there.gathering.node_rank), (false, None));
    }

    #[test]
    fn a_range_of_nodes_is_elastic() {
        let options = ["--nnodes", "1:4", "--node-rank", "0", "--rdzv-conf", "timeout=9,last_call_timeout=2"];
        let gathering = meeting(&options).unwrap().gathering;
        assert_eq!((gathering.least_nodes, gathering.nodes, gathering.last_call_ms), (1, 4, 2_000));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert_eq!(meeting(&["--nnodes", "2"]).unwrap_err(), RunProblem::NodeRankMissing);
        assert_eq!(meeting(&["--nnodes", "2", "--node-rank", "1"]).unwrap_err(), RunProblem::MasterAddrMissing);
        assert!(matches!(meeting(&["--nnodes", "3:2"]), Err(RunProblem::BadNodeCount { .. })));
        assert!(matches!(meeting(&["--nnodes", "0"]), Err(RunProblem::BadNodeCount { .. })));
        assert!(matches!(meeting(&["--node-rank", "1"]), Err(RunProblem::NodeRankBeyond { value: 1, nodes: 1 })));
        assert!(matches!(meeting(&["--nnodes", "2", "--rdzv-endpoint", "a:b:c"]), Err(RunProblem::BadEndpoint { .. })));
    }
}

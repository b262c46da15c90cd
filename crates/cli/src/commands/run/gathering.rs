//! How the nodes of a run find each other: alone, by number (`--node-rank` and `--master-addr`), or by meeting at an
//! address (`--rdzv-endpoint`).

use std::net::{Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

use fermi_attempt::bundle::{Gathering, MasterPort, Meeting, RankNumbering};
use fermi_attempt::port;
use fermi_domain::language::Text;
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
    known_backend(flags.rdzv_backend.as_deref(), most)?;
    let conf = RendezvousConf::read(flags.rdzv_conf.as_deref())?;
    if most == 1 { alone(flags) } else { together(flags, least, most, &conf) }
}

/// Nodes always meet through Fermi itself, so the way torchrun would take is of no matter; but what stands at an endpoint
/// for etcd is no training machine.
fn known_backend(name: Option<&str>, nodes: u32) -> Result<(), RunProblem> {
    match name {
        None | Some("" | "c10d" | "static") => Ok(()),
        Some("etcd" | "etcd-v2") if nodes == 1 => Ok(()),
        Some(value) => Err(RunProblem::BadRendezvousBackend { value: value.to_owned() }),
    }
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

/// One machine needs no meeting; of a rendezvous that was named only a port counts that torchrun would give to rank 0.
fn alone(flags: &RunFlags) -> Result<Meeting, RunProblem> {
    let named = named_port(flags)?.or_else(|| port_of_static_endpoint(flags));
    let port = match (flags.rank, named) {
        // Others start the other ranks, so all must agree on the port beforehand.
        (Some(0), port) => MasterPort::Exactly(port.unwrap_or(port::FIRST)),
        (Some(_), port) => MasterPort::Elsewhere(port.unwrap_or(port::FIRST)),
        (None, Some(port)) => MasterPort::Exactly(port),
        (None, None) => MasterPort::Any,
    };
    let address = master_addr(flags)?;
    Ok(Meeting { gathering: Gathering::alone(), address, port, numbering: RankNumbering::Assigned })
}

/// The port of an endpoint on this machine, where the rendezvous is static, which it is unless another is named.
fn port_of_static_endpoint(flags: &RunFlags) -> Option<u16> {
    let is_static = matches!(flags.rdzv_backend.as_deref(), None | Some("" | "static"));
    let endpoint = flags.rdzv_endpoint.as_deref().filter(|_| is_static && !flags.standalone)?;
    let (host, port) = read_endpoint(endpoint).ok()?;
    (endpoint.ends_with(&format!(":{port}")) && is_here(&host)).then_some(port)
}

fn together(flags: &RunFlags, least_nodes: u32, nodes: u32, conf: &RendezvousConf) -> Result<Meeting, RunProblem> {
    if flags.ranks_filter.is_some() {
        return Err(RunProblem::RanksFilterOnSeveralNodes);
    }
    let endpoint = flags.rdzv_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
    let mut may_follow = false;
    let (address, port, node_rank, coordinates) = match endpoint {
        Some(endpoint) => {
            let (host, port) = read_endpoint(endpoint)?;
            let is_host = || conf.is_host.unwrap_or_else(|| is_here(&host));
            let coordinates = flags.node_rank.map_or_else(is_host, |rank| rank == 0);
            // Several nodes of one machine may meet at its own address: the first to come coordinates.
            may_follow = coordinates && flags.node_rank.is_none();
            let node_rank = flags.node_rank.or(coordinates.then_some(0));
            (host, port, node_rank, coordinates)
        }
        None => {
            let rank = flags.node_rank.ok_or(RunProblem::NodeRankMissing)?;
            let port = named_port(flags)?.unwrap_or(port::FIRST);
            if rank > 0 && flags.master_addr.is_none() {
                return Err(RunProblem::MasterAddrMissing);
            }
            (master_addr(flags)?, port, Some(rank), rank == 0)
        }
    };
    let gathering = Gathering {
        nodes,
        least_nodes,
        last_call_ms: conf.last_call_ms,
        node_rank,
        coordinates,
        may_follow,
        run: flags.rdzv_id.clone().filter(|id| id != "none").unwrap_or_default(),
        secret: flags.rdzv_secret.clone().unwrap_or_default(),
        ..Gathering::alone()
    };
    let port = if coordinates { MasterPort::Exactly(port) } else { MasterPort::Elsewhere(port) };
    Ok(Meeting { gathering, address, port, numbering: RankNumbering::Assigned })
}

/// A node at the endpoint's own address that was told not to coordinate waits for another one there.
pub fn note(flags: &RunFlags) -> Option<Text> {
    let conf = RendezvousConf::read(flags.rdzv_conf.as_deref()).ok()?;
    let endpoint = flags.rdzv_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty())?;
    let (host, _) = read_endpoint(endpoint).ok()?;
    let waits = conf.is_host == Some(false) && flags.node_rank.is_none() && is_here(&host);
    waits.then(|| {
        Text::new(
            format!("--rdzv-conf is_host=0：{host} 是本机，但本节点不协调，等待另一个以 is_host=1（或不写）启动的节点"),
            format!(
                "--rdzv-conf is_host=0: {host} is this machine, but this node does not coordinate; it waits for one that is \
                 started with is_host=1 or without it"
            ),
        )
    })
}

/// What of torchrun's `--rdzv-conf` has a meaning here.
struct RendezvousConf {
    last_call_ms: u64,
    /// Whether this node shall coordinate, whatever its address.
    is_host: Option<bool>,
}

impl RendezvousConf {
    fn read(conf: Option<&str>) -> Result<Self, RunProblem> {
        let mut read = Self { last_call_ms: DEFAULT_LAST_CALL_MS, is_host: None };
        for pair in conf.into_iter().flat_map(|conf| conf.split(',')).map(str::trim).filter(|pair| !pair.is_empty()) {
            let bad = || RunProblem::BadRendezvousConf { value: pair.to_owned() };
            match pair.split_once('=').ok_or_else(bad)? {
                ("last_call_timeout", seconds) => read.last_call_ms = ms("--rdzv-conf last_call_timeout", seconds)?,
                ("is_host", value) => {
                    read.is_host = Some(match value.to_ascii_lowercase().as_str() {
                        "1" | "true" | "t" | "yes" | "y" => true,
                        "0" | "false" | "f" | "no" | "n" => false,
                        _ => return Err(bad()),
                    });
                }
                // join_timeout is read where the time to wait is; all else is about torch's own store.
                _ => {}
            }
        }
        Ok(read)
    }
}

/// torchrun's `--rdzv-conf join_timeout=…`, in seconds as it was written.
pub fn join_timeout(conf: Option<&str>) -> Option<&str> {
    let pairs = conf.into_iter().flat_map(|conf| conf.split(',')).map(str::trim);
    pairs.filter_map(|pair| pair.strip_prefix("join_timeout=")).next_back()
}

pub fn master_addr(flags: &RunFlags) -> Result<String, RunProblem> {
    let Some(value) = flags.master_addr.as_deref() else { return Ok("127.0.0.1".to_owned()) };
    let host = Some(without_brackets(value)).filter(|host| is_host(host)).map(str::to_owned);
    host.ok_or_else(|| RunProblem::BadMasterAddr { value: value.to_owned() })
}

pub fn named_port(flags: &RunFlags) -> Result<Option<u16>, RunProblem> {
    flags.master_port.as_deref().map(read_port).transpose()
}

fn read_port(value: &str) -> Result<u16, RunProblem> {
    let port = value.parse::<u16>().ok().filter(|port| *port > 0);
    port.ok_or_else(|| RunProblem::BadPort { value: value.to_owned() })
}

/// An IPv6 address may stand in brackets, as in a URL; MASTER_ADDR has none.
fn without_brackets(address: &str) -> &str {
    address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address)
}

/// Whether this can be the name or the address of a machine.
fn is_host(text: &str) -> bool {
    let is_word = !text.is_empty() && !text.contains(['/', '[', ']']) && !text.contains(char::is_whitespace);
    is_word && (!text.contains(':') || is_v6(text))
}

/// An address of IPv6; one that holds for a link only has its interface behind a `%`.
fn is_v6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').unwrap_or((text, "-"));
    address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty()
}

/// The keys of a `--rdzv-conf` that do not count here.
pub fn keys_without_effect(conf: Option<&str>) -> Vec<&str> {
    let keys = conf.unwrap_or_default().split(',').filter_map(|pair| pair.split('=').next()).map(str::trim);
    keys.filter(|key| !key.is_empty() && !["join_timeout", "last_call_timeout", "is_host"].contains(key)).collect()
}

/// `host`, `host:port`, `v6` or `[v6]:port`; the port is 29500 where none is given, or 0.
fn read_endpoint(endpoint: &str) -> Result<(String, u16), RunProblem> {
    let bad = || RunProblem::BadEndpoint { value: endpoint.to_owned() };
    let port = |text: &str| match text {
        "" | "0" => Ok(port::FIRST),
        text => read_port(text).map_err(|_| bad()),
    };
    let (host, port) = match endpoint.rsplit_once(':') {
        _ if is_v6(endpoint) => (endpoint, port::FIRST),
        Some((host, number)) if !endpoint.ends_with(']') => (host, port(number)?),
        _ => (endpoint, port::FIRST),
    };
    let bare = without_brackets(host);
    if is_host(bare) { Ok((bare.to_owned(), port)) } else { Err(bad()) }
}

/// Whether an address is this machine's own: only those can be bound.
fn is_here(host: &str) -> bool {
    // With its scope, without which no address of a link can be bound.
    let own = |address: SocketAddr| TcpListener::bind(address).is_ok();
    devices::is_this_machine(host) || (host, 0).to_socket_addrs().is_ok_and(|addresses| addresses.into_iter().any(own))
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
        assert!(here.gathering.may_follow);
        for there in ["203.0.113.7:4711", "worker-0.invalid:4711"] {
            let there = meeting(&["--nnodes", "2", "--rdzv-endpoint", there]).unwrap().gathering;
            assert_eq!((there.coordinates, there.node_rank, there.may_follow), (false, None, false));
        }
        let named = meeting(&["--nnodes", "2", "--node-rank", "0", "--rdzv-endpoint", "127.0.0.1:4711"]).unwrap();
        assert!(named.gathering.coordinates && !named.gathering.may_follow);
        let guest = ["--nnodes", "2", "--rdzv-endpoint", "127.0.0.1:4711", "--rdzv-conf", "is_host=0"];
        assert!(!meeting(&guest).unwrap().gathering.coordinates);
    }

    #[test]
    fn addresses_of_both_families_are_read_and_lose_their_brackets() {
        for (endpoint, expected) in [
            ("gn6", ("gn6", 29_500)),
            ("gn6:0", ("gn6", 29_500)),
            ("gn6:4711", ("gn6", 4711)),
            ("::1", ("::1", 29_500)),
            ("[::1]", ("::1", 29_500)),
            ("[fd77::1]:4711", ("fd77::1", 4711)),
            ("[fe80::1%eth0]:4711", ("fe80::1%eth0", 4711)),
            ("fe80::1%eth0", ("fe80::1%eth0", 29_500)),
        ] {
            let (host, port) = read_endpoint(endpoint).unwrap();
            assert_eq!((host.as_str(), port), expected, "{endpoint}");
        }
        for bad in ["a:b:c", "[gn6:4711", "", "http://gn6:1", "gn6:x", "[fe80::1%]:1", "g n6:1"] {
            assert!(read_endpoint(bad).is_err(), "{bad}");
        }
        assert_eq!(meeting(&["--master-addr", "[::1]"]).unwrap().address, "::1");
        for address in ["fd77::1", "fe80::1%eth0", "gn6"] {
            assert_eq!(meeting(&["--master-addr", address]).unwrap().address, address);
        }
        for bad in ["[::1", "::1]", "", "10.0.0.1:29500", "http://gn6", "fe80::1%", "g n6"] {
            let refused = meeting(&["--master-addr", bad]);
            assert!(matches!(refused, Err(RunProblem::BadMasterAddr { .. })), "{bad}");
        }
    }

    #[test]
    fn settings_of_the_rendezvous_are_honoured_or_refused() {
        assert_eq!(join_timeout(Some("timeout=9, join_timeout=70")), Some("70"));
        assert_eq!(join_timeout(Some("timeout=9")), None);
        assert_eq!(keys_without_effect(Some("timeout=9, is_host=1,read_timeout=3,")), ["timeout", "read_timeout"]);
        assert_eq!(keys_without_effect(None), [""; 0]);
        for conf in ["garbage", "is_host=perhaps"] {
            let options = ["--nnodes", "2", "--node-rank", "0", "--rdzv-conf", conf];
            assert!(matches!(meeting(&options), Err(RunProblem::BadRendezvousConf { .. })), "{conf}");
            assert!(matches!(meeting(&["--rdzv-conf", conf]), Err(RunProblem::BadRendezvousConf { .. })), "{conf}");
        }
    }

    #[test]
    fn the_port_of_a_static_endpoint_is_rank_0s_on_one_machine() {
        let port = |options: &[&'static str]| meeting(options).unwrap().port;
        let endpoint = ["--rdzv-endpoint", "localhost:5972"];
        assert_eq!(port(&endpoint), MasterPort::Exactly(5972));
        assert_eq!(port(&[&endpoint[..], &["--rdzv-backend", "static"]].concat()), MasterPort::Exactly(5972));
        assert_eq!(port(&[&endpoint[..], &["--master-port", "4711"]].concat()), MasterPort::Exactly(4711));
        for other in [&["--rdzv-backend", "c10d"][..], &["--standalone"]] {
            assert_eq!(port(&[&endpoint[..], other].concat()), MasterPort::Any, "{other:?}");
        }
        for endpoint in ["localhost", "localhost:0", "203.0.113.7:5972"] {
            assert_eq!(port(&["--rdzv-endpoint", endpoint]), MasterPort::Any, "{endpoint}");
        }
    }

    #[test]
    fn backends_are_those_of_torchrun_and_etcd_is_for_no_several_nodes() {
        let backend = |name: &'static str, nodes: &'static str| {
            meeting(&["--nnodes", nodes, "--node-rank", "0", "--rdzv-backend", name]).is_ok()
        };
        assert!(backend("c10d", "2") && backend("static", "2") && backend("etcd-v2", "1"));
        assert!(!backend("etcd", "2") && !backend("nonsense", "1"));
    }

    #[test]
    fn a_range_of_nodes_is_elastic() {
        let options = ["--nnodes", "1:4", "--node-rank", "0", "--rdzv-conf", "timeout=9,last_call_timeout=2,"];
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

//! Measures a peer by its responder.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::responder::{MAGIC, PIECE, PING, REQUEST, SINK, SOURCE, wall_us};
use super::survey::{Pings, Reach};

const CONNECT: Duration = Duration::from_millis(1_500);
/// Enough to meet one lost packet in a hundred twice.
const MOST_PINGS: u32 = 200;
/// Few, where there are many others by which a node that loses packets is found.
const FEWEST_PINGS: u32 = 40;
const LONGEST_PINGS: Duration = Duration::from_millis(2_500);
const ONE_PING: Duration = Duration::from_millis(1_500);
/// How long bytes flow in each direction.
const FLOW: Duration = Duration::from_millis(300);
const FLOW_PATIENCE: Duration = Duration::from_millis(1_500);

pub fn connect(ip: IpAddr, port: u16) -> Result<TcpStream, Reach> {
    TcpStream::connect_timeout(&SocketAddr::new(ip, port), CONNECT).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Reach::Refused,
        io::ErrorKind::NetworkUnreachable => Reach::NoRoute,
        _ => Reach::Silent,
    })
}

/// Tries the port at all addresses at once; over with the first that lets in.
pub fn any_open(ips: &[IpAddr], port: u16) -> Reach {
    let (sender, tried) = channel();
    for ip in ips.iter().copied() {
        let sender = sender.clone();
        let dial = move || sender.send(connect(ip, port).map_or_else(|reach| reach, |_| Reach::Connected));
        let _ = thread::Builder::new().name("door".into()).spawn(dial);
    }
    drop(sender);
    let mut best = Reach::Silent;
    for reach in tried {
        match reach {
            Reach::Connected => return reach,
            Reach::Refused => best = reach,
            Reach::Silent | Reach::NoRoute => {}
        }
    }
    best
}

fn request(stream: &mut TcpStream, mode: u8, length: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let millis = u32::try_from(length.as_millis()).unwrap_or(u32::MAX);
    let mut request = [0; REQUEST];
    request[..4].copy_from_slice(&MAGIC);
    request[4] = mode;
    request[8..].copy_from_slice(&millis.to_le_bytes());
    stream.write_all(&request)
}

/// How often a peer is asked, and for how long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingBudget {
    most: u32,
    longest: Duration,
}

impl PingBudget {
    /// For so many peers, `at_once` of which are asked at the same time, so that all are within `whole`. With more than are asked at
    /// once each is asked less often: together they are as much work for the network and for those who answer.
    pub fn of(peers: usize, at_once: usize, whole: Duration) -> Self {
        let peers = u32::try_from(peers.max(1)).unwrap_or(u32::MAX);
        let at_once = u32::try_from(at_once.max(1)).unwrap_or(u32::MAX).min(peers);
        let turns = peers.div_ceil(at_once);
        Self {
            most: (MOST_PINGS * at_once / peers).clamp(FEWEST_PINGS, MOST_PINGS),
            longest: LONGEST_PINGS.min(whole / turns),
        }
    }
}

/// None where not a single answer came.
pub fn ping(mut stream: TcpStream, budget: PingBudget) -> Option<Pings> {
    request(&mut stream, PING, budget.longest).ok()?;
    stream.set_read_timeout(Some(ONE_PING)).ok()?;
    let start = Instant::now();
    let mut times = Vec::new();
    let (mut least, mut skew_us) = (Duration::MAX, 0);
    while times.len() < budget.most as usize && start.elapsed() < budget.longest {
        let (sent, wall) = (Instant::now(), wall_us());
        let mut answer = [0; 8];
        if stream.write_all(&[0; 8]).and_then(|()| stream.read_exact(&mut answer)).is_err() {
            break;
        }
        let took = sent.elapsed();
        if took < least {
            least = took;
            let half = i64::try_from(took.as_micros() / 2).unwrap_or(i64::MAX);
            skew_us = i64::from_le_bytes(answer) - (wall + half);
        }
        times.push(took);
    }
    times.sort_unstable();
    let micros = |time: &Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    Some(Pings {
        count: u32::try_from(times.len()).unwrap_or(u32::MAX),
        least_us: micros(times.first()?),
        median_us: micros(times.get(times.len() / 2)?),
        repeated: repeated(&stream),
        skew_us,
    })
}

/// How many packets the kernel had to send again on this connection.
fn repeated(stream: &TcpStream) -> u32 {
    // SAFETY: the kernel fills in a plain structure that we own, up to the length that we give.
    unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let mut length = libc::socklen_t::try_from(std::mem::size_of::<libc::tcp_info>()).unwrap_or(0);
        let place = (&raw mut info).cast();
        match libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &mut length) {
            0 => info.tcpi_total_retrans,
            _ => 0,
        }
    }
}

/// Bytes per second that arrive at the peer.
pub fn send_to(ip: IpAddr, port: u16) -> Option<f64> {
    let mut stream = connect(ip, port).ok()?;
    request(&mut stream, SINK, FLOW).ok()?;
    let piece = vec![0x5a; PIECE];
    let deadline = Instant::now() + FLOW + FLOW_PATIENCE;
    stream.set_nonblocking(true).ok()?;
    let mut said = [0; 16];
    let mut heard = 0;
    while heard < said.len() && Instant::now() < deadline {
        let wrote = waits(stream.write(&piece)).unwrap_or(0);
        match stream.read(&mut said[heard..]) {
            Ok(0) => break,
            Ok(count) => heard += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        if wrote == 0 {
            thread::sleep(Duration::from_micros(100));
        }
    }
    forget(&stream);
    let (bytes, micros) = said.split_at(8);
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    rate(number(bytes)?, Duration::from_micros(number(micros)?)).filter(|_| heard == said.len())
}

/// Bytes per second that come from the peer.
pub fn take_from(ip: IpAddr, port: u16) -> Option<f64> {
    let mut stream = connect(ip, port).ok()?;
    request(&mut stream, SOURCE, FLOW).ok()?;
    let mut piece = vec![0; PIECE];
    stream.set_read_timeout(Some(FLOW_PATIENCE)).ok()?;
    stream.read_exact(&mut piece[..1]).ok()?;
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < FLOW {
        stream.set_read_timeout(Some((FLOW - start.elapsed().min(FLOW)).max(Duration::from_millis(1)))).ok()?;
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => bytes += count as u64,
            _ => break,
        }
    }
    let took = start.elapsed();
    forget(&stream);
    rate(bytes, took)
}

fn waits(outcome: io::Result<usize>) -> io::Result<usize> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        outcome => outcome,
    }
}

fn rate(bytes: u64, took: Duration) -> Option<f64> {
    (bytes > 0 && !took.is_zero()).then(|| bytes as f64 / took.as_secs_f64())
}

/// What is still in the buffers is thrown away when the stream is closed, so that it does not disturb the next one.
fn forget(stream: &TcpStream) {
    let now = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &now);
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::super::responder;
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn all_peers_are_asked_within_the_time() {
        let whole = Duration::from_secs(5);
        for (peers, most, longest_ms) in [
            (0, 200, 2_500),
            (1, 200, 2_500),
            (16, 200, 2_500),
            (17, 188, 2_500),
            (32, 100, 2_500),
            (63, 50, 1_250),
            (500, 40, 156),
        ] {
            let budget = PingBudget::of(peers, 16, whole);
            assert_eq!((budget.most, budget.longest.as_millis()), (most, longest_ms), "{peers} peers");
            assert!(budget.longest * u32::try_from(peers.div_ceil(16)).unwrap() <= whole, "{peers} peers");
        }
    }

    #[test]
    fn a_responder_is_measured() {
        let port = responder::start().unwrap();
        let pings = ping(connect(HERE, port).unwrap(), PingBudget::of(1, 16, Duration::from_secs(5))).unwrap();
        assert!(pings.count > 0 && pings.least_us <= pings.median_us, "{pings:?}");
        assert!(pings.skew_us.abs() < 1_000_000, "{pings:?}");
        assert!(send_to(HERE, port).is_some_and(|speed| speed > 0.0));
        assert!(take_from(HERE, port).is_some_and(|speed| speed > 0.0));
    }

    #[test]
    fn addresses_that_lead_nowhere_take_their_time_together_and_an_open_door_ends_the_wait() {
        let port = responder::start().unwrap();
        // Kept for documentation: nothing answers there.
        let nowhere: Vec<IpAddr> = (1..=8).map(|last| IpAddr::from([192, 0, 2, last])).collect();
        let start = Instant::now();
        any_open(&nowhere, port);
        assert!(start.elapsed() < CONNECT * 3, "{:?}", start.elapsed());
        assert_eq!(any_open(&[nowhere, vec![HERE]].concat(), port), Reach::Connected);
        assert_eq!(any_open(&[], port), Reach::Silent);
    }

    #[test]
    fn a_peer_that_accepts_and_says_nothing_costs_its_time_and_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(ping(connect(HERE, port).unwrap(), PingBudget::of(1, 16, Duration::from_secs(5))), None);
        assert_eq!(take_from(HERE, port), None);
        drop(listener);
        assert_eq!(connect(HERE, port).unwrap_err(), Reach::Refused);
    }
}

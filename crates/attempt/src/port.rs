//! A port for rank 0 that no other program takes before it does.
//!
//! Picking a free port, closing it and handing on its number is a race. A [`Lease`] keeps the port bound, without
//! listening and with SO_REUSEADDR, so that rank 0 (whose store sets SO_REUSEADDR too) can bind and listen on it while
//! strangers cannot. Two Fermis would both get such a bind, so each also takes a name in the abstract socket space, which
//! belongs to the same network namespace as the port and vanishes with its holder.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use fermi_domain::language::{Explained, Hint, Setting, Text, reason};
use fermi_process::procfs;
use nix::sys::socket::{SockaddrIn, SockaddrIn6, SockaddrStorage, getsockname};

use crate::bundle::MasterPort;
use crate::listen;

pub const FIRST: u16 = 29_500;
const LAST: u16 = 30_499;

/// A port that is ours as long as this lives.
#[derive(Debug)]
pub struct Lease {
    pub port: u16,
    _bound: Option<OwnedFd>,
    _name: Option<UnixListener>,
}

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("port {port} is taken")]
    Taken {
        port: u16,
        holder: Option<Holder>,
        /// Whether it is a run of Fermi on this machine.
        by_run: bool,
        /// Whether others come to it, so that no other one can be taken here alone.
        is_agreed: bool,
    },
    #[error("no free port from {FIRST} to {LAST}")]
    NoneFree,
    #[error("cannot use port {port}")]
    Refused { port: u16, source: io::Error },
    /// It would be so with any other port.
    #[error("no more files may be open")]
    NoFiles(#[source] io::Error),
}

/// Who has the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: i32,
    pub command: String,
}

impl LeaseError {
    /// The same for a port to which others come.
    #[must_use]
    pub fn agreed(self) -> Self {
        match self {
            Self::Taken { port, holder, by_run, .. } => Self::Taken { port, holder, by_run, is_agreed: true },
            other => other,
        }
    }
}

impl Explained for LeaseError {
    fn id(&self) -> &'static str {
        "port_unavailable"
    }

    fn text(&self) -> Text {
        match self {
            Self::Taken { port, holder: Some(Holder { pid, command }), by_run: true, .. } => Text::new(
                format!("端口 {port} 已被另一个 Fermi 运行占用：进程 {pid}（{command}）"),
                format!("port {port} is taken by another run of Fermi, process {pid} ({command})"),
            ),
            Self::Taken { port, holder: None, by_run: true, .. } => Text::new(
                format!("端口 {port} 已被本机的另一个 Fermi 运行占用"),
                format!("port {port} is taken by another run of Fermi on this machine"),
            ),
            Self::Taken { port, holder: Some(Holder { pid, command }), .. } => Text::new(
                format!("端口 {port} 已被占用：进程 {pid}（{command}）"),
                format!("port {port} is taken by process {pid} ({command})"),
            ),
            Self::Taken { port, holder: None, .. } => {
                Text::new(format!("端口 {port} 已被另一个进程占用"), format!("port {port} is taken by another process"))
            }
            Self::NoneFree => Text::new(
                format!("{FIRST} 到 {LAST} 之间没有空闲端口"),
                format!("no port from {FIRST} to {LAST} is free"),
            ),
            Self::NoFiles(source) => {
                let why = reason::of_io(source);
                Text::new(format!("无法打开端口：{}", why.zh), format!("no port can be opened: {}", why.en))
            }
            Self::Refused { port, source } => {
                let why = reason::of_io(source);
                Text::new(format!("无法使用端口 {port}：{}", why.zh), format!("cannot use port {port}: {}", why.en))
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        let setting = Setting::MasterPort;
        Some(match self {
            Self::Taken { is_agreed: true, .. } => Hint::new(
                format!("等它结束，或在所有节点上换同一个 {setting}"),
                format!("wait for it to end, or name another {setting} on all of them"),
            )
            .on_command_line(
                "等它结束，或换一个端口，各处相同（--master-port，或 --rdzv-endpoint 中的）：其他 rank 也到这个端口来",
                "wait for it to end, or take another port, the same everywhere (--master-port, or that of --rdzv-endpoint): the \
                 other ranks come to it too",
            ),
            Self::Taken { .. } => Hint::new(
                format!("等它结束，换一个 {setting}，或不指定它而由 Fermi 自动选择空闲端口"),
                format!("wait for it to end, name another {setting}, or leave it out and Fermi picks a free one"),
            )
            .on_command_line(
                "等它结束，或换一个端口（--master-port，或 --rdzv-endpoint 中的）；单机上不指定端口时由 Fermi 选择",
                "wait for it to end, or take another port (--master-port, or that of --rdzv-endpoint); on one machine, without \
                 either, Fermi picks a free one",
            ),
            Self::NoneFree => {
                Hint::new(format!("用 {setting} 指定一个空闲端口"), format!("name a free one with {setting}"))
            }
            Self::NoFiles(_) => Hint::new("调高打开文件数的限制（ulimit -n 1024）", "raise the limit on open files (ulimit -n 1024)"),
            Self::Refused { .. } => Hint::new("换一个大于 1023 的端口", "choose another port, above 1023"),
        })
    }
}

/// Takes the port that the bundle asks for.
pub fn lease(wish: MasterPort) -> Result<Lease, LeaseError> {
    match wish {
        MasterPort::Elsewhere(port) => Ok(Lease { port, _bound: None, _name: None }),
        MasterPort::Exactly(port) => match take(port) {
            Ok(lease) => Ok(lease),
            Err(NotTaken { error, by_run }) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(LeaseError::Taken { port, holder: holder(port), by_run, is_agreed: false })
            }
            Err(NotTaken { error, .. }) if lacks_files(&error) => Err(LeaseError::NoFiles(error)),
            Err(NotTaken { error, .. }) => Err(LeaseError::Refused { port, source: error }),
        },
        MasterPort::Any => {
            for port in FIRST..=LAST {
                match take(port) {
                    Ok(lease) => return Ok(lease),
                    Err(NotTaken { error, .. }) if lacks_files(&error) => return Err(LeaseError::NoFiles(error)),
                    Err(_) => {}
                }
            }
            Err(LeaseError::NoneFree)
        }
    }
}

/// A port that the kernel finds free, for ranks that meet at once.
pub fn free() -> io::Result<Lease> {
    let bound = listen::bind_all(0)?;
    let address: SockaddrStorage = getsockname(bound.as_raw_fd())?;
    let v6 = address.as_sockaddr_in6().map(SockaddrIn6::port);
    let port = v6.or_else(|| address.as_sockaddr_in().map(SockaddrIn::port)).ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok(Lease { port, _bound: Some(bound), _name: None })
}

fn lacks_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Why a port could not be taken, and whether a run of Fermi has it.
struct NotTaken {
    error: io::Error,
    by_run: bool,
}

/// The name in the abstract socket space that goes with a port.
fn name_of(port: u16) -> String {
    format!("fermi/port/{port}")
}

fn take(port: u16) -> Result<Lease, NotTaken> {
    let name = SocketAddr::from_abstract_name(name_of(port));
    let name =
        name.and_then(|name| UnixListener::bind_addr(&name)).map_err(|error| NotTaken { error, by_run: true })?;
    let bound = listen::bind_all(port).map_err(|error| NotTaken { error, by_run: false })?;
    Ok(Lease { port, _bound: Some(bound), _name: Some(name) })
}

/// Finds the process that has the port or the name that goes with it, as far as we may look. The name belongs to the run that
/// has the port, of which a rank may listen there; a socket that neither has the name nor listens is what a listener has left.
fn holder(port: u16) -> Option<Holder> {
    let at_port: Vec<Socket> = tcp_sockets().into_iter().filter(|socket| socket.local == port).collect();
    let (listening, others): (Vec<_>, Vec<_>) = at_port.into_iter().partition(|socket| socket.is_listening);
    let inodes = |sockets: Vec<Socket>| sockets.into_iter().map(|socket| socket.inode).collect();
    let sought: [Vec<u64>; 3] = [named_sockets(port), inodes(listening), inodes(others)];
    let me = nix::unistd::getpid().as_raw();
    let mut best: Option<(usize, i32)> = None;
    for pid in procfs::all().into_iter().map(|stat| stat.pid).filter(|pid| *pid != me) {
        let open = open_sockets(pid);
        let place = sought.iter().position(|inodes| inodes.iter().any(|inode| open.contains(inode)));
        if let Some(place) = place.filter(|place| best.is_none_or(|(found, _)| *place < found)) {
            best = Some((place, pid));
        }
    }
    let (_, pid) = best?;
    Some(Holder { pid, command: shortened(&procfs::command_line(pid)?) })
}

/// One line of it: a command may hold a whole script.
pub fn shortened(command: &str) -> String {
    const LONGEST: usize = 120;
    let mut command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = command.char_indices().nth(LONGEST) {
        command.truncate(end);
        command.push('…');
    }
    command
}

/// The inodes of all TCP sockets whose local or remote port is this one.
pub fn sockets_on(port: u16) -> Vec<u64> {
    let is_on = |socket: &Socket| socket.local == port || socket.remote == port;
    tcp_sockets().into_iter().filter(is_on).map(|socket| socket.inode).collect()
}

/// A row of the kernel's tables of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local: u16,
    remote: u16,
    is_listening: bool,
    inode: u64,
}

fn tcp_sockets() -> Vec<Socket> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().skip(1).filter_map(socket_in).collect::<Vec<_>>())
        .collect()
}

/// `sl local:port remote:port state … inode`; bound but idle sockets are not in this table.
fn socket_in(line: &str) -> Option<Socket> {
    const LISTENING: &str = "0A";
    let mut fields = line.split_ascii_whitespace();
    let port_of = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let local = port_of(fields.nth(1)?)?;
    let remote = port_of(fields.next()?)?;
    let is_listening = fields.next()? == LISTENING;
    let inode = fields.nth(5)?.parse().ok()?;
    Some(Socket { local, remote, is_listening, inode })
}

/// The inode of the socket that has the port's name: a run that has only bound the port shows in no table of TCP.
fn named_sockets(port: u16) -> Vec<u64> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    table.lines().filter_map(|line| socket_named(line, &name_of(port))).collect()
}

/// `address: count protocol flags type state inode path`, where a name that is no path begins with an `@`.
fn socket_named(line: &str, name: &str) -> Option<u64> {
    let (rest, path) = line.rsplit_once(' ')?;
    let inode = rest.split_ascii_whitespace().nth(6)?.parse().ok()?;
    (path.strip_prefix('@')? == name).then_some(inode)
}

/// The inodes of the sockets that a process holds.
pub fn open_sockets(pid: i32) -> Vec<u64> {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.ok()?.path()).ok()?;
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
    use std::os::fd::AsRawFd;

    use fermi_domain::language::FrontEnd;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, socket};

    use super::*;

    #[test]
    fn two_leases_never_share_a_port() {
        let one = lease(MasterPort::Any).unwrap();
        let two = lease(MasterPort::Any).unwrap();
        assert_ne!(one.port, two.port);
    }

    #[test]
    fn rank_0_can_listen_on_the_leased_port_and_a_stranger_cannot_bind_it() {
        let lease = lease(MasterPort::Any).unwrap();
        // std sets SO_REUSEADDR, as torch's store does.
        let listener = TcpListener::bind(("0.0.0.0", lease.port)).unwrap();
        drop(listener);
        let stranger = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        let address = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, lease.port));
        assert!(bind(stranger.as_raw_fd(), &address).is_err());
    }

    #[test]
    fn a_taken_port_is_an_error_and_is_never_moved() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let refused = lease(MasterPort::Exactly(port));
        assert!(matches!(refused, Err(LeaseError::Taken { port: p, by_run: false, .. }) if p == port), "{refused:?}");
        let held = lease(MasterPort::Any).unwrap();
        let refused = lease(MasterPort::Exactly(held.port)).unwrap_err();
        assert!(matches!(refused, LeaseError::Taken { by_run: true, .. }), "{refused:?}");
        assert!(refused.text().en.contains("another run of Fermi"), "{}", refused.text().en);
    }

    #[test]
    fn a_port_that_may_not_be_had_is_told_without_words_of_the_system() {
        let source = io::Error::from_raw_os_error(libc::EACCES);
        let told = LeaseError::Refused { port: 80, source }.text();
        assert_eq!((&*told.zh, &*told.en), ("无法使用端口 80：没有权限", "cannot use port 80: permission is denied"));
    }

    #[test]
    fn where_others_come_to_a_port_nobody_is_told_that_another_is_picked() {
        let taken = LeaseError::Taken { port: 29_500, holder: None, by_run: false, is_agreed: false };
        let hint = |error: &LeaseError| error.hint().unwrap().spelled(FrontEnd::CommandLine).en.into_owned();
        assert!(hint(&taken).contains("picks a free one"));
        assert!(hint(&taken.agreed()).contains("the same everywhere"));
    }

    #[test]
    fn a_named_socket_is_found_in_the_table() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 4711 @fermi/port/29500";
        assert_eq!(socket_named(line, "fermi/port/29500"), Some(4711));
        assert_eq!(socket_named(line, "fermi/port/2950"), None);
        assert_eq!(socket_named(&line.replace(" @", " /"), "fermi/port/29500"), None);
    }

    #[test]
    fn the_table_of_sockets_is_read() {
        let line =
            "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 4711 1 0 100 0 0 10 0";
        let found = socket_in(line).unwrap();
        assert_eq!(found, Socket { local: 29_500, remote: 0, is_listening: true, inode: 4711 });
        let connected = socket_in(&line.replace("00000000:0000 0A", "0100007F:1F90 01")).unwrap();
        assert_eq!((connected.remote, connected.is_listening), (8080, false));
    }

    /// A process whose descriptor 0 is a socket of ours.
    fn child_with(socket: impl Into<OwnedFd>) -> std::process::Child {
        let mut command = std::process::Command::new("/bin/sleep");
        command.arg("600").stdin(socket.into());
        command.spawn().unwrap()
    }

    #[test]
    fn the_holder_of_a_port_is_who_listens_there_and_not_who_is_connected_to_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let accepted = listener.accept().unwrap().0;
        // The client has the lowest number, and whom a connection was given to a lower one than the listener.
        let mut children = [child_with(client), child_with(accepted), child_with(listener)];
        let pids = [0, 1, 2].map(|index: usize| i32::try_from(children[index].id()).unwrap());
        let found = |index: usize| holder(port).map(|holder| holder.pid) == Some(pids[index]);
        assert!(found(2), "{:?} of {pids:?}", holder(port));
        for (index, next) in [(2, Some(1)), (1, None)] {
            children[index].kill().unwrap();
            children[index].wait().unwrap();
            match next {
                Some(next) => assert!(found(next), "{:?} of {pids:?}", holder(port)),
                None => assert_eq!(holder(port), None),
            }
        }
        children[0].kill().unwrap();
        children[0].wait().unwrap();
    }
}

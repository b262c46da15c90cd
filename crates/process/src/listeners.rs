//! Which sockets wait for connections, by asking the kernel for those alone. Its table in `/proc` has every connection of the
//! machine and every empty place for one: on a machine with much memory that is milliseconds, in which a restart waits.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The family of messages about sockets, its question, and how answers to it end.
const SOCK_DIAG: libc::c_int = 4;
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const REQUEST_DUMP: u16 = 0x1 | 0x300;
/// The state in which a socket waits for connections.
const LISTENS: u32 = 1 << 10;
/// Lengths of a message's head, of the question behind it, and of an answer; where the port and the inode stand in that.
const HEAD: usize = 16;
const QUESTION: usize = 56;
const ANSWER: usize = 72;
const PORT_AT: usize = 4;
const INODE_AT: usize = 68;
/// The kernel answers at once.
const PATIENCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 200_000 };

/// The inode and the port of each; an error where the kernel does not answer such questions.
pub fn all() -> io::Result<Vec<(u64, u16)>> {
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        found.extend(of_family(u8::try_from(family).unwrap_or(0))?);
    }
    Ok(found)
}

fn of_family(family: u8) -> io::Result<Vec<(u64, u16)>> {
    let socket = socket()?;
    let question = question(family);
    // SAFETY: the bytes are read while they are borrowed.
    let sent = unsafe { libc::send(socket.as_raw_fd(), question.as_ptr().cast(), question.len(), 0) };
    if usize::try_from(sent) != Ok(question.len()) {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut buffer) = (Vec::new(), vec![0_u8; 32 << 10]);
    loop {
        // SAFETY: the kernel writes into a buffer of ours that is as long as it is told.
        let read = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(read @ 1..) = usize::try_from(read) else { return Err(io::Error::last_os_error()) };
        if take(buffer.get(..read).unwrap_or_default(), &mut found)? {
            return Ok(found);
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: plain numbers; what comes back is owned by nobody else.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, SOCK_DIAG) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see above.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let patience = PATIENCE;
    let length = libc::socklen_t::try_from(size_of::<libc::timeval>()).unwrap_or(0);
    // SAFETY: the option is read, as long as it is told.
    match unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const patience).cast(), length)
    } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

fn question(family: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(HEAD + QUESTION);
    text.extend(u32::try_from(HEAD + QUESTION).unwrap_or(0).to_ne_bytes());
    text.extend(BY_FAMILY.to_ne_bytes());
    text.extend(REQUEST_DUMP.to_ne_bytes());
    text.resize(HEAD, 0);
    text.extend([family, u8::try_from(libc::IPPROTO_TCP).unwrap_or(0), 0, 0]);
    text.extend(LISTENS.to_ne_bytes());
    text.resize(HEAD + QUESTION, 0);
    text
}

/// Takes what a reply has; true once it was the last.
fn take(mut reply: &[u8], found: &mut Vec<(u64, u16)>) -> io::Result<bool> {
    while let Some(head) = reply.get(..HEAD) {
        let length = usize::try_from(u32::from_ne_bytes([head[0], head[1], head[2], head[3]])).unwrap_or(0);
        let Some(body) = reply.get(HEAD..length) else { return Err(io::ErrorKind::InvalidData.into()) };
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(true),
            ERROR => {
                let number = body.first_chunk().map_or(0, |number| i32::from_ne_bytes(*number));
                return Err(io::Error::from_raw_os_error(number.wrapping_neg()));
            }
            BY_FAMILY => {
                let Some(body) = body.get(..ANSWER) else { return Err(io::ErrorKind::InvalidData.into()) };
                let inode =
                    u32::from_ne_bytes([body[INODE_AT], body[INODE_AT + 1], body[INODE_AT + 2], body[INODE_AT + 3]]);
                found.push((u64::from(inode), u16::from_be_bytes([body[PORT_AT], body[PORT_AT + 1]])));
            }
            _ => {}
        }
        // Messages begin at multiples of four.
        reply = reply.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_listens_is_told_by_the_kernel() {
        let listeners = ["127.0.0.1:0", "[::]:0"].map(|address| TcpListener::bind(address).unwrap());
        let found = all().unwrap();
        for listener in listeners {
            let inode = std::fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
            let inode =
                inode.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')).unwrap().parse();
            assert!(found.contains(&(inode.unwrap(), listener.local_addr().unwrap().port())), "{found:?}");
        }
    }

    #[test]
    fn replies_that_are_cut_or_refuse_are_errors() {
        let message = |kind: u16, body: &[u8]| {
            let mut text = u32::try_from(HEAD + body.len()).unwrap().to_ne_bytes().to_vec();
            text.extend(kind.to_ne_bytes());
            text.resize(HEAD, 0);
            text.extend(body);
            text
        };
        let mut answer = [0; ANSWER];
        answer[PORT_AT..PORT_AT + 2].copy_from_slice(&8_080_u16.to_be_bytes());
        answer[INODE_AT..].copy_from_slice(&77_u32.to_ne_bytes());
        let whole = [message(BY_FAMILY, &answer), message(DONE, &[0; 4])].concat();
        let taken = |reply: &[u8]| {
            let mut found = Vec::new();
            take(reply, &mut found).map(|is_last| (is_last, found)).map_err(|error| error.raw_os_error())
        };
        assert_eq!(taken(&whole), Ok((true, vec![(77, 8_080)])));
        assert_eq!(taken(&whole[..HEAD + ANSWER]), Ok((false, vec![(77, 8_080)])));
        assert_eq!(taken(&whole[..HEAD + 8]), Err(None));
        assert_eq!(taken(&message(BY_FAMILY, &[0; 8])), Err(None));
        assert_eq!(taken(&message(ERROR, &(-libc::ENOENT).to_ne_bytes())), Err(Some(libc::ENOENT)));
        assert_eq!(taken(&[0; HEAD]), Err(None), "a message of no length");
    }
}

//! Messages between nodes: a magic word with the version, a length, JSON.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

const MAGIC: [u8; 4] = *b"FRD1";
const HEADER: usize = 8;
/// Facts of a machine with many GPUs take some tens of kilobytes.
const LONGEST: usize = 8 << 20;

pub fn send<T: Serialize>(mut stream: &TcpStream, message: &T, deadline: Instant) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend(MAGIC);
    frame.extend(length.to_le_bytes());
    frame.extend(body);
    stream.set_write_timeout(Some(left(deadline)))?;
    stream.write_all(&frame)
}

/// Waits for one message until the deadline. After an error the stream is of no further use.
pub fn receive<T: DeserializeOwned>(stream: &TcpStream, deadline: Instant) -> io::Result<T> {
    let mut header = [0; HEADER];
    fill(stream, &mut header, deadline)?;
    let (magic, length) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "speaks another protocol"));
    }
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
    }
    let mut body = vec![0; length];
    fill(stream, &mut body, deadline)?;
    serde_json::from_slice(&body).map_err(io::Error::from)
}

/// A peer that sends a byte now and then does not win time by it.
fn fill(mut stream: &TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left(deadline)))?;
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Never zero, which sockets refuse.
pub fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_peer_that_sends_half_a_message_is_waited_for_until_the_deadline_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let soon = || Instant::now() + Duration::from_millis(100);
        let later = || Instant::now() + Duration::from_secs(60);
        send(&caller, &vec![1, 2, 3], later()).unwrap();
        assert_eq!(receive::<Vec<i32>>(&stream, later()).unwrap(), [1, 2, 3]);
        caller.write_all(b"FRD1\x10\0\0\0[1,").unwrap();
        assert_eq!(receive::<Vec<i32>>(&stream, soon()).unwrap_err().kind(), io::ErrorKind::TimedOut);
        caller.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let (stranger, _) = (stream, ());
        drop(caller);
        assert!(receive::<Vec<i32>>(&stranger, later()).is_err());
    }
}

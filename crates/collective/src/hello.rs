//! What ranks say to each other before they trust each other: one frame there, one frame back.
//!
//! A frame is a magic word, a version and a length, then JSON. The magic word tells strangers from ranks, the version
//! tells ranks of different releases apart before anything else of them is read.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 4] = *b"FRMC";
pub(crate) const VERSION: u16 = 3;
const HEADER: usize = 10;
/// Room for the addresses of some ten thousand ranks, and too little to hurt when a stranger claims it.
const LONGEST_BODY: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hello {
    pub run_id: String,
    pub rank: usize,
    pub world_size: usize,
    #[serde(rename = "errand")]
    pub purpose: HelloPurpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HelloPurpose {
    /// To rank 0: let me in; my left neighbour will find me at this port. The address is the one rank 0 sees, because
    /// a machine rarely knows under which of its addresses others reach it.
    #[serde(rename_all = "camelCase")]
    Join { ring_port: u16 },
    /// To the right neighbour: I am your left one.
    Neighbour,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HelloReply {
    /// Where each rank listens for its left neighbour, by rank; empty between neighbours.
    Welcome {
        ring: Vec<SocketAddr>,
    },
    Refused {
        reason: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("spoke no Fermi")]
    NotFermi,
    #[error("speaks version {0} of the protocol and this rank version {VERSION}")]
    Version(u16),
    #[error("sent a message that cannot be read")]
    Unreadable,
    #[error("said nothing for {0:.0} s")]
    Silent(f64),
    #[error("hung up")]
    HungUp(#[source] io::Error),
}

/// The message once `received` holds all of it; garbage is known by its first bytes, long before it ends.
pub(crate) fn parse<T: DeserializeOwned>(received: &[u8]) -> Result<Option<T>, FrameError> {
    let seen = received.len().min(MAGIC.len());
    if received[..seen] != MAGIC[..seen] {
        return Err(FrameError::NotFermi);
    }
    let Some((header, body)) = received.split_at_checked(HEADER) else { return Ok(None) };
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    let length = u32::from_le_bytes([header[6], header[7], header[8], header[9]]) as usize;
    if length > LONGEST_BODY {
        return Err(FrameError::Unreadable);
    }
    match body.get(..length) {
        None => Ok(None),
        Some(body) => serde_json::from_slice(body).map(Some).map_err(|_| FrameError::Unreadable),
    }
}

pub(crate) fn send<T: Serialize>(stream: &mut TcpStream, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend(MAGIC);
    frame.extend(VERSION.to_le_bytes());
    frame.extend(length.to_le_bytes());
    frame.extend(body);
    stream.write_all(&frame)
}

/// Waits for one message on a blocking stream.
pub(crate) fn receive<T: DeserializeOwned>(stream: &mut TcpStream, deadline: Instant) -> Result<T, FrameError> {
    let start = Instant::now();
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(message) = parse(&received)? {
            return Ok(message);
        }
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let read = stream.set_read_timeout(Some(left)).and_then(|()| stream.read(&mut piece));
        match read {
            Ok(0) => return Err(FrameError::HungUp(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => received.extend(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if Instant::now() >= deadline {
                    return Err(FrameError::Silent(start.elapsed().as_secs_f64()));
                }
            }
            Err(error) => return Err(FrameError::HungUp(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(version: u16, body: &[u8]) -> Vec<u8> {
        [&MAGIC[..], &version.to_le_bytes(), &(body.len() as u32).to_le_bytes(), body].concat()
    }

    #[test]
    fn strangers_words_are_read_or_refused() {
        let hello = Hello { run_id: "r".into(), rank: 1, world_size: 2, purpose: HelloPurpose::Join { ring_port: 7 } };
        let hello = frame(VERSION, &serde_json::to_vec(&hello).unwrap());
        let reply = HelloReply::Welcome { ring: vec![([10, 0, 0, 1], 7).into(), ([10, 0, 0, 2], 8).into()] };
        let reply = frame(VERSION, &serde_json::to_vec(&reply).unwrap());
        fermi_mutator::try_all(&[&hello, &reply], 4_000, |case| {
            let _ = (parse::<Hello>(case), parse::<HelloReply>(case));
        });
    }

    #[test]
    fn a_hello_is_complete_only_with_its_last_byte() {
        let hello = Hello { run_id: "r".into(), rank: 1, world_size: 2, purpose: HelloPurpose::Join { ring_port: 7 } };
        let whole = frame(VERSION, &serde_json::to_vec(&hello).unwrap());
        for end in 0..whole.len() {
            assert!(parse::<Hello>(&whole[..end]).unwrap().is_none());
        }
        assert_eq!(parse(&whole).unwrap(), Some(hello));
    }

    #[test]
    fn strangers_other_versions_and_nonsense_are_told_apart() {
        assert!(matches!(parse::<Hello>(b"GET / HTTP/1.1"), Err(FrameError::NotFermi)));
        assert!(matches!(parse::<Hello>(b"FG"), Err(FrameError::NotFermi)));
        assert!(matches!(parse::<Hello>(&frame(9, b"")), Err(FrameError::Version(9))));
        assert!(matches!(parse::<Hello>(&frame(VERSION, b"{}")), Err(FrameError::Unreadable)));
        let boast = [&MAGIC[..], &VERSION.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
        assert!(matches!(parse::<Hello>(&boast), Err(FrameError::Unreadable)));
    }
}

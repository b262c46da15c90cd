//! The words between a launcher and its supervisor, over a socket pair: a length, then JSON.

use std::io::{self, Read, Write};

use fermi_process::pty::WindowSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bundle::NodeBundle;

/// Nothing we say is larger; more is a damaged stream.
const LARGEST: usize = 64 << 20;

/// What a launcher says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    Launch(Box<NodeBundle>),
    /// Climb the stop ladder, with this signal on its planned rung.
    Stop {
        signal: i32,
    },
    /// SIGKILL now.
    Kill,
    /// What the user typed.
    Input(Vec<u8>),
    InputEnded,
    Resize(WindowSize),
}

/// Writes one message.
pub fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes());
    frame.extend_from_slice(&body);
    stream.write_all(&frame)
}

/// Takes messages out of a stream as they arrive.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
}

/// What reading brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    Open,
    /// The other side is gone.
    Closed,
}

impl Inbox {
    /// Reads what is there once; blocks only if the stream does.
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<Reading> {
        let mut chunk = [0; 16 * 1024];
        match stream.read(&mut chunk) {
            Ok(0) => Ok(Reading::Closed),
            Ok(n) => {
                self.bytes.extend_from_slice(&chunk[..n]);
                Ok(Reading::Open)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(Reading::Open)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Reading::Closed),
            Err(error) => Err(error),
        }
    }

    /// The next whole message, if there is one.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(head) = self.bytes.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of impossible length"));
        }
        let Some(body) = self.bytes.get(4..4 + length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_were_cut() {
        let mut wire = Vec::new();
        write(&mut wire, &Order::Stop { signal: 2 }).unwrap();
        write(&mut wire, &Order::Input(vec![0xff, b'x'])).unwrap();
        let mut inbox = Inbox::default();
        let mut seen = Vec::new();
        for byte in wire {
            inbox.bytes.push(byte);
            while let Some(order) = inbox.take::<Order>().unwrap() {
                seen.push(order);
            }
        }
        assert!(matches!(&seen[..], [Order::Stop { signal: 2 }, Order::Input(bytes)] if bytes == &[0xff, b'x']));
    }

    #[test]
    fn an_impossible_length_is_an_error_not_an_allocation() {
        let mut inbox = Inbox { bytes: vec![0xff; 8] };
        assert!(inbox.take::<Order>().is_err());
    }
}

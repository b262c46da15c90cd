//! Messages between a launcher and its supervisor, and between supervisors: a length, then JSON. Between supervisors that
//! know a secret both are signed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use fermi_process::pty::WindowSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bundle::NodeBundle;
use crate::frame_signature::{FrameSignature, SIGNATURE};
use crate::unknown;

/// Nothing we say is larger; more is a damaged stream.
const LARGEST: usize = 64 << 20;
/// The length of a message, in bytes.
const HEAD: usize = 4;
/// What may wait for a peer that does not read.
const MOST_WAITING: usize = 8 << 20;

/// What a launcher says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SupervisorOrder {
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

/// Writes one message to a stream that takes it whole.
pub fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&encode(message)?)
}

fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - HEAD).map_err(io::Error::other)?;
    frame[..HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Messages on their way to a peer over a stream that never waits: a peer that does not read holds up no other, and never
/// gets half a message followed by another one.
#[derive(Debug)]
pub struct Outbox {
    waiting: VecDeque<u8>,
    /// When the peer last took something.
    moved: Instant,
    signature: Option<Box<FrameSignature>>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), moved: Instant::now(), signature: None }
    }
}

impl Outbox {
    /// Every message from here on is signed.
    pub fn sign(&mut self, signature: FrameSignature) {
        self.signature = Some(Box::new(signature));
    }

    /// Sends a message, or the beginning of it; [`Outbox::flush`] sends the rest. After an error the stream is of no more
    /// use.
    pub fn send(&mut self, stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
        if self.waiting.is_empty() {
            self.moved = Instant::now();
        }
        self.waiting.extend(match &mut self.signature {
            None => encode(message)?,
            Some(signature) => signature.frame(&serde_json::to_vec(message)?)?,
        });
        self.flush(stream)?;
        if self.waiting.len() > MOST_WAITING {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read"));
        }
        Ok(())
    }

    /// Sends what the peer takes now.
    pub fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match stream.write(self.waiting.as_slices().0) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.moved = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether everything was sent.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How long the peer has taken nothing although there is something for it.
    pub fn stuck_for(&self) -> Duration {
        if self.is_empty() { Duration::ZERO } else { self.moved.elapsed() }
    }
}

/// Takes messages out of a stream as they arrive.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    largest: usize,
    /// How much more is read from one who is not known yet.
    left: Option<usize>,
    signature: Option<Box<FrameSignature>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: Vec::new(), largest: LARGEST, left: None, signature: None }
    }
}

/// What reading brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    /// Something came.
    Some,
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    Closed,
}

impl Inbox {
    /// Reads no more than this many bytes in all, whatever the other side sends or claims to send.
    pub fn for_stranger(most: usize) -> Self {
        Self { largest: most, left: Some(most), ..Self::default() }
    }

    /// The other side is known by now and may send what we send ourselves.
    pub fn allow_all(&mut self) {
        self.largest = LARGEST;
        self.left = None;
    }

    /// Every message from here on must be signed; what has come already counts among them.
    pub fn check(&mut self, signature: FrameSignature) {
        self.signature = Some(Box::new(signature));
    }

    /// Reads what is there once; blocks only if the stream does.
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<Reading> {
        let mut chunk = [0; 16 * 1024];
        let room = self.left.unwrap_or(chunk.len()).min(chunk.len());
        if room == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more than one who is not known may say"));
        }
        match stream.read(&mut chunk[..room]) {
            Ok(0) => Ok(Reading::Closed),
            Ok(n) => {
                self.bytes.extend_from_slice(&chunk[..n]);
                self.left = self.left.map(|left| left - n);
                Ok(Reading::Some)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(Reading::Nothing)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Reading::Closed),
            Err(error) => Err(error),
        }
    }

    /// The next whole message, if there is one; one that cannot be read is an error.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        Ok(self.take_body()?.map(|body| serde_json::from_slice(&body)).transpose()?)
    }

    /// The next whole message of a kind that we know, if there is one. A peer of a later version may send others as well,
    /// which are passed over; a message of a known kind that cannot be read is an error.
    pub fn take_known<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        while let Some(body) = self.take_body()? {
            match serde_json::from_slice(&body) {
                Ok(message) => return Ok(Some(message)),
                Err(error) if !unknown::is_of_unknown_kind::<T>(&body) => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// The next whole message as it was sent, if there is one.
    pub fn take_body(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        let signed = if self.signature.is_some() { SIGNATURE } else { 0 };
        if let Some(signature) = &self.signature {
            let Some(of_length) = self.bytes.get(HEAD..HEAD + signed) else { return Ok(None) };
            signature.check_length(head, of_length)?;
        }
        if length > self.largest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of impossible length"));
        }
        let (begin, end) = (HEAD + signed, HEAD + signed + length);
        let Some(body) = self.bytes.get(begin..end) else { return Ok(None) };
        let Some(of_body) = self.bytes.get(end..end + signed) else { return Ok(None) };
        if let Some(signature) = &mut self.signature {
            signature.check_body(body, of_body)?;
        }
        let body = body.to_vec();
        self.bytes.drain(..end + signed);
        Ok(Some(body))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_were_cut() {
        let mut wire = Vec::new();
        write(&mut wire, &SupervisorOrder::Stop { signal: 2 }).unwrap();
        write(&mut wire, &SupervisorOrder::Input(vec![0xff, b'x'])).unwrap();
        let mut inbox = Inbox::default();
        let mut seen = Vec::new();
        for byte in wire {
            inbox.bytes.push(byte);
            while let Some(order) = inbox.take::<SupervisorOrder>().unwrap() {
                seen.push(order);
            }
        }
        assert!(
            matches!(&seen[..], [SupervisorOrder::Stop { signal: 2 }, SupervisorOrder::Input(bytes)] if bytes == &[0xff, b'x'])
        );
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Known {
        Alive,
        Count(u32),
    }

    fn inbox_of(messages: &[serde_json::Value]) -> Inbox {
        let mut inbox = Inbox::default();
        messages.iter().for_each(|message| write(&mut inbox.bytes, message).unwrap());
        inbox
    }

    #[test]
    fn messages_of_unknown_kinds_are_passed_over() {
        let news = [json!("later"), json!({"much": {"later": 1}}), json!({"count": 2}), json!("more"), json!("alive")];
        let mut inbox = inbox_of(&news);
        assert_eq!(inbox.take_known().unwrap(), Some(Known::Count(2)));
        assert_eq!(inbox.take_known().unwrap(), Some(Known::Alive));
        assert_eq!(inbox.take_known::<Known>().unwrap(), None);
        assert!(inbox_of(&news).take::<Known>().is_err(), "whoever is not known yet is held to the word");
    }

    #[test]
    fn a_known_message_that_cannot_be_read_is_an_error() {
        for message in [json!({"count": "two"}), json!({"count": -1}), json!(7), json!({"count": 1, "more": 2})] {
            assert!(inbox_of(&[message]).take_known::<Known>().is_err());
        }
    }

    /// Takes so many bytes and then no more.
    struct Peer {
        got: Vec<u8>,
        room: usize,
    }

    impl Write for Peer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            self.room -= count;
            self.got.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_peer_that_stalls_in_the_middle_of_a_message_gets_the_rest_of_it_before_the_next() {
        let mut peer = Peer { got: Vec::new(), room: 7 };
        let mut outbox = Outbox::default();
        outbox.send(&mut peer, &SupervisorOrder::Stop { signal: 2 }).unwrap();
        outbox.send(&mut peer, &SupervisorOrder::Kill).unwrap();
        assert!(!outbox.is_empty() && peer.got.len() == 7);
        peer.room = 1000;
        outbox.flush(&mut peer).unwrap();
        assert!(outbox.is_empty());
        let mut inbox = Inbox { bytes: peer.got, ..Inbox::default() };
        assert!(matches!(inbox.take().unwrap(), Some(SupervisorOrder::Stop { signal: 2 })));
        assert!(matches!(inbox.take().unwrap(), Some(SupervisorOrder::Kill)));
    }

    #[test]
    fn what_waits_for_a_peer_that_never_reads_is_bounded() {
        let mut peer = Peer { got: Vec::new(), room: 0 };
        let mut outbox = Outbox::default();
        let message = SupervisorOrder::Input(vec![b'x'; 100_000]);
        let sent = (0..1000).take_while(|_| outbox.send(&mut peer, &message).is_ok()).count();
        assert!((1..200).contains(&sent), "{sent} messages waited");
    }

    #[test]
    fn a_stranger_cannot_claim_more_than_it_is_allowed() {
        let mut inbox = Inbox::for_stranger(10);
        inbox.bytes.extend_from_slice(&11u32.to_le_bytes());
        assert!(inbox.take::<SupervisorOrder>().is_err());
        inbox.allow_all();
        assert!(inbox.take::<SupervisorOrder>().unwrap().is_none(), "it has not come yet");
    }

    #[test]
    fn no_more_is_read_of_a_stranger_than_it_is_allowed() {
        let (mut inbox, sent) = (Inbox::for_stranger(10), [0; 100]);
        let mut rest = sent.as_slice();
        assert_eq!(inbox.fill(&mut rest).unwrap(), Reading::Some);
        assert!(inbox.fill(&mut rest).is_err());
        assert_eq!((inbox.bytes.len(), rest.len()), (10, 90));
        inbox.allow_all();
        assert_eq!(inbox.fill(&mut rest).unwrap(), Reading::Some);
    }

    #[test]
    fn an_impossible_length_is_an_error_not_an_allocation() {
        let mut inbox = Inbox { bytes: vec![0xff; 8], ..Inbox::default() };
        assert!(inbox.take::<SupervisorOrder>().is_err());
    }
}

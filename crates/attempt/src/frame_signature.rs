//! What is signed of each frame on a link: its place in the order, the way it goes, its length and its body.

use std::fmt;
use std::io;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The length of a signature.
pub const SIGNATURE: usize = 32;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToCoordinator,
    ToNode,
}

impl Direction {
    pub fn opposite(self) -> Self {
        match self {
            Self::ToCoordinator => Self::ToNode,
            Self::ToNode => Self::ToCoordinator,
        }
    }
}

/// Signs the frames of one direction, or checks them. The number of a frame is counted on both sides and never sent: one
/// that is repeated, left out or moved does not fit.
pub struct FrameSignature {
    key: Hmac<Sha256>,
    direction: Direction,
    number: u64,
}

impl FrameSignature {
    pub fn new(key: &[u8; SIGNATURE], direction: Direction) -> io::Result<Self> {
        let key = Hmac::new_from_slice(key).map_err(io::Error::other)?;
        Ok(Self { key, direction, number: 0 })
    }

    /// The frame of this body: its length and its body, each with a signature. That of the length is checked before the
    /// body has come, so that nobody waits for bytes that were never sent.
    pub fn frame(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes();
        let of_length = self.over(Part::Length, &length).finalize().into_bytes();
        let of_body = self.over(Part::Body, body).finalize().into_bytes();
        self.number += 1;
        Ok([&length, of_length.as_slice(), body, of_body.as_slice()].concat())
    }

    pub fn check_length(&self, length: &[u8], signature: &[u8]) -> Result<(), ForgedFrame> {
        self.over(Part::Length, length).verify_slice(signature).map_err(|_| ForgedFrame)
    }

    /// The next frame is expected from here on.
    pub fn check_body(&mut self, body: &[u8], signature: &[u8]) -> Result<(), ForgedFrame> {
        self.over(Part::Body, body).verify_slice(signature).map_err(|_| ForgedFrame)?;
        self.number += 1;
        Ok(())
    }

    fn over(&self, part: Part, bytes: &[u8]) -> Hmac<Sha256> {
        let mut signed = self.key.clone();
        signed.update(&[self.direction as u8, part as u8]);
        signed.update(&self.number.to_le_bytes());
        signed.update(bytes);
        signed
    }
}

impl fmt::Debug for FrameSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameSignature").field("direction", &self.direction).field("number", &self.number).finish()
    }
}

#[derive(Clone, Copy)]
enum Part {
    Length,
    Body,
}

/// A frame that the other side has not sent, or not as the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message was changed, repeated, left out or sent back on its way")]
pub struct ForgedFrame;

impl ForgedFrame {
    /// Whether this is why nothing more could be read.
    pub fn is_cause_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|cause| cause.is::<Self>())
    }
}

impl From<ForgedFrame> for io::Error {
    fn from(forged: ForgedFrame) -> Self {
        Self::new(io::ErrorKind::InvalidData, forged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(key: u8, direction: Direction) -> FrameSignature {
        FrameSignature::new(&[key; SIGNATURE], direction).unwrap()
    }

    fn check(signature: &mut FrameSignature, frame: &[u8]) -> Result<(), ForgedFrame> {
        let (length, rest) = frame.split_at(4);
        let (of_length, rest) = rest.split_at(SIGNATURE);
        let (body, of_body) = rest.split_at(rest.len() - SIGNATURE);
        signature.check_length(length, of_length)?;
        signature.check_body(body, of_body)
    }

    #[test]
    fn a_frame_fits_once_in_its_place_and_on_its_way() {
        let mut sender = signature(1, Direction::ToNode);
        let (first, second) = (sender.frame(b"one").unwrap(), sender.frame(b"two").unwrap());
        let mut receiver = signature(1, Direction::ToNode);
        assert_eq!(check(&mut receiver, &second), Err(ForgedFrame), "the first was left out");
        assert_eq!(check(&mut receiver, &first), Ok(()));
        assert_eq!(check(&mut receiver, &first), Err(ForgedFrame), "it was repeated");
        assert_eq!(check(&mut receiver, &second), Ok(()));
        assert_eq!(check(&mut signature(1, Direction::ToCoordinator), &first), Err(ForgedFrame), "it was sent back");
        assert_eq!(check(&mut signature(2, Direction::ToNode), &first), Err(ForgedFrame), "it is of another session");
    }

    #[test]
    fn no_bit_of_a_frame_can_be_changed() {
        let frame = signature(1, Direction::ToCoordinator).frame(b"alive").unwrap();
        for place in 0..frame.len() * 8 {
            let mut changed = frame.clone();
            changed[place / 8] ^= 1 << (place % 8);
            assert_eq!(check(&mut signature(1, Direction::ToCoordinator), &changed), Err(ForgedFrame), "bit {place}");
        }
    }

    #[test]
    fn a_signature_of_the_length_is_none_of_a_body() {
        let mut sender = signature(1, Direction::ToNode);
        let of_length = sender.over(Part::Length, b"abcd").finalize().into_bytes();
        assert_eq!(signature(1, Direction::ToNode).check_body(b"abcd", &of_length), Err(ForgedFrame));
        assert!(!format!("{sender:?}").contains("key"), "a key is not shown");
        sender.frame(b"").unwrap();
    }
}

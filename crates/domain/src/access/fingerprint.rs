//! How a certificate is known without a file: by its SHA-256.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const PREFIX: &str = "sha256:";

/// The SHA-256 of a certificate, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint([u8; 32]);

/// Why a text is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is sha256: and 64 hexadecimal digits")]
pub struct NoFingerprint;

impl Fingerprint {
    pub fn of_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    /// Takes also what openssl prints: capital letters, with colons between the bytes.
    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let text = text.trim();
        let digits = match text.split_at_checked(PREFIX.len()) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) => rest,
            _ => text,
        };
        let digits: Vec<u32> =
            digits.chars().filter(|c| *c != ':').map(|c| c.to_digit(16)).collect::<Option<_>>().ok_or(NoFingerprint)?;
        if digits.len() != 64 {
            return Err(NoFingerprint);
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::try_from(pair[0] * 16 + pair[1]).map_err(|_| NoFingerprint)?;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = NoFingerprint;

    fn try_from(text: String) -> Result<Self, NoFingerprint> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_we_write_it_and_as_openssl_does() {
        let ours = format!("sha256:{}", "0a".repeat(32));
        let read: Fingerprint = ours.parse().unwrap();
        assert_eq!(read.to_string(), ours);
        for text in ["0A:".repeat(32).trim_end_matches(':').to_owned(), format!(" SHA256:{} ", "0A".repeat(32))] {
            assert_eq!(text.parse(), Ok(read), "{text}");
        }
        for text in ["", "sha256:", "sha256:0a", &"0a".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(text.parse::<Fingerprint>(), Err(NoFingerprint), "{text}");
        }
    }
}

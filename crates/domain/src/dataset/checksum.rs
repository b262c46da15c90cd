//! What is stated about the content of a version: a digest of all of it, or of samples.

use std::fmt;

/// A file that is larger is not read whole before ranks start: 1 GiB.
pub const LARGEST_HASHED: u64 = 1 << 30;
/// So many files of a folder are sampled, spread over all of them.
pub const SAMPLED_FILES: usize = 64;
/// So much is read at the beginning, in the middle and at the end of a sampled file.
pub const SAMPLED_BLOCK: u64 = 64 << 10;
/// Letters of a digest.
pub const HEX_LENGTH: usize = 64;

/// How a digest is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumKind {
    /// SHA-256 of one file, as `sha256sum` prints it.
    Sha256,
    /// SHA-256 of the names and sizes of all files in the order of their names, and of the blocks of some: what
    /// `fermi dataset inspect` prints.
    Sampled,
}

/// A digest with its kind, written `sha256:…` or `sampled:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    pub kind: ChecksumKind,
    pub hex: String,
}

impl Checksum {
    /// 64 hexadecimal digits without a kind are SHA-256.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, hex) = match text.trim().split_once(':') {
            None => (ChecksumKind::Sha256, text.trim()),
            Some(("sha256", hex)) => (ChecksumKind::Sha256, hex),
            Some(("sampled", hex)) => (ChecksumKind::Sampled, hex),
            Some(_) => return None,
        };
        let is_digest = hex.len() == HEX_LENGTH && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Self { kind, hex: hex.to_ascii_lowercase() })
    }

    /// Enough to tell two apart.
    pub fn short(&self) -> String {
        let text = self.to_string();
        text.split_at_checked(text.len() - HEX_LENGTH + 12).map_or(text.clone(), |(head, _)| format!("{head}…"))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ChecksumKind::Sha256 => "sha256",
            ChecksumKind::Sampled => "sampled",
        };
        write!(f, "{kind}:{}", self.hex)
    }
}

/// Which of so many files are sampled, by their place in the order of names: the first, the last, and others between
/// them at even distances.
pub fn sampled_places(files: usize) -> Vec<usize> {
    if files <= SAMPLED_FILES {
        return (0..files).collect();
    }
    (0..SAMPLED_FILES).map(|at| at * (files - 1) / (SAMPLED_FILES - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_with_and_without_its_kind() {
        let hex = "0123456789abcdef".repeat(4);
        assert_eq!(Checksum::parse(&hex).map(|it| it.kind), Some(ChecksumKind::Sha256));
        let sampled = Checksum::parse(&format!("sampled:{}", hex.to_uppercase())).unwrap();
        assert_eq!((sampled.kind, sampled.to_string()), (ChecksumKind::Sampled, format!("sampled:{hex}")));
        assert_eq!(sampled.short(), "sampled:0123456789ab…");
        for text in ["", "sha256:", "md5:0123", "sha256:zz", &hex[1..]] {
            assert_eq!(Checksum::parse(text), None, "{text}");
        }
    }

    #[test]
    fn samples_are_spread_over_all_files() {
        assert_eq!(sampled_places(0), Vec::<usize>::new());
        assert_eq!(sampled_places(3), [0, 1, 2]);
        let many = sampled_places(100_000);
        assert_eq!((many.len(), many[0], many[SAMPLED_FILES - 1]), (SAMPLED_FILES, 0, 99_999));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

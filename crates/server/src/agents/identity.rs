//! The credentials of agents: drawn here, kept as digests.

use std::io;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A new credential.
pub fn draw() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(HEXLOWER.encode(&bytes))
}

/// As it is kept and compared.
pub fn digest(credential: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(credential))
}

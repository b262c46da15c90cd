//! What is shown to prove who asks: drawn here, kept as its digest.

use std::io;

use data_encoding::HEXLOWER;
use fermi_store::tokens::TokenDigest;
use sha2::{Digest, Sha256};

/// Begins every token that is handed out, so that those who search for leaked secrets find it.
const PREFIX: &str = "fermi_";

/// A new token.
pub fn draw() -> io::Result<String> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{PREFIX}{}", HEXLOWER.encode(&bytes)))
}

/// As it is kept and looked up. The words are random, so that a fast digest is as good as a slow one.
pub fn digest(word: &[u8]) -> TokenDigest {
    Sha256::digest(word).into()
}

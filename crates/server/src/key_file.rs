//! Secrets, each in a file that only its owner can read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use data_encoding::HEXLOWER;

/// A secret that was read, or made just now.
#[derive(Debug)]
pub struct Key {
    pub word: String,
    pub is_new: bool,
}

/// Reads the file, or makes it with a random word.
pub fn read_or_make(path: &Path) -> io::Result<Key> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(Key { word: text.trim().to_owned(), is_new: false }),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let word = HEXLOWER.encode(&bytes);
    // Written aside and renamed: a crash leaves no half a key.
    let aside = path.with_extension("new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(format!("{word}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    Ok(Key { word, is_new: true })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = read_or_make(&path).unwrap();
        assert!(made.is_new && made.word.len() == 48);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = read_or_make(&path).unwrap();
        assert!(!again.is_new && again.word == made.word);
    }
}

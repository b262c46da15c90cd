//! The job's output as it grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// More at once would keep the user's Ctrl-C waiting.
const AT_ONCE: u64 = 1024 * 1024;

#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    at: u64,
}

impl Tail {
    pub fn new(path: PathBuf) -> Self {
        Self { path, at: 0 }
    }

    /// What is new since the last time. A file that is not there yet has nothing new.
    pub fn news(&mut self) -> io::Result<Vec<u8>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() < self.at {
            // Written anew from its beginning.
            self.at = 0;
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        self.at += file.take(AT_ONCE).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.out");
        let mut tail = Tail::new(path.clone());
        assert_eq!(tail.news().unwrap(), b"");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(tail.news().unwrap(), b"one");
        std::fs::write(&path, "one two").unwrap();
        assert_eq!(tail.news().unwrap(), b" two");
        std::fs::write(&path, "x").unwrap();
        assert_eq!(tail.news().unwrap(), b"x");
    }
}

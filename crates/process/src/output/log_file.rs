//! One stream of one rank on disk: every byte, in capped segments, with an index of times.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::clock;

/// A stream goes on in `<name>.1`, `<name>.2` … beyond this size, so that no tool has to open an endless file.
const SEGMENT_BYTES: u64 = 1 << 30;
const INDEX_EVERY_MS: u64 = 1_000;

/// The writing end of a log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: Option<File>,
    index: Option<File>,
    segment: u32,
    in_segment: u64,
    total: u64,
    indexed_ms: u64,
    dropped: u64,
    gap: u64,
    /// Whether nothing is to be kept, so that nothing is lost either.
    is_unwanted: bool,
}

impl LogFile {
    pub fn create(path: PathBuf) -> io::Result<Self> {
        let mut log = Self::lost(path);
        log.open()?;
        Ok(log)
    }

    fn open(&mut self) -> io::Result<()> {
        self.file = Some(File::options().create(true).append(true).open(&self.path)?);
        Ok(())
    }

    /// For a disk that takes no file for now: what is appended until it does counts as dropped.
    pub fn lost(path: PathBuf) -> Self {
        Self { path, is_unwanted: false, ..Self::none() }
    }

    /// Keeps nothing: for logs that go to `/dev/null`.
    pub fn none() -> Self {
        Self {
            path: PathBuf::from("/dev/null"),
            file: None,
            index: None,
            segment: 0,
            in_segment: 0,
            total: 0,
            indexed_ms: 0,
            dropped: 0,
            gap: 0,
            is_unwanted: true,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that the disk did not take.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn append(&mut self, bytes: &[u8]) {
        if self.in_segment >= SEGMENT_BYTES {
            self.next_segment();
        }
        if self.is_unwanted {
            return;
        }
        if self.file.is_none() {
            // Its folder may be missing for the same reason.
            let _ = self.path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| self.open());
        }
        let Some(file) = &mut self.file else {
            self.dropped += bytes.len() as u64;
            self.gap += bytes.len() as u64;
            return;
        };
        if self.gap > 0 {
            // The reader shall see where something is missing; the note itself may fail like any other write.
            let note = format!("\n[fermi: {} bytes lost here, the disk did not take them]\n", self.gap);
            if file.write_all(note.as_bytes()).is_ok() {
                self.gap = 0;
            }
        }
        let written = write_some(file, bytes);
        let missing = (bytes.len() - written) as u64;
        self.dropped += missing;
        self.gap += missing;
        self.in_segment += written as u64;
        self.total += written as u64;
        self.note_time();
    }

    /// One record a second: Unix milliseconds and the stream's length, both as little-endian 64-bit numbers.
    fn note_time(&mut self) {
        let now = clock::unix_ms();
        if now < self.indexed_ms + INDEX_EVERY_MS {
            return;
        }
        self.indexed_ms = now;
        if self.index.is_none() {
            // With its first record: most streams of a start have nothing to say yet.
            self.index = File::options().create(true).append(true).open(index_path(&self.path)).ok();
        }
        if let Some(index) = &mut self.index {
            let mut record = [0; 16];
            record[..8].copy_from_slice(&now.to_le_bytes());
            record[8..].copy_from_slice(&self.total.to_le_bytes());
            // A missing record makes a search slower, nothing else.
            let _ = index.write_all(&record);
        }
    }

    fn next_segment(&mut self) {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{}", self.segment + 1));
        // If no new file can be made, the old one goes on.
        if let Ok(file) = File::options().create(true).append(true).open(&name) {
            self.file = Some(file);
            self.segment += 1;
        }
        self.in_segment = 0;
    }
}

fn index_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.index"))
}

/// Writes as much as the disk takes and says how much that was.
fn write_some(file: &mut File, bytes: &[u8]) -> usize {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_drops_and_counts() {
        let mut log = LogFile::lost("/dev/full".into());
        log.file = File::options().write(true).open("/dev/full").ok();
        log.append(b"hello");
        log.append(b"again");
        assert_eq!(log.dropped(), 10);
    }

    #[test]
    fn without_a_file_everything_counts_as_dropped_unless_nothing_is_wanted() {
        let mut log = LogFile::lost("/dev/null/stdout.log".into());
        log.append(b"hello");
        assert_eq!(log.dropped(), 5);
        let mut unwanted = LogFile::none();
        unwanted.append(b"hello");
        assert_eq!(unwanted.dropped(), 0);
    }

    #[test]
    fn the_index_comes_with_the_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join(".stdout.log.index");
        let mut log = LogFile::create(folder.path().join("stdout.log")).unwrap();
        assert!(log.path().exists() && !index.exists());
        log.append(b"hello\n");
        assert_eq!(std::fs::read(index).unwrap()[8..], 6u64.to_le_bytes());
    }

    #[test]
    fn after_a_gap_the_file_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFile::create(folder.path().join("stdout.log")).unwrap();
        log.gap = 7;
        log.append(b"back\n");
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text, "\n[fermi: 7 bytes lost here, the disk did not take them]\nback\n");
    }

    #[test]
    fn a_file_that_could_not_be_made_is_made_as_soon_as_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("attempt");
        std::fs::write(&place, "in the way").unwrap();
        let mut log = LogFile::lost(place.join("stdout.log"));
        log.append(b"one\n");
        std::fs::remove_file(&place).unwrap();
        log.append(b"two\n");
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text, "\n[fermi: 4 bytes lost here, the disk did not take them]\ntwo\n");
        assert_eq!(log.dropped(), 4);
    }
}

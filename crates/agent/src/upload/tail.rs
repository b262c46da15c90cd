//! Reads a stream that is cut into segments: `stdout.log`, then `stdout.log.1`, … as if it were one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// What grows and is sent piece by piece; a test plays the file.
pub trait GrowingFile {
    /// Whether anything is there at all.
    fn exists(&self) -> bool;
    /// Fills the buffer from this place on; nothing when there is no more for now.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    path: PathBuf,
    /// The segment that was read last, and where in the stream it begins.
    segment: u32,
    begins: u64,
}

impl Tail {
    pub fn new(path: PathBuf) -> Self {
        Self { path, segment: 0, begins: 0 }
    }

    fn segment_path(&self, segment: u32) -> PathBuf {
        if segment == 0 {
            return self.path.clone();
        }
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{segment}"));
        name.into()
    }
}

impl GrowingFile for Tail {
    fn exists(&self) -> bool {
        // What cannot be told is looked for when it is read.
        self.path.try_exists().unwrap_or(true)
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset < self.begins {
            (self.segment, self.begins) = (0, 0);
        }
        loop {
            // A rank's own file may be held by a lease of the rank, and other runs wait behind this one.
            let opened =
                File::options().read(true).custom_flags(libc::O_NONBLOCK).open(self.segment_path(self.segment));
            let file = match opened {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                file => file?,
            };
            let count = fill(&file, offset - self.begins, buffer)?;
            if count > 0 || !fs::exists(self.segment_path(self.segment + 1))? {
                return Ok(count);
            }
            // The next one exists, so this one has its final length; it may have grown since we read.
            let length = file.metadata()?.len();
            if offset - self.begins < length {
                continue;
            }
            self.begins += length;
            self.segment += 1;
        }
    }
}

fn fill(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_run_through_all_segments() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout.log");
        let mut tail = Tail::new(path.clone());
        let mut buffer = [0; 64];
        assert_eq!(tail.read(0, &mut buffer).unwrap(), 0, "there is no file yet");
        fs::write(&path, "0123456789").unwrap();
        fs::write(folder.path().join("stdout.log.1"), "abcde").unwrap();
        fs::write(folder.path().join("stdout.log.2"), "XYZ").unwrap();
        let mut seen = String::new();
        while let n @ 1.. = tail.read(seen.len() as u64, &mut buffer).unwrap() {
            seen.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
        }
        assert_eq!(seen, "0123456789abcdeXYZ");
        // Back to any place, and over boundaries in one step.
        for offset in [0, 4, 10, 12, 15, 17] {
            let n = tail.read(offset, &mut buffer).unwrap();
            assert!(
                seen[offset as usize..].starts_with(std::str::from_utf8(&buffer[..n]).unwrap()) && n > 0,
                "{offset}"
            );
        }
        assert_eq!(tail.read(18, &mut buffer).unwrap(), 0);
        assert_eq!(tail.read(99, &mut buffer).unwrap(), 0, "the server may have more than we");
    }

    #[test]
    fn a_segment_that_grew_is_read_to_its_end_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout.log");
        let mut tail = Tail::new(path.clone());
        fs::write(&path, "ab").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(tail.read(2, &mut buffer).unwrap(), 0);
        fs::write(&path, "abcd").unwrap();
        fs::write(folder.path().join("stdout.log.1"), "ef").unwrap();
        assert_eq!(tail.read(2, &mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"cd");
        assert_eq!(tail.read(4, &mut buffer).unwrap(), 2);
        assert_eq!(&buffer[..2], b"ef");
    }
}

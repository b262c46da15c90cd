//! The files of one stream: segments of a fixed size, of which only the last one grows.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use super::StreamName;

/// Where a stream's segments are, and how large each is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments<'a> {
    pub root: &'a Path,
    pub size: u64,
}

/// The segment that grows, open.
#[derive(Debug)]
pub(super) struct Tail {
    number: u64,
    file: File,
}

impl Segments<'_> {
    /// What the disk says: all segments but the last are full.
    pub fn length(self, name: &StreamName) -> io::Result<u64> {
        let entries = match fs::read_dir(name.folder(self.root)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut last = None;
        for entry in entries {
            let file_name = entry?.file_name();
            last = last.max(file_name.to_str().and_then(|file| segment_number(file, name.kind.as_str())));
        }
        let Some(last) = last else { return Ok(0) };
        Ok(last * self.size + fs::metadata(name.segment(self.root, last)?)?.len())
    }

    pub fn read_into(self, name: &StreamName, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let room = usize::try_from(self.size - at % self.size).unwrap_or(usize::MAX);
            let end = bytes.len().min(done.saturating_add(room));
            let file = match File::open(name.segment(self.root, at / self.size)?) {
                // Deleted while it was being read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                file => file?,
            };
            file.read_exact_at(&mut bytes[done..end], at % self.size)?;
            done = end;
        }
        Ok(done)
    }

    /// Writes bytes behind `length` and waits until they are safe. A full segment is safe before the next one begins, so
    /// that only the last can ever be short.
    pub fn append(self, name: &StreamName, tail: &mut Option<Tail>, length: u64, bytes: &[u8]) -> io::Result<u64> {
        let (mut at, mut rest) = (length, bytes);
        while !rest.is_empty() {
            let room = usize::try_from(self.size - at % self.size).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(rest.len().min(room));
            let file = self.open_tail(name, tail, at / self.size)?;
            file.write_all_at(now, at % self.size)?;
            file.sync_data()?;
            at += now.len() as u64;
            rest = later;
        }
        Ok(at)
    }

    /// Makes a stream longer without writing: what is between is a hole. Full segments are safe before the next begins.
    pub fn extend(self, name: &StreamName, tail: &mut Option<Tail>, length: u64, to: u64) -> io::Result<()> {
        let mut at = length;
        while at < to {
            let number = at / self.size;
            let end = to.min((number + 1) * self.size);
            let file = self.open_tail(name, tail, number)?;
            file.set_len(end - number * self.size)?;
            file.sync_all()?;
            at = end;
        }
        Ok(())
    }

    /// Takes back what a failed append may have left, as it is unknown what of it is safe.
    pub fn cut(self, name: &StreamName, length: u64) -> io::Result<()> {
        let last = length / self.size;
        let path = |number| name.segment(self.root, number);
        let mut newest = last;
        while path(newest + 1)?.symlink_metadata().is_ok() {
            newest += 1;
        }
        // From the end, so that at every moment only the last one is short.
        for number in (last + 1..=newest).rev() {
            fs::remove_file(path(number)?)?;
        }
        match OpenOptions::new().write(true).open(path(last)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            file => file?.set_len(length % self.size),
        }
    }

    fn open_tail<'t>(self, name: &StreamName, tail: &'t mut Option<Tail>, number: u64) -> io::Result<&'t File> {
        let open = match tail.take() {
            Some(open) if open.number == number => open,
            _ => {
                let path = name.segment(self.root, number)?;
                let folder = name.folder(self.root)?;
                if !path.exists() {
                    fs::create_dir_all(&folder)?;
                }
                let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
                // One that is empty is new, or its entry was not made safe when it was.
                if file.metadata()?.len() == 0 {
                    sync_folders(self.root, &folder)?;
                }
                Tail { number, file }
            }
        };
        Ok(&tail.insert(open).file)
    }
}

/// Makes the entries of a folder and of all folders above it safe, up to the root.
pub(super) fn sync_folders(root: &Path, folder: &Path) -> io::Result<()> {
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The number of a segment's file: `stdout.3` is the fourth of `stdout`.
pub(super) fn segment_number(file: &str, kind: &str) -> Option<u64> {
    file.strip_prefix(kind)?.strip_prefix('.')?.parse().ok()
}

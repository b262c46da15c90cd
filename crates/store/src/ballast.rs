//! Room on the disk that the database has taken before the disk is full: a file without use, given up when commits need
//! its room, and taken again when there is plenty.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use nix::{
    fcntl::{FallocateFlags, fallocate},
    sys::statvfs::statvfs,
};

const FILE: &str = "ballast";
/// On a small disk less must do.
const MOST: u64 = 16 << 20;
const SHARE: u64 = 16;
/// The ballast is taken again when the disk has so many times its size.
const PLENTY: u64 = 8;

/// The file, and whether it has its room now.
#[derive(Debug)]
pub(crate) struct Ballast {
    folder: PathBuf,
    bytes: u64,
    is_held: bool,
}

impl Ballast {
    /// Takes the room if the disk has plenty.
    pub fn of(folder: &Path) -> Self {
        let size = statvfs(folder).map_or(0, |about| about.fragment_size() * about.blocks());
        let held = fs::metadata(folder.join(FILE)).is_ok_and(|about| about.len() > 0);
        let mut ballast = Self { folder: folder.to_owned(), bytes: MOST.min(size / SHARE), is_held: held };
        ballast.tend();
        ballast
    }

    /// Before each batch: gives the room up where the rest of the disk is less, takes it again where there is plenty.
    pub fn tend(&mut self) {
        let Ok(about) = statvfs(&self.folder) else { return };
        let free = about.fragment_size() * about.blocks_available();
        if self.is_held && free < self.bytes {
            self.release();
        } else if !self.is_held && self.bytes > 0 && free > self.bytes.saturating_mul(PLENTY) {
            self.is_held = self.take().is_ok();
        }
    }

    /// Gives the room up, for a commit that found none.
    pub fn release(&mut self) {
        self.is_held =
            File::options().write(true).open(self.folder.join(FILE)).and_then(|file| file.set_len(0)).is_err();
    }

    fn take(&self) -> io::Result<()> {
        let file = File::options().create(true).truncate(false).write(true).open(self.folder.join(FILE))?;
        let bytes = i64::try_from(self.bytes).unwrap_or(i64::MAX);
        fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_room_is_taken_given_up_and_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut ballast = Ballast::of(folder.path());
        let blocks = || fs::metadata(folder.path().join(FILE)).unwrap().blocks() * 512;
        assert!(ballast.is_held && blocks() >= ballast.bytes);
        ballast.release();
        assert!(!ballast.is_held && blocks() == 0);
        ballast.tend();
        assert!(ballast.is_held && blocks() >= ballast.bytes);
        assert!(Ballast::of(folder.path()).is_held, "it outlives its holder");
    }
}

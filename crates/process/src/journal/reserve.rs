//! Room that a journal has taken before the disk is full: blocks behind its end that belong to the file already, so that
//! no other writer can have them.

use std::fs::File;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};

/// How much is wanted behind the end, the most first; on a small disk less must do.
const SIZES: [u64; 4] = [1 << 20, 256 << 10, 64 << 10, 16 << 10];

/// What a line says, and so whether it may use the last of the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// One that tells of the way.
    Usual,
    /// One without which the result of the run would not be known.
    Result,
}

/// The blocks of one file.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    /// Blocks up to here belong to the file.
    end: u64,
    /// What lines of [`Importance::Usual`] leave alone.
    kept: u64,
}

impl Reserve {
    /// On a disk that has no room but what is kept for results.
    #[cfg(test)]
    pub fn for_results_alone() -> Self {
        Self { end: u64::MAX / 4, kept: u64::MAX / 2 }
    }

    /// Whether a line may be written, as far as the reserve is concerned. Where there is none, the disk decides.
    pub fn lets(&self, length: u64, line: u64, importance: Importance) -> bool {
        importance == Importance::Result || self.kept == 0 || length + line + self.kept <= self.end
    }

    /// Takes more blocks where a line would leave fewer than the least that is wanted behind it.
    pub fn extend(&mut self, file: &File, length: u64, line: u64) {
        let [most, .., least] = SIZES;
        let left = self.end.saturating_sub(length + line);
        if left >= most / 2 {
            return;
        }
        for size in SIZES.into_iter().filter(|size| *size >= least && *size > left) {
            match take(file, length, line + size) {
                Ok(()) => {
                    self.end = length + line + size;
                    self.kept = size / 2;
                    return;
                }
                Err(Errno::ENOSPC | Errno::EDQUOT) => {}
                // A file system that cannot do it, such as an older NFS.
                Err(_) => return,
            }
        }
    }
}

fn take(file: &File, from: u64, bytes: u64) -> Result<(), Errno> {
    let (from, bytes) = (i64::try_from(from), i64::try_from(bytes));
    let (Ok(from), Ok(bytes)) = (from, bytes) else { return Err(Errno::EFBIG) };
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_lines_leave_half_of_the_reserve_to_results() {
        let reserve = Reserve { end: 1_000, kept: 500 };
        for (length, line, usual) in [(0, 100, true), (400, 100, true), (401, 100, false), (900, 100, false)] {
            assert_eq!(reserve.lets(length, line, Importance::Usual), usual, "{length} + {line}");
            assert!(reserve.lets(length, line, Importance::Result));
        }
        assert!(Reserve::default().lets(7, 7, Importance::Usual), "without a reserve the disk decides");
    }

    #[test]
    fn blocks_behind_the_end_are_taken_and_the_file_seems_no_longer() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        let mut reserve = Reserve::default();
        reserve.extend(&file, 0, 10);
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 0);
        assert!(about.blocks() * 512 >= SIZES[0], "{} blocks", about.blocks());
        let end = reserve.end;
        reserve.extend(&file, 100, 10);
        assert_eq!(reserve.end, end, "there is enough");
        reserve.extend(&file, SIZES[0], 10);
        assert!(reserve.end > end);
    }
}

//! Memory that this process shares with one that it starts. It is in no folder, so that no disk can fill under it, and goes
//! with the last that holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// More than stacks of all threads of a rank take.
const MOST_BEHIND: u64 = 1 << 20;

/// The other process opens it as `/proc/<us>/fd/<number>`: nothing is inherited, and nothing reaches grandchildren. Where this
/// process cannot be dumped it inherits the descriptor instead. It never becomes shorter: what this process has mapped of it stays.
#[derive(Debug)]
pub struct SharedPage {
    file: File,
    /// How much of what was appended behind it is taken away.
    cut: AtomicU64,
}

/// The part of the page that can be mapped.
const MAPPED: usize = 4096;

/// One word of the page, as it is now and in both processes.
#[derive(Debug)]
pub struct MappedWord {
    start: NonNull<libc::c_void>,
    word: NonNull<AtomicU32>,
}

// SAFETY: the word is atomic, and the mapping is taken away by its only owner.
unsafe impl Send for MappedWord {}
// SAFETY: as above.
unsafe impl Sync for MappedWord {}

impl MappedWord {
    pub fn get(&self) -> &AtomicU32 {
        // SAFETY: mapped and aligned as long as `self` lives; the file cannot become shorter.
        unsafe { self.word.as_ref() }
    }
}

impl Drop for MappedWord {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and nobody borrows its word any more.
        unsafe { libc::munmap(self.start.as_ptr(), MAPPED) };
    }
}

impl SharedPage {
    pub fn new(name: &std::ffi::CStr, size: u64) -> io::Result<Self> {
        let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
        file.set_len(size)?;
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL))?;
        Ok(Self { file, cut: AtomicU64::new(0) })
    }

    /// The word at this byte of its beginning.
    pub fn map_word(&self, offset: u64) -> io::Result<MappedWord> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let is_long_enough = self.file.metadata()?.len() >= MAPPED as u64;
        if offset >= MAPPED || offset % align_of::<AtomicU32>() != 0 || !is_long_enough {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, self.file.as_raw_fd());
        // SAFETY: the kernel chooses a place that is free.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), MAPPED, access, libc::MAP_SHARED, fd, 0) };
        let start = NonNull::new(start).filter(|start| start.as_ptr() != libc::MAP_FAILED);
        let start = start.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the offset lies within the mapping.
        let word = unsafe { start.byte_add(offset) }.cast();
        Ok(MappedWord { start, word })
    }

    /// The number of its descriptor in this process.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The words at its beginning.
    pub fn words<const N: usize>(&self) -> io::Result<[u64; N]> {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(self.read_at(0, 8 * N)?.chunks_exact(8)) {
            *word = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        Ok(words)
    }

    pub fn write_word(&self, index: usize, value: u64) -> io::Result<()> {
        self.write_at(8 * index as u64, &value.to_ne_bytes())
    }

    pub fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// What was appended behind it; who has appended may say any length.
    pub fn read_behind(&self, size: u64) -> io::Result<Vec<u8>> {
        let from = size + self.cut.load(Ordering::Relaxed);
        let length = self.file.metadata()?.len().saturating_sub(from).min(MOST_BEHIND);
        self.read_at(from, usize::try_from(length).unwrap_or(0))
    }

    /// Takes away what was appended behind it.
    pub fn cut_behind(&self, size: u64) -> io::Result<()> {
        let behind = self.file.metadata()?.len().saturating_sub(size);
        self.cut.store(behind, Ordering::Relaxed);
        let (start, length) = (i64::try_from(size), i64::try_from(behind));
        if let (Ok(start), Ok(length @ 1..)) = (start, length) {
            // Its memory is given back; its length stays.
            let whole_pages = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            fallocate(&self.file, whole_pages, start, length)?;
        }
        Ok(())
    }

    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_writes_and_this_one_reads() {
        let page = SharedPage::new(c"fermi-test", 4096).unwrap();
        page.write_word(1, 7).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), page.number());
        let script = format!("printf abc | dd of={path} bs=1 seek=100 conv=notrunc 2>&1");
        assert!(std::process::Command::new("sh").args(["-c", &script]).output().unwrap().status.success());
        assert_eq!(page.words::<3>().unwrap(), [0, 7, 0]);
        assert_eq!(page.read_at(100, 3).unwrap(), b"abc");
        assert!(page.read_at(4090, 100).is_err());
        assert!(page.read_behind(4096).unwrap().is_empty());
        let append = format!("printf more >> {path}");
        assert!(std::process::Command::new("sh").args(["-c", &append]).status().unwrap().success());
        assert_eq!(page.read_behind(4096).unwrap(), b"more");
        page.cut_behind(4096).unwrap();
        assert!(page.read_behind(4096).unwrap().is_empty());
        assert_eq!(page.read_at(100, 3).unwrap(), b"abc");
        let again = format!("printf again >> {path}");
        assert!(std::process::Command::new("sh").args(["-c", &again]).status().unwrap().success());
        assert_eq!(page.read_behind(4096).unwrap(), b"again");
    }

    #[test]
    fn a_mapped_word_is_the_files_and_nobody_can_take_it_away() {
        let page = SharedPage::new(c"fermi-test", 4096).unwrap();
        let word = page.map_word(8).unwrap();
        page.write_word(1, 5).unwrap();
        assert_eq!(word.get().load(Ordering::Relaxed), 5);
        word.get().store(6, Ordering::Relaxed);
        assert_eq!(page.words::<2>().unwrap()[1], 6);
        let path = format!("/proc/{}/fd/{}", std::process::id(), page.number());
        assert!(File::options().write(true).open(path).unwrap().set_len(0).is_err());
        assert_eq!(word.get().load(Ordering::Relaxed), 6);
    }
}

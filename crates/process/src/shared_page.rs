//! Memory that this process shares with one that it starts. It is in no folder, so that no disk can fill under it, and goes
//! with the last that holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};

/// More than stacks of all threads of a rank take.
const MOST_BEHIND: u64 = 1 << 20;

/// The other process opens it as `/proc/<us>/fd/<number>`: nothing is inherited, and nothing reaches grandchildren. Where this
/// process cannot be dumped it inherits the descriptor instead.
#[derive(Debug)]
pub struct SharedPage(File);

impl SharedPage {
    pub fn new(name: &std::ffi::CStr, size: u64) -> io::Result<Self> {
        let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
        file.set_len(size)?;
        Ok(Self(file))
    }

    /// The number of its descriptor in this process.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
        self.0.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// What was appended behind it; who has appended may say any length.
    pub fn read_behind(&self, size: u64) -> io::Result<Vec<u8>> {
        let length = self.0.metadata()?.len().saturating_sub(size).min(MOST_BEHIND);
        self.read_at(size, usize::try_from(length).unwrap_or(0))
    }

    /// Takes away what was appended behind it.
    pub fn cut_behind(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
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
    }
}

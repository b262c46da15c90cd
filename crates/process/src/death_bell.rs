//! Hears of a process's death as soon as it begins, before the kernel has freed its memory and tells the parent.
//!
//! The process holds a robust lock in memory that it shares with this one. The kernel gives such a lock back as the first thing
//! that it does for a thread that ends, and wakes who waits for it: a thread of ours.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::shared_page::{MappedWord, SharedPage};

/// Who has the lock, in the kernel's words: a thread; that it has died; that somebody waits.
const OWNER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;
const WAITERS: u32 = 0x8000_0000;

/// Rings once, when the thread that holds the lock begins to end. That the whole process ends is for others to see.
#[derive(Debug)]
pub struct DeathBell {
    word: Arc<MappedWord>,
    bell: Arc<EventFd>,
    has_rung: bool,
}

impl DeathBell {
    /// Listens at the lock whose word stands at this place of the page.
    pub fn at(page: &SharedPage, offset: u64) -> io::Result<Self> {
        let word = Arc::new(page.map_word(offset)?);
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let (waited_for, rung) = (word.clone(), bell.clone());
        let listens = move || {
            wait(&waited_for);
            let _ = rung.write(1);
        };
        std::thread::Builder::new().name("death-bell".into()).stack_size(64 * 1024).spawn(listens)?;
        Ok(Self { word, bell, has_rung: false })
    }

    /// Readable when it has rung and nobody has asked; nothing afterwards.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.has_rung).then(|| self.bell.as_fd())
    }

    pub fn has_rung(&mut self) -> bool {
        self.has_rung |= self.bell.read().is_ok();
        self.has_rung
    }
}

impl Drop for DeathBell {
    /// The thread does not wait for a lock that nobody asks about any more.
    fn drop(&mut self) {
        self.word.get().fetch_or(OWNER_DIED, Ordering::Relaxed);
        futex(self.word.get(), libc::FUTEX_WAKE, i32::MAX.cast_unsigned());
    }
}

fn wait(word: &MappedWord) {
    let word = word.get();
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == 0 || seen & OWNER_DIED != 0 {
            return;
        }
        // Only where somebody waits does the kernel wake anybody.
        if seen & WAITERS != 0
            || word.compare_exchange(seen, seen | WAITERS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            futex(word, libc::FUTEX_WAIT, seen | WAITERS);
        }
    }
}

/// Waits while the word is this, or wakes so many.
fn futex(word: &AtomicU32, call: i32, value: u32) {
    // SAFETY: the word stays mapped as long as it is borrowed; there is no time-out. What is interrupted is looked at again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), call, value, std::ptr::null::<libc::timespec>()) };
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Takes a robust lock at byte 256 of the page, and a quarter of a gigabyte of memory.
    const HOLDS: &str = "import ctypes, mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
page = mmap.mmap(fd, 4096)
libc = ctypes.CDLL(None)
lock = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page, 256)))
kind = ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(kind), libc.pthread_mutexattr_setpshared(kind, 1), libc.pthread_mutexattr_setrobust(kind, 1)
libc.pthread_mutex_init(lock, kind), libc.pthread_mutex_lock(lock)
held = bytearray(b'x' * (256 << 20))
print('ready', flush=True)
time.sleep(60)";

    fn rings_within(bell: &mut DeathBell, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if bell.has_rung() {
                return true;
            }
        }
        false
    }

    #[test]
    fn a_death_is_heard_of_before_the_memory_is_free() {
        let page = SharedPage::new(c"fermi-test", 4096).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), page.number());
        let mut child = Command::new("python3").args(["-c", HOLDS, &path]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut bell = DeathBell::at(&page, 256).unwrap();
        assert!(!rings_within(&mut bell, Duration::from_millis(50)), "the process lives");
        assert!(bell.as_fd().is_some());
        child.kill().unwrap();
        assert!(rings_within(&mut bell, Duration::from_secs(10)));
        assert!(bell.as_fd().is_none(), "it is not readable for ever");
        child.wait().unwrap();
    }

    #[test]
    fn a_lock_that_nobody_holds_rings_at_once_and_a_place_outside_is_refused() {
        let page = SharedPage::new(c"fermi-test", 8192).unwrap();
        assert!(rings_within(&mut DeathBell::at(&page, 256).unwrap(), Duration::from_secs(10)));
        for offset in [2, 4096, 8192, u64::MAX] {
            assert!(DeathBell::at(&page, offset).is_err(), "{offset}");
        }
    }
}

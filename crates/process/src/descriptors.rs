//! Room for the descriptors of many ranks.

/// Makes the process's table of open files large enough for so many.
///
/// Call it while there is one thread. If the table has to grow later, with a second thread around, the kernel waits for
/// all CPUs first, which takes milliseconds in the middle of a start.
pub fn make_room(count: u64) {
    let Ok(highest) = i32::try_from(count) else { return };
    // SAFETY: makes a copy of a descriptor at the end of the table and closes that copy. Where the limit forbids it, the
    // table grows later.
    unsafe {
        let copy = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, highest);
        if copy >= 0 {
            libc::close(copy);
        }
    }
}

//! A line that keeps what is sent on it for a while, for kernels without `tc netem`: a pair of TAP devices, and a thread for
//! each direction that passes frames on.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// As long as an Ethernet frame may be, with room for a tag.
const FRAME: usize = 2_048;

/// A TAP device in the network namespace of this thread; it is there as long as the file is open.
pub fn tap(name: &str) -> File {
    let file = File::options().read(true).write(true).open("/dev/net/tun").expect("/dev/net/tun is needed");
    // SAFETY: the kernel reads a plain structure that we own.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        assert_eq!(libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request), 0, "{}", std::io::Error::last_os_error());
    }
    file
}

/// Passes frames on, each so long after it was read, until one of the devices is gone.
pub fn pass(mut from: File, mut to: File, delay: Duration) {
    let (sender, frames) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut frame = [0; FRAME];
        while let Ok(length) = from.read(&mut frame) {
            if sender.send((Instant::now() + delay, frame[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, frame) in frames {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&frame).is_err() {
                return;
            }
        }
    });
}

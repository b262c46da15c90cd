//! The leash: a standard input that is held by whoever started this run from elsewhere (`fermi launch-multi-node`).
//!
//! A session over ssh without a terminal passes no signals on. So the other side holds our standard input open: a byte is
//! the number of a signal, as if it had been sent here, and the end of the stream, however it comes about (a closed
//! pipe, a killed ssh, a broken connection), is as good as SIGTERM. Ranks never see this stream.

/// What came over the leash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeashEvent {
    Signal(i32),
    Released,
}

/// Reads what has come on the standard input; called when there is something.
pub fn read() -> Vec<LeashEvent> {
    let mut bytes = [0; 256];
    match nix::unistd::read(std::io::stdin(), &mut bytes) {
        Ok(0) => vec![LeashEvent::Released],
        Ok(n) => bytes[..n].iter().filter_map(|byte| event(*byte)).collect(),
        Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => Vec::new(),
        Err(_) => vec![LeashEvent::Released],
    }
}

/// Only signals that stop a run are understood; anything else is noise.
fn event(byte: u8) -> Option<LeashEvent> {
    let signal = i32::from(byte);
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal).then_some(LeashEvent::Signal(signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stopping_signals_are_understood() {
        assert_eq!(event(2), Some(LeashEvent::Signal(libc::SIGINT)));
        assert_eq!(event(15), Some(LeashEvent::Signal(libc::SIGTERM)));
        for noise in [0, 9, 10, 19, b'\n', 255] {
            assert_eq!(event(noise), None, "{noise}");
        }
    }
}

//! Cuts what comes from a host into lines behind `[host] `.

use std::time::{Duration, Instant};

/// A progress bar is repeated at most this often.
const BAR_EVERY: Duration = Duration::from_secs(1);
/// A line of a megabyte is passed on in parts.
const LONGEST: usize = 64 * 1024;

/// The lines of one stream of one host.
#[derive(Debug)]
pub struct Lines {
    prefix: Vec<u8>,
    rest: Vec<u8>,
    shown_bar: Option<Instant>,
}

impl Lines {
    pub fn of(host: &str) -> Self {
        Self { prefix: format!("[{host}] ").into_bytes(), rest: Vec::new(), shown_bar: None }
    }

    /// Takes bytes in; gives whole lines out, each with its prefix. Of a line that rewrites itself now and then a state.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' => self.flush(&mut out),
                b'\r' => self.rest.push(b'\r'),
                _ => {
                    // Only now is it known that the carriage return did not belong to a line's end.
                    if self.rest.last() == Some(&b'\r') {
                        self.bar(&mut out, now);
                    }
                    self.rest.push(*byte);
                    if self.rest.len() >= LONGEST {
                        self.flush(&mut out);
                    }
                }
            }
        }
        out
    }

    /// What is left when the stream ends.
    pub fn end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.rest.is_empty() {
            self.flush(&mut out);
        }
        out
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        while self.rest.last() == Some(&b'\r') {
            self.rest.pop();
        }
        out.extend_from_slice(&self.prefix);
        out.append(&mut self.rest);
        out.push(b'\n');
        self.shown_bar = None;
    }

    fn bar(&mut self, out: &mut Vec<u8>, now: Instant) {
        let is_empty = self.rest.iter().all(|byte| *byte == b'\r');
        if !is_empty && self.shown_bar.is_none_or(|shown| now.duration_since(shown) >= BAR_EVERY) {
            self.flush(out);
            self.shown_bar = Some(now);
        }
        self.rest.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(parts: &[(&str, u64)]) -> String {
        let begin = Instant::now();
        let mut lines = Lines::of("gn6");
        let mut out = Vec::new();
        for (text, seconds) in parts {
            out.extend(lines.take(text.as_bytes(), begin + Duration::from_secs(*seconds)));
        }
        out.extend(lines.end());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_that_come_in_pieces_get_one_prefix_each() {
        assert_eq!(
            shown(&[("one\ntw", 0), ("o\r\n\nthr", 0), ("ee", 0)]),
            "[gn6] one\n[gn6] two\n[gn6] \n[gn6] three\n"
        );
    }

    #[test]
    fn a_progress_bar_shows_a_state_now_and_then_and_its_last() {
        let parts = [("\r 1%", 0), ("\r 2%", 0), ("\r 3%", 0), ("\r 50%", 2), ("\r 51%", 2), ("\r100%\n", 2)];
        assert_eq!(shown(&parts), "[gn6]  1%\n[gn6]  3%\n[gn6] 100%\n");
    }
}

//! Cuts what comes from a host or a rank into lines behind its prefix.

use std::time::{Duration, Instant};

/// A progress bar is repeated at most this often.
const BAR_EVERY: Duration = Duration::from_secs(1);
/// A line of a megabyte is passed on in parts.
const LONGEST: usize = 64 * 1024;

/// What is shown of a line that rewrites itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// A state now and then, and the last one.
    NowAndThen,
    /// The last state.
    Last,
}

/// The lines of one stream of one host or rank.
#[derive(Debug)]
pub struct Lines {
    prefix: Vec<u8>,
    bars: Bars,
    longest: usize,
    rest: Vec<u8>,
    shown_bar: Option<Instant>,
}

impl Lines {
    pub fn of(host: &str) -> Self {
        Self::behind(format!("[{host}] "), Bars::NowAndThen, LONGEST)
    }

    /// Behind this prefix. A line that is longer than `longest` bytes is passed on in parts.
    pub fn behind(prefix: String, bars: Bars, longest: usize) -> Self {
        Self { prefix: prefix.into_bytes(), bars, longest, rest: Vec::new(), shown_bar: None }
    }

    /// Takes bytes in; gives whole lines out, each with its prefix. Of a line that rewrites itself now and then a state.
    pub fn take(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' => self.flush(&mut out),
                // Several of them are as good as one.
                b'\r' if self.rest.last() == Some(&b'\r') => {}
                b'\r' => self.rest.push(b'\r'),
                _ => {
                    // Only now is it known that the carriage return did not belong to a line's end.
                    if self.rest.last() == Some(&b'\r') {
                        self.bar(&mut out, now);
                    }
                    // The bytes of a letter stay together.
                    let is_letters_rest = byte & 0xC0 == 0x80 && self.rest.len() < self.longest + 3;
                    if self.rest.len() >= self.longest && !is_letters_rest {
                        self.flush(&mut out);
                    }
                    self.rest.push(*byte);
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
    }

    fn bar(&mut self, out: &mut Vec<u8>, now: Instant) {
        let is_empty = self.rest.iter().all(|byte| *byte == b'\r');
        let is_due =
            self.bars == Bars::NowAndThen && self.shown_bar.is_none_or(|shown| now.duration_since(shown) >= BAR_EVERY);
        if !is_empty && is_due {
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
        shown_by(Lines::of("gn6"), parts)
    }

    fn shown_by(mut lines: Lines, parts: &[(&str, u64)]) -> String {
        let begin = Instant::now();
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
    #[test]
    fn of_a_bar_that_is_over_only_the_last_state_is_shown() {
        let lines = Lines::behind("[gn6:0] ".to_owned(), Bars::Last, LONGEST);
        assert_eq!(
            shown_by(lines, &[("\r 1%\r 50%", 0), ("\r100%\nend\n\r 7%", 9)]),
            "[gn6:0] 100%\n[gn6:0] end\n[gn6:0]  7%\n"
        );
    }

    #[test]
    fn a_bar_that_never_ends_its_line_takes_no_room() {
        let mut lines = Lines::of("gn6");
        let now = Instant::now();
        let bar: Vec<u8> = (0..100_000).flat_map(|step| format!("\r\r\rstep {step}").into_bytes()).collect();
        assert_eq!(lines.take(&bar, now), b"[gn6] step 0\n");
        lines.take(&[b'\r'; 100_000], now);
        assert!(lines.rest.capacity() < 1_000, "{}", lines.rest.capacity());
        assert_eq!(lines.take(b"\rnow", now + BAR_EVERY), b"[gn6] step 99999\n");
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_on_in_parts_of_whole_letters() {
        let lines = Lines::behind(String::new(), Bars::Last, 4);
        assert_eq!(shown_by(lines, &[("损失损失", 0)]), "损失\n损失\n");
    }
}

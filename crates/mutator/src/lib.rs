//! Dev-only: what strangers might send, made from what they should send. A number draws the same cases every time.
//!
//! [`try_all`] gives a parser its samples as they are and then changed in every way that [`Mutator`] knows. A parser passes when
//! it neither panics nor grows. What was found once stays among the samples.

mod dice;

use std::panic::{self, AssertUnwindSafe};

pub use dice::Dice;

/// Cases of each parser under `FERMI_TEST_LONG=1`.
const LONG: u32 = 1_000_000;
/// Changes of one case, at most.
const MOST_CHANGES: u64 = 6;
/// A case never grows beyond this.
const LONGEST: usize = 64 << 10;
/// How much the process may have grown in the end, over all cases.
const MOST_GROWN_KIB: u64 = 64 << 10;

/// What breaks parsers: limits of numbers, depth, ends of texts, and what a terminal obeys.
const TOKENS: [&[u8]; 34] = [
    b"0",
    b"-1",
    b"-0",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"1e309",
    b"0.1",
    b"null",
    b"true",
    b"\"\"",
    b"{}",
    b"[]",
    b"[",
    b"]",
    b"{\"a\":",
    b"\\u0000",
    b"\\ud800",
    b"\x1b]0;title\x07",
    b"\x1b[2J",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xe2\x80\xae",
    "训练".as_bytes(),
    b"../../",
    b"%00%ff",
    b"'\"`$()",
    b"[1-999999999]",
    b"(x4000000000)",
    b"&a *a",
    b",,",
];

/// Draws changes.
#[derive(Clone, Debug)]
pub struct Mutator(Dice);

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self(Dice::new(seed))
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.0.below(most as u64)).unwrap_or(0)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let most = 1 << self.below(8);
        begin..(begin + self.below(most) + 1).min(length)
    }

    /// One of the samples, changed.
    pub fn case(&mut self, samples: &[&[u8]]) -> Vec<u8> {
        let mut case = samples.get(self.below(samples.len())).map(|sample| sample.to_vec()).unwrap_or_default();
        for _ in 0..=self.0.draw() % MOST_CHANGES {
            self.change(&mut case, samples);
        }
        case.truncate(LONGEST);
        case
    }

    fn change(&mut self, case: &mut Vec<u8>, samples: &[&[u8]]) {
        let (range, at) = (self.range(case.len()), self.below(case.len() + 1));
        match self.below(11) {
            0 | 1 => {
                let token = TOKENS[self.below(TOKENS.len())];
                drop(case.splice(at..at, token.iter().copied()));
            }
            2 => {
                let token = TOKENS[self.below(TOKENS.len())];
                drop(case.splice(range, token.iter().copied()));
            }
            3 => drop(case.drain(range)),
            4 => {
                let copy = case[range].to_vec();
                drop(case.splice(at..at, copy));
            }
            5 => {
                let bit = 1 << self.below(8);
                case.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
            }
            6 => {
                let drawn = self.0.draw().to_le_bytes()[0];
                case.iter_mut().skip(at).take(1).for_each(|byte| *byte = drawn);
            }
            7 => case.truncate(at),
            8 => self.change_number(case, at),
            9 => {
                let other = samples.get(self.below(samples.len())).copied().unwrap_or_default();
                let part = self.range(other.len());
                drop(case.splice(at..at, other[part].iter().copied()));
            }
            _ => {
                let (token, times) = (TOKENS[self.below(TOKENS.len())], 1 << self.below(11));
                drop(case.splice(at..at, token.repeat(times)));
            }
        }
    }

    /// Puts another number in the place of the first one behind this place.
    fn change_number(&mut self, case: &mut Vec<u8>, at: usize) {
        let Some(begin) = case.iter().skip(at).position(u8::is_ascii_digit).map(|found| at + found) else { return };
        let end = case.iter().skip(begin).position(|byte| !byte.is_ascii_digit()).map_or(case.len(), |end| begin + end);
        let number = match self.below(4) {
            0 => self.0.draw(),
            1 => self.0.draw() >> self.below(64),
            2 => u64::from(u32::MAX) + self.0.draw() % 2,
            _ => self.0.draw() % 4,
        };
        drop(case.splice(begin..end, number.to_string().into_bytes()));
    }
}

/// How many cases are tried: these, or a million where time is no matter.
pub fn cases(quick: u32) -> u32 {
    if std::env::var_os("FERMI_TEST_LONG").is_some() { LONG } else { quick }
}

/// Gives `parser` each of the samples, and so many changed ones. A case that makes it panic is told, so that it can be kept.
///
/// # Panics
/// When the parser does, or when the process has grown.
pub fn try_all(samples: &[&[u8]], quick: u32, mut parser: impl FnMut(&[u8])) {
    let mut tried = |case: &[u8]| {
        let is_taken = panic::catch_unwind(AssertUnwindSafe(|| parser(case))).is_ok();
        assert!(is_taken, "the case was b\"{}\"", case.escape_ascii());
    };
    samples.iter().for_each(|sample| tried(sample));
    let mut mutator = Mutator::new(20_261);
    let before = peak_kib();
    for _ in 0..cases(quick) {
        tried(&mutator.case(samples));
    }
    let grown = peak_kib().saturating_sub(before);
    assert!(grown <= MOST_GROWN_KIB, "it has grown by {grown} KiB");
}

/// The most memory that this process ever had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_cases_and_they_are_many() {
        let samples: [&[u8]; 2] = [b"{\"a\":12,\"b\":[1,2]}", b"x"];
        let draw = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..1_000).map(|_| mutator.case(&samples)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        let distinct: std::collections::HashSet<_> = draw(1).into_iter().chain(draw(2)).collect();
        assert!(distinct.len() > 1_500, "{}", distinct.len());
        assert!(distinct.iter().all(|case| case.len() <= LONGEST));
    }

    #[test]
    fn a_parser_that_panics_is_found() {
        let found = panic::catch_unwind(|| try_all(&[b"abc"], 1_000, |case| assert!(!case.contains(&0xff))));
        assert!(found.is_err());
    }
}

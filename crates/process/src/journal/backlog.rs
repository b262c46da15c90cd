//! Lines that the disk has not taken: they wait, in their order, until it does.

use std::collections::VecDeque;

use super::Importance;

/// More is not kept; what has waited longest goes first.
const MOST_BYTES: usize = 256 << 10;

/// A line that waits.
#[derive(Debug)]
pub(super) struct WaitingLine {
    pub text: Vec<u8>,
    pub importance: Importance,
}

#[derive(Debug, Default)]
pub(super) struct Backlog {
    lines: VecDeque<WaitingLine>,
    bytes: usize,
}

impl Backlog {
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether a line waits without which the result of the run would not be known.
    pub fn has_result(&self) -> bool {
        self.lines.iter().any(|line| line.importance == Importance::Result)
    }

    pub fn first(&self) -> Option<&WaitingLine> {
        self.lines.front()
    }

    /// The first one was written.
    pub fn first_is_done(&mut self) {
        self.bytes -= self.lines.pop_front().map_or(0, |line| line.text.len());
    }

    /// The first line without which the result of the run would not be known.
    pub fn first_result(&self) -> Option<&[u8]> {
        self.lines.iter().find(|line| line.importance == Importance::Result).map(|line| line.text.as_slice())
    }

    /// That one was written. The answer is how many lines before it are given up.
    pub fn first_result_is_done(&mut self) -> u64 {
        let Some(at) = self.lines.iter().position(|line| line.importance == Importance::Result) else { return 0 };
        self.bytes -= self.lines.drain(..=at).map(|line| line.text.len()).sum::<usize>();
        at as u64
    }

    /// Lets a line wait. The answer is how many were given up for it: those that tell of the way first.
    pub fn push(&mut self, line: WaitingLine) -> u64 {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        let mut given_up = 0;
        while self.bytes > MOST_BYTES && self.lines.len() > 1 {
            let usual = self.lines.iter().position(|line| line.importance == Importance::Usual).unwrap_or(0);
            self.bytes -= self.lines.remove(usual).map_or(0, |line| line.text.len());
            given_up += 1;
        }
        given_up
    }

    /// Gives all of them up. The answer is how many there were.
    pub fn clear(&mut self) -> u64 {
        let count = self.len();
        *self = Self::default();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_full_lines_of_the_way_are_given_up_before_results() {
        let line = |importance| WaitingLine { text: vec![b'x'; MOST_BYTES / 4], importance };
        let mut backlog = Backlog::default();
        assert_eq!(backlog.push(line(Importance::Result)), 0);
        for _ in 0..3 {
            assert_eq!(backlog.push(line(Importance::Usual)), 0);
        }
        assert_eq!(backlog.push(line(Importance::Result)), 1);
        assert_eq!((backlog.len(), backlog.has_result()), (4, true));
        assert!(backlog.first().is_some_and(|first| first.importance == Importance::Result));
        backlog.first_is_done();
        assert_eq!(backlog.clear(), 3);
        assert!(backlog.is_empty() && backlog.bytes == 0);
    }
}

//! Which pieces of a stream are taken, and where they fit.

use crate::task::{RunKey, Task};

/// Where a piece fits into what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Behind the first so many of its bytes, which are there already.
    Append { known: usize },
    /// All of it is there.
    Known,
    /// Something is missing before it.
    Gap,
}

/// Where a piece of this length at this offset fits.
pub fn fit(have: u64, offset: u64, length: usize) -> Fit {
    match have.checked_sub(offset) {
        None => Fit::Gap,
        Some(known) => match usize::try_from(known) {
            Ok(known) if known < length => Fit::Append { known },
            _ => Fit::Known,
        },
    }
}

/// Whether what a rank wrote in an attempt is wanted from a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Yes,
    /// The journal has not told of the attempt yet: until then another launch could take its number.
    NotYet,
    /// The attempt of this number is another launch's.
    Never,
}

/// What the server has of the journal of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalSent {
    /// All of it, and there will be no more: the run is over.
    Whole,
    Partly,
}

impl Task {
    /// Whether bytes of this attempt are taken from this run.
    pub fn wants_stream(&self, run: &RunKey, attempt: u32, journal: JournalSent) -> Wanted {
        let is_first = run.node_rank.get() == 0;
        match self.attempts.iter().find(|known| known.number.get() == attempt) {
            Some(known) if known.generation == run.generation => Wanted::Yes,
            Some(_) => Wanted::Never,
            // No journal will tell of it, since a disk has not taken the line or its coordinator is gone; and the next
            // launch counts behind what is written.
            None if run.generation == self.generation
                && (self.first_node_is_gone() || is_first && journal == JournalSent::Whole) =>
            {
                Wanted::Yes
            }
            None if run.generation == self.generation => Wanted::NotYet,
            None => Wanted::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fit_where_the_last_one_ended_or_before() {
        assert_eq!(fit(10, 10, 5), Fit::Append { known: 0 });
        assert_eq!(fit(10, 7, 5), Fit::Append { known: 3 });
        assert_eq!(fit(10, 5, 5), Fit::Known);
        assert_eq!(fit(10, 0, 0), Fit::Known);
        assert_eq!(fit(10, 11, 5), Fit::Gap);
    }
}

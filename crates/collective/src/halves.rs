//! The all-reduce of two ranks: each adds up one half of the values, and what is to be added and what has been added
//! travel at the same time.
//!
//! Each rank sends the half that the other adds up, and the sums of its own, which is as much as a swap of everything, but only
//! half of it is added on each side, and every sum is computed once. Pieces go in an order that both know ([`Course`]), so
//! that they need no headers.

use std::ops::Range;

use crate::bytes::{add, bytes_of, bytes_of_mut};
use crate::error::{Operation, OperationError};
use crate::ring::{Ring, Talk};

/// Values that travel as one. Large ones spare wake-ups and calls; the sums of one are still in the cache when they are sent.
const PIECE: usize = 128 << 10;
/// Values of a cache line: where the second half begins, so that the copies of the kernel stay aligned.
const LINE: usize = 16;
/// To a rank on the same machine, pieces that are sent before the first sum: what lies in the sockets stays in the cache. Over a
/// network more must be under way.
const NEAR_LEAD: usize = 4;

pub(crate) fn all_reduce_sum(ring: &mut Ring, rank: usize, values: &mut [f32]) -> Result<(), OperationError> {
    let lead = if ring.is_near { NEAR_LEAD } else { usize::MAX };
    let total = size_of_val(values);
    let mut halves = Halves::new(rank, values, lead);
    ring.talk(Operation::AllReduce, total, &mut halves)
}

/// A piece on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Travelling {
    /// To be added up by who receives it.
    Addend(usize),
    Sum(usize),
}

/// The order of the pieces, alike in both directions: addends are `lead` ahead, then sums and addends take turns.
#[derive(Clone, Copy, Debug)]
struct Course {
    pieces: usize,
    lead: usize,
}

impl Course {
    fn at(self, turn: usize) -> Option<Travelling> {
        let lead = self.lead.min(self.pieces);
        let both = self.pieces - lead;
        let Some(behind) = turn.checked_sub(lead) else { return Some(Travelling::Addend(turn)) };
        match behind {
            _ if behind < 2 * both && behind.is_multiple_of(2) => Some(Travelling::Sum(behind / 2)),
            _ if behind < 2 * both => Some(Travelling::Addend(lead + behind / 2)),
            _ if turn < 2 * self.pieces => Some(Travelling::Sum(behind - both)),
            _ => None,
        }
    }
}

/// How far one direction has come.
#[derive(Debug, Default)]
struct Position {
    turn: usize,
    /// Bytes of the piece.
    done: usize,
}

struct Halves<'a> {
    values: &'a mut [f32],
    /// What this rank adds up, and what the other does.
    own: Range<usize>,
    other: Range<usize>,
    course: Course,
    /// An addend as it comes.
    piece: Vec<f32>,
    /// Pieces that are added up.
    added: usize,
    sending: Position,
    receiving: Position,
}

impl<'a> Halves<'a> {
    fn new(rank: usize, values: &'a mut [f32], lead: usize) -> Self {
        let length = values.len();
        let middle = (length / 2).next_multiple_of(LINE).min(length);
        let (first, second) = (0..middle, middle..length);
        let longer = first.len().max(second.len());
        let (own, other) = if rank == 0 { (first, second) } else { (second, first) };
        let course = Course { pieces: longer.div_ceil(PIECE), lead };
        let piece = vec![0.0; PIECE.min(longer)];
        let (sending, receiving) = Default::default();
        let mut halves = Self { values, own, other, course, piece, added: 0, sending, receiving };
        halves.settle();
        halves
    }

    /// Where a piece of `half` lies; the last may be shorter, or empty in the shorter half.
    fn place(half: &Range<usize>, index: usize) -> Range<usize> {
        let at = |index: usize| half.end.min(half.start + index * PIECE);
        at(index)..at(index + 1)
    }

    /// The piece that is sent next, if it is there to be sent.
    fn outgoing(&self) -> Option<Range<usize>> {
        match self.course.at(self.sending.turn)? {
            Travelling::Addend(index) => Some(Self::place(&self.other, index)),
            Travelling::Sum(index) => (index < self.added).then(|| Self::place(&self.own, index)),
        }
    }

    /// Goes on to the next pieces where one is whole.
    fn settle(&mut self) {
        while let Some(travelling) = self.course.at(self.receiving.turn) {
            let place = match travelling {
                Travelling::Addend(index) => Self::place(&self.own, index),
                Travelling::Sum(index) => Self::place(&self.other, index),
            };
            if self.receiving.done < place.len() * size_of::<f32>() {
                break;
            }
            if matches!(travelling, Travelling::Addend(_)) {
                let length = place.len();
                add(&mut self.values[place], &self.piece[..length]);
                self.added += 1;
            }
            self.receiving = Position { turn: self.receiving.turn + 1, done: 0 };
        }
        while self.outgoing().is_some_and(|place| self.sending.done == place.len() * size_of::<f32>()) {
            self.sending = Position { turn: self.sending.turn + 1, done: 0 };
        }
    }
}

impl Talk for Halves<'_> {
    fn to_send(&self) -> &[u8] {
        self.outgoing().map_or(&[], |place| &bytes_of(&self.values[place])[self.sending.done..])
    }

    fn sent(&mut self, bytes: usize) {
        self.sending.done += bytes;
        self.settle();
    }

    fn room(&mut self) -> &mut [u8] {
        let target = match self.course.at(self.receiving.turn) {
            None => return &mut [],
            Some(Travelling::Addend(index)) => &mut self.piece[..Self::place(&self.own, index).len()],
            // The other rank could add this piece up only after it had ours.
            Some(Travelling::Sum(index)) => &mut self.values[Self::place(&self.other, index)],
        };
        &mut bytes_of_mut(target)[self.receiving.done..]
    }

    fn received(&mut self, bytes: usize) {
        self.receiving.done += bytes;
        self.settle();
    }

    fn is_over(&self) -> bool {
        self.course.at(self.sending.turn).is_none() && self.course.at(self.receiving.turn).is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addends_go_ahead_and_sums_follow() {
        let order = |pieces, lead| -> Vec<Travelling> {
            let course = Course { pieces, lead };
            (0..).map_while(|turn| course.at(turn)).collect()
        };
        use Travelling::{Addend, Sum};
        assert_eq!(order(1, 2), [Addend(0), Sum(0)]);
        assert_eq!(order(3, 1), [Addend(0), Sum(0), Addend(1), Sum(1), Addend(2), Sum(2)]);
        assert_eq!(order(3, 2), [Addend(0), Addend(1), Sum(0), Addend(2), Sum(1), Sum(2)]);
        assert_eq!(order(2, usize::MAX), [Addend(0), Addend(1), Sum(0), Sum(1)]);
    }

    /// Moves up to so many bytes from one to the other.
    fn carry(from: &mut Halves<'_>, to: &mut Halves<'_>, most: usize) -> usize {
        let room = to.room();
        let sent = from.to_send();
        let count = most.min(sent.len()).min(room.len());
        room[..count].copy_from_slice(&sent[..count]);
        from.sent(count);
        to.received(count);
        count
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn both_get_the_same_sums_however_the_bytes_come(
            length in 0usize..3 * PIECE,
            edge in 0usize..40,
            lead in prop_oneof![Just(1), Just(2), Just(usize::MAX)],
            most in 1usize..1 << 20,
        ) {
            // Near the length at which the last piece of one half is empty.
            for length in [length, 2 * PIECE + edge] {
                let mut one: Vec<f32> = (0..length).map(|index| index as f32).collect();
                let mut two: Vec<f32> = (0..length).map(|index| (index * 2) as f32).collect();
                let (mut first, mut second) = (Halves::new(0, &mut one, lead), Halves::new(1, &mut two, lead));
                while !(first.is_over() && second.is_over()) {
                    let most = most.max(length / 50);
                    let moved = carry(&mut first, &mut second, most) + carry(&mut second, &mut first, most);
                    prop_assert!(moved > 0, "nothing moves");
                }
                drop((first, second));
                prop_assert!(one.iter().enumerate().all(|(index, sum)| *sum == (index * 3) as f32));
                prop_assert_eq!(one, two);
            }
        }
    }
}

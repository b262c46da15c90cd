//! The ring all-reduce: every rank sends and receives about twice the data, however many ranks there are.

use std::ops::Range;

use crate::bytes::{bytes_of, bytes_of_mut};
use crate::error::{Operation, OperationError};
use crate::halves;
use crate::ring::Ring;

/// Long buffers go around in segments of this many values: what was summed is still in the cache when it is passed on.
const SEGMENT: usize = 1 << 20;
/// As many values as two ranks swap: sending them takes no longer than a wake-up.
const SHORT: usize = 8 << 10;
/// Values that are received before they are added.
const PIECE: usize = 64 << 10;

pub(crate) fn all_reduce_sum(
    ring: &mut Ring,
    rank: usize,
    world_size: usize,
    values: &mut [f32],
) -> Result<(), OperationError> {
    if world_size == 2 {
        ring.begin();
        return of_two(ring, rank, values);
    }
    let mut piece = piece(values.len());
    for segment in values.chunks_mut(SEGMENT * world_size) {
        ring.begin();
        reduce_scatter(ring, Operation::AllReduce, rank, world_size, segment, &mut piece)?;
        all_gather(ring, Operation::AllReduce, rank, world_size, segment)?;
    }
    Ok(())
}

/// Two ranks need no ring. What is short is swapped, which takes one step instead of two; a + b is b + a.
fn of_two(ring: &mut Ring, rank: usize, values: &mut [f32]) -> Result<(), OperationError> {
    if values.len() > SHORT {
        return halves::all_reduce_sum(ring, rank, values);
    }
    let (outgoing, mut piece) = (values.to_vec(), piece(values.len()));
    ring.exchange_adding(Operation::AllReduce, bytes_of(&outgoing), values, &mut piece)
}

/// Room for what is received before it is added.
pub(crate) fn piece(values: usize) -> Vec<f32> {
    vec![0.0; PIECE.min(values).max(1)]
}

/// Each part travels once around and grows; at the end a rank holds part rank + 1 complete.
pub(crate) fn reduce_scatter(
    ring: &mut Ring,
    operation: Operation,
    rank: usize,
    world_size: usize,
    values: &mut [f32],
    piece: &mut [f32],
) -> Result<(), OperationError> {
    let length = values.len();
    for step in 0..world_size - 1 {
        let sent = (rank + world_size - step) % world_size;
        let received = (sent + world_size - 1) % world_size;
        let (sent, sums) = apart(values, part(length, world_size, sent), part(length, world_size, received));
        ring.exchange_adding(operation, bytes_of(sent), sums, piece)?;
    }
    Ok(())
}

/// The complete parts travel once around; a rank begins with part rank + 1.
pub(crate) fn all_gather(
    ring: &mut Ring,
    operation: Operation,
    rank: usize,
    world_size: usize,
    values: &mut [f32],
) -> Result<(), OperationError> {
    let length = values.len();
    for step in 0..world_size - 1 {
        let sent = (rank + 1 + world_size - step) % world_size;
        let received = (sent + world_size - 1) % world_size;
        let (sent, target) = apart(values, part(length, world_size, sent), part(length, world_size, received));
        ring.exchange_into(operation, bytes_of(sent), bytes_of_mut(target))?;
    }
    Ok(())
}

/// Two parts that do not overlap, the second to be changed. Empty ones may begin where the other does.
fn apart(values: &mut [f32], first: Range<usize>, second: Range<usize>) -> (&[f32], &mut [f32]) {
    if first.end <= second.start {
        let (low, high) = values.split_at_mut(second.start);
        (&low[first], &mut high[..second.len()])
    } else {
        let (low, high) = values.split_at_mut(first.start);
        (&high[..first.len()], &mut low[second])
    }
}

/// Part `index` of `world_size` nearly equal ones; some are empty where there are fewer values than ranks.
pub(crate) fn part(length: usize, world_size: usize, index: usize) -> Range<usize> {
    index * length / world_size..(index + 1) * length / world_size
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_told_apart_wherever_they_lie_and_however_short_they_are() {
        let mut values = [0.0, 1.0, 2.0, 3.0];
        for (first, second) in
            [(0..2, 2..4), (2..4, 0..2), (0..0, 0..1), (0..1, 0..0), (4..4, 4..4), (1..1, 1..3), (1..3, 3..3)]
        {
            let expected = (values[first.clone()].to_vec(), values[second.clone()].to_vec());
            let (one, other) = apart(&mut values, first, second);
            assert_eq!((one.to_vec(), other.to_vec()), expected);
        }
    }

    proptest! {
        #[test]
        fn the_parts_cover_every_value_once(length in 0usize..2000, world_size in 1usize..40) {
            let mut next = 0;
            for index in 0..world_size {
                let part = part(length, world_size, index);
                prop_assert_eq!(part.start, next);
                next = part.end;
            }
            prop_assert_eq!(next, length);
        }
    }
}

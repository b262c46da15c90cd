//! The ring all-reduce: every rank sends and receives about twice the data, however many ranks there are.

use std::ops::Range;

use crate::error::{Operation, OperationError};
use crate::ring::{Expected, Ring};

/// Long buffers go around in pieces of this many values, so that the copies on the way stay small.
const SEGMENT: usize = 4 << 20;

pub(crate) fn all_reduce_sum(
    ring: &mut Ring,
    rank: usize,
    world_size: usize,
    values: &mut [f32],
) -> Result<(), OperationError> {
    let mut outgoing = Vec::new();
    let mut incoming = Vec::new();
    for segment in values.chunks_mut(SEGMENT) {
        ring.begin();
        let length = segment.len();
        let part = |index: usize| part(length, world_size, index);
        let mut pass = |segment: &mut [f32], sent: usize, received: usize, merge: fn(&mut f32, f32)| {
            encode(&segment[part(sent)], &mut outgoing);
            let target = &mut segment[part(received)];
            ring.exchange(Operation::AllReduce, &outgoing, &mut incoming, Expected::Exactly(target.len() * 4))?;
            decode(&incoming, target, merge);
            Ok(())
        };
        // Reduce-scatter: each part travels once around and grows; at the end this rank holds part rank + 1 complete.
        for step in 0..world_size - 1 {
            let sent = (rank + world_size - step) % world_size;
            let received = (sent + world_size - 1) % world_size;
            pass(segment, sent, received, |mine, theirs| *mine += theirs)?;
        }
        // All-gather: the complete parts travel once around.
        for step in 0..world_size - 1 {
            let sent = (rank + 1 + world_size - step) % world_size;
            let received = (sent + world_size - 1) % world_size;
            pass(segment, sent, received, |mine, theirs| *mine = theirs)?;
        }
    }
    Ok(())
}

/// Part `index` of `world_size` nearly equal ones; some are empty where there are fewer values than ranks.
fn part(length: usize, world_size: usize, index: usize) -> Range<usize> {
    index * length / world_size..(index + 1) * length / world_size
}

pub(crate) fn encode(values: &[f32], bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

pub(crate) fn decode(bytes: &[u8], values: &mut [f32], merge: fn(&mut f32, f32)) {
    for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(4)) {
        merge(value, f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

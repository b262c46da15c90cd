//! Broadcast: the values flow from the root to the right in pieces, until the rank before the root has them.

use crate::bytes::{bytes_of, bytes_of_mut};
use crate::error::{Operation, OperationError};
use crate::ring::Ring;

/// Small enough that all ranks are busy at once, large enough that headers do not count.
const PIECE: usize = 64 << 10;

pub(crate) fn broadcast(ring: &mut Ring, rank: usize, root: usize, values: &mut [f32]) -> Result<(), OperationError> {
    ring.begin();
    for piece in values.chunks_mut(PIECE) {
        if rank != root {
            ring.receive_into(Operation::Broadcast, bytes_of_mut(piece))?;
        }
        if ring.right_rank != root {
            ring.send(Operation::Broadcast, bytes_of(piece))?;
        }
    }
    Ok(())
}

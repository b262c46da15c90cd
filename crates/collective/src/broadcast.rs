//! Broadcast: the values flow from the root to the right in pieces, until the rank before the root has them.

use crate::all_reduce::{decode, encode};
use crate::error::{Operation, OperationError};
use crate::ring::{Expected, Ring};

/// Small enough that all ranks are busy at once, large enough that headers do not count.
const PIECE: usize = 64 << 10;

pub(crate) fn broadcast(ring: &mut Ring, rank: usize, root: usize, values: &mut [f32]) -> Result<(), OperationError> {
    ring.begin();
    let mut bytes = Vec::new();
    for piece in values.chunks_mut(PIECE) {
        if rank == root {
            encode(piece, &mut bytes);
        } else {
            ring.receive(Operation::Broadcast, &mut bytes, Expected::Exactly(piece.len() * 4))?;
            decode(&bytes, piece, |mine, theirs| *mine = theirs);
        }
        if ring.right_rank != root {
            ring.send(Operation::Broadcast, &bytes)?;
        }
    }
    Ok(())
}

//! All-gather of small blobs: each travels once around the ring.

use crate::error::{Operation, OperationError};
use crate::ring::{Expected, Ring};

/// Whatever a rank says about itself fits in here; more from the wire is a mistake, not a blob.
const LARGEST_BLOB: usize = 16 << 20;

pub(crate) fn all_gather(
    ring: &mut Ring,
    operation: Operation,
    rank: usize,
    world_size: usize,
    blob: &[u8],
) -> Result<Vec<Vec<u8>>, OperationError> {
    ring.begin();
    let mut blobs = vec![Vec::new(); world_size];
    blobs[rank] = blob.to_vec();
    for step in 0..world_size - 1 {
        let sent = (rank + world_size - step) % world_size;
        let received = (sent + world_size - 1) % world_size;
        let mut incoming = Vec::new();
        ring.exchange(operation, &blobs[sent], &mut incoming, Expected::AtMost(LARGEST_BLOB))?;
        blobs[received] = incoming;
    }
    Ok(blobs)
}

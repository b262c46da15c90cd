//! What a rank holds to work with the others.

use std::fmt;
use std::time::Duration;

use crate::error::{ConnectError, Operation, OperationError};
use crate::rendezvous::Rendezvous;
use crate::ring::Ring;
use crate::{all_gather, all_reduce, broadcast};

pub const DEFAULT_OPERATION_TIMEOUT: Duration = Duration::from_secs(300);
/// "For ever" must still be a moment that the clock can express.
pub(crate) const LONGEST_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 3600);

/// All ranks must call the same operations in the same order. After an error the communicator is of no further use:
/// every later call fails as well.
pub struct Communicator {
    rank: usize,
    world_size: usize,
    /// None in a world of one, which needs no sockets.
    ring: Option<Ring>,
}

impl Communicator {
    /// Returns when every rank has come and the ring is closed, or with the reason why that did not happen in time.
    pub fn connect(rendezvous: &Rendezvous) -> Result<Self, ConnectError> {
        let Rendezvous { rank, world_size, .. } = *rendezvous;
        if rank >= world_size {
            return Err(ConnectError::NoSuchRank { rank, world_size });
        }
        let ring = if world_size == 1 { None } else { Some(rendezvous.meet()?) };
        Ok(Self { rank, world_size, ring })
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn world_size(&self) -> usize {
        self.world_size
    }

    /// How long an operation waits while a neighbour neither sends nor takes a single byte.
    pub fn set_operation_timeout(&mut self, timeout: Duration) {
        if let Some(ring) = &mut self.ring {
            ring.timeout = timeout.min(LONGEST_TIMEOUT);
        }
    }

    /// Replaces each value by its sum over all ranks. The order of the additions is fixed by the world size alone, and
    /// every sum is computed once and copied, so that all ranks hold the same bits.
    pub fn all_reduce_sum(&mut self, values: &mut [f32]) -> Result<(), OperationError> {
        match &mut self.ring {
            None => Ok(()),
            Some(ring) => all_reduce::all_reduce_sum(ring, self.rank, self.world_size, values),
        }
    }

    /// Adds over all ranks and returns this rank's part of the sums: one of nearly equal ones, in the order of the ranks.
    /// The other values are of no use afterwards.
    pub fn reduce_scatter_sum<'a>(&mut self, values: &'a mut [f32]) -> Result<&'a mut [f32], OperationError> {
        let Self { rank, world_size, .. } = *self;
        if let Some(ring) = &mut self.ring {
            let mut piece = all_reduce::piece(values.len());
            let from = before(rank, world_size);
            ring.begin();
            all_reduce::reduce_scatter(ring, Operation::ReduceScatter, from, world_size, values, &mut piece)?;
        }
        let own = all_reduce::part(values.len(), world_size, rank);
        Ok(&mut values[own])
    }

    /// Brings every rank's part of the values to all ranks; the parts are those of [`Self::reduce_scatter_sum`].
    pub fn all_gather_values(&mut self, values: &mut [f32]) -> Result<(), OperationError> {
        let Self { rank, world_size, .. } = *self;
        let Some(ring) = &mut self.ring else { return Ok(()) };
        ring.begin();
        all_reduce::all_gather(ring, Operation::AllGather, before(rank, world_size), world_size, values)
    }

    /// Replaces the values of every rank by those of `root`.
    pub fn broadcast(&mut self, root: usize, values: &mut [f32]) -> Result<(), OperationError> {
        if root >= self.world_size {
            return Err(OperationError::NoSuchRoot { root, world_size: self.world_size });
        }
        match &mut self.ring {
            None => Ok(()),
            Some(ring) => broadcast::broadcast(ring, self.rank, root, values),
        }
    }

    /// The blobs of all ranks, by rank; they may differ in length and are meant to be small.
    pub fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, OperationError> {
        match &mut self.ring {
            None => Ok(vec![blob.to_vec()]),
            Some(ring) => all_gather::all_gather(ring, Operation::AllGather, self.rank, self.world_size, blob),
        }
    }

    /// Returns when every rank has called it.
    pub fn barrier(&mut self) -> Result<(), OperationError> {
        match &mut self.ring {
            None => Ok(()),
            // A barrier is over when every rank has sent its part.
            Some(ring) => all_gather::all_gather(ring, Operation::Barrier, self.rank, self.world_size, &[]).map(|_| ()),
        }
    }
}

/// The halves of the all-reduce end and begin at the part behind a rank; from the place before it, that is its own.
fn before(rank: usize, world_size: usize) -> usize {
    (rank + world_size - 1) % world_size
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator").field("rank", &self.rank).field("world_size", &self.world_size).finish()
    }
}

//! How fast the operations are, by size, in the terms of nccl-tests.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{Communicator, OperationError};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
}

/// One size of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub operation: Measured,
    pub bytes: usize,
    pub rounds: usize,
    /// Of one operation on the slowest rank, since one that only sends is done before the others have it: the median, the
    /// shortest, the mean.
    pub micros: f64,
    pub least_micros: f64,
    pub mean_micros: f64,
    /// Bytes of the buffer per second by the median, in GB/s: nccl-tests' algbw.
    pub algorithm_bandwidth: f64,
    /// What the wire of a rank carries for it, comparable between operations and numbers of ranks: nccl-tests' busbw.
    pub bus_bandwidth: f64,
    /// Values on any rank that are not what they should be.
    pub wrong: u64,
}

/// Long enough that the median is one of many where an operation is short.
const LONG: Duration = Duration::from_millis(200);
const MOST_ROUNDS: f64 = 1_000.0;
const LEAST_ROUNDS: f64 = 3.0;

impl Measured {
    pub const ALL: [Self; 4] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::Broadcast];

    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
        }
    }

    /// Bytes on the wire of each rank over bytes of the buffer.
    pub fn bus_factor(self, ranks: usize) -> f64 {
        let ranks = ranks as f64;
        match self {
            Self::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Self::AllGather | Self::ReduceScatter => (ranks - 1.0) / ranks,
            Self::Broadcast => 1.0,
        }
    }

    fn run(self, ranks: &mut Communicator, values: &mut [f32]) -> Result<(), OperationError> {
        match self {
            Self::AllReduce => ranks.all_reduce_sum(values),
            Self::AllGather => ranks.all_gather_values(values),
            Self::ReduceScatter => ranks.reduce_scatter_sum(values).map(|_| ()),
            Self::Broadcast => ranks.broadcast(0, values),
        }
    }

    /// What the operation makes of `begun` at a place that belongs to `owner`'s part.
    fn expected(self, ranks: usize, owner: usize, index: usize) -> f32 {
        match self {
            Self::AllReduce | Self::ReduceScatter => (0..ranks.min(RANKS))
                .map(|rank| {
                    let alike = (ranks - rank).div_ceil(RANKS);
                    begun(rank, index) * alike as f32
                })
                .sum(),
            Self::AllGather => begun(owner, index),
            Self::Broadcast => begun(0, index),
        }
    }
}

/// Ranks that begin with different values, and places; both small, so that every sum is exact in any order.
const RANKS: usize = 8;
const PLACES: usize = 31;

fn begun(rank: usize, index: usize) -> f32 {
    ((rank % RANKS + 1) * (index % PLACES + 1)) as f32
}

/// Where the values are that ranks exchange, and by what means.
pub trait Buffers {
    type Problem: From<OperationError>;

    /// Operations that are begun before one waits for them.
    const AT_ONCE: usize;

    /// How many values it takes where so many are asked for.
    fn length(&self, values: usize) -> usize;
    fn load(&mut self, values: &[f32]) -> Result<(), Self::Problem>;
    /// Does it so many times and waits for the end.
    fn run(&mut self, ranks: &mut Communicator, operation: Measured, times: usize) -> Result<(), Self::Problem>;
    fn read(&mut self, values: &mut [f32]) -> Result<(), Self::Problem>;
}

/// In this process's memory, over TCP. The values begin with a cache line, as tensors do: some processors copy a sixth slower
/// from what `malloc` gives, which begins 16 bytes behind one.
#[derive(Debug, Default)]
pub struct TcpBuffers {
    values: Vec<f32>,
    begin: usize,
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl TcpBuffers {
    fn aligned(&mut self) -> &mut [f32] {
        &mut self.values[self.begin..]
    }
}

impl Buffers for TcpBuffers {
    type Problem = OperationError;

    const AT_ONCE: usize = 1;

    fn length(&self, values: usize) -> usize {
        values
    }

    fn load(&mut self, values: &[f32]) -> Result<(), OperationError> {
        self.values.clear();
        self.values.reserve(values.len() + LINE / size_of::<f32>());
        self.begin = self.values.as_ptr().align_offset(LINE);
        self.values.resize(self.begin, 0.0);
        self.values.extend_from_slice(values);
        Ok(())
    }

    fn run(&mut self, ranks: &mut Communicator, operation: Measured, times: usize) -> Result<(), OperationError> {
        (0..times).try_for_each(|_| operation.run(ranks, self.aligned()))
    }

    fn read(&mut self, values: &mut [f32]) -> Result<(), OperationError> {
        values.copy_from_slice(self.aligned());
        Ok(())
    }
}

/// Measures one size; all ranks call it alike, and all get the same row.
pub fn measure<B: Buffers>(
    ranks: &mut Communicator,
    buffers: &mut B,
    operation: Measured,
    bytes: usize,
) -> Result<Row, B::Problem> {
    let (rank, count) = (ranks.rank(), ranks.world_size());
    let length = buffers.length(bytes / size_of::<f32>());
    let bytes = length * size_of::<f32>();
    let mut values: Vec<f32> = (0..length).map(|index| begun(rank, index)).collect();
    buffers.load(&values)?;
    ranks.barrier()?;
    let start = Instant::now();
    buffers.run(ranks, operation, 1)?;
    let first = start.elapsed();
    buffers.read(&mut values)?;
    let wrong = wrong_on_all(ranks, wrong_here(operation, rank, count, &values))?;
    // Sums of sums grow beyond all bounds; zeroes stay what they are.
    values.fill(0.0);
    buffers.load(&values)?;
    drop(values);
    let rounds = (LONG.as_secs_f64() / first.as_secs_f64().max(1e-6)).clamp(LEAST_ROUNDS, MOST_ROUNDS);
    let rounds = (of_first(ranks, rounds)? as usize).div_ceil(B::AT_ONCE).max(LEAST_ROUNDS as usize);
    buffers.run(ranks, operation, B::AT_ONCE)?;
    ranks.barrier()?;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        buffers.run(ranks, operation, B::AT_ONCE)?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / B::AT_ONCE as f64);
    }
    times.sort_by(f64::total_cmp);
    let micros = slowest(ranks, times[rounds / 2])?;
    let least_micros = slowest(ranks, times[0])?;
    let mean_micros = slowest(ranks, times.iter().sum::<f64>() / rounds as f64)?;
    let algorithm_bandwidth = bytes as f64 / micros / 1e3;
    let bus_bandwidth = algorithm_bandwidth * operation.bus_factor(count);
    let rounds = rounds * B::AT_ONCE;
    Ok(Row { operation, bytes, rounds, micros, least_micros, mean_micros, algorithm_bandwidth, bus_bandwidth, wrong })
}

fn wrong_here(operation: Measured, rank: usize, count: usize, values: &[f32]) -> u64 {
    let wrong_of = |owner: usize| {
        let part = crate::all_reduce::part(values.len(), count, owner);
        part.filter(|index| values[*index] != operation.expected(count, owner, *index)).count() as u64
    };
    match operation {
        // Only its own part of the sums is a rank's to know.
        Measured::ReduceScatter => wrong_of(rank),
        Measured::AllReduce | Measured::AllGather | Measured::Broadcast => (0..count).map(wrong_of).sum(),
    }
}

fn wrong_on_all(ranks: &mut Communicator, here: u64) -> Result<u64, OperationError> {
    Ok(numbers(ranks, here)?.into_iter().sum())
}

/// The smallest of what the ranks name.
pub fn least(ranks: &mut Communicator, here: u64) -> Result<u64, OperationError> {
    Ok(numbers(ranks, here)?.into_iter().min().unwrap_or(here))
}

/// What the first rank says, so that all do the same.
fn of_first(ranks: &mut Communicator, here: f64) -> Result<f64, OperationError> {
    Ok(numbers(ranks, here.to_bits())?.first().map_or(here, |bits| f64::from_bits(*bits)))
}

fn slowest(ranks: &mut Communicator, here: f64) -> Result<f64, OperationError> {
    Ok(numbers(ranks, here.to_bits())?.into_iter().map(f64::from_bits).fold(here, f64::max))
}

fn numbers(ranks: &mut Communicator, here: u64) -> Result<Vec<u64>, OperationError> {
    let blobs = ranks.all_gather(&here.to_le_bytes())?;
    Ok(blobs.iter().filter_map(|blob| blob.as_slice().try_into().ok()).map(u64::from_le_bytes).collect())
}

/// From the smallest to the largest, each so many times the one before.
pub fn sizes(least: usize, most: usize, times: usize) -> Vec<usize> {
    let next = |size: &usize| size.checked_mul(times.max(2)).filter(|next| *next <= most);
    std::iter::successors((least <= most).then_some(least.max(size_of::<f32>())), next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_to_the_last_that_fits() {
        assert_eq!(sizes(1 << 10, 1 << 14, 4), [1 << 10, 1 << 12, 1 << 14]);
        assert_eq!(sizes(1 << 10, 5 << 10, 4), [1 << 10, 1 << 12]);
        assert_eq!(sizes(8, 4, 2), Vec::<usize>::new());
    }

    #[test]
    fn the_bus_carries_what_nccl_tests_say() {
        assert_eq!(Measured::AllReduce.bus_factor(2), 1.0);
        assert_eq!(Measured::AllReduce.bus_factor(8), 1.75);
        assert_eq!(Measured::AllGather.bus_factor(4), 0.75);
        assert_eq!(Measured::Broadcast.bus_factor(4), 1.0);
    }

    #[test]
    fn expected_sums_are_those_of_all_ranks() {
        for ranks in [1, 2, 7, 8, 9, 16, 19] {
            for index in [0, 30, 31, 1000] {
                let sum: f32 = (0..ranks).map(|rank| begun(rank, index)).sum();
                assert_eq!(Measured::AllReduce.expected(ranks, 0, index), sum, "{ranks} ranks at {index}");
            }
        }
    }
}

//! NCCL's own operations, for those who want to know how fast they are: libnccl and the driver are loaded when they are
//! asked for, and nothing here is needed to build or to train.
//!
//! [`NcclRanks::connect`] joins the ranks of a [`Communicator`], over which they also agree; one GPU each. All calls of
//! foreign code are in [`raw`].

mod raw;

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Buffers, Measured};
use crate::{Communicator, OperationError};
use raw::{Driver, Library, Memory, NcclCommunicator, UniqueId};

pub use raw::LIBRARY;

/// Ranks meet, and each operation ends, within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Looks at the stream between two at the clock.
const LOOKS: u32 = 1_000;

/// Why NCCL is not measured.
#[derive(Debug, thiserror::Error)]
pub enum NcclProblem {
    #[error("libcuda.so.1 cannot be loaded: {0}")]
    NoDriver(String),
    #[error("there is no GPU for local rank {local_rank}: the driver shows {devices}")]
    NoGpu { local_rank: usize, devices: usize },
    #[error("libnccl.so.2 cannot be loaded: {0}")]
    NoLibrary(String),
    /// A call that came back with an error, in its library's words.
    #[error("{call}: {said}")]
    Failed { call: &'static str, said: String },
    #[error("{call} did not end within {seconds} s")]
    Late { call: &'static str, seconds: u64 },
    #[error(transparent)]
    Meeting(#[from] OperationError),
}

/// This machine's part: a GPU and the library, before any other rank is met.
#[derive(Debug)]
pub struct NcclDevice {
    driver: Driver,
    library: Library,
}

impl NcclDevice {
    /// Opens the GPU of a local rank, and the first of these that is a libnccl; none is the system's.
    pub fn open(local_rank: usize, libraries: &[PathBuf]) -> Result<Self, NcclProblem> {
        let driver = Driver::open(local_rank)?;
        let (last, others) = match libraries.split_last() {
            Some((last, others)) => (last.as_path(), others),
            None => (Path::new(LIBRARY), libraries),
        };
        let found = others.iter().find_map(|path| Library::open(path).ok());
        let library = found.map_or_else(|| Library::open(last), Ok)?;
        Ok(Self { driver, library })
    }

    /// As `2.27.3`.
    pub fn version(&self) -> String {
        version(self.library.version())
    }
}

/// 22703 and 2708 are 2.27.3 and 2.7.8.
fn version(number: u32) -> String {
    let (major, rest) =
        if number >= 10_000 { (number / 10_000, number % 10_000) } else { (number / 1_000, number % 1_000) };
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

/// The ranks of NCCL.
#[derive(Debug)]
pub struct NcclRanks {
    communicator: NcclCommunicator,
    driver: Driver,
    rank: usize,
    world_size: usize,
    /// What is added, in the GPU's memory.
    memory: Option<Memory>,
}

impl NcclRanks {
    /// All ranks call it; the first draws the word by which they find each other.
    pub fn connect(ranks: &mut Communicator, device: NcclDevice) -> Result<Self, NcclProblem> {
        let (rank, world_size) = (ranks.rank(), ranks.world_size());
        let drawn = if rank == 0 { device.library.unique_id() } else { Ok(UniqueId::default()) };
        let said = drawn.as_ref().map_or_else(|_| Vec::new(), |id| id.bytes().to_vec());
        let words = ranks.all_gather(&said)?;
        drawn?;
        let id = words.first().and_then(|word| UniqueId::of(word)).ok_or_else(|| NcclProblem::Failed {
            call: "ncclGetUniqueId",
            said: "the first rank has none".to_owned(),
        })?;
        let NcclDevice { driver, library } = device;
        let opened = driver.clone();
        // It waits for the others without an end of its own.
        let (sender, met) = channel();
        thread::spawn(move || {
            let joined = opened.choose().and_then(|()| library.join(&id, rank, world_size));
            let _ = sender.send(joined);
        });
        let late = NcclProblem::Late { call: "ncclCommInitRank", seconds: PATIENCE.as_secs() };
        let communicator = met.recv_timeout(PATIENCE).map_err(|_| late)??;
        driver.choose()?;
        Ok(Self { communicator, driver, rank, world_size, memory: None })
    }

    fn memory(&self) -> Result<&Memory, NcclProblem> {
        self.memory.as_ref().ok_or_else(|| NcclProblem::Failed { call: "cuMemAlloc", said: "no buffer".to_owned() })
    }

    fn start(&self, operation: Measured) -> Result<(), NcclProblem> {
        let memory = self.memory()?;
        let part = memory.values() / self.world_size;
        match operation {
            Measured::AllReduce => self.communicator.all_reduce(memory),
            Measured::AllGather => self.communicator.all_gather(memory, self.rank * part, part),
            Measured::ReduceScatter => self.communicator.reduce_scatter(memory, self.rank * part, part),
            Measured::Broadcast => self.communicator.broadcast(memory, 0),
        }
    }

    fn wait(&self) -> Result<(), NcclProblem> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for _ in 0..LOOKS {
                if self.driver.is_done()? {
                    return Ok(());
                }
            }
            self.communicator.check()?;
            if Instant::now() >= deadline {
                return Err(NcclProblem::Late { call: "a collective", seconds: PATIENCE.as_secs() });
            }
        }
    }
}

impl Buffers for NcclRanks {
    type Problem = NcclProblem;

    /// As nccl-tests: so many are put into the stream before it is waited for.
    const AT_ONCE: usize = 20;

    /// NCCL's parts are of one size.
    fn length(&self, values: usize) -> usize {
        (values / self.world_size).max(1) * self.world_size
    }

    fn load(&mut self, values: &[f32]) -> Result<(), NcclProblem> {
        if self.memory.as_ref().is_none_or(|memory| memory.values() != values.len()) {
            // The old one is given back before the new one is asked for.
            self.memory = None;
            self.memory = Some(self.driver.allocate(values.len())?);
        }
        self.memory()?.write(values)
    }

    fn run(&mut self, _: &mut Communicator, operation: Measured, times: usize) -> Result<(), NcclProblem> {
        for _ in 0..times {
            self.start(operation)?;
        }
        self.wait()
    }

    fn read(&mut self, values: &mut [f32]) -> Result<(), NcclProblem> {
        self.memory()?.read(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_people_do() {
        assert_eq!([version(22_703), version(2_708), version(21_805)], ["2.27.3", "2.7.8", "2.18.5"]);
    }

    #[test]
    fn a_machine_without_a_driver_says_so() {
        if !Path::new("/dev/nvidiactl").exists() {
            assert!(matches!(NcclDevice::open(0, &[]), Err(NcclProblem::NoDriver(_) | NcclProblem::Failed { .. })));
        }
    }
}

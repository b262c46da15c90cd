//! What is true where a launch starts: folders, programs, network, and what ranks inherit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fermi_domain::contract::{self, Inherited};
use fermi_domain::launch::Placeholder;

/// A node as one launch finds it.
#[derive(Clone, Debug)]
pub struct Site {
    pub folders: Folders,
    /// The `fermi` that ranks may call.
    pub fermi: PathBuf,
    /// None where the launch has no use for Python.
    pub python: Option<PathBuf>,
    /// The PATH of the ranks, where it is not the one that they inherit.
    pub search_path: Option<String>,
    /// The network interface that leads to the master; none where it cannot be found.
    pub interface: Option<String>,
    pub inherited: Inherited,
    /// Variables by which the user of this site tunes a library; no framework's usual value replaces them. Empty where the
    /// environment is no user's, as an agent's is: there the task's own variables count.
    pub tuned: BTreeSet<String>,
    pub devices: Devices,
    /// The signals that torch's own processes pass on, by their names.
    pub signals: String,
}

/// Where things go.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The notes on living runs, for the sweep of a later start.
    pub live: PathBuf,
    /// Journal, logs and exit records; none when the user wants them nowhere.
    pub run: Option<PathBuf>,
    /// The files of the launch.
    pub launch: PathBuf,
    pub output: PathBuf,
    pub checkpoint: PathBuf,
    /// Where the task's code is.
    pub source: PathBuf,
}

/// Which GPUs the ranks see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// Those that they inherit.
    Inherited,
    /// Those that the launch gives them, in the order of local ranks; numbers count among the devices that are visible
    /// here, where those have names.
    OfRanks { visible: Option<Vec<String>> },
}

impl Site {
    /// What a placeholder stands for here. The port is not known yet: the supervisor takes it.
    pub(super) fn fill(&self, place: Placeholder, master_address: &str) -> String {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match place {
            Placeholder::LaunchFolder => text(&self.folders.launch),
            Placeholder::OutputFolder => text(&self.folders.output),
            Placeholder::CheckpointFolder => text(&self.folders.checkpoint),
            Placeholder::SourceFolder => text(&self.folders.source),
            Placeholder::Fermi => text(&self.fermi),
            Placeholder::Python => self.python.as_deref().map(text).unwrap_or_default(),
            Placeholder::MasterAddress => master_address.to_owned(),
            Placeholder::Interface => self.interface.clone().unwrap_or_default(),
            Placeholder::MasterPort => String::new(),
        }
    }
}

/// What ranks inherit from this process.
pub fn inherited() -> Inherited {
    let has = |name: &str| std::env::var_os(name).is_some();
    Inherited {
        omp_num_threads: has(contract::OMP_NUM_THREADS),
        nccl_async_error_handling: has(contract::TORCH_NCCL_ASYNC_ERROR_HANDLING),
    }
}

/// The binary that runs now, by a name that still leads to one after an upgrade.
pub fn own_binary() -> PathBuf {
    let path = fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let replaced = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map(PathBuf::from);
    replaced.unwrap_or(path)
}

//! What the plan needs to know of this machine and of the user's environment: looked up once, then passed as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::PathBuf;

use fermi_attempt::launch::{self, PythonSearch};
use fermi_domain::contract::{self, Inherited};
use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;
use fermi_process::pty::WindowSize;

use super::single_rank::RankVariables;
use super::state_folder::{self, StateFolder};
use super::{slurm, terminal};
use crate::span;

/// How the names begin by which people tune what is below a framework.
const TUNING: [&str; 7] = ["NCCL_", "GLOO_", "XLA_", "TORCH_", "CUDA_", "DEEPSPEED_", "JAX_PLATFORM"];

/// The machine as `fermi run` found it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub host_name: String,
    pub folder: PathBuf,
    pub state_folder: Option<StateFolder>,
    pub own_binary: PathBuf,
    /// Where Python and programs are looked for.
    pub python: PythonSearch,
    pub cpus: Vec<usize>,
    pub inherited: Inherited,
    pub cuda_visible_devices: Option<String>,
    /// Variables by which the user tunes a library; no framework's usual value replaces them.
    pub tuned: BTreeSet<String>,
    pub prefix_template: Option<String>,
    pub shutdown_timeout: Option<String>,
    /// torchrun's watchdog is asked for.
    pub wants_file_timer: bool,
    pub stdin: Stdin,
    /// The size of the terminal that stdout is.
    pub window: Option<WindowSize>,
    /// Unique on this machine for the moment.
    pub run_id: String,
    /// Counts the GPUs; asked only when the plan needs to know, because the driver's library takes its time.
    pub count_gpus: fn(Option<&str>) -> usize,
    /// What the environment says of a rank that is started alone.
    pub rank_variables: RankVariables,
    /// Whether this process is itself a rank of a run.
    pub is_rank: bool,
    /// What Slurm said to this process.
    pub slurm: BTreeMap<String, String>,
    /// The address of a node of Slurm's; asked only when the run goes over several.
    pub slurm_address: fn(&str) -> String,
}

/// What our own standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A terminal at which the user sits.
    Terminal,
    /// A terminal that belongs to somebody else for now: we are in the background.
    BusyTerminal,
    /// A file or a pipe.
    Data,
}

impl Machine {
    pub fn look() -> Result<Self, RunProblem> {
        let text = |name: &str| std::env::var(name).ok();
        let host_name = text(contract::FERMI_NODE_NAME)
            .filter(|name| !name.is_empty())
            .or_else(|| nix::unistd::gethostname().ok()?.into_string().ok())
            .map_or_else(|| "localhost".to_owned(), |name| name.split('.').next().unwrap_or("localhost").to_owned());
        Ok(Self {
            host_name,
            folder: std::env::current_dir()
                .map_err(|error| RunProblem::NoWorkingFolder { error: reason::of_io(&error) })?,
            state_folder: state_folder::here(),
            own_binary: launch::own_binary(),
            python: PythonSearch::by_variables(),
            cpus: fermi_hardware::cpu::allowed(),
            inherited: launch::inherited(),
            cuda_visible_devices: text(contract::CUDA_VISIBLE_DEVICES),
            tuned: std::env::vars_os()
                .filter_map(|(name, _)| name.into_string().ok())
                .filter(|name| is_tuning(name))
                .collect(),
            prefix_template: text(contract::TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE),
            shutdown_timeout: text(contract::TORCH_ELASTIC_SHUTDOWN_TIMEOUT),
            wants_file_timer: text(contract::TORCHELASTIC_ENABLE_FILE_TIMER).is_some_and(|value| value == "1"),
            stdin: stdin(),
            window: WindowSize::of(1),
            run_id: new_run_id(),
            count_gpus: fermi_hardware::gpu::visible_count,
            rank_variables: RankVariables::look(),
            is_rank: text(contract::FERMI_ATTEMPT).is_some(),
            slurm: slurm::variables(),
            slurm_address: slurm::address_of,
        })
    }
}

fn is_tuning(name: &str) -> bool {
    TUNING.iter().any(|prefix| name.starts_with(prefix))
}

fn stdin() -> Stdin {
    if !std::io::stdin().is_terminal() {
        Stdin::Data
    } else if terminal::is_in_foreground() {
        Stdin::Terminal
    } else {
        Stdin::BusyTerminal
    }
}

/// `run-<date>-<time>-<random>`: sorts by time, readable, and no two starts share it, also on a shared disk.
fn new_run_id() -> String {
    let stamp = span::stamp(span::now_ms());
    let mut random = [0u8; 4];
    // Were there no randomness, the process number still tells starts apart.
    let _ = getrandom::fill(&mut random);
    format!("run-{stamp}-{:08x}", u32::from_le_bytes(random) ^ std::process::id())
}

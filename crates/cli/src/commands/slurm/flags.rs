//! What a job needs to be told: its size, its limits, and what it runs.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::SlurmProblem;

use crate::commands::run::RunFlags;
use crate::commands::run::slurm::LOGS;

const SIZE: &str = "Size";
const JOB: &str = "Job";
const RUN: &str = "Run";
const FILES: &str = "Files";

/// Where the batch file goes unless told otherwise.
pub const SCRIPT: &str = "slurm_scripts/run_slurm.sh";

#[derive(Clone, Debug, Args)]
pub struct JobFlags {
    /// Nodes of the job [also: --num-nodes, --nnodes]
    #[arg(short = 'N', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), aliases = ["num-nodes", "nnodes"], help_heading = SIZE)]
    pub nodes: u32,
    /// Ranks on each node [default: one per GPU, else 1]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = SIZE)]
    pub nproc_per_node: Option<u32>,
    /// GPUs on each node
    #[arg(short = 'G', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = SIZE)]
    pub gpus_per_node: Option<u32>,
    /// CPUs for each rank and its data loaders
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = SIZE)]
    pub cpus_per_rank: u32,
    /// Memory of each node, such as 64G [default: the cluster's]
    #[arg(long, value_name = "SIZE", help_heading = SIZE)]
    pub mem: Option<String>,

    /// Time limit: minutes, HH:MM:SS or D-HH:MM:SS [default: the partition's]
    #[arg(short = 't', long, value_name = "LIMIT", help_heading = JOB)]
    pub time: Option<String>,
    #[arg(short = 'p', long, value_name = "NAME", help = "Partition [default: the cluster's]", help_heading = JOB)]
    pub partition: Option<String>,
    #[arg(short = 'A', long, value_name = "NAME", help = "Account that pays", help_heading = JOB)]
    pub account: Option<String>,
    #[arg(long, value_name = "NAME", help = "Quality of service", help_heading = JOB)]
    pub qos: Option<String>,
    /// Name of the job [default: the script's]
    #[arg(short = 'J', long, value_name = "NAME", help_heading = JOB)]
    pub job_name: Option<String>,
    /// Several jobs at once: 0-9, or 0-9%2 for two at a time
    #[arg(long, value_name = "INDICES", help_heading = JOB)]
    pub array: Option<String>,
    /// Start again, from the newest checkpoint, when a node dies or the time is up
    #[arg(long, help_heading = JOB)]
    pub requeue: bool,
    /// Any other option of sbatch: --sbatch=--constraint=a100 (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, help_heading = JOB)]
    pub sbatch: Vec<String>,
    /// A shell line before the launch: --setup "module load cuda" (repeatable)
    #[arg(long, value_name = "LINE", allow_hyphen_values = true, help_heading = JOB)]
    pub setup: Vec<String>,

    /// The script is a Python module, as with python -m
    #[arg(short = 'm', long, help_heading = RUN)]
    pub module: bool,
    /// The script is a program of its own, not for Python
    #[arg(long, help_heading = RUN)]
    pub no_python: bool,
    /// Restarts of all ranks after a failure, within the job
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = RUN)]
    pub max_restarts: u32,
    /// Signal on which the script saves a checkpoint, sent before the time limit
    #[arg(long, value_name = "SIGNAL", help_heading = RUN)]
    pub checkpoint_signal: Option<String>,
    /// Seconds the script has for that
    #[arg(long, value_name = "SECONDS", default_value_t = 60, help_heading = RUN)]
    pub checkpoint_grace: u32,
    /// Where it keeps checkpoints [default: in the job's folder]
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub checkpoint_dir: Option<PathBuf>,
    /// Set a variable for all ranks (repeatable)
    #[arg(short = 'x', long = "env", value_name = "NAME=VALUE", help_heading = RUN)]
    pub variables: Vec<String>,
    /// Any other option of fermi run: --run-option=--tee=3 (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, help_heading = RUN)]
    pub run_option: Vec<String>,

    /// Folder for the jobs' output and runs, on a disk that all nodes see
    #[arg(long, value_name = "DIR", default_value = LOGS, help_heading = FILES)]
    pub log_dir: PathBuf,
    /// The batch file
    #[arg(short = 'o', long, value_name = "FILE", default_value = SCRIPT, help_heading = FILES)]
    pub output: PathBuf,
    /// Overwrite the batch file even if somebody edited it
    #[arg(long, help_heading = FILES)]
    pub force: bool,

    /// The script and its arguments
    #[arg(value_name = "SCRIPT [ARGS]", trailing_var_arg = true, required = true)]
    pub script: Vec<String>,
}

impl JobFlags {
    /// What `fermi run --mode create_slurm` means.
    pub fn of_run(flags: &RunFlags) -> Result<Self, RunProblem> {
        let script: Vec<String> = flags.script.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if script.is_empty() {
            return Err(RunProblem::NoScript);
        }
        let nodes = match flags.nnodes.as_str() {
            "1:1" => 1,
            value => number("--nnodes", value)?,
        };
        let run_option = [("--tee", &flags.tee), ("--redirects", &flags.redirects)];
        Ok(Self {
            nodes,
            nproc_per_node: match flags.nproc_per_node.as_deref() {
                // Which GPUs the nodes have is not known here: a rank for each that the job gets.
                None | Some("auto" | "gpu") => None,
                Some(value) => Some(number("--nproc-per-node", value)?),
            },
            gpus_per_node: flags.gpus_per_node,
            cpus_per_rank: 1,
            mem: None,
            time: None,
            partition: None,
            account: None,
            qos: None,
            job_name: None,
            array: None,
            requeue: false,
            sbatch: Vec::new(),
            setup: Vec::new(),
            module: flags.module,
            no_python: flags.no_python,
            max_restarts: flags.max_restarts,
            checkpoint_signal: flags.checkpoint_signal.clone(),
            checkpoint_grace: number("--checkpoint-grace", &flags.checkpoint_grace)?,
            checkpoint_dir: flags.checkpoint_dir.clone(),
            variables: flags.variables.clone(),
            run_option: run_option
                .into_iter()
                .filter(|(_, value)| *value != "0")
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            log_dir: flags.log_dir.clone().unwrap_or_else(|| PathBuf::from(LOGS)),
            output: PathBuf::from(SCRIPT),
            force: false,
            script,
        })
    }
}

fn number(flag: &'static str, value: &str) -> Result<u32, RunProblem> {
    let number = value.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| SlurmProblem::BadNumber { flag, value: value.to_owned() }.into())
}

//! The options of `fermi run`: torchrun's, each also as a `PET_*` variable, and the spellings of deepspeed
//! and mpirun.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use fermi_domain::contract::{self, torchrun};
use fermi_domain::language::Text;

use crate::commands::engine::EngineFlags;
use crate::commands::usage::Expected;

/// Run a script in several processes, on this machine or on several (instead of torchrun)
///
/// Every rank gets the environment that torchrun, DeepSpeed and Composer give. Rank 0 is on your terminal; all ranks are
/// in their log files; when one fails the others are stopped and you are told which, why, and what to do.
#[allow(rustdoc::broken_intra_doc_links, reason = "the brackets of a help text are no links")]
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_flag = false, args_override_self = true)]
pub struct RunFlags {
    /// Processes on this machine: a number, gpu, cpu or auto [also: --num-gpus, -np]
    #[arg(long, short = 'n', value_name = "N", env = torchrun::PET_NPROC_PER_NODE, hide_env = true, aliases = ["num-gpus", "np", "num-accelerators"], help_heading = LAUNCH)]
    pub nproc_per_node: Option<String>,
    /// Number of machines, or a range such as 2:4; start the same command on each [also: --num-nodes]
    #[arg(long, value_name = "N", env = torchrun::PET_NNODES, hide_env = true, default_value = "1:1", aliases = ["num-nodes", "num-machines"], help_heading = LAUNCH)]
    pub nnodes: String,
    /// One machine only, as without --nnodes; in a Slurm job, each of its tasks by itself
    #[arg(long, env = torchrun::PET_STANDALONE, hide_env = true, value_parser = switch(), num_args = 0, default_missing_value = "1", default_value = "0", action = clap::ArgAction::Set, help_heading = LAUNCH)]
    pub standalone: bool,
    /// Restarts of all ranks after a failure
    #[arg(long, value_name = "N", env = torchrun::PET_MAX_RESTARTS, hide_env = true, default_value_t = 0, help_heading = LAUNCH)]
    pub max_restarts: u32,
    /// The script is a Python module, as with python -m
    #[arg(short = 'm', long, env = torchrun::PET_MODULE, hide_env = true, value_parser = switch(), num_args = 0, default_missing_value = "1", default_value = "0", action = clap::ArgAction::Set, help_heading = LAUNCH)]
    pub module: bool,
    /// The script is a program of its own, not for Python
    #[arg(long, env = torchrun::PET_NO_PYTHON, hide_env = true, value_parser = switch(), num_args = 0, default_missing_value = "1", default_value = "0", action = clap::ArgAction::Set, help_heading = LAUNCH)]
    pub no_python: bool,
    /// Run the script (absolute path) by runpy.run_path
    #[arg(long, env = torchrun::PET_RUN_PATH, hide_env = true, value_parser = switch(), num_args = 0, default_missing_value = "1", default_value = "0", action = clap::ArgAction::Set, help_heading = LAUNCH)]
    pub run_path: bool,
    /// Name of the role in ROLE_NAME and prefixes
    #[arg(long, env = torchrun::PET_ROLE, hide_env = true, default_value = "default", help_heading = LAUNCH)]
    pub role: String,
    /// Address of rank 0, which the other machines need [default: 127.0.0.1]
    #[arg(long, value_name = "HOST", env = torchrun::PET_MASTER_ADDR, hide_env = true, alias = "main-process-ip", help_heading = LAUNCH)]
    pub master_addr: Option<String>,
    /// Port of rank 0 [default: a free one from 29500 up, with several machines 29500]
    #[arg(long, value_name = "PORT", env = torchrun::PET_MASTER_PORT, hide_env = true, alias = "main-process-port", help_heading = LAUNCH)]
    pub master_port: Option<String>,
    /// Which of the machines this is, from 0; 0 has rank 0
    #[arg(long, value_name = "R", env = torchrun::PET_NODE_RANK, hide_env = true, alias = "machine-rank", help_heading = NODES)]
    pub node_rank: Option<u32>,
    /// Where the machines meet, instead of --node-rank and --master-addr; numbers follow the order of arrival
    #[arg(long, value_name = "HOST:PORT", env = torchrun::PET_RDZV_ENDPOINT, hide_env = true, help_heading = NODES)]
    pub rdzv_endpoint: Option<String>,
    /// Name of the run: in TORCHELASTIC_RUN_ID, and to tell apart runs that meet at one address
    #[arg(long, value_name = "ID", env = torchrun::PET_RDZV_ID, hide_env = true, help_heading = NODES)]
    pub rdzv_id: Option<String>,
    /// Machines without this word are sent away [also: FERMI_RDZV_SECRET]
    #[arg(long, value_name = "WORD", env = contract::FERMI_RDZV_SECRET, hide_env_values = true, hide_env = true, help_heading = NODES)]
    pub rdzv_secret: Option<String>,
    /// How the machines meet at torchrun: c10d and static alike become Fermi's own way, etcd is for one machine only
    #[arg(long, value_name = "NAME", env = torchrun::PET_RDZV_BACKEND, hide_env = true, help_heading = NODES)]
    pub rdzv_backend: Option<String>,
    /// torchrun's KEY=VALUE,…: join_timeout, last_call_timeout and is_host count, others have no effect
    #[arg(long, value_name = "CONF", env = torchrun::PET_RDZV_CONF, hide_env = true, help_heading = NODES)]
    pub rdzv_conf: Option<String>,
    /// Seconds to wait for the other machines [default: join_timeout of --rdzv-conf, else 600]
    #[arg(long, value_name = "SECONDS", help_heading = NODES)]
    pub join_timeout: Option<String>,
    /// Seconds of silence after which a machine counts as lost; of one whose supervisor dies, an elastic run waits as long
    #[arg(long, value_name = "SECONDS", default_value = "15", help_heading = NODES)]
    pub node_lost_after: String,
    /// Set a variable for all ranks: NAME=VALUE, or NAME to pass it on (repeatable)
    #[arg(short = 'x', long = "env", value_name = "NAME=VALUE", help_heading = LAUNCH)]
    pub variables: Vec<String>,
    /// Add --local-rank=N to the script's arguments, as python -m torch.distributed.launch did
    #[arg(long, help_heading = LAUNCH)]
    pub legacy_launch: bool,
    /// Where torch's store is: fermi hosts it from start to end, or rank0 does [default: fermi, but rank0 with --no-python and for frameworks that open that port themselves]
    #[arg(long, value_name = "fermi|rank0", value_parser = ["fermi", "rank0"], hide_possible_values = true, help_heading = LAUNCH)]
    pub store: Option<String>,
    /// Watch over Python ranks from inside: steps, phases, collectives; off leaves them alone
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"], hide_possible_values = true, default_value = "on", help_heading = LAUNCH)]
    pub hook: String,
    /// Keep an interpreter with the rank's imports ready beside each rank, so that a restart makes its first step at once; with cuda it holds a context on the rank's GPU too, about 0.5 GB of its memory
    #[arg(long, value_name = "on|cuda|off", value_parser = ["on", "cuda", "off"], hide_possible_values = true, default_value = "off", help_heading = LAUNCH)]
    pub warm: String,
    /// Hand over to the real torchrun, with those options that it has
    #[arg(long, help_heading = LAUNCH)]
    pub use_torchrun: bool,

    #[command(flatten)]
    pub engine: EngineFlags,

    /// Folder for logs; each run makes its own in it, /dev/null keeps none [default: ~/.local/state/fermi/runs]
    #[arg(long, value_name = "DIR", env = torchrun::PET_LOG_DIR, hide_env = true, help_heading = OUTPUT)]
    pub log_dir: Option<PathBuf>,
    /// Streams kept off the terminal: 0 none, 1 stdout, 2 stderr, 3 both; or per local rank 0:3,1:2
    #[arg(short = 'r', long, value_name = "SPEC", env = torchrun::PET_REDIRECTS, hide_env = true, default_value = "0", help_heading = OUTPUT)]
    pub redirects: String,
    /// Streams shown line by line behind [host:rank] (same form)
    #[arg(short = 't', long, value_name = "SPEC", env = torchrun::PET_TEE, hide_env = true, default_value = "0", help_heading = OUTPUT)]
    pub tee: String,
    /// Show only these local ranks
    #[arg(long, value_name = "RANKS", env = torchrun::PET_LOCAL_RANKS_FILTER, hide_env = true, help_heading = OUTPUT)]
    pub local_ranks_filter: Option<String>,
    /// Show only these global ranks
    #[arg(long, value_name = "RANKS", help_heading = OUTPUT)]
    pub ranks_filter: Option<String>,
    /// Prefix of a line: ${hostname}, ${rank}, ${local_rank}, ${role_name} are replaced [default: "[${hostname}:${rank}] "]
    #[arg(long, value_name = "TEXT", env = torchrun::PET_LOG_LINE_PREFIX_TEMPLATE, hide_env = true, help_heading = OUTPUT)]
    pub log_line_prefix_template: Option<String>,
    /// Lines of stdout with one of these words go to filtered_stdout.log too
    #[arg(long, value_name = "WORDS", env = torchrun::PET_DUPLICATE_STDOUT_FILTERS, hide_env = true, help_heading = OUTPUT)]
    pub duplicate_stdout_filters: Option<String>,
    /// The same for stderr
    #[arg(long, value_name = "WORDS", env = torchrun::PET_DUPLICATE_STDERR_FILTERS, hide_env = true, help_heading = OUTPUT)]
    pub duplicate_stderr_filters: Option<String>,
    /// Print env and argv of every rank and start nothing
    #[arg(long, help_heading = OUTPUT)]
    pub dry_run: bool,
    /// Events as JSON lines on stdout; output of ranks moves to stderr
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(long, short = 'q', help_heading = OUTPUT)]
    pub quiet: bool,

    /// Seconds a rank has to obey a stop before SIGKILL [default: 30; after a failure 0.05]
    #[arg(long, value_name = "SECONDS", env = torchrun::PET_SHUTDOWN_TIMEOUT, hide_env = true, help_heading = STOPPING)]
    pub shutdown_timeout: Option<String>,
    /// Signals that stop the run and are passed on
    #[arg(long, value_name = "SIGNALS", env = torchrun::PET_SIGNALS_TO_HANDLE, hide_env = true, default_value = contract::SIGNALS_TO_HANDLE, help_heading = STOPPING)]
    pub signals_to_handle: String,
    /// Signal on which the script saves a checkpoint, sent before a planned stop
    #[arg(long, value_name = "SIGNAL", help_heading = STOPPING)]
    pub checkpoint_signal: Option<String>,
    /// Seconds the script has for that
    #[arg(long, value_name = "SECONDS", default_value = "60", help_heading = STOPPING)]
    pub checkpoint_grace: String,
    /// Fail when a rank has neither reached rank 0's port nor reported a step after so many seconds; the ranks are named
    #[arg(long, value_name = "SECONDS", help_heading = STOPPING)]
    pub start_timeout: Option<String>,
    /// What to do when ranks hang: tell who and where, or restart as well
    #[arg(long, value_name = "tell|restart", value_parser = ["tell", "restart"], hide_possible_values = true, default_value = "tell", help_heading = STOPPING)]
    pub on_hang: String,
    /// Seconds without any progress after which --on-hang restart ends the attempt
    #[arg(long, value_name = "SECONDS", default_value = "60", help_heading = STOPPING)]
    pub hang_after: String,
    /// Accepted for torchrun's sake: Fermi sees an exit at once
    #[arg(long, value_name = "SECONDS", env = torchrun::PET_MONITOR_INTERVAL, hide_env = true, default_value = USUAL_MONITOR_INTERVAL, help_heading = STOPPING)]
    pub monitor_interval: String,

    /// LOCAL_RANK=0 for all, and one device in CUDA_VISIBLE_DEVICES for each
    #[arg(long, env = torchrun::PET_VIRTUAL_LOCAL_RANK, hide_env = true, value_parser = switch(), num_args = 0, default_missing_value = "1", default_value = "0", action = clap::ArgAction::Set, help_heading = DEVICES)]
    pub virtual_local_rank: bool,
    /// GPUs to use: localhost:0,2 (as for deepspeed)
    #[arg(short = 'i', long, value_name = "DEVICES", help_heading = DEVICES)]
    pub include: Option<String>,
    /// GPUs to leave out
    #[arg(short = 'e', long, value_name = "DEVICES", conflicts_with = "include", help_heading = DEVICES)]
    pub exclude: Option<String>,
    /// Bind ranks to CPUs: none, cores (an equal share each) or numa (a node each) [also: --bind-cores-to-rank, --bind-to core]
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = ["none", "cores", "numa"], help_heading = DEVICES)]
    pub cpu_bind: String,
    /// CPUs to share out, such as 0-7
    #[arg(long, value_name = "CPUS", help_heading = DEVICES)]
    pub bind_core_list: Option<String>,

    /// Where the script writes (FERMI_OUTPUT_DIR) [default: outputs in the run's folder]
    #[arg(long, value_name = "DIR", help_heading = CHECKPOINTS)]
    pub output_dir: Option<PathBuf>,
    /// Where it keeps checkpoints (FERMI_CHECKPOINT_DIR) [default: checkpoints in the output folder]
    #[arg(long, value_name = "DIR", help_heading = CHECKPOINTS)]
    pub checkpoint_dir: Option<PathBuf>,
    /// Set FERMI_RESUME=1 in the first attempt too
    #[arg(long, help_heading = CHECKPOINTS)]
    pub resume: bool,

    /// manual: --world-size N starts N here, with --rank R just that one; slurm: as the job says; create_slurm: write a batch file
    #[arg(long, value_name = "MODE", help_heading = OTHERS)]
    pub mode: Option<String>,
    /// GPUs that the job asks for on each node, with --mode create_slurm
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = OTHERS)]
    pub gpus_per_node: Option<u32>,
    /// All processes of the run
    #[arg(long, value_name = "N", help_heading = OTHERS)]
    pub world_size: Option<u32>,
    /// Start only this rank of --world-size; MASTER_ADDR, MASTER_PORT, LOCAL_RANK and NODE_RANK are heeded
    #[arg(long, value_name = "R", help_heading = OTHERS)]
    pub rank: Option<u32>,
    /// mpirun's spelling of this machine: localhost[:N]
    #[arg(short = 'H', long, value_name = "HOST", help_heading = OTHERS)]
    pub host: Option<String>,
    #[arg(long, env = torchrun::PET_START_METHOD, hide = true)]
    pub start_method: Option<String>,
    #[arg(long, env = torchrun::PET_EVENT_LOG_HANDLER, hide = true)]
    pub event_log_handler: Option<String>,
    #[arg(long, env = torchrun::PET_LOCAL_ADDR, hide = true)]
    pub local_addr: Option<String>,
    #[arg(long, hide = true)]
    pub no_local_rank: bool,
    /// Processes of all machines, as accelerate counts them
    #[arg(long, hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub total_processes: Option<u32>,
    // mpirun's processes on each node, of which -np says how many start at most.
    #[arg(long, hide = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub per_node: Option<u32>,
    /// An option of another launcher that is taken and does nothing
    #[arg(long, hide = true)]
    pub without_effect: Vec<String>,
    /// NAME=VALUE of an option of another launcher whose value means nothing
    #[arg(long, hide = true)]
    pub refused_value: Vec<String>,
    #[arg(long, hide = true)]
    pub oversubscribe: bool,
    #[arg(long, hide = true)]
    pub allow_run_as_root: bool,
    /// Stop the run when the standard input ends
    #[arg(long, hide = true)]
    pub stop_on_stdin_eof: bool,
    // What ranks print is what the run is for: where it cannot be written, the run has failed.
    #[arg(long, hide = true)]
    pub output_is_result: bool,

    /// The script and its arguments; options of Fermi come before it
    #[arg(value_name = "SCRIPT [ARGS]", trailing_var_arg = true, allow_hyphen_values = true, help_heading = None::<&str>)]
    pub script: Vec<OsString>,
    /// Whether the script is one of Fermi's own recipes, which obey the whole training.yaml.
    #[arg(skip)]
    pub is_recipe: bool,
}

/// Seconds, as torchrun has them.
pub const USUAL_MONITOR_INTERVAL: &str = "0.1";

const LAUNCH: &str = "Launch";
const NODES: &str = "Several machines";
const OUTPUT: &str = "Output";
const STOPPING: &str = "Stopping and waiting";
const DEVICES: &str = "Devices";
const CHECKPOINTS: &str = "Outputs and checkpoints";
const OTHERS: &str = "Spellings of other launchers";

const EXAMPLES: &str = "\
Examples:
  fermi run --nproc-per-node 4 train.py --lr 3e-4     four ranks
  fermi run -n gpu --max-restarts 3 train.py          one rank per GPU, restarted up to three times
  fermi run -n 4 --tee 3 train.py                     all ranks, each line behind [host:rank]
  fermi run --nnodes 2 --rdzv-endpoint 10.0.0.1:29500 -n 4 train.py   two machines, the same on each
  fermi run -n 2 --no-python fermi trainer            the built-in trainer, without Python
  fermi run -n 2 --framework deepspeed --set zeroStage=3 train.py   with what DeepSpeed needs
  fermi run -n 4 --dry-run train.py                   what would be started";

/// torchrun's switches as variables: 0 or 1; anything else that is set is a mistake worth a sentence.
fn switch() -> clap::builder::ValueParser {
    clap::builder::ValueParser::new(|text: &str| match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(Expected(Text::new("请用 0 或 1", "use 0 or 1"))),
    })
}

#[cfg(test)]
impl RunFlags {
    /// Flags as `fermi run OPTIONS train.py` would give them.
    pub fn parse_for_test(options: &[&str]) -> Self {
        use clap::FromArgMatches;
        let command = RunFlags::augment_args(clap::Command::new("run"));
        let words = ["run"].into_iter().chain(options.iter().copied()).chain(["train.py"]);
        RunFlags::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }
}

//! `fermi scale`: runs a training at rising numbers of processes, or of environments of a server, and says how well it scales.
//!
//! [`planning`] says which runs are to be made and [`measuring`] makes them: here by [`trial`], or by [`node_trial`] as tasks on
//! a [`fleet`]. [`throughput`] reads how fast that was, [`table`] says what the runs mean together, [`teaching`] and [`lesson`]
//! what the planner expects and learns, [`report`] shows it. After every run all files are written anew, so that what was
//! measured stays when this is ended; [`earlier`] keeps what lay there before, [`claim`] keeps others out meanwhile.

mod claim;
mod earlier;
mod fleet;
mod lesson;
mod measuring;
mod node_trial;
mod planning;
mod refusals;
mod report;
mod table;
mod teaching;
mod throughput;
mod trial;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fermi_domain::language::Notice;
use fermi_folder_lock::LockError;
use fermi_trainer::Preset;

use self::measuring::Ground;
use self::report::Measurement;
use self::table::Scaling;
use crate::connection::{CommandProblem, ServerFlags};
use crate::{exit_code, signals, speech};

const MOST_PROCESSES: i64 = 1024;
/// A year: a clock counts on beyond it.
const LONGEST_RUN_S: u64 = 31_536_000;
const THROUGH_SERVER: &str = "Environments of a server";

/// Measure how a training scales: run it with more and more processes, and write table, chart and report
///
/// Without a command the built-in trainer is measured. What follows -- is given to fermi run, with --nodes to fermi task
/// create, options included; {batch} and {global_batch} in it are replaced by the sequences of one process and of all. Its
/// speed is read from FERMI_PROGRESS_FILE (tokensPerS), else from what it prints (tokens/s, samples/s, it/s).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: fermi scale --num-gpus-list 1 2 4 8 --results-dir results/scaling -- train.py --batch-size {batch}\n          fermi scale --nodes gn6,gn7,gn8,gn9 -- --source . train.py --batch-size {batch}"
)]
pub struct ScaleFlags {
    /// Numbers of processes to compare; with GPUs each has one
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1i64, 2, 4, 8], value_parser = clap::value_parser!(i64).range(1..=MOST_PROCESSES))]
    num_gpus_list: Vec<i64>,
    /// Where JSON, CSV, chart and report go
    #[arg(long, value_name = "DIR", default_value = "results/scaling")]
    results_dir: PathBuf,
    /// weak: the same batch for each process; strong: the same batch for all together
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_values = ["weak", "strong"])]
    scaling: Vec<Scaling>,
    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    repeats: u64,
    /// Sequences of one process; strong scaling shares out that of the most processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,
    /// Steps of the built-in trainer
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    steps: u64,
    /// Size of the built-in trainer's model: tiny, small or base
    #[arg(long, default_value_t = Preset::Tiny)]
    preset: Preset,
    /// Seconds that one run may take
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 3600,
        value_parser = clap::value_parser!(u64).range(1..=LONGEST_RUN_S)
    )]
    timeout: u64,
    /// What fermi plan scale has written (scaling.json), to show it beside what is measured
    #[arg(long, value_name = "FILE")]
    predicted: Option<PathBuf>,
    /// Teach the planner by these runs: its constants go to calibration.json, what it predicts with them beside what is
    /// measured
    #[arg(long, conflicts_with = "predicted")]
    calibrate: bool,
    /// What the command trains, as a row of fermi plan predict (JSON): model_name, seq_len, precision, sharding, framework …
    #[arg(long, value_name = "FILE", conflicts_with = "predicted")]
    row: Option<PathBuf>,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
    /// Compare numbers of these environments of a server instead, by name or id, with commas: each run is a task on the first
    /// of them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "num_gpus_list", help_heading = THROUGH_SERVER)]
    nodes: Vec<String>,
    /// Numbers of environments to compare [default: 1, 2, 4 … and all]
    #[arg(long, value_name = "N", num_args = 1.., requires = "nodes", value_parser = clap::value_parser!(u64).range(1..=1024), help_heading = THROUGH_SERVER)]
    num_nodes_list: Vec<u64>,
    #[command(flatten, next_help_heading = THROUGH_SERVER)]
    server: ServerFlags,
    /// The training and its arguments; options of fermi run, with --nodes of fermi task create, come before it
    #[arg(value_name = "SCRIPT [ARGS]", last = true)]
    command: Vec<String>,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum Refusal {
    Here(Notice),
    Server(CommandProblem),
}

impl From<Notice> for Refusal {
    fn from(notice: Notice) -> Self {
        Self::Here(notice)
    }
}

impl From<CommandProblem> for Refusal {
    fn from(problem: CommandProblem) -> Self {
        Self::Server(problem)
    }
}

pub fn execute(flags: &ScaleFlags) -> ExitCode {
    let ready = Ground::of(flags).and_then(|ground| {
        let forecaster = flags.forecaster(&ground)?;
        Ok((ground, forecaster))
    });
    let (ground, forecaster) = match ready {
        Ok(ready) => ready,
        Err(Refusal::Here(notice)) => {
            speech::complain(&notice);
            return ExitCode::from(exit_code::USAGE);
        }
        Err(Refusal::Server(problem)) => return problem.complain(),
    };
    let _lock = match claim::take(&flags.results_dir) {
        Ok(lock) => lock,
        Err(LockError::Held { pid }) => {
            speech::complain(&claim::held(&flags.results_dir, pid));
            return ExitCode::from(exit_code::CONFLICT);
        }
        Err(LockError::Unsupported(error) | LockError::Io(error)) => {
            speech::complain(&refusals::unwritten(&flags.results_dir, &error));
            return ExitCode::from(exit_code::FAILED);
        }
    };
    signals::listen();
    let mut found = Measurement {
        workload: flags.workload(),
        unit: "tokens/s",
        environments: ground.environments(),
        devices: ground.devices(),
        has_gpus: ground.has_gpus(),
        complete: false,
        trials: Vec::new(),
        lines: Vec::new(),
        notes: flags.notes(&ground),
        learned: None,
    };
    let measured = flags.measure(&mut found, &ground, &forecaster);
    let taught = measured.and_then(|failed| flags.teach(&forecaster, &mut found).map(|()| failed));
    let failed = match taught {
        Ok(failed) => failed,
        Err(notice) => {
            speech::complain(&notice);
            return ExitCode::from(exit_code::FAILED);
        }
    };
    found.show(flags);
    match (signals::heard(), failed) {
        (0, 0) => ExitCode::from(exit_code::DONE),
        (0, _) => ExitCode::from(exit_code::FAILED),
        _ => exit_code::of_signal(signals::last()),
    }
}

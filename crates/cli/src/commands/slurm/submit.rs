//! `fermi slurm submit`: writes the batch file, hands it to Slurm and, with `--wait`, stays until the job ends.

use std::path::Path;
use std::process::ExitCode;

use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::{SlurmNews, SlurmProblem};
use serde_json::json;

use super::flags::JobFlags;
use super::follow::Follower;
use super::{queue, script};
use crate::speech;

/// Write the batch file and submit it; with --wait, follow the job to its end
///
/// With --wait the job's output appears here as it is written, each change of its state is said with Slurm's reason, and
/// the exit code is the training's. Ctrl-C cancels the job.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi slurm submit --wait -N 2 -G 8 -t 24:00:00 -- train.py --lr 3e-4")]
pub struct SubmitFlags {
    #[command(flatten)]
    job: JobFlags,
    /// Stay until the job ends
    #[arg(short = 'w', long)]
    wait: bool,
    /// Events as JSON lines on stdout; the job's output moves to stderr
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &SubmitFlags) -> Result<ExitCode, RunProblem> {
    if flags.wait && flags.job.array.is_some() {
        return Err(SlurmProblem::ArrayWithWait.into());
    }
    let script = script::write(&flags.job)?;
    let job = queue::submit(Path::new(&script.path))?;
    let label = if script.array.is_some() { format!("{job}_*") } else { job.to_string() };
    let output = script.output_pattern().replace("%j", &job.to_string()).replace("%A_%a", &label);
    if flags.json {
        let line =
            json!({"v": 1, "event": "job.submitted", "job": job.to_string(), "script": script.path, "output": output});
        speech::print(&format!("{line}\n"));
    } else {
        super::tell(&SlurmNews::Submitted { job: job.to_string(), output: output.clone() });
    }
    if flags.wait {
        Follower::new(job, output.into(), flags.job.log_dir.join(job.to_string()), flags.json)?.follow()
    } else {
        if !flags.json {
            speech::print(&format!("{job}\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

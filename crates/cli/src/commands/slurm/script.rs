//! `fermi slurm script`: writes the batch file.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::{SlurmNews, SlurmProblem};
use fermi_domain::slurm::BatchScript;
use fermi_domain::slurm::script::is_untouched;
use serde_json::json;

use super::batch;
use super::flags::JobFlags;
use crate::speech;

/// Write a commented batch file: one launcher per node, requeue, signals before the time limit
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi slurm script -N 2 -G 8 -c 12 -t 24:00:00 --requeue -- train.py --lr 3e-4")]
pub struct ScriptFlags {
    #[command(flatten)]
    job: JobFlags,
    /// One JSON object instead of a sentence
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &ScriptFlags) -> Result<ExitCode, RunProblem> {
    write_and_tell(&flags.job, flags.json)
}

pub fn write_and_tell(job: &JobFlags, as_json: bool) -> Result<ExitCode, RunProblem> {
    let script = write(job)?;
    if as_json {
        let line = json!({"v": 1, "path": script.path, "output": script.output_pattern(), "nodes": script.nodes, "nprocPerNode": script.nproc_per_node});
        speech::print(&format!("{line}\n"));
    } else {
        super::tell(&SlurmNews::Written { path: script.path.clone() });
        if job.gpus_per_node.is_none() && job.nproc_per_node.is_none() {
            super::tell(&SlurmNews::WithoutGpus);
        }
        speech::print(&format!("sbatch {}\n", fermi_domain::slurm::script::quoted(&script.path)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the file, unless somebody's edits would be lost.
pub fn write(job: &JobFlags) -> Result<BatchScript, RunProblem> {
    let script = batch::batch(job, batch::typed(), batch::own_program())?;
    let path = script.path.clone();
    let is_edited = fs::read_to_string(&path).is_ok_and(|text| !is_untouched(&text));
    if is_edited && !job.force {
        return Err(SlurmProblem::EditedScript { path }.into());
    }
    save(&job.output, &script.render())
        // Slurm does not make the folder of the output file, and without it the job ends unheard.
        .and_then(|()| fs::create_dir_all(&job.log_dir))
        .map_err(|error| SlurmProblem::ScriptNotWritten { path, error: reason::of_io(&error) })?;
    Ok(script)
}

/// Whole or not at all.
fn save(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    fs::write(&draft, text)?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755))?;
    fs::rename(draft, path)
}

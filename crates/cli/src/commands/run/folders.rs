//! Where a run keeps its things.

use std::path::{Path, PathBuf};

use fermi_attempt::launch::Folders;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::machine::Machine;
use super::slurm::{self, SlurmPosition};

/// The folders of a run, and those around it.
#[derive(Debug)]
pub struct RunFolders {
    pub folders: Folders,
    /// Where all runs are kept, when this one is kept there too: old ones are pruned after it.
    pub runs: Option<PathBuf>,
    /// The folder of the Slurm job, in which each of its nodes has one.
    pub job: Option<PathBuf>,
    /// The folder for temporary things in which all this is, where the home cannot be written.
    pub temporary: Option<PathBuf>,
}

impl RunFolders {
    pub fn choose(flags: &RunFlags, machine: &Machine, position: Option<&SlurmPosition>) -> Result<Self, RunProblem> {
        let log_dir = flags.log_dir.as_ref().map(|folder| machine.folder.join(folder));
        let nowhere = log_dir.as_deref() == Some(Path::new("/dev/null"));
        let state = machine.state_folder.as_ref().map(|state| state.path.clone());
        let mut live = state.clone().unwrap_or_else(|| std::env::temp_dir().join("fermi")).join("live");
        if let Some(position) = position {
            // The nodes of a cluster share a home; each looks after its own runs only.
            live.push(&position.node_name);
        }
        let base = match (log_dir, position, nowhere) {
            (_, _, true) => None,
            (Some(folder), _, false) => Some(folder),
            (None, Some(_), false) => Some(machine.folder.join(slurm::LOGS)),
            (None, None, false) => Some(state.ok_or(RunProblem::NoHome)?.join("runs")),
        };
        let job = position.and_then(|position| base.as_ref().map(|base| base.join(position.label())));
        let name = match (&flags.rdzv_id, position) {
            (_, Some(position)) => format!("{}_{}", slurm::folder_name(position), machine.run_id),
            (Some(id), None) if id != "none" && is_file_name(id) => format!("{id}_{}", machine.run_id),
            _ => machine.run_id.clone(),
        };
        let run = job.as_ref().or(base.as_ref()).map(|base| base.join(name));
        let runs = base.filter(|_| flags.log_dir.is_none() && position.is_none());
        for folder in run.iter().chain([&live]) {
            unicode(folder)?;
        }
        // All nodes of a job write to one place, and find it again after a requeue.
        let output = match (&flags.output_dir, job.as_ref().or(run.as_ref())) {
            (Some(folder), _) => machine.folder.join(folder),
            (None, Some(run)) => run.join("outputs"),
            (None, None) => machine.folder.join("outputs"),
        };
        let checkpoint = flags
            .checkpoint_dir
            .as_ref()
            .map_or_else(|| output.join("checkpoints"), |folder| machine.folder.join(folder));
        let launch = run.as_ref().unwrap_or(&output).join("launch");
        let source = machine.folder.clone();
        let temporary =
            machine.state_folder.as_ref().filter(|state| state.is_temporary).map(|state| state.path.clone());
        Ok(Self { folders: Folders { live, run, launch, output, checkpoint, source }, runs, job, temporary })
    }
}

fn is_file_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

fn unicode(path: &Path) -> Result<(), RunProblem> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(RunProblem::PathNotUnicode { path: path.display().to_string() }),
    }
}

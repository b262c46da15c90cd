//! Makes what the plan names; done when the run really starts, not for a dry run.

use std::fs;
use std::path::Path;

use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;

use super::plan::Plan;
use super::state_folder;

/// Makes the folders of the run and writes the files of its launch. A hook that cannot be written is left out, unless the
/// user has asked for what it does.
pub fn make_folders(plan: &mut Plan) -> Result<(), RunProblem> {
    make_all(plan)?;
    if let Some(hook) = &plan.bundle.hook
        && let Err(error) = hook.write()
    {
        if hook.warm {
            return Err(not_writable(&hook.folder, error));
        }
        plan.bundle.hook = None;
    }
    Ok(())
}

fn not_writable(path: &Path, error: std::io::Error) -> RunProblem {
    RunProblem::FolderNotWritable { path: path.display().to_string(), error: reason::of_io(&error) }
}

fn make_all(plan: &Plan) -> Result<(), RunProblem> {
    let bundle = &plan.bundle;
    if let Some(run) = &bundle.run_folder {
        let parent = run.parent().unwrap_or(run);
        if parent.is_file() {
            return Err(RunProblem::LogFolderIsFile { path: parent.display().to_string() });
        }
    }
    // Who wants no logs gets no folder for outputs either, unless one was named.
    let outputs = Some(&bundle.checkpoint_dir).filter(|_| bundle.run_folder.is_some());
    if let Some(folder) = &plan.temporary_folder {
        state_folder::make_private(folder).map_err(|error| not_writable(folder, error))?;
    }
    for folder in bundle.run_folder.iter().chain(outputs) {
        fs::create_dir_all(folder).map_err(|error| not_writable(folder, error))?;
    }
    plan.files.write(|folder| fs::create_dir_all(folder)).map_err(|failed| not_writable(&failed.path, failed.error))
}

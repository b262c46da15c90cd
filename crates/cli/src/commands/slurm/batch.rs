//! The contents of the batch file, from what the user asked for.

use std::path::{Path, PathBuf};

use fermi_domain::ladder::StopLadder;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::SlurmProblem;
use fermi_domain::slurm::script::{BatchScript, StopLeadTime, quoted};
use fermi_domain::slurm::time;

use super::flags::JobFlags;
use crate::commands::run::policy::catchable;
use crate::speech;

/// Checks what can be checked here and makes the file's contents.
pub fn batch(flags: &JobFlags, command: String, fermi: String) -> Result<BatchScript, RunProblem> {
    if let Some(value) = flags.time.as_ref().filter(|value| !time::is_limit(value)) {
        return Err(SlurmProblem::BadTime { value: value.clone() }.into());
    }
    flags.checkpoint_signal.as_deref().map(catchable).transpose()?;
    let script = flags.script.first().ok_or(RunProblem::NoScript)?;
    if !flags.module && !flags.no_python && !Path::new(script).is_file() {
        return Err(RunProblem::ScriptNotFound { path: script.clone() });
    }
    let stop_s = u32::try_from(StopLadder::default().planned_grace_ms / 1000).unwrap_or(30);
    let save_s = flags.checkpoint_signal.as_ref().map_or(0, |_| flags.checkpoint_grace);
    Ok(BatchScript {
        command,
        path: flags.output.display().to_string(),
        job_name: flags.job_name.clone().unwrap_or_else(|| name_of(script)),
        nodes: flags.nodes,
        nproc_per_node: flags.nproc_per_node.or(flags.gpus_per_node).unwrap_or(1),
        gpus_per_node: flags.gpus_per_node,
        cpus_per_rank: flags.cpus_per_rank,
        memory: flags.mem.clone(),
        time: flags.time.clone(),
        partition: flags.partition.clone(),
        account: flags.account.clone(),
        qos: flags.qos.clone(),
        array: flags.array.clone(),
        sbatch: flags.sbatch.clone(),
        setup: flags.setup.clone(),
        log_dir: flags.log_dir.display().to_string(),
        requeue: flags.requeue,
        lead_time: StopLeadTime::for_graces(save_s, stop_s),
        fermi,
        run_options: run_options(flags),
        script: flags.script.clone(),
        language: speech::language(),
    })
}

fn run_options(flags: &JobFlags) -> Vec<String> {
    let mut options = Vec::new();
    if flags.module {
        options.push("--module".to_owned());
    }
    if flags.no_python {
        options.push("--no-python".to_owned());
    }
    if flags.max_restarts > 0 {
        options.push(format!("--max-restarts={}", flags.max_restarts));
    }
    if let Some(signal) = &flags.checkpoint_signal {
        options.push(format!("--checkpoint-signal={signal}"));
        options.push(format!("--checkpoint-grace={}", flags.checkpoint_grace));
    }
    if let Some(folder) = &flags.checkpoint_dir {
        options.push(format!("--checkpoint-dir={}", folder.display()));
    }
    options.extend(flags.variables.iter().map(|variable| format!("--env={variable}")));
    options.extend(flags.run_option.iter().cloned());
    options
}

/// `train` for `src/train.py`.
fn name_of(script: &str) -> String {
    Path::new(script).file_stem().map_or_else(|| "fermi".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The command line as it was typed, for the file's first lines. One line, whatever it holds.
pub fn typed() -> String {
    let words =
        std::env::args().enumerate().map(|(index, word)| if index == 0 { "fermi".to_owned() } else { quoted(&word) });
    words.collect::<Vec<_>>().join(" ").replace(['\n', '\r'], " ")
}

/// How the nodes call this program: by its name where the PATH leads to it, else by its path.
pub fn own_program() -> String {
    let Ok(own) = std::env::current_exe() else { return "fermi".to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("fermi")).find(|candidate| candidate.is_file());
    let is_own =
        |found: PathBuf| found.canonicalize().is_ok_and(|found| own.canonicalize().is_ok_and(|own| own == found));
    if found.is_some_and(is_own) { "fermi".to_owned() } else { own.display().to_string() }
}

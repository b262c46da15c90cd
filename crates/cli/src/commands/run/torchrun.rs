//! `--use-torchrun`: the same options, carried out by the real torchrun.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use fermi_attempt::launch::is_executable;

use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;

/// Becomes torchrun; returns only if there is none.
pub fn replace_this_process(flags: &RunFlags) -> Result<ExitCode, RunProblem> {
    if flags.script.is_empty() {
        return Err(RunProblem::NoScript);
    }
    let torchrun = torchrun_on(&std::env::var_os("PATH").unwrap_or_default()).ok_or(RunProblem::TorchrunNotFound)?;
    // exec returns only when it failed.
    let _ = Command::new(torchrun).args(arguments(flags)).exec();
    Err(RunProblem::TorchrunNotFound)
}

/// The first torchrun on the path that is not a link to this binary.
fn torchrun_on(path: &OsStr) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(fs::canonicalize).ok();
    let candidates = std::env::split_paths(path).map(|folder| folder.join("torchrun"));
    candidates.filter(|path| is_executable(path)).find(|path| fs::canonicalize(path).ok() != own)
}

fn arguments(flags: &RunFlags) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut option = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
    option("nnodes", &flags.nnodes);
    option("nproc-per-node", flags.nproc_per_node.as_deref().unwrap_or("1"));
    option("max-restarts", &flags.max_restarts.to_string());
    option("role", &flags.role);
    option("redirects", &flags.redirects);
    option("tee", &flags.tee);
    option("node-rank", &flags.node_rank.unwrap_or(0).to_string());
    for (name, value) in [
        ("master-addr", &flags.master_addr),
        ("master-port", &flags.master_port),
        ("rdzv-id", &flags.rdzv_id),
        ("rdzv-backend", &flags.rdzv_backend),
        ("rdzv-endpoint", &flags.rdzv_endpoint),
        ("rdzv-conf", &flags.rdzv_conf),
        ("local-ranks-filter", &flags.local_ranks_filter),
    ] {
        if let Some(value) = value {
            option(name, value);
        }
    }
    if let Some(folder) = &flags.log_dir {
        option("log-dir", &folder.to_string_lossy());
    }
    let switches = [
        ("--standalone", flags.standalone),
        ("--module", flags.module),
        ("--no-python", flags.no_python),
        ("--run-path", flags.run_path),
    ];
    words.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| OsString::from(name)));
    words.extend(flags.script.iter().cloned());
    words
}

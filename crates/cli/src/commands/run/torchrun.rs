//! `--use-torchrun`: the same options, carried out by the real torchrun.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;

/// Becomes torchrun; returns only if there is none.
pub fn replace_this_process(flags: &RunFlags) -> Result<ExitCode, RunProblem> {
    if flags.script.is_empty() {
        return Err(RunProblem::NoScript);
    }
    // exec returns only when it failed.
    let _ = Command::new("torchrun").args(arguments(flags)).exec();
    Err(RunProblem::TorchrunNotFound)
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

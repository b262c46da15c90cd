//! `--use-torchrun`: torchrun's options, carried out by the real torchrun.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use fermi_attempt::launch::is_executable;

use fermi_domain::contract;
use fermi_domain::messages::run::RunProblem;

use super::flags::{RunFlags, USUAL_MONITOR_INTERVAL};
use super::ranks;

/// Becomes torchrun; returns only if there is none.
pub fn replace_this_process(flags: &RunFlags) -> Result<ExitCode, RunProblem> {
    if flags.script.is_empty() {
        return Err(RunProblem::NoScript);
    }
    let variables = ranks::variables(flags)?;
    let torchrun = torchrun_on(&std::env::var_os("PATH").unwrap_or_default()).ok_or(RunProblem::TorchrunNotFound)?;
    // exec returns only when it failed.
    let _ = Command::new(torchrun).args(arguments(flags)).envs(variables).exec();
    Err(RunProblem::TorchrunNotFound)
}

/// The first torchrun on the path that is not a link to this binary.
fn torchrun_on(path: &OsStr) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(fs::canonicalize).ok();
    let candidates = std::env::split_paths(path).map(|folder| folder.join("torchrun"));
    candidates.filter(|path| is_executable(path)).find(|path| fs::canonicalize(path).ok() != own)
}

/// What torchrun has of the options, as its own user would write it. Those that only newer ones have are there where they were
/// given.
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
    for (name, value, usual) in [
        ("signals-to-handle", &flags.signals_to_handle, contract::SIGNALS_TO_HANDLE),
        ("monitor-interval", &flags.monitor_interval, USUAL_MONITOR_INTERVAL),
    ] {
        if value != usual {
            option(name, value);
        }
    }
    for (name, value) in [
        ("master-addr", &flags.master_addr),
        ("master-port", &flags.master_port),
        ("rdzv-id", &flags.rdzv_id),
        ("rdzv-backend", &flags.rdzv_backend),
        ("rdzv-endpoint", &flags.rdzv_endpoint),
        ("rdzv-conf", &flags.rdzv_conf),
        ("local-ranks-filter", &flags.local_ranks_filter),
        ("log-line-prefix-template", &flags.log_line_prefix_template),
        ("duplicate-stdout-filters", &flags.duplicate_stdout_filters),
        ("duplicate-stderr-filters", &flags.duplicate_stderr_filters),
        ("shutdown-timeout", &flags.shutdown_timeout),
        ("start-method", &flags.start_method),
        ("event-log-handler", &flags.event_log_handler),
        ("local-addr", &flags.local_addr),
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
        ("--virtual-local-rank", flags.virtual_local_rank),
        ("--module", flags.module),
        ("--no-python", flags.no_python),
        ("--run-path", flags.run_path),
    ];
    words.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| OsString::from(name)));
    words.extend(flags.script.iter().cloned());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::foreign::{self, Fate, Takes};

    #[test]
    fn every_option_that_means_the_same_as_torchruns_is_handed_over() {
        // Whose value is not kept: it becomes another flag of ours, or nothing.
        const LEFT_OUT: [&str; 4] = ["--help", "--logs-specs", "--use-env", "--numa-binding"];
        for option in foreign::all().into_iter().filter(|option| option.launcher == "torchrun") {
            let is_refused = matches!(option.fate, Fate::Refused(_));
            if is_refused || !option.name.starts_with("--") || LEFT_OUT.contains(&option.name) {
                continue;
            }
            let word = match option.takes.first() {
                None => option.name.to_owned(),
                Some(Takes::OneOf(words) | Takes::Policy(words)) => format!("{}={}", option.name, words[0]),
                Some(Takes::Anything | Takes::Number | Takes::PerNode) => format!("{}=7", option.name),
            };
            let handed = arguments(&RunFlags::parse_for_test(&[&word]));
            assert!(handed.contains(&OsString::from(&word)), "{word}: {handed:?}");
        }
    }
}

//! The rules by which the ranks live: restarts, the ladder of a stop, how long is waited.

use fermi_domain::contract;
use fermi_domain::exit::parse_signal;
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::{Rung, StopLadder};
use fermi_domain::launch::RunPolicy;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::gathering;
use super::machine::Machine;

/// What flags and variables say. A job that Slurm has started again goes on where it was.
pub fn read(flags: &RunFlags, machine: &Machine, is_requeued: bool) -> Result<RunPolicy, RunProblem> {
    Ok(RunPolicy {
        restarts: RestartPolicy { max_restarts: flags.max_restarts },
        ladder: ladder(flags, machine)?,
        node_lost_after_ms: ms("--node-lost-after", &flags.node_lost_after)?,
        join_timeout_ms: match (&flags.join_timeout, gathering::join_timeout(flags.rdzv_conf.as_deref())) {
            (Some(typed), _) => ms("--join-timeout", typed)?,
            (None, Some(configured)) => ms("--rdzv-conf join_timeout", configured)?,
            (None, None) => RunPolicy::USUAL_JOIN_MS,
        },
        start_timeout_ms: flags.start_timeout.as_deref().map(|value| ms("--start-timeout", value)).transpose()?,
        resume: flags.resume || is_requeued,
        ..RunPolicy::default()
    })
}

fn ladder(flags: &RunFlags, machine: &Machine) -> Result<StopLadder, RunProblem> {
    let grace = match (&flags.shutdown_timeout, &machine.shutdown_timeout) {
        (Some(typed), _) => Some(ms("--shutdown-timeout", typed)?),
        (None, Some(inherited)) => Some(ms(contract::TORCH_ELASTIC_SHUTDOWN_TIMEOUT, inherited)?),
        (None, None) => None,
    };
    let checkpoint = match &flags.checkpoint_signal {
        Some(name) => {
            Some(Rung { signal: catchable(name)?, grace_ms: ms("--checkpoint-grace", &flags.checkpoint_grace)? })
        }
        None => None,
    };
    let usual = StopLadder::default();
    Ok(StopLadder {
        checkpoint,
        planned_grace_ms: grace.unwrap_or(usual.planned_grace_ms),
        failure_grace_ms: grace.unwrap_or(usual.failure_grace_ms),
    })
}

/// Seconds, whole or not, as milliseconds.
pub fn ms(flag: &'static str, value: &str) -> Result<u64, RunProblem> {
    let seconds: Option<f64> = value.trim().parse().ok().filter(|seconds: &f64| (0.0..1e9).contains(seconds));
    // The range is checked, so the product fits.
    seconds
        .map(|seconds| (seconds * 1000.0).round() as u64)
        .ok_or_else(|| RunProblem::BadDuration { flag, value: value.to_owned() })
}

/// The signals that stop the run.
pub fn signals(list: &str) -> Result<Vec<i32>, RunProblem> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(catchable).collect()
}

/// A signal to which a program can react.
pub fn catchable(name: &str) -> Result<i32, RunProblem> {
    let value = || name.to_owned();
    match parse_signal(name).ok_or_else(|| RunProblem::BadSignal { value: value() })? {
        libc::SIGKILL | libc::SIGSTOP => Err(RunProblem::UncatchableSignal { value: value() }),
        signal => Ok(signal),
    }
}

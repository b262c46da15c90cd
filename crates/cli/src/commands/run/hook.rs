//! `--hook`, `--warm` and `--on-hang`: what Python ranks load before their script.

use fermi_attempt::hook::HookPlan;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::machine::Machine;
use super::policy;
use super::state_folder::StateFolder;

/// None where ranks are not Python's, where the user wants none, and where there is no folder for it.
pub fn plan(flags: &RunFlags, machine: &Machine, is_python: bool) -> Result<Option<HookPlan>, RunProblem> {
    let (warm, warm_cuda) = (flags.warm != "off", flags.warm == "cuda");
    let hang_after_ms = policy::ms("--hang-after", &flags.hang_after)?;
    if flags.hook == "off" {
        return if warm { Err(RunProblem::WarmWithoutHook) } else { Ok(None) };
    }
    if !is_python {
        return if warm { Err(RunProblem::WarmWithoutPython) } else { Ok(None) };
    }
    let restart_hung_after_ms = (flags.on_hang == "restart").then_some(hang_after_ms);
    let below =
        |state: &StateFolder| HookPlan { warm_cuda, restart_hung_after_ms, ..HookPlan::below(&state.path, warm) };
    Ok(machine.state_folder.as_ref().map(below))
}

//! `--hook` and `--warm`: what Python ranks load before their script.

use fermi_attempt::hook::HookPlan;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::machine::Machine;

/// None where ranks are not Python's, where the user wants none, and where there is no folder for it.
pub fn plan(flags: &RunFlags, machine: &Machine, is_python: bool) -> Result<Option<HookPlan>, RunProblem> {
    let warm = flags.warm == "on";
    if flags.hook == "off" {
        return if warm { Err(RunProblem::WarmWithoutHook) } else { Ok(None) };
    }
    if !is_python {
        return if warm { Err(RunProblem::WarmWithoutPython) } else { Ok(None) };
    }
    Ok(machine.state_folder.as_ref().map(|state| HookPlan::below(&state.path, warm)))
}

//! What each rank gets from the command line: its words, its variables, its devices, and how it appears.

use fermi_attempt::bundle::RankPlan;
use fermi_domain::contract::{self, RankPosition};
use fermi_domain::messages::run::RunProblem;
use fermi_process::output::Show;
use fermi_process::spawn::{RankCommand, StdinPlan};

use super::flags::RunFlags;
use super::interpreter::Program;
use super::machine::{Machine, Stdin};
use super::{affinity, devices, filters};

/// The ranks as the command line has them; what every launch adds comes later.
pub fn plan(
    flags: &RunFlags,
    machine: &Machine,
    program: &Program,
    places: Vec<RankPosition>,
) -> Result<Vec<RankPlan>, RunProblem> {
    let visibility = filters::Visibility::read(flags, machine.prefix_template.as_deref())?;
    let cpus = affinity::bind(flags, places.len(), &machine.cpus)?;
    let shared = variables(flags)?;
    let visible = visible_devices(flags, machine, places.len())?;
    let rank = |(index, place): (usize, RankPosition)| {
        let mut env = shared.clone();
        env.extend(device_variables(flags, &place, visible.as_deref()));
        let (show_stdout, show_stderr) = visibility.of(&place);
        let is_live = show_stdout == Show::Raw && show_stderr == Show::Raw;
        RankPlan {
            command: RankCommand {
                account: None,
                argv: program.of_rank(&place),
                env,
                folder: None,
                cpus: cpus.as_ref().and_then(|cpus| cpus.get(index).cloned()),
                stdin: if index == 0 && !flags.stop_on_stdin_eof { stdin_plan(machine) } else { StdinPlan::Null },
                // With --json stdout belongs to the events.
                terminal: machine.window.filter(|_| is_live && !flags.json),
            },
            show_stdout,
            show_stderr,
            place,
        }
    };
    Ok(places.into_iter().enumerate().map(rank).collect())
}

/// The variables of `-x`.
pub fn variables(flags: &RunFlags) -> Result<Vec<(String, String)>, RunProblem> {
    let read: Result<Vec<_>, _> = flags.variables.iter().map(|variable| assignment(variable)).collect();
    Ok(read?.into_iter().flatten().collect())
}

/// `NAME=VALUE` sets; `NAME` alone passes on what is there, which ranks inherit anyhow.
fn assignment(text: &str) -> Result<Option<(String, String)>, RunProblem> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(RunProblem::BadAssignment { value: text.to_owned() });
    }
    Ok(value.map(|value| (name.to_owned(), value.to_owned())))
}

fn visible_devices(flags: &RunFlags, machine: &Machine, processes: usize) -> Result<Option<Vec<String>>, RunProblem> {
    let inherited = machine.cuda_visible_devices.as_deref();
    let gpus = if flags.exclude.is_some() { (machine.count_gpus)(inherited) } else { 0 };
    let chosen = devices::visible(flags, inherited, gpus)?;
    if let Some(devices) = &chosen
        && devices.len() < processes
    {
        return Err(RunProblem::NotEnoughGpus { wanted: processes, found: devices.len() });
    }
    Ok(chosen.or_else(|| inherited.map(fermi_hardware::gpu::visible_devices).filter(|_| flags.virtual_local_rank)))
}

/// CUDA_VISIBLE_DEVICES is inherited, unless the user chose devices or wants one for each rank.
fn device_variables(flags: &RunFlags, place: &RankPosition, visible: Option<&[String]>) -> Vec<(String, String)> {
    if flags.virtual_local_rank {
        let own = devices::own_device(visible, place.local_rank);
        return [contract::CUDA_VISIBLE_DEVICES, contract::HIP_VISIBLE_DEVICES]
            .map(|name| (name.to_owned(), own.clone()))
            .to_vec();
    }
    visible.map(|devices| (contract::CUDA_VISIBLE_DEVICES.to_owned(), devices.join(","))).into_iter().collect()
}

fn stdin_plan(machine: &Machine) -> StdinPlan {
    match machine.stdin {
        Stdin::Terminal => StdinPlan::Forwarded,
        Stdin::BusyTerminal => StdinPlan::Null,
        Stdin::Data => StdinPlan::Inherited,
    }
}

//! `fermi run`: starts a script in several processes on this machine, instead of torchrun.
//!
//! [`flags`] and [`spellings`] read the command line, [`plan`] decides everything from it and from what [`machine`] saw
//! (a noun of it in each of [`processes`], [`interpreter`], [`ranks`], [`gathering`], [`framework`], [`folders`], [`policy`]),
//! [`session`] runs the plan at the user's terminal, [`report`] tells why it failed.

mod affinity;
pub(super) mod devices;
mod dry_run;
mod error_file;
mod filters;
pub(super) mod flags;
mod folders;
mod foreign;
mod framework;
mod gathering;
mod hook;
mod interpreter;
mod leash;
pub(super) mod machine;
mod make_folders;
pub(super) mod narrate;
pub(super) mod plan;
pub(super) mod policy;
mod processes;
mod ranks;
pub(super) mod report;
pub(super) mod session;
mod single_rank;
pub(super) mod slurm;
pub mod spellings;
pub(super) mod state_folder;
mod store;
mod streams;
mod terminal;
mod torchrun;
mod variables;
pub(super) mod voice;

use std::process::ExitCode;

use clap::Args;
use fermi_domain::language::{Explained, Notice, Text};
use fermi_domain::messages::run::RunProblem;

pub use flags::RunFlags;

use crate::{called_as, exit_code, speech};

pub fn execute(flags: RunFlags) -> ExitCode {
    match start(flags) {
        Ok(code) => code,
        Err(problem) => refuse(&problem),
    }
}

/// Says what is wrong with the flags, and gives the exit code.
pub(super) fn refuse(problem: &RunProblem) -> ExitCode {
    let text = blaming_variables(problem.text());
    match problem.hint() {
        Some(hint) => speech::complain(&Notice::new(problem.id(), text, hint)),
        None => speech::complain(problem),
    }
    ExitCode::from(exit_code::USAGE)
}

/// A sentence about a refused value of `fermi run`, which names the `PET_*` variable that holds it, if one does, or the word
/// of another launcher by which it was given.
pub(super) fn blaming_variables(text: Text) -> Text {
    let run = RunFlags::augment_args(clap::Command::new(super::RUN));
    let words = called_as::words();
    let text = variables::blamed(text, &variables::in_use(&run, &words, |name| std::env::var(name).ok()));
    spellings::as_typed(text, &run, words)
}

/// Values of other launchers' options that no launcher would take.
fn refuse_foreign(flags: &RunFlags) -> Result<(), RunProblem> {
    foreign::refuse_values(&flags.refused_value)?;
    for (name, value) in [("--start-method", &flags.start_method), ("--event-log-handler", &flags.event_log_handler)] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            foreign::check(name, value)?;
        }
    }
    Ok(())
}

/// What a job asks for means nothing where no job is made.
fn refuse_gpus_of_a_job(flags: &RunFlags) -> Result<(), RunProblem> {
    match flags.gpus_per_node.filter(|_| !slurm::is_create(flags)) {
        None => Ok(()),
        Some(gpus) => Err(RunProblem::Framework {
            text: Text::new(
                format!("--gpus-per-node {gpus} 只能与 --mode create_slurm 一起使用"),
                format!("--gpus-per-node {gpus} goes with --mode create_slurm only"),
            ),
            hint: Text::new(
                format!("要在本机启动 {gpus} 个 rank，请用 --nproc-per-node {gpus}；要选择 GPU，请用 --include"),
                format!("--nproc-per-node {gpus} starts so many ranks on this machine; --include chooses GPUs"),
            ),
        }),
    }
}

/// A launcher of torch as the module that is run: it starts ranks of its own within each of ours.
fn launcher_within(flags: &RunFlags) -> Option<Text> {
    let module = flags.script.first().filter(|_| flags.module)?.to_str()?;
    ["torch.distributed.launch", "torch.distributed.run"].contains(&module).then(|| {
        Text::new(
            format!("{module} 自己也是启动器，会在每个 rank 中再启动 rank；fermi run 可直接代替它，请去掉 -m {module}"),
            format!(
                "{module} is a launcher itself, and starts ranks within each rank; fermi run stands for it: leave -m {module} out"
            ),
        )
    })
}

/// What is said of options that are taken and do nothing.
fn without_effect(flags: &RunFlags) -> Vec<Text> {
    let is_usual = |value: &Option<String>| value.as_deref().is_none_or(str::is_empty);
    let given = [
        ("--start-method", !is_usual(&flags.start_method)),
        ("--event-log-handler", !is_usual(&flags.event_log_handler)),
        ("--local-addr", !is_usual(&flags.local_addr)),
        ("--rdzv-backend", !is_usual(&flags.rdzv_backend)),
        ("--monitor-interval", flags.monitor_interval != flags::USUAL_MONITOR_INTERVAL),
    ];
    let of_ours = given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name.to_owned());
    let mut notes = foreign::notes(&of_ours.chain(flags.without_effect.iter().cloned()).collect::<Vec<_>>());
    notes.extend(launcher_within(flags));
    notes.extend(foreign::partly("--rdzv-conf", &gathering::keys_without_effect(flags.rdzv_conf.as_deref())));
    notes
}

fn start(flags: RunFlags) -> Result<ExitCode, RunProblem> {
    spellings::refuse_unknown(&flags.script)?;
    refuse_foreign(&flags)?;
    refuse_gpus_of_a_job(&flags)?;
    let flags = processes::counted(flags)?;
    framework::refuse_elsewhere(&flags)?;
    if flags.use_torchrun {
        return torchrun::replace_this_process(&flags);
    }
    let machine = machine::Machine::look()?;
    if slurm::is_create(&flags) {
        return Ok(super::slurm::create_from_run(&flags));
    }
    carry_out(plan::plan(&flags, &machine)?, &flags)
}

/// Plans a run whose program is Fermi's own to choose; nothing is started.
pub(super) fn planned(flags: &RunFlags, machine: &machine::Machine) -> Result<plan::Plan, RunProblem> {
    refuse_foreign(flags)?;
    let flags = processes::counted(flags.clone())?;
    framework::refuse_elsewhere(&flags)?;
    plan::plan(&flags, machine)
}

/// Runs a plan, or shows it where that was asked for.
pub(super) fn carry_out(plan: plan::Plan, flags: &RunFlags) -> Result<ExitCode, RunProblem> {
    if flags.dry_run {
        session::say_notes(&plan, flags);
        dry_run::show(&plan, flags.json);
        return Ok(ExitCode::SUCCESS);
    }
    let _note = plan.slurm.as_ref().map(|slurm| slurm::LauncherNote::leave(slurm, &plan.signals));
    session::run(plan, flags)
}

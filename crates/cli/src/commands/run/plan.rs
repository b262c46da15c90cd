//! Decides everything about a run from the flags and the machine, before anything is started.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use fermi_attempt::bundle::{Meeting, NodeBundle, RankNumbering, RankPlan};
use fermi_attempt::launch::{Devices, LaunchFiles, Prepared, RunIdentity, Site, prepare};
use fermi_domain::contract;
use fermi_domain::language::Text;
use fermi_domain::launch::{NodeLaunch, Placeholder};
use fermi_domain::messages::run::RunProblem;
use fermi_hardware::network::interface_to;

use super::flags::RunFlags;
use super::folders::RunFolders;
use super::framework::Framework;
use super::interpreter::Program;
use super::machine::Machine;
use super::policy::{self, ms};
use super::slurm::{self, InSlurm};
use super::{affinity, filters, gathering, hook, processes, ranks, store};

/// A run that is ready to start.
#[derive(Debug)]
pub struct Plan {
    pub bundle: NodeBundle,
    /// Files of the framework, written when the run really starts.
    pub files: LaunchFiles,
    /// What the framework decided.
    pub notes: Vec<Text>,
    /// Signals that stop the run.
    pub signals: Vec<i32>,
    /// Where all runs are kept, when this one is kept there too: old ones are pruned after it.
    pub runs_folder: Option<PathBuf>,
    /// The folder for temporary things in which the run is recorded, where the home cannot be written.
    pub temporary_folder: Option<PathBuf>,
    /// Set for all ranks because the user did not, and worth saying.
    pub omp_num_threads: Option<String>,
    /// What a run inside a Slurm job has beyond others.
    pub slurm: Option<InSlurm>,
}

/// Makes the plan, or says what is wrong.
pub fn plan(flags: &RunFlags, machine: &Machine) -> Result<Plan, RunProblem> {
    let found = slurm_position(flags, machine)?;
    let mut said: Vec<Text> = found.as_ref().filter(|_| flags.mode.is_none()).map(slurm::joined).into_iter().collect();
    let position = found;
    said.extend(super::without_effect(flags));
    said.extend(machine.wants_file_timer.then(no_file_timer));
    let flags = &beside_variables(flags, machine);
    let meeting = match &position {
        Some(position) => slurm::meeting(flags, position, machine.slurm_address)?,
        // The place of a rank that is started alone is not counted from those beside it.
        None if flags.rank.is_some() => Meeting { numbering: RankNumbering::Known, ..gathering::plan(flags)? },
        None => gathering::plan(flags)?,
    };
    let program = Program::read(flags, machine)?;
    let places = processes::ranks(flags, machine, position.as_ref())?;
    said.extend(processes::single_note(flags, machine, &places));
    said.extend(gathering::note(flags));
    said.extend(affinity::note(flags, machine));
    let RunFolders { folders, runs, job, temporary } = RunFolders::choose(flags, machine, position.as_ref())?;
    let hosts = position.as_ref().map(|position| position.hosts.as_slice()).unwrap_or_default();
    let Framework { mut launch, notes, name: framework } = Framework::of(flags, machine, &meeting, &places, hosts)?;
    launch.hosts_store = store::is_hosted(flags, framework, &store::script_of(flags))?;
    let elsewhere = temporary.as_deref().filter(|_| runs.is_some()).map(kept_elsewhere);
    let notes = said.into_iter().chain(notes).chain(elsewhere).collect();
    let ranks = ranks::plan(flags, machine, &program, places)?;
    let policy = policy::read(flags, machine, position.as_ref().is_some_and(|position| position.restarts > 0))?;
    ms("--monitor-interval", &flags.monitor_interval)?;
    let signals = policy::signals(&flags.signals_to_handle)?;
    let identity = RunIdentity {
        run_id: machine.run_id.clone(),
        task_id: machine.run_id.clone(),
        torch_run_id: flags
            .rdzv_id
            .clone()
            .filter(|id| id != "none")
            .or_else(|| position.as_ref().map(slurm::SlurmPosition::run))
            .unwrap_or_else(|| machine.run_id.clone()),
        // A job that is queued again is the same training in another generation.
        generation: position.as_ref().map_or(1, |position| u64::from(position.restarts) + 1),
        owner: position
            .as_ref()
            .map_or_else(|| machine.run_id.clone(), |position| format!("slurm-{}.{}", position.label(), position.step)),
    };
    let site = Site {
        folders,
        fermi: machine.own_binary.clone(),
        search_path: program.python.as_deref().and_then(|python| machine.python.path_for(python)),
        python: program.python,
        interface: interface(&launch, &meeting.address),
        inherited: machine.inherited,
        tuned: machine.tuned.clone(),
        devices: Devices::Inherited,
        signals: flags.signals_to_handle.clone(),
    };
    let omp_num_threads = said_omp(machine, &ranks);
    let prepared = prepare(&launch, &site, &policy, identity, meeting, ranks);
    let Prepared { mut bundle, files } = prepared.map_err(|outside| RunProblem::of_framework(&outside))?;
    bundle.stdout_filters = filters::words(flags.duplicate_stdout_filters.as_deref());
    bundle.stderr_filters = filters::words(flags.duplicate_stderr_filters.as_deref());
    bundle.hook = hook::plan(flags, machine, site.python.is_some())?;
    let slurm = position.as_ref().map(|_| InSlurm { job_folder: job, coordinates: bundle.gathering.coordinates });
    Ok(Plan { bundle, files, notes, signals, runs_folder: runs, temporary_folder: temporary, omp_num_threads, slurm })
}

/// torchrun's watchdog has a stand-in here that needs no change of the script.
fn no_file_timer() -> Text {
    let name = contract::TORCHELASTIC_ENABLE_FILE_TIMER;
    Text::new(
        format!("{name} 没有作用：没有 watchdog 文件；卡住的 rank 由 Fermi 判定（--on-hang）"),
        format!("{name} has no effect: there is no watchdog file; ranks that hang are found without one (--on-hang)"),
    )
}

/// Why logs are not where they usually are.
fn kept_elsewhere(folder: &Path) -> Text {
    let folder = folder.display();
    Text::new(
        format!("没有可写的家目录（HOME），日志保存在 {folder}；用 --log-dir 或 FERMI_STATE_DIR 指定别处"),
        format!(
            "there is no HOME to write to, so logs are kept in {folder}; --log-dir or FERMI_STATE_DIR names another place"
        ),
    )
}

/// The interface that leads to the master, looked for only where the launch names it.
fn interface(launch: &NodeLaunch, address: &str) -> Option<String> {
    launch.needs(Placeholder::Interface).then(|| interface_to(address)).flatten()
}

/// What ranks get as OMP_NUM_THREADS where neither the user nor a binding to cores says it.
fn said_omp(machine: &Machine, ranks: &[RankPlan]) -> Option<String> {
    let first = ranks.first().filter(|rank| rank.command.cpus.is_none())?;
    contract::omp_num_threads(machine.inherited, first.place.local_world_size, None)
}

/// A rank that is started alone takes the master from MASTER_ADDR and MASTER_PORT, where no flag names it.
fn beside_variables<'a>(flags: &'a RunFlags, machine: &Machine) -> Cow<'a, RunFlags> {
    if flags.rank.is_none() {
        return Cow::Borrowed(flags);
    }
    let variables = &machine.rank_variables;
    Cow::Owned(RunFlags {
        master_addr: flags.master_addr.clone().or_else(|| variables.master_addr.clone()),
        master_port: flags.master_port.clone().or_else(|| variables.master_port.clone()),
        ..flags.clone()
    })
}

/// Where Slurm has put this process, if the run is to follow it: where the user says so, and where `srun` has started
/// several of these and nothing else says how they meet.
fn slurm_position(flags: &RunFlags, machine: &Machine) -> Result<Option<slurm::SlurmPosition>, RunProblem> {
    match flags.mode.as_deref() {
        None if !machine.is_rank && slurm::is_one_of_several(flags, &machine.slurm) => {
            Ok(Some(slurm::position(flags, &machine.slurm)?))
        }
        None | Some("manual") => Ok(None),
        Some("slurm") => Ok(Some(slurm::position(flags, &machine.slurm)?)),
        Some(value) => Err(RunProblem::UnknownMode { value: value.to_owned() }),
    }
}

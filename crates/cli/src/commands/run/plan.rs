//! Decides everything about a run from the flags and the machine, before anything is started.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use fermi_attempt::bundle::{self, NodeBundle, RankPlan};
use fermi_attempt::virtual_env;
use fermi_domain::contract::{self, RankPlace};
use fermi_domain::exit::parse_signal;
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::{Rung, StopLadder};
use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;
use fermi_process::output::Show;
use fermi_process::spawn::StdinPlan;

use super::flags::RunFlags;
use super::machine::{Machine, Stdin};
use super::slurm::{self, InSlurm};
use super::{affinity, devices, filters, framework, gathering, interpreter};

/// More processes than this on one machine is a slip of the finger.
const MOST_PROCESSES: usize = 4096;

/// A run that is ready to start.
#[derive(Debug)]
pub struct Plan {
    pub bundle: NodeBundle,
    /// Files of the framework, written when the run really starts.
    pub files: Vec<(PathBuf, String)>,
    /// What the framework decided.
    pub notes: Vec<Text>,
    /// Signals that stop the run.
    pub signals: Vec<i32>,
    /// Where all runs are kept, when this one is kept there too: old ones are pruned after it.
    pub runs_folder: Option<PathBuf>,
    /// Set for all ranks because the user did not, and worth saying.
    pub omp_num_threads: Option<String>,
    /// What a run inside a Slurm job has beyond others.
    pub slurm: Option<InSlurm>,
}

/// Makes the plan, or says what is wrong.
pub fn plan(flags: &RunFlags, machine: &Machine) -> Result<Plan, RunProblem> {
    let seat = slurm_seat(flags, machine)?;
    let gathering = match &seat {
        Some(seat) => slurm::meeting(flags, seat, machine.slurm_address)?,
        None => gathering::plan(flags)?,
    };
    let argv = interpreter::argv(flags, machine)?;
    let crew = crew(flags, machine, seat.as_ref())?;
    let places = match &seat {
        Some(seat) => slurm::places(flags, seat, crew.processes),
        None => places(flags, machine, &crew),
    };
    let folders = Folders::choose(flags, machine, seat.as_ref())?;
    let visibility = filters::Visibility::read(flags, machine.prefix_template.as_deref())?;
    let cpus = affinity::bind(flags, places.len(), &machine.cpus)?;
    let omp = contract::omp_num_threads(
        machine.omp_num_threads.as_deref(),
        crew.processes,
        cpus.as_ref().and_then(|cpus| cpus.first()).map(Vec::len),
    );
    let shared = shared_variables(flags, machine, omp.as_deref(), &argv)?;
    let visible = visible_devices(flags, machine, &crew)?;
    let mut ranks: Vec<RankPlan> = places
        .into_iter()
        .enumerate()
        .map(|(index, place)| {
            let mut env = shared.clone();
            env.extend(device_variables(flags, &place, visible.as_deref()));
            let (show_stdout, show_stderr) = visibility.of(&place);
            let is_live = show_stdout == Show::Raw && show_stderr == Show::Raw;
            RankPlan {
                argv: argv_of(&argv, flags, &place),
                env,
                folder: None,
                cpus: cpus.as_ref().and_then(|cpus| cpus.get(index).cloned()),
                stdin: if index == 0 && !flags.stop_on_stdin_eof { stdin_plan(machine) } else { StdinPlan::Null },
                // With --json stdout belongs to the events.
                terminal: machine.window.filter(|_| is_live && !flags.json),
                show_stdout,
                show_stderr,
                place,
            }
        })
        .collect();
    let here = framework::Here {
        launch: folders.run.as_ref().unwrap_or(&folders.output).join("launch"),
        output: folders.output.clone(),
        checkpoint: folders.checkpoint.clone(),
        master_addr: &gathering.address,
        gathering: &gathering.gathering,
    };
    let framework = framework::add(flags, machine, &here, &mut ranks)?;
    let bundle = NodeBundle {
        version: bundle::VERSION,
        torch_run_id: flags
            .rdzv_id
            .clone()
            .filter(|id| id != "none")
            .or_else(|| seat.as_ref().map(slurm::Seat::run))
            .unwrap_or_else(|| machine.run_id.clone()),
        run_id: machine.run_id.clone(),
        task_id: machine.run_id.clone(),
        generation: 1,
        attempts_before: 0,
        live_folder: folders.live,
        run_folder: folders.run,
        output_dir: folders.output,
        checkpoint_dir: folders.checkpoint,
        node_name: seat.as_ref().map_or_else(|| machine.host_name.clone(), |seat| seat.node_name.clone()),
        master_addr: gathering.address,
        master_port: gathering.port,
        gathering: gathering.gathering,
        ranks,
        places: seat.as_ref().map(slurm::who_places).unwrap_or_default(),
        late: framework.late,
        serves: framework.serves,
        made_for: framework.made_for,
        restarts: RestartPolicy { max_restarts: flags.max_restarts },
        ladder: ladder(flags, machine)?,
        start_timeout_ms: flags.start_timeout.as_deref().map(|value| ms("--start-timeout", value)).transpose()?,
        resume: flags.resume || seat.as_ref().is_some_and(|seat| seat.restarts > 0),
        stdout_filters: filters::words(flags.duplicate_stdout_filters.as_deref()),
        stderr_filters: filters::words(flags.duplicate_stderr_filters.as_deref()),
    };
    ms("--monitor-interval", &flags.monitor_interval)?;
    let signals = signals(&flags.signals_to_handle)?;
    let slurm = seat.as_ref().map(|_| InSlurm { job_folder: folders.job, coordinates: bundle.gathering.coordinates });
    Ok(Plan {
        bundle,
        files: framework.files,
        notes: framework.notes,
        signals,
        runs_folder: folders.runs,
        omp_num_threads: omp.filter(|_| cpus.is_none()),
        slurm,
    })
}

/// Where Slurm has put this process, if the run is to follow it.
fn slurm_seat(flags: &RunFlags, machine: &Machine) -> Result<Option<slurm::Seat>, RunProblem> {
    match flags.mode.as_deref() {
        None | Some("manual") => Ok(None),
        Some("slurm") => Ok(Some(slurm::seat(flags, &machine.slurm)?)),
        Some(value) => Err(RunProblem::UnknownMode { value: value.to_owned() }),
    }
}

/// How many processes, and whether this is one rank of a world that others start.
struct CrewSize {
    processes: u32,
    single: Option<(u32, u32)>,
}

fn crew(flags: &RunFlags, machine: &Machine, seat: Option<&slurm::Seat>) -> Result<CrewSize, RunProblem> {
    if let Some(processes) = seat.and_then(slurm::tasks_here) {
        return Ok(CrewSize { processes, single: None });
    }
    match (flags.rank, flags.world_size) {
        (Some(_), None) => return Err(RunProblem::RankWithoutWorld),
        (Some(rank), Some(world)) if rank >= world => return Err(RunProblem::RankBeyondWorld { rank, world }),
        (Some(rank), Some(world)) => return Ok(CrewSize { processes: 1, single: Some((rank, world)) }),
        _ => {}
    }
    let hosted = flags.host.as_deref().map(slots).transpose()?.flatten();
    let counted = match flags.nproc_per_node.as_deref().or(hosted.as_deref()) {
        Some(value) => Some(processes(value, machine)?),
        None => None,
    };
    let included = devices::visible(flags, machine.cuda_visible_devices.as_deref(), 0)
        .ok()
        .flatten()
        .filter(|_| flags.include.is_some())
        .map(|devices| devices.len());
    let processes = match (counted, flags.world_size) {
        (Some(processes), Some(world)) if processes != world as usize => {
            let processes = u32::try_from(processes).unwrap_or(u32::MAX);
            return Err(RunProblem::WorldAgainstProcesses { world, processes });
        }
        (None, Some(world)) => world as usize,
        (Some(processes), _) => processes,
        (None, None) => included.or(seat.and_then(|seat| seat.gpus_on_node).map(|gpus| gpus as usize)).unwrap_or(1),
    };
    if processes == 0 {
        return Err(RunProblem::BadProcessCount { value: "0".to_owned() });
    }
    if processes > MOST_PROCESSES {
        return Err(RunProblem::TooManyProcesses { value: processes, most: MOST_PROCESSES });
    }
    Ok(CrewSize { processes: u32::try_from(processes).unwrap_or(1), single: None })
}

/// mpirun's `localhost:4`.
fn slots(host: &str) -> Result<Option<String>, RunProblem> {
    let (name, slots) = host.split_once(':').map_or((host, None), |(name, slots)| (name, Some(slots.to_owned())));
    if devices::is_this_machine(name) { Ok(slots) } else { Err(RunProblem::UnknownHost { value: name.to_owned() }) }
}

fn processes(value: &str, machine: &Machine) -> Result<usize, RunProblem> {
    let gpus = || (machine.count_gpus)(machine.cuda_visible_devices.as_deref());
    match value {
        "cpu" => Ok(machine.cpus.len()),
        "gpu" | "cuda" => Some(gpus()).filter(|count| *count > 0).ok_or(RunProblem::NoGpu),
        "auto" => Ok(Some(gpus()).filter(|count| *count > 0).unwrap_or(machine.cpus.len())),
        number => number
            .parse::<usize>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| RunProblem::BadProcessCount { value: value.to_owned() }),
    }
}

fn places(flags: &RunFlags, machine: &Machine, crew: &CrewSize) -> Vec<RankPlace> {
    let place = |rank: u32, local_rank: u32, world_size: u32| RankPlace {
        rank,
        local_rank,
        world_size,
        local_world_size: crew.processes,
        node_rank: 0,
        node_count: 1,
        node_name: machine.host_name.clone(),
        role: flags.role.clone(),
        visible_local_rank: if flags.virtual_local_rank { 0 } else { local_rank },
    };
    match crew.single {
        Some((rank, world)) => vec![place(rank, 0, world)],
        None => (0..crew.processes).map(|rank| place(rank, rank, crew.processes)).collect(),
    }
}

/// `${local_rank}` in arguments is the rank's number, as torchrun has it.
fn argv_of(argv: &[OsString], flags: &RunFlags, place: &RankPlace) -> Vec<OsString> {
    let number = place.visible_local_rank.to_string();
    let filled = argv.iter().map(|word| match word.to_str() {
        Some(text) if text.contains("${local_rank}") => OsString::from(text.replace("${local_rank}", &number)),
        _ => word.clone(),
    });
    let script_at = argv.len() - flags.script.len();
    let legacy = flags.legacy_launch.then(|| OsString::from(format!("--local-rank={number}")));
    let mut words: Vec<OsString> = filled.collect();
    if let Some(legacy) = legacy {
        words.insert(script_at + 1, legacy);
    }
    words
}

fn shared_variables(
    flags: &RunFlags,
    machine: &Machine,
    omp: Option<&str>,
    argv: &[OsString],
) -> Result<Vec<(String, String)>, RunProblem> {
    let mut env = Vec::new();
    let python = argv.first().filter(|_| !flags.no_python).map(Path::new);
    if let Some(path) = python.and_then(|python| virtual_env::search_path(python, &machine.path)) {
        env.push((contract::PATH.to_owned(), path));
    }
    if let Some(threads) = omp {
        env.push((contract::OMP_NUM_THREADS.to_owned(), threads.to_owned()));
    }
    if !machine.nccl_async_error_handling {
        env.push((contract::TORCH_NCCL_ASYNC_ERROR_HANDLING.to_owned(), "1".to_owned()));
    }
    env.push((contract::TORCHELASTIC_SIGNALS_TO_HANDLE.to_owned(), flags.signals_to_handle.clone()));
    if let Some(signal) = &flags.checkpoint_signal {
        env.push((contract::FERMI_CHECKPOINT_SIGNAL.to_owned(), signal.clone()));
    }
    for variable in &flags.variables {
        env.extend(assignment(variable)?);
    }
    Ok(env)
}

/// `NAME=VALUE` sets; `NAME` alone passes on what is there, which ranks inherit anyhow.
fn assignment(text: &str) -> Result<Option<(String, String)>, RunProblem> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(RunProblem::BadAssignment { value: text.to_owned() });
    }
    Ok(value.map(|value| (name.to_owned(), value.to_owned())))
}

fn visible_devices(flags: &RunFlags, machine: &Machine, crew: &CrewSize) -> Result<Option<Vec<String>>, RunProblem> {
    let inherited = machine.cuda_visible_devices.as_deref();
    let gpus = if flags.exclude.is_some() { (machine.count_gpus)(inherited) } else { 0 };
    let chosen = devices::visible(flags, inherited, gpus)?;
    if let Some(devices) = &chosen
        && devices.len() < crew.processes as usize
    {
        return Err(RunProblem::NotEnoughGpus { wanted: crew.processes as usize, found: devices.len() });
    }
    Ok(chosen.or_else(|| inherited.map(fermi_hardware::gpu::visible_devices).filter(|_| flags.virtual_local_rank)))
}

/// CUDA_VISIBLE_DEVICES is inherited, unless the user chose devices or wants one for each rank.
fn device_variables(flags: &RunFlags, place: &RankPlace, visible: Option<&[String]>) -> Vec<(String, String)> {
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

fn ladder(flags: &RunFlags, machine: &Machine) -> Result<StopLadder, RunProblem> {
    let given = flags.shutdown_timeout.as_deref().or(machine.shutdown_timeout.as_deref());
    let grace = given.map(|value| ms("--shutdown-timeout", value)).transpose()?;
    let checkpoint = match &flags.checkpoint_signal {
        Some(name) => Some(Rung {
            signal: parse_signal(name).ok_or_else(|| RunProblem::BadSignal { value: name.clone() })?,
            grace_ms: ms("--checkpoint-grace", &flags.checkpoint_grace)?,
        }),
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

fn signals(list: &str) -> Result<Vec<i32>, RunProblem> {
    list.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let catchable = |signal: &i32| ![libc::SIGKILL, libc::SIGSTOP].contains(signal);
            parse_signal(name).filter(catchable).ok_or_else(|| RunProblem::BadSignal { value: name.to_owned() })
        })
        .collect()
}

/// Where things go.
struct Folders {
    live: PathBuf,
    runs: Option<PathBuf>,
    run: Option<PathBuf>,
    /// The folder of the Slurm job, in which each of its nodes has one.
    job: Option<PathBuf>,
    output: PathBuf,
    checkpoint: PathBuf,
}

impl Folders {
    fn choose(flags: &RunFlags, machine: &Machine, seat: Option<&slurm::Seat>) -> Result<Self, RunProblem> {
        let log_dir = flags.log_dir.as_ref().map(|folder| machine.folder.join(folder));
        let nowhere = log_dir.as_deref() == Some(Path::new("/dev/null"));
        let state = machine.state_folder.clone();
        let mut live = state.clone().unwrap_or_else(|| std::env::temp_dir().join("fermi")).join("live");
        if let Some(seat) = seat {
            // The nodes of a cluster share a home; each looks after its own runs only.
            live.push(&seat.node_name);
        }
        let base = match (log_dir, seat, nowhere) {
            (_, _, true) => None,
            (Some(folder), _, false) => Some(folder),
            (None, Some(_), false) => Some(machine.folder.join(slurm::LOGS)),
            (None, None, false) => Some(state.ok_or(RunProblem::NoHome)?.join("runs")),
        };
        let job = seat.and_then(|seat| base.as_ref().map(|base| base.join(seat.label())));
        let name = match (&flags.rdzv_id, seat) {
            (_, Some(seat)) => format!("{}_{}", slurm::folder_name(seat), machine.run_id),
            (Some(id), None) if id != "none" && is_file_name(id) => format!("{id}_{}", machine.run_id),
            _ => machine.run_id.clone(),
        };
        let run = job.as_ref().or(base.as_ref()).map(|base| base.join(name));
        let runs = base.filter(|_| flags.log_dir.is_none() && seat.is_none());
        for folder in run.iter().chain([&live]) {
            unicode(folder)?;
        }
        // All nodes of a job write to one place, and find it again after a requeue.
        let output = match (&flags.output_dir, job.as_ref().or(run.as_ref())) {
            (Some(folder), _) => machine.folder.join(folder),
            (None, Some(run)) => run.join("outputs"),
            (None, None) => machine.folder.join("outputs"),
        };
        let checkpoint = flags
            .checkpoint_dir
            .as_ref()
            .map_or_else(|| output.join("checkpoints"), |folder| machine.folder.join(folder));
        Ok(Self { live, runs, run, job, output, checkpoint })
    }
}

fn is_file_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

fn unicode(path: &Path) -> Result<(), RunProblem> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(RunProblem::PathNotUnicode { path: path.display().to_string() }),
    }
}

/// Makes the folders of the run; done when it really starts, not for a dry run.
pub fn make_folders(plan: &Plan) -> Result<(), RunProblem> {
    let bundle = &plan.bundle;
    if let Some(run) = &bundle.run_folder {
        let parent = run.parent().unwrap_or(run);
        if parent.is_file() {
            return Err(RunProblem::LogFolderIsFile { path: parent.display().to_string() });
        }
    }
    // Who wants no logs gets no folder for outputs either, unless one was named.
    let outputs = Some(&bundle.checkpoint_dir).filter(|_| bundle.run_folder.is_some());
    let not_writable = |path: &Path, error: std::io::Error| RunProblem::FolderNotWritable {
        path: path.display().to_string(),
        error: error.to_string(),
    };
    for folder in bundle.run_folder.iter().chain(outputs) {
        fs::create_dir_all(folder).map_err(|error| not_writable(folder, error))?;
    }
    let late = bundle.late.files.iter().map(|(path, _)| path);
    for path in plan.files.iter().map(|(path, _)| path).chain(late) {
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|error| not_writable(folder, error))?;
    }
    for (path, text) in &plan.files {
        fs::write(path, text).map_err(|error| not_writable(path, error))?;
    }
    Ok(())
}

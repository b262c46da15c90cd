//! `--mode slurm`: Slurm has started this process on its node and says by variables which part of the run it is.

use std::collections::BTreeMap;
use std::fs;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::process::Command;

use fermi_attempt::bundle::{Gathering, MasterPort, Meeting, RankNumbering};
use fermi_domain::contract::RankPosition;
use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::SlurmProblem;
use fermi_domain::slurm::position::{self, Tasks};
use fermi_domain::slurm::script::LAUNCHER_FILE;
use fermi_process::warden::FOR_RANKS;
use nix::sys::signal::SigSet;

use super::flags::RunFlags;
use super::gathering;

pub use fermi_domain::slurm::SlurmPosition;

/// Where jobs keep their runs, below the folder in which they were submitted: a disk that all nodes see.
pub const LOGS: &str = "fermi-logs";

/// What a run inside a job has beyond others.
#[derive(Debug)]
pub struct InSlurm {
    pub job_folder: Option<PathBuf>,
    pub coordinates: bool,
}

pub fn is_create(flags: &RunFlags) -> bool {
    flags.mode.as_deref().is_some_and(|mode| mode.replace('_', "-") == "create-slurm")
}

/// What Slurm said to this process. Names and values of Slurm's are plain text; anything else is not its.
pub fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("SLURM"))
        .collect()
}

/// Whether `srun` has started several of these for one step, and no flag says that each is on its own or how they meet.
pub fn is_one_of_several(flags: &RunFlags, variables: &BTreeMap<String, String>) -> bool {
    let number = |name: &str| variables.get(name).and_then(|value| value.trim().parse::<u64>().ok());
    let is_user_step = number("SLURM_STEP_ID").is_some_and(|step| step < position::SPECIAL_STEPS);
    let tasks = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
    let says_otherwise = flags.standalone
        || flags.nnodes != "1:1"
        || flags.node_rank.is_some()
        || flags.rdzv_endpoint.as_deref().is_some_and(|endpoint| !endpoint.is_empty())
        || flags.rank.is_some()
        || flags.world_size.is_some();
    is_user_step && variables.contains_key("SLURM_PROCID") && tasks.is_some_and(|tasks| tasks > 1) && !says_otherwise
}

/// What is said where the run follows Slurm though no flag asks for it.
pub fn joined(position: &SlurmPosition) -> Text {
    let job = position.label();
    let count = match position.tasks {
        Tasks::LauncherPerNode => position.node_count(),
        Tasks::TaskPerRank { world_size, .. } => world_size,
    };
    Text::new(
        format!("Slurm 作业 {job} 的 {count} 个任务作为一次训练启动（--mode slurm）；各自独立请加 --standalone"),
        format!(
            "the {count} tasks of the Slurm job {job} start as one training (--mode slurm); add --standalone to run each by itself"
        ),
    )
}

/// Finds this process's position, and refuses what contradicts it.
pub fn position(flags: &RunFlags, variables: &BTreeMap<String, String>) -> Result<SlurmPosition, SlurmProblem> {
    let given = [
        ("--node-rank", flags.node_rank.is_some()),
        ("--rdzv-endpoint", flags.rdzv_endpoint.as_deref().is_some_and(|endpoint| !endpoint.is_empty())),
        ("--rank", flags.rank.is_some()),
        ("--world-size", flags.world_size.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(SlurmProblem::SlurmDecides { flag });
    }
    let position = position::from_variables(|name| variables.get(name).cloned())?;
    let nodes = position.node_count();
    let asked = flags.nnodes.as_str();
    if asked != "1:1" && asked.parse() != Ok(nodes) {
        return Err(SlurmProblem::NodesAgainstSlurm { asked: asked.to_owned(), nodes });
    }
    match (&position.tasks, flags.nproc_per_node.as_deref()) {
        (Tasks::TaskPerRank { local_world_size, .. }, Some(value)) if value != "1" => {
            Err(SlurmProblem::ProcessesPerTask { value: value.to_owned(), tasks: *local_world_size })
        }
        _ => Ok(position),
    }
}

/// How the tasks of the step come together: one alone not at all; else the first one waits for the others.
pub fn meeting(
    flags: &RunFlags,
    position: &SlurmPosition,
    address_of: fn(&str) -> String,
) -> Result<Meeting, RunProblem> {
    let named = gathering::named_port(flags)?;
    let (members, number) = match position.tasks {
        Tasks::LauncherPerNode => (position.node_count(), position.node_rank),
        Tasks::TaskPerRank { rank, world_size, .. } => (world_size, rank),
    };
    if members == 1 {
        let port = named.map_or(MasterPort::Any, MasterPort::Exactly);
        let address = gathering::master_addr(flags)?;
        return Ok(Meeting { gathering: Gathering::alone(), address, port, numbering: rank_numbering(position) });
    }
    if flags.ranks_filter.is_some() {
        return Err(RunProblem::RanksFilterOnSeveralNodes);
    }
    let address = match position.hosts.first() {
        Some(first) if flags.master_addr.is_none() && position.hosts.len() > 1 => address_of(first),
        _ => gathering::master_addr(flags)?,
    };
    let port = named.unwrap_or_else(|| position.port());
    let gathering = Gathering {
        nodes: members,
        least_nodes: members,
        node_rank: Some(number),
        coordinates: number == 0,
        run: flags.rdzv_id.clone().filter(|id| id != "none").unwrap_or_else(|| position.run()),
        secret: flags.rdzv_secret.clone().unwrap_or_default(),
        ..Gathering::alone()
    };
    let port = if number == 0 { MasterPort::Exactly(port) } else { MasterPort::Elsewhere(port) };
    Ok(Meeting { gathering, address, port, numbering: rank_numbering(position) })
}

/// The tasks on this node, where each of them is a rank.
pub fn tasks_here(position: &SlurmPosition) -> Option<u32> {
    match position.tasks {
        Tasks::LauncherPerNode => None,
        Tasks::TaskPerRank { local_world_size, .. } => Some(local_world_size),
    }
}

/// Who says where the ranks are.
fn rank_numbering(position: &SlurmPosition) -> RankNumbering {
    match position.tasks {
        Tasks::LauncherPerNode => RankNumbering::Assigned,
        Tasks::TaskPerRank { .. } => RankNumbering::Known,
    }
}

/// The ranks that this process starts. A launcher learns the first rank's number from the coordinator.
pub fn places(flags: &RunFlags, position: &SlurmPosition, processes: u32) -> Vec<RankPosition> {
    let place = |rank: u32, local_rank: u32, world_size: u32| RankPosition {
        rank,
        local_rank,
        world_size,
        local_world_size: processes,
        node_rank: position.node_rank,
        node_count: position.node_count(),
        node_name: position.node_name.clone(),
        role: flags.role.clone(),
        visible_local_rank: if flags.virtual_local_rank { 0 } else { local_rank },
    };
    match position.tasks {
        Tasks::LauncherPerNode => (0..processes).map(|rank| place(rank, rank, processes)).collect(),
        Tasks::TaskPerRank { rank, world_size, local_rank, .. } => vec![place(rank, local_rank, world_size)],
    }
}

/// The folder of this process among those of its job.
pub fn folder_name(position: &SlurmPosition) -> String {
    match position.tasks {
        Tasks::LauncherPerNode => position.node_name.clone(),
        Tasks::TaskPerRank { rank, .. } => format!("{}-rank{rank}", position.node_name),
    }
}

/// A name that every node resolves is best. Where node names are no host names, Slurm itself knows the address; without
/// `scontrol` the name stays, and who cannot resolve it says so.
pub fn address_of(node: &str) -> String {
    if (node, 0).to_socket_addrs().is_ok() {
        return node.to_owned();
    }
    let asked = Command::new("scontrol").args(["-o", "show", "node", node]).output().ok();
    let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let address = text.split_whitespace().find_map(|word| word.strip_prefix("NodeAddr="));
    address.filter(|address| (*address, 0).to_socket_addrs().is_ok()).unwrap_or(node).to_owned()
}

/// The first launcher's number in the job's folder, by which the batch script stops the run before the time limit. Taken
/// away at the end.
#[derive(Debug)]
pub struct LauncherNote {
    path: Option<PathBuf>,
}

impl LauncherNote {
    pub fn leave(slurm: &InSlurm, handled: &[i32]) -> Self {
        outlive_signals_for_ranks(handled);
        let folder = slurm.job_folder.as_ref().filter(|_| slurm.coordinates);
        let path = folder.map(|folder| folder.join(LAUNCHER_FILE));
        if let (Some(folder), Some(path)) = (folder, &path) {
            // Without the note the batch script signals the step as a whole.
            let _ = fs::create_dir_all(folder);
            let _ = fs::write(path, format!("{}\n", std::process::id()));
        }
        Self { path }
    }
}

impl Drop for LauncherNote {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Slurm sends a signal to every process of a step. One that ranks may handle must not end their launcher.
fn outlive_signals_for_ranks(handled: &[i32]) {
    let mask: SigSet = FOR_RANKS.into_iter().filter(|signal| !handled.contains(&(*signal as i32))).collect();
    // Were it to fail, such a signal would end the run, as it would have without.
    let _ = mask.thread_block();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seated(options: &[&str], tasks: &str) -> Result<SlurmPosition, SlurmProblem> {
        let variables = [
            ("SLURM_JOB_ID", "10"),
            ("SLURM_JOB_NODELIST", "n[1-2]"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NODELIST", "n[1-2]"),
            ("SLURM_STEP_TASKS_PER_NODE", tasks),
            ("SLURMD_NODENAME", "n2"),
            ("SLURM_NODEID", "1"),
            ("SLURM_PROCID", "3"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_RESTART_COUNT", "1"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        position(&RunFlags::parse_for_test(options), &variables)
    }

    fn met(options: &[&str], tasks: &str) -> Meeting {
        let position = seated(options, tasks).unwrap();
        meeting(&RunFlags::parse_for_test(options), &position, |host| format!("{host}.lan")).unwrap()
    }

    #[test]
    fn launchers_meet_by_node_and_tasks_by_rank() {
        let launcher = met(&[], "1(x2)");
        assert_eq!((launcher.gathering.nodes, launcher.gathering.node_rank), (2, Some(1)));
        assert_eq!((launcher.address.as_str(), launcher.port), ("n1.lan", MasterPort::Elsewhere(29_570)));
        assert_eq!(launcher.gathering.run, "slurm-10.0-1");
        let task = met(&[], "2(x2)");
        assert_eq!((task.gathering.nodes, task.gathering.node_rank, task.gathering.coordinates), (4, Some(3), false));
    }

    #[test]
    fn what_the_user_names_wins() {
        let named = met(&["--master-addr", "10.0.0.9", "--master-port", "4711"], "1(x2)");
        assert_eq!((named.address.as_str(), named.port), ("10.0.0.9", MasterPort::Elsewhere(4711)));
    }

    #[test]
    fn a_rank_of_slurms_keeps_its_place() {
        let position = seated(&[], "2(x2)").unwrap();
        assert_eq!(
            (tasks_here(&position), rank_numbering(&position), folder_name(&position).as_str()),
            (Some(2), RankNumbering::Known, "n2-rank3")
        );
        let places = places(&RunFlags::parse_for_test(&[]), &position, 2);
        let [place] = places.as_slice() else { panic!("one rank") };
        let RankPosition { rank, local_rank, world_size, local_world_size, node_rank, node_count, .. } = *place;
        assert_eq!((rank, local_rank, world_size, local_world_size, node_rank, node_count), (3, 1, 4, 2, 1, 2));
    }

    #[test]
    fn several_tasks_of_one_step_are_one_training_unless_a_flag_says_otherwise() {
        let step = |tasks: &str| -> BTreeMap<String, String> {
            [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", tasks)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        let is_one = |options: &[&str], variables: BTreeMap<String, String>| {
            is_one_of_several(&RunFlags::parse_for_test(options), &variables)
        };
        assert!(is_one(&["-n", "2"], step("2")));
        assert!(!is_one(&[], step("1")), "srun --pty bash");
        assert!(!is_one(&[], BTreeMap::new()));
        assert!(!is_one(&[], [("SLURM_JOB_ID".to_owned(), "7".to_owned())].into()), "a batch script");
        for options in [
            ["--standalone"].as_slice(),
            &["--nnodes", "2", "--node-rank", "0"],
            &["--nnodes=2", "--rdzv-endpoint", "n1"],
            &["--world-size", "4"],
            &["--rank", "1", "--world-size", "4"],
        ] {
            assert!(!is_one(options, step("2")), "{options:?}");
        }
    }

    #[test]
    fn flags_against_slurm_are_refused() {
        for (options, problem) in [
            (["--node-rank", "1"], SlurmProblem::SlurmDecides { flag: "--node-rank" }),
            (["--rdzv-endpoint", "n1"], SlurmProblem::SlurmDecides { flag: "--rdzv-endpoint" }),
            (["--nnodes", "4"], SlurmProblem::NodesAgainstSlurm { asked: "4".into(), nodes: 2 }),
        ] {
            assert_eq!(seated(&options, "1(x2)"), Err(problem));
        }
        assert_eq!(seated(&["-n", "2"], "2(x2)"), Err(SlurmProblem::ProcessesPerTask { value: "2".into(), tasks: 2 }));
        assert!(seated(&["-n", "2", "--nnodes", "2"], "1(x2)").is_ok());
    }
}

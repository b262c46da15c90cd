//! How many processes start here, and which ranks they are.

use fermi_domain::contract::RankPosition;
use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;

use super::devices;
use super::flags::RunFlags;
use super::machine::Machine;
use super::single_rank::SinglePosition;
use super::slurm::{self, SlurmPosition};

/// More processes than this on one machine is a slip of the finger.
const MOST_PROCESSES: usize = 4096;

/// The ranks of this node.
pub fn ranks(
    flags: &RunFlags,
    machine: &Machine,
    position: Option<&SlurmPosition>,
) -> Result<Vec<RankPosition>, RunProblem> {
    let size = size(flags, machine, position)?;
    Ok(match position {
        Some(position) => slurm::places(flags, position, size.processes),
        None => places(flags, machine, &size)?,
    })
}

/// mpirun's two counts as one: of so many on each node, `-np` says how many start in all.
pub fn counted(flags: RunFlags) -> Result<RunFlags, RunProblem> {
    let Some(most) = flags.per_node else { return Ok(flags) };
    let asked = flags.nproc_per_node.as_deref().map(|count| (count, count.parse::<u32>()));
    let processes = match asked {
        None => most,
        Some((_, Ok(count))) if count <= most => count,
        Some((count, _)) => {
            let (one, other) = (count.to_owned(), most.to_string());
            return Err(RunProblem::TwoProcessCounts { one, other });
        }
    };
    Ok(RunFlags { nproc_per_node: Some(processes.to_string()), ..flags })
}

/// How many processes, and whether this is one rank of a world that others start.
struct Size {
    processes: u32,
    single: Option<(u32, u32)>,
}

fn size(flags: &RunFlags, machine: &Machine, position: Option<&SlurmPosition>) -> Result<Size, RunProblem> {
    if let Some(processes) = position.and_then(slurm::tasks_here) {
        return Ok(Size { processes, single: None });
    }
    match (flags.rank, flags.world_size) {
        (Some(_), None) => return Err(RunProblem::RankWithoutWorld),
        (Some(rank), Some(world)) if rank >= world => return Err(RunProblem::RankBeyondWorld { rank, world }),
        (Some(rank), Some(world)) => return Ok(Size { processes: 1, single: Some((rank, world)) }),
        _ => {}
    }
    if let (Some(total), None) = (flags.total_processes, &flags.nproc_per_node) {
        return Ok(Size { processes: share(total, &flags.nnodes)?, single: None });
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
        (None, None) => {
            included.or(position.and_then(|position| position.gpus_on_node).map(|gpus| gpus as usize)).unwrap_or(1)
        }
    };
    if processes == 0 {
        return Err(RunProblem::BadProcessCount { value: "0".to_owned() });
    }
    if processes > MOST_PROCESSES {
        return Err(RunProblem::TooManyProcesses { value: processes, most: MOST_PROCESSES });
    }
    Ok(Size { processes: u32::try_from(processes).unwrap_or(1), single: None })
}

/// What one of so many machines gets of the processes of all.
fn share(total: u32, nodes: &str) -> Result<u32, RunProblem> {
    let count = match nodes {
        "1:1" => Some(1),
        fixed => fixed.parse::<u32>().ok(),
    };
    let each = count.filter(|count| *count > 0 && total.is_multiple_of(*count)).map(|count| total / count);
    each.filter(|each| *each as usize <= MOST_PROCESSES).ok_or_else(|| not_shared(total, nodes))
}

fn not_shared(total: u32, nodes: &str) -> RunProblem {
    RunProblem::Framework {
        text: Text::new(
            format!("--num-processes {total} 不能平均分给 {nodes} 台机器"),
            format!("--num-processes {total} cannot be shared out to {nodes} machines"),
        ),
        hint: Text::new(
            "它是所有机器的进程总数；每台的数目用 --nproc-per-node",
            "it counts the processes of all machines; give those of each with --nproc-per-node",
        ),
    }
}

/// mpirun's `localhost:4`, or `localhost,localhost`: how many ranks that is, where it says so.
fn slots(list: &str) -> Result<Option<String>, RunProblem> {
    let hosts: Vec<(&str, Option<&str>)> = list.split(',').map(|host| host_and_slots(host.trim())).collect();
    if let Some((name, _)) = hosts.iter().find(|(name, _)| !devices::is_this_machine(name)) {
        let is_file = hosts.len() == 1 && std::path::Path::new(list).is_file();
        return Err(match is_file {
            true => RunProblem::HostFile { path: list.to_owned() },
            false => RunProblem::UnknownHost { value: (*name).to_owned() },
        });
    }
    let counted = |(_, slots): &(&str, Option<&str>)| slots.map_or(Some(1), |slots| slots.parse::<usize>().ok());
    match hosts.as_slice() {
        [(_, slots)] => Ok(slots.map(str::to_owned)),
        several => {
            let sum = several.iter().try_fold(0_usize, |sum, host| sum.checked_add(counted(host)?));
            sum.map(|sum| Some(sum.to_string())).ok_or_else(|| RunProblem::BadProcessCount { value: list.to_owned() })
        }
    }
}

/// `gn6`, `gn6:2`, `::1` or `[::1]:2`.
fn host_and_slots(host: &str) -> (&str, Option<&str>) {
    if let Some((name, rest)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return (name, rest.strip_prefix(':'));
    }
    match host.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => (name, Some(slots)),
        _ => (host, None),
    }
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

fn places(flags: &RunFlags, machine: &Machine, size: &Size) -> Result<Vec<RankPosition>, RunProblem> {
    let place = |rank: u32, world_size: u32, at: SinglePosition| RankPosition {
        rank,
        local_rank: at.local_rank,
        world_size,
        local_world_size: at.local_world_size,
        node_rank: at.node_rank,
        node_count: at.node_count,
        node_name: machine.host_name.clone(),
        role: flags.role.clone(),
        visible_local_rank: if flags.virtual_local_rank { 0 } else { at.local_rank },
    };
    if let Some((rank, world)) = size.single {
        return Ok(vec![place(rank, world, single(machine, rank, world)?)]);
    }
    let processes = size.processes;
    let at = |rank| SinglePosition { local_rank: rank, local_world_size: processes, node_rank: 0, node_count: 1 };
    Ok((0..processes).map(|rank| place(rank, processes, at(rank))).collect())
}

/// Where a rank that is started alone stands; the GPUs are counted only where no variable says it.
fn single(machine: &Machine, rank: u32, world: u32) -> Result<SinglePosition, RunProblem> {
    let variables = &machine.rank_variables;
    let is_said = variables.local_rank.is_some() && variables.node_rank.is_some();
    let gpus = if is_said { 0 } else { (machine.count_gpus)(machine.cuda_visible_devices.as_deref()) };
    variables.position(rank, world, u32::try_from(gpus).unwrap_or(u32::MAX))
}

/// What is to be said of the place of a rank that is started alone.
pub fn single_note(flags: &RunFlags, machine: &Machine, places: &[RankPosition]) -> Option<Text> {
    let place = places.first().filter(|_| flags.rank.is_some())?;
    let at = SinglePosition {
        local_rank: place.local_rank,
        local_world_size: place.local_world_size,
        node_rank: place.node_rank,
        node_count: place.node_count,
    };
    machine.rank_variables.note(at, place.rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_so_many_on_each_node_as_many_start_as_are_asked_for() {
        let count = |options: &[&str]| {
            counted(RunFlags::parse_for_test(options)).map(|flags| flags.nproc_per_node.unwrap_or_default())
        };
        assert_eq!(count(&["--per-node", "2"]).as_deref(), Ok("2"));
        assert_eq!(count(&["--np", "1", "--per-node", "2"]).as_deref(), Ok("1"));
        assert_eq!(count(&["--np", "3"]).as_deref(), Ok("3"));
        for asked in ["4", "gpu"] {
            let problem = count(&["--np", asked, "--per-node", "2"]).unwrap_err();
            assert_eq!(problem, RunProblem::TwoProcessCounts { one: asked.to_owned(), other: "2".to_owned() });
        }
    }

    #[test]
    fn hosts_of_mpirun_are_this_machine_or_refused() {
        let count = |list: &str| slots(list).unwrap();
        assert_eq!(count("localhost"), None);
        assert_eq!(count("localhost:4").as_deref(), Some("4"));
        assert_eq!(count("localhost:2,127.0.0.1,[::1]:3").as_deref(), Some("6"));
        for list in ["worker-0:2", "worker-0:2,worker-1:2", "localhost:2,gn7:2", "gn7"] {
            assert!(matches!(slots(list), Err(RunProblem::UnknownHost { .. })), "{list}");
        }
        for list in ["localhost:2,localhost:x", "localhost:18446744073709551615,localhost:2"] {
            assert!(matches!(slots(list), Err(RunProblem::BadProcessCount { .. })), "{list}");
        }
    }
}

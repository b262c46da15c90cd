//! The CPUs this process may use and how they hang together.

use std::fs;

/// The CPUs that the scheduler lets us run on: a container or Slurm may give fewer than the machine has.
pub fn allowed() -> Vec<usize> {
    // SAFETY: the kernel fills in a plain bit field that we own.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
        }
        set
    };
    // SAFETY: the index stays inside the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// The CPUs of each NUMA node, those we may use only; one node where the kernel knows none.
pub fn numa_nodes(allowed: &[usize]) -> Vec<Vec<usize>> {
    let mut nodes: Vec<(usize, Vec<usize>)> = fs::read_dir("/sys/devices/system/node")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let list = fs::read_to_string(entry.path().join("cpulist")).ok()?;
            let cpus: Vec<usize> = parse_list(list.trim())?.into_iter().filter(|cpu| allowed.contains(cpu)).collect();
            (!cpus.is_empty()).then_some((number, cpus))
        })
        .collect();
    nodes.sort();
    if nodes.is_empty() { vec![allowed.to_vec()] } else { nodes.into_iter().map(|(_, cpus)| cpus).collect() }
}

/// Reads `0-3,8,10-11`.
pub fn parse_list(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            Some((first, last)) => cpus.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?),
            None => cpus.push(part.parse().ok()?),
        }
    }
    Some(cpus)
}

/// Splits CPUs into as many equal parts as there are ranks; ranks share when there are fewer CPUs than ranks.
pub fn share(cpus: &[usize], parts: usize) -> Vec<Vec<usize>> {
    if cpus.is_empty() || parts == 0 {
        return vec![Vec::new(); parts];
    }
    if cpus.len() < parts {
        return (0..parts).map(|part| vec![cpus[part % cpus.len()]]).collect();
    }
    let each = cpus.len() / parts;
    (0..parts).map(|part| cpus[part * each..(part + 1) * each].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_list("x"), None);
    }

    #[test]
    fn cpus_are_shared_out_evenly() {
        assert_eq!(share(&[0, 1, 2, 3, 4], 2), [vec![0, 1], vec![2, 3]]);
        assert_eq!(share(&[4, 5], 3), [vec![4], vec![5], vec![4]]);
        assert_eq!(share(&[], 2), [Vec::<usize>::new(), Vec::new()]);
    }

    #[test]
    fn this_process_may_run_somewhere() {
        let allowed = allowed();
        assert!(!allowed.is_empty());
        assert_eq!(numa_nodes(&allowed).concat().len(), allowed.len());
    }
}

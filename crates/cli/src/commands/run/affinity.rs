//! Which CPUs a rank runs on.

use fermi_domain::messages::run::RunProblem;
use fermi_hardware::cpu;

use super::flags::RunFlags;

/// The CPUs of each local rank, or none when ranks may run anywhere.
pub fn bind(flags: &RunFlags, ranks: usize, allowed: &[usize]) -> Result<Option<Vec<Vec<usize>>>, RunProblem> {
    let cpus = match &flags.bind_core_list {
        Some(list) => named(list, allowed)?,
        None => allowed.to_vec(),
    };
    Ok(match flags.cpu_bind.as_str() {
        "cores" => Some(cpu::share(&cpus, ranks)),
        "numa" => {
            let nodes = cpu::numa_nodes(&cpus);
            Some((0..ranks).map(|rank| nodes[rank * nodes.len() / ranks].clone()).collect())
        }
        _ if flags.bind_core_list.is_some() => Some(cpu::share(&cpus, ranks)),
        _ => None,
    })
}

fn named(list: &str, allowed: &[usize]) -> Result<Vec<usize>, RunProblem> {
    let problem = || RunProblem::BadCpuList { value: list.to_owned() };
    let cpus = cpu::parse_list(list).filter(|cpus| !cpus.is_empty()).ok_or_else(problem)?;
    if cpus.iter().all(|cpu| allowed.contains(cpu)) { Ok(cpus) } else { Err(problem()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(options: &[&str], ranks: usize) -> Result<Option<Vec<Vec<usize>>>, RunProblem> {
        bind(&RunFlags::parse_for_test(options), ranks, &[0, 1, 2, 3])
    }

    #[test]
    fn ranks_run_anywhere_unless_asked() {
        assert_eq!(bound(&[], 2), Ok(None));
    }

    #[test]
    fn cores_are_shared_out() {
        assert_eq!(bound(&["--cpu-bind", "cores"], 2), Ok(Some(vec![vec![0, 1], vec![2, 3]])));
        assert_eq!(bound(&["--bind-core-list", "2-3"], 2), Ok(Some(vec![vec![2], vec![3]])));
    }

    #[test]
    fn cpus_that_are_not_ours_are_refused() {
        assert!(bound(&["--bind-core-list", "0-9"], 2).is_err());
        assert!(bound(&["--bind-core-list", "x"], 2).is_err());
    }
}

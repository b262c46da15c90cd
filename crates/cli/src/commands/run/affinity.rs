//! Which CPUs a rank runs on.

use fermi_domain::language::Text;
use fermi_domain::messages::run::RunProblem;
use fermi_hardware::cpu;

use super::flags::RunFlags;
use super::machine::Machine;

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

/// What binding to NUMA nodes does here, where that may not be what was meant.
pub fn note(flags: &RunFlags, machine: &Machine) -> Option<Text> {
    if flags.cpu_bind != "numa" {
        return None;
    }
    let nodes = cpu::numa_nodes(&machine.cpus).len();
    let gpus = if nodes > 1 { (machine.count_gpus)(machine.cuda_visible_devices.as_deref()) } else { 0 };
    told(nodes, gpus)
}

fn told(nodes: usize, gpus: usize) -> Option<Text> {
    match (nodes, gpus) {
        (0 | 1, _) => Some(Text::new(
            "绑定 NUMA 节点没有作用：本机只有一个 NUMA 节点",
            "binding to NUMA nodes has no effect: this machine has one",
        )),
        (_, 0) => Some(Text::new(
            format!("没有 GPU：各 rank 按编号依次绑定到 {nodes} 个 NUMA 节点"),
            format!("there is no GPU: ranks are bound to the {nodes} NUMA nodes in turn, by their numbers"),
        )),
        _ => None,
    }
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
    fn binding_that_does_nothing_or_goes_by_numbers_is_said() {
        assert!(told(1, 8).unwrap().en.contains("has no effect"));
        assert!(told(2, 0).unwrap().en.contains("bound to the 2 NUMA nodes in turn"));
        assert_eq!(told(2, 8), None);
    }

    #[test]
    fn cpus_that_are_not_ours_are_refused() {
        assert!(bound(&["--bind-core-list", "0-9"], 2).is_err());
        assert!(bound(&["--bind-core-list", "x"], 2).is_err());
    }
}

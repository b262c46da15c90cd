//! Machines that train together, seen as one cluster.

use crate::catalogue::{Catalogue, Gpu};
use crate::job::Cluster;
use crate::network::Network;

/// Machines of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nodes {
    pub count: u64,
    pub gpus_per_node: u64,
    pub gpu: Gpu,
}

/// One machine's GPUs as its driver reports them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Such as `NVIDIA A100-SXM4-80GB`.
    pub gpu: String,
    pub gpus: u64,
    pub memory_gib: Option<f64>,
    /// Memory of its processors.
    pub host_gib: Option<f64>,
}

impl Cluster {
    /// Lock-step training runs at the pace of the slowest GPU, in the memory of the smallest and with the fewest GPUs
    /// per node; the network is the one that usually comes with such GPUs. None where there is no GPU.
    pub fn of(nodes: &[Nodes]) -> Option<Self> {
        let gpu = nodes.iter().map(|kind| kind.gpu).reduce(Gpu::slower)?;
        let gpus_per_node = nodes.iter().map(|kind| kind.gpus_per_node).min().filter(|least| *least > 0)?;
        let gpus =
            nodes.iter().try_fold(0u64, |sum, kind| sum.checked_add(kind.count.checked_mul(kind.gpus_per_node)?))?;
        let network = Network::of_gbps(gpu.usual_gbps * gpus_per_node as f64);
        (gpus > 0).then_some(Self { gpu, gpus, gpus_per_node, network, zones: None, host_gib: None })
    }

    /// The same from what drivers report; none where a machine has no GPU or one that the catalogue does not know.
    pub fn of_machines(machines: &[Machine], catalogue: &Catalogue) -> Option<Self> {
        // Hundreds of machines are mostly of one kind; each kind is looked up once.
        let mut kinds: Vec<(&Machine, u64)> = Vec::new();
        for machine in machines {
            match kinds.iter_mut().find(|(kind, _)| *kind == machine) {
                Some((_, count)) => *count += 1,
                None => kinds.push((machine, 1)),
            }
        }
        let known = kinds.into_iter().map(|(machine, count)| {
            let gpu = catalogue.gpu(&machine.gpu, machine.memory_gib).ok()?;
            Some(Nodes { count, gpus_per_node: machine.gpus, gpu })
        });
        // What is offloaded is spread evenly: the smallest memory decides.
        let host_gib = machines.iter().map(|machine| machine.host_gib).collect::<Option<Vec<f64>>>();
        let host_gib = host_gib.and_then(|all| all.into_iter().reduce(f64::min));
        Some(Self { host_gib, ..Self::of(&known.collect::<Option<Vec<_>>>()?)? })
    }
}

//! Memory of a node's processors: what is offloaded to it, and the buffers that this takes.

use super::states::{self, HeldParameters};
use super::{GIB, Stage, keeping};
use crate::job::Job;
use crate::sharding::Offload;

/// Bytes on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostMemory {
    pub parameters: f64,
    /// 32-bit gradients, for the update on the processors.
    pub gradients: f64,
    /// Master copies and moments.
    pub optimizer: f64,
    /// Pinned memory comes in powers of two, and staging needs more: DeepSpeed advises half as much again as the states.
    pub buffers: f64,
}

impl HostMemory {
    pub fn gib(&self) -> f64 {
        (self.parameters + self.gradients + self.optimizer + self.buffers) / GIB
    }
}

/// Parameters that DeepSpeed's NVMe offload updates at once, and keeps in memory.
const NVME_GROUP: f64 = 1e9;

/// What one node has to hold besides its GPUs; nothing without offload.
pub fn of(job: &Job) -> HostMemory {
    let keeping = keeping::of(job);
    let held = states::held(job, Stage::Only);
    let on_gpus = job.cluster.gpus_per_node.min(job.cluster.gpus) as f64;
    let trained = if keeping.optimizer_spread { held.trained_spread() } else { held.trained };
    let all = share(&held, keeping.parameter_spread);
    let (optimizer, gradients) = (keeping.optimizer * trained, 4.0 * trained);
    let states = match job.layout.offload {
        Offload::None => HostMemory::default(),
        Offload::OptimizerCpu => HostMemory { optimizer, gradients, ..HostMemory::default() },
        Offload::AllCpu => {
            HostMemory { optimizer, gradients, parameters: keeping.parameter * all, ..HostMemory::default() }
        }
        Offload::AllNvme => {
            let at_once = trained.min(NVME_GROUP);
            let buffers = (keeping.optimizer + 4.0) * at_once + keeping.parameter * all.min(NVME_GROUP);
            return HostMemory { buffers: buffers * on_gpus, ..HostMemory::default() };
        }
    };
    let buffers = 0.5 * (states.optimizer + states.gradients + states.parameters);
    HostMemory {
        parameters: states.parameters * on_gpus,
        gradients: states.gradients * on_gpus,
        optimizer: states.optimizer * on_gpus,
        buffers: buffers * on_gpus,
    }
}

fn share(held: &HeldParameters, is_spread: bool) -> f64 {
    if is_spread { held.all_spread() } else { held.all() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::job::{Cluster, Layout};
    use crate::machines::Nodes;
    use crate::search::Request;
    use crate::sharding::Sharding;

    /// GiB on each node of so many, with two GPUs each.
    fn needed(offload: Offload, nodes: u64) -> HostMemory {
        let catalogue = Catalogue::builtin();
        let gpu = catalogue.gpu("A100-80", None).unwrap();
        let cluster = Cluster::of(&[Nodes { count: nodes, gpus_per_node: 2, gpu }]).unwrap();
        let request = Request::usual(catalogue.model("llama2-7b").unwrap().architecture(), cluster);
        of(&request.job(Layout { sharding: Sharding::Zero3, offload, ..request.plain_layout() }))
    }

    #[test]
    fn deepspeeds_own_table_comes_out() {
        // Its ZeRO-3 estimators: 16 and 18 bytes per parameter over all nodes, times 1.5.
        let params = 6_738_415_616.0;
        for (offload, bytes) in [(Offload::None, 0.0), (Offload::OptimizerCpu, 16.0), (Offload::AllCpu, 18.0)] {
            for nodes in [1, 7] {
                let expected = bytes * 1.5 * params / nodes as f64 / GIB;
                let got = needed(offload, nodes).gib();
                assert!((got - expected).abs() <= 0.01 * expected + 1e-9, "{offload:?}, {nodes}: {got} for {expected}");
            }
        }
    }

    #[test]
    fn nvme_needs_buffers_alone_and_they_do_not_grow_with_the_model() {
        let on_drives = needed(Offload::AllNvme, 1);
        assert!(on_drives.optimizer == 0.0 && on_drives.parameters == 0.0);
        assert!(on_drives.gib() <= 2.0 * 18.0 * NVME_GROUP / GIB);
    }
}

//! Who has how many processes.

use fermi_domain::messages::setup_cluster::SetupProblem;

use super::SetupFlags;

/// The cluster as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub master_addr: String,
    pub master_port: u16,
    pub world_size: u32,
    pub backend: String,
    pub nodes: Vec<NodeRanks>,
}

/// One node's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRanks {
    pub rank: u32,
    pub first_rank: u32,
    pub processes: u32,
}

pub fn decide(flags: &SetupFlags) -> Result<Cluster, SetupProblem> {
    let SetupFlags { world_size, node_rank, .. } = *flags;
    let nodes = nodes(flags)?;
    if node_rank >= nodes {
        return Err(SetupProblem::NodeBeyond { node_rank, nodes });
    }
    if world_size < nodes {
        return Err(SetupProblem::FewerRanksThanNodes { world_size, nodes });
    }
    Ok(Cluster {
        master_addr: flags.master_addr.clone(),
        master_port: flags.master_port,
        world_size,
        backend: flags.backend.clone(),
        nodes: shares(world_size, nodes),
    })
}

fn nodes(flags: &SetupFlags) -> Result<u32, SetupProblem> {
    let SetupFlags { world_size, node_rank, .. } = *flags;
    match (flags.nnodes, flags.nproc_per_node) {
        (Some(nodes), None) => Ok(nodes),
        (Some(nodes), Some(per_node)) if u64::from(nodes) * u64::from(per_node) == u64::from(world_size) => Ok(nodes),
        (None, Some(per_node)) if world_size.is_multiple_of(per_node) => Ok(world_size / per_node),
        (nodes, Some(per_node)) => {
            let nodes = nodes.unwrap_or(world_size / per_node);
            Err(SetupProblem::Contradiction { world_size, nodes, per_node })
        }
        (None, None) if node_rank == 0 => Ok(1),
        (None, None) => Err(SetupProblem::NodesUnknown { node_rank }),
    }
}

/// As equal as can be; the first nodes take one more.
fn shares(world_size: u32, nodes: u32) -> Vec<NodeRanks> {
    let (each, more) = (world_size / nodes, world_size % nodes);
    let mut first_rank = 0;
    (0..nodes)
        .map(|rank| {
            let processes = each + u32::from(rank < more);
            let share = NodeRanks { rank, first_rank, processes };
            first_rank += processes;
            share
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn decided(line: &str) -> Result<Vec<(u32, u32)>, SetupProblem> {
        let command = SetupFlags::augment_args(clap::Command::new("setup"));
        let words = ["setup"].into_iter().chain(line.split_whitespace());
        let flags = SetupFlags::from_arg_matches(&command.get_matches_from(words)).unwrap();
        Ok(decide(&flags)?.nodes.iter().map(|node| (node.first_rank, node.processes)).collect())
    }

    #[test]
    fn processes_are_shared_out_and_ranks_follow() {
        assert_eq!(decided("--world-size 4").unwrap(), [(0, 4)]);
        assert_eq!(decided("--world-size 8 --nnodes 2 --node-rank 1").unwrap(), [(0, 4), (4, 4)]);
        assert_eq!(decided("--world-size 7 --nnodes 3").unwrap(), [(0, 3), (3, 2), (5, 2)]);
        assert_eq!(decided("--world-size 8 --nproc-per-node 4 --node-rank 1").unwrap().len(), 2);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(decided("--world-size 4 --node-rank 1"), Err(SetupProblem::NodesUnknown { node_rank: 1 }));
        let beyond = SetupProblem::NodeBeyond { node_rank: 2, nodes: 2 };
        assert_eq!(decided("--world-size 4 --nnodes 2 --node-rank 2"), Err(beyond));
        let few = SetupProblem::FewerRanksThanNodes { world_size: 1, nodes: 2 };
        assert_eq!(decided("--world-size 1 --nnodes 2"), Err(few));
        for line in ["--world-size 7 --nproc-per-node 4", "--world-size 8 --nnodes 3 --nproc-per-node 4"] {
            assert!(matches!(decided(line), Err(SetupProblem::Contradiction { .. })), "{line}");
        }
    }
}

//! What is printed: `cluster_config.yaml`, and environment and command of each node.

use fermi_domain::contract;
use fermi_domain::language::Language;

use super::layout::{Cluster, NodeRanks};

/// What a node's processes share; RANK and LOCAL_RANK are each process's own.
pub fn environment(cluster: &Cluster, node: &NodeRanks) -> Vec<(&'static str, String)> {
    vec![
        (contract::MASTER_ADDR, cluster.master_addr.clone()),
        (contract::MASTER_PORT, cluster.master_port.to_string()),
        (contract::WORLD_SIZE, cluster.world_size.to_string()),
        (contract::NODE_RANK, node.rank.to_string()),
        (contract::LOCAL_WORLD_SIZE, node.processes.to_string()),
    ]
}

pub fn command(cluster: &Cluster, node: &NodeRanks) -> String {
    let Cluster { master_addr, master_port, nodes, .. } = cluster;
    let NodeRanks { rank, processes, .. } = node;
    match nodes.len() {
        1 => format!(
            "fermi run --nproc-per-node {processes} --master-addr {master_addr} --master-port {master_port} train.py"
        ),
        several => format!(
            "fermi run --nnodes {several} --node-rank {rank} --nproc-per-node {processes} --master-addr {master_addr} --master-port {master_port} train.py"
        ),
    }
}

/// The file, with its comments.
pub fn yaml(cluster: &Cluster, node_rank: u32, language: Language) -> String {
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let mut yaml = format!(
        "# {}\n\
         master_addr: {}\nmaster_port: {}\nworld_size: {}\nnode_rank: {node_rank}\nnnodes: {}\nbackend: {}\nnodes:\n",
        match language {
            Language::ZhCn =>
                "由 fermi setup-cluster 写出。world_size 为进程总数；node_rank 是写出本文件的节点的编号。",
            Language::En =>
                "Written by fermi setup-cluster. world_size counts processes; node_rank is that of the node it was written on.",
        },
        text(&cluster.master_addr),
        cluster.master_port,
        cluster.world_size,
        cluster.nodes.len(),
        text(&cluster.backend),
    );
    for node in &cluster.nodes {
        yaml.push_str(&format!(
            "  - rank: {}\n    first_rank: {}\n    nproc_per_node: {}\n    command: {}\n",
            node.rank,
            node.first_rank,
            node.processes,
            text(&command(cluster, node)),
        ));
    }
    yaml
}

/// For people: each node's part, and which of them is this one.
pub fn instructions(cluster: &Cluster, node_rank: u32, language: Language) -> String {
    let mut out = String::new();
    for node in &cluster.nodes {
        let here = match (node.rank == node_rank, language) {
            (false, _) => "",
            (true, Language::ZhCn) => "（本机）",
            (true, Language::En) => " (this one)",
        };
        let last = node.first_rank + node.processes - 1;
        let title = match language {
            Language::ZhCn => format!("节点 {}{here}：rank {}–{last}", node.rank, node.first_rank),
            Language::En => format!("node {}{here}: ranks {}-{last}", node.rank, node.first_rank),
        };
        out.push_str(&format!("\n{title}\n"));
        for (name, value) in environment(cluster, node) {
            out.push_str(&format!("  export {name}={value}\n"));
        }
        out.push_str(&format!("  {}\n", command(cluster, node)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        let nodes = vec![
            NodeRanks { rank: 0, first_rank: 0, processes: 2 },
            NodeRanks { rank: 1, first_rank: 2, processes: 1 },
        ];
        Cluster { master_addr: "gn6".into(), master_port: 29_500, world_size: 3, backend: "nccl".into(), nodes }
    }

    #[test]
    fn the_file() {
        insta::assert_snapshot!(yaml(&cluster(), 1, Language::En), @r#"
        # Written by fermi setup-cluster. world_size counts processes; node_rank is that of the node it was written on.
        master_addr: "gn6"
        master_port: 29500
        world_size: 3
        node_rank: 1
        nnodes: 2
        backend: "nccl"
        nodes:
          - rank: 0
            first_rank: 0
            nproc_per_node: 2
            command: "fermi run --nnodes 2 --node-rank 0 --nproc-per-node 2 --master-addr gn6 --master-port 29500 train.py"
          - rank: 1
            first_rank: 2
            nproc_per_node: 1
            command: "fermi run --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr gn6 --master-port 29500 train.py"
        "#);
    }

    #[test]
    fn the_instructions() {
        insta::assert_snapshot!(instructions(&cluster(), 1, Language::En).trim_start(), @r"
        node 0: ranks 0-1
          export MASTER_ADDR=gn6
          export MASTER_PORT=29500
          export WORLD_SIZE=3
          export NODE_RANK=0
          export LOCAL_WORLD_SIZE=2
          fermi run --nnodes 2 --node-rank 0 --nproc-per-node 2 --master-addr gn6 --master-port 29500 train.py

        node 1 (this one): ranks 2-2
          export MASTER_ADDR=gn6
          export MASTER_PORT=29500
          export WORLD_SIZE=3
          export NODE_RANK=1
          export LOCAL_WORLD_SIZE=1
          fermi run --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr gn6 --master-port 29500 train.py
        ");
    }
}

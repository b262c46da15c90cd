//! What `fermi setup-cluster` refuses and finds.

use crate::language::{Explained, Hint, Text};

/// A reason not to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupProblem {
    NodeBeyond { node_rank: u32, nodes: u32 },
    NodesUnknown { node_rank: u32 },
    FewerRanksThanNodes { world_size: u32, nodes: u32 },
    Contradiction { world_size: u32, nodes: u32, per_node: u32 },
    NotWritable { path: String, error: Text },
}

impl SetupProblem {
    /// The sentence, and beside it what to do.
    fn told(&self) -> (Text, Hint) {
        match self {
            Self::NodeBeyond { node_rank, nodes } => (
                Text::new(
                    format!("--node-rank {node_rank} 超出范围：共 {nodes} 个节点，从 0 开始"),
                    format!("--node-rank {node_rank} does not exist: there are {nodes} nodes, counted from 0"),
                ),
                Hint::new(
                    "--world-size 是全部进程数，节点数用 --nnodes",
                    "--world-size counts processes; nodes are --nnodes",
                ),
            ),
            Self::NodesUnknown { node_rank } => (
                Text::new(
                    format!("--node-rank {node_rank} 说明不止一个节点，但不知道共有几个"),
                    format!("--node-rank {node_rank} means several nodes, but not how many"),
                ),
                Hint::new("加上 --nnodes N 或 --nproc-per-node N", "add --nnodes N, or --nproc-per-node N"),
            ),
            Self::FewerRanksThanNodes { world_size, nodes } => (
                Text::new(
                    format!("{nodes} 个节点至少需要 {nodes} 个进程，而 --world-size 是 {world_size}"),
                    format!("{nodes} nodes need at least {nodes} processes, but --world-size is {world_size}"),
                ),
                Hint::new("减少 --nnodes", "use fewer --nnodes"),
            ),
            Self::Contradiction { world_size, nodes, per_node } => (
                Text::new(
                    format!("{nodes} 个节点 × 每节点 {per_node} 个进程不等于 --world-size {world_size}"),
                    format!("{nodes} nodes with {per_node} processes each are not --world-size {world_size}"),
                ),
                Hint::new("去掉其中一个", "leave one of them out"),
            ),
            Self::NotWritable { path, error } => (
                Text::new(format!("无法写入 {path}：{}", error.zh), format!("cannot write {path}: {}", error.en)),
                Hint::new("用 --out 指定另一个文件", "name another file with --out"),
            ),
        }
    }
}

impl Explained for SetupProblem {
    fn id(&self) -> &'static str {
        "setup_refused"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    Resolved { name: String, addresses: String },
    NotResolved { name: String, error: Text },
    IsHere { name: String },
    NotHere { name: String, addresses: String },
    PortFree { port: u16 },
    PortTaken { text: Text },
    MasterListens { address: String },
    MasterAnswers { address: String },
    MasterSilent { address: String, error: Text },
}

impl Finding {
    /// Whether a run could start as far as this goes.
    pub fn is_good(&self) -> bool {
        !matches!(
            self,
            Self::NotResolved { .. } | Self::NotHere { .. } | Self::PortTaken { .. } | Self::MasterSilent { .. }
        )
    }

    /// The name in `--json`.
    pub fn check(&self) -> &'static str {
        match self {
            Self::Resolved { .. } | Self::NotResolved { .. } => "name",
            Self::IsHere { .. } | Self::NotHere { .. } => "address",
            Self::PortFree { .. } | Self::PortTaken { .. } => "port",
            Self::MasterListens { .. } | Self::MasterAnswers { .. } | Self::MasterSilent { .. } => "master",
        }
    }

    pub fn text(&self) -> Text {
        match self {
            Self::Resolved { name, addresses } => {
                Text::new(format!("{name} 解析为 {addresses}"), format!("{name} is {addresses}"))
            }
            Self::NotResolved { name, error } => Text::new(
                format!("无法解析主机名 {name}：{}；改用 IP 地址，或写入 /etc/hosts", error.zh),
                format!(
                    "the host name {name} does not resolve: {}; use an IP address, or add it to /etc/hosts",
                    error.en
                ),
            ),
            Self::IsHere { name } => Text::new(format!("{name} 是本机"), format!("{name} is this machine")),
            Self::NotHere { name, addresses } => Text::new(
                format!("--node-rank 0 应在主节点上运行，而 {name}（{addresses}）不是本机"),
                format!("--node-rank 0 belongs on the master, but {name} ({addresses}) is not this machine"),
            ),
            Self::PortFree { port } => Text::new(format!("端口 {port} 空闲"), format!("port {port} is free")),
            Self::PortTaken { text } => text.followed_by(&Text::new(
                "用 --master-port 换一个端口，或先结束占用它的进程",
                "name another with --master-port, or end its holder first",
            )),
            Self::MasterListens { address } => {
                Text::new(format!("主节点 {address} 已在监听"), format!("the master listens at {address}"))
            }
            Self::MasterAnswers { address } => Text::new(
                format!("主节点 {address} 可达，尚未启动（连接被拒绝，说明网络和防火墙是通的）"),
                format!(
                    "the master is reachable at {address}, nothing is started there yet (it refuses, so the way is open)"
                ),
            ),
            Self::MasterSilent { address, error } => Text::new(
                format!("连接不到主节点 {address}：{}；检查地址、路由和防火墙（只需放行这一个端口）", error.zh),
                format!(
                    "the master does not answer at {address}: {}; check the address, the route and the firewall (this one port must pass)",
                    error.en
                ),
            ),
        }
    }
}

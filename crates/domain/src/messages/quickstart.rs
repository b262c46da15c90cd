//! What `fermi quickstart` says: its menu, its questions, and what it explains of the commands it builds.

use crate::language::{Explained, Hint, Text};

/// The situations of the menu, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    Single,
    Several,
    Ssh,
    Slurm,
    Test,
    /// What to do about the usual troubles; builds no command.
    Trouble,
}

impl Scenario {
    pub const ALL: [Self; 6] = [Self::Single, Self::Several, Self::Ssh, Self::Slurm, Self::Test, Self::Trouble];

    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Several => "several",
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
            Self::Test => "test",
            Self::Trouble => "trouble",
        }
    }

    pub fn title(self) -> Text {
        match self {
            Self::Single => Text::new("单机多卡", "one machine, several GPUs"),
            Self::Several => {
                Text::new("多机多卡：在每台机器上执行同一条命令", "several machines, the same command on each")
            }
            Self::Ssh => Text::new("多机多卡：通过 ssh 一条命令启动全部", "several machines, all started over ssh"),
            Self::Slurm => Text::new("Slurm 集群：生成 sbatch 脚本", "a Slurm cluster: write an sbatch script"),
            Self::Trouble => {
                Text::new("故障排除：常见问题与办法", "troubleshooting: the usual troubles and what helps")
            }
            Self::Test => {
                Text::new("环境测试：用内置训练器跑几步", "test of this machine: a few steps of the built-in trainer")
            }
        }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Choice,
    Script,
    Gpus,
    Nodes,
    NodeRank,
    Master,
    Port,
    Hosts,
    RunIt,
}

impl Question {
    pub fn text(self) -> Text {
        match self {
            Self::Choice => Text::new("选择（q 退出）", "your choice (q to leave)"),
            Self::Script => Text::new("训练脚本", "training script"),
            Self::Gpus => {
                Text::new("每台机器的进程数（通常等于 GPU 数）", "processes on each machine (usually its GPUs)")
            }
            Self::Nodes => Text::new("机器数", "number of machines"),
            Self::NodeRank => Text::new("这台机器的编号（0 是主节点）", "number of this machine (0 is the master)"),
            Self::Master => Text::new("主节点地址（其他机器能访问的）", "the master's address, as the others see it"),
            Self::Port => Text::new("端口", "port"),
            Self::Hosts => Text::new(
                "主机列表，如 gn6:4,gn7:4（留空则用当前目录的 hostfile）",
                "hosts, such as gn6:4,gn7:4 (empty: the file hostfile in this folder)",
            ),
            Self::RunIt => Text::new("现在执行？[y/N]", "run it now? [y/N]"),
        }
    }
}

/// Other sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuickstartNews {
    Welcome,
    Command,
    OtherMachines,
    NotAChoice {
        given: String,
        most: usize,
    },
    NotANumber {
        given: String,
    },
    /// A job that asks Slurm for no GPU, since their number was not given.
    SlurmWithoutGpus {
        given: String,
    },
}

impl QuickstartNews {
    pub fn text(&self) -> Text {
        match self {
            Self::Welcome => Text::new("要做什么？", "what would you like to do?"),
            Self::Command => Text::new("命令", "the command"),
            Self::OtherMachines => Text::new("在其他机器上执行", "on the other machines"),
            Self::NotAChoice { given, most } => {
                Text::new(format!("“{given}” 不在 1 到 {most} 之间"), format!("'{given}' is not from 1 to {most}"))
            }
            Self::NotANumber { given } => {
                Text::new(format!("“{given}” 不是正整数"), format!("'{given}' is not a number from 1 up"))
            }
            Self::SlurmWithoutGpus { given } => Text::new(
                format!(
                    "这里看不到计算节点有几块 GPU，“{given}” 无法写入作业：作业不申请 GPU，每个节点启动一个 rank；要使用 GPU，加 --gpus-per-node N"
                ),
                format!(
                    "how many GPUs the cluster's nodes have cannot be seen here, so '{given}' cannot go into the job: it asks for none and starts one rank on each node; for GPUs add --gpus-per-node N"
                ),
            ),
        }
    }
}

/// A reason not to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuickstartProblem {
    NobodyToAsk,
    NotHere { scenario: Scenario },
}

impl QuickstartProblem {
    /// The sentence, and beside it what to do.
    fn told(&self) -> (Text, Hint) {
        match self {
            Self::NobodyToAsk => (
                Text::new("这里没有人可以提问：输入不是终端", "there is nobody to ask: the input is no terminal"),
                Hint::new(
                    "例如：fermi quickstart --scenario single --print",
                    "for example: fermi quickstart --scenario single --print",
                ),
            ),
            Self::NotHere { scenario } => (
                Text::new(
                    format!("这个版本还没有场景 {}", scenario.name()),
                    format!("this version does not have the scenario {} yet", scenario.name()),
                ),
                Hint::new("fermi quickstart --help 列出全部场景", "fermi quickstart --help lists them"),
            ),
        }
    }
}

impl Explained for QuickstartProblem {
    fn id(&self) -> &'static str {
        "quickstart_refused"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

/// A trouble that people have, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub what: Text,
    /// What to do, and after it the commands that do it.
    pub help: Text,
    pub commands: &'static [&'static str],
}

/// The usual troubles, the most frequent first.
pub fn troubles() -> [Trouble; 6] {
    let trouble = |what: (&'static str, &'static str), help: (&'static str, &'static str), commands| Trouble {
        what: Text::new(what.0, what.1),
        help: Text::new(help.0, help.1),
        commands,
    };
    [
        trouble(
            ("节点之间连不上", "machines do not reach each other"),
            (
                "检查网络与防火墙；只需放行主节点的一个端口",
                "look at network and firewall; one port of the first machine must pass",
            ),
            &["ping <IP>", "fermi setup-cluster --master-addr <IP> --master-port 29500 --world-size 2 --node-rank 1"],
        ),
        trouble(
            ("端口被占用", "the port is taken"),
            ("换一个端口，或先结束占用它的进程；Fermi 会说出是谁", "take another, or end its holder; Fermi names it"),
            &["ss -tlnp | grep 29500", "fermi run --master-port 29501 …"],
        ),
        trouble(
            ("显存不足", "not enough GPU memory"),
            (
                "减小批次、启用重计算或 ZeRO；JAX 降低 XLA_PYTHON_CLIENT_MEM_FRACTION",
                "a smaller batch, checkpointing or ZeRO; for JAX a lower XLA_PYTHON_CLIENT_MEM_FRACTION",
            ),
            &["fermi plan --model llama2-7b --gpus 8xA100-80G", "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.8"],
        ),
        trouble(
            ("启动后卡住", "it hangs after its start"),
            (
                "有 rank 没有加入：检查每台机器是否都已启动，延长等待，并让 Fermi 指出是哪个 rank",
                "a rank has not joined: see that all machines were started, wait longer, and let Fermi name the rank",
            ),
            &["fermi run --join-timeout 1800 --start-timeout 300 …"],
        ),
        trouble(
            ("NCCL 出错", "NCCL fails"),
            (
                "打开日志，再逐项关闭 P2P 与 InfiniBand 以找出原因",
                "switch its log on, then P2P and InfiniBand off in turn",
            ),
            &["fermi run -x NCCL_DEBUG=INFO …", "export NCCL_P2P_DISABLE=1", "export NCCL_IB_DISABLE=1"],
        ),
        trouble(
            ("不知道哪里出错", "no idea what is wrong"),
            (
                "先用一个进程运行，再看全部 rank 的输出与变量",
                "run one process first, then see output and variables of all ranks",
            ),
            &["fermi run -n 1 train.py", "fermi run -n 4 --tee 3 train.py", "fermi run -n 4 --dry-run train.py"],
        ),
    ]
}

/// Why a word stands in a command.
pub fn explanation(word: &str) -> Option<Text> {
    Some(match word {
        "--nproc-per-node" | "-n" => Text::new("这台机器上的进程数", "processes on this machine"),
        "--nnodes" => {
            Text::new("机器数；每台执行同一条命令，先后不限", "machines; start the same on each, in any order")
        }
        "--node-rank" => {
            Text::new("这台机器的编号，每台不同；0 上有 rank 0", "this machine's number, another on each; 0 has rank 0")
        }
        "--master-addr" => Text::new("0 号机器的地址", "address of machine 0"),
        "--master-port" => {
            Text::new("集合用的唯一端口，防火墙要放行", "the one port they meet at; the firewall must let it pass")
        }
        "--hosts" => Text::new("主机与各自的进程数", "the hosts, and how many processes each"),
        "launch-multi-node" => Text::new(
            "通过 ssh 在每台主机上启动 fermi run；Ctrl-C 停止全部",
            "starts fermi run on every host over ssh; Ctrl-C stops them all",
        ),
        "--gpus-per-node" => {
            Text::new("每个节点申请的 GPU 数，每块一个 rank", "GPUs on each node, with a rank for each")
        }
        "--mode" => Text::new(
            "写出 slurm_scripts/run_slurm.sh，之后用 sbatch 提交",
            "writes slurm_scripts/run_slurm.sh, for sbatch",
        ),
        "--no-python" => Text::new("运行程序本身，不经过 Python", "run the program itself, not Python"),
        "doctor" => Text::new("检查这台机器", "checks this machine"),
        _ => return None,
    })
}

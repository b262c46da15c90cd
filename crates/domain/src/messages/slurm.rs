//! What Fermi refuses to do with Slurm, and what it says of a job that it follows.

use crate::language::{Explained, Hint, Text};

/// A reason why nothing was started, written or submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlurmProblem {
    NotInSlurm,
    HetJob,
    NeedsSrun { nodes: u64 },
    MissingVariable { name: &'static str },
    BadNodeList { value: String },
    NodeCountDiffers { count: u64, hosts: usize },
    ArbitraryDistribution,
    SlurmDecides { flag: &'static str },
    NodesAgainstSlurm { asked: String, nodes: u32 },
    ProcessesPerTask { value: String, tasks: u32 },
    EditedScript { path: String },
    ScriptNotWritten { path: String, error: Text },
    BadTime { value: String },
    BadNumber { flag: &'static str, value: String },
    NoProgram { name: &'static str },
    Refused { program: &'static str, said: String },
    ArrayWithWait,
}

impl SlurmProblem {
    /// The sentence, and beside it what to do.
    fn told(&self) -> (Text, Hint) {
        let variables = || {
            Hint::new(
                "检查是否有脚本改动了 SLURM_ 变量，或容器没有传入它们；也可以去掉 --mode slurm，改用 --nnodes、--node-rank 与 --master-addr",
                "see whether a script changed the SLURM_ variables or a container does not pass them on; else leave --mode slurm out and use --nnodes, --node-rank and --master-addr",
            )
        };
        match self {
            Self::NotInSlurm => (
                Text::new(
                    "--mode slurm 需要在 Slurm 作业中运行：没有 SLURM_JOB_ID",
                    "--mode slurm works inside a Slurm job only: there is no SLURM_JOB_ID",
                ),
                Hint::new(
                    "用 srun fermi run --mode slurm … 启动，或用 fermi slurm submit 提交",
                    "start it with srun fermi run --mode slurm …, or submit it with fermi slurm submit",
                ),
            ),
            Self::HetJob => (
                Text::new("不支持 Slurm 异构作业（het job）", "heterogeneous Slurm jobs are not supported"),
                Hint::new(
                    "把各组件作为单独的作业提交，或去掉 #SBATCH hetjob",
                    "submit its parts as jobs of their own, or remove #SBATCH hetjob",
                ),
            ),
            Self::NeedsSrun { nodes } => (
                Text::new(
                    format!("作业有 {nodes} 个节点，但 fermi run 不是由 srun 在各节点上启动的"),
                    format!("the job has {nodes} node(s), but fermi run was not started on them by srun"),
                ),
                Hint::new(
                    "写成 srun --ntasks-per-node=1 --kill-on-bad-exit=1 fermi run --mode slurm …；fermi slurm script 会生成这样的脚本",
                    "write srun --ntasks-per-node=1 --kill-on-bad-exit=1 fermi run --mode slurm …; fermi slurm script makes such a file",
                ),
            ),
            Self::MissingVariable { name } => {
                (Text::new(format!("Slurm 没有给出 {name}"), format!("Slurm did not set {name}")), variables())
            }
            Self::BadNodeList { value } => (
                Text::new(format!("“{value}” 不是 Slurm 节点列表"), format!("'{value}' is no Slurm node list")),
                variables(),
            ),
            Self::NodeCountDiffers { count, hosts } => (
                Text::new(
                    format!("Slurm 给出 {count} 个节点，节点列表中却有 {hosts} 个"),
                    format!("Slurm speaks of {count} nodes, but its node list has {hosts}"),
                ),
                variables(),
            ),
            Self::ArbitraryDistribution => (
                Text::new(
                    "任务以 arbitrary 方式分布，无法得知 rank 0 在哪个节点",
                    "the tasks are distributed arbitrarily, so that nobody knows which node has rank 0",
                ),
                Hint::new(
                    "每节点只启动一个任务（--ntasks-per-node=1），或去掉 --distribution=arbitrary",
                    "start one task per node (--ntasks-per-node=1), or drop --distribution=arbitrary",
                ),
            ),
            Self::SlurmDecides { flag } => (
                Text::new(
                    format!("--mode slurm 时由 Slurm 决定，不能给 {flag}"),
                    format!("with --mode slurm, Slurm decides: {flag} cannot be given"),
                ),
                Hint::new(format!("去掉 {flag}"), format!("leave {flag} out")),
            ),
            Self::NodesAgainstSlurm { asked, nodes } => (
                Text::new(
                    format!("--nnodes {asked} 与 Slurm 的 {nodes} 个节点不一致"),
                    format!("--nnodes {asked} contradicts Slurm, which gave {nodes}"),
                ),
                Hint::new("去掉 --nnodes，或改 srun 的 --nodes", "leave --nnodes out, or change --nodes of srun"),
            ),
            Self::ProcessesPerTask { value, tasks } => (
                Text::new(
                    format!(
                        "srun 在本节点启动了 {tasks} 个任务，每个任务就是一个 rank，与 --nproc-per-node {value} 矛盾"
                    ),
                    format!(
                        "srun started {tasks} tasks on this node, each of them one rank, which contradicts --nproc-per-node {value}"
                    ),
                ),
                Hint::new(
                    "去掉 --nproc-per-node，或每节点只启动一个任务（--ntasks-per-node=1）",
                    "leave --nproc-per-node out, or start one task per node (--ntasks-per-node=1)",
                ),
            ),
            Self::EditedScript { path } => (
                Text::new(format!("{path} 已被修改，未覆盖"), format!("{path} was edited, so it was not overwritten")),
                Hint::new(
                    "用 fermi slurm script --force 覆盖，用 --output 写到别处，或直接 sbatch 提交这个文件",
                    "overwrite it with fermi slurm script --force, write elsewhere with --output, or submit this one with sbatch",
                ),
            ),
            Self::ScriptNotWritten { path, error } => (
                Text::new(format!("无法写入 {path}：{}", error.zh), format!("cannot write {path}: {}", error.en)),
                Hint::new("用 --output 指定可写的位置", "name a place you may write to with --output"),
            ),
            Self::BadTime { value } => (
                Text::new(
                    format!("“{value}” 不是 Slurm 的时间写法"),
                    format!("'{value}' is no time limit as Slurm writes it"),
                ),
                Hint::new(
                    "例如 90（分钟）、04:00:00 或 2-12:00:00",
                    "for example 90 (minutes), 04:00:00 or 2-12:00:00",
                ),
            ),
            Self::BadNumber { flag, value } => (
                Text::new(
                    format!("{flag} 需要正整数，而不是 “{value}”"),
                    format!("{flag} needs a number from 1 up, not '{value}'"),
                ),
                Hint::new("例如 4", "for example 4"),
            ),
            Self::NoProgram { name } => (
                Text::new(format!("PATH 中找不到 {name}"), format!("there is no {name} on the PATH")),
                Hint::new(
                    "在能提交作业的登录节点上运行，或加载 Slurm 模块（module load slurm）",
                    "run this where jobs are submitted, or load Slurm's module (module load slurm)",
                ),
            ),
            Self::Refused { program, said } => {
                (Text::new(format!("{program} 拒绝了：{said}"), format!("{program} refused: {said}")), refused(said))
            }
            Self::ArrayWithWait => (
                Text::new("--wait 只能跟随一个作业，不能跟随作业数组", "--wait follows one job, not an array"),
                Hint::new("去掉 --wait，用 squeue 查看", "leave --wait out and watch it with squeue"),
            ),
        }
    }
}

/// What helps against what a program of Slurm complains of.
fn refused(said: &str) -> Hint {
    let speaks_of = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if speaks_of(&["configuration source", "slurm.conf", "fetch_config"]) {
        return Hint::new(
            "本机没有 Slurm 集群的配置：在能提交作业的登录节点上运行，或用 SLURM_CONF 指向 slurm.conf",
            "this machine knows of no cluster: run this where jobs are submitted, or let SLURM_CONF name slurm.conf",
        );
    }
    if speaks_of(&["contact slurm controller", "connect failure"]) {
        return Hint::new(
            "集群的 slurmctld 没有回应：scontrol ping 显示它的状态",
            "the cluster's slurmctld does not answer: scontrol ping shows how it is",
        );
    }
    Hint::new(
        "检查分区、账户与资源（sinfo，sacctmgr show assoc user=$USER）",
        "check partition, account and resources (sinfo, sacctmgr show assoc user=$USER)",
    )
}

impl Explained for SlurmProblem {
    fn id(&self) -> &'static str {
        "slurm_refused"
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

/// What is said while a job is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlurmNews {
    Written {
        path: String,
    },
    /// The job asks for no GPU.
    WithoutGpus,
    Submitted {
        job: String,
        output: String,
    },
    Cancelling {
        job: String,
    },
    Left {
        job: String,
    },
    Requeued {
        job: String,
    },
    Ended {
        job: String,
        state: String,
        verdict: Option<Text>,
    },
    Unknown {
        job: String,
    },
}

impl SlurmNews {
    pub fn text(&self) -> Text {
        match self {
            Self::Written { path } => Text::new(format!("已写入 {path}"), format!("wrote {path}")),
            Self::WithoutGpus => Text::new(
                "作业没有申请 GPU，每个节点 1 个 rank；需要 GPU 请加 --gpus-per-node N",
                "the job asks for no GPU and starts one rank on each node; for GPUs add --gpus-per-node N",
            ),
            Self::Submitted { job, output } => Text::new(
                format!("作业 {job} 已提交 · 输出 {output}"),
                format!("job {job} submitted · output {output}"),
            ),
            Self::Cancelling { job } => Text::new(
                format!("正在取消作业 {job}；再按一次 Ctrl-C 直接离开"),
                format!("cancelling job {job}; Ctrl-C again leaves at once"),
            ),
            Self::Left { job } => Text::new(
                format!("已离开，作业 {job} 正在被取消；用 squeue -j {job} 查看"),
                format!("left while job {job} is being cancelled; see squeue -j {job}"),
            ),
            Self::Requeued { job } => Text::new(
                format!("作业 {job} 已重新排队，将从最新的检查点继续"),
                format!("job {job} is back in the queue and will continue from its newest checkpoint"),
            ),
            Self::Ended { job, state, verdict: None } => {
                Text::new(format!("作业 {job} 结束：{state}"), format!("job {job} ended: {state}"))
            }
            Self::Ended { job, state, verdict: Some(verdict) } => Text::new(
                format!("作业 {job} 结束：{state} · {}", verdict.zh),
                format!("job {job} ended: {state} · {}", verdict.en),
            ),
            Self::Unknown { job } => {
                Text::new(format!("Slurm 已不再知道作业 {job}"), format!("Slurm does not know job {job} any more"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::FrontEnd;

    #[test]
    fn what_slurm_complains_of_is_advised() {
        for (said, advice) in [
            (
                "resolve_ctls_from_dns_srv: res_nsearch error; fatal: Could not establish a configuration source",
                "SLURM_CONF",
            ),
            (
                "fatal: s_p_parse_file: unable to status file /etc/slurm/slurm.conf: No such file or directory",
                "SLURM_CONF",
            ),
            ("Batch job submission failed: Unable to contact slurm controller (connect failure)", "scontrol ping"),
            ("Batch job submission failed: Invalid account or account/partition combination specified", "sacctmgr"),
        ] {
            let problem = SlurmProblem::Refused { program: "sbatch", said: said.to_owned() };
            let hint = problem.hint().unwrap().spelled(FrontEnd::CommandLine);
            assert!(hint.en.contains(advice) && hint.zh.contains(advice), "{said}: {hint:?}");
        }
    }
}

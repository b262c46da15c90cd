//! The sentences of [`RunProblem`]. Only the command line says them, so they name its flags as they are.

use super::RunProblem;
use crate::language::{Explained, Hint, Text};

impl RunProblem {
    /// The sentence, and beside it what to do.
    pub(super) fn told(&self) -> (Text, Option<Hint>) {
        match self {
            Self::NoScript => advised(
                Text::new("没有指定要运行的脚本", "no script to run was given"),
                Hint::new(
                    "例如：fermi run --nproc-per-node 2 train.py",
                    "for example: fermi run --nproc-per-node 2 train.py",
                ),
            ),
            Self::UnknownOption { name, .. } if name == "-" => advised(
                Text::new("不从标准输入读取脚本", "a script is not read from standard input"),
                Hint::new("把它存成文件，再运行该文件", "save it in a file and run that"),
            ),
            Self::UnknownOption { name, near } => advised(
                Text::new(format!("没有参数 {name}"), format!("there is no option {name}")),
                match near {
                    Some(near) => Hint::new(format!("是不是 {near}？"), format!("did you mean {near}?")),
                    None => Hint::new(
                        "fermi run --help 列出全部参数；脚本自己的参数写在脚本名之后",
                        "fermi run --help lists all options; those of your script come after its name",
                    ),
                },
            ),
            Self::ScriptNotFound { path } => advised(
                Text::new(format!("找不到脚本 {path}"), format!("the script {path} does not exist")),
                Hint::new(
                    "检查路径；若是 Python 模块请加 -m，若是其他程序请加 --no-python",
                    "check the path; add -m for a Python module, --no-python for any other program",
                ),
            ),
            Self::ScriptIsFolder { path } => advised(
                Text::new(format!("{path} 是目录，不是脚本"), format!("{path} is a folder, not a script")),
                Hint::new("给出目录中的脚本，或用 -m 运行包", "name the script inside it, or run a package with -m"),
            ),
            Self::ScriptNotReadable { path, error } => advised(
                Text::new(
                    format!("无法读取脚本 {path}：{}", error.zh),
                    format!("cannot read the script {path}: {}", error.en),
                ),
                Hint::new("检查文件权限（ls -l）", "check the file's permissions (ls -l)"),
            ),
            Self::ScriptIsProgram { path } => advised(
                Text::new(
                    format!("{path} 是可执行程序，Python 无法运行它"),
                    format!("{path} is a compiled program, which Python cannot run"),
                ),
                Hint::new("加上 --no-python", "add --no-python"),
            ),
            Self::ProgramNotFound { name } if name.contains('/') => advised(
                Text::new(format!("程序 {name} 不存在"), format!("the program {name} does not exist")),
                Hint::new("检查路径", "check the path"),
            ),
            Self::ProgramNotFound { name } => advised(
                Text::new(format!("PATH 中找不到程序 {name}"), format!("there is no program {name} on the PATH")),
                Hint::new(
                    "检查名称，或给出完整路径；当前目录下的程序写作 ./name",
                    "check the name or give its path; a program in this folder is written ./name",
                ),
            ),
            Self::ProgramNotExecutable { path } => advised(
                Text::new(format!("{path} 没有可执行权限"), format!("{path} is not executable")),
                Hint::new(format!("chmod +x {path}"), format!("chmod +x {path}")),
            ),
            Self::PythonNotFound { tried } => advised(
                Text::new(
                    format!("找不到 Python 解释器（已尝试 {tried}）"),
                    format!("no Python interpreter found (tried {tried})"),
                ),
                Hint::new(
                    "激活虚拟环境，或用 PYTHON_EXEC 指定解释器；非 Python 程序请加 --no-python",
                    "activate your virtual environment, name an interpreter in PYTHON_EXEC, or add --no-python for another program",
                ),
            ),
            Self::ModuleWithoutPython => advised(
                Text::new("--module 与 --no-python 不能同时使用", "--module and --no-python contradict each other"),
                Hint::new("去掉其中一个", "drop one of the two"),
            ),
            Self::WarmWithoutHook => advised(
                Text::new("--warm on 依靠 --hook", "--warm on works through the hook"),
                Hint::new("去掉 --hook off，或去掉 --warm on", "drop --hook off or --warm on"),
            ),
            Self::WarmWithoutPython => advised(
                Text::new("--warm on 只用于 Python 的 rank", "--warm on is for ranks that are Python's"),
                Hint::new("去掉 --warm on，或不用 --no-python", "drop --warm on, or start without --no-python"),
            ),
            Self::RunPathWithoutFile { path } => advised(
                Text::new(
                    format!("--run-path 需要脚本的绝对路径，而不是 {path}"),
                    format!("--run-path needs the absolute path of a script, not {path}"),
                ),
                Hint::new("写成 /abs/path/script.py", "write it as /abs/path/script.py"),
            ),
            Self::BadProcessCount { value } => advised(
                Text::new(
                    format!("--nproc-per-node 不能是 “{value}”"),
                    format!("--nproc-per-node cannot be '{value}'"),
                ),
                Hint::new("用正整数、gpu、cpu 或 auto", "use a number from 1 up, gpu, cpu or auto"),
            ),
            Self::TooManyProcesses { value, most } => advised(
                Text::new(
                    format!("{value} 个进程超过了单机上限 {most}"),
                    format!("{value} processes are more than the {most} that one machine may have"),
                ),
                Hint::new("减少进程数", "use fewer processes"),
            ),
            Self::TwoProcessCounts { one, other } => advised(
                Text::new(
                    format!("进程数给了两次且不一致：{one} 与 {other}"),
                    format!("two different numbers of processes were given: {one} and {other}"),
                ),
                Hint::new(
                    "只给一个；同时给出每个节点的数目（mpirun 的 npernode、ppr）时，-np 不能更多",
                    "give one; beside a number for each node (mpirun's npernode, ppr) -np cannot ask for more",
                ),
            ),
            Self::NoGpu => advised(
                Text::new("这台机器上没有可用的 GPU", "no GPU is visible on this machine"),
                Hint::new(
                    "检查 nvidia-smi 和 CUDA_VISIBLE_DEVICES；在 CPU 上训练请用 --nproc-per-node N 或 cpu",
                    "check nvidia-smi and CUDA_VISIBLE_DEVICES; to train on CPU use --nproc-per-node N or cpu",
                ),
            ),
            Self::NotEnoughGpus { wanted, found } => advised(
                Text::new(
                    format!("需要 {wanted} 块 GPU，只看到 {found} 块"),
                    format!("{wanted} GPUs are asked for, {found} are visible"),
                ),
                Hint::new("检查 nvidia-smi 和 CUDA_VISIBLE_DEVICES", "check nvidia-smi and CUDA_VISIBLE_DEVICES"),
            ),
            Self::BadNodeCount { value } => advised(
                Text::new(format!("--nnodes 不能是 “{value}”"), format!("--nnodes cannot be '{value}'")),
                Hint::new(
                    "用正整数，例如 2，或 2:4（至少 2，至多 4）",
                    "use a number from 1 up, or a range such as 2:4 (at least 2, at most 4)",
                ),
            ),
            Self::NodeRankBeyond { value, nodes } => advised(
                Text::new(
                    format!("--node-rank {value} 超出范围：共 {nodes} 个节点，从 0 开始"),
                    match nodes {
                        1 => format!("--node-rank {value} does not exist: there is one node, number 0"),
                        _ => format!(
                            "--node-rank {value} does not exist: with {nodes} nodes they go from 0 to {}",
                            nodes.saturating_sub(1)
                        ),
                    },
                ),
                match nodes {
                    1 => Hint::new("去掉 --node-rank", "leave --node-rank out"),
                    _ => Hint::new(
                        "每个节点用不同的 --node-rank，从 0 开始",
                        "give each node its own --node-rank, from 0 up",
                    ),
                },
            ),
            Self::NodeRankMissing => advised(
                Text::new(
                    "多节点启动需要 --node-rank，或用 --rdzv-endpoint 让节点自动编号",
                    "several nodes need --node-rank, or --rdzv-endpoint for numbers by arrival",
                ),
                Hint::new(
                    "例如 --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --master-port 29500",
                    "for example --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --master-port 29500",
                ),
            ),
            Self::MasterAddrMissing => advised(
                Text::new(
                    "不知道主节点在哪里：缺少 --master-addr",
                    "where the first node is was not said: --master-addr is missing",
                ),
                Hint::new(
                    "例如 --master-addr 10.0.0.1，即 --node-rank 0 那台机器的地址",
                    "for example --master-addr 10.0.0.1, the address of the machine with --node-rank 0",
                ),
            ),
            Self::BadEndpoint { value } => advised(
                Text::new(
                    format!("--rdzv-endpoint 需要 HOST:PORT，而不是 “{value}”"),
                    format!("--rdzv-endpoint needs HOST:PORT, not '{value}'"),
                ),
                Hint::new("例如 10.0.0.1:29500", "for example 10.0.0.1:29500"),
            ),
            Self::BadRendezvousConf { value } => advised(
                Text::new(
                    format!("--rdzv-conf 需要 KEY=VALUE，而不是 “{value}”"),
                    format!("--rdzv-conf needs KEY=VALUE, not '{value}'"),
                ),
                Hint::new(
                    "例如 join_timeout=600,last_call_timeout=30,is_host=1",
                    "for example join_timeout=600,last_call_timeout=30,is_host=1",
                ),
            ),
            Self::BadRendezvousBackend { value } => advised(
                Text::new(
                    format!("没有名为 “{value}” 的集合方式"),
                    format!("there is no rendezvous backend '{value}'"),
                ),
                Hint::new(
                    "写 c10d 或 static，或去掉 --rdzv-backend；节点总是由 Fermi 自己集合，不用 etcd，--rdzv-endpoint 写一台训练机器的地址",
                    "use c10d or static, or leave --rdzv-backend out; nodes meet through Fermi itself and not through etcd, so --rdzv-endpoint names a training machine",
                ),
            ),
            Self::RanksFilterOnSeveralNodes => advised(
                Text::new("多节点时还不能用 --ranks-filter", "--ranks-filter does not work with several nodes yet"),
                Hint::new("在每个节点上用 --local-ranks-filter", "use --local-ranks-filter on each node"),
            ),
            Self::BadStreams { flag, value } => advised(
                Text::new(format!("{flag} 不能是 “{value}”"), format!("{flag} cannot be '{value}'")),
                Hint::new(
                    "0 无、1 stdout、2 stderr、3 两者，或按本地 rank：0:3,1:2",
                    "0 none, 1 stdout, 2 stderr, 3 both; or by local rank: 0:3,1:2",
                ),
            ),
            Self::BadRankList { flag, value } => advised(
                Text::new(
                    format!("{flag} 需要以逗号分隔的 rank，而不是 “{value}”"),
                    format!("{flag} needs ranks separated by commas, not '{value}'"),
                ),
                Hint::new("例如 0,1,5", "for example 0,1,5"),
            ),
            Self::BadSignal { value } => advised(
                Text::new(format!("没有名为 “{value}” 的信号"), format!("there is no signal '{value}'")),
                Hint::new("例如 SIGTERM,SIGINT,SIGUSR1", "for example SIGTERM,SIGINT,SIGUSR1"),
            ),
            Self::UncatchableSignal { value } => advised(
                Text::new(
                    format!("信号 “{value}” 无法被程序捕获"),
                    format!("no program can catch the signal '{value}'"),
                ),
                Hint::new("例如 SIGTERM,SIGINT,SIGUSR1", "for example SIGTERM,SIGINT,SIGUSR1"),
            ),
            Self::BadDuration { flag, value } => advised(
                Text::new(
                    format!("{flag} 需要 0 到 999999999 之间的秒数，而不是 “{value}”"),
                    format!("{flag} needs a number of seconds from 0 to 999999999, not '{value}'"),
                ),
                Hint::new("例如 30 或 0.5", "for example 30 or 0.5"),
            ),
            Self::BadMasterAddr { value } => advised(
                Text::new(
                    format!("--master-addr 需要主机名或 IP 地址，而不是 “{value}”"),
                    format!("--master-addr needs a host name or an IP address, not '{value}'"),
                ),
                Hint::new(
                    "例如 10.0.0.1 或 fd00::1；端口写在 --master-port 中",
                    "for example 10.0.0.1 or fd00::1; the port goes to --master-port",
                ),
            ),
            Self::BadPort { value } => advised(
                Text::new(format!("“{value}” 不是有效端口"), format!("'{value}' is not a port")),
                Hint::new(
                    "用 1 到 65535 之间的数，或去掉该参数由 Fermi 选择",
                    "use a number from 1 to 65535, or leave it out and Fermi picks one",
                ),
            ),
            Self::BadVariable { name, value } => advised(
                Text::new(
                    format!("环境变量 {name} 不能是 “{value}”"),
                    format!("the variable {name} cannot be '{value}'"),
                ),
                Hint::new(
                    format!("设为不小于 0 的整数，或取消它：unset {name}"),
                    format!("set it to a whole number from 0 up, or remove it: unset {name}"),
                ),
            ),
            Self::BadAssignment { value } => advised(
                Text::new(
                    format!("-x 需要 NAME 或 NAME=VALUE，而不是 “{value}”"),
                    format!("-x needs NAME or NAME=VALUE, not '{value}'"),
                ),
                Hint::new("例如 -x NCCL_DEBUG=INFO", "for example -x NCCL_DEBUG=INFO"),
            ),
            Self::BadDeviceList { flag, value } => advised(
                Text::new(format!("{flag} 不能是 “{value}”"), format!("{flag} cannot be '{value}'")),
                Hint::new("例如 localhost:0,1 或 0,1", "for example localhost:0,1 or 0,1"),
            ),
            Self::UnknownHost { value } => advised(
                Text::new(
                    format!("“{value}” 不是这台机器，fermi run 只在本机启动"),
                    format!("'{value}' is not this machine, and fermi run starts here only"),
                ),
                Hint::new(
                    "多台机器：fermi launch-multi-node auto auto auto --hostfile HOSTS SCRIPT，或在每台机器上执行同一条带 --nnodes 和 --rdzv-endpoint 的命令；本机写作 localhost",
                    "several machines: fermi launch-multi-node auto auto auto --hostfile HOSTS SCRIPT, or the same command with --nnodes and --rdzv-endpoint on each; this machine is localhost",
                ),
            ),
            Self::StoreOfFramework { framework } => advised(
                Text::new(
                    format!("--store fermi 不能用于 {framework}：它自己占用主端口"),
                    format!("--store fermi does not go with {framework}, which uses the master's port itself"),
                ),
                Hint::new("去掉 --store", "leave --store out"),
            ),
            Self::InterpreterAsScript { name } => advised(
                Text::new(
                    format!("{name} 不是脚本：fermi run 自己会启动 Python"),
                    format!("{name} is no script: fermi run starts Python itself"),
                ),
                Hint::new(
                    format!("去掉 {name} 一词；要换一个解释器请用 PYTHON_EXEC"),
                    format!("leave the word {name} out; PYTHON_EXEC names another interpreter"),
                ),
            ),
            Self::ModuleIsPath { path } => {
                let module = path.trim_end_matches(".py").trim_start_matches("./").replace('/', ".");
                advised(
                    Text::new(
                        format!("-m 需要模块名，而不是路径 {path}"),
                        format!("-m needs the name of a module, not the path {path}"),
                    ),
                    Hint::new(format!("-m {module}，或去掉 -m"), format!("-m {module}, or leave -m out")),
                )
            }
            Self::HostFile { path } => advised(
                Text::new(
                    format!("{path} 是主机列表文件，而 -H 需要主机名"),
                    format!("{path} is a file of hosts, and -H needs the name of one"),
                ),
                Hint::new(
                    format!("fermi launch-multi-node auto auto auto --hostfile {path} SCRIPT 在其中的机器上启动"),
                    format!("fermi launch-multi-node auto auto auto --hostfile {path} SCRIPT starts on machines of it"),
                ),
            ),
            Self::BadCpuList { value } => advised(
                Text::new(format!("“{value}” 不是有效的 CPU 列表"), format!("'{value}' is not a list of CPUs")),
                Hint::new("例如 0-3,8", "for example 0-3,8"),
            ),
            Self::LogFolderIsFile { path } => advised(
                Text::new(format!("日志目录 {path} 是一个文件"), format!("the log folder {path} is a file")),
                Hint::new("给 --log-dir 另一个路径", "give --log-dir another path"),
            ),
            Self::FolderNotWritable { path, error } => advised(
                Text::new(format!("无法写入 {path}：{}", error.zh), format!("cannot write to {path}: {}", error.en)),
                Hint::new(
                    "用 --log-dir、--output-dir、--checkpoint-dir 或 FERMI_STATE_DIR 指定可写目录",
                    "name a folder you may write to with --log-dir, --output-dir, --checkpoint-dir or FERMI_STATE_DIR",
                ),
            ),
            Self::PathNotUnicode { path } => advised(
                Text::new(format!("路径 {path} 不是有效的 UTF-8"), format!("the path {path} is not valid UTF-8")),
                Hint::new("使用 UTF-8 路径", "use a path in UTF-8"),
            ),
            Self::NoHome => advised(
                Text::new("HOME 未设置，不知道把日志放在哪里", "HOME is not set, so there is no place for logs"),
                Hint::new("设置 HOME、FERMI_STATE_DIR 或 --log-dir", "set HOME, FERMI_STATE_DIR or --log-dir"),
            ),
            Self::NoWorkingFolder { error } => advised(
                Text::new(
                    format!("当前目录不可用：{}", error.zh),
                    format!("the current folder cannot be used: {}", error.en),
                ),
                Hint::new("换到一个存在的目录再运行", "change to a folder that exists and try again"),
            ),
            Self::UnknownMode { value } => advised(
                Text::new(format!("没有 --mode {value}"), format!("there is no --mode {value}")),
                Hint::new("可用：manual、slurm、create_slurm", "there are: manual, slurm, create_slurm"),
            ),
            Self::RankWithoutWorld => advised(
                Text::new("--rank 需要同时给出 --world-size", "--rank needs --world-size beside it"),
                Hint::new(
                    "例如 --mode manual --rank 0 --world-size 8",
                    "for example --mode manual --rank 0 --world-size 8",
                ),
            ),
            Self::RankBeyondWorld { rank, world } => advised(
                Text::new(
                    format!("--rank {rank} 超出了 --world-size {world}"),
                    format!("--rank {rank} is outside of --world-size {world}"),
                ),
                Hint::new(
                    format!("rank 从 0 到 {}", world.saturating_sub(1)),
                    format!("ranks go from 0 to {}", world.saturating_sub(1)),
                ),
            ),
            Self::WorldAgainstProcesses { world, processes } => advised(
                Text::new(
                    format!("--world-size {world} 与 --nproc-per-node {processes} 不一致"),
                    format!("--world-size {world} and --nproc-per-node {processes} contradict each other"),
                ),
                Hint::new("只给一个", "give one of the two"),
            ),
            Self::TorchrunNotFound => advised(
                Text::new("PATH 中找不到 torchrun", "there is no torchrun on the PATH"),
                Hint::new(
                    "激活装有 PyTorch 的环境，或去掉 --use-torchrun 由 Fermi 启动",
                    "activate the environment that has PyTorch, or leave --use-torchrun out and let Fermi start it",
                ),
            ),
            Self::NoProcesses => advised(
                Text::new("/proc 没有挂载，Fermi 看不到进程", "/proc is not mounted, so that Fermi sees no processes"),
                Hint::new(
                    "mount -t proc proc /proc；在容器中请不要隐藏它",
                    "mount -t proc proc /proc; in a container, do not hide it",
                ),
            ),
            Self::KeepersNotStarted { error } => advised(
                Text::new(
                    format!("无法启动 supervisor：{}", error.zh),
                    format!("the supervisor could not be started: {}", error.en),
                ),
                Hint::new(
                    "检查运行目录的空间与权限，以及打开文件数、进程数与内存的限制（ulimit -a），调高不够的一项，例如 ulimit -n 1024；需要 Linux 5.4 或更新的内核",
                    "look at space and permissions of the run's folder, and at the limits on open files, processes and memory (ulimit -a); raise the one that is too low, for example ulimit -n 1024; Linux 5.4 or newer is needed",
                ),
            ),
            Self::Framework { text, hint } => (text.clone(), Some(hint.clone().into())),
            Self::FrameworkWithoutSeat => advised(
                Text::new(
                    "--framework 需要事先知道每个 rank 的位置",
                    "--framework must know the place of every rank beforehand",
                ),
                Hint::new(
                    "在每台机器上给出 --nnodes 与 --node-rank，节点数固定，不用 --rank；每台机器的进程数相同",
                    "give --nnodes (a number, no range) and --node-rank on every machine, no --rank; with as many processes on each",
                ),
            ),
            Self::Slurm(problem) => (problem.text(), problem.hint()),
        }
    }
}

fn advised(text: Text, hint: Hint) -> (Text, Option<Hint>) {
    (text, Some(hint))
}

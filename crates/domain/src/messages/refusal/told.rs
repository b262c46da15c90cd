//! The sentences of a refused request.

use super::RequestRefusal;
use crate::{
    framework::Framework,
    language::{Explained, Hint, Setting, Text},
    task::{OnDisconnect, Policies, Strategy},
    validation::{LONGEST_NAME, LONGEST_SPAN},
};

impl RequestRefusal {
    /// The sentence, and beside it what to do.
    pub(super) fn told(&self) -> (Text, Hint) {
        let frameworks = || {
            let values = Framework::ALL.map(Framework::as_str);
            Hint::new(format!("可选：{}", values.join("、")), format!("choose one of {}", values.join(", ")))
        };
        let datasets = || {
            Hint::new("从现有的数据集与版本中选择", "choose one of the datasets and versions that exist")
                .on_command_line("fermi dataset list 可查看", "`fermi dataset list` shows them")
        };
        match self {
            Self::NameRequired => (
                Text::new("请输入任务名称", "Please enter a task name"),
                Hint::new("例如 llama2-7b-sft", "for example llama2-7b-sft"),
            ),
            Self::NameTooLong { letters, most } => (
                Text::new("任务名称过长", "The task name is too long"),
                Hint::new(
                    format!("最多 {most} 个字符，现有 {letters} 个"),
                    format!("at most {most} letters, it has {letters}"),
                ),
            ),
            Self::NameWithControlCharacters => (
                Text::new("任务名称含有控制字符", "The task name holds control characters"),
                Hint::new("删除换行、制表等不可见字符", "remove line breaks, tabs and other invisible characters"),
            ),
            Self::NameReserved { name } => (
                Text::new(format!("任务不能命名为“{name}”"), format!("A task cannot be called '{name}'")),
                Hint::new(
                    "它会被当作任务 ID 或最近的任务，请换一个名称",
                    "it would be taken for the id of a task, or for the newest one; choose another name",
                ),
            ),
            Self::NameWithUnseenLetter(letter) => {
                let hint = letter.hint().unwrap_or_else(|| letter.text().into());
                (letter.text(), hint)
            }
            Self::DatasetRequired => (
                Text::new("请选择数据集", "Please choose a dataset"),
                Hint::new(
                    format!("在 {} 中填写数据集及其版本", Setting::Dataset),
                    format!("name the dataset and its version with {}", Setting::Dataset),
                ),
            ),
            Self::DatasetVersionRequired => (
                Text::new("请选择数据集", "Please choose a dataset"),
                Hint::new("还需选择数据集的版本", "also choose the dataset's version"),
            ),
            Self::EnvironmentRequired => (
                Text::new("请至少选择一个开发环境", "Please choose at least one environment"),
                Hint::new(
                    format!("在列表中勾选，或在 {} 中填写；fermi env list 可查看", Setting::Environments),
                    format!("tick one in the list, or name it with {}; `fermi env list` shows them", Setting::Environments),
                ),
            ),
            Self::EnvironmentTwice { id } => (
                Text::new(format!("开发环境 {id} 重复"), format!("The environment {id} is named twice")),
                Hint::new("每个环境只填一次", "name each environment once"),
            ),
            Self::EnvironmentUnknown { id } => (
                Text::new(format!("开发环境 {id} 不存在"), format!("The environment {id} does not exist")),
                Hint::new("从现有的开发环境中选择", "choose one of the environments that exist").on_command_line(
                    "fermi env list 可查看现有环境",
                    "`fermi env list` shows the environments that exist",
                ),
            ),
            Self::EnvironmentOffline { name } => (
                Text::new(format!("开发环境 {name} 已离线"), format!("The environment {name} is offline")),
                Hint::new(
                    "在该机器上启动 fermi agent，或取消选择它",
                    "start `fermi agent` on that machine, or choose another one",
                ),
            ),
            Self::DistributedDisabled { nodes } => (
                Text::new(
                    format!("选择了 {nodes} 个节点，但分布式训练未启用"),
                    format!("{nodes} nodes are chosen, but distributed training is not enabled"),
                ),
                Hint::new(
                    "将 enabled 设为 true，或只选择一个环境",
                    "set enabled to true, or choose one environment only",
                ),
            ),
            Self::MasterInvalid => (
                Text::new("请选择有效的主节点", "Please choose a valid master node"),
                Hint::new("主节点必须是已选环境之一", "the master must be one of the chosen environments"),
            ),
            Self::FrameworkRequired => {
                (Text::new("请选择分布式框架", "Please choose a distributed framework"), frameworks())
            }
            Self::FrameworkUnknown { value } => (
                Text::new(format!("不支持的分布式框架 {value}"), format!("The framework {value} is not known")),
                match Framework::near(value) {
                    Some(near) => Hint::new(format!("是否指 {near}？"), format!("did you mean {near}?")),
                    None => frameworks(),
                },
            ),
            Self::StrategyZero => (
                Text::new("并行度至少为 1", "Every degree of parallelism must be at least 1"),
                Hint::new("不需要的并行方式填 1", "give 1 for a kind of parallelism that is not wanted"),
            ),
            Self::CommandEmpty => (
                Text::new("命令为空", "The command is empty"),
                Hint::new(
                    "填写 command.argv，例如 [\"train.py\", \"--epochs\", \"3\"]",
                    "give command.argv, such as [\"train.py\", \"--epochs\", \"3\"]",
                ),
            ),
            Self::CommandInvalid => (
                Text::new("命令无效", "The command is not valid"),
                Hint::new(
                    "至多 4096 个参数，参数与变量值不能含 NUL 字符",
                    "at most 4,096 arguments, and no NUL character in arguments or values",
                ),
            ),
            Self::CommandAndRecipe => (
                Text::new("command 与 recipe 只能选其一", "Both a command and a recipe are given"),
                Hint::new("去掉其中一个", "leave one of them out"),
            ),
            Self::VariableInvalid { name } => (
                Text::new(
                    format!("环境变量名“{}”无效", name.escape_debug()),
                    format!("'{}' is no name for an environment variable", name.escape_debug()),
                ),
                Hint::new("变量名不能为空，也不能含 =", "a name is not empty and holds no ="),
            ),
            Self::VariableTwice { name } => (
                Text::new(
                    format!("变量“{}”既在 env 又在 secrets 中", name.escape_debug()),
                    format!("The variable '{}' is both in env and in secrets", name.escape_debug()),
                ),
                Hint::new("去掉其中一个", "leave one of them out"),
            ),
            Self::SecretUnknown { name } => (
                Text::new(
                    format!("密钥“{}”不存在", name.escape_debug()),
                    format!("There is no secret '{}', neither of one's own nor a shared one", name.escape_debug()),
                ),
                Hint::new("先设置密钥，或从现有的密钥中选择", "set it first, or choose one that exists")
                    .on_command_line(
                        "fermi secret set 名称 设置，fermi secret list 可查看",
                        "`fermi secret set NAME` sets it, `fermi secret list` shows those that exist",
                    ),
            ),
            Self::RecipeUnknown { name } => (
                Text::new(format!("配方 {name} 不存在"), format!("The recipe {name} does not exist")),
                Hint::new(
                    "可用：sft、rm、dpo、grpo、ppo、builtin；或改用 command",
                    "there are sft, rm, dpo, grpo, ppo and builtin; or give a command instead",
                ),
            ),
            Self::RecipeSettings { has_both } => (
                match has_both {
                    true => Text::new("配方的设置给了两处", "The recipe has its settings from two places"),
                    false => Text::new("配方没有设置", "The recipe has no settings"),
                },
                Hint::new(
                    "填写 options.training（training.yaml 的内容）或 recipe.config（节点上的路径）其中一个",
                    "give either options.training (what stands in training.yaml) or recipe.config (a path on the nodes)",
                )
                .on_command_line("给出一个 training.yaml（选项 config）", "give a training.yaml, by the option config"),
            ),
            Self::WorkersUnknown { name, count } => (
                Text::new(
                    format!("开发环境 {name} 只有 {count} 个 Worker"),
                    format!("The environment {name} has {count} workers"),
                ),
                Hint::new(
                    format!("编号从 0 到 {}，至少选一个；不写则全部使用", count.saturating_sub(1)),
                    format!("number them from 0 to {}, at least one; say nothing to use all", count.saturating_sub(1)),
                ),
            ),
            Self::LabelsInvalid => (
                Text::new("标签无效", "The labels are not valid"),
                Hint::new(
                    "至多 64 个，键不为空，键和值各不超过 128 个字符且不含控制字符",
                    "at most 64, with keys that are not empty, of at most 128 letters each and no control characters",
                ),
            ),
            Self::LabelWithUnseenLetter(letter) => {
                let text = letter.within(&Text::new("标签", "a label"));
                let hint = letter.hint().unwrap_or_else(|| text.clone().into());
                (text, hint)
            }
            Self::MasterPortInvalid => (
                Text::new("主节点端口无效", "The master port is not valid"),
                Hint::new(
                    "填写 1 到 65535，或不填而由 Fermi 选择空闲端口",
                    "give one from 1 to 65535, or leave it out and Fermi picks a free one",
                ),
            ),
            Self::MasterAddressInvalid { given } => (
                Text::new(
                    format!("主节点地址 “{}” 无效", given.escape_debug()),
                    format!("The master address '{}' is not valid", given.escape_debug()),
                ),
                Hint::new(
                    "填写主机名或 IP 地址，不含端口；不填则使用主节点 agent 的地址",
                    "give a host name or an address without a port; without one the address of the first node's agent is used",
                ),
            ),
            Self::PathWithControlCharacters { field } => (
                Text::new(format!("{field} 含有控制字符"), format!("{field} holds control characters")),
                Hint::new("重新键入这个路径", "type this path anew"),
            ),
            Self::CheckpointFolderInvalid { path } => (
                Text::new(
                    format!("检查点文件夹 “{path}” 不是每个节点都能照用的路径"),
                    format!("The checkpoint folder '{path}' is no path that every node can use as it stands"),
                ),
                Hint::new(
                    format!(
                        "{} 填写 / 以外的绝对路径，不含 ..、变量和占位符，最好是所有节点共享的文件夹；不填则每个节点用任务自己的文件夹",
                        Setting::CheckpointFolder
                    ),
                    format!(
                        "give {} an absolute path other than /, without .., variables and placeholders, best a folder that \
                         all nodes share; without it each node has a folder of the task's own",
                        Setting::CheckpointFolder
                    ),
                ),
            ),
            Self::AutoWordInvalid { field } => (
                Text::new(format!("自动选择环境：{field} 无效"), format!("Picking environments: {field} is not valid")),
                Hint::new(
                    format!("最多 {LONGEST_NAME} 个字符，不含控制字符"),
                    format!("at most {LONGEST_NAME} letters, and no control characters"),
                ),
            ),
            Self::AutoInvalid { most } => (
                Text::new(
                    format!(
                        "自动选择环境：节点数和每节点数量须在 1 到 {most} 之间，gpusPerNode 与 workersPerNode 只能给一个"
                    ),
                    format!(
                        "Picking environments takes 1 to {most} nodes with 1 to {most} workers each, and either gpusPerNode \
                         or workersPerNode"
                    ),
                ),
                Hint::new(
                    r#"例如 {"auto": {"nodes": 2, "gpusPerNode": 8, "gpuType": "A100"}}"#,
                    r#"write {"auto": {"nodes": 2, "gpusPerNode": 8, "gpuType": "A100"}}"#,
                ),
            ),
            Self::AutoWithEnvironments => (
                Text::new(
                    "自动选择环境时不能再指定环境",
                    "Environments are picked automatically, and some are named as well",
                ),
                Hint::new(
                    format!("去掉 {}，或不要自动选择", Setting::Environments),
                    format!("leave {} out, or do not have them picked", Setting::Environments),
                ),
            ),
            Self::TimeLimitInvalid => (
                Text::new("运行时限须大于 0、不超过十年", "A time limit is longer than 0 s and ten years at most"),
                Hint::new(
                    format!("去掉 {} 则不限时", Setting::TimeLimit),
                    format!("leave {} out to let it run for as long as it likes", Setting::TimeLimit),
                ),
            ),
            Self::NewNotSupported => (
                Text::new("Fermi 不创建新机器", "Fermi makes no new machines"),
                Hint::new(
                    format!("在新机器上运行 fermi agent 使其成为开发环境，再在 {} 中选择它", Setting::Environments),
                    format!(
                        "run `fermi agent` on the new machine, which makes it an environment, then choose it with {}",
                        Setting::Environments
                    ),
                ),
            ),
            Self::StopAfterTooShort => {
                let shortest = OnDisconnect::SHORTEST.0;
                (
                    Text::new(
                        format!("失联后自动停止的时限不能短于 {shortest} 秒"),
                        format!("A training that has lost the server stops after {shortest} s at the earliest"),
                    ),
                    Hint::new(
                        format!("将 {} 设为 {shortest} 秒或更长；不设则失联时继续训练", Setting::StopAfter),
                        format!(
                            "set {} to {shortest} s or more; without it a training goes on while the server is out of reach",
                            Setting::StopAfter
                        ),
                    ),
                )
            }
            Self::WarmWithoutHook => (
                Text::new("备用解释器依靠钩子", "interpreters are kept ready by the hook"),
                Hint::new(
                    format!("去掉 {}，或把 {} 设为 off", Setting::Hook, Setting::Warm),
                    format!("leave {} out, or set {} to off", Setting::Hook, Setting::Warm),
                ),
            ),
            Self::HangWithoutHook => (
                Text::new(
                    "卡住时重启需要钩子：没有它就看不出哪个 rank 卡住",
                    "a restart of ranks that hang needs the hook: without it nobody sees which rank hangs",
                ),
                Hint::new(
                    format!("去掉 {}，或把 {} 设为 tell", Setting::Hook, Setting::OnHang),
                    format!("leave {} out, or set {} to tell", Setting::Hook, Setting::OnHang),
                ),
            ),
            Self::NodeLostAfterTooShort => {
                let shortest = Policies::SHORTEST_NODE_LOST.0;
                (
                    Text::new(
                        format!("nodeLostAfter 不能短于 {shortest} 秒：节点每秒报告一次"),
                        format!("nodeLostAfter is {shortest} s at least: nodes say once a second that they live"),
                    ),
                    Hint::new(
                        format!("去掉 nodeLostAfter（默认 15 秒），或设为 {shortest} 秒或更长"),
                        format!("leave nodeLostAfter out (15 s), or give {shortest} s or more"),
                    ),
                )
            }
            Self::StartTimeoutInvalid => (
                Text::new("启动时限必须大于 0", "The start time-out must be more than 0"),
                Hint::new(
                    "去掉 startTimeout，或设为启动所需的秒数",
                    "leave startTimeout out, or give the seconds that a start may take",
                ),
            ),
            Self::SpanTooLong { field } => (
                Text::new(format!("{field} 不能超过十年"), format!("{field} is ten years at most")),
                Hint::new(
                    format!("去掉它以使用默认值，或设为不超过 {} 秒的时间", LONGEST_SPAN.0),
                    format!("leave it out for what is usual, or give no more than {} s", LONGEST_SPAN.0),
                ),
            ),
            Self::CheckpointSignalInvalid { signal } => (
                Text::new(
                    format!("脚本无法响应信号 {signal}"),
                    format!("{signal} is no signal that a script can obey"),
                ),
                Hint::new(
                    "设为 1 到 64 之间的信号编号，例如 10（SIGUSR1）；9 和 19 不能被捕获",
                    "give the number of a signal from 1 to 64, such as 10 (SIGUSR1); nothing can catch 9 and 19",
                ),
            ),
            Self::DatasetUnknown { id } => {
                (Text::new(format!("数据集 {id} 不存在"), format!("The dataset {id} does not exist")), datasets())
            }
            Self::DatasetVersionUnknown { id } => {
                (Text::new(format!("数据集没有版本 {id}"), format!("The dataset has no version {id}")), datasets())
            }
            Self::ModelUnknown { id } => (
                Text::new(format!("模型 {id} 不存在"), format!("The model {id} does not exist")),
                Hint::new("从现有的模型中选择", "choose one of the models that exist")
                    .on_command_line("fermi model list 可查看", "`fermi model list` shows them"),
            ),
            Self::SnapshotUnknown { digest } => (
                Text::new(
                    format!("代码快照“{}”不存在", digest.escape_debug()),
                    format!("There is no code snapshot '{}'", digest.escape_debug()),
                ),
                Hint::new("先上传代码，再创建任务", "send the code first, then create the task")
                    .on_command_line("fermi task create 会自动上传", "`fermi task create` sends it by itself"),
            ),
            Self::LayoutMismatch { strategy, ranks, fitting, .. } => (
                {
                    let (dp, pp, tp) = (strategy.data_parallel, strategy.pipeline_parallel, strategy.tensor_parallel);
                    let product = strategy.ranks();
                    Text::new(
                        format!("{dp}×{pp}×{tp} = {product}，与 {ranks} 个 rank 不符"),
                        format!("{dp} x {pp} x {tp} = {product} does not match the {ranks} ranks"),
                    )
                },
                Hint::new(
                    format!("可用的组合：{}", in_words(fitting, "、", "；")),
                    format!("layouts that fit: {}", in_words(fitting, ", ", "; ")),
                ),
            ),
        }
    }
}

/// With the names of the settings, so that it can be copied.
fn in_words(layouts: &[Strategy], within: &str, between: &str) -> String {
    let words = layouts.iter().map(|Strategy { data_parallel: dp, pipeline_parallel: pp, tensor_parallel: tp }| {
        format!(
            "{} {dp}{within}{} {pp}{within}{} {tp}",
            Setting::DataParallel,
            Setting::PipelineParallel,
            Setting::TensorParallel
        )
    });
    words.collect::<Vec<_>>().join(between)
}

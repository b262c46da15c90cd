//! Why something cannot be done with a group: what is wrong, in which field, and what to do.

use thiserror::Error;

use crate::{
    ids::{TaskId, WorkerId},
    language::{Explained, Hint, Text},
    rank_map::RankMapError,
};

/// How many tasks or workers a refusal names.
const NAMED: usize = 5;

/// The first thing that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text().en)]
pub enum GroupRefusal {
    /// There is no group of this id or name.
    Unknown {
        group: String,
        known: Vec<String>,
    },
    NameReserved {
        name: String,
    },
    /// The group of the workers that are in no other has nothing to be changed.
    Unassigned,
    PortInvalid,
    WorkersRequired,
    TooManyWorkers {
        most: usize,
    },
    WorkerInvalid {
        text: String,
    },
    WorkerUnknown {
        worker: WorkerId,
        /// The environment of that name, with its number of workers.
        workers_there: Option<u32>,
    },
    /// Open tasks of the worker's group count on it.
    WorkerInUse {
        worker: WorkerId,
        group: String,
        tasks: Vec<TaskId>,
    },
    InUse {
        group: String,
        tasks: Vec<TaskId>,
    },
    /// Somebody else was quicker.
    Changed {
        group: String,
        expected: u64,
        found: u64,
    },
    /// A request that names a group and environments.
    WithEnvironments {
        field: &'static str,
    },
    /// Workers of the group that do not exist now.
    WorkersMissing {
        workers: Vec<WorkerId>,
    },
    PortTaken {
        node: String,
        port: u16,
        holder: String,
    },
    Ranks(#[from] RankMapError),
}

/// The first few, and whether there are more.
fn list<T: ToString>(items: &[T], between: &str) -> String {
    let shown: Vec<String> = items.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if items.len() > NAMED { " …" } else { "" };
    format!("{}{more}", shown.join(between))
}

impl GroupRefusal {
    /// Whether it is the state of things that stands in the way, and not the request.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::WorkerInUse { .. } | Self::InUse { .. } | Self::Changed { .. } | Self::PortTaken { .. })
    }

    fn told(&self) -> (Text, Hint) {
        match self {
            Self::Unknown { group, known } => (
                Text::new(format!("分组 {group} 不存在"), format!("there is no group {group}")),
                if known.is_empty() {
                    Hint::new("先新建分组并加入 Worker", "create a group and move workers into it first")
                        .on_command_line("先新建：fermi group create 名称", "create one: fermi group create NAME")
                } else {
                    Hint::new(format!("现有分组：{}", list(known, "、")), format!("there is {}", list(known, ", ")))
                },
            ),
            Self::NameReserved { name } => (
                Text::new(format!("分组不能命名为 “{name}”"), format!("a group cannot be called '{name}'")),
                Hint::new("它看起来像分组 ID，请换一个名称", "it looks like the id of a group; choose another name"),
            ),
            Self::Unassigned => (
                Text::new(
                    "未分组的 Worker 不构成可修改的分组",
                    "the workers that are in no group are no group to be changed",
                ),
                Hint::new("新建分组，再把 Worker 移动过去", "create a group and move workers into it"),
            ),
            Self::PortInvalid => (
                Text::new("Master 端口无效", "the master port is not valid"),
                Hint::new("填写 1 到 65535，默认 29500", "give one from 1 to 65535; 29500 is the default"),
            ),
            Self::WorkersRequired => (
                Text::new("请至少选择一个 Worker", "please choose at least one worker"),
                Hint::new("在 workers 中列出，例如 [\"gn6-0\"]", "name them in workers, such as [\"gn6-0\"]")
                    .on_command_line("fermi worker list 可查看", "`fermi worker list` shows them"),
            ),
            Self::TooManyWorkers { most } => (
                Text::new(format!("一次最多移动 {most} 个 Worker"), format!("at most {most} workers at once")),
                Hint::new("分几次移动", "move them in several steps"),
            ),
            Self::WorkerInvalid { text } => (
                Text::new(
                    format!("“{}”不是 Worker 名称", text.escape_debug()),
                    format!("'{}' is not the name of a worker", text.escape_debug()),
                ),
                Hint::new("写成 <节点>-<编号>，例如 gn6-0", "write <node>-<number>, such as gn6-0"),
            ),
            Self::WorkerUnknown { worker, workers_there } => (
                Text::new(format!("Worker {worker} 不存在"), format!("there is no worker {worker}")),
                match workers_there {
                    Some(count) => Hint::new(
                        format!("{} 只有 {count} 个 Worker，编号从 0 开始", worker.node()),
                        format!("{} has {count} workers, numbered from 0", worker.node()),
                    ),
                    None => Hint::new(
                        format!("先在 {} 上启动 fermi agent", worker.node()),
                        format!("start `fermi agent` on {} first", worker.node()),
                    ),
                },
            ),
            Self::WorkerInUse { worker, group, tasks } => (
                Text::new(
                    format!("Worker {worker} 正由分组 {group} 的 {} 使用", list(tasks, "、")),
                    format!("the worker {worker} is used by {} of the group {group}", list(tasks, ", ")),
                ),
                Hint::new("等任务结束或停止任务后再移动", "move it when the task is over, or stop the task"),
            ),
            Self::InUse { group, tasks } => (
                Text::new(
                    format!("分组 {group} 正由 {} 使用", list(tasks, "、")),
                    format!("the group {group} is used by {}", list(tasks, ", ")),
                ),
                Hint::new("等任务结束或停止任务后再删除", "delete it when the tasks are over, or stop them")
                    .on_command_line(
                        format!("先停止任务：fermi group stop {group}"),
                        format!("stop them first: fermi group stop {group}"),
                    ),
            ),
            Self::Changed { group, expected, found } => (
                Text::new(
                    format!("分组 {group} 已被他人修改：您看到的是版本 {expected}，现在是版本 {found}"),
                    format!("the group {group} was changed meanwhile: you saw version {expected}, it is {found} now"),
                ),
                Hint::new("刷新后重试", "look at it again and retry"),
            ),
            Self::WithEnvironments { field } => (
                Text::new(
                    format!("分组已决定 Worker，不能再填写 {field}"),
                    format!("the group says which workers train; {field} cannot be given as well"),
                ),
                Hint::new(format!("去掉 {field}，或不用分组"), format!("leave {field} out, or name no group")),
            ),
            Self::WorkersMissing { workers } => (
                Text::new(
                    format!("分组中的 {} 现在不存在", list(workers, "、")),
                    format!("{} of the group does not exist now", list(workers, ", ")),
                ),
                Hint::new(
                    "在其节点上启动 fermi agent，或把它移出分组",
                    "start `fermi agent` on its node, or move it out of the group",
                ),
            ),
            Self::PortTaken { node, port, holder } => {
                let by = if holder.is_empty() { String::new() } else { format!(" ({holder})") };
                (
                    Text::new(
                        format!("{node} 的端口 {port} 已被占用{by}"),
                        format!("the port {port} of {node} is taken{by}"),
                    ),
                    Hint::new(
                        "在分组配置中换一个 Master 端口，或结束占用它的进程",
                        "set another master port in the group's configuration, or end what has it",
                    ),
                )
            }
            Self::Ranks(error) => (
                error.text(),
                error.hint().unwrap_or_else(|| Hint::new("检查分组配置", "look at the group's configuration")),
            ),
        }
    }
}

impl Explained for GroupRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "group_unknown",
            Self::NameReserved { .. } => "name_reserved",
            Self::Unassigned => "group_unassigned",
            Self::PortInvalid => "master_port_invalid",
            Self::WorkersRequired => "workers_required",
            Self::TooManyWorkers { .. } => "workers_too_many",
            Self::WorkerInvalid { .. } => "worker_invalid",
            Self::WorkerUnknown { .. } => "worker_unknown",
            Self::WorkerInUse { .. } => "worker_in_use",
            Self::InUse { .. } => "in_use",
            Self::Changed { .. } => "group_changed",
            Self::WithEnvironments { .. } => "group_with_environments",
            Self::WorkersMissing { .. } => "workers_missing",
            Self::PortTaken { .. } => "master_port_taken",
            Self::Ranks(error) => error.id(),
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::Unknown { .. } | Self::WithEnvironments { .. } => "launchMode",
            Self::NameReserved { .. } => "name",
            Self::PortInvalid | Self::PortTaken { .. } => "config.masterPort",
            Self::WorkersRequired
            | Self::TooManyWorkers { .. }
            | Self::WorkerInvalid { .. }
            | Self::WorkerUnknown { .. }
            | Self::WorkerInUse { .. }
            | Self::WorkersMissing { .. } => "workers",
            Self::Changed { .. } => "version",
            Self::Ranks(RankMapError::NoMaster | RankMapError::MasterUnknown { .. }) => "config.masterAddr",
            Self::Ranks(RankMapError::WorldTooLarge { .. } | RankMapError::WorldEmpty) => "config.worldSize",
            Self::Unassigned | Self::InUse { .. } | Self::Ranks(_) => return None,
        };
        Some(field.to_owned())
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}

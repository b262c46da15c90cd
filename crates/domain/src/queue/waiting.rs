//! What a task waits for, for whom, and until when at the latest.

use super::moment::{Latest, written};
use super::passed::PassedOver;
use super::request::Size;
use super::rules::Limits;
use super::running::TaskName;
use crate::{environment::EnvironmentStatus, ids::WorkerId, language::Text};

/// How many names a sentence lists.
const NAMED: usize = 3;

/// Why a task is still in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub task: TaskName,
    pub reason: Reason,
    /// How many tasks that could use the same workers are before it.
    pub before: usize,
    /// Whether these are as many as were counted, and there are more.
    pub are_more_before: bool,
    /// The first of these.
    pub ahead: Vec<TaskName>,
    /// What is kept of the workers that it could have: for itself, or for a task before it.
    pub reserved: Option<Reserved>,
    /// When it starts, as the queue is now.
    pub from: Latest,
    /// Whether that is a promise: workers are kept for it, and it starts then at the latest. Without one, tasks before it that
    /// end early may change the order of the others.
    pub is_promised: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its workers are free.
    StartsNow,
    /// Its workers are used by others, or kept for a task before it.
    Held { what: Text, holders: Vec<Holder>, behind: Option<TaskName> },
    /// Its user has as much as the limits allow.
    OverLimit { owner: String, limits: Limits, workers: u64, tasks: u64, asks: u64 },
    /// Environments or workers that it names are not there.
    Absent { environments: Vec<(String, EnvironmentStatus)>, missing: Vec<WorkerId> },
    /// All environments together could not hold it.
    NeverFits { wish: Text, size: Size, most: u32, fits_once_all_serve: bool, passed_over: PassedOver },
}

/// Workers that are kept for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    pub task: TaskName,
    /// The first of them.
    pub workers: Vec<WorkerId>,
    pub count: usize,
    /// When all of them are there, at the latest.
    pub from: Latest,
}

impl Reserved {
    /// Such as `gn6-0, gn6-1 are kept for task-3, from 1970-01-01 02:00 UTC`.
    pub fn text(&self) -> Text {
        let names: Vec<String> = self.workers.iter().take(NAMED).map(ToString::to_string).collect();
        let more = if self.count > names.len() { format!(" … ({})", self.count) } else { String::new() };
        let (names, task) = (names.join(", "), &self.task);
        let be = if self.count == 1 { "is" } else { "are" };
        let kept = Text::new(format!("{names}{more} 已为 {task} 保留"), format!("{names}{more} {be} kept for {task}"));
        match self.from {
            Latest::At(at) => Text::new(
                format!("{}，最迟 {} 全部空出", kept.zh, written(at)),
                format!("{}, all of them free at {} at the latest", kept.en, written(at)),
            ),
            Latest::Unknown => Text::new(
                format!("{}，何时全部空出未知", kept.zh),
                format!("{}; when all of them are free is not known", kept.en),
            ),
        }
    }
}

/// A task that has workers for which another one waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub task: TaskName,
    pub until: Latest,
    /// It was asked to give way.
    pub is_ending: bool,
    /// A machine that it has workers on and that is out of reach: while it is, these stay the task's.
    pub silent: Option<String>,
}

impl Waiting {
    /// A machine that is out of reach, on which a task has workers for which this one waits.
    pub fn silent_machine(&self) -> Option<&str> {
        match &self.reason {
            Reason::Held { holders, .. } => holders.iter().find_map(|holder| holder.silent.as_deref()),
            _ => None,
        }
    }

    /// A limit ends nothing on a machine that is out of reach: what depends on one has no known time.
    pub(super) fn known_so_far(mut self) -> Self {
        if self.silent_machine().is_some() {
            self.from = Latest::Unknown;
            self.is_promised = false;
            if let Some(own) = self.reserved.as_mut().filter(|kept| kept.task == self.task) {
                own.from = Latest::Unknown;
            }
        }
        self
    }

    /// One sentence for people.
    pub fn text(&self) -> Text {
        match &self.reason {
            Reason::Held { what, holders, behind } => self.held(what, holders, behind.as_ref()),
            other => Self::text_of(other),
        }
    }

    /// A reason that needs no more than itself.
    pub(super) fn text_of(reason: &Reason) -> Text {
        match reason {
            Reason::StartsNow => Text::new("Worker 已空闲，即将启动", "its workers are free, it is about to start"),
            Reason::Held { what, .. } => Text::new(format!("等待 {}", what.zh), format!("waits for {}", what.en)),
            Reason::OverLimit { owner, limits, workers, tasks, asks } => {
                over_limit(owner, *limits, *workers, *tasks, *asks)
            }
            Reason::Absent { environments, missing } => absent(environments, missing),
            Reason::NeverFits { wish, size, most, fits_once_all_serve, passed_over } => {
                never_fits(wish, *size, *most, *fits_once_all_serve, passed_over)
            }
        }
    }

    fn held(&self, what: &Text, holders: &[Holder], behind: Option<&TaskName>) -> Text {
        let mut text = Text::new(format!("等待 {}", what.zh), format!("waits for {}", what.en));
        if !holders.is_empty() {
            let named: Vec<Text> = holders.iter().take(NAMED).map(Holder::text).collect();
            let more = if holders.len() > NAMED { " …" } else { "" };
            let zh: Vec<&str> = named.iter().map(|name| name.zh.as_ref()).collect();
            let en: Vec<&str> = named.iter().map(|name| name.en.as_ref()).collect();
            text = Text::new(
                format!("{}，正被 {}{more} 使用", text.zh, zh.join("、")),
                format!("{}, in use by {}{more}", text.en, en.join(", ")),
            );
        }
        if holders.is_empty() && behind.is_some() {
            text = Text::new(
                format!("{}（空闲，但已为排在前面的任务保留）", text.zh),
                format!("{} (free, but kept for those before it)", text.en),
            );
        }
        if let Some(first) = behind {
            let others = self.before.saturating_sub(1);
            let (zh, en) = match (others, self.are_more_before) {
                (_, true) => (format!(" 等多于 {} 个任务", self.before), format!(" and more than {others} others")),
                (0, false) => (String::new(), String::new()),
                (_, false) => (format!(" 等 {} 个任务", self.before), format!(" and {others} more")),
            };
            let be = if others == 0 && !self.are_more_before { "is" } else { "are" };
            text =
                text.followed_by(&Text::new(format!("{first}{zh} 排在它前面"), format!("{first}{en} {be} before it")));
        }
        text.followed_by(&self.bound(holders))
    }

    fn bound(&self, holders: &[Holder]) -> Text {
        if let Latest::At(at) = self.from {
            let at = written(at);
            return if self.is_promised {
                Text::new(format!("最迟 {at} 启动"), format!("starts at {at} at the latest"))
            } else {
                Text::new(
                    format!("按目前的队列，预计 {at} 前启动"),
                    format!("is expected to start by {at}, as the queue is now"),
                )
            };
        }
        if let Some(machine) = self.silent_machine() {
            return Text::new(
                format!("启动时间未知：{machine} 失去联系"),
                format!("when it starts is not known: {machine} is out of reach"),
            );
        }
        let unbounded: Vec<String> = holders
            .iter()
            .filter(|holder| holder.until == Latest::Unknown)
            .take(NAMED)
            .map(|holder| holder.task.to_string())
            .collect();
        if unbounded.is_empty() {
            return Text::new(
                "排在前面的任务启动后才能知道何时启动",
                "when it starts can be said once those before it have started",
            );
        }
        Text::new(
            format!("启动时间未知：{} 没有设定时限", unbounded.join("、")),
            format!("when it starts is not known: no time limit is stated by {}", unbounded.join(", ")),
        )
    }
}

impl Holder {
    fn text(&self) -> Text {
        let task = &self.task;
        if let Some(machine) = &self.silent {
            return Text::new(
                format!("{task}（其机器 {machine} 失去联系，恢复或被声明丢失之前不会结束）"),
                format!(
                    "{task} (whose machine {machine} is out of reach: it does not end before that is back or declared lost)"
                ),
            );
        }
        match (self.until, self.is_ending) {
            (Latest::At(at), true) => Text::new(
                format!("{task}（正在让位，最迟 {} 结束）", written(at)),
                format!("{task} (giving way, ends at {} at the latest)", written(at)),
            ),
            (Latest::At(at), false) => Text::new(
                format!("{task}（最迟 {} 结束）", written(at)),
                format!("{task} (until {} at the latest)", written(at)),
            ),
            (Latest::Unknown, _) => Text::new(task.to_string(), task.to_string()),
        }
    }
}

fn over_limit(owner: &str, limits: Limits, workers: u64, tasks: u64, asks: u64) -> Text {
    match limits {
        Limits { tasks: Some(most), .. } if tasks >= u64::from(most) => Text::new(
            format!("{owner} 最多同时运行 {most} 个任务，已有 {tasks} 个；等其中一个结束"),
            format!("{owner} may run {most} tasks at a time and runs {tasks}: waits for one of them to end"),
        ),
        Limits { workers: Some(most), .. } if asks > u64::from(most) => Text::new(
            format!("需要 {asks} 个 Worker，而 {owner} 最多可用 {most} 个；请减少 Worker，或请管理员提高上限"),
            format!("needs {asks} workers, and {owner} may have {most}: ask for fewer, or for a higher limit"),
        ),
        Limits { workers: most, .. } => {
            let most = most.map_or(0, u64::from);
            Text::new(
                format!("{owner} 最多可用 {most} 个 Worker，已用 {workers} 个，还需 {asks} 个；等自己的任务结束"),
                format!(
                    "{owner} may have {most} workers, has {workers} and needs {asks} more: waits for tasks of {owner} to end"
                ),
            )
        }
    }
}

fn absent(environments: &[(String, EnvironmentStatus)], missing: &[WorkerId]) -> Text {
    if !environments.is_empty() {
        let more = if environments.len() > NAMED { " …" } else { "" };
        let list = |pick: fn(&Text) -> &str| {
            let names =
                environments.iter().take(NAMED).map(|(name, status)| format!("{name} ({})", pick(&status.text())));
            names.collect::<Vec<_>>().join(", ")
        };
        return Text::new(
            format!("等待开发环境恢复：{}{more}", list(|text| &text.zh)),
            format!("waits for environments that are out of service: {}{more}", list(|text| &text.en)),
        );
    }
    let more = if missing.len() > NAMED { " …" } else { "" };
    let names: Vec<String> = missing.iter().take(NAMED).map(ToString::to_string).collect();
    let names = names.join(", ");
    Text::new(
        format!("没有这些 Worker：{names}{more}；等它们加入，或重新选择"),
        format!("there are no such workers: {names}{more}; it waits until they join, or choose others"),
    )
}

fn never_fits(wish: &Text, size: Size, most: u32, fits_once_all_serve: bool, passed_over: &PassedOver) -> Text {
    let Size { nodes, workers } = size;
    let text = if nodes == 1 {
        Text::new(
            format!("可用的开发环境中没有一个符合要求：{}", wish.zh),
            format!("no environment in service is what it asks for: {}", wish.en),
        )
    } else {
        let be = if most <= 1 { "is" } else { "are" };
        let only = if most == 0 { "none".to_owned() } else { format!("only {most}") };
        Text::new(
            format!(
                "{} 需要 {nodes} 个开发环境，各有 {workers} 个或更多符合要求的 Worker；这样的环境可用的有 {most} 个",
                wish.zh
            ),
            format!(
                "{} take {nodes} environments with {workers} or more such workers each, and {only} {be} in service",
                wish.en
            ),
        )
    };
    let text = if passed_over.is_empty() {
        text
    } else {
        let passed = passed_over.text();
        text.followed_by(&Text::new(format!("未选：{}", passed.zh), format!("passed over: {}", passed.en)))
    };
    text.followed_by(&if fits_once_all_serve {
        Text::new(
            "现在不可用的开发环境恢复后可以满足",
            "it fits once the environments that are out of service now are back",
        )
    } else {
        Text::new(
            "即使所有已登记的开发环境都可用且空闲，也无法满足：请修改要求，或添加机器",
            "it would not fit if all that is registered were in service and free: change what it asks for, or add machines",
        )
    })
}

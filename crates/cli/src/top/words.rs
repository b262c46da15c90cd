//! What `fermi top` says of its own, in both languages. What the server says comes in both from there.

use std::borrow::Cow;

use fermi_domain::language::{Language, Text};

const fn text(zh: &'static str, en: &'static str) -> Text {
    Text { zh: Cow::Borrowed(zh), en: Cow::Borrowed(en) }
}

pub static STATUS: Text = text("状态", "STATUS");
pub static PHASE: Text = text("阶段", "PHASE");
pub static NAME: Text = text("名称", "NAME");
pub static OWNER: Text = text("所有者", "OWNER");
pub static GPUS: Text = text("GPU", "GPUS");
pub static PROGRESS: Text = text("进度", "PROGRESS");
pub static STEP_TIME: Text = text("单步用时", "STEP TIME");

pub static RUNNING: Text = text("运行", "running");
pub static WAITING: Text = text("等待", "waiting");
pub static OVER: Text = text("结束", "over");

pub static RANKS: Text = text("Rank", "Ranks");
pub static LOAD: Text = text("负载", "Load");
pub static LOG: Text = text("日志", "Log");
pub static WHY: Text = text("说明", "Why");

pub static NO_TASKS: Text = text("没有训练任务。", "There are no tasks.");
pub static NONE_FITS: Text = text("没有匹配的任务，Esc 取消筛选。", "No task fits the filter; Esc takes it away.");
pub static NO_RANKS: Text = text("尚未启动任何 rank", "no rank has started yet");
pub static NO_NUMBERS: Text = text("还没有指标", "no numbers yet");
pub static NO_LINES: Text = text("还没有输出", "nothing was written yet");
pub static LOADING: Text = text("正在读取……", "reading …");
pub static GONE: Text = text("该任务已被删除，Esc 返回", "the task has been deleted; Esc goes back");
pub static MORE: Text = text("还有更多任务未显示", "there are more tasks than shown");

pub static STEP: Text = text("步", "step");
pub static ATTEMPT: Text = text("启动", "attempt");
pub static ADVICE: Text = text("建议", "advice");
pub static CAUSE: Text = text("原因", "cause");
pub static REMAINING: Text = text("剩余", "ETA");
pub static EXITED: Text = text("退出", "exit");

pub static ASK_FILTER: Text = text("筛选：", "filter: ");
pub static ASK_RANKS: Text =
    text("查看哪些 rank 的日志（如 0 或 0,4-7）：", "log of which ranks, such as 0 or 0,4-7: ");
pub static BAD_RANKS: Text = text("请写 0 或 0,4-7，最多 8 个", "write 0 or 0,4-7, at most 8 of them");

pub static LIST_KEYS: Text = text(
    "q 退出  ? 帮助  Enter 打开  s 停止  e 说明  / 筛选  ↑↓ 选择",
    "q quit  ? help  Enter open  s stop  e explain  / filter  ↑↓ select",
);
pub static TASK_KEYS: Text = text(
    "Esc 返回  ? 帮助  Tab 切换  l 日志  s 停止  e 说明  ↑↓ 滚动",
    "Esc back  ? help  Tab pane  l log  s stop  e explain  ↑↓ scroll",
);

/// The page of keys; no more lines than a terminal of ten rows has.
pub static HELP: [(&str, Text); 9] = [
    ("↑ ↓ j k", text("选择任务；在面板中滚动", "choose a task; scroll a pane")),
    ("Enter", text("打开；在 Rank 面板中看其日志", "open; among ranks: show its log")),
    ("Tab", text("下一个面板", "next pane")),
    ("s", text("停止任务（y 确认）", "stop the task (asks y/n)")),
    ("e", text("为什么等待、为什么失败", "why it waits, why it failed")),
    ("l", text("看哪些 rank 的日志", "whose log is shown")),
    ("/", text("按名称、状态、所有者筛选", "filter by name, status, owner")),
    ("Esc", text("返回；取消筛选", "back; no filter")),
    ("q", text("退出", "quit")),
];

/// Asks before a task is stopped.
pub fn ask_stop(id: &str, name: &str) -> Text {
    Text::new(format!("停止 {id} {name}？y/n"), format!("stop {id} {name}? y/n"))
}

/// Said while a request is under way.
pub fn stopping(id: &str) -> Text {
    Text::new(format!("正在请求停止 {id}"), format!("asking the server to stop {id}"))
}

/// Said of a server that does not answer.
pub fn away(age: &Text) -> Text {
    Text::new(
        format!("服务器无应答；以下为 {}前的内容，正在重连", age.zh),
        format!("the server is away; this is {} old; trying again", age.en),
    )
}

/// How long ago: seconds below a minute, minutes below an hour, then hours.
pub fn age(seconds: u64) -> Text {
    match seconds {
        0..60 => Text::new(format!("{seconds} 秒"), format!("{seconds} s")),
        60..3600 => Text::new(format!("{} 分钟", seconds / 60), format!("{} min", seconds / 60)),
        _ => Text::new(format!("{} 小时", seconds / 3600), format!("{} h", seconds / 3600)),
    }
}

/// Refuses to open where nobody sits.
pub fn no_terminal() -> (Text, Text) {
    (
        text("fermi top 需要一个终端", "fermi top needs a terminal"),
        text("输出到管道或文件时请用 fermi task list --watch", "into a pipe or a file, use 'fermi task list --watch'"),
    )
}

/// A word in the language of the screen.
pub fn say(text: &Text, language: Language) -> &str {
    text.in_language(language)
}

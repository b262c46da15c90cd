//! What people are told while a run goes on: little, and each line with its reason.

use std::path::Path;

use fermi_domain::contract;
use fermi_domain::event::{RunEvent, StopCause};
use fermi_domain::exit::signal_name;
use fermi_domain::language::{FrontEnd, Language, Setting, Text, reason};
use fermi_domain::ledger::Account;
use fermi_domain::start_up::{SHOWN_AFTER_MS, met_text};

use super::plan::Plan;
use crate::span;

/// What is known at the start.
#[derive(Debug)]
pub struct Narrator {
    language: Language,
    ranks: usize,
    node: String,
    omp_num_threads: Option<String>,
    folder: Option<String>,
    /// Whether the first line was said.
    introduced: std::cell::Cell<bool>,
}

impl Narrator {
    pub fn new(plan: &Plan, language: Language) -> Self {
        Self {
            language,
            ranks: plan.bundle.ranks.len(),
            node: plan.bundle.node_name.clone(),
            omp_num_threads: plan.omp_num_threads.clone(),
            folder: plan.bundle.run_folder.as_deref().map(short_path),
            introduced: std::cell::Cell::new(false),
        }
    }

    /// For somebody who follows a run that others start: the line of the start is theirs.
    pub fn of_others(language: Language) -> Self {
        Self { language, ranks: 0, node: String::new(), omp_num_threads: None, folder: None, introduced: true.into() }
    }

    /// A line for what somebody did not get, which is said to those who want to hear nothing else too.
    pub fn line_of_loss(event: &RunEvent, language: Language) -> Option<String> {
        let text = match event {
            RunEvent::OutputLost { bytes, .. } => Text::new(
                format!("磁盘写不下，丢失了 {bytes} 字节日志；训练未受影响"),
                format!("{bytes} bytes of log were lost because the disk did not take them; the training went on"),
            ),
            RunEvent::JournalLost { lines } => Text::new(
                format!("磁盘写不下，运行日志（journal）缺少 {lines} 行；训练未受影响"),
                format!(
                    "{lines} lines of the journal were lost because the disk did not take them; the training went on"
                ),
            ),
            RunEvent::TerminalDropped { lines, bytes, folder, error, .. } => {
                not_shown(*lines, *bytes, folder.as_deref(), error.as_deref())
            }
            _ => return None,
        };
        Some(format!("fermi: {}\n", text.in_language(language)))
    }

    /// A line for this event, if it deserves one.
    pub fn line(&self, event: &RunEvent) -> Option<String> {
        let text = match event {
            RunEvent::AttemptStarted { master_addr, master_port, .. } if !self.introduced.replace(true) => {
                self.start(master_addr, *master_port)
            }
            RunEvent::Waiting { text } => text.clone(),
            RunEvent::NodeJoined { name, address, missing } => Text::new(
                format!("节点 {name}（{address}）已加入，还差 {missing} 个"),
                format!("{name} ({address}) has joined, {missing} more to come"),
            ),
            RunEvent::NodeLinked { address } => {
                Text::new(format!("已加入 {address} 上的任务"), format!("joined the run at {address}"))
            }
            RunEvent::NodeRefused { name, address, text } => Text::new(
                format!("已拒绝 {name}（{address}）：{}", text.zh),
                format!("{name} ({address}) was sent away: {}", text.en),
            ),
            RunEvent::NodeSuspect { name, silent_ms } => Text::new(
                format!("节点 {name} 已有 {} 秒没有消息，疑似失联", silent_ms / 1000),
                format!("nothing heard of {name} for {} s: suspect", silent_ms / 1000),
            ),
            RunEvent::NodeBack { name } => Text::new(format!("节点 {name} 恢复联系"), format!("{name} is back")),
            RunEvent::NodeLost { name, text } => {
                Text::new(format!("节点 {name} 已丢失：{}", text.zh), format!("{name} is lost: {}", text.en))
            }
            RunEvent::NodeLeaves { name, signal } => {
                let signal = signal_name(*signal);
                Text::new(
                    format!("节点 {name} 收到 {signal}，退出运行；其余节点停下后不带它继续"),
                    format!("{name} got {signal} and leaves the run; the others stop and go on without it"),
                )
            }
            // Of one node only what differs from what every restart does.
            RunEvent::CheckpointsFound { nodes, text, settings, .. } if *nodes > 1 => {
                told_with(text, settings, self.language)
            }
            RunEvent::CheckpointsSuperseded { text, .. }
            | RunEvent::CheckpointsForeign { text, .. }
            | RunEvent::RestartHeldBack { text, .. }
            | RunEvent::KeeperStopped { text, .. } => text.clone(),
            RunEvent::Stopping { signal, grace_ms, reason: StopCause::Asked, .. } => stopping(*signal, *grace_ms),
            RunEvent::RestartScheduled { attempt, after_ms, restarts_used, max_restarts } => {
                restart(*attempt, *after_ms, *restarts_used, *max_restarts)
            }
            RunEvent::AttemptFailed { verdict, .. } => {
                let headline = verdict.headline();
                match &verdict.diagnosis {
                    Some(diagnosis) => Text::new(
                        format!("{}：{}", headline.zh, diagnosis.cause.zh),
                        format!("{}: {}", headline.en, diagnosis.cause.en),
                    ),
                    None => headline,
                }
            }
            RunEvent::RanksReleased { ranks, .. } => released(ranks),
            RunEvent::RanksCold { ranks, text, .. } => cold(ranks, text),
            RunEvent::HangVerdict { text, hint, evidence, .. } => told(text, hint, evidence.as_deref()),
            RunEvent::DeviceFault { text, hint, .. } => told(text, hint, None),
            RunEvent::HangPassed { lasted_ms, .. } => {
                let seconds = format!("{:.1}", *lasted_ms as f64 / 1000.0);
                Text::new(format!("停顿 {seconds} 秒后已继续"), format!("things move again, after {seconds} s"))
            }
            RunEvent::RanksWaiting { waited_ms, text, .. } if *waited_ms >= SHOWN_AFTER_MS => {
                let seconds = waited_ms / 1000;
                Text::new(format!("{}（已 {seconds} 秒）", text.zh), format!("{} (for {seconds} s)", text.en))
            }
            RunEvent::RanksMet { waited_ms, .. } if *waited_ms >= SHOWN_AFTER_MS => met_text(*waited_ms),
            RunEvent::RunLedger { account } => ledger(account),
            RunEvent::Swept { killed, survivors, .. } if !survivors.is_empty() => unkillable(*killed, survivors),
            RunEvent::Swept { killed, left, .. } if !left.is_empty() => left_behind(*killed, left),
            event => return Self::line_of_loss(event, self.language),
        };
        Some(format!("fermi: {}\n", text.in_language(self.language)))
    }

    fn start(&self, master_addr: &str, master_port: u16) -> Text {
        let Self { ranks, node, .. } = self;
        let plural = if *ranks == 1 { "rank" } else { "ranks" };
        let master = contract::endpoint(master_addr, master_port);
        let mut zh = format!("{node} 上 {ranks} 个 rank · master {master}");
        let mut en = format!("{ranks} {plural} on {node} · master {master}");
        if let Some(folder) = &self.folder {
            zh.push_str(&format!(" · 日志 {folder}"));
            en.push_str(&format!(" · logs {folder}"));
        }
        if let Some(threads) = &self.omp_num_threads {
            let note = format!(" · OMP_NUM_THREADS={threads}");
            zh.push_str(&note);
            en.push_str(&note);
        }
        Text::new(zh, en)
    }
}

fn released(ranks: &[u32]) -> Text {
    let list = listed(ranks);
    let en = match ranks {
        [_] => format!("rank {list}: the parked interpreter goes on, nothing to import again"),
        _ => format!("ranks {list}: the parked interpreters go on, nothing to import again"),
    };
    Text::new(format!("rank {list} 由待命进程接续，无需重新导入"), en)
}

fn cold(ranks: &[u32], why: &Text) -> Text {
    let list = listed(ranks);
    let start = match ranks {
        [_] => format!("rank {list} starts cold"),
        _ => format!("ranks {list} start cold"),
    };
    Text::new(format!("rank {list} 冷启动：{}", why.zh), format!("{start}: {}", why.en))
}

/// A few ranks by number, many by their range.
fn listed(ranks: &[u32]) -> String {
    match ranks {
        [first, .., last] if ranks.len() > 4 && *last == first + (ranks.len() as u32 - 1) => format!("{first}-{last}"),
        _ => ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Who hangs and where, what to do, and where all stacks are.
fn told(text: &Text, hint: &Text, evidence: Option<&Path>) -> Text {
    let (zh, en) = match evidence.map(short_path) {
        Some(file) => (format!("\n  全部调用栈在 {file}"), format!("\n  all stacks are in {file}")),
        None => (String::new(), String::new()),
    };
    Text::new(format!("{}\n  {}{zh}", text.zh, hint.zh), format!("{}\n  {}{en}", text.en, hint.en))
}

/// The bar of a run's time.
pub fn ledger(account: &Account) -> Text {
    let (filled, rest) = account.bar();
    let (text, whole) = (account.text(), span::exact(account.wall_ms));
    Text::new(format!("{filled}{rest} {whole} · {}", text.zh), format!("{filled}{rest} {whole} · {}", text.en))
}

/// A sentence with the settings that it is about.
fn told_with(text: &Text, settings: &[Setting], language: Language) -> Text {
    let names: Vec<_> = settings.iter().map(|setting| setting.spelled(FrontEnd::CommandLine, language)).collect();
    match names.join(", ") {
        none if none.is_empty() => text.clone(),
        names => Text::new(format!("{}（{names}）", text.zh), format!("{} ({names})", text.en)),
    }
}

fn stopping(signal: i32, grace_ms: u64) -> Text {
    let (name, seconds) = (signal_name(signal), grace_ms as f64 / 1000.0);
    Text::new(
        format!("正在停止：已向所有 rank 发送 {name}，最多等待 {seconds} 秒；再按一次 Ctrl-C 立即终止"),
        format!("stopping: {name} sent to all ranks, waiting up to {seconds} s; Ctrl-C again kills them"),
    )
}

fn restart(attempt: u32, after_ms: u64, used: u32, most: u32) -> Text {
    let (zh, en) = match after_ms {
        0 => (String::new(), String::new()),
        ms => (format!("，{} 秒后", ms / 1000), format!(" in {} s", ms / 1000)),
    };
    Text::new(
        format!("重启{zh}：第 {attempt} 次启动（已用重启 {used}/{most}）"),
        format!("restarting{en}: attempt {attempt}, restart {used} of {most}"),
    )
}

/// Why lines were not written.
pub fn unwritten(error: Option<&str>) -> Text {
    match error {
        Some(error) => {
            let why = reason::of_said(error);
            Text::new(format!("无法写入（{}）", why.zh), format!("they could not be written ({})", why.en))
        }
        None => Text::new("输出没有被及时读取", "they were not read in time"),
    }
}

/// Events of `--json` that did not get out.
pub fn events_dropped(lines: u64, folder: Option<&Path>, error: Option<&str>) -> Text {
    let why = unwritten(error);
    let (zh, en) = match folder.map(short_path) {
        Some(folder) => (format!("全部事件在 {folder}/journal.ndjson"), format!("all are in {folder}/journal.ndjson")),
        None => ("没有保存日志".to_owned(), "no journal was kept".to_owned()),
    };
    Text::new(
        format!("{}，有 {lines} 个事件没有输出；{zh}", why.zh),
        format!("{lines} events were not printed because {}; {en}", why.en),
    )
}

/// The keepers did nothing after a second signal.
pub fn ended_by_force() -> Text {
    Text::new(
        "supervisor 没有反应（是否被调试器或冻结的 cgroup 停住？），它与所有 rank 已被强制终止",
        "the supervisor did not answer (does a debugger or a frozen cgroup hold it?): it and all ranks were killed",
    )
}

/// What the terminal did not get, and where it is.
fn not_shown(lines: u64, bytes: u64, folder: Option<&Path>, error: Option<&str>) -> Text {
    let why = unwritten(error);
    let (zh, en) = match folder.map(short_path) {
        Some(folder) => (format!("完整日志在 {folder}"), format!("complete logs are in {folder}")),
        None => ("日志没有保存".to_owned(), "no logs were kept".to_owned()),
    };
    Text::new(
        format!("{}，有 {lines} 行（{bytes} 字节）没有显示；训练未受影响，{zh}", why.zh),
        format!("{lines} lines ({bytes} bytes) were not shown because {}; the training went on, {en}", why.en),
    )
}

/// What ranks that ended well had left running: ended, since nothing of a run stays.
fn left_behind(killed: usize, commands: &[String]) -> Text {
    let (list, more) = (commands.join("; "), if killed > commands.len() { " …" } else { "" });
    Text::new(
        format!("rank 成功结束后仍有 {killed} 个进程在运行，已被终止：{list}{more}；请让脚本等它们结束"),
        format!("{killed} processes that ranks left running were ended: {list}{more}; let the script wait for them"),
    )
}

fn unkillable(killed: usize, survivors: &[i32]) -> Text {
    let list: Vec<_> = survivors.iter().map(i32::to_string).collect();
    let list = list.join(", ");
    Text::new(
        format!("已终止 {killed} 个遗留进程，但 {list} 无法终止（处于不可中断睡眠，通常是磁盘或驱动问题）"),
        format!(
            "{killed} leftover processes ended, but {list} cannot be killed (uninterruptible sleep, often a disk or driver)"
        ),
    )
}

/// `~/…` instead of the home folder's path.
pub fn short_path(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_and_several_are_told_apart() {
        let why = Text::new("待命进程已经退出", "the parked interpreter had ended");
        assert_eq!(cold(&[1], &why).en, "rank 1 starts cold: the parked interpreter had ended");
        assert_eq!(cold(&[0, 1], &why).en, "ranks 0, 1 start cold: the parked interpreter had ended");
        assert_eq!(cold(&[0, 1], &why).zh, "rank 0, 1 冷启动：待命进程已经退出");
        assert_eq!(released(&[1]).en, "rank 1: the parked interpreter goes on, nothing to import again");
        let several = released(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(several.en, "ranks 0-5: the parked interpreters go on, nothing to import again");
    }
}

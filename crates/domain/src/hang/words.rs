//! How a hang is said.

use std::collections::BTreeMap;

use super::sample::{StoppedBy, StoppedProcess, Tracer};
use super::stack::{Frame, own_frame, waits_for_loader};
use super::standing::GroupName;
use super::verdict::{HangCase, HangKind, Waiting};
use crate::language::Text;
use crate::pulse::Phase;

impl HangCase {
    /// One sentence: who, what, since when, where.
    pub fn text(&self, for_ms: u64, stacks: &BTreeMap<u32, Vec<Frame>>) -> Text {
        let (who, is_one) = (listed(&self.ranks), self.ranks.len() == 1);
        let ranks = if is_one { format!("rank {who}") } else { format!("ranks {who}") };
        let verb = |one: &'static str, many: &'static str| if is_one { one } else { many };
        let has = verb("has", "have");
        let seconds = format!("{:.1}", for_ms as f64 / 1e3);
        let what = self.collective.as_ref().map_or_else(
            || Text::new("集合通信", "a collective"),
            |collective| collective_of(collective, self.group.as_ref()),
        );
        let waiting = self.others();
        let (zh, en) = match self.kind {
            HangKind::Stopped => {
                let stopped = self.stopped_by();
                if self.is_child_stopped {
                    let children = verb("has a child that is stopped", "have children that are stopped");
                    (
                        format!("rank {who} 的子进程{}，{}在等待", stopped.zh, waiting.zh),
                        format!("{ranks} {children}: {}, and {}", stopped.en, waiting.en),
                    )
                } else {
                    let are = verb("is", "are");
                    (format!("rank {who} 的进程{}", stopped.zh), format!("{ranks} {are} stopped: {}", stopped.en))
                }
            }
            HangKind::NotEntered => match self.phase {
                Some(phase) => (
                    format!("rank {who} 已有 {seconds} 秒没有动静（{}）", doing(phase, is_one).zh),
                    format!("{ranks} {has} not moved for {seconds} s while {}", doing(phase, is_one).en),
                ),
                None => (
                    format!("rank {who} 已有 {seconds} 秒没有进入 {}，{}在等待", what.zh, waiting.zh),
                    format!("{ranks} {has} not entered {} for {seconds} s, and {} in it", what.en, waiting.en),
                ),
            },
            HangKind::Mismatched => {
                let each = self.each_entered();
                let seq = self.collective.as_ref().map(|(seq, _)| format!(" #{seq}")).unwrap_or_default();
                let group = self.group.as_ref().filter(|_| !self.is_circle).map(GroupName::text);
                let (zh, en) = group.map_or_else(Default::default, |group| (group.zh, format!(" of {}", group.en)));
                (
                    format!("各 rank 调用的{zh}集合通信{seq} 不一致，已等待 {seconds} 秒：{}", each.join("，")),
                    format!("ranks wait in different collectives{seq}{en} for {seconds} s: {}", each.join(", ")),
                )
            }
            HangKind::Silent if !self.unanswered.is_empty() => {
                let (gets, its) = (verb("gets", "get"), verb("its", "their"));
                let peers: Vec<String> = self.unanswered.iter().take(NAMED).map(ToString::to_string).collect();
                (
                    format!(
                        "rank {who} 与 {} 之间的连接没有应答：全部 rank 都已进入 {}，{seconds} 秒没有动静",
                        peers.join("、"),
                        what.zh
                    ),
                    format!(
                        "{ranks} {gets} no answer on {its} connections with {}: all ranks are in {}, and nothing has moved for {seconds} s",
                        peers.join(", "),
                        what.en
                    ),
                )
            }
            HangKind::Silent if self.is_apart => (
                format!(
                    "rank {who} 都已进入 {}，但 {seconds} 秒没有动静，其余 rank 继续运行：网络或设备没有响应",
                    what.zh
                ),
                format!(
                    "{ranks} {} in {}, and nothing has moved there for {seconds} s while others go on: the network or a device is silent",
                    verb("is", "are"),
                    what.en
                ),
            ),
            HangKind::Silent => (
                format!("全部 rank 都已进入 {}，但 {seconds} 秒没有动静：网络或设备没有响应", what.zh),
                format!(
                    "all ranks are in {}, and nothing has moved for {seconds} s: the network or a device is silent",
                    what.en
                ),
            ),
            HangKind::Left => (
                format!("rank {who} 已经结束，{}在 {} 中等待它", waiting.zh, what.zh),
                format!("{ranks} {has} ended, and {} for {} in {}", waiting.en, verb("it", "them"), what.en),
            ),
            HangKind::DiskWait => {
                let file = self.file.as_ref().map(|file| format!(" {file}")).unwrap_or_default();
                (
                    format!("rank {who} 读写文件{file} 已有 {seconds} 秒没有返回（D 状态）"),
                    format!(
                        "{ranks} {} for a disk: reading or writing{file} has not returned for {seconds} s (D state)",
                        verb("waits", "wait")
                    ),
                )
            }
            HangKind::Asleep => (
                format!("rank {who} 已有 {seconds} 秒既没有计算也没有读写"),
                format!("{ranks} {has} neither computed nor read or written for {seconds} s"),
            ),
            HangKind::Busy => (
                format!("rank {who} 一直在计算，已有 {seconds} 秒没有进入 {}，{}在等待", what.zh, waiting.zh),
                format!(
                    "{ranks} {} and {has} not entered {} for {seconds} s, and {} in it",
                    verb("computes", "compute"),
                    what.en,
                    waiting.en
                ),
            ),
        };
        let text = Text::new(zh, en);
        let without_interpreter = self.ranks.iter().find(|rank| self.without_interpreter.contains(rank));
        let text = match (without_interpreter, &self.other_program) {
            (_, Some((rank, program))) => Text::new(
                format!("{}；rank {rank} 的进程已经换成另一个程序：{program}（exec）", text.zh),
                format!("{}; the process of rank {rank} has become another program by an exec: {program}", text.en),
            ),
            (Some(rank), None) if self.kind != HangKind::Stopped => Text::new(
                format!("{}；rank {rank} 的解释器无法运行（本地代码持有 GIL）", text.zh),
                format!("{}; the interpreter of rank {rank} cannot run, because native code holds the GIL", text.en),
            ),
            _ => text,
        };
        match self.kind {
            HangKind::Mismatched => {
                let at: Vec<String> = self
                    .ranks
                    .iter()
                    .filter_map(|rank| own_frame(stacks.get(rank)?).map(|frame| format!("rank {rank} @ {frame}")))
                    .collect();
                let at = at.join("; ");
                if at.is_empty() {
                    text
                } else {
                    Text::new(format!("{}（{at}）", text.zh), format!("{} ({at})", text.en))
                }
            }
            _ => self.with_place(text, stacks),
        }
    }

    /// Where it is, and what it waits for there.
    fn with_place(&self, text: Text, stacks: &BTreeMap<u32, Vec<Frame>>) -> Text {
        let frames = self.ranks.first().and_then(|rank| stacks.get(rank)).map_or(&[][..], Vec::as_slice);
        let is_late = matches!(self.kind, HangKind::NotEntered | HangKind::Stopped);
        let text = match (&self.waits_in, &self.file) {
            (Some(Waiting { rank, collective, group }), _) => {
                let what = collective_of(collective, group.as_ref());
                Text::new(
                    format!("{}；rank {rank} 自己在 {} 中等待", text.zh, what.zh),
                    format!("{}; rank {rank} itself waits in {}", text.en, what.en),
                )
            }
            (None, Some(file)) if self.kind == HangKind::NotEntered => {
                Text::new(format!("{}；它在读写 {file}", text.zh), format!("{}; it reads or writes {file}", text.en))
            }
            _ if is_late && waits_for_loader(frames) => Text::new(
                format!("{}；它在等待 DataLoader 的数据", text.zh),
                format!("{}; it waits for a batch of its data loader", text.en),
            ),
            _ => text,
        };
        let Some(place) = self.place(stacks) else { return text };
        match self.kind {
            HangKind::Left => {
                let others = self.place_of_others(stacks);
                let text = match others {
                    Some(others) => Text::new(
                        format!("{}；它们位于 {others}", text.zh),
                        format!("{}; they are at {others}", text.en),
                    ),
                    None => text,
                };
                if others == Some(place) {
                    return text;
                }
                Text::new(format!("{}；它最后位于 {place}", text.zh), format!("{}; it was last at {place}", text.en))
            }
            HangKind::Stopped if !self.is_child_stopped => {
                let first = self.of_several();
                Text::new(
                    format!("{}；{}最后位于 {place}", text.zh, first.zh),
                    format!("{}; {} was last at {place}", text.en, first.en),
                )
            }
            _ if self.other_program.is_some() => Text::new(
                format!("{}；此前位于 {place}", text.zh),
                format!("{}; before that it was at {place}", text.en),
            ),
            _ if self.ranks.len() > 1 && self.kind != HangKind::Silent => {
                let first = self.of_several();
                Text::new(
                    format!("{}；{}位于 {place}", text.zh, first.zh),
                    format!("{}; {} is at {place}", text.en, first.en),
                )
            }
            _ => Text::new(format!("{}；位于 {place}", text.zh), format!("{}; it is at {place}", text.en)),
        }
    }

    /// Whose place is told: of several ranks the first one's.
    fn of_several(&self) -> Text {
        match self.ranks.as_slice() {
            [first, _, ..] => Text::new(format!("rank {first} "), format!("rank {first}")),
            _ => Text::new("", "it"),
        }
    }

    /// Which ranks have entered what, the odd ones first.
    fn each_entered(&self) -> Vec<String> {
        let mut by_name: BTreeMap<&String, Vec<u32>> = BTreeMap::new();
        for (rank, name) in &self.entered {
            by_name.entry(name).or_default().push(*rank);
        }
        let mut by_name: Vec<_> = by_name.into_iter().collect();
        by_name.sort_by_key(|(_, ranks)| (ranks.len(), ranks.first().copied()));
        by_name.into_iter().map(|(name, ranks)| format!("rank {} {name}", listed(&ranks))).collect()
    }

    /// Who waits.
    fn others(&self) -> Text {
        match (self.waiting, self.waiting_elsewhere) {
            (_, true) => Text::new("其他节点的 rank ", "ranks of other nodes wait"),
            (1, false) => Text::new("另有 1 个 rank ", "1 other waits"),
            (more, false) => Text::new(format!("另有 {more} 个 rank "), format!("{more} others wait")),
        }
    }

    /// Those that a signal has stopped, and those that a debugger holds.
    fn by_signal_or_tracer(&self) -> (Vec<&StoppedProcess>, Vec<&StoppedProcess>) {
        self.stopped.iter().partition(|stopped| stopped.by == StoppedBy::Signal)
    }

    /// Which processes stand still for whom; in Chinese it goes on from the word process.
    fn stopped_by(&self) -> Text {
        let numbers = |of: &[&StoppedProcess]| of.iter().map(|it| it.pid.to_string()).collect::<Vec<_>>().join(", ");
        let (by_signal, traced) = self.by_signal_or_tracer();
        let (mut zh, mut en) = (Vec::new(), Vec::new());
        if !by_signal.is_empty() {
            let (pids, processes) = (numbers(&by_signal), if by_signal.len() == 1 { "process" } else { "processes" });
            let were = if by_signal.len() == 1 { "was" } else { "were" };
            zh.push(format!(" {pids} 已被信号暂停（例如 SIGSTOP）"));
            en.push(format!("{processes} {pids} {were} stopped by a signal such as SIGSTOP"));
        }
        if !traced.is_empty() {
            let (pids, processes) = (numbers(&traced), if traced.len() == 1 { "process" } else { "processes" });
            let (are, by) = (if traced.len() == 1 { "is" } else { "are" }, tracers(&traced));
            zh.push(format!(" {pids} 被{}暂停", by.zh));
            en.push(format!("{processes} {pids} {are} held by {}", by.en));
        }
        Text::new(zh.join("，进程"), en.join(", "))
    }

    /// How those go on that stand still.
    fn stopped_hint(&self) -> Text {
        let (by_signal, traced) = self.by_signal_or_tracer();
        let pids = by_signal.iter().map(|it| it.pid.to_string()).collect::<Vec<_>>().join(" ");
        let of_signal = match by_signal.len() {
            0 => None,
            1 => Some(Text::new(format!("kill -CONT {pids} 可让它继续"), format!("kill -CONT {pids} lets it go on"))),
            _ => {
                Some(Text::new(format!("kill -CONT {pids} 可让它们继续"), format!("kill -CONT {pids} lets them go on")))
            }
        };
        let by = tracers(&traced);
        let of_tracer = (!traced.is_empty()).then(|| {
            Text::new(format!("在{}中继续运行，或让它脱离", by.zh), format!("continue in {}, or let it detach", by.en))
        });
        match (of_signal, of_tracer) {
            (Some(of_signal), Some(of_tracer)) => {
                Text::new(format!("{}；{}", of_signal.zh, of_tracer.zh), format!("{}; {}", of_signal.en, of_tracer.en))
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Text::new("发送 SIGCONT 可让它继续", "SIGCONT lets it go on"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Text {
        match self.kind {
            HangKind::Stopped => self.stopped_hint(),
            HangKind::NotEntered | HangKind::Busy => Text::new(
                "查看这一行为什么没有返回：锁、网络请求、数据加载，或只有部分 rank 执行的分支",
                "see why that line does not return: a lock, a request, a data loader, or a branch that only some ranks take",
            ),
            HangKind::Mismatched | HangKind::Left => Text::new(
                "让所有 rank 以相同的次序执行相同的集合通信",
                "let all ranks make the same collectives in the same order",
            ),
            HangKind::Silent if !self.unanswered.is_empty() => Text::new(
                "检查这个 rank 与其他 rank 之间的网络：防火墙、网卡、路由（fermi doctor）",
                "look at the network between this rank and the others: firewall, interface, routes (fermi doctor)",
            ),
            HangKind::Silent => Text::new(
                "检查节点之间的网络和 GPU（fermi doctor），或张量形状是否一致",
                "look at the network between the nodes and at the GPUs (fermi doctor), and whether tensors have the same shapes",
            ),
            HangKind::DiskWait => {
                Text::new("检查这个文件所在的存储是否还有响应", "see whether the storage of this file still answers")
            }
            HangKind::Asleep => Text::new("查看这一行在等什么", "see what that line waits for"),
        }
    }
}

/// Who traces these, each once.
fn tracers(traced: &[&StoppedProcess]) -> Text {
    let mut known: Vec<&Tracer> = Vec::new();
    for stopped in traced {
        match &stopped.by {
            StoppedBy::Tracer(Some(tracer)) if !known.contains(&tracer) => known.push(tracer),
            _ => {}
        }
    }
    if known.is_empty() {
        return Text::new("调试器", "a debugger");
    }
    let names = |word: &str| known.iter().map(|it| format!("{}（{word} {}）", it.name, it.pid)).collect::<Vec<_>>();
    let en: Vec<String> = known.iter().map(|it| format!("{} (process {})", it.name, it.pid)).collect();
    Text::new(format!("调试器 {}", names("进程").join("、")), format!("a debugger, {}", en.join(", ")))
}

impl GroupName {
    /// In a list, for both languages.
    pub(super) fn short(&self) -> String {
        if self.is_default { "default group".to_owned() } else { format!("group {}", self.name) }
    }

    /// As it is spoken of: by its name and its ranks.
    pub(super) fn text(&self) -> Text {
        if self.is_default {
            return Text::new("默认进程组的", "the default group");
        }
        let (name, more) = (&self.name, self.size.saturating_sub(self.ranks.len().min(NAMED)));
        let names: Vec<String> = self.ranks.iter().take(NAMED).map(u32::to_string).collect();
        let ranks = if more == 0 { names.join(", ") } else { format!("{} +{more}", names.join(", ")) };
        Text::new(format!("进程组 {name}（rank {ranks}）的"), format!("group {name} (ranks {ranks})"))
    }
}

/// A collective by its name and number, and its group where that is known.
fn collective_of((seq, name): &(u64, String), group: Option<&GroupName>) -> Text {
    match group.map(GroupName::text) {
        None => Text::new(format!("{name} #{seq}"), format!("{name} #{seq}")),
        Some(group) => Text::new(format!("{} {name} #{seq}", group.zh), format!("{name} #{seq} of {}", group.en)),
    }
}

fn doing(phase: Phase, is_one: bool) -> Text {
    let (zh, one, many) = match phase {
        Phase::Save => ("正在保存检查点", "it saves a checkpoint", "they save a checkpoint"),
        Phase::Load => ("正在加载", "it loads", "they load"),
        Phase::FirstStep => ("正在执行首步", "it makes its first step", "they make their first step"),
        Phase::Import | Phase::Init | Phase::Parked | Phase::Step => ("正在启动", "it starts", "they start"),
    };
    Text::new(zh, if is_one { one } else { many })
}

/// So many are named one by one.
const NAMED: usize = 8;

/// A few ranks by number, many by how many there are.
pub(crate) fn listed(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(NAMED);
    if more == 0 { names.join(", ") } else { format!("{} +{more}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(kind: HangKind, ranks: &[u32]) -> HangCase {
        HangCase {
            kind,
            ranks: ranks.to_vec(),
            waiting: 2,
            waiting_elsewhere: false,
            without_interpreter: Vec::new(),
            collective: Some((7, "all_reduce".to_owned())),
            group: None,
            is_apart: false,
            is_of_all: false,
            is_circle: false,
            waits_in: None,
            entered: BTreeMap::new(),
            stopped: Vec::new(),
            is_child_stopped: false,
            other_program: None,
            file: None,
            phase: None,
            unanswered: Vec::new(),
        }
    }

    fn by_signal(pids: &[i32]) -> Vec<StoppedProcess> {
        pids.iter().map(|pid| StoppedProcess { pid: *pid, by: StoppedBy::Signal }).collect()
    }

    fn english(case: &HangCase) -> String {
        case.text(2_000, &BTreeMap::new()).en.into_owned()
    }

    #[test]
    fn several_stopped_ranks_are_told_with_all_their_processes() {
        let stopped = HangCase { stopped: by_signal(&[101, 103]), ..case(HangKind::Stopped, &[1, 3]) };
        let expected = "ranks 1, 3 are stopped: processes 101, 103 were stopped by a signal such as SIGSTOP";
        assert_eq!(english(&stopped), expected);
        assert_eq!(stopped.hint().en, "kill -CONT 101 103 lets them go on");
        let children = HangCase { is_child_stopped: true, ..stopped };
        assert!(english(&children).starts_with("ranks 1, 3 have children that are stopped: processes 101, 103 were"));
        let one = HangCase { stopped: by_signal(&[101]), ..case(HangKind::Stopped, &[1]) };
        assert_eq!(english(&one), "rank 1 is stopped: process 101 was stopped by a signal such as SIGSTOP");
        assert_eq!(one.hint().en, "kill -CONT 101 lets it go on");
        let frame = Frame { file: "train.py".to_owned(), line: 3, function: "step".to_owned() };
        let stacks = BTreeMap::from([(1, vec![frame])]);
        let two = HangCase { stopped: by_signal(&[101, 103]), ..case(HangKind::Stopped, &[1, 3]) };
        assert!(
            two.text(1, &stacks).en.ends_with("; rank 1 was last at train.py:3 (step)"),
            "{}",
            two.text(1, &stacks).en
        );
    }

    #[test]
    fn who_is_held_by_a_debugger_is_not_told_to_be_stopped_by_a_signal() {
        let held = |pid, tracer: Option<(i32, &str)>| StoppedProcess {
            pid,
            by: StoppedBy::Tracer(tracer.map(|(pid, name)| Tracer { pid, name: name.to_owned() })),
        };
        let both = [by_signal(&[101]), vec![held(103, Some((300, "gdb")))]].concat();
        let cases = [
            (
                vec![held(101, Some((300, "gdb")))],
                vec![1],
                "rank 1 is stopped: process 101 is held by a debugger, gdb (process 300)",
                "continue in a debugger, gdb (process 300), or let it detach",
                "rank 1 的进程 101 被调试器 gdb（进程 300）暂停",
            ),
            (
                vec![held(101, None), held(103, None)],
                vec![1, 3],
                "ranks 1, 3 are stopped: processes 101, 103 are held by a debugger",
                "continue in a debugger, or let it detach",
                "rank 1, 3 的进程 101, 103 被调试器暂停",
            ),
            (
                both,
                vec![1, 3],
                "ranks 1, 3 are stopped: process 101 was stopped by a signal such as SIGSTOP, process 103 is held by a \
                 debugger, gdb (process 300)",
                "kill -CONT 101 lets it go on; continue in a debugger, gdb (process 300), or let it detach",
                "rank 1, 3 的进程 101 已被信号暂停（例如 SIGSTOP），进程 103 被调试器 gdb（进程 300）暂停",
            ),
        ];
        for (stopped, ranks, en, hint, zh) in cases {
            let case = HangCase { stopped, ..case(HangKind::Stopped, &ranks) };
            assert_eq!(english(&case), en);
            assert_eq!(case.hint().en, hint);
            assert_eq!(case.text(2_000, &BTreeMap::new()).zh, zh);
        }
    }

    #[test]
    fn verbs_follow_the_number_of_ranks() {
        for (kind, expected) in [
            (HangKind::NotEntered, "ranks 1, 3 have not entered all_reduce #7 for 2.0 s, and 2 others wait in it"),
            (HangKind::Left, "ranks 1, 3 have ended, and 2 others wait for them in all_reduce #7"),
            (HangKind::Asleep, "ranks 1, 3 have neither computed nor read or written for 2.0 s"),
            (
                HangKind::Busy,
                "ranks 1, 3 compute and have not entered all_reduce #7 for 2.0 s, and 2 others wait in it",
            ),
        ] {
            assert_eq!(english(&case(kind, &[1, 3])), expected);
        }
    }

    #[test]
    fn a_rank_that_has_become_another_program_does_not_hold_the_gil() {
        let become_other = HangCase {
            other_program: Some((1, "sleep 600".to_owned())),
            without_interpreter: vec![1],
            ..case(HangKind::NotEntered, &[1])
        };
        let text = english(&become_other);
        assert!(text.ends_with("; the process of rank 1 has become another program by an exec: sleep 600"), "{text}");
        assert!(!text.contains("GIL"), "{text}");
    }
}

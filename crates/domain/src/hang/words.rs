//! How a hang is said.

use std::collections::BTreeMap;

use super::stack::{Frame, own_frame, waits_for_loader};
use super::verdict::{HangCase, HangKind};
use crate::language::Text;
use crate::pulse::Phase;

impl HangCase {
    /// One sentence: who, what, since when, where.
    pub fn text(&self, for_ms: u64, stacks: &BTreeMap<u32, Vec<Frame>>) -> Text {
        let who = listed(&self.ranks);
        let seconds = format!("{:.1}", for_ms as f64 / 1e3);
        let what = self.collective.as_ref().map(|(seq, name)| format!("{name} #{seq}"));
        let what = Text::new(
            what.clone().unwrap_or_else(|| "集合通信".to_owned()),
            what.unwrap_or_else(|| "a collective".to_owned()),
        );
        let waiting = self.others();
        let (zh, en) = match self.kind {
            HangKind::Stopped => {
                let pid = self.stopped_pid.map(|pid| format!(" {pid}")).unwrap_or_default();
                if self.is_child_stopped {
                    (
                        format!("rank {who} 的子进程{pid} 已被信号暂停（例如 SIGSTOP），{}在等待", waiting.zh),
                        format!(
                            "rank {who} has a child that is stopped: process{pid} was stopped by a signal such as SIGSTOP, and {}",
                            waiting.en
                        ),
                    )
                } else {
                    (
                        format!("rank {who} 的进程{pid} 已被信号暂停（例如 SIGSTOP）"),
                        format!("rank {who} is stopped: process{pid} was stopped by a signal such as SIGSTOP"),
                    )
                }
            }
            HangKind::NotEntered => match self.phase {
                Some(phase) => (
                    format!("rank {who} 已有 {seconds} 秒没有动静（{}）", doing(phase).zh),
                    format!("rank {who} has not moved for {seconds} s while {}", doing(phase).en),
                ),
                None => (
                    format!("rank {who} 已有 {seconds} 秒没有进入 {}，{}在等待", what.zh, waiting.zh),
                    format!("rank {who} has not entered {} for {seconds} s, and {} in it", what.en, waiting.en),
                ),
            },
            HangKind::Mismatched => {
                let each = self.each_entered();
                let seq = self.collective.as_ref().map(|(seq, _)| format!(" #{seq}")).unwrap_or_default();
                (
                    format!("各 rank 调用的集合通信{seq} 不一致，已等待 {seconds} 秒：{}", each.join("，")),
                    format!("ranks wait in different collectives{seq} for {seconds} s: {}", each.join(", ")),
                )
            }
            HangKind::Silent if !self.unanswered.is_empty() => {
                let peers: Vec<String> = self.unanswered.iter().take(NAMED).map(ToString::to_string).collect();
                (
                    format!(
                        "rank {who} 与 {} 之间的连接没有应答：全部 rank 都已进入 {}，{seconds} 秒没有动静",
                        peers.join("、"),
                        what.zh
                    ),
                    format!(
                        "rank {who} gets no answer on its connections with {}: all ranks are in {}, and nothing has moved for {seconds} s",
                        peers.join(", "),
                        what.en
                    ),
                )
            }
            HangKind::Silent => (
                format!("全部 rank 都已进入 {}，但 {seconds} 秒没有动静：网络或设备没有响应", what.zh),
                format!(
                    "all ranks are in {}, and nothing has moved for {seconds} s: the network or a device is silent",
                    what.en
                ),
            ),
            HangKind::Left => (
                format!("rank {who} 已经结束，{}在 {} 中等待它", waiting.zh, what.zh),
                format!("rank {who} has ended, and {} for it in {}", waiting.en, what.en),
            ),
            HangKind::DiskWait => {
                let file = self.file.as_ref().map(|file| format!(" {file}")).unwrap_or_default();
                (
                    format!("rank {who} 读写文件{file} 已有 {seconds} 秒没有返回（D 状态）"),
                    format!(
                        "rank {who} waits for a disk: reading or writing{file} has not returned for {seconds} s (D state)"
                    ),
                )
            }
            HangKind::Asleep => (
                format!("rank {who} 已有 {seconds} 秒既没有计算也没有读写"),
                format!("rank {who} has neither computed nor read or written for {seconds} s"),
            ),
            HangKind::Busy => (
                format!("rank {who} 一直在计算，已有 {seconds} 秒没有进入 {}，{}在等待", what.zh, waiting.zh),
                format!(
                    "rank {who} computes and has not entered {} for {seconds} s, and {} in it",
                    what.en, waiting.en
                ),
            ),
        };
        let text = Text::new(zh, en);
        let text = match self.ranks.iter().find(|rank| self.without_interpreter.contains(rank)) {
            Some(rank) if self.kind != HangKind::Stopped => Text::new(
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
        let text = match &self.file {
            Some(file) if self.kind == HangKind::NotEntered => {
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
                Text::new(format!("{}；最后位于 {place}", text.zh), format!("{}; it was last at {place}", text.en))
            }
            _ => Text::new(format!("{}；位于 {place}", text.zh), format!("{}; it is at {place}", text.en)),
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

    /// What to do about it.
    pub fn hint(&self) -> Text {
        match self.kind {
            HangKind::Stopped => match self.stopped_pid {
                Some(pid) => {
                    Text::new(format!("kill -CONT {pid} 可让它继续"), format!("kill -CONT {pid} lets it go on"))
                }
                None => Text::new("发送 SIGCONT 可让它继续", "SIGCONT lets it go on"),
            },
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

fn doing(phase: Phase) -> Text {
    match phase {
        Phase::Save => Text::new("正在保存检查点", "it saves a checkpoint"),
        Phase::Load => Text::new("正在加载", "it loads"),
        Phase::FirstStep => Text::new("正在执行首步", "it makes its first step"),
        Phase::Import | Phase::Init | Phase::Parked | Phase::Step => Text::new("正在启动", "it starts"),
    }
}

/// So many are named one by one.
const NAMED: usize = 8;

/// A few ranks by number, many by how many there are.
pub(crate) fn listed(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(NAMED);
    if more == 0 { names.join(", ") } else { format!("{} +{more}", names.join(", ")) }
}

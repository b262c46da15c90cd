//! Who hangs and how, and how that is said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sample::RankSample;
use super::stack::{Frame, own_frame};
use crate::language::Text;
use crate::pulse::Phase;

/// The ways in which a run stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HangKind {
    /// A signal has stopped a rank, or a child of its.
    Stopped,
    /// A rank has not entered the collective in which others wait.
    NotEntered,
    /// Ranks have entered different collectives.
    Mismatched,
    /// All ranks are in a collective, and nothing comes through.
    Silent,
    /// A rank has ended, and the others wait for it.
    Left,
    /// A read or write of a rank does not return.
    DiskWait,
    /// A rank does nothing, and no other waits for it in a collective.
    Asleep,
    /// A rank computes, and has not come to where the others wait, for very long.
    Busy,
}

/// What a verdict is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangCase {
    pub kind: HangKind,
    /// Those that it is about, in their order.
    pub ranks: Vec<u32>,
    /// How many others of this node wait for them, and whether only ranks of other nodes do.
    pub waiting: usize,
    pub waiting_elsewhere: bool,
    /// Ranks whose interpreter cannot run: native code holds its lock, or the process is stopped.
    pub without_interpreter: Vec<u32>,
    /// What is spoken of, such as `all_reduce`, with its number.
    pub collective: Option<(u64, String)>,
    /// What each rank has entered, where that differs.
    pub entered: BTreeMap<u32, String>,
    pub stopped_pid: Option<i32>,
    pub file: Option<String>,
    pub phase: Option<Phase>,
}

impl HangCase {
    /// What the samples say at a time when nothing moves. `ended` are ranks that have returned 0; `begun_elsewhere` is how
    /// many collectives ranks of other nodes have entered.
    pub fn of(samples: &[RankSample], ended: &[u32], begun_elsewhere: u64) -> Self {
        let stopped_child = |sample: &RankSample| sample.work.as_ref().and_then(|work| work.stopped_child);
        let most = samples.iter().map(RankSample::enqueued).max().unwrap_or(0).max(begun_elsewhere);
        let in_phase = |sample: &&RankSample| sample.phase().is_some_and(|phase| phase != Phase::Step);
        let is_behind = |sample: &&RankSample| sample.enqueued() < most;
        let stopped = pick(samples, |sample| sample.is_stopped() || stopped_child(sample).is_some());
        let is_late = |sample: &RankSample| in_phase(&sample) || is_behind(&sample);
        // Who is behind and waits in a collective is held up by one that is behind and does not.
        let free = pick(samples, |sample| is_late(sample) && !sample.waits_in_collective());
        let behind = if free.is_empty() { pick(samples, is_late) } else { free };
        let pending = samples.iter().any(RankSample::waits_in_collective);
        let entered = entered(samples);
        let (kind, ranks) = if !stopped.is_empty() {
            (HangKind::Stopped, stopped)
        } else if !behind.is_empty() {
            let stuck = |sample: &RankSample| behind.contains(&sample.rank) && is_in_disk_wait(sample);
            let in_disk_wait = pick(samples, stuck);
            if in_disk_wait.is_empty() { (HangKind::NotEntered, behind) } else { (HangKind::DiskWait, in_disk_wait) }
        } else if !ended.is_empty() && pending {
            (HangKind::Left, ended.to_vec())
        } else if pending && !entered.is_empty() {
            (HangKind::Mismatched, entered.keys().copied().collect())
        } else if pending {
            (HangKind::Silent, samples.iter().map(|sample| sample.rank).collect())
        } else {
            (HangKind::Asleep, samples.iter().map(|sample| sample.rank).collect())
        };
        let of_them = || samples.iter().filter(|sample| ranks.contains(&sample.rank));
        let newest = samples.iter().filter(|sample| sample.enqueued() == most).find_map(RankSample::pending);
        Self {
            kind,
            waiting: samples.iter().filter(|sample| !ranks.contains(&sample.rank)).count(),
            waiting_elsewhere: samples.iter().all(|sample| sample.enqueued() < most),
            without_interpreter: Vec::new(),
            collective: newest.map(|pending| (pending.seq, pending.name.clone())),
            entered: if kind == HangKind::Mismatched { entered } else { BTreeMap::new() },
            stopped_pid: of_them()
                .find_map(|sample| stopped_child(sample).or(sample.is_stopped().then_some(sample.pid))),
            file: of_them().find_map(|sample| sample.work.as_ref()?.waits_for_file.clone()),
            phase: of_them().find_map(|sample| sample.phase().filter(|phase| *phase != Phase::Step)),
            ranks,
        }
    }

    /// Where the first of the ranks stands.
    pub fn place<'a>(&self, stacks: &'a BTreeMap<u32, Vec<Frame>>) -> Option<&'a Frame> {
        self.ranks.iter().find_map(|rank| stacks.get(rank).and_then(|frames| own_frame(frames)))
    }

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
                (
                    format!("rank {who} 的进程{pid} 已被信号暂停（例如 SIGSTOP）"),
                    format!("rank {who} is stopped: process{pid} was stopped by a signal such as SIGSTOP"),
                )
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
                let each: Vec<String> = self.entered.iter().map(|(rank, name)| format!("rank {rank} {name}")).collect();
                let seq = self.collective.as_ref().map(|(seq, _)| format!(" #{seq}")).unwrap_or_default();
                (
                    format!("各 rank 调用的集合通信{seq} 不一致，已等待 {seconds} 秒：{}", each.join("，")),
                    format!("ranks wait in different collectives{seq} for {seconds} s: {}", each.join(", ")),
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
            HangKind::Left => text,
            _ => match self.place(stacks) {
                Some(place) => {
                    Text::new(format!("{}；位于 {place}", text.zh), format!("{}; it is at {place}", text.en))
                }
                None => text,
            },
        }
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

fn pick(samples: &[RankSample], which: impl Fn(&RankSample) -> bool) -> Vec<u32> {
    samples.iter().filter(|sample| which(sample)).map(|sample| sample.rank).collect()
}

fn is_in_disk_wait(sample: &RankSample) -> bool {
    sample.state == b'D'
}

/// What each rank has entered, where those that are at the same collective of a group do not agree.
fn entered(samples: &[RankSample]) -> BTreeMap<u32, String> {
    let pending = |sample: &RankSample| sample.pending().map(|pending| (sample.rank, pending.clone()));
    let all: Vec<_> = samples.iter().filter_map(pending).collect();
    let differ = all.windows(2).any(|pair| {
        let ((_, a), (_, b)) = (&pair[0], &pair[1]);
        (a.seq, &a.group) == (b.seq, &b.group) && a.name != b.name
    });
    if differ { all.into_iter().map(|(rank, pending)| (rank, pending.name)).collect() } else { BTreeMap::new() }
}

fn doing(phase: Phase) -> Text {
    match phase {
        Phase::Save => Text::new("正在保存检查点", "it saves a checkpoint"),
        Phase::Load => Text::new("正在加载", "it loads"),
        Phase::FirstStep => Text::new("正在执行首步", "it makes its first step"),
        Phase::Import | Phase::Init | Phase::Parked | Phase::Step => Text::new("正在启动", "it starts"),
    }
}

/// A few ranks by number, many by how many there are.
fn listed(ranks: &[u32]) -> String {
    const NAMED: usize = 8;
    let names: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(NAMED);
    if more == 0 { names.join(", ") } else { format!("{} +{more}", names.join(", ")) }
}

//! The sentence: "ranks 0–6 wait for rank 7 on gn7, which is importing".

use super::{AwaitedRank, RanksWait, Standing};
use crate::{
    language::{Hint, Text},
    pulse::Phase,
};

/// How many groups of awaited ranks are named.
const NAMED: usize = 3;
/// How many stretches of ranks are written out.
const STRETCHES: usize = 8;

impl RanksWait {
    pub fn text(&self) -> Text {
        let (waiting, awaited) = (named(&self.waiting), Awaited::of(&self.awaited).text(Unknown::Said));
        let waits = if self.waiting.len() == 1 { "waits" } else { "wait" };
        Text::new(
            format!("{} 正在等待 {}", waiting.zh, awaited.zh),
            format!("{} {waits} for {}", waiting.en, awaited.en),
        )
    }

    /// What to look at.
    pub fn hint(awaited: &[AwaitedRank]) -> Hint {
        let ranks: Vec<u32> = awaited.iter().map(|rank| rank.rank).collect();
        let ranks = named(&ranks);
        Hint::new(
            format!("查看 {} 写了什么，以及它停在哪里", ranks.zh),
            format!("see what {} writes, and where it stands", ranks.en),
        )
        .on_command_line(
            format!("查看 {} 写了什么（fermi task logs），以及它停在哪里（fermi task stacks）", ranks.zh),
            format!("see what {} writes (fermi task logs) and where it stands (fermi task stacks)", ranks.en),
        )
    }
}

/// Nobody waits any more.
pub fn met_text(waited_ms: u64) -> Text {
    let seconds = waited_ms as f64 / 1e3;
    Text::new(
        format!("等待 {seconds:.1} 秒后，所有 rank 都已到齐"),
        format!("nobody waits for another rank any more, after {seconds:.1} s"),
    )
}

/// What a start-up that took too long has waited for, and who was there.
pub fn waited_in_vain(missing: &[AwaitedRank], joined: &[u32]) -> Text {
    let awaited = Awaited::of(missing).text(Unknown::Omitted);
    let (zh, en) = match joined {
        [] => (String::new(), String::new()),
        _ => {
            let (ranks, have) = (named(joined), if joined.len() == 1 { "has" } else { "have" });
            (format!("；{} 已加入", ranks.zh), format!("; {} {have} joined", ranks.en))
        }
    };
    Text::new(
        format!("启动超时，未到达：{}{zh}", awaited.zh),
        format!("the start timed out waiting for {}{en}", awaited.en),
    )
}

/// Ranks that are waited for, those of one node that do the same together.
#[derive(Debug)]
struct Awaited<'a> {
    groups: Vec<(&'a AwaitedRank, Vec<u32>)>,
}

/// Whether it is said of a rank that it has not joined where nothing else is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    Said,
    Omitted,
}

impl<'a> Awaited<'a> {
    fn of(ranks: &'a [AwaitedRank]) -> Self {
        let mut groups: Vec<(&AwaitedRank, Vec<u32>)> = Vec::new();
        for rank in ranks {
            let alike = |known: &AwaitedRank| {
                (&known.node, known.standing, known.phase) == (&rank.node, rank.standing, rank.phase)
            };
            match groups.iter_mut().find(|(known, _)| alike(known)) {
                Some((_, ranks)) => ranks.push(rank.rank),
                None => groups.push((rank, vec![rank.rank])),
            }
        }
        Self { groups }
    }

    fn text(&self, unknown: Unknown) -> Text {
        let shown = &self.groups[..self.groups.len().min(NAMED)];
        let more: usize = self.groups.iter().skip(NAMED).map(|(_, ranks)| ranks.len()).sum();
        let parts: Vec<Text> = shown.iter().map(|(rank, ranks)| group(rank, ranks, unknown)).collect();
        let zh: Vec<&str> = parts.iter().map(|part| part.zh.as_ref()).collect();
        let en: Vec<&str> = parts.iter().map(|part| part.en.as_ref()).collect();
        let (zh_more, en_more) = match more {
            0 => (String::new(), String::new()),
            _ => (format!("，以及另外 {more} 个 rank"), format!(", and {more} more")),
        };
        let en = match en.as_slice() {
            [all @ .., last] if !all.is_empty() && more == 0 => format!("{}, and {last}", all.join(", ")),
            all => all.join(", "),
        };
        Text::new(format!("{}{zh_more}", zh.join("、")), format!("{en}{en_more}"))
    }
}

/// "ranks 4–7 on gn7, which are importing".
fn group(rank: &AwaitedRank, ranks: &[u32], unknown: Unknown) -> Text {
    let (of_node, all) = (&rank.node, named(ranks));
    let (zh, en) = (format!("{of_node} 上的 {}", all.zh), format!("{} on {of_node}", all.en));
    if unknown == Unknown::Omitted && rank.phase.is_none() {
        return Text::new(zh, en);
    }
    let doing = doing(rank.standing, rank.phase, if ranks.len() == 1 { ("is", "has") } else { ("are", "have") });
    Text::new(format!("{zh}（{}）", doing.zh), format!("{en}, which {}", doing.en))
}

fn doing(standing: Standing, phase: Option<Phase>, (is, has): (&str, &str)) -> Text {
    match (standing, phase) {
        (Standing::Ended, _) => Text::new("已结束", format!("{has} ended")),
        (Standing::NotJoined, Some(Phase::Import)) => Text::new("正在导入", format!("{is} importing")),
        (Standing::NotJoined, Some(Phase::Init)) => Text::new("正在连接", format!("{is} connecting")),
        (Standing::NotJoined, Some(Phase::Parked)) => Text::new("待命中", format!("{is} parked")),
        (_, Some(Phase::Load)) => Text::new("正在加载", format!("{is} loading")),
        (_, Some(Phase::FirstStep)) => Text::new("正在执行首步", format!("{is} in the first step")),
        (_, Some(Phase::Step)) => Text::new("正在训练", format!("{is} training")),
        (_, Some(Phase::Save)) => Text::new("正在保存检查点", format!("{is} saving a checkpoint")),
        (Standing::Joined, Some(Phase::Init)) => {
            Text::new("正在执行 init_process_group", format!("{is} in init_process_group"))
        }
        (Standing::Joined, Some(Phase::Import | Phase::Parked) | None) => {
            Text::new("已加入，尚未进行到这一步", format!("{has} joined and not come so far"))
        }
        (Standing::NotJoined, None) => Text::new("尚未加入", format!("{has} not joined")),
    }
}

/// "rank 7", "ranks 0–6, 9".
fn named(ranks: &[u32]) -> Text {
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    let list = stretches(ranks);
    Text::new(format!("rank {list}"), format!("{word} {list}"))
}

/// Neighbours as a stretch, two of them by their numbers.
fn stretches(ranks: &[u32]) -> String {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    for rank in sorted {
        match stretches.last_mut() {
            Some((_, last)) if rank == *last + 1 => *last = rank,
            _ => stretches.push((rank, rank)),
        }
    }
    let written = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    let more = if stretches.len() > STRETCHES { " …" } else { "" };
    let list: Vec<String> = stretches.iter().take(STRETCHES).map(written).collect();
    format!("{}{more}", list.join(", "))
}

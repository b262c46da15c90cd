//! What the dumps of all ranks say together.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Dump, FlightRecord};
use crate::hang::{Frame, HangKind, StackGroup, grouped, listed, own_frame};
use crate::language::Text;

/// The dumps of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DumpReport {
    /// Those of which something is known.
    pub ranks: usize,
    /// Numbers that are missing below the highest.
    pub missing: Vec<u32>,
    /// Where main threads stand, the most ranks first.
    pub stacks: Vec<StackGroup>,
    /// None where nothing sets ranks apart.
    pub verdict: Option<DumpVerdict>,
}

/// Who seems to be the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DumpVerdict {
    pub kind: HangKind,
    pub ranks: Vec<u32>,
    pub text: Text,
}

impl DumpReport {
    /// By rank; of several dumps of one rank, each may tell something else.
    pub fn of(dumps: &BTreeMap<u32, Vec<Dump>>) -> Self {
        let stacks: BTreeMap<u32, Vec<Frame>> = dumps
            .iter()
            .filter_map(|(rank, dumps)| {
                Some((*rank, dumps.iter().rev().find(|dump| !dump.frames.is_empty())?.frames.clone()))
            })
            .collect();
        let records: BTreeMap<u32, &FlightRecord> = dumps
            .iter()
            .filter_map(|(rank, dumps)| Some((*rank, dumps.iter().rev().find_map(|dump| dump.record.as_ref())?)))
            .collect();
        let records = with_names(&records);
        let records: BTreeMap<u32, &FlightRecord> = records.iter().map(|(rank, record)| (*rank, &**record)).collect();
        let highest = dumps.keys().next_back().copied().unwrap_or(0);
        let groups = grouped(&stacks);
        Self {
            ranks: dumps.len(),
            missing: (0..highest).filter(|rank| !dumps.contains_key(rank)).collect(),
            verdict: of_records(&records, &stacks).or_else(|| of_stacks(&groups)),
            stacks: groups,
        }
    }
}

/// A group's number differs from rank to rank; a rank that does not say what it stands for has it from the others.
fn with_names<'a>(records: &BTreeMap<u32, &'a FlightRecord>) -> BTreeMap<u32, Cow<'a, FlightRecord>> {
    let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (number, name) in records.values().flat_map(|record| &record.collectives.names) {
        names.entry(number.clone()).or_default().insert(name);
    }
    let named = |record: &'a FlightRecord| {
        let knows = |number: &String| record.collectives.names.contains_key(number) || !names.contains_key(number);
        let knows_all = record.pg_status.keys().all(knows);
        if knows_all { Cow::Borrowed(record) } else { Cow::Owned(record.with_names_of(&names)) }
    };
    records.iter().map(|(rank, record)| (*rank, named(record))).collect()
}

/// How far a rank is in one process group.
#[derive(Clone, Copy)]
struct Standing {
    rank: u32,
    enqueued: i64,
    waits: bool,
}

fn of_records(records: &BTreeMap<u32, &FlightRecord>, stacks: &BTreeMap<u32, Vec<Frame>>) -> Option<DumpVerdict> {
    let names: BTreeSet<&str> = records.values().flat_map(|record| record.groups()).collect();
    let mut held_up = None;
    for group in names {
        let standings: Vec<Standing> = records
            .iter()
            .filter_map(|(rank, record)| {
                let status = record.status(group)?;
                Some(Standing { rank: *rank, enqueued: status.last_enqueued_collective, waits: status.waits() })
            })
            .collect();
        let most = standings.iter().map(|standing| standing.enqueued).max().unwrap_or(0);
        let waiting: Vec<u32> =
            standings.iter().filter(|it| it.enqueued == most && it.waits).map(|it| it.rank).collect();
        if waiting.is_empty() {
            continue;
        }
        let entered: BTreeMap<u32, &str> =
            waiting.iter().filter_map(|rank| Some((*rank, records.get(rank)?.name_of(group, most)?))).collect();
        let behind: Vec<u32> = standings.iter().filter(|it| it.enqueued < most).map(|it| it.rank).collect();
        // Who waits in another group is held up by somebody there.
        let is_free = |rank: &&u32| records.get(rank).is_some_and(|record| !record.waits());
        let free: Vec<u32> = behind.iter().filter(is_free).copied().collect();
        let verdict = if !free.is_empty() {
            return Some(not_entered(free, &waiting, &entered, most, stacks));
        } else if !behind.is_empty() {
            not_entered(behind, &waiting, &entered, most, stacks)
        } else if entered.values().collect::<BTreeSet<_>>().len() > 1 {
            mismatched(&entered, most)
        } else {
            silent(waiting, &entered, most)
        };
        let is_clearer = held_up.as_ref().is_none_or(|known: &DumpVerdict| known.kind == HangKind::Silent);
        if is_clearer {
            held_up = Some(verdict);
        }
    }
    held_up
}

fn what(entered: &BTreeMap<u32, &str>, seq: i64) -> String {
    let name = entered.values().next().copied().unwrap_or("collective");
    format!("{name} #{seq}")
}

fn not_entered(
    ranks: Vec<u32>,
    waiting: &[u32],
    entered: &BTreeMap<u32, &str>,
    seq: i64,
    stacks: &BTreeMap<u32, Vec<Frame>>,
) -> DumpVerdict {
    let (who, what, others) = (listed(&ranks), what(entered, seq), waiting.len());
    let place = ranks.iter().find_map(|rank| stacks.get(rank).and_then(|frames| own_frame(frames)));
    let (zh, en) =
        place.map_or_else(Default::default, |place| (format!("；位于 {place}"), format!("; it is at {place}")));
    let text = Text::new(
        format!("rank {who} 没有进入 {what}，{others} 个 rank 在其中等待{zh}"),
        format!("rank {who} has not entered {what}, in which {others} wait{en}"),
    );
    DumpVerdict { kind: HangKind::NotEntered, ranks, text }
}

fn mismatched(entered: &BTreeMap<u32, &str>, seq: i64) -> DumpVerdict {
    let mut by_name: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    entered.iter().for_each(|(rank, name)| by_name.entry(*name).or_default().push(*rank));
    let each: Vec<String> = by_name.iter().map(|(name, ranks)| format!("rank {} {name}", listed(ranks))).collect();
    let text = Text::new(
        format!("各 rank 调用的集合通信 #{seq} 不一致：{}", each.join("，")),
        format!("ranks are in different collectives #{seq}: {}", each.join(", ")),
    );
    DumpVerdict { kind: HangKind::Mismatched, ranks: entered.keys().copied().collect(), text }
}

fn silent(waiting: Vec<u32>, entered: &BTreeMap<u32, &str>, seq: i64) -> DumpVerdict {
    let (what, count) = (what(entered, seq), waiting.len());
    let text = Text::new(
        format!("全部 {count} 个 rank 都在 {what} 中：网络或设备没有响应，或张量形状不一致"),
        format!("all {count} ranks are in {what}: the network or a device is silent, or shapes differ"),
    );
    DumpVerdict { kind: HangKind::Silent, ranks: waiting, text }
}

/// Without records the few that stand elsewhere than most are worth a look.
fn of_stacks(groups: &[StackGroup]) -> Option<DumpVerdict> {
    let (most, others) = groups.split_first()?;
    let mut ranks: Vec<u32> = others.iter().flat_map(|group| group.ranks.iter().copied()).collect();
    ranks.sort_unstable();
    if ranks.is_empty() || ranks.len() >= most.ranks.len() {
        return None;
    }
    let place = |group: &StackGroup| own_frame(&group.frames).map(ToString::to_string).unwrap_or_default();
    let (who, count, there) = (listed(&ranks), most.ranks.len(), place(most));
    let here = others.first().map(place).unwrap_or_default();
    let text = Text::new(
        format!("rank {who} 位于 {here}，其余 {count} 个 rank 位于 {there}"),
        format!("rank {who} is at {here}, and the {count} others are at {there}"),
    );
    Some(DumpVerdict { kind: HangKind::NotEntered, ranks, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(groups: &[(&str, i64, i64)], name: &str) -> Vec<Dump> {
        let status: serde_json::Map<_, _> = groups
            .iter()
            .map(|(group, begun, ended)| {
                let status = serde_json::json!({"last_enqueued_collective": begun, "last_completed_collective": ended});
                ((*group).to_owned(), status)
            })
            .collect();
        let entries: Vec<_> = groups
            .iter()
            .map(|(group, begun, _)| {
                serde_json::json!({"collective_seq_id": begun, "profiling_name": format!("nccl:{name}"),
                    "process_group": [group, "x"], "state": "started"})
            })
            .collect();
        let text = serde_json::json!({"version": "2.10", "pg_status": status, "entries": entries}).to_string();
        Dump::read(text.as_bytes()).unwrap()
    }

    fn stack(line: u32) -> Vec<Dump> {
        Dump::read(
            format!("Current thread 0x1 (most recent call first):\n  File \"a.py\", line {line} in f\n").as_bytes(),
        )
        .unwrap()
    }

    fn verdict(dumps: Vec<Vec<Dump>>) -> (Vec<u32>, String) {
        let dumps = (0..).zip(dumps).collect();
        let verdict = DumpReport::of(&dumps).verdict.unwrap();
        (verdict.ranks, verdict.text.en.into_owned())
    }

    #[test]
    fn who_is_behind_in_a_group_is_named_with_its_line() {
        let ahead = || recorded(&[("0", 41, 40)], "all_reduce");
        let mut behind = recorded(&[("0", 40, 40)], "all_reduce");
        behind.extend(stack(15));
        let (ranks, text) = verdict(vec![ahead(), ahead(), behind, ahead()]);
        assert_eq!(ranks, [2]);
        assert_eq!(text, "rank 2 has not entered all_reduce #41, in which 3 wait; it is at a.py:15 (f)");
    }

    #[test]
    fn who_waits_in_another_group_is_not_the_one() {
        // 0 waits for 1 in group 0, and 1 for 2 in group 1.
        let first = recorded(&[("0", 9, 8)], "all_reduce");
        let second = recorded(&[("0", 8, 8), ("1", 5, 4)], "all_gather");
        let third = recorded(&[("1", 4, 4)], "all_gather");
        let (ranks, text) = verdict(vec![first, second, third]);
        assert_eq!((ranks, text.contains("all_gather #5")), (vec![2], true), "{text}");
    }

    #[test]
    fn groups_are_compared_by_their_names_which_numbers_are_not() {
        // Each rank calls its second group 1; they are two, of which the second has made fewer collectives.
        let record = |name: &str, begun: i64, ended: i64| {
            let entry = |group: &str, number: i64, seq: i64| {
                serde_json::json!({"collective_seq_id": seq, "profiling_name": "nccl:all_reduce", "pg_id": number,
                    "process_group": [group, "x"], "state": "started"})
            };
            let status = |begun: i64, ended: i64| serde_json::json!({"last_enqueued_collective": begun, "last_completed_collective": ended});
            let text = serde_json::json!({"version": "2.10", "entries": [entry("0", 0, 5), entry(name, 1, begun)],
                "pg_status": {"0": status(5, 5), "1": status(begun, ended)}});
            Dump::read(text.to_string().as_bytes()).unwrap()
        };
        let (ranks, text) = verdict(vec![record("1", 9, 8), record("1", 8, 8), record("2", 4, 4), record("2", 4, 4)]);
        assert_eq!((ranks, text.contains("all_reduce #9")), (vec![1], true), "{text}");
    }

    #[test]
    fn a_record_that_does_not_say_how_far_it_is_tells_by_its_last_collective() {
        let entries = |seq: i64, state: &str| {
            let entry = serde_json::json!({"collective_seq_id": seq, "profiling_name": "nccl:all_reduce",
                "process_group": ["0", "x"], "state": state});
            Dump::read(serde_json::json!({"version": "2.10", "entries": [entry]}).to_string().as_bytes()).unwrap()
        };
        let (ranks, text) = verdict(vec![entries(5, "started"), entries(5, "started"), entries(4, "completed")]);
        assert_eq!((ranks, text.as_str()), (vec![2], "rank 2 has not entered all_reduce #5, in which 2 wait"));
    }

    #[test]
    fn what_py_spy_leaves_of_a_librarys_path_is_no_line_of_the_script() {
        let stack = |frames: &str| {
            let text = format!(
                "Process 7: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n\
                Thread 7 (active): \"MainThread\"\n{frames}"
            );
            Dump::read(text.as_bytes()).unwrap()
        };
        let waits = || stack("    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (train.py:80)\n");
        let loads = stack("    wait (threading.py:320)\n    get (queue.py:171)\n    next_batch (train.py:41)\n");
        let (ranks, text) = verdict(vec![waits(), waits(), waits(), loads]);
        assert_eq!(ranks, [3]);
        assert_eq!(text, "rank 3 is at train.py:41 (next_batch), and the 3 others are at train.py:80 (step)");
    }

    #[test]
    fn different_collectives_and_silence_are_told_apart() {
        let (ranks, text) =
            verdict(vec![recorded(&[("0", 7, 6)], "all_reduce"), recorded(&[("0", 7, 6)], "broadcast")]);
        assert_eq!(
            (ranks.len(), text.as_str()),
            (2, "ranks are in different collectives #7: rank 0 all_reduce, rank 1 broadcast")
        );
        let all = || recorded(&[("0", 7, 6)], "all_reduce");
        assert!(verdict(vec![all(), all()]).1.starts_with("all 2 ranks are in all_reduce #7"));
    }

    #[test]
    fn of_stacks_alone_the_few_that_stand_elsewhere_are_named() {
        let (ranks, text) = verdict(vec![stack(80), stack(15), stack(80)]);
        assert_eq!((ranks, text.as_str()), (vec![1], "rank 1 is at a.py:15 (f), and the 2 others are at a.py:80 (f)"));
        let halves = (0..).zip(vec![stack(80), stack(15)]).collect();
        assert_eq!(DumpReport::of(&halves).verdict, None, "one against one says nothing");
        let some = [(0, stack(80)), (3, stack(80))].into();
        assert_eq!(DumpReport::of(&some).missing, [1, 2]);
    }

    #[test]
    fn a_thousand_dumps_are_compared_at_once() {
        let dumps: BTreeMap<u32, Vec<Dump>> =
            (0..1_024).map(|rank| (rank, recorded(&[("0", 41 - i64::from(rank == 700), 40)], "all_reduce"))).collect();
        assert_eq!(DumpReport::of(&dumps).verdict.unwrap().ranks, [700]);
    }
}

//! Who hangs, and how. Its sentences are in `words.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::connections::{Unanswered, cut_off};
use super::disagreement::{Compared, Disagreement};
use super::sample::{RankSample, StoppedProcess};
use super::stack::{Frame, own_frame};
use crate::pulse::Phase;

/// The ways in which a run stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum HangKind {
    /// A signal or a debugger has stopped a rank, or a child of its.
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
    /// The processes that are stopped, and whether they are children of the ranks'.
    pub stopped: Vec<StoppedProcess>,
    pub is_child_stopped: bool,
    /// The first of the ranks that runs another program than the one that it began with, and which.
    pub other_program: Option<(u32, String)>,
    pub file: Option<String>,
    pub phase: Option<Phase>,
    /// With whom the connections of the first rank do not work.
    pub unanswered: Vec<Unanswered>,
}

impl HangCase {
    /// What the samples say at a time when nothing moves. `ended` are ranks that have returned 0; `begun_elsewhere` is how
    /// many collectives ranks of other nodes have entered.
    pub fn of(samples: &[RankSample], ended: &[u32], begun_elsewhere: u64) -> Self {
        let most = samples.iter().map(RankSample::enqueued).max().unwrap_or(0).max(begun_elsewhere);
        let (kind, ranks, entered) = judged(samples, ended, most);
        let of_them = || samples.iter().filter(|sample| ranks.contains(&sample.rank));
        let newest = samples.iter().filter(|sample| sample.enqueued() == most).find_map(RankSample::pending);
        let collective = newest.map(|pending| (pending.seq, pending.name.clone()));
        Self {
            kind,
            waiting: samples.iter().filter(|sample| !ranks.contains(&sample.rank)).count(),
            waiting_elsewhere: samples.iter().all(|sample| sample.enqueued() < most),
            without_interpreter: Vec::new(),
            collective: entered.as_ref().and_then(Disagreement::collective).or(collective),
            entered: entered.map(|disagreement| disagreement.entered).unwrap_or_default(),
            stopped: of_them().filter_map(RankSample::stopped).collect(),
            other_program: of_them()
                .find_map(|sample| Some((sample.rank, sample.work.as_ref()?.other_program.clone()?))),
            is_child_stopped: of_them().all(|sample| !sample.is_stopped()),
            file: of_them().find_map(|sample| sample.work.as_ref()?.waits_for_file.clone()),
            phase: of_them().find_map(|sample| sample.phase().filter(|phase| *phase != Phase::Step)),
            unanswered: of_them().find_map(|sample| Some(sample.work.as_ref()?.unanswered.clone())).unwrap_or_default(),
            ranks,
        }
    }

    /// Where the first of the ranks stands or was last seen; where those stand that wait, if it has ended without a trace.
    pub fn place<'a>(&self, stacks: &'a BTreeMap<u32, Vec<Frame>>) -> Option<&'a Frame> {
        let own = |rank: &u32| stacks.get(rank).and_then(|frames| own_frame(frames));
        let of_others = || self.place_of_others(stacks).filter(|_| self.kind == HangKind::Left);
        self.ranks.iter().find_map(own).or_else(of_others)
    }

    /// Where the first of those stands that wait.
    pub(super) fn place_of_others<'a>(&self, stacks: &'a BTreeMap<u32, Vec<Frame>>) -> Option<&'a Frame> {
        let others = stacks.iter().filter(|(rank, _)| !self.ranks.contains(rank));
        others.map(|(_, frames)| frames).find_map(|frames| own_frame(frames))
    }
}

/// From what is certain to what is left: a process that is stopped, collectives that differ, ranks that are gone, ranks that
/// have not come, and, where all are in, whom the network has cut off.
fn judged(samples: &[RankSample], ended: &[u32], most: u64) -> (HangKind, Vec<u32>, Option<Disagreement>) {
    let stopped = pick(samples, RankSample::is_stopped);
    if !stopped.is_empty() {
        return (HangKind::Stopped, stopped, None);
    }
    // What a script that has ended left open is waited for by nobody.
    let is_pending = samples.iter().any(|sample| sample.waits_in_collective() && !sample.is_ending());
    let is_late = |sample: &RankSample| {
        let in_phase = sample.phase().is_some_and(|phase| phase != Phase::Step);
        in_phase || sample.enqueued() < most
    };
    // Who is behind and waits in a collective is held up by one that is behind and does not.
    let free = pick(samples, |sample| is_late(sample) && !sample.waits_in_collective());
    if is_pending
        && free.is_empty()
        && let Some(found) = Disagreement::find(samples, Compared::Names)
    {
        return (HangKind::Mismatched, found.odd_ones(), Some(found));
    }
    let mut left = ended.to_vec();
    left.extend(samples.iter().filter(|sample| sample.is_ending()).map(|sample| sample.rank));
    if is_pending && !left.is_empty() && free.iter().all(|rank| left.contains(rank)) {
        left.sort_unstable();
        return (HangKind::Left, left, None);
    }
    let behind = if free.is_empty() { pick(samples, is_late) } else { free };
    let among = |these: &[u32], which: fn(&RankSample) -> bool| {
        pick(samples, |sample| these.contains(&sample.rank) && which(sample))
    };
    if !behind.is_empty() {
        let has_stopped_child = among(&behind, |sample| sample.stopped_child().is_some());
        let in_disk_wait = among(&behind, is_in_disk_wait);
        return match (has_stopped_child.is_empty(), in_disk_wait.is_empty()) {
            (false, _) => (HangKind::Stopped, has_stopped_child, None),
            (true, false) => (HangKind::DiskWait, in_disk_wait, None),
            (true, true) => (HangKind::NotEntered, behind, None),
        };
    }
    let all: Vec<u32> = samples.iter().map(|sample| sample.rank).collect();
    let has_stopped_child = among(&all, |sample| sample.stopped_child().is_some());
    if !has_stopped_child.is_empty() && !is_pending {
        return (HangKind::Stopped, has_stopped_child, None);
    }
    if !is_pending {
        return (HangKind::Asleep, all, None);
    }
    if let Some(found) = Disagreement::find(samples, Compared::Sizes) {
        return (HangKind::Mismatched, found.odd_ones(), Some(found));
    }
    let cut_off = cut_off(samples);
    (HangKind::Silent, if cut_off.is_empty() { all } else { cut_off }, None)
}

fn pick(samples: &[RankSample], which: impl Fn(&RankSample) -> bool) -> Vec<u32> {
    samples.iter().filter(|sample| which(sample)).map(|sample| sample.rank).collect()
}

fn is_in_disk_wait(sample: &RankSample) -> bool {
    sample.state == b'D'
}

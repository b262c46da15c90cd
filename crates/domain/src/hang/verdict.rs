//! Who hangs, and how. Its sentences are in `words.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::connections::{Unanswered, cut_off};
use super::disagreement::{Compared, Disagreement};
use super::sample::{Collective, RankSample, StoppedProcess};
use super::stack::{Frame, own_frame};
use super::standing::{Awaited, Demand, GroupName, Standings};
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

/// A collective in which a rank waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub rank: u32,
    pub collective: (u64, String),
    pub group: Option<GroupName>,
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
    /// Its group, where ranks have more than the one that all are in.
    pub group: Option<GroupName>,
    /// Whether other ranks go on meanwhile.
    pub is_apart: bool,
    /// Whether it is about the ranks of all nodes, as the first one sees them.
    pub is_of_all: bool,
    /// Whether those that it is about wait in other collectives themselves, and for what the first of them waits.
    pub is_circle: bool,
    pub waits_in: Option<Waiting>,
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
    /// What the samples say at a time when nothing moves. `ended` are ranks that have returned 0; `elsewhere` is what ranks of
    /// other nodes wait for.
    pub fn of(samples: &[RankSample], ended: &[u32], elsewhere: &Demand) -> Self {
        let standings = Standings::of(samples, elsewhere);
        let Judged { kind, ranks, entered, is_circle } = judged(samples, ended, &standings);
        let of_them = || samples.iter().filter(|sample| ranks.contains(&sample.rank));
        let awaited = standings.awaited(&ranks).or_else(|| standings.awaited(&[]));
        let others = || samples.iter().filter(|sample| !ranks.contains(&sample.rank)).count();
        let (mut collective, mut group) = (None, None);
        if let Some(awaited) = &awaited {
            (collective, group) = (name_of(samples, awaited), standings.name_of(awaited.group));
        }
        if let Some(found) = &entered {
            (collective, group) = (found.collective(), standings.name_of(&found.group));
        }
        let waits_in = of_them().find_map(|sample| {
            let Collective { seq, name, group, .. } = sample.pending()?.clone();
            Some(Waiting { rank: sample.rank, collective: (seq, name), group: standings.name_of(&group) })
        });
        let mut case = Self {
            kind,
            waiting: awaited.as_ref().map_or_else(others, |awaited| awaited.waiting),
            waiting_elsewhere: awaited.as_ref().is_some_and(|awaited| awaited.waiting == 0),
            without_interpreter: Vec::new(),
            collective,
            group,
            is_apart: false,
            is_of_all: false,
            is_circle,
            waits_in: waits_in.filter(|_| is_circle && kind == HangKind::NotEntered),
            entered: entered.map(|disagreement| disagreement.entered).unwrap_or_default(),
            stopped: of_them().filter_map(RankSample::stopped).collect(),
            other_program: of_them()
                .find_map(|sample| Some((sample.rank, sample.work.as_ref()?.other_program.clone()?))),
            is_child_stopped: of_them().all(|sample| !sample.is_stopped()),
            file: of_them().find_map(|sample| sample.work.as_ref()?.waits_for_file.clone()),
            phase: of_them().find_map(|sample| sample.phase().filter(|phase| *phase != Phase::Step)),
            unanswered: of_them().find_map(|sample| Some(sample.work.as_ref()?.unanswered.clone())).unwrap_or_default(),
            ranks,
        };
        if case.kind == HangKind::Mismatched && is_circle {
            case.collective = None;
            case.entered =
                samples.iter().filter_map(|sample| Some((sample.rank, case.entered_by(sample, &standings)?))).collect();
        }
        case
    }

    /// Whether ranks of other nodes decide what it is: those here may be held up by one of them.
    pub(super) fn needs_all(&self) -> bool {
        match self.kind {
            HangKind::Silent => self.unanswered.is_empty(),
            HangKind::Asleep => true,
            HangKind::NotEntered | HangKind::Mismatched => self.is_circle,
            HangKind::Stopped | HangKind::Left | HangKind::DiskWait | HangKind::Busy => false,
        }
    }

    /// Whether no node tells it by itself: the ranks of several are in it.
    pub(super) fn is_seen_by_all_alone(&self) -> bool {
        self.needs_all() || matches!(self.kind, HangKind::Mismatched | HangKind::Left)
    }

    /// What a rank waits in, where each waits in another group.
    fn entered_by(&self, sample: &RankSample, standings: &Standings) -> Option<String> {
        let pending = sample.pending()?;
        let group = standings.name_of(&pending.group).map(|group| format!(" ({})", group.short()));
        Some(format!("{} #{}{}", pending.name, pending.seq, group.unwrap_or_default()))
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

/// What a collective is called by a rank that waits in it.
fn name_of(samples: &[RankSample], awaited: &Awaited<'_>) -> Option<(u64, String)> {
    let is_it = |collective: &&Collective| collective.group == awaited.group && collective.seq == awaited.begun;
    let told = samples.iter().flat_map(RankSample::collectives).find(is_it).map(|it| (it.seq, it.name.clone()));
    // Where ranks do not tell of groups, their sums are no number of a collective.
    let of_sums = || samples.iter().filter(|sample| sample.enqueued() == awaited.begun).find_map(RankSample::pending);
    match (told, awaited.group) {
        (Some(told), _) => Some(told),
        (None, "") => of_sums().map(|pending| (pending.seq, pending.name.clone())),
        (None, _) => Some((awaited.begun, "collective".to_owned())),
    }
}

/// Who is named, and why.
struct Judged {
    kind: HangKind,
    ranks: Vec<u32>,
    entered: Option<Disagreement>,
    /// Whether these wait themselves.
    is_circle: bool,
}

impl Judged {
    fn of(kind: HangKind, ranks: Vec<u32>) -> Self {
        Self { kind, ranks, entered: None, is_circle: false }
    }

    fn mismatched(found: Disagreement) -> Self {
        Self { ranks: found.odd_ones(), entered: Some(found), ..Self::of(HangKind::Mismatched, Vec::new()) }
    }
}

/// From what is certain to what is left: a process that is stopped, collectives that differ, ranks that are gone, ranks that
/// have not come, and, where all are in, whom the network has cut off.
fn judged(samples: &[RankSample], ended: &[u32], standings: &Standings) -> Judged {
    let stopped = pick(samples, RankSample::is_stopped);
    if !stopped.is_empty() {
        return Judged::of(HangKind::Stopped, stopped);
    }
    // What a script that has ended left open is waited for by nobody.
    let is_pending = samples.iter().any(|sample| sample.waits_in_collective() && !sample.is_ending());
    let is_in_phase = |sample: &RankSample| sample.phase().is_some_and(|phase| phase != Phase::Step);
    // Who is behind and waits in a collective is held up by one that is behind and does not.
    let is_free =
        |sample: &RankSample| (is_in_phase(sample) || standings.is_late(sample)) && !sample.waits_in_collective();
    let free = pick(samples, is_free);
    if is_pending
        && free.is_empty()
        && let Some(found) = Disagreement::find(samples, Compared::Names)
    {
        return Judged::mismatched(found);
    }
    let mut left = ended.to_vec();
    left.extend(samples.iter().filter(|sample| sample.is_ending()).map(|sample| sample.rank));
    if is_pending && !left.is_empty() && free.iter().all(|rank| left.contains(rank)) {
        left.sort_unstable();
        return Judged::of(HangKind::Left, left);
    }
    let late = pick(samples, |sample| standings.is_late(sample));
    if free.is_empty() && !late.is_empty() {
        return circle(samples, standings, &late);
    }
    let behind = if free.is_empty() { pick(samples, is_in_phase) } else { free };
    let among = |these: &[u32], which: fn(&RankSample) -> bool| {
        pick(samples, |sample| these.contains(&sample.rank) && which(sample))
    };
    if !behind.is_empty() {
        let has_stopped_child = among(&behind, |sample| sample.stopped_child().is_some());
        let in_disk_wait = among(&behind, is_in_disk_wait);
        return match (has_stopped_child.is_empty(), in_disk_wait.is_empty()) {
            (false, _) => Judged::of(HangKind::Stopped, has_stopped_child),
            (true, false) => Judged::of(HangKind::DiskWait, in_disk_wait),
            (true, true) => Judged::of(HangKind::NotEntered, behind),
        };
    }
    let all: Vec<u32> = samples.iter().map(|sample| sample.rank).collect();
    let has_stopped_child = among(&all, |sample| sample.stopped_child().is_some());
    if !has_stopped_child.is_empty() && !is_pending {
        return Judged::of(HangKind::Stopped, has_stopped_child);
    }
    if !is_pending {
        return Judged::of(HangKind::Asleep, all);
    }
    if let Some(found) = Disagreement::find(samples, Compared::Sizes) {
        return Judged::mismatched(found);
    }
    let cut_off = cut_off(samples);
    Judged::of(HangKind::Silent, if cut_off.is_empty() { all } else { cut_off })
}

/// Ranks that wait for each other in different groups: those that most others wait for are named, all where that is a tie.
fn circle(samples: &[RankSample], standings: &Standings, late: &[u32]) -> Judged {
    let awaited = standings.awaited(late).filter(|awaited| !standings.is_tied(awaited));
    match awaited {
        Some(awaited) => Judged { is_circle: true, ..Judged::of(HangKind::NotEntered, standings.behind(&awaited)) },
        None => {
            let waiting = pick(samples, RankSample::waits_in_collective);
            Judged { is_circle: true, ..Judged::of(HangKind::Mismatched, waiting) }
        }
    }
}

fn pick(samples: &[RankSample], which: impl Fn(&RankSample) -> bool) -> Vec<u32> {
    samples.iter().filter(|sample| which(sample)).map(|sample| sample.rank).collect()
}

fn is_in_disk_wait(sample: &RankSample) -> bool {
    sample.state == b'D'
}

#[cfg(test)]
mod tests;

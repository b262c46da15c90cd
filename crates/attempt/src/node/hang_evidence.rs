//! What is gathered of ranks of which some may hang: their work, their connections, their collectives, their stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fermi_domain::failure::Reached;
use fermi_domain::hang::{
    Collective, Connection, Frame, GroupStanding, HangCase, RankSample, StoppedBy, StoppedProcess, Tracer, Unanswered,
    Work, frames_of, trained_in, unanswered,
};
use fermi_domain::pulse::{self, Pulse, PulseWord};
use fermi_process::{activity, clock, connections, procfs};

use super::parking::{PAGE_NAME, Parking};
use super::rank_processes::RankProcess;
use crate::run_folder::hang_file;

/// The work of every rank and its children.
pub fn works(ranks: &[RankProcess], parking: &Parking, now_ms: u64) -> BTreeMap<u32, Work> {
    let pids: Vec<i32> = ranks.iter().map(RankProcess::pid).collect();
    let mut broken = broken_connections(ranks, parking);
    let seen = ranks.iter().zip(activity::of_all(&pids));
    let work = |(rank, seen): (&RankProcess, _)| {
        let has_page = parking.pulse_of(rank.local_rank).is_some();
        let other_program = if has_page { activity::other_program(rank.pid(), PAGE_NAME) } else { None };
        let work = work(rank, seen, broken.remove(&rank.rank).unwrap_or_default(), now_ms);
        (rank.rank, Work { other_program, ..work })
    };
    seen.map(work).collect()
}

fn work(rank: &RankProcess, seen: activity::Activity, unanswered: Vec<Unanswered>, seen_ms: u64) -> Work {
    let activity::Activity { cpu_ms, io_bytes, stopped_child, pauses } = seen;
    let stopped_child = stopped_child.map(|child| {
        let by = if child.is_held_by_tracer() { StoppedBy::Tracer(tracer(child.pid)) } else { StoppedBy::Signal };
        StoppedProcess { pid: child.pid, by }
    });
    let waits_for_file = activity::file_of_call(rank.pid());
    let work = Work { seen_ms, cpu_ms, io_bytes, stopped_child, waits_for_file, pauses, ..Work::default() };
    Work { unanswered, ..work }
}

/// Who traces a process, where that can be seen.
pub fn tracer(pid: i32) -> Option<Tracer> {
    activity::tracer(pid).map(|(pid, name)| Tracer { pid, name })
}

/// The connections on which ranks get no answer; looked at where all of them wait in a collective.
fn broken_connections(ranks: &[RankProcess], parking: &Parking) -> BTreeMap<u32, Vec<Unanswered>> {
    let waits =
        |rank: &RankProcess| parking.pulse_of(rank.local_rank).is_some_and(|pulse| pulse.completed < pulse.enqueued);
    if !ranks.iter().all(waits) {
        return BTreeMap::new();
    }
    let pids: Vec<i32> = ranks.iter().map(RankProcess::pid).collect();
    let connection = |seen: connections::TcpConnection| {
        let connections::TcpConnection { from, to, resent } = seen;
        Connection { from, to, resent }
    };
    let of_all = connections::of_all(&pids).into_iter().map(|own| own.into_iter().map(connection).collect());
    unanswered(&ranks.iter().map(|rank| rank.rank).zip(of_all).collect())
}

pub fn collectives(parking: &Parking, local_rank: u32, pulse: &Pulse) -> Vec<Collective> {
    let text = told(parking, local_rank, pulse::PENDING_TEXT, pulse.pending_bytes);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// How far it is in each of its process groups.
pub fn groups(parking: &Parking, local_rank: u32, pulse: &Pulse) -> Vec<GroupStanding> {
    let text = told(parking, local_rank, pulse::GROUPS_TEXT, pulse.groups_bytes);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Where the main thread was when its interpreter ticked last.
pub fn place(parking: &Parking, local_rank: u32, pulse: &Pulse) -> Vec<Frame> {
    frames_of(&String::from_utf8_lossy(&told(parking, local_rank, pulse::PLACE_TEXT, pulse.place_bytes)))
}

/// How far a rank that has ended had come; nothing where no hook kept its page.
pub fn reached(rank: &RankProcess, parking: &Parking) -> Option<Reached> {
    let pulse = parking.pulse_of(rank.local_rank)?;
    let in_collective = collectives(parking, rank.local_rank, &pulse).pop();
    let ended_for = |since_ns: u64| clock::monotonic_ns().saturating_sub(since_ns) / 1_000_000;
    Some(Reached {
        steps: pulse.steps,
        ending_ms: if pulse.ending_ns > 0 { ended_for(pulse.ending_ns) } else { 0 },
        frames: place(parking, rank.local_rank, &pulse),
        collective: in_collective.map(|Collective { seq, name, .. }| format!("{name} #{seq}")),
    })
}

fn told(parking: &Parking, local_rank: u32, offset: u64, length: u64) -> Vec<u8> {
    let length = usize::try_from(length).unwrap_or(0);
    parking.page_of(local_rank).and_then(|page| page.read_at(offset, length).ok()).unwrap_or_default()
}

/// Asks every rank that can for the stacks of its threads, and for its last collectives. A stopped one would answer when it
/// goes on, and a process without the handler would die of the signal.
pub fn ask_for_stacks(ranks: &[RankProcess], parking: &Parking) {
    for process in ranks {
        let (Some(page), Some(pulse)) = (parking.page_of(process.local_rank), parking.pulse_of(process.local_rank))
        else {
            continue;
        };
        let pid = process.pid();
        // What a rank has said in another hang is not what it says now.
        let _ = page.cut_behind(pulse::SIZE);
        let _ = page.write_word(PulseWord::Asked as usize, clock::monotonic_ns());
        let is_stopped = procfs::stat(pid).is_ok_and(|stat| stat.is_stopped());
        let signal = i32::try_from(pulse.armed).unwrap_or(0);
        if !is_stopped && u64::try_from(pid).is_ok_and(|pid| pid == pulse.pid) && activity::handles(pid, signal) {
            let _ = activity::signal_main_thread(pid, signal);
        }
    }
}

/// What is kept of all ranks.
pub struct HangEvidence {
    pub stacks: BTreeMap<u32, Vec<Frame>>,
    text: String,
}

impl HangEvidence {
    pub fn gather(ranks: &[RankProcess], parking: &Parking, samples: &[RankSample]) -> Self {
        let (mut stacks, mut text) = (BTreeMap::new(), String::new());
        for (process, sample) in ranks.iter().zip(samples) {
            let page = parking.page_of(process.local_rank);
            let dump = page.and_then(|page| page.read_behind(pulse::SIZE).ok()).unwrap_or_default();
            let dump = String::from_utf8_lossy(&dump).into_owned();
            let waits_in = activity::kernel_function(process.pid()).unwrap_or_default();
            let (rank, pid, state) = (sample.rank, sample.pid, char::from(sample.state));
            let _ = writeln!(text, "== rank {rank}: process {pid}, state {state}, in the kernel at {waits_in}");
            if let Some(pulse) = sample.pulse {
                let Pulse { steps, enqueued, completed, phase, .. } = pulse;
                let phase = phase.map(|phase| format!("{phase:?}").to_lowercase()).unwrap_or_default();
                let _ =
                    writeln!(text, "phase {phase}, {steps} steps, collectives: {enqueued} begun, {completed} ended");
            }
            for GroupStanding { name, ranks, size, begun, ended, .. } in
                sample.work.iter().flat_map(|work| &work.groups)
            {
                let _ = writeln!(text, "group {name} ({size} ranks, first {ranks:?}): {begun} begun, {ended} ended");
            }
            for Collective { seq, name, sizes, group, done } in sample.work.iter().flat_map(|work| &work.collectives) {
                let made = if *done { "was in" } else { "in" };
                let _ = writeln!(text, "{made} {name} #{seq} of group {group}, sizes {sizes}");
            }
            for peer in sample.work.iter().flat_map(|work| &work.unanswered) {
                let _ = writeln!(text, "no answer on a connection with {peer}");
            }
            let _ = writeln!(text, "{dump}");
            let mut frames = trained_in(&dump);
            // An interpreter that is going stands in its own affairs: where the script was is known from before.
            if let Some(pulse) = sample.pulse.filter(|pulse| frames.is_empty() || pulse.ending_ns > 0) {
                frames = place(parking, process.local_rank, &pulse);
                let lines: Vec<String> = frames.iter().map(Frame::line).collect();
                let _ = writeln!(text, "at the last tick of its interpreter:\n{}\n", lines.join("\n"));
            }
            stacks.insert(rank, frames);
        }
        Self { stacks, text }
    }

    /// Of ranks that have ended it is known where they were last seen.
    pub fn add_ended(&mut self, ended: &BTreeMap<u32, Vec<Frame>>) {
        for (rank, frames) in ended.iter().filter(|(_, frames)| !frames.is_empty()) {
            let lines: Vec<String> = frames.iter().map(Frame::line).collect();
            let _ = writeln!(self.text, "== rank {rank}: has ended, was last seen at:\n{}\n", lines.join("\n"));
            self.stacks.insert(*rank, frames.clone());
        }
    }

    /// Of ranks of other nodes it is known where these say that they stand.
    pub fn add_elsewhere(&mut self, frames: BTreeMap<u32, Vec<Frame>>) {
        for (rank, frames) in frames {
            let lines: Vec<String> = frames.iter().map(Frame::line).collect();
            let _ = writeln!(self.text, "== rank {rank}: on another node, at:\n{}\n", lines.join("\n"));
            self.stacks.insert(rank, frames);
        }
    }

    /// Adds it to the file of the attempt; nothing where the disk does not take it.
    pub fn keep(&self, run_folder: &Path, attempt: u32, case: &HangCase) -> Option<PathBuf> {
        self.append(run_folder, attempt, &format!("{:?} rank {:?}", case.kind, case.ranks))
    }

    /// The same where the first node judges.
    pub fn keep_for_others(&self, run_folder: &Path, attempt: u32) {
        let _ = self.append(run_folder, attempt, "asked for by the first node");
    }

    fn append(&self, run_folder: &Path, attempt: u32, why: &str) -> Option<PathBuf> {
        let path = hang_file(run_folder, attempt);
        let mut file = OpenOptions::new().create(true).append(true).open(&path).ok()?;
        let text = format!("{why} at {} ms\n{}\n", clock::unix_ms(), self.text);
        file.write_all(text.as_bytes()).ok()?;
        Some(path)
    }
}

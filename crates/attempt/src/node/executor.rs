//! Does what the coordinator decides, and reports what it sees of the ranks of this node. Makes no choices.

mod checkpoints;
mod terminal;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fermi_domain::checkpoint::Fence;
use fermi_domain::contract::AttemptFacts;
use fermi_domain::exit::Exit;
use fermi_domain::hang::NodeStanding;
use fermi_domain::healing::spent::{Kept, lacks_memory};
use fermi_domain::launch::Serves;
use fermi_domain::ledger::Measured;
use fermi_process::cgroup::Cgroup;
use fermi_process::clock;
use fermi_process::output::{Dropped, Pump, Tails};
use fermi_process::procfs;
use fermi_process::spent;
use fermi_process::stale::{Keeper, LiveRun, NoteHost};
use fermi_process::sweep::{self, Swept};

use super::checkpoint_watch::CheckpointWatch;
use super::device_watch::DeviceWatch;
use super::event_sink::EventSink;
use super::hang_evidence;
use super::parking::{NextRank, Parking};
use super::rank_processes::{self, RankProcess, RankProcesses};
use super::rank_watch::RankWatch;
use super::start_notes::StartNotes;
use super::step_watch::StepWatch;
use crate::bundle::{NodeBundle, RankPlan};
use crate::coordinator::Failure;
use crate::evidence::{self, Seen};
use crate::node_message::{NodeCommand, NodePosition, NodeReport, Start};
use crate::run_folder::RankFolder;
use crate::{joined, port};
use fermi_domain::event::RunEvent;

/// How long the reading of a dead rank's last lines may take.
const SETTLE: Duration = Duration::from_millis(500);
/// How long streams that a survivor holds open are waited for after the sweep.
const DRAIN: Duration = Duration::from_secs(1);
/// How long what ranks have left may go on when all of them have ended well: helpers that notice the end of their rank
/// do so within this.
const HELPERS_END: Duration = Duration::from_millis(300);
/// How often it is looked whether what a sweep could not end is gone.
const LOOK_AT_SURVIVORS_EVERY: Duration = Duration::from_millis(250);
/// How many of those that do not are named.
const NAMED: usize = 3;

/// The ranks of a node and all that holds them.
#[derive(Debug)]
pub struct Executor {
    pub bundle: NodeBundle,
    ranks: RankProcesses,
    pump: Pump,
    cgroup: Option<Cgroup>,
    attempt: u32,
    master_port: u16,
    oom_kills: u64,
    /// How many ranks of the attempt have returned 0.
    ended_well: usize,
    checkpoints: CheckpointWatch,
    parking: Parking,
    /// None where ranks have no hook.
    watch: Option<RankWatch>,
    devices: DeviceWatch,
    steps: StepWatch,
    /// The start of the attempt that runs.
    started: Option<Start>,
    /// What its ranks were started with, as long as that is not written down.
    start_notes: Option<StartNotes>,
    /// Spent ranks of the attempt that hold nothing which is missed.
    passing: Vec<i32>,
    /// When processes that a sweep could not end were last looked at.
    survivors_looked: Option<Instant>,
    /// Whose attempt the checkpoints were surveyed for, as the coordinator named it.
    surveyed: Option<Fence>,
    /// What the terminal did not get and no event has told yet, and when one last did.
    dropped: Dropped,
    told_dropped: Option<Instant>,
}

impl Executor {
    pub fn new(bundle: NodeBundle) -> io::Result<Self> {
        Ok(Self {
            cgroup: Cgroup::create(&bundle.run_id),
            checkpoints: CheckpointWatch::new(bundle.checkpoint_folder(), &bundle.run_id, bundle.account.clone())?,
            parking: Parking::new(bundle.hook.clone()),
            watch: bundle.hook.as_ref().map(|hook| RankWatch::new(hook.restart_hung_after_ms)),
            devices: DeviceWatch::new(),
            steps: StepWatch::default(),
            started: None,
            start_notes: None,
            passing: Vec::new(),
            survivors_looked: None,
            surveyed: None,
            bundle,
            ranks: RankProcesses::default(),
            pump: Pump::new()?,
            attempt: 0,
            master_port: 0,
            oom_kills: 0,
            ended_well: 0,
            dropped: Dropped::default(),
            told_dropped: None,
        })
    }

    /// Leaves the note by which a later start finds what is left if both keepers die at once.
    pub fn leave_note(&self, warden: i32) -> io::Result<()> {
        let note = LiveRun {
            run: self.bundle.run_id.clone(),
            boot: procfs::boot_id()?,
            on: NoteHost::here(),
            keepers: vec![Keeper::of(warden)?, Keeper::of(nix::unistd::getpid().as_raw())?],
            cgroup: self.cgroup.as_ref().map(|cgroup| cgroup.folder().to_owned()),
        };
        note.write(&self.bundle.live_folder)
    }

    pub fn rank_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ranks.running.iter().map(RankProcess::as_fd).chain(self.parking.fds())
    }

    /// When something is to be looked at even if nothing happens.
    pub fn wake_in(&self) -> Option<Duration> {
        let watch = self.watch.as_ref().and_then(RankWatch::wake_in);
        let devices = if self.ranks.running.is_empty() { None } else { self.devices.wake_in() };
        let steps = self.steps.wake_in(Instant::now()).filter(|_| !self.ranks.running.is_empty());
        let notes = self.start_notes.as_ref().map(|_| Duration::ZERO);
        let survivors = self.survivors_looked.map(|at| LOOK_AT_SURVIVORS_EVERY.saturating_sub(at.elapsed()));
        [self.parking.wake_in(), watch, devices, steps, notes, survivors].into_iter().flatten().min()
    }

    /// Does what the coordinator says and answers at once, where there is an answer.
    pub fn obey(&mut self, command: NodeCommand, events: &mut EventSink) -> Vec<NodeReport> {
        match command {
            NodeCommand::Start(start) => {
                let reports = self.start_ranks(&start, events);
                self.watch_checkpoints(&start);
                return reports;
            }
            NodeCommand::Survey(survey) => self.survey(survey),
            NodeCommand::Signal { signal } => self.end_ranks(signal),
            NodeCommand::Kill => self.end_ranks(libc::SIGKILL),
            NodeCommand::CheckJoined => {
                let candidates = self.ranks.candidates(|local_rank| self.parking.pulse_of(local_rank));
                let (missing, ranks) = match self.bundle.serves {
                    Serves::Nothing => joined::look(&candidates, self.master_port),
                    // Ranks only call there for a moment: that none is on the line says nothing.
                    Serves::HorovodRendezvous => (Vec::new(), Vec::new()),
                };
                return vec![NodeReport::NotJoined { missing, ranks }];
            }
            NodeCommand::Sweep => {
                let measured = NodeReport::Measured(self.measured());
                let pids = self.sweep(events);
                return vec![
                    measured,
                    if pids.is_empty() { NodeReport::Swept } else { NodeReport::StillThere { pids } },
                ];
            }
            NodeCommand::Tell(event) => {
                if let Some(event) = event {
                    events.record(*event);
                }
            }
            NodeCommand::Begun { collectives, groups, asks } => {
                let Self { watch, ranks, parking, .. } = self;
                if let Some(watch) = watch {
                    watch.hear_of_others(collectives, &groups);
                    if asks {
                        watch.ask_for_others(&ranks.running, parking);
                    }
                }
            }
            NodeCommand::Over => self.end_parked(),
            NodeCommand::Alive | NodeCommand::Pong { .. } => {}
        }
        Vec::new()
    }

    /// How the ranks of another node stand, as it tells the coordinator.
    pub fn hear_of_node(&mut self, node: usize, standing: &NodeStanding) {
        self.watch.iter_mut().for_each(|watch| watch.hear_of_node(node, standing));
    }

    /// Whether the other nodes are to ask their ranks where they stand; said once of a suspicion.
    pub fn asks_other_nodes(&mut self) -> bool {
        self.watch.as_mut().is_some_and(RankWatch::asks_other_nodes)
    }

    /// Looks for ranks that have ended.
    pub fn look(&mut self, events: &mut EventSink) -> Vec<NodeReport> {
        self.look_at_terminal(events);
        let findings = self.checkpoints.findings();
        let mut reports: Vec<NodeReport> =
            findings.into_iter().filter_map(|finding| self.checkpoints_told(finding, events)).collect();
        if self.steps.look(Instant::now(), &self.ranks.running) {
            self.tell_first_step(events);
        }
        let dead = self.reap();
        self.devices.look(self.attempt, events);
        reports.extend(dead.into_iter().map(|(process, exit)| self.rank_ended(&process, exit, events)));
        self.look_at_parking(events);
        let Self { watch, ranks, parking, devices, bundle, .. } = self;
        if let Some(watch) = watch {
            reports.extend(watch.look(&ranks.running, parking, devices, bundle.run_folder.as_deref(), events));
        }
        reports.extend(self.look_at_survivors());
        self.write_start_notes();
        reports
    }

    /// What a sweep has left may die at last: when the disk answers again, or the driver.
    fn look_at_survivors(&mut self) -> Option<NodeReport> {
        self.survivors_looked.take_if(|at| at.elapsed() >= LOOK_AT_SURVIVORS_EVERY)?;
        let below = procfs::descendants_but(nix::unistd::getpid().as_raw(), &self.parking.pids());
        let mut living = below.iter().filter(|stat| !stat.is_zombie()).peekable();
        if living.peek().is_none() {
            return Some(NodeReport::Swept);
        }
        living.for_each(|stat| {
            sweep::kill(stat);
        });
        self.survivors_looked = Some(Instant::now());
        None
    }

    /// The first moment for it is when all nodes have been told to start. On a full disk the ranks run all the same.
    fn write_start_notes(&mut self) {
        let _ = self.start_notes.take().map(|notes| notes.write(&self.bundle, &self.parking));
    }

    /// Takes out the ranks that have ended, or begin to and run no more.
    fn reap(&mut self) -> Vec<(RankProcess, Exit)> {
        let Self { ranks, parking, .. } = self;
        let mut freeing = Vec::new();
        let dead = ranks.reap(|process| parking.is_foretold(process.local_rank), |handle| freeing.push(handle));
        for handle in freeing {
            self.let_pass(handle.pid());
            self.parking.collect_later(handle);
        }
        dead
    }

    /// A spent rank beside which the next attempt may begin gets out of its way at once.
    fn let_pass(&mut self, pid: i32) {
        if self.may_begin_beside().is_ok() && spent::keeps(pid).is_none() {
            spent::yield_processor(pid);
            self.passing.push(pid);
        }
    }

    /// Asks the ranks where they stand, to be told soon.
    pub fn take_stacks(&mut self, events: &mut EventSink) {
        let Self { watch, ranks, parking, attempt, .. } = self;
        match watch {
            Some(watch) if !ranks.running.is_empty() => watch.take_stacks(&ranks.running, parking),
            _ => {
                let silent = ranks.running.iter().map(|process| process.rank).collect();
                events.record(RunEvent::StacksTaken { attempt: *attempt, stacks: Vec::new(), silent });
            }
        }
    }

    fn end_ranks(&mut self, signal: i32) {
        self.watch.iter_mut().for_each(RankWatch::rest);
        self.ranks.signal(signal);
    }

    /// Reads pulses, and parks beside ranks that have all made a step.
    fn look_at_parking(&mut self, events: &mut EventSink) {
        let Self { bundle, ranks, started, cgroup, parking, .. } = self;
        let entrance = || cgroup.as_ref().and_then(|cgroup| cgroup.entrance().ok());
        let next = || {
            let start = started.as_ref().filter(|_| ranks.running.len() == bundle.ranks.len())?;
            let facts = bundle.facts(&Start { attempt: start.attempt.saturating_add(1), ..start.clone() });
            let next = |(plan, process): (&RankPlan, &RankProcess)| NextRank {
                place: plan.place.clone(),
                command: bundle.command(plan, &facts),
                running: process.pid(),
            };
            Some(bundle.ranks.iter().zip(&ranks.running).map(next).collect())
        };
        parking.look(next, entrance, events);
    }

    /// Ends what stands ready for a restart that will not be.
    fn end_parked(&mut self) {
        self.started = None;
        self.parking.end_all();
    }

    fn tell_first_step(&self, events: &mut EventSink) {
        events.record(RunEvent::StepsReported { attempt: self.attempt });
    }

    fn rank_ended(&mut self, process: &RankProcess, exit: Exit, events: &mut EventSink) -> NodeReport {
        let made_progress = self.ranks_made_progress(process);
        if made_progress && self.steps.is_first_step() {
            self.tell_first_step(events);
        }
        let by_kill = matches!(exit, Exit::Signal { signal: libc::SIGKILL, .. });
        let oom_killed = by_kill && procfs::oom_kills() > self.oom_kills;
        process.record_exit(&exit, oom_killed);
        self.ended_well += usize::from(exit.is_success());
        if let Some(watch) = self.watch.as_mut() {
            if exit.is_success() { watch.rank_ended_well(process, &self.parking) } else { watch.rest() }
        }
        let failure = if exit.is_success() {
            Failure::default()
        } else {
            let failure = self.evidence_of(process, &exit, oom_killed, made_progress);
            Failure { diagnosis: self.devices.explain(process.rank, failure.diagnosis), ..failure }
        };
        // One that has returned may turn out to have left the others.
        let failure = Failure { log: process.log(), ..failure };
        let RankProcess { rank, local_rank, .. } = *process;
        let pid = process.pid();
        events.record(RunEvent::RankExited { attempt: self.attempt, rank, local_rank, pid, exit: exit.clone() });
        let reached = hang_evidence::reached(process, &self.parking).map(Box::new);
        NodeReport::RankEnded { rank, local_rank, pid, exit, failure: Box::new(failure), made_progress, reached }
    }

    fn evidence_of(&self, process: &RankProcess, exit: &Exit, oom_killed: bool, made_progress: bool) -> Failure {
        evidence::gather(Seen {
            exit,
            tails: self.pump.settle(process.rank, SETTLE).unwrap_or_default(),
            error_file: process.error_file().as_deref(),
            oom_killed,
            lived_ms: clock::unix_ms().saturating_sub(process.started_ms),
            made_progress,
        })
    }

    fn ranks_made_progress(&self, dead: &RankProcess) -> bool {
        self.ranks
            .running
            .iter()
            .chain([dead])
            .filter_map(RankProcess::progress_file)
            .any(|file| joined::made_progress(&file))
            || self.parking.has_stepped()
    }

    fn start_ranks(&mut self, start: &Start, events: &mut EventSink) -> Vec<NodeReport> {
        self.attempt = start.attempt;
        self.ended_well = 0;
        self.master_port = start.master_port;
        if let Some(made_for) = self.bundle.made_for.as_ref().filter(|made_for| **made_for != start.position) {
            return self.none_began(&made_for_another(made_for, &start.position));
        }
        self.bundle.take_place(&start.position);
        let facts = self.bundle.facts(start);
        self.bundle.deferred.write_files(start.master_port, self.bundle.account.as_ref());
        let entrance = self.cgroup.as_ref().and_then(|cgroup| cgroup.entrance().ok());
        self.parking.attempt_begins(start.attempt, self.may_restart(start.attempt));
        if let Some(watch) = self.watch.as_mut() {
            let elsewhere = (start.position.world_size as usize).saturating_sub(self.bundle.ranks.len());
            watch.attempt_begins(start.attempt, elsewhere);
        }
        self.devices.attempt_begins(&self.bundle.ranks);
        self.steps.attempt_begins(Instant::now());
        self.started = Some(start.clone());
        let mut reports = Vec::new();
        let mut streams = Vec::with_capacity(2 * self.bundle.ranks.len());
        let make_folder = |plan| rank_processes::make_folder(&self.bundle, plan, start.attempt);
        let folders: Vec<_> = self.bundle.ranks.iter().map(make_folder).collect();
        self.order_parked(&facts, &folders);
        let mut notes = StartNotes::new(start);
        let bundle = &self.bundle;
        for ((index, plan), folder) in bundle.ranks.iter().enumerate().zip(folders) {
            let parking = &mut self.parking;
            let begin = |command| parking.begin(&plan.place, command, entrance.as_ref());
            let started = folder.and_then(|folder| self.ranks.start(bundle, plan, folder, &facts, begin, &mut streams));
            match started {
                Ok(process) => {
                    notes.add(index, process);
                    reports.push(NodeReport::RankStarted {
                        rank: process.rank,
                        local_rank: process.local_rank,
                        pid: process.pid(),
                    });
                }
                Err(error) => {
                    reports.push(never_began(plan, &error));
                    reports.extend(self.never_tried());
                    break;
                }
            }
        }
        self.parking.end_ordered();
        self.start_notes = Some(notes);
        if let Err(error) = self.pump.add(streams) {
            // Ranks whose streams are not read would wait in a write.
            std::mem::take(&mut self.ranks).signal(libc::SIGKILL);
            return self.none_began(&error);
        }
        // Counted when the ranks are on their way: the kernel adds up all processors for it, and no rank can be out of
        // memory before it has executed.
        self.oom_kills = procfs::oom_kills();
        for report in &reports {
            if let NodeReport::RankStarted { rank, local_rank, pid } = *report {
                events.record(RunEvent::RankStarted { attempt: start.attempt, rank, local_rank, pid });
            }
        }
        let is_first = start.attempt <= self.bundle.attempts_before.saturating_add(1);
        self.parking.tell_beginnings(is_first, events);
        reports
    }

    /// Tells all parked processes at once to become their ranks, for which they need their folders.
    fn order_parked(&mut self, facts: &AttemptFacts, folders: &[io::Result<Option<RankFolder>>]) {
        if !self.parking.has_parked() {
            return;
        }
        for (plan, folder) in self.bundle.ranks.iter().zip(folders) {
            // Why there is no folder is told where the rank is started.
            if folder.is_ok() {
                self.parking.give_order(&plan.place, &self.bundle.command(plan, facts));
            }
        }
    }

    /// Whether another attempt may follow. Those that a node has left of its own will cost no restart.
    fn may_restart(&self, attempt: u32) -> bool {
        let restarts = self.bundle.restarts.max_restarts;
        let used = attempt.saturating_sub(self.bundle.attempts_before).saturating_sub(1);
        used < restarts || self.bundle.gathering.is_elastic() && restarts > 0
    }

    /// The first rank has the blame; no rank of this node runs.
    fn none_began(&self, error: &io::Error) -> Vec<NodeReport> {
        let reports = self.bundle.ranks.iter().take(1).map(|plan| never_began(plan, error));
        reports.chain(self.never_tried()).collect()
    }

    /// Ranks behind one that could not be started are gone too, without blame.
    fn never_tried(&self) -> Vec<NodeReport> {
        self.bundle
            .ranks
            .iter()
            .skip(self.ranks.running.len() + 1)
            .map(|plan| NodeReport::RankEnded {
                rank: plan.place.rank,
                local_rank: plan.place.local_rank,
                pid: 0,
                exit: Exit::Signal { signal: libc::SIGTERM, core_dumped: false },
                failure: Box::default(),
                made_progress: false,
                reached: None,
            })
            .collect()
    }

    /// What the ranks of the attempt have counted, as it has ended.
    pub fn measured(&self) -> Measured {
        Measured::of(self.attempt, &self.parking.pulses())
    }

    /// Ends all that is left of the attempt; the answer is what could not be ended.
    pub fn sweep(&mut self, events: &mut EventSink) -> Vec<i32> {
        self.surveyed = None;
        self.checkpoints.rest();
        self.watch.iter_mut().for_each(RankWatch::rest);
        if let Some(measured) = self.measured().event() {
            events.record(measured);
        }
        for (process, exit) in self.reap() {
            process.record_exit(&exit, false);
        }
        let ranks = std::mem::take(&mut self.ranks);
        let left = if self.all_ended_well(&ranks) { self.let_helpers_end() } else { Vec::new() };
        // Not by cgroup.kill: a kernel that has just killed a cgroup may kill what is born into it next.
        let (mut kept, beside) = (None, self.may_begin_beside());
        let swept = sweep::end_descendants_until(
            &self.parking.pids(),
            |spent| match &beside {
                Ok(()) => {
                    let mut unknown = spent.iter().filter(|pid| !self.passing.contains(pid));
                    kept = kept.take().or_else(|| unknown.find_map(|pid| spent::keeps(*pid)));
                    kept.is_none()
                }
                Err(why) => {
                    kept.clone_from(why);
                    false
                }
            },
            |_, _| {},
        );
        self.parking.collect();
        self.passing.clear();
        // Those that are spent write no more: all of it is there.
        let patience = if swept.freeing.is_empty() { DRAIN } else { Duration::ZERO };
        let Swept { killed, survivors, freeing } = swept;
        if killed > 0 || kept.is_some() || !survivors.is_empty() || !freeing.is_empty() {
            let survivors = survivors.clone();
            events.record(RunEvent::Swept { attempt: self.attempt, killed, survivors, left, freeing, kept });
        }
        if let Some(bytes) = self.pump.drain(patience).filter(|bytes| *bytes > 0) {
            events.record(RunEvent::OutputLost { attempt: self.attempt, bytes });
        }
        self.write_start_notes();
        self.survivors_looked = (!survivors.is_empty()).then(Instant::now);
        survivors
    }

    /// Whether another attempt may begin while the kernel still frees the memory of this one; why not, where that is news. Ranks
    /// that start cold take longer than that.
    fn may_begin_beside(&self) -> Result<(), Option<Kept>> {
        let resident =
            self.watch.as_ref().and_then(RankWatch::resident).filter(|_| self.parking.is_ready()).ok_or(None)?;
        lacks_memory(procfs::memory_available().unwrap_or(0), resident).map_or(Ok(()), |kept| Err(Some(kept)))
    }

    /// Whether every rank of this node has returned 0 by itself.
    fn all_ended_well(&self, running: &RankProcesses) -> bool {
        running.running.is_empty() && self.ended_well == self.bundle.ranks.len()
    }

    /// Gives what ranks have left behind a moment to end by itself, as helpers of Python do; the answer is the command lines
    /// of some that did not.
    fn let_helpers_end(&self) -> Vec<String> {
        let me = nix::unistd::getpid().as_raw();
        let parked = self.parking.pids();
        let deadline = Instant::now() + HELPERS_END;
        loop {
            let no_child_left = sweep::reap(&mut |_, _| {}) || procfs::has_only_children(&parked);
            let living = if no_child_left { Vec::new() } else { procfs::descendants_but(me, &parked) };
            let living: Vec<i32> = living.iter().filter(|stat| !stat.is_zombie()).map(|stat| stat.pid).collect();
            if living.is_empty() || Instant::now() >= deadline {
                let named = living.iter().filter_map(|pid| procfs::command_line(*pid));
                return named.map(|command| port::shortened(&command)).take(NAMED).collect();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// No ladder, no grace, nothing stays: a keeper of ours is dead, or the coordinator is out of reach. Answers whether that is so.
    pub fn end_at_once(&mut self, events: &mut EventSink) -> bool {
        self.ranks.signal(libc::SIGKILL);
        self.end_parked();
        self.sweep(events).is_empty()
    }

    pub fn clean_up(&mut self) {
        self.checkpoints.leave();
        self.end_parked();
        // What was parked is reaped; there is nothing else.
        let _ = sweep::end_descendants(|_, _| {});
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        LiveRun::remove(&self.bundle.live_folder, &self.bundle.run_id);
        // Output folders that no rank used are not left behind; a folder with something in it stays.
        match &self.bundle.run_folder {
            Some(folder) => {
                let _ = std::fs::remove_dir(folder.join("outputs/checkpoints"));
                let _ = std::fs::remove_dir(folder.join("outputs"));
            }
            // Without logs they are in the user's own folder.
            None => {
                let _ = std::fs::remove_dir(&self.bundle.checkpoint_dir);
                let _ = std::fs::remove_dir(&self.bundle.output_dir);
            }
        }
    }
}

/// The files and variables of a framework hold for one shape of the world.
fn made_for_another(made_for: &NodePosition, found: &NodePosition) -> io::Error {
    let shape = |position: &NodePosition| {
        let NodePosition { first_rank, world_size, node_rank, node_count } = position;
        format!("rank {first_rank} of {world_size} on node {node_rank} of {node_count}")
    };
    io::Error::other(format!(
        "the framework's files were made for {}, but the nodes that met make this {}; a framework needs the same \
         number of ranks on every node",
        shape(made_for),
        shape(found),
    ))
}

fn never_began(plan: &RankPlan, error: &io::Error) -> NodeReport {
    let program = plan.program();
    let exit = Exit::NotStarted { error: format!("{program}: {error}") };
    let failure = evidence::gather(Seen {
        exit: &exit,
        tails: Tails::default(),
        error_file: None,
        oom_killed: false,
        lived_ms: 0,
        made_progress: false,
    });
    let (rank, local_rank) = (plan.place.rank, plan.place.local_rank);
    let (failure, made_progress, reached) = (Box::new(failure), false, None);
    NodeReport::RankEnded { rank, local_rank, pid: 0, exit, failure, made_progress, reached }
}

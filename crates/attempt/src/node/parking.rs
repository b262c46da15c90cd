//! Starts ranks with their hook, reads their pulses, and keeps an interpreter parked beside each: one that has imported
//! what the rank had imported, and becomes the rank at the next restart.
//!
//! A parked process is a child like a rank, with a rank's words, variables and streams, and stands before the first line of
//! the script until its order comes. Should its hook not run, it cannot load torch or write a file ([`Fence`]).

mod parked_rank;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use fermi_domain::contract::RankPosition;
use fermi_domain::event::RunEvent;
use fermi_domain::healing::warm::{ColdReason, memory_needed};
use fermi_domain::pulse::{self, Phase, Pulse, PulseWord};
use fermi_process::cgroup::Entrance;
use fermi_process::death_bell::DeathBell;
use fermi_process::no_dump;
use fermi_process::pidfd::PidFd;
use fermi_process::procfs;
use fermi_process::pty::{self, WindowSize};
use fermi_process::shared_page::SharedPage;
use fermi_process::spawn::{Fence, RankCommand, Spawned, spawn, spawn_fenced, spawn_inheriting};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use parked_rank::{OrderedRank, ParkedRank};

use super::event_sink::EventSink;
use crate::hook::HookPlan;

/// By this name ranks have their pages among their memory.
pub const PAGE_NAME: &CStr = c"fermi-pulse";
/// How often pages are looked at while something is awaited of them.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often and how long it is looked whether a rank whose death is foretold is spent; then its end is waited for.
const SPENT_EVERY: Duration = Duration::from_millis(1);
const SPENT_WITHIN: Duration = Duration::from_millis(200);
/// A parked process whose hook has not run by then is ended.
const HOOK_RUNS_WITHIN: Duration = Duration::from_secs(30);

/// The ranks' pages and the parked processes of a node.
#[derive(Debug, Default)]
pub struct Parking {
    hook: Option<HookPlan>,
    /// Whether ranks cannot open what this process holds, and inherit their pages.
    ranks_inherit: bool,
    attempt: u32,
    /// By local rank, as all below.
    pages: BTreeMap<u32, RankPage>,
    parked: BTreeMap<u32, ParkedRank>,
    /// Those that were told to become the ranks of the attempt that begins.
    ordered: BTreeMap<u32, OrderedRank>,
    /// Why a rank will start cold, where that is known already.
    cold: BTreeMap<u32, ColdReason>,
    awaited: Awaited,
    /// Processes that were ended and are not collected yet.
    ending: Vec<PidFd>,
    /// How the ranks of the attempt began.
    released: Vec<u32>,
    began_cold: BTreeMap<ColdReason, Vec<u32>>,
}

/// What is to come before the next restart can be warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    #[default]
    Nothing,
    FirstSteps,
    Imports,
}

/// The page of a rank that runs.
#[derive(Debug)]
struct RankPage {
    rank: u32,
    page: SharedPage,
    /// What its hook was told when it was executed.
    given: String,
    was_parked: bool,
    is_troubled: bool,
    /// Whether the rank was parked and it is not known yet whether it had to start from scratch.
    is_released: bool,
    bell: Option<DeathBell>,
    /// Since when its death is foretold.
    foretold: Option<Instant>,
}

impl RankPage {
    fn new(rank: u32, page: SharedPage, given: String, was_parked: bool) -> Self {
        let is_released = was_parked;
        Self { rank, page, given, was_parked, is_troubled: false, is_released, bell: None, foretold: None }
    }
}

/// A rank of the attempt to come, and the process that is the rank now.
#[derive(Debug)]
pub struct NextRank {
    pub place: RankPosition,
    pub command: RankCommand,
    pub running: i32,
}

impl Parking {
    pub fn new(hook: Option<HookPlan>) -> Self {
        Self { hook, ranks_inherit: no_dump::is_set(), ..Self::default() }
    }

    /// An attempt begins; after the last one that may be, nothing is parked.
    pub fn attempt_begins(&mut self, attempt: u32, may_restart: bool) {
        let is_warm = self.is_warm();
        self.attempt = attempt;
        self.pages.clear();
        self.released.clear();
        self.began_cold.clear();
        self.awaited = if is_warm && may_restart { Awaited::FirstSteps } else { Awaited::Nothing };
    }

    fn is_warm(&self) -> bool {
        self.hook.as_ref().is_some_and(|hook| hook.warm)
    }

    /// Whether processes are parked.
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Tells a parked process to become its rank; [`Parking::begin`] waits until it has. Whoever tells all of them first waits
    /// once for those that are silent.
    pub fn give_order(&mut self, place: &RankPosition, command: &RankCommand) {
        let Some(mut parked) = self.parked.remove(&place.local_rank) else { return };
        match parked.give_order(command) {
            Ok(()) => {
                self.ordered.insert(place.local_rank, OrderedRank::new(parked));
            }
            Err(reason) => {
                self.cold.insert(place.local_rank, reason);
                self.end(parked);
            }
        }
    }

    /// Ends those that were told to become ranks which do not begin.
    pub fn end_ordered(&mut self) {
        for ordered in std::mem::take(&mut self.ordered).into_values() {
            self.end(ordered.parked);
        }
    }

    /// Starts a rank: from its parked interpreter where one was told to become it, else from scratch.
    pub fn begin(
        &mut self,
        place: &RankPosition,
        command: RankCommand,
        entrance: Option<&Entrance>,
    ) -> io::Result<Spawned> {
        if let Some(spawned) = self.release(place) {
            return Ok(spawned);
        }
        let Some((page, given, hooked)) = self.with_hook(&command) else { return spawn(&command, entrance) };
        let spawned = match self.ranks_inherit {
            true => spawn_inheriting(&hooked, entrance, page.as_fd()),
            false => spawn(&hooked, entrance),
        }?;
        self.pages.insert(place.local_rank, RankPage::new(place.rank, page, given, false));
        Ok(spawned)
    }

    /// The command with what brings the hook, its page and what it is told; none where there is none, or no memory for it.
    fn with_hook(&self, command: &RankCommand) -> Option<(SharedPage, String, RankCommand)> {
        let hook = self.hook.as_ref()?;
        let page = SharedPage::new(PAGE_NAME, pulse::SIZE).ok()?;
        let sign = if self.ranks_inherit { "+" } else { "" };
        let given = format!("{} {sign}{} -", std::process::id(), page.number());
        let env = hook.variables(&command.env, given.clone())?;
        Some((page, given, RankCommand { env, ..command.clone() }))
    }

    /// The variables of a rank of the attempt as it was executed, given those of its own; and whether it was parked.
    pub fn executed_with(&self, local_rank: u32, own: Vec<(String, String)>) -> (Vec<(String, String)>, bool) {
        let Some((rank, hook)) = self.pages.get(&local_rank).zip(self.hook.as_ref()) else { return (own, false) };
        (hook.variables(&own, rank.given.clone()).unwrap_or(own), rank.was_parked)
    }

    fn release(&mut self, place: &RankPosition) -> Option<Spawned> {
        if !self.is_warm() {
            return None;
        }
        let known = self.cold.remove(&place.local_rank);
        let Some(ordered) = self.ordered.remove(&place.local_rank) else {
            self.began_cold.entry(known.unwrap_or(ColdReason::NoStep)).or_default().push(place.rank);
            return None;
        };
        match ordered.await_taken() {
            Ok(()) => {
                let ParkedRank { page, given, spawned, .. } = ordered.parked;
                self.pages.insert(place.local_rank, RankPage::new(place.rank, page, given, true));
                self.released.push(place.rank);
                Some(spawned)
            }
            Err(reason) => {
                self.began_cold.entry(reason).or_default().push(place.rank);
                self.end(ordered.parked);
                None
            }
        }
    }

    /// Tells how the ranks of the attempt began; of a run's first attempt there is nothing to say.
    pub fn tell_beginnings(&mut self, is_first: bool, events: &mut EventSink) {
        let (attempt, ranks) = (self.attempt, std::mem::take(&mut self.released));
        if !ranks.is_empty() {
            events.record(RunEvent::RanksReleased { attempt, ranks });
        }
        let cold = std::mem::take(&mut self.began_cold);
        for (reason, ranks) in cold.into_iter().filter(|_| !is_first) {
            events.record(RunEvent::RanksCold { attempt, ranks, text: reason.text(), reason });
        }
    }

    /// When pages are to be looked at even if nothing else happens.
    pub fn wake_in(&self) -> Option<Duration> {
        let is_awaited = self.awaited != Awaited::Nothing;
        let mut foretold = self.pages.values().filter_map(|rank| rank.foretold);
        match foretold.any(|since| since.elapsed() < SPENT_WITHIN) {
            true => Some(SPENT_EVERY),
            false => is_awaited.then_some(LOOK_EVERY),
        }
    }

    /// Readable when a process has ended that is not a rank, or a rank begins to end.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let parked = self.parked.values().map(|parked| parked.spawned.handle.as_fd());
        let bells = self.pages.values().filter_map(|rank| rank.bell.as_ref().and_then(DeathBell::as_fd));
        parked.chain(self.ending.iter().map(AsFd::as_fd)).chain(bells)
    }

    /// Whether a rank of the attempt has begun to end, as its page says.
    pub fn is_foretold(&mut self, local_rank: u32) -> bool {
        let Some(rank) = self.pages.get_mut(&local_rank) else { return false };
        if rank.bell.as_mut().is_some_and(DeathBell::has_rung) {
            rank.foretold.get_or_insert_with(Instant::now);
        }
        rank.foretold.is_some()
    }

    /// A spent process that is to be collected when the kernel has freed its memory.
    pub fn collect_later(&mut self, handle: PidFd) {
        self.ending.push(handle);
    }

    /// Collects those that have ended.
    pub fn collect(&mut self) {
        self.ending.retain(|handle| !has_ended(handle));
    }

    /// Whether an interpreter stands ready for every rank of the attempt.
    pub fn is_ready(&self) -> bool {
        !self.parked.is_empty()
            && self.parked.len() == self.pages.len()
            && self.parked.values().all(|parked| parked.is_ready)
    }

    /// The parked processes, which outlive the attempt.
    pub fn pids(&self) -> Vec<i32> {
        self.parked.values().map(|parked| parked.spawned.handle.pid()).collect()
    }

    /// The page of a rank that runs.
    pub fn page_of(&self, local_rank: u32) -> Option<&SharedPage> {
        self.pages.get(&local_rank).map(|rank| &rank.page)
    }

    pub fn pulse_of(&self, local_rank: u32) -> Option<Pulse> {
        self.page_of(local_rank).and_then(read)
    }

    /// The pulses of the attempt, also of ranks that have ended.
    pub fn pulses(&self) -> Vec<Pulse> {
        self.pages.values().filter_map(|rank| read(&rank.page)).collect()
    }

    /// Whether a rank of the attempt has made an optimizer step.
    pub fn has_stepped(&self) -> bool {
        self.pages.values().any(|rank| read(&rank.page).is_some_and(|pulse| pulse.steps > 0))
    }

    /// Looks at pages and processes, and parks when every rank has told what to import. `next` is nothing where a rank
    /// has ended already.
    pub fn look(
        &mut self,
        next: impl FnOnce() -> Option<Vec<NextRank>>,
        entrance: impl FnOnce() -> Option<Entrance>,
        events: &mut EventSink,
    ) {
        self.collect();
        self.look_at_parked(events);
        self.look_at_ranks(events);
        let has_all_steps =
            || self.pages.values().all(|rank| read(&rank.page).is_some_and(|pulse| pulse.imports_bytes > 0));
        if self.awaited == Awaited::FirstSteps
            && !self.pages.is_empty()
            && has_all_steps()
            && let Some(next) = next()
        {
            self.awaited = Awaited::Imports;
            self.park(next, entrance().as_ref());
        }
        if self.awaited == Awaited::Imports && self.parked.values().all(|parked| parked.is_ready) {
            self.awaited = Awaited::Nothing;
        }
    }

    fn look_at_parked(&mut self, events: &mut EventSink) {
        let attempt = self.attempt;
        let mut ended = Vec::new();
        for (local_rank, parked) in &mut self.parked {
            let pulse = read(&parked.page);
            if has_ended(&parked.spawned.handle) {
                let reason = ColdReason::of_end(pulse.and_then(|pulse| pulse.parked_end));
                ended.push((*local_rank, reason.unwrap_or(ColdReason::ParkedEnded)));
                continue;
            }
            match pulse {
                Some(Pulse { phase: Some(Phase::Parked), modules, left_out, device, .. }) if !parked.is_ready => {
                    parked.is_ready = true;
                    let took_ms = u64::try_from(parked.since.elapsed().as_millis()).unwrap_or(u64::MAX);
                    let (rank, local_rank, pid) = (parked.rank, *local_rank, parked.spawned.handle.pid());
                    let parked =
                        RunEvent::RankParked { attempt, rank, local_rank, pid, modules, left_out, took_ms, device };
                    events.record(parked);
                }
                None if parked.since.elapsed() > HOOK_RUNS_WITHIN => {
                    let _ = parked.spawned.handle.signal(libc::SIGKILL);
                }
                _ => {}
            }
        }
        for (local_rank, reason) in ended {
            self.parked.remove(&local_rank);
            self.cold.insert(local_rank, reason);
        }
    }

    fn look_at_ranks(&mut self, events: &mut EventSink) {
        let attempt = self.attempt;
        let is_warm = self.is_warm();
        for RankPage { rank, page, is_troubled, is_released, bell, .. } in self.pages.values_mut() {
            let Some(pulse) = read(page) else { continue };
            if is_warm && bell.is_none() && pulse.life > 0 {
                // Without it a death is heard of when the kernel is done.
                *bell = DeathBell::at(page, pulse.life).ok();
            }
            if *is_released && pulse.parked_end.is_some() {
                *is_released = false;
                if let Some(reason) = ColdReason::of_end(pulse.parked_end) {
                    events.record(RunEvent::RanksCold { attempt, ranks: vec![*rank], text: reason.text(), reason });
                }
            }
            if !*is_troubled && pulse.trouble_bytes > 0 {
                *is_troubled = true;
                let length = usize::try_from(pulse.trouble_bytes).unwrap_or(0);
                let error = page.read_at(pulse::TROUBLE_TEXT, length).unwrap_or_default();
                let error = String::from_utf8_lossy(&error).into_owned();
                events.record(RunEvent::HookTrouble { attempt, rank: *rank, error });
            }
        }
    }

    /// Starts a parked process for every rank, where there is memory for all.
    fn park(&mut self, next: Vec<NextRank>, entrance: Option<&Entrance>) {
        let resident: Vec<u64> = next.iter().filter_map(|rank| procfs::resident(rank.running)).collect();
        let available = procfs::memory_available().unwrap_or(0);
        let room = memory_needed(available, &resident);
        for NextRank { place, command, .. } in next {
            let parked = match room {
                Ok(()) => self.start_parked(&place, command, entrance),
                Err(needed) => Err(ColdReason::TooLittleMemory { needed, available }),
            };
            match parked {
                Ok(parked) => {
                    self.cold.remove(&place.local_rank);
                    if let Some(stale) = self.parked.insert(place.local_rank, parked) {
                        self.end(stale);
                    }
                }
                Err(reason) => {
                    self.cold.insert(place.local_rank, reason);
                }
            }
        }
    }

    fn start_parked(
        &self,
        place: &RankPosition,
        command: RankCommand,
        entrance: Option<&Entrance>,
    ) -> Result<ParkedRank, ColdReason> {
        let cannot = |error: io::Error| ColdReason::CannotPark { error: error.to_string() };
        let missing = || cannot(io::ErrorKind::NotFound.into());
        let hook = self.hook.as_ref().filter(|hook| hook.is_intact()).ok_or_else(missing)?;
        let told = self.pages.get(&place.local_rank).ok_or_else(missing)?;
        let page = next_page(&told.page).map_err(cannot)?;
        let (order_end, order) = io::pipe().map_err(cannot)?;
        let fence = Fence::new().map_err(cannot)?;
        let [address_space, file_size] = fence.lifted();
        let numbers = [page.number(), order_end.as_raw_fd()];
        let wanted = if hook.warm_cuda { " cuda" } else { "" };
        let sign = if self.ranks_inherit { "+" } else { "" };
        let given =
            format!("{} {sign}{} {} {address_space} {file_size}{wanted}", std::process::id(), numbers[0], numbers[1]);
        let env = hook.variables(&command.env, given.clone()).ok_or_else(missing)?;
        let hooked = RankCommand { env, ..command.clone() };
        let both = [page.as_fd(), order_end.as_fd()];
        let inherited = if self.ranks_inherit { &both[..] } else { &[] };
        let spawned = spawn_fenced(&hooked, entrance, &fence, inherited).map_err(cannot)?;
        let since = Instant::now();
        Ok(ParkedRank {
            rank: place.rank,
            command,
            page,
            given,
            order,
            _order_end: order_end,
            spawned,
            since,
            is_ready: false,
        })
    }

    fn end(&mut self, parked: ParkedRank) {
        let _ = parked.spawned.handle.signal(libc::SIGKILL);
        self.ending.push(parked.spawned.handle);
    }

    /// Ends all that is parked: there is no further attempt.
    pub fn end_all(&mut self) {
        self.awaited = Awaited::Nothing;
        for parked in std::mem::take(&mut self.parked).into_values() {
            self.end(parked);
        }
    }

    /// The terminals that are the ranks' after a restart.
    pub fn resize(&mut self, size: WindowSize) {
        for parked in self.parked.values_mut() {
            parked.command.terminal = parked.command.terminal.map(|_| size);
            parked.spawned.terminals.iter().for_each(|terminal| pty::resize(terminal, size));
        }
    }
}

/// The page of a process that is to import what the rank of this page has.
fn next_page(told: &SharedPage) -> io::Result<SharedPage> {
    let length = read(told).map_or(0, |pulse| pulse.imports_bytes);
    let imports = told.read_at(pulse::IMPORTS_TEXT, usize::try_from(length).unwrap_or(0))?;
    let page = SharedPage::new(PAGE_NAME, pulse::SIZE)?;
    page.write_at(pulse::IMPORTS_TEXT, &imports)?;
    page.write_word(PulseWord::Imports as usize, length)?;
    Ok(page)
}

fn read(page: &SharedPage) -> Option<Pulse> {
    page.words().ok().and_then(|words| Pulse::read(&words))
}

/// Collects the process if it has ended.
fn has_ended(handle: &PidFd) -> bool {
    let status = waitpid(Pid::from_raw(handle.pid()), Some(WaitPidFlag::WNOHANG));
    !matches!(status, Ok(WaitStatus::StillAlive))
}

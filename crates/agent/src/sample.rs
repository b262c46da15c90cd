//! What the machine and its ranks do, once per heartbeat.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fermi_api::link::{GpuSample, Heartbeat, KeptThere, MachineSample, RankSample};
use fermi_domain::event::{Record, RunEvent};
use fermi_domain::task::RunKey;
use fermi_hardware::gpu::Gpus;
use fermi_hardware::load::LoadMeter;
use fermi_hardware::memory;
use fermi_process::clock;
use fermi_process::journal;
use fermi_process::lease;
use fermi_process::procfs::{self, Consumer};

/// The runs that live, with their folders.
#[derive(Clone, Debug, Default)]
pub struct LiveRuns(Arc<Mutex<BTreeMap<RunKey, PathBuf>>>);

impl LiveRuns {
    pub fn add(&self, run: RunKey, folder: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run, folder);
    }

    pub fn remove(&self, run: &RunKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }

    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn all(&self) -> BTreeMap<RunKey, PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the machine keeps, as the retention has found it; none before its first look.
#[derive(Clone, Debug, Default)]
pub struct KeptNote(Arc<Mutex<Option<KeptThere>>>);

impl KeptNote {
    pub fn put(&self, kept: KeptThere) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    pub fn get(&self) -> Option<KeptThere> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept is told when it has changed, and with every so many heartbeats: the server may be another one by then.
const KEPT_EVERY: u32 = 30;

/// Measures, and remembers the measurement before.
#[derive(Debug)]
pub struct Sampler {
    kept: KeptNote,
    told: Option<KeptThere>,
    beats: u32,
    gpus: Option<Gpus>,
    load: LoadMeter,
    runs: LiveRuns,
    crews: BTreeMap<RunKey, Crew>,
    /// CPU time of every process of a rank at the last look.
    ticks: HashMap<(i32, u64), u64>,
    looked: Instant,
    /// The same in clock ticks since the machine was started, as processes have it.
    looked_ticks: u64,
    ticks_per_second: f32,
    page_bytes: u64,
}

impl Sampler {
    pub fn new(gpus: Option<Gpus>, runs: LiveRuns, kept: KeptNote) -> Self {
        // SAFETY: asks for two constants of the system.
        let (ticks, page) = unsafe { (libc::sysconf(libc::_SC_CLK_TCK), libc::sysconf(libc::_SC_PAGESIZE)) };
        let ticks_per_second = if ticks > 0 { ticks as f32 } else { 100.0 };
        Self {
            kept,
            told: None,
            beats: 0,
            gpus,
            load: LoadMeter::start(),
            runs,
            crews: BTreeMap::new(),
            ticks: HashMap::new(),
            looked: Instant::now(),
            looked_ticks: ticks_since_boot(ticks_per_second),
            ticks_per_second,
            page_bytes: u64::try_from(page).unwrap_or(4096),
        }
    }

    pub fn measure(&mut self) -> Heartbeat {
        let load = self.load.measure();
        let memory = memory::measure();
        Heartbeat {
            time_ms: clock::unix_ms(),
            machine: MachineSample {
                cpu: load.cpu,
                memory_used: memory.used,
                memory_total: memory.total,
                received: load.received,
                sent: load.sent,
            },
            gpus: self.gpus.as_ref().map(gpu_samples).unwrap_or_default(),
            ranks: self.ranks(),
            kept: self.kept_if_due(),
        }
    }

    fn kept_if_due(&mut self) -> Option<KeptThere> {
        let kept = self.kept.get();
        self.beats = self.beats.wrapping_add(1);
        let is_due = kept != self.told || self.beats.is_multiple_of(KEPT_EVERY);
        self.told = kept;
        kept.filter(|_| is_due)
    }

    fn ranks(&mut self) -> Vec<RankSample> {
        let seconds = self.looked.elapsed().as_secs_f32().max(0.001);
        self.looked = Instant::now();
        let looked_before = std::mem::replace(&mut self.looked_ticks, ticks_since_boot(self.ticks_per_second));
        let runs = self.runs.all();
        self.crews.retain(|run, _| runs.contains_key(run));
        for (run, folder) in runs {
            self.crews.entry(run).or_insert_with(|| Crew::new(folder.join(journal::FILE_NAME))).read_on();
        }
        if self.crews.values().all(|crew| crew.pids.is_empty()) {
            self.ticks.clear();
            return Vec::new();
        }
        let trees = Trees::new(procfs::consumers());
        let mut ticks_now = HashMap::new();
        let mut samples = Vec::new();
        for (run, crew) in &self.crews {
            for (rank, pid) in &crew.pids {
                let mut sample =
                    RankSample { task: run.task.clone(), attempt: crew.attempt, rank: *rank, cpus: 0.0, memory: 0 };
                let mut is_known = true;
                for consumer in trees.below(*pid) {
                    let name = (consumer.stat.pid, consumer.stat.started);
                    let ticks = consumer.usage.ticks;
                    // One that was born since the last look has used all its time since then. Of an older one that nobody has
                    // looked at, such as by an agent that was started anew, it cannot be told.
                    let is_young = consumer.stat.started >= looked_before;
                    match self.ticks.get(&name).copied().or(is_young.then_some(0)) {
                        Some(before) => {
                            sample.cpus += ticks.saturating_sub(before) as f32 / self.ticks_per_second / seconds;
                        }
                        None => is_known = false,
                    }
                    sample.memory += consumer.usage.pages * self.page_bytes;
                    ticks_now.insert(name, ticks);
                }
                samples.extend(is_known.then_some(sample));
            }
        }
        self.ticks = ticks_now;
        samples
    }
}

/// By the clock that processes are started by.
fn ticks_since_boot(ticks_per_second: f32) -> u64 {
    (lease::boot_ms() as f64 / 1e3 * f64::from(ticks_per_second)) as u64
}

fn gpu_samples(gpus: &Gpus) -> Vec<GpuSample> {
    let uses = gpus.measure().into_iter();
    uses.map(|gpu| GpuSample {
        index: gpu.index,
        use_share: gpu.busy,
        memory_used: gpu.memory_used,
        memory_total: gpu.memory_total,
        temperature: gpu.temperature,
        power_watts: gpu.power_watts,
    })
    .collect()
}

/// The living ranks of a run, as its journal tells.
#[derive(Debug)]
struct Crew {
    journal: PathBuf,
    read: u64,
    attempt: u32,
    /// Process numbers by global rank.
    pids: BTreeMap<u32, i32>,
}

impl Crew {
    fn new(journal: PathBuf) -> Self {
        Self { journal, read: 0, attempt: 0, pids: BTreeMap::new() }
    }

    /// Reads the whole lines that have come since.
    fn read_on(&mut self) {
        let Ok(file) = File::open(&self.journal) else { return };
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = file.read_at(&mut chunk, self.read) {
            let Some(end) = chunk[..count].iter().rposition(|byte| *byte == b'\n') else {
                // A line longer than the chunk is no rank's start or end.
                self.read += if count == chunk.len() { count as u64 } else { return };
                continue;
            };
            self.read += end as u64 + 1;
            for line in chunk[..end].split(|byte| *byte == b'\n') {
                if let Ok(record) = serde_json::from_slice::<Record>(line) {
                    self.hear(&record.event);
                }
            }
        }
    }

    fn hear(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AttemptStarted { attempt, .. } => {
                self.attempt = *attempt;
                self.pids.clear();
            }
            RunEvent::RankStarted { attempt, rank, pid, .. } => {
                self.attempt = *attempt;
                self.pids.insert(*rank, *pid);
            }
            RunEvent::RankExited { rank, .. } => {
                self.pids.remove(rank);
            }
            _ => {}
        }
    }
}

/// All processes, by their parents.
struct Trees {
    by_pid: HashMap<i32, Consumer>,
    children: HashMap<i32, Vec<i32>>,
}

impl Trees {
    fn new(all: Vec<Consumer>) -> Self {
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for consumer in &all {
            children.entry(consumer.stat.parent).or_default().push(consumer.stat.pid);
        }
        Self { by_pid: all.into_iter().map(|consumer| (consumer.stat.pid, consumer)).collect(), children }
    }

    /// A process and everything below it.
    fn below(&self, root: i32) -> Vec<Consumer> {
        let mut found = Vec::new();
        let mut open = vec![root];
        while let Some(pid) = open.pop() {
            found.extend(self.by_pid.get(&pid).copied());
            open.extend(self.children.get(&pid).into_iter().flatten());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_kept_is_told_when_it_has_changed_and_now_and_then() {
        let kept = KeptNote::default();
        let mut sampler = Sampler::new(None, LiveRuns::default(), kept.clone());
        let mut told = |beats: u32| (0..beats).filter_map(|_| sampler.kept_if_due()).collect::<Vec<_>>();
        assert_eq!(told(40), [], "nobody has looked");
        let found = KeptThere::default();
        kept.put(found);
        assert_eq!(told(5), [found]);
        assert_eq!(told(60), [found, found]);
    }

    #[test]
    fn a_rank_is_measured_with_its_children_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let run: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        let runs = LiveRuns::default();
        runs.add(run.clone(), folder.path().to_owned());
        // Not in the tick of the kernel's clock in which this process began.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let mut sampler = Sampler::new(None, runs.clone(), KeptNote::default());
        assert_eq!(sampler.measure().ranks, []);
        let mut file = File::create(folder.path().join(journal::FILE_NAME)).unwrap();
        let pid = i32::try_from(std::process::id()).unwrap();
        let tell = |file: &mut File, event: RunEvent| {
            let record = Record { v: 1, seq: 1, time_ms: 1, event };
            writeln!(file, "{}", serde_json::to_string(&record).unwrap()).unwrap();
        };
        writeln!(file, "{{\"journal\":1,\"fermi\":\"0\"}}").unwrap();
        tell(&mut file, RunEvent::RankStarted { attempt: 2, rank: 5, local_rank: 0, pid });
        // It has used its time before anybody looked.
        assert_eq!(sampler.measure().ranks, []);
        let until = Instant::now() + std::time::Duration::from_millis(50);
        while Instant::now() < until {}
        let ranks = sampler.measure().ranks;
        assert_eq!((ranks[0].attempt, ranks[0].rank), (2, 5));
        let cpus = std::thread::available_parallelism().unwrap().get() as f32;
        assert!(ranks[0].memory > 1 << 20 && (0.0..=cpus + 1.0).contains(&ranks[0].cpus), "{ranks:?}");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(sampler.measure().ranks.len(), 1, "one that was born since counts from its beginning");
        child.kill().unwrap();
        child.wait().unwrap();
        let exit = fermi_domain::exit::Exit::Code { code: 0 };
        tell(&mut file, RunEvent::RankExited { attempt: 2, rank: 5, local_rank: 0, pid, exit });
        assert_eq!(sampler.measure().ranks, []);
    }
}

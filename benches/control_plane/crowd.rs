//! Thousands of played agents on a few threads: each dials, greets, beats and comes back as a real one does.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use fermi_api::link::{AgentMessage, GpuSample, Heartbeat, MachineSample};
use fermi_domain::fleet::pause_before_dial;
use fermi_domain::task::RunKey;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::journals::{self, Journal};
use super::simulated::{GPUS, Heard, SimulatedAgent};
use super::spread::Spread;
use crate::Trouble;

const THREADS: usize = 2;
const SECOND: Duration = Duration::from_secs(1);
/// How many of a thread's agents may wait for their first welcome at once: a cluster is not switched on in one moment.
const NEWCOMERS: usize = 128;
/// A heartbeat's text is made so often for all.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// What has been seen of all of them.
#[derive(Debug, Default)]
pub struct Tally {
    pub here: AtomicU64,
    pub dials: AtomicU64,
    pub lost: AtomicU64,
    pub beats: AtomicU64,
    /// Milliseconds until the server has taken in a heartbeat and the question behind it.
    answers: Mutex<Vec<f64>>,
    /// Milliseconds by which this program was late with a heartbeat.
    lags: Mutex<Vec<f64>>,
    /// Why links were lost, the first few.
    reasons: Mutex<Vec<String>>,
}

impl Tally {
    /// What has come since the last call: of the answers, and of our own lateness.
    pub fn take(&self) -> (Spread, Spread) {
        let take = |list: &Mutex<Vec<f64>>| std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
        (take(&self.answers).into_iter().collect(), take(&self.lags).into_iter().collect())
    }

    pub fn reasons(&self) -> Vec<String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All of them, until it is dropped.
pub struct Crowd {
    pub tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// So many agents; they dial at once.
    pub fn start(server: SocketAddr, agents: usize) -> Result<Self, Trouble> {
        let (tally, stop) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
        let journals = journals::start(server);
        let mut threads = Vec::new();
        for thread in 0..THREADS {
            let agents: Vec<SimulatedAgent> =
                (0..agents).filter(|number| number % THREADS == thread).map(SimulatedAgent::new).collect();
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
            let (done, ended) = channel();
            let waiting = (0..agents.len()).collect();
            let share = Share {
                server,
                epoll,
                agents,
                timers: BinaryHeap::new(),
                waiting,
                tally: tally.clone(),
                journals: journals.clone(),
                done,
                ended,
                random: 0x9e37_79b9_7f4a_7c15 ^ thread as u64,
            };
            let stop = stop.clone();
            threads
                .push(std::thread::Builder::new().name(format!("agents-{thread}")).spawn(move || share.play(&stop))?);
        }
        Ok(Self { tally, stop, threads })
    }

    pub fn here(&self) -> u64 {
        self.tally.here.load(Relaxed)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed has said so.
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Dial,
    Beat,
}

/// The agents of one thread.
struct Share {
    server: SocketAddr,
    epoll: Epoll,
    agents: Vec<SimulatedAgent>,
    timers: BinaryHeap<Reverse<(Instant, usize, Due)>>,
    /// Those that have never dialled.
    waiting: VecDeque<usize>,
    tally: Arc<Tally>,
    journals: Sender<Journal>,
    /// Runs that have ended are told over the link.
    done: Sender<(usize, RunKey)>,
    ended: Receiver<(usize, RunKey)>,
    random: u64,
}

impl Share {
    fn play(mut self, stop: &AtomicBool) {
        let mut events = vec![EpollEvent::empty(); 1_024];
        let (mut text, mut made, mut looked) = (heartbeat(0), Instant::now(), Instant::now());
        let (mut answers, mut lags) = (Vec::new(), Vec::new());
        for turn in 0_u64.. {
            if stop.load(Relaxed) {
                return;
            }
            self.let_newcomers_in();
            let now = Instant::now();
            let next = self.timers.peek().map_or(now + SAMPLE_EVERY, |Reverse((due, ..))| *due);
            let wait = next.saturating_duration_since(now).min(SAMPLE_EVERY);
            let wait = EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::ZERO);
            // An interrupted wait is a wait that ended early.
            let ready = self.epoll.wait(&mut events, wait).unwrap_or(0);
            for event in &events[..ready] {
                self.go_on(event.data() as usize, &mut answers);
            }
            while let Ok((index, run)) = self.ended.try_recv() {
                let said = self.agents[index].say(&AgentMessage::Gone {
                    run,
                    ended: None,
                    lease: None,
                    in_order: true,
                    streams_follow: false,
                    not_started: None,
                });
                self.judge(index, said);
            }
            if made.elapsed() > SAMPLE_EVERY {
                (text, made) = (heartbeat(turn), Instant::now());
            }
            let now = Instant::now();
            while let Some(Reverse((due, index, what))) =
                self.timers.peek().copied().filter(|Reverse((due, ..))| *due <= now)
            {
                self.timers.pop();
                match what {
                    Due::Dial => self.dial(index),
                    Due::Beat if self.agents[index].next_beat == Some(due) => {
                        lags.push(due.elapsed().as_secs_f64() * 1e3);
                        self.tally.beats.fetch_add(1, Relaxed);
                        let said = self.agents[index].beat(&text);
                        if self.judge(index, said) {
                            self.beat_at(index, due + SECOND);
                        }
                    }
                    // Of a link that it has lost since.
                    Due::Beat => {}
                }
            }
            if looked.elapsed() > SECOND {
                looked = Instant::now();
                self.mind_patience();
                let put = |list: &Mutex<Vec<f64>>, new: &mut Vec<f64>| {
                    list.lock().unwrap_or_else(PoisonError::into_inner).append(new);
                };
                put(&self.tally.answers, &mut answers);
                put(&self.tally.lags, &mut lags);
            }
        }
    }

    fn let_newcomers_in(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let mut coming = self.agents.iter().filter(|agent| agent.is_coming()).count();
        while coming < NEWCOMERS
            && let Some(index) = self.waiting.pop_front()
        {
            self.dial(index);
            coming += 1;
        }
    }

    fn dial(&mut self, index: usize) {
        self.tally.dials.fetch_add(1, Relaxed);
        let agent = &mut self.agents[index];
        if let Err(reason) = agent.dial(self.server) {
            agent.hang_up();
            return self.lost(index, &reason);
        }
        let Some(fd) = agent.as_fd() else { return };
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        if let Err(error) = self.epoll.add(fd, EpollEvent::new(flags, index as u64)) {
            self.lost(index, &error.to_string());
        }
    }

    fn go_on(&mut self, index: usize, answers: &mut Vec<f64>) {
        let mut heard = Vec::new();
        let was_here = self.agents[index].is_here();
        self.agents[index].go_on(&mut heard);
        for news in heard {
            match news {
                Heard::Welcomed => {
                    self.agents[index].tries = 0;
                    self.tally.here.fetch_add(1, Relaxed);
                    self.beat_at(index, Instant::now() + SECOND);
                }
                Heard::Answered(after) => answers.push(after.as_secs_f64() * 1e3),
                Heard::Launch(run) => {
                    let agent = &self.agents[index];
                    let Some(welcome) = agent.welcome.clone() else { continue };
                    // Without an uploader the task never runs, which is seen.
                    let _ = self.journals.send(Journal { run, welcome, credential: agent.credential.clone() });
                }
                Heard::End(run) => {
                    let _ = self.done.send((index, run));
                }
                Heard::Lost(reason) => {
                    if was_here {
                        self.tally.here.fetch_sub(1, Relaxed);
                    }
                    self.lost(index, &reason);
                }
            }
        }
    }

    fn beat_at(&mut self, index: usize, due: Instant) {
        self.agents[index].next_beat = Some(due);
        self.timers.push(Reverse((due, index, Due::Beat)));
    }

    /// Whether the link holds.
    fn judge(&mut self, index: usize, said: Result<(), String>) -> bool {
        let Err(reason) = said else { return true };
        if self.agents[index].is_here() {
            self.tally.here.fetch_sub(1, Relaxed);
        }
        self.agents[index].hang_up();
        self.lost(index, &reason);
        false
    }

    /// It dials again, when a real one would.
    fn lost(&mut self, index: usize, reason: &str) {
        self.tally.lost.fetch_add(1, Relaxed);
        let mut reasons = self.tally.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        if reasons.len() < 8 && !reasons.iter().any(|known| known == reason) {
            reasons.push(reason.to_owned());
        }
        drop(reasons);
        let pause = pause_before_dial(self.agents[index].tries, self.draw());
        self.timers.push(Reverse((Instant::now() + pause, index, Due::Dial)));
    }

    fn mind_patience(&mut self) {
        for index in 0..self.agents.len() {
            if self.agents[index].is_out_of_patience() {
                self.agents[index].hang_up();
                self.lost(index, "the server does not answer");
            }
        }
    }

    /// Between 0 and 1; the same in every run of the bench.
    fn draw(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn heartbeat(turn: u64) -> String {
    let share = (turn % 100) as f32 / 100.0;
    let gpu = |index| GpuSample {
        index,
        use_share: share,
        memory_used: turn << 20,
        memory_total: 80 << 30,
        temperature: Some(60.0),
        power_watts: Some(300.0),
    };
    let machine =
        MachineSample { cpu: share, memory_used: turn << 20, memory_total: 1 << 40, received: turn, sent: turn };
    let time_ms = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let gpus = (0..GPUS).map(gpu).collect();
    let message =
        AgentMessage::Heartbeat(Box::new(Heartbeat { time_ms, machine, gpus, ranks: Vec::new(), kept: None }));
    // Texts and numbers can always be written.
    serde_json::to_string(&message).unwrap_or_default()
}

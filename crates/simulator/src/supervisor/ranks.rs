//! The ranks of one node: they start, live for as long as is their fate, and end.

use fermi_attempt::coordinator::{Failure, RunInput};
use fermi_attempt::node_message::{NodeCommand, NodeReport};
use fermi_domain::checkpoint::NodeCheckpoints;
use fermi_domain::event::RunEvent;
use fermi_domain::exit::Exit;
use fermi_domain::task::RunKey;

use super::{Keepers, PeerLetter, Role};
use crate::truth::GrowingBytes;
use crate::world::{Event, World};

impl World {
    /// Does what a node is told.
    pub(super) fn obey(&mut self, index: usize, command: NodeCommand) -> Vec<NodeReport> {
        match command {
            NodeCommand::Start(start) => self.start_ranks(index, start.attempt),
            NodeCommand::Signal { signal } => {
                let ranks: Vec<(u32, u32)> = self.keepers[index].alive.iter().map(|(r, a)| (*r, *a)).collect();
                for (rank, attempt) in ranks {
                    let at = self.soon(1..60);
                    self.at(at, Event::RankEnds { keepers: index, rank, attempt, exit: killed(signal) });
                }
                Vec::new()
            }
            NodeCommand::Kill => {
                let ranks: Vec<(u32, u32)> = self.keepers[index].alive.iter().map(|(r, a)| (*r, *a)).collect();
                for (rank, attempt) in ranks {
                    let at = self.soon(1..5);
                    self.at(at, Event::RankEnds { keepers: index, rank, attempt, exit: killed(libc::SIGKILL) });
                }
                Vec::new()
            }
            NodeCommand::CheckJoined => vec![NodeReport::NotJoined { missing: Vec::new(), ranks: Vec::new() }],
            NodeCommand::Sweep => {
                self.end_ranks(index);
                vec![NodeReport::Swept]
            }
            NodeCommand::Tell(event) => {
                if let Some(event) = event {
                    self.record(index, *event);
                }
                Vec::new()
            }
            NodeCommand::Survey(_) => {
                vec![NodeReport::Surveyed { found: NodeCheckpoints::default(), mark: None }]
            }
            NodeCommand::Over | NodeCommand::Begun { .. } | NodeCommand::Alive | NodeCommand::Pong { .. } => Vec::new(),
        }
    }

    fn start_ranks(&mut self, index: usize, attempt: u32) -> Vec<NodeReport> {
        let Keepers { run, machine, assignment, .. } = &self.keepers[index];
        let (run, machine, world) = (run.clone(), *machine, assignment.launch.world_size);
        let ranks: Vec<(u32, u32)> =
            assignment.launch.ranks.iter().map(|rank| (rank.rank.get(), rank.worker.index())).collect();
        self.tell(|_| format!("ranks {ranks:?} of {run} start attempt {attempt} on machine {machine}"));
        let mut reports = Vec::new();
        for (rank, worker) in ranks {
            let launch = (run.generation, attempt);
            self.truth.rank_started(self.now, &run.task, launch, rank, (machine, worker), world);
            self.keepers[index].alive.insert(rank, attempt);
            let bytes = GrowingBytes::default();
            if !self.is_full(machine) {
                bytes.append(format!("{run} {attempt} {rank}\n").as_bytes());
            }
            self.truth.streams.insert((run.task.clone(), launch, rank), bytes.clone());
            if let Some(files) = self.files(index) {
                files.streams.insert((attempt, rank), bytes);
            }
            self.record(index, RunEvent::RankStarted { attempt, rank, local_rank: 0, pid: 1 });
            reports.push(NodeReport::RankStarted { rank, local_rank: 0, pid: 1 });
            let (after, exit) = self.fate(&run, attempt, rank, world);
            self.at(self.now + after, Event::RankEnds { keepers: index, rank, attempt, exit });
        }
        reports
    }

    /// How an attempt would end if nothing came between: the same for all its ranks, whoever asks.
    fn fate(&self, run: &RunKey, attempt: u32, rank: u32, world: u32) -> (u64, Exit) {
        let task: u64 = run.task.as_str().bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
        let seed = self.seed ^ task ^ run.generation.0.wrapping_mul(7_919) ^ (u64::from(attempt) << 32);
        let mut rng = fastrand::Rng::with_seed(seed);
        let lasts = rng.u64(500..20_000);
        let failing = (rng.u8(..4) == 0).then(|| rng.u32(..world.max(1)));
        let jitter = u64::from(rank) * 3;
        match failing {
            Some(failing) if failing == rank => (lasts / 2, Exit::Code { code: 1 }),
            // They would go on until they are ended.
            Some(_) => (lasts * 20, Exit::SUCCESS),
            None => (lasts + jitter, Exit::SUCCESS),
        }
    }

    pub fn rank_ends(&mut self, index: usize, rank: u32, attempt: u32, exit: Exit) {
        if self.keepers[index].alive.get(&rank) != Some(&attempt) {
            return;
        }
        self.rank_gone(index, rank, attempt, exit.is_success());
        if !self.keepers[index].is_up {
            return;
        }
        self.record(index, RunEvent::RankExited { attempt, rank, local_rank: 0, pid: 1, exit: exit.clone() });
        let failure = Box::new(Failure::default());
        let (pid, reached) = (1, None);
        let report = NodeReport::RankEnded { rank, local_rank: 0, pid, exit, failure, made_progress: true, reached };
        match &self.keepers[index].role {
            Role::First(first) => {
                if let Some(node) = first.order.iter().position(|number| *number == 0) {
                    self.feed(index, RunInput::Reported { node, report });
                }
            }
            Role::Member(Some(joined)) => {
                let (first, number) = (joined.first, joined.number);
                self.post_peer(first, PeerLetter::Report { number, report }, index);
            }
            Role::Member(None) => {}
        }
    }

    fn rank_gone(&mut self, index: usize, rank: u32, attempt: u32, is_success: bool) {
        let Keepers { run, machine, assignment, .. } = &self.keepers[index];
        let ranks = &assignment.launch.ranks;
        let worker = ranks.iter().find(|known| known.rank.get() == rank).map_or(0, |known| known.worker.index());
        let (run, machine) = (run.clone(), *machine);
        self.keepers[index].alive.remove(&rank);
        // What a full disk does not take of the output is lost, and nothing waits for it.
        if let Some(bytes) = self.truth.streams.get(&(run.task.clone(), (run.generation, attempt), rank))
            && !self.is_full(machine)
        {
            bytes.append(b"end\n");
        }
        self.truth.rank_ended(&run.task, (run.generation, attempt), (machine, worker), is_success);
        let agent = self.keepers[index].agent;
        self.wrote(agent, &run, Some((attempt, rank)));
    }

    /// All ranks of a run are ended at once.
    pub fn end_ranks(&mut self, index: usize) {
        let ranks: Vec<(u32, u32)> =
            self.keepers[index].alive.iter().map(|(rank, attempt)| (*rank, *attempt)).collect();
        for (rank, attempt) in ranks {
            self.rank_gone(index, rank, attempt, false);
        }
    }
}

fn killed(signal: i32) -> Exit {
    Exit::Signal { signal, core_dumped: false }
}

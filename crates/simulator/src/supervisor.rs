//! The keepers of runs and the ranks below them: the coordinator and the assembly are the real ones; processes and the
//! links between supervisors are values.

mod coordinating;
mod journal;
mod links;
mod ranks;

pub use links::PeerLetter;

use links::greeting;

use std::collections::BTreeMap;

use fermi_api::link::Assignment;
use fermi_attempt::assembly::Assembly;
use fermi_attempt::coordinator::{Coordinator, Policy, RunInput};
use fermi_attempt::greeting::{NodeCount, Terms};
use fermi_domain::event::RunEvent;
use fermi_domain::task::RunKey;

use crate::world::{Event, World};

const LOOK_EVERY_MS: u64 = 1_000;

/// Warden and supervisor of one run, with its ranks.
#[derive(Debug)]
pub struct Keepers {
    pub run: RunKey,
    pub agent: usize,
    pub machine: usize,
    pub is_up: bool,
    pub assignment: Box<Assignment>,
    /// Ranks that live, each with its attempt.
    pub alive: BTreeMap<u32, u32>,
    role: Role,
    /// Until when it may go on without the server, where it holds a lease from it.
    pub lease_until_ms: Option<u64>,
    /// When something last came over the link to the other node, for members.
    last_letter_ms: u64,
    /// Since when it tries to join, for members.
    joins_since_ms: u64,
    /// Lines that the disk has not taken yet.
    unwritten: Vec<journal::WaitingLine>,
    /// It has noted that all ranks returned 0.
    has_succeeded: bool,
}

#[derive(Debug)]
enum Role {
    First(Box<First>),
    Member(Option<Joined>),
}

/// A member's link to the first node.
#[derive(Clone, Copy, Debug)]
struct Joined {
    first: usize,
    number: usize,
    heard_ms: u64,
}

#[derive(Debug)]
struct First {
    coordinator: Coordinator,
    assembly: Assembly,
    /// The members that are linked, by their number, each with when it was last heard.
    members: BTreeMap<usize, (usize, u64)>,
    /// Numbers in the order of node ranks; its own is 0.
    order: Vec<usize>,
    is_assembling: bool,
    /// Over which time the coordinator is woken.
    wakes_at: Option<u64>,
}

impl World {
    pub fn start_keepers(&mut self, agent: usize, assignment: Box<Assignment>, lease_until_ms: Option<u64>) -> usize {
        let run = assignment.run.clone();
        let role = if run.node_rank.0 == 0 {
            let policy = Policy {
                restarts: assignment.policy.restarts,
                ladder: assignment.policy.ladder.clone(),
                start_timeout_ms: None,
                join_timeout_ms: assignment.policy.join_timeout_ms,
                elastic: false,
                resume: assignment.policy.resume,
                attempts_before: assignment.policy.attempts_before,
            };
            let nodes = assignment.launch.node_count;
            let terms = Terms {
                nodes: NodeCount { least: nodes, most: nodes },
                node_lost_after_ms: assignment.policy.node_lost_after_ms,
            };
            let mut assembly = Assembly::new(terms, String::new());
            let _ = assembly.welcome(&greeting(&assignment));
            Role::First(Box::new(First {
                coordinator: Coordinator::new(policy),
                assembly,
                members: BTreeMap::new(),
                order: Vec::new(),
                is_assembling: false,
                wakes_at: None,
            }))
        } else {
            Role::Member(None)
        };
        let machine = self.agents[agent].machine;
        let index = self.keepers.len();
        self.tell(|_| format!("keepers of {run} start on machine {machine}"));
        self.keepers.push(Keepers {
            run,
            agent,
            machine,
            is_up: true,
            assignment,
            alive: BTreeMap::new(),
            role,
            lease_until_ms,
            last_letter_ms: 0,
            joins_since_ms: 0,
            unwritten: Vec::new(),
            has_succeeded: false,
        });
        let at = self.soon(1..20);
        self.at(at, Event::KeepersUp { keepers: index });
        index
    }

    fn files(&mut self, index: usize) -> Option<&mut crate::agent::RunFiles> {
        let Keepers { agent, run, .. } = &self.keepers[index];
        self.agents[*agent].folder.runs.get_mut(run)
    }

    pub fn keepers_up(&mut self, index: usize) {
        if !self.keepers[index].is_up {
            return;
        }
        if let Some(files) = self.files(index) {
            files.has_journal = true;
            let journal = files.journal.clone();
            self.truth.journals.entry(self.keepers[index].run.clone()).or_default().push(journal);
        }
        let is_first = matches!(self.keepers[index].role, Role::First(_));
        self.record(
            index,
            RunEvent::RunStarted {
                run_id: String::new(),
                world_size: self.keepers[index].assignment.launch.world_size,
                folder: None,
                warden_pid: 1,
                supervisor_pid: 1,
                master_port: is_first.then_some(29_500),
            },
        );
        if self.keepers[index].assignment.launch.node_count > 1 {
            let at = self.now + LOOK_EVERY_MS;
            self.at(at, Event::PeerCheck { keepers: index });
        }
        if is_first {
            self.feed(index, RunInput::Begin);
        } else {
            self.keepers[index].joins_since_ms = self.now;
            self.at(self.now + 1, Event::Join { keepers: index });
        }
    }

    /// The keepers are done, or dead with all that they held.
    pub fn keepers_exit(&mut self, index: usize) {
        self.keepers[index].is_up = false;
        self.keepers[index].unwritten.clear();
        self.close_links(index);
        self.end_ranks(index);
        self.watch_soon(index);
    }

    fn watch_soon(&mut self, index: usize) {
        let Keepers { agent, run, .. } = &self.keepers[index];
        let (agent, run) = (*agent, run.clone());
        let life = self.agents[agent].life;
        let at = self.soon(1..30);
        self.at(at, Event::Watch { agent, life, run });
    }

    /// Both keepers die at once: their ranks go on until somebody finds them.
    pub fn kill_both_keepers(&mut self, index: usize) {
        if self.keepers[index].lease_until_ms.is_some() {
            // Ranks die with their supervisor; what has forked away from them is beyond a lease until the agent looks.
            self.keepers_exit(index);
            return;
        }
        self.keepers[index].is_up = false;
        self.close_links(index);
        self.watch_soon(index);
    }

    pub fn signal_keepers(&mut self, index: usize, signal: i32) {
        if !self.keepers[index].is_up {
            return;
        }
        if signal == libc::SIGKILL {
            self.keepers_exit(index);
            return;
        }
        match &self.keepers[index].role {
            Role::First(_) => self.feed(index, RunInput::StopAsked { signal }),
            Role::Member(_) => {}
        }
    }

    /// The agent's watch on a run: when nobody holds its lock any more, what is left of it is swept, and it is over.
    pub fn watch(&mut self, agent: usize, life: u32, run: &RunKey) {
        if !self.agents[agent].is_up || self.agents[agent].life != life {
            return;
        }
        let Some(keepers) = self.agents[agent].folder.runs.get(run).and_then(|files| files.keepers) else {
            // A folder that was copied here with nothing behind it.
            self.agent_hears(agent, fermi_agent::run_registry::AgentInput::KeepersGone(run.clone()));
            return;
        };
        if !self.keepers[keepers].is_up {
            self.end_ranks(keepers);
            self.agent_hears(agent, fermi_agent::run_registry::AgentInput::KeepersGone(run.clone()));
        }
    }

    /// What an agent does at its start: it ends what dead keepers left.
    pub fn sweep_orphans(&mut self, agent: usize) {
        let found: Vec<usize> = self.agents[agent].folder.runs.values().filter_map(|files| files.keepers).collect();
        for keepers in found {
            if !self.keepers[keepers].is_up {
                self.end_ranks(keepers);
            }
        }
    }
}

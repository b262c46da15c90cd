//! The links between the supervisors of a run.

use fermi_api::link::Assignment;
use fermi_attempt::coordinator::{Loss, RunInput};
use fermi_attempt::greeting::{Greeting, LINK_VERSION};
use fermi_attempt::node_message::{NodeCommand, NodeReport};
use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::verdict::{Verdict, VerdictKind};

use super::{Joined, Keepers, LOOK_EVERY_MS, Role};
use crate::world::{Event, World};

/// What goes between supervisors.
#[derive(Clone, Debug)]
pub enum PeerLetter {
    /// To a member, over the connection of this number.
    Command {
        number: usize,
        command: NodeCommand,
    },
    Report {
        number: usize,
        report: NodeReport,
    },
    /// The connection ends behind all that was sent over it.
    Closed,
}

impl World {
    /// Letters between supervisors arrive in their order.
    pub(super) fn post_peer(&mut self, to: usize, letter: PeerLetter, from: usize) {
        let at = (self.now + self.rng.u64(1..8)).max(self.keepers[to].last_letter_ms + 1);
        self.keepers[to].last_letter_ms = at;
        self.at(at, Event::Peer { to, from, letter });
    }

    fn can_talk(&self, one: usize, other: usize) -> bool {
        [one, other].into_iter().all(|keepers| {
            let machine = &self.machines[self.keepers[keepers].machine];
            machine.is_up && self.now >= machine.cut_from_peers_until && self.now >= machine.paused_until
        })
    }

    pub fn peer(&mut self, to: usize, from: usize, letter: PeerLetter) {
        if !self.keepers[to].is_up {
            return;
        }
        if !self.can_talk(to, from) {
            // TCP sends it again until the connection is given up.
            let at = self.now + 500;
            self.keepers[to].last_letter_ms = self.keepers[to].last_letter_ms.max(at);
            self.at(at, Event::Peer { to, from, letter });
            return;
        }
        match letter {
            PeerLetter::Command { number, command } => {
                let Role::Member(Some(joined)) = &mut self.keepers[to].role else { return };
                if joined.first != from || joined.number != number {
                    return;
                }
                joined.heard_ms = self.now;
                let is_over = command == NodeCommand::Over;
                for report in self.obey(to, command) {
                    self.post_peer(from, PeerLetter::Report { number, report }, to);
                }
                if is_over {
                    self.ends_in_order(to);
                }
            }
            PeerLetter::Closed => self.peer_closed(to, from),
            PeerLetter::Report { number, report } => {
                let now = self.now;
                let Role::First(first) = &mut self.keepers[to].role else { return };
                let Some((member, heard)) = first.members.get_mut(&number).filter(|(member, _)| *member == from) else {
                    return;
                };
                let _ = member;
                *heard = now;
                if let Some(node) = first.order.iter().position(|seated| *seated == number) {
                    self.feed(to, RunInput::Reported { node, report });
                }
            }
        }
    }

    /// A member tries to join the first node of its run.
    pub fn join(&mut self, index: usize) {
        if !self.keepers[index].is_up || !matches!(self.keepers[index].role, Role::Member(None)) {
            return;
        }
        let run = self.keepers[index].run.clone();
        let is_first = |keepers: &Keepers| {
            keepers.is_up
                && matches!(keepers.role, Role::First(_))
                && keepers.run.task == run.task
                && keepers.run.generation == run.generation
        };
        let first = self.keepers.iter().position(is_first);
        let greeting = greeting(&self.keepers[index].assignment);
        let now = self.now;
        if let Some(at) = first.filter(|first| self.can_talk(*first, index))
            && let Role::First(first) = &mut self.keepers[at].role
            && first.is_assembling
            && let Ok(number) = first.assembly.welcome(&greeting)
        {
            first.members.insert(number, (index, now));
            self.keepers[index].role = Role::Member(Some(Joined { first: at, number, heard_ms: now }));
            if let Some(assembled) = self.assembled(at) {
                self.feed(at, assembled);
            }
            return;
        }
        let at = self.soon(200..600);
        let Keepers { joins_since_ms, assignment, .. } = &self.keepers[index];
        if now - joins_since_ms >= assignment.policy.join_timeout_ms {
            self.member_ends(index);
            return;
        }
        self.at(at, Event::Join { keepers: index });
    }

    /// Each second: who is dead, who is silent.
    pub fn peer_check(&mut self, index: usize) {
        if !self.keepers[index].is_up {
            return;
        }
        let patience = self.keepers[index].assignment.policy.node_lost_after_ms;
        let now = self.now;
        match &self.keepers[index].role {
            Role::First(first) => {
                let members: Vec<(usize, usize, u64)> =
                    first.members.iter().map(|(number, (member, heard))| (*number, *member, *heard)).collect();
                for (number, member, heard) in members {
                    if self.can_talk(index, member) && self.keepers[member].is_up {
                        if let Role::First(first) = &mut self.keepers[index].role
                            && let Some((_, heard)) = first.members.get_mut(&number)
                        {
                            *heard = now;
                        }
                    } else if now - heard >= patience {
                        self.lose(index, number, Loss::Silent);
                    }
                    if !self.keepers[index].is_up {
                        return;
                    }
                }
            }
            Role::Member(Some(joined)) => {
                let (first, heard) = (joined.first, joined.heard_ms);
                if !self.can_talk(index, first) || !self.keepers[first].is_up {
                    if now - heard >= patience {
                        self.tell(|world| format!("{} hears nothing of its first node", world.keepers[index].run));
                        self.end_ranks(index);
                        self.post_peer(first, PeerLetter::Closed, index);
                        self.keepers[index].role = Role::Member(None);
                        if self.keepers[index].assignment.policy.restarts.max_restarts == 0 {
                            self.member_ends(index);
                            return;
                        }
                        self.keepers[index].joins_since_ms = now;
                        self.at(now + 1, Event::Join { keepers: index });
                    }
                } else if let Role::Member(Some(joined)) = &mut self.keepers[index].role {
                    joined.heard_ms = now;
                }
            }
            Role::Member(None) => {}
        }
        self.at(now + LOOK_EVERY_MS, Event::PeerCheck { keepers: index });
    }

    fn peer_closed(&mut self, to: usize, from: usize) {
        match &self.keepers[to].role {
            Role::First(first) => {
                let number = first.members.iter().find(|(_, (member, _))| *member == from).map(|(number, _)| *number);
                if let Some(number) = number {
                    self.lose(to, number, Loss::SupervisorDied);
                }
            }
            Role::Member(Some(joined)) if joined.first == from => self.member_ends(to),
            Role::Member(_) => {}
        }
    }

    /// The kernel closes the connections of a process that ends.
    pub(super) fn close_links(&mut self, index: usize) {
        let peers: Vec<usize> = match &self.keepers[index].role {
            Role::First(first) => first.members.values().map(|(member, _)| *member).collect(),
            Role::Member(joined) => joined.iter().map(|joined| joined.first).collect(),
        };
        for peer in peers {
            self.post_peer(peer, PeerLetter::Closed, index);
        }
    }

    fn member_ends(&mut self, index: usize) {
        let verdict = Box::new(Verdict::of(VerdictKind::supervisor_lost("")));
        self.end_ranks(index);
        self.record(index, RunEvent::RunEnded { outcome: Outcome::Failed, attempts: 0, verdict });
        self.ends_in_order(index);
    }

    fn lose(&mut self, index: usize, number: usize, loss: Loss) {
        let Role::First(first) = &mut self.keepers[index].role else { return };
        first.members.remove(&number);
        first.assembly.leave(number);
        if let Some(node) = first.order.iter().position(|seated| *seated == number) {
            let may_run_until_ms = self.now;
            self.feed(index, RunInput::NodeLost { node, loss, may_run_until_ms });
        }
    }
}

pub(super) fn greeting(assignment: &Assignment) -> Greeting {
    Greeting {
        version: LINK_VERSION,
        fermi: String::new(),
        run: String::new(),
        secret: String::new(),
        nonce: None,
        name: assignment.launch.node_name.clone(),
        node_rank: Some(assignment.run.node_rank.0),
        ranks: u32::try_from(assignment.launch.ranks.len()).unwrap_or(u32::MAX),
        tells_checkpoints: true,
        meets_at_hosted_store: true,
        role: None,
        terms: None,
    }
}

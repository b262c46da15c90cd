//! Machines and the server stop and start.

use super::{Event, World};

impl World {
    pub(super) fn start_server(&mut self) {
        if !self.server.is_up {
            self.tell(|_| "the server starts".to_owned());
            self.server.start(self.now);
            self.ring_server();
        }
    }

    pub(crate) fn kill_server(&mut self) {
        self.tell(|_| "the server is killed".to_owned());
        self.server.kill();
        self.is_reconcile_due = false;
        for link in 0..self.links.len() {
            if !self.links[link].is_dead {
                self.links[link].is_dead = true;
                let at = self.soon(1..2_000);
                self.at(at, Event::LinkEnds { link });
            }
        }
    }

    pub(super) fn start_machine(&mut self, machine: usize) {
        if self.machines[machine].is_up || self.machines[machine].has_vanished {
            return;
        }
        self.machines[machine].is_up = true;
        self.machines[machine].boot += 1;
        for agent in 0..self.agents.len() {
            if self.agents[agent].machine == machine {
                self.start_agent(agent);
            }
        }
    }

    pub(super) fn stop_machine(&mut self, machine: usize) {
        self.harm_machine(machine);
        self.tell(|_| format!("machine {machine} goes down"));
        for agent in 0..self.agents.len() {
            if self.agents[agent].machine == machine {
                self.kill_agent(agent, "dies with its machine");
            }
        }
        for keepers in 0..self.keepers.len() {
            if self.keepers[keepers].machine == machine {
                self.keepers[keepers].is_up = false;
                self.end_ranks(keepers);
            }
        }
        self.machines[machine].is_up = false;
    }

    /// What is done to a machine is done to the tasks on it.
    pub(super) fn harm_machine(&mut self, machine: usize) {
        let here = self.keepers.iter().filter(|keepers| keepers.machine == machine);
        for keepers in here {
            self.truth.harmed(&keepers.run.task);
        }
    }
}

//! What people do: they ask for tasks, bring machines, copy folders, declare machines lost, and put backups back.

use fermi_domain::ids::EnvironmentId;

use crate::agent::{Agent, Folder, Letter, Machine};
use crate::plan::MACHINES;
use crate::supervisor::Keepers;
use crate::world::{Event, World};

impl World {
    pub(crate) fn create(&mut self, nodes: u8, restarts: u8, again: bool) {
        if !self.server.is_up {
            return;
        }
        let chosen = (0..MACHINES).filter(|machine| nodes >> machine & 1 == 1).take(3);
        let names: Vec<String> = chosen.map(|machine| self.agents[machine].name.clone()).collect();
        let nodes: Vec<EnvironmentId> = names.iter().filter_map(|name| self.server.environment_named(name)).collect();
        if nodes.is_empty() {
            return;
        }
        self.next_key += 1;
        let (key, restarts) = (self.next_key, u32::from(restarts));
        let Ok(id) = self.server.create(nodes.clone(), restarts, key, self.now) else { return };
        self.created.push(id.clone());
        if again && self.server.create(nodes, restarts, key, self.now).is_ok_and(|other| other != id) {
            let what = format!("the request that made {id} has made another task as well");
            self.truth.broken(self.now, "a request that is repeated is done once", what);
        }
        self.ring_server();
    }

    /// Another machine comes under a name that is known.
    pub(crate) fn second_agent(&mut self, named: usize) {
        if self.agents.len() >= MACHINES + 3 {
            return;
        }
        let number = self.machines.len();
        self.machines.push(Machine { id: format!("m{number}"), is_up: true, ..Machine::default() });
        let folder = Folder { instance: format!("i{number}"), ..Folder::default() };
        let name = self.agents[named].name.clone();
        self.agents.push(Agent::new(name, number, folder));
        self.start_agent(self.agents.len() - 1);
    }

    /// The data folder of an agent is copied, and an agent is started on the copy.
    pub(crate) fn copy_folder(&mut self, from: usize, to: usize) {
        if self.agents.len() >= MACHINES + 3 {
            return;
        }
        // A clone of the whole machine keeps its name; nothing but the seal tells it apart, so that the original must
        // have come back once since.
        let is_clone = self.server.database.history.epoch == 0
            && from != to
            && self.agents[from].link.is_some_and(|link| !self.links[link].is_dead);
        let number = self.machines.len();
        let id = if is_clone { self.machines[from].id.clone() } else { format!("m{number}") };
        let is_elsewhere = from != to;
        let machine = if is_elsewhere {
            self.machines.push(Machine { id, is_up: true, boot: 1_000, ..Machine::default() });
            number
        } else {
            from
        };
        let folder = self.agents[from].folder.copied(is_clone, format!("i-copy{number}"));
        let name = self.agents[from].name.clone();
        self.agents.push(Agent::new(name, machine, folder));
        let agent = self.agents.len() - 1;
        if is_clone {
            self.agents[agent].clone_of = Some(from);
            if let Some(link) = self.agents[from].link {
                self.break_link(link);
            }
        }
        self.start_agent(agent);
    }

    /// An operator who has looked says so: not of a name under which another machine trains meanwhile.
    /// Says whether it was done.
    pub(crate) fn declare_lost(&mut self, machine: usize) -> bool {
        let name = self.agents[machine].name.clone();
        let trains = |keepers: &Keepers| {
            let is_alive = keepers.is_up || !keepers.alive.is_empty();
            is_alive && self.agents[keepers.agent].name == name && self.machines[keepers.machine].is_up
        };
        if self.keepers.iter().any(trains) {
            return false;
        }
        if let Some(id) = self.server.environment_named(&name).filter(|_| self.server.is_up) {
            let _ = self.server.declare_lost(&id, self.now, &mut self.truth);
            self.ring_server();
        }
        true
    }

    /// Whether another machine speaks for the name of one that has vanished.
    fn is_replaced(&self, machine: usize) -> bool {
        let id = self.server.environment_named(&self.agents[machine].name);
        id.and_then(|id| self.server.sessions.get(&id)?.link).is_some()
    }

    /// Looks again later at a name under which another machine trains that is refused.
    pub(crate) fn declare_the_vanished_lost(&mut self, machines: &[usize]) {
        let vanished: Vec<usize> = machines.iter().copied().filter(|at| self.machines[*at].has_vanished).collect();
        let left: Vec<usize> =
            vanished.into_iter().filter(|at| !self.declare_lost(*at) && !self.is_replaced(*at)).collect();
        if !left.is_empty() {
            self.at(self.now + 20_000, Event::LostForGood(left));
        }
    }

    /// The last backup is put back. What happened since is forgotten, and that is not broken.
    pub(crate) fn restore(&mut self, back_after_ms: u64) {
        // Which of two copies of a folder is the newer one, an older database cannot tell.
        if self.agents.iter().any(|agent| agent.clone_of.is_some()) {
            return;
        }
        if self.server.is_up {
            self.kill_server();
        }
        if self.server.restore() {
            self.truth.restored();
            let database = &self.server.database;
            self.created.retain(|id| database.tasks.contains_key(id));
        }
        self.at(self.now + back_after_ms, Event::ServerBack);
    }

    pub(crate) fn end_strays(&mut self) {
        if self.server.is_up {
            for (link, message) in self.server.end_strays() {
                self.post(link, Letter::ToAgent(Box::new(message)));
            }
        }
    }
}

//! What people do: they ask for tasks, bring machines, copy folders, declare machines lost, and put backups back.

use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::task::RunKey;

use crate::agent::{Agent, Folder, Letter, Machine};
use crate::plan::MACHINES;
use crate::supervisor::Keepers;
use crate::world::{Event, World};

/// What somebody has asked for, to be asked for again.
#[derive(Clone, Debug)]
pub struct Request {
    nodes: Vec<EnvironmentId>,
    restarts: u32,
    key: u32,
    /// Which state of the database it was asked of.
    epoch: u64,
}

impl World {
    pub(crate) fn create(&mut self, nodes: u8, restarts: u8, again: bool) {
        const AGAIN_AFTER_MS: u64 = 6_000;
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
        let made = self.server.create(nodes.clone(), restarts, key, self.now);
        if self.server.disk.has_killed() {
            let request = Request { nodes, restarts, key, epoch: self.server.database.history.epoch };
            self.at(self.now + AGAIN_AFTER_MS, Event::AskAgain { request, known: made.ok() });
            return;
        }
        let Ok(id) = made else { return };
        self.created.push(id.clone());
        if again && self.server.create(nodes, restarts, key, self.now).is_ok_and(|other| other != id) {
            let what = format!("the request that made {id} has made another task as well");
            self.truth.broken(self.now, "a request that is repeated is done once", what);
        }
        self.ring_server();
    }

    /// The server has died over a request, and whoever made it makes it again.
    pub(crate) fn ask_again(&mut self, request: Request, known: Option<TaskId>) {
        let is_same_state = self.server.database.history.epoch == request.epoch;
        let Request { nodes, restarts, key, .. } = request;
        if !self.server.is_up || !is_same_state {
            return;
        }
        let Ok(id) = self.server.create(nodes, restarts, key, self.now) else { return };
        if self.server.disk.has_killed() {
            return;
        }
        self.created.push(id.clone());
        if let Some(known) = known.filter(|known| *known != id) {
            let what = format!("the request that made {known} has made {id} as well");
            self.truth.broken(self.now, "a request that is repeated is done once", what);
        }
        self.ring_server();
    }

    fn named(&self, machine: usize) -> Option<EnvironmentId> {
        self.server.environment_named(&self.agents[machine].name).filter(|_| self.server.is_up)
    }

    pub(crate) fn drain(&mut self, machine: usize) {
        if let Some(id) = self.named(machine) {
            let _ = self.server.drain(&id, self.now);
        }
    }

    pub(crate) fn resume(&mut self, machine: usize) {
        if let Some(id) = self.named(machine) {
            let _ = self.server.resume(&id, self.now);
            self.ring_server();
        }
    }

    /// A machine that is off and shall not come back is replaced by another one, which comes under its name.
    pub(crate) fn replace(&mut self, machine: usize) {
        let is_off = !self.machines[machine].is_up && !self.trains_elsewhere(machine);
        let Some(id) = self.named(machine).filter(|_| is_off && self.agents.len() < MACHINES + 3) else { return };
        let is_answering = self.server.is_answering(&id, self.now);
        if is_answering || self.server.replace(&id, self.now, &mut self.truth).is_err() {
            return;
        }
        let name = self.agents[machine].name.clone();
        for agent in self.agents.iter().filter(|agent| agent.name == name) {
            for run in agent.folder.runs.keys() {
                self.truth.incomplete.insert((run.task.clone(), run.generation));
            }
        }
        self.machines[machine].is_replaced = true;
        self.ring_server();
        self.second_agent(machine);
        if let Some(agent) = self.agents.last_mut() {
            agent.is_replacement = true;
        }
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
        if self.trains_elsewhere(machine) {
            return false;
        }
        if let Some(id) = self.named(machine) {
            let _ = self.server.declare_lost(&id, self.now, &mut self.truth);
            self.ring_server();
        }
        true
    }

    /// Whether something runs on a machine that is up and has the name of this one.
    fn trains_elsewhere(&self, machine: usize) -> bool {
        let name = &self.agents[machine].name;
        let trains = |keepers: &Keepers| {
            let is_alive = keepers.is_up || !keepers.alive.is_empty();
            is_alive && self.agents[keepers.agent].name == *name && self.machines[keepers.machine].is_up
        };
        self.keepers.iter().any(trains)
    }

    /// Whether another machine speaks for the name of one that has vanished.
    fn is_replaced(&self, machine: usize) -> bool {
        let id = self.server.environment_named(&self.agents[machine].name);
        id.and_then(|id| self.server.sessions.get(&id)?.link).is_some()
    }

    /// Looks again later at a name under which another machine trains that is refused.
    pub(crate) fn declare_the_vanished_lost(&mut self, machines: &[usize]) {
        // What was said of a machine is forgotten by a database of before, and said once more.
        let is_given_up = |at: &usize| self.machines[*at].has_vanished || self.machines[*at].is_replaced;
        let vanished: Vec<usize> = machines.iter().copied().filter(is_given_up).collect();
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
            let is_unknown = |keepers: &&Keepers| {
                let known = database.tasks.get(&keepers.run.task);
                keepers.is_up && known.is_none_or(|task| task.generation < keepers.run.generation)
            };
            let unknown = self.keepers.iter().filter(is_unknown).map(|keepers| keepers.run.clone());
            self.truth.unknown.extend(unknown);
        }
        self.at(self.now + back_after_ms, Event::ServerBack);
    }

    pub(crate) fn end_strays(&mut self) {
        if self.server.is_up {
            // Who ends one node's part of a launch means all of it.
            let ended = &self.server.database.strays;
            let is_of = |run: &RunKey, other: &RunKey| (&run.task, run.generation) == (&other.task, other.generation);
            self.truth.unknown.retain(|run| !ended.iter().any(|stray| is_of(run, &stray.run)));
            for (link, message) in self.server.end_strays() {
                self.post(link, Letter::ToAgent(Box::new(message)));
            }
        }
    }
}

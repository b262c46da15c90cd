//! Backups of the server's database, and what follows when an older state of it is put back.

use fermi_api::link::ServerMessage;
use fermi_domain::fleet::{Hold, KnownRun, Origin, StrayRun};
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::task::{RunKey, Task};

use crate::server::Server;

impl Server {
    pub fn back_up(&mut self) {
        self.backup = Some(self.database.clone());
    }

    /// Puts the last backup back; false where there is none. The server must be down.
    pub fn restore(&mut self) -> bool {
        let Some(backup) = self.backup.clone() else { return false };
        let before = std::mem::replace(&mut self.database, backup);
        let seen = u64::from(before.next_task);
        // A backup may be put back twice, and agents must see so: the store counts on from the database of before as well.
        self.database.history.epoch = self.database.history.epoch.max(before.history.epoch);
        for task in self.database.tasks.values_mut() {
            let taken = before.tasks.get(&task.id).and_then(|later| task.take_end_of(later));
            if taken.is_some() && task.is_swept() {
                self.database.leases.retain(|_, (holder, _)| *holder != task.id);
            }
        }
        for (environment, identity) in before.environments.into_values() {
            let mut kept = self.database.environments.values_mut();
            if let Some((_, known)) = kept.find(|(kept, _)| kept.name == environment.name) {
                *known = identity;
            }
        }
        let environments: Vec<EnvironmentId> = self.database.environments.keys().cloned().collect();
        let database = &mut self.database;
        let next = database.history.restored(u64::from(database.next_task), seen, environments);
        database.next_task = u32::try_from(next).unwrap_or(u32::MAX);
        true
    }

    /// Whose launch a run is that no task wants.
    pub(crate) fn origin(&self, run: &RunKey) -> Origin {
        let last = u64::from(self.database.next_task);
        self.database.history.origin(run, &self.database.strays, self.database.tasks.get(&run.task), last)
    }

    /// Notes that an environment has come, with what runs there that the database does not know.
    pub(crate) fn note_hello(&mut self, environment: &EnvironmentId, strays: &[KnownRun]) {
        self.database.history.unheard.remove(environment);
        for KnownRun { run, alive } in strays {
            let known = self.database.strays.iter_mut().find(|stray| stray.run == *run);
            if let Some(stray) = known.filter(|stray| stray.environment == *environment) {
                stray.alive = *alive;
            } else {
                let (run, environment) = (run.clone(), environment.clone());
                self.database.strays.push(StrayRun { run, environment, alive: *alive, ending: false, found_ms: 0 });
            }
            if let Some(task) = self.database.tasks.get_mut(&run.task) {
                task.pass_over(run);
            }
        }
    }

    pub(crate) fn links_of_other_nodes(&self, task: &TaskId, than: &EnvironmentId) -> Vec<usize> {
        let nodes = self.database.tasks.get(task).into_iter().flat_map(|task| &task.nodes);
        let others = nodes.filter(|node| node.environment != *than);
        others.filter_map(|node| self.sessions.get(&node.environment)?.link).collect()
    }

    pub(crate) fn is_held(&self, task: &Task) -> bool {
        let uses = |id: &EnvironmentId| task.nodes.iter().any(|node| node.environment == *id);
        let hold: Option<Hold<'_>> = self.database.history.hold(&self.database.strays, &task.id, uses);
        hold.is_some()
    }

    pub(crate) fn stray(&self, run: &RunKey) -> Option<&StrayRun> {
        self.database.strays.iter().find(|stray| stray.run == *run)
    }

    /// Nothing is expected of an environment any more.
    pub(crate) fn give_up(&mut self, environment: &EnvironmentId) {
        self.database.history.unheard.remove(environment);
        self.database.strays.retain(|stray| stray.environment != *environment);
        self.database.trailing.retain(|_, at| at != environment);
    }

    /// An operator ends what was set aside. The answer is what agents are told, by link.
    pub fn end_strays(&mut self) -> Vec<(usize, ServerMessage)> {
        let mut messages = Vec::new();
        for stray in &mut self.database.strays {
            stray.ending = true;
        }
        for stray in &self.database.strays {
            let session = self.sessions.get(&stray.environment);
            let kill = ServerMessage::Kill { run: stray.run.clone() };
            messages.extend(session.and_then(|session| session.link).map(|link| (link, kill)));
        }
        messages
    }

    /// What an agent is told at its hello about runs that an operator has ended.
    pub(crate) fn kills_of_strays(&self, environment: &EnvironmentId) -> impl Iterator<Item = ServerMessage> {
        let ending = self.database.strays.iter().filter(|stray| stray.environment == *environment && stray.ending);
        ending.map(|stray| ServerMessage::Kill { run: stray.run.clone() })
    }

    /// The newest attempt of a task of which something is kept.
    pub(crate) fn newest_written(&self, task: &Task) -> u32 {
        let streams = self.streams.keys().filter(|(of, ..)| *of == task.id);
        streams.map(|(_, attempt, _)| *attempt).max().unwrap_or(0)
    }

    /// Whether the run was set aside, which its agent is told by asking it to wait.
    pub(crate) fn is_set_aside(&self, run: &RunKey) -> bool {
        self.stray(run).is_some_and(|stray| !stray.ending)
    }

    /// Whether a hello under this name is the first one since a restore.
    pub(crate) fn is_unheard(&self, environment: &EnvironmentId) -> bool {
        self.database.history.unheard.contains(environment)
    }
}

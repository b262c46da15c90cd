//! What must hold once faults have ended.

use fermi_domain::ids::{Generation, TaskId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{RunKey, Task};

use crate::uploads::Uploads;
use crate::world::World;

impl World {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.server.database.tasks.values().all(|task| {
            task.phase.is_final() && task.is_swept() || task.phase == TaskPhase::Queued && task.reason.is_some()
        }) && self.keepers.iter().all(|keepers| !keepers.is_up && keepers.alive.is_empty())
            && self.server.placeable(self.now).is_none()
            && self.server.database.trailing.is_empty()
            && !self.is_sending()
    }

    /// Whether an agent that is connected has something to send.
    fn is_sending(&self) -> bool {
        self.agents.iter().any(|agent| {
            let is_connected = agent.is_up && agent.link.is_some_and(|link| !self.links[link].is_dead);
            is_connected && agent.uploads.values().any(Uploads::has_more)
        })
    }

    /// Once faults have ended every task ends, or says what it waits for; nothing is left, and the logs are whole.
    pub(crate) fn check_rest(&mut self) {
        let now = self.now;
        let mut broken = None;
        for task in self.server.database.tasks.values() {
            let is_over = task.phase.is_final() && task.is_swept();
            let waits = task.phase == TaskPhase::Queued && task.reason.is_some();
            if !is_over && !waits {
                let nodes: Vec<_> = task.nodes.iter().map(|node| (&node.name, node.state)).collect();
                broken = Some(format!("{} is {:?}, {nodes:?}, and nothing happens to it", task.id, task.phase));
            } else if self.truth.lives(&task.id) {
                broken = Some(format!("{} is {:?}, and ranks of it live", task.id, task.phase));
            }
        }
        if let Some(what) = broken.or_else(|| {
            let could_start =
                |task: &Task| format!("{} could start, and says {:?}", task.id, task.reason.as_ref().map(|it| &it.en));
            self.server.placeable(now).map(could_start)
        }) {
            self.truth.broken(now, "every task ends or says what it waits for", what);
            return;
        }
        for id in &self.created {
            if !self.server.database.tasks.contains_key(id) && !self.server.deleted.contains(id) {
                self.truth.broken(now, "nothing acknowledged is forgotten", format!("{id} is not there any more"));
                return;
            }
        }
        for follower in &mut self.followers {
            follower.read(&self.server, &mut self.truth, now);
            follower.check(&self.server, &mut self.truth, now);
        }
        self.check_logs();
    }

    /// Whether a node of this launch was on one of two machines of the same name, and an older state of the database was put
    /// back, which may know the other: then this one is refused, and what it wrote stays with it until an operator says which is
    /// the right one.
    fn may_be_refused(&self, task: &TaskId, generation: Generation) -> bool {
        !self.server.database.history.lost.is_empty() && self.is_doubled(task, generation)
    }

    /// Whether a node of this launch was on one of two machines, or in one of two folders, of the same name.
    fn is_doubled(&self, task: &TaskId, generation: Generation) -> bool {
        let name_of = |at: usize| self.agents.get(at).map(|agent| &agent.name);
        let is_doubled = |at: usize| self.agents.iter().filter(|agent| Some(&agent.name) == name_of(at)).count() > 1;
        let is_of = |run: &RunKey| run.task == *task && run.generation == generation;
        self.keepers.iter().any(|keepers| is_of(&keepers.run) && is_doubled(keepers.agent))
    }

    fn check_logs(&mut self) {
        let now = self.now;
        let mut broken = None;
        for ((id, launch, rank), bytes) in &self.truth.streams {
            let Some(task) = self.server.database.tasks.get(id) else { continue };
            let attempt = task.attempts.iter().find(|known| known.number.get() == launch.1);
            let is_known = attempt.is_some_and(|known| known.generation == launch.0);
            if !is_known || self.truth.incomplete.contains(&(id.clone(), launch.0)) || self.may_be_refused(id, launch.0)
            {
                continue;
            }
            let kept = self.server.streams.get(&(id.clone(), launch.1, *rank)).map_or(&[][..], Vec::as_slice);
            // A folder that was copied while the rank wrote has no more than that to send once the log was let go of, and
            // its run is over: nothing tells it from an agent that has not sent its part yet.
            let may_be_part = kept.is_empty() || self.is_doubled(id, launch.0);
            let was_let_go = may_be_part && self.truth.let_go.contains(&(id.clone(), *launch, *rank));
            if kept != bytes.0.borrow().as_slice() && !was_let_go {
                let (kept, wrote) = (kept.len(), bytes.0.borrow().len());
                broken = Some(format!("of rank {rank} of {id} {launch:?} {kept} of {wrote} bytes arrived"));
            }
        }
        if let Some(what) = broken {
            self.truth.broken(now, "all that ranks wrote arrives", what);
        }
    }
}

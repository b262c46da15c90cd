//! The server gives workers to tasks, by the real scheduler.

use std::collections::HashMap;

use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::{Scheduler, ranks_on};
use fermi_domain::queue::{Decision, Preemption, Rules};
use fermi_domain::task::{Task, TaskInput};
use fermi_domain::units::Seconds;

use super::{Server, StoreDown};
use crate::truth::Truth;

/// Tasks of higher priority take the place of others.
fn rules() -> Rules {
    Rules { preemption: Preemption::After(Seconds(20)), ..Rules::default() }
}

impl Server {
    pub(super) fn place(&mut self, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        let (is_known, mut scheduler) = match self.seen.take() {
            Some((openings, scheduler)) => (openings == self.openings, scheduler),
            None => (false, Scheduler::new(rules())),
        };
        let openings = self.openings;
        let wall = self.wall(now);
        if !is_known {
            self.feed(&mut scheduler, wall);
        }
        let environments = self.pictured(now);
        scheduler.set_environments(&environments, |_| None, wall);
        let waits = |task: &&Task| matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
        let gone: Vec<TaskId> = scheduler
            .waiting()
            .filter(|id| !self.database.tasks.get(*id).is_some_and(|task| waits(&task)))
            .cloned()
            .collect();
        gone.iter().for_each(|id| scheduler.forget(id, wall));
        let is_new = |task: &&Task| task.phase == TaskPhase::Initializing || !scheduler.waits(&task.id);
        let new: Vec<Task> = self.database.tasks.values().filter(waits).filter(is_new).cloned().collect();
        let came: Vec<TaskId> = new.iter().map(|task| task.id.clone()).collect();
        new.into_iter().for_each(|task| scheduler.add(task, None, wall));
        let decisions = scheduler.decide(wall);
        for decision in decisions {
            let start = match decision {
                Decision::Start(start) => start,
                Decision::Preempt(preempt) => {
                    self.apply(&preempt.victim, [TaskInput::GiveWay { reason: preempt.text() }], now, truth)?;
                    continue;
                }
            };
            let ranks =
                self.database.tasks.get(&start.task).map(|task| ranks_on(&task.spec, &start.workers, &environments));
            let Some(Ok(rank_map)) = ranks else {
                scheduler.forget(&start.task, wall);
                continue;
            };
            // A write that fails loses the scheduler with all that it has given.
            self.write(now)?;
            for slot in rank_map.slots() {
                self.database.leases.insert(slot.worker.clone(), (start.task.clone(), slot.environment.clone()));
            }
            self.apply_within(&start.task, [TaskInput::Placed { rank_map }], now, truth);
        }
        for id in scheduler.overdue(wall) {
            self.apply(&id, [TaskInput::GiveWayOverdue], now, truth)?;
        }
        for id in came {
            let Some(reason) = scheduler.explain(&id, wall) else { continue };
            self.apply(&id, [TaskInput::MustWait { reason: reason.text() }], now, truth)?;
        }
        for id in scheduler.newly_first() {
            self.apply(&id, [TaskInput::FirstInLine], now, truth)?;
        }
        self.picture = environments;
        self.seen = Some((openings, scheduler));
        self.is_rung = self.openings != openings;
        Ok(())
    }

    /// Tells the scheduler who has which workers.
    fn feed(&self, scheduler: &mut Scheduler, wall: u64) {
        let leases: HashMap<WorkerId, TaskId> =
            self.database.leases.iter().map(|(worker, (task, _))| (worker.clone(), task.clone())).collect();
        for (id, workers) in scheduler.set_leases(&leases, wall) {
            match self.database.tasks.get(&id) {
                Some(task) => scheduler.set_running(task, workers, wall),
                None => scheduler.set_held(&id, workers, wall),
            }
        }
    }
}

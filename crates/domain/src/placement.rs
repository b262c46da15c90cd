//! Which tasks may start: workers are given first come, first served within a priority, and no task overtakes onto a
//! worker that a task before it waits for.

use std::collections::{HashMap, HashSet};

use crate::environment::Environment;
use crate::group;
use crate::ids::{TaskId, WorkerId};
use crate::language::{Explained, Text};
use crate::phase::TaskPhase;
use crate::rank_map::{self, RankMap};
use crate::task::Task;

/// Which tasks of the queue a look covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    All,
    /// Those that no look has seen: the others go on waiting as long as nothing has opened.
    New,
}

impl Look {
    /// By the count of openings (a worker was freed, an environment came) at the last look at all, and now.
    pub fn since(seen: Option<u64>, openings: u64) -> Self {
        if seen == Some(openings) { Self::New } else { Self::All }
    }

    /// Whether a task in this phase is looked at.
    pub fn covers(self, phase: TaskPhase) -> bool {
        match phase {
            TaskPhase::Initializing => true,
            TaskPhase::Queued => self == Self::All,
            _ => false,
        }
    }
}

/// What becomes of a queued task now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    Start { rank_map: RankMap },
    Wait { reason: Text },
}

/// A task in the queue, with all workers it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Queued {
    task: TaskId,
    workers: Vec<WorkerId>,
    /// Environments among its own that are not there now, by name.
    unreachable: Vec<String>,
}

/// How many names a reason lists.
const NAMED: usize = 3;

/// The workers that are taken, by running tasks or by those at the head of the queue.
#[derive(Debug, Default)]
pub struct Board {
    held: HashMap<WorkerId, TaskId>,
    reserved: HashSet<WorkerId>,
}

impl Board {
    pub fn new(held: HashMap<WorkerId, TaskId>) -> Self {
        Self { held, reserved: HashSet::new() }
    }

    /// Decides for the next task of the queue. Call it in the queue's order.
    pub fn decide(&mut self, task: &Task, environments: &[Environment]) -> Placement {
        let is_free = |worker: &WorkerId| !self.held.contains_key(worker) && !self.reserved.contains(worker);
        let replaced = group::replaced(&task.spec, environments, is_free);
        let spec = replaced.as_ref().unwrap_or(&task.spec);
        let rank_map = match rank_map::of_spec(spec, environments) {
            Ok(rank_map) => rank_map,
            Err(error) => return Placement::Wait { reason: error.text() },
        };
        let workers = rank_map.slots().iter().map(|slot| slot.worker.clone()).collect();
        let unreachable = environments
            .iter()
            .filter(|environment| spec.distributed.node_ids.contains(&environment.id))
            .filter(|environment| !environment.status.is_reachable())
            .map(|environment| environment.name.clone())
            .collect();
        match self.place(&Queued { task: task.id.clone(), workers, unreachable }) {
            Ok(()) => Placement::Start { rank_map },
            Err(reason) => Placement::Wait { reason },
        }
    }

    /// Gives the workers, or says what the task waits for.
    fn place(&mut self, queued: &Queued) -> Result<(), Text> {
        let holders = distinct(queued.workers.iter().filter_map(|worker| self.held.get(worker)));
        let is_free = holders.is_empty() && queued.workers.iter().all(|worker| !self.reserved.contains(worker));
        if is_free && queued.unreachable.is_empty() {
            for worker in &queued.workers {
                self.held.insert(worker.clone(), queued.task.clone());
            }
            return Ok(());
        }
        // A task that waits for a machine that is not there holds up no other task on the rest.
        if queued.unreachable.is_empty() {
            self.reserved.extend(queued.workers.iter().cloned());
        }
        Err(reason(queued, &holders))
    }

    /// Whether no later task can start any more on these workers.
    pub fn is_full(&self, mut workers: impl Iterator<Item = WorkerId>) -> bool {
        workers.all(|worker| self.held.contains_key(&worker) || self.reserved.contains(&worker))
    }
}

fn reason(queued: &Queued, holders: &[String]) -> Text {
    let list = |names: &[String]| {
        let more = if names.len() > NAMED { " …" } else { "" };
        format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
    };
    if !queued.unreachable.is_empty() {
        let names = list(&queued.unreachable);
        return Text::new(
            format!("等待开发环境恢复：{names}"),
            format!("waits for environments that are not there: {names}"),
        );
    }
    if holders.is_empty() {
        return Text::new("排在前面的任务也在等待这些 Worker", "a task before it waits for the same workers");
    }
    let names = list(holders);
    Text::new(format!("等待 Worker，正被 {names} 使用"), format!("waits for workers that {names} uses"))
}

fn distinct<'a>(tasks: impl Iterator<Item = &'a TaskId>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for task in tasks {
        if !names.iter().any(|name| name == task.as_str()) {
            names.push(task.to_string());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(task: &str, workers: &[&str]) -> Queued {
        let workers = workers.iter().map(|worker| worker.parse().unwrap()).collect();
        Queued { task: task.into(), workers, unreachable: Vec::new() }
    }

    fn starts(board: &mut Board, queued: &Queued) -> bool {
        board.place(queued).is_ok()
    }

    #[test]
    fn a_worker_serves_one_task_and_the_next_says_for_whom_it_waits() {
        let mut board = Board::default();
        assert!(starts(&mut board, &queued("task-1", &["a-0", "b-0"])));
        let reason = board.place(&queued("task-2", &["b-0"])).unwrap_err();
        assert_eq!(reason.en, "waits for workers that task-1 uses");
    }

    #[test]
    fn nobody_overtakes_onto_a_worker_that_somebody_waits_for() {
        let mut board = Board::new(HashMap::from([("a-0".parse().unwrap(), "task-1".into())]));
        assert!(!starts(&mut board, &queued("task-2", &["a-0", "b-0"])));
        assert!(!starts(&mut board, &queued("task-3", &["b-0"])));
        assert!(starts(&mut board, &queued("task-4", &["c-0"])));
        assert!(board.is_full(["a-0", "b-0", "c-0"].into_iter().map(|worker| worker.parse().unwrap())));
        assert!(!board.is_full(["d-0"].into_iter().map(|worker| worker.parse().unwrap())));
    }

    #[test]
    fn who_waits_for_a_missing_machine_holds_up_nobody() {
        let mut board = Board::default();
        let mut absent = queued("task-1", &["a-0", "b-0"]);
        absent.unreachable = vec!["a".into()];
        assert!(!starts(&mut board, &absent));
        assert!(starts(&mut board, &queued("task-2", &["b-0"])));
    }
}

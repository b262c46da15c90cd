//! What a database does not know any more after an older state of it was put back.
//!
//! A restore takes back what happened since the backup, but not what it led to: trainings that were started since still run,
//! and folders on nodes carry the names of tasks that the database has never heard of. Their numbers are not given again,
//! their runs are set aside instead of ended, and no task of before the restore is launched until every environment has
//! said what runs there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{EnvironmentId, Generation, TaskId};
use crate::language::Text;
use crate::task::{NodeRunState, RunKey, Task};

/// How many numbers a restore passes over at least: those of tasks, and of launches of a task, that nothing remembers but a
/// node that is away.
const LEAP: u64 = 10_000;

/// The restores of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct History {
    /// Counts the restores.
    pub epoch: u64,
    /// What each of them has lost, oldest first.
    pub lost: Vec<LostNumbers>,
    /// Environments whose agents have not come since the last one: what runs there may be of a later state.
    pub unheard: BTreeSet<EnvironmentId>,
}

/// Numbers of tasks, or of launches of one, that may have been given between a backup and its restore; both ends belong to
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostNumbers {
    pub first: u64,
    pub last: u64,
}

/// A run that a database has never launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrayRun {
    pub run: RunKey,
    pub environment: EnvironmentId,
    /// Something of it may live, as far as its agent has said.
    pub alive: bool,
    /// An operator has asked for its end.
    pub ending: bool,
    pub found_ms: u64,
}

/// Why the ranks of a task are not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold<'a> {
    /// It is the task of this run, or the run may use workers that the task was given.
    Stray(&'a StrayRun),
    /// An environment that has not come since the restore may be running it.
    Unheard,
}

/// Whose launch a run is that no task wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One that this database has made: it is over, was replaced, or its task was deleted.
    Past,
    /// One that this database knows nothing of.
    Stray,
}

impl History {
    /// Takes note of a restore. `last` is the highest number that the database has given, `seen` the highest that anything
    /// else speaks of. Gives the number after which new tasks are counted.
    pub fn restored(&mut self, last: u64, seen: u64, environments: impl IntoIterator<Item = EnvironmentId>) -> u64 {
        let next = (last.max(seen) / LEAP + 1) * LEAP;
        self.epoch += 1;
        self.lost.push(LostNumbers { first: last + 1, last: next });
        self.unheard = environments.into_iter().collect();
        next
    }

    /// Why a task must not be launched yet; `uses` says of an environment whether the task has workers there.
    pub fn hold<'a>(
        &self,
        strays: &'a [StrayRun],
        task: &TaskId,
        uses: impl Fn(&EnvironmentId) -> bool,
    ) -> Option<Hold<'a>> {
        let is_in_the_way = |stray: &&StrayRun| stray.run.task == *task || stray.alive && uses(&stray.environment);
        if let Some(stray) = strays.iter().find(is_in_the_way) {
            return Some(Hold::Stray(stray));
        }
        // A machine that has not come may run the task, or have given its workers to another one.
        let is_unheard = !self.unheard.is_empty() && self.is_of_before(task);
        (is_unheard || self.unheard.iter().any(uses)).then_some(Hold::Unheard)
    }

    /// Whether a task is older than the last restore, so that it may have been launched by a state that was lost.
    fn is_of_before(&self, task: &TaskId) -> bool {
        let is_of_before = |number: u64| self.lost.last().is_some_and(|lost| number < lost.first);
        number(task).is_some_and(is_of_before)
    }

    /// Whose launch a run is that no task wants; `strays` are the runs that were set aside, `task` is its task as the
    /// database has it, `last` the highest number that it has given.
    pub fn origin(&self, run: &RunKey, strays: &[StrayRun], task: Option<&Task>, last: u64) -> Origin {
        let is_of_launch = |stray: &StrayRun| (&stray.run.task, stray.run.generation) == (&run.task, run.generation);
        if strays.iter().any(is_of_launch) {
            return Origin::Stray;
        }
        let is_lost = |number: u64| number > last || self.lost.iter().any(|lost| lost.contains(number));
        let is_stray = match task {
            Some(task) => {
                let is_lost = task.lost_generations.iter().any(|lost| lost.contains(run.generation.0));
                is_lost || run.generation > task.generation || task.is_overtaken_by(run)
            }
            None => number(&run.task).is_some_and(is_lost),
        };
        if is_stray { Origin::Stray } else { Origin::Past }
    }
}

impl LostNumbers {
    fn contains(self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

impl Task {
    /// Gives a launch that was made just now a name that no run of a lost state has: its journal would be taken for this
    /// one's, and its members know this one's secret. `before` is the generation until then.
    pub fn pass_over_lost_launches(&mut self, before: Generation, history: &History) {
        let is_own = self.nodes.first().is_some_and(|node| node.state == NodeRunState::Wanted);
        if is_own && self.generation > before && history.is_of_before(&self.id) {
            let leap = Generation(history.epoch.saturating_mul(LEAP));
            if leap > self.generation {
                self.lost_generations.push(LostNumbers { first: before.0 + 1, last: leap.0 - 1 });
                self.generation = leap;
            }
        }
    }

    /// Gives the next launch a name that no run has: this one is of a lost state, and stays so though its number is passed over,
    /// also where another state of the database takes the task over from this one. Says whether it was not known.
    pub fn pass_over(&mut self, run: &RunKey) -> bool {
        let is_new = self.generation < run.generation && self.is_swept();
        if is_new {
            self.lost_generations.push(LostNumbers { first: self.generation.0 + 1, last: run.generation.0 });
            self.generation = run.generation;
        }
        is_new
    }

    /// Whether the run is a later incarnation of a node's part than the one that is known.
    fn is_overtaken_by(&self, run: &RunKey) -> bool {
        let mut nodes = self.nodes.iter();
        run.generation == self.generation
            && nodes.any(|node| node.node_rank == run.node_rank && run.incarnation > node.incarnation)
    }
}

/// The number of a task, by which tasks are counted.
pub fn number(task: &TaskId) -> Option<u64> {
    task.as_str().strip_prefix("task-")?.parse().ok()
}

/// What is said of a task that waits by [`Hold::Unheard`].
pub fn waits_for_unheard(names: &str) -> Text {
    Text::new(
        format!("数据库已从备份恢复：等待 {names} 连接，其上可能仍在运行该任务；如机器已关闭，运行 fermi env lost"),
        format!(
            "the database was restored from a backup: waits for {names}, which may be running this task; if a machine is \
             off: fermi env lost"
        ),
    )
}

/// What is said of a task that waits by [`Hold::Stray`].
pub fn waits_for_stray(run: &RunKey, name: &str) -> Text {
    Text::new(
        format!("等待 {name} 上的 {run}：恢复的数据库不认识它，它继续运行；用 fermi server strays 查看和结束"),
        format!(
            "waits for {run} on {name}, which the restored database does not know and which goes on; fermi server strays \
             shows and ends it"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> RunKey {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_of_before_a_restore_are_not_given_again() {
        let mut history = History::default();
        assert_eq!(history.restored(37, 0, []), 10_000);
        assert_eq!(history.restored(10_002, 31_000, []), 40_000);
        assert_eq!((history.epoch, history.lost[1]), (2, LostNumbers { first: 10_003, last: 40_000 }));
    }

    #[test]
    fn a_run_of_a_task_that_was_deleted_is_past_and_one_of_a_task_that_was_never_known_is_not() {
        let mut history = History::default();
        assert_eq!(history.origin(&run("task-9-g1-n0-i1"), &[], None, 37), Origin::Past);
        assert_eq!(history.origin(&run("task-38-g1-n0-i1"), &[], None, 37), Origin::Stray);
        let last = history.restored(37, 0, []);
        assert_eq!(history.origin(&run("task-9-g1-n0-i1"), &[], None, last), Origin::Past);
        assert_eq!(history.origin(&run("task-38-g1-n0-i1"), &[], None, last), Origin::Stray);
        assert_eq!(history.origin(&run("task-10001-g1-n0-i1"), &[], None, last + 5), Origin::Past);
    }

    #[test]
    fn tasks_of_before_wait_until_all_environments_have_come() {
        let mut history = History::default();
        let (old, new) = (TaskId::from("task-3"), TaskId::from("task-10001"));
        assert_eq!(history.hold(&[], &old, |_| true), None);
        history.restored(37, 0, [EnvironmentId::from("env-001")]);
        assert_eq!(history.hold(&[], &old, |_| true), Some(Hold::Unheard));
        assert_eq!(history.hold(&[], &new, |_| false), None);
        assert_eq!(history.hold(&[], &new, |_| true), Some(Hold::Unheard));
        history.unheard.clear();
        assert_eq!(history.hold(&[], &old, |_| true), None);
    }

    #[test]
    fn a_stray_holds_its_own_task_and_while_it_lives_those_that_were_given_its_workers() {
        let (history, environment) = (History::default(), EnvironmentId::from("env-001"));
        let mut stray =
            [StrayRun { run: run("task-5-g2-n0-i1"), environment, alive: true, ending: false, found_ms: 0 }];
        let (own, other) = (TaskId::from("task-5"), TaskId::from("task-6"));
        let holds = |stray: &[StrayRun], task: &TaskId, uses: bool| history.hold(stray, task, |_| uses).is_some();
        assert!(holds(&stray, &own, false) && holds(&stray, &other, true) && !holds(&stray, &other, false));
        stray[0].alive = false;
        assert!(holds(&stray, &own, false) && !holds(&stray, &other, true));
    }
}

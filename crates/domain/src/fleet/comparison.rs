//! What follows when an agent has said which runs it knows.

use serde::{Deserialize, Serialize};

use super::{Origin, StrayRun};
use crate::ids::EnvironmentId;
use crate::task::{NodeRunState, RunKey, Task};

/// A run that an agent knows when it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownRun {
    pub run: RunKey,
    /// Whether something of it may live: what cannot be told counts as alive.
    pub alive: bool,
}

/// What the server does about a run after a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Nothing of it is left.
    Gone(RunKey),
    /// Nothing of it is left, and its end may have been told to a state of the database that was lost.
    Forgotten(RunKey),
    /// It should run, the agent does not know it, and that proves nothing: it counts as alive.
    Unproven(RunKey),
    /// No task wants it.
    Kill(RunKey),
    /// No task wants its files.
    Forget(RunKey),
    /// The task goes on in a later launch than the one that is known: an older state of the database was put back.
    MovedOn(RunKey),
    /// The database has never launched it, and an operator is asked: an older state of the database was put back.
    SetAside(KnownRun),
}

/// Whether the agent that says hello has come before, to this state of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Before,
    /// An older state of the database was put back, and this is its first hello since: a run that the database knows and the
    /// agent does not may have been brought to its end in the time that was lost.
    FirstSinceRestore,
}

/// Compares what the agent of an environment knows with what the tasks believe. `seen` are runs of which it has no files
/// but has seen processes; none where nothing can be said of those, since the agent has not looked. `heard` says whether it
/// has come since an older state of the database was put back, `origin` of a run that no task wants whose launch it is.
pub fn compare<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    environment: &EnvironmentId,
    known: &[KnownRun],
    seen: Option<&[RunKey]>,
    heard: Heard,
    origin: impl Fn(&RunKey) -> Origin,
) -> Vec<Conclusion> {
    // Of a launch of which nothing can be left no node waits for its run.
    let ours: Vec<(RunKey, NodeRunState)> = tasks
        .into_iter()
        .filter(|task| !task.is_swept())
        .flat_map(|task| {
            let here = task.nodes.iter().filter(|node| node.environment == *environment);
            here.map(|node| (task.run_key(node), node.state))
        })
        .collect();
    let is_wanted = |run: &RunKey| ours.iter().any(|(ours, state)| ours == run && *state != NodeRunState::Gone);
    let has_part = |run: &RunKey| {
        ours.iter().any(|(ours, state)| {
            let is_same = (&ours.task, ours.node_rank) == (&run.task, run.node_rank);
            is_same && ours.generation <= run.generation && *state != NodeRunState::Gone
        })
    };
    let unwanted: Vec<Conclusion> = known
        .iter()
        .filter(|known| !is_wanted(&known.run))
        .map(|KnownRun { run, alive }| match (origin(run), alive) {
            (Origin::Past, true) => Conclusion::Kill(run.clone()),
            (Origin::Past, false) => Conclusion::Forget(run.clone()),
            (Origin::Stray, _) if has_part(run) => Conclusion::MovedOn(run.clone()),
            (Origin::Stray, alive) => Conclusion::SetAside(KnownRun { run: run.clone(), alive: *alive }),
        })
        .collect();
    let has_moved_on = |run: &RunKey| {
        unwanted.iter().any(|conclusion| matches!(conclusion, Conclusion::MovedOn(later) if later.task == run.task))
    };
    let missing = ours.iter().filter(|(run, state)| {
        *state == NodeRunState::Alive && !known.iter().any(|known| known.run == *run) && !has_moved_on(run)
    });
    let missing = missing.map(|(run, _)| match (seen.is_some_and(|seen| !seen.contains(run)), heard) {
        (true, Heard::Before) => Conclusion::Gone(run.clone()),
        (true, Heard::FirstSinceRestore) => Conclusion::Forgotten(run.clone()),
        (false, _) => Conclusion::Unproven(run.clone()),
    });
    let missing: Vec<Conclusion> = missing.collect();
    missing.into_iter().chain(unwanted).collect()
}

/// Whether runs may live in an environment, of tasks or such that were set aside, so that no other machine may take its
/// name.
pub fn may_have_runs<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    strays: &[StrayRun],
    environment: &EnvironmentId,
) -> bool {
    let mut nodes = tasks.into_iter().flat_map(|task| &task.nodes);
    let has_stray = strays.iter().any(|stray| stray.alive && stray.environment == *environment);
    has_stray
        || nodes.any(|node| {
            node.environment == *environment && matches!(node.state, NodeRunState::Wanted | NodeRunState::Alive)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ids::{Generation, NodeRank, TaskId},
        task::{DistributedConfig, LaunchOptions, NodeRun, Policies, Selection, TaskSpec, Work},
    };

    fn running() -> Task {
        let node = NodeRun {
            environment: EnvironmentId::from("env-001"),
            name: "a".into(),
            node_rank: NodeRank(0),
            incarnation: 1,
            state: NodeRunState::Alive,
            interface: None,
        };
        let spec = TaskSpec {
            name: "t".into(),
            dataset: None,
            model_id: None,
            selection: Selection::Environments,
            work: Work::Builtin { args: vec![] },
            source: None,
            distributed: DistributedConfig::default(),
            options: LaunchOptions::default(),
            policies: Policies::default(),
            priority: 0,
            labels: Default::default(),
        };
        let task = Task::new(TaskId::from("task-1"), spec, 0);
        Task { generation: Generation(1), nodes: vec![node], ..task }
    }

    /// The end of a run is told once, and its agent forgets it then.
    #[test]
    fn a_run_that_is_missing_after_a_restore_may_have_come_to_any_end() {
        let (task, at) = (running(), EnvironmentId::from("env-001"));
        let run: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        let conclude = |known: &[KnownRun], seen: Option<&[RunKey]>, heard| {
            compare([&task], &at, known, seen, heard, |_| Origin::Past)
        };
        assert_eq!(conclude(&[], Some(&[]), Heard::Before), [Conclusion::Gone(run.clone())]);
        assert_eq!(conclude(&[], Some(&[]), Heard::FirstSinceRestore), [Conclusion::Forgotten(run.clone())]);
        for heard in [Heard::Before, Heard::FirstSinceRestore] {
            assert_eq!(conclude(&[], None, heard), [Conclusion::Unproven(run.clone())]);
            assert_eq!(conclude(&[], Some(std::slice::from_ref(&run)), heard), [Conclusion::Unproven(run.clone())]);
            assert!(conclude(&[KnownRun { run: run.clone(), alive: false }], Some(&[]), heard).is_empty());
        }
    }
}

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

/// Compares what the agent of an environment knows with what the tasks believe. `seen` are runs of which it has no files
/// but has seen processes; none where nothing can be said of those, since the agent has not looked. `origin` says of a run
/// that no task wants whose launch it is.
pub fn compare<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    environment: &EnvironmentId,
    known: &[KnownRun],
    seen: Option<&[RunKey]>,
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
    let missing = missing.map(|(run, _)| match seen.is_some_and(|seen| !seen.contains(run)) {
        true => Conclusion::Gone(run.clone()),
        false => Conclusion::Unproven(run.clone()),
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

//! What really happened, and the promises that are held against it after every step.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fermi_domain::ids::{Generation, TaskId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{RunKey, Task};
use fermi_domain::verdict::VerdictKind;

/// A file that grows: shared by the rank that writes it, the agent that sends it, and this record.
#[derive(Clone, Debug, Default)]
pub struct GrowingBytes(pub Rc<RefCell<Vec<u8>>>);

impl GrowingBytes {
    pub fn append(&self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }

    /// Another file with the same content.
    pub fn copied(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().clone())))
    }
}

/// One launch of all ranks, by generation and number.
pub type Launch = (Generation, u32);

/// A promise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub at_ms: u64,
    pub promise: &'static str,
    pub what: String,
}

#[derive(Debug, Default)]
struct LaunchTruth {
    world: u32,
    living: u32,
    returned_zero: u32,
    returned_other: u32,
}

#[derive(Debug, Default)]
struct TaskTruth {
    launches: BTreeMap<Launch, LaunchTruth>,
    /// The launch in which every rank returned 0, since a user last asked for a start.
    finished: Option<Launch>,
    /// The last such launch of all.
    ever_finished: Option<Launch>,
    /// Launches whose first node has brought them to a good end and has noted so.
    ended_well: BTreeSet<Generation>,
    /// Keepers or ranks of it were killed, or their machines stood still, were cut off or went down.
    is_harmed: bool,
}

/// The record.
#[derive(Debug, Default)]
pub struct Truth {
    tasks: BTreeMap<TaskId, TaskTruth>,
    /// Which task's rank lives on a worker, by machine and index.
    workers: BTreeMap<(usize, u32), (TaskId, u32)>,
    pub streams: BTreeMap<(TaskId, Launch, u32), GrowingBytes>,
    /// Launches of which a part ran on a machine that was given up.
    pub incomplete: BTreeSet<(TaskId, Generation)>,
    /// What keepers have written of their runs; of one name there are several where a state of the database was lost.
    pub journals: BTreeMap<RunKey, Vec<GrowingBytes>>,
    /// How much of each stream the server has said that it has.
    acknowledged: BTreeMap<(TaskId, Launch, u32), usize>,
    /// Runs that lived when a state of the database was put back that has never launched them.
    pub unknown: BTreeSet<RunKey>,
    /// Streams that the server has let go of: what came since then may be all that there is.
    pub let_go: BTreeSet<(TaskId, Launch, u32)>,
    pub violation: Option<Violation>,
}

impl Truth {
    pub fn broken(&mut self, at_ms: u64, promise: &'static str, what: String) {
        self.violation.get_or_insert(Violation { at_ms, promise, what });
    }

    pub fn rank_started(
        &mut self,
        now: u64,
        task: &TaskId,
        launch: Launch,
        rank: u32,
        worker: (usize, u32),
        world: u32,
    ) {
        let truth = self.tasks.entry(task.clone()).or_default();
        let other = truth.launches.iter().find(|(known, other)| **known != launch && other.living > 0);
        if let Some(((generation, attempt), other)) = other {
            let what = format!(
                "{task}: rank {rank} of generation {} attempt {} starts while {} ranks of generation {generation} attempt {attempt} live",
                launch.0, launch.1, other.living
            );
            self.broken(now, "one attempt at a time", what);
            return;
        }
        let record = truth.launches.entry(launch).or_default();
        record.world = world;
        record.living += 1;
        if let Some((holder, _)) = self.workers.insert(worker, (task.clone(), rank))
            && holder != *task
        {
            let what = format!("rank {rank} of {task} starts on a worker of machine {} that {holder} uses", worker.0);
            self.broken(now, "one task per worker", what);
        }
    }

    pub fn rank_ended(&mut self, task: &TaskId, launch: Launch, worker: (usize, u32), is_success: bool) {
        self.workers.remove(&worker);
        let Some(truth) = self.tasks.get_mut(task) else { return };
        let Some(record) = truth.launches.get_mut(&launch) else { return };
        record.living -= 1;
        if is_success {
            record.returned_zero += 1;
        } else {
            record.returned_other += 1;
        }
        if record.returned_zero == record.world {
            (truth.finished, truth.ever_finished) = (Some(launch), Some(launch));
        }
    }

    /// An older state of the database was put back: a task may be taken for dead that was not, and what was written may have
    /// been deleted since the backup.
    pub fn restored(&mut self) {
        self.acknowledged.clear();
        for (task, truth) in &mut self.tasks {
            truth.is_harmed = true;
            // A result of before may be told again, and was true then.
            truth.finished = truth.ever_finished;
            self.incomplete.extend(truth.launches.keys().map(|(generation, _)| (task.clone(), *generation)));
            // A launch that is forgotten everywhere may be made once more.
            truth.launches.retain(|_, launch| launch.living > 0);
        }
    }

    /// The first node of a launch has ended in order, with the note that all ranks returned 0.
    pub fn ended_well(&mut self, task: &TaskId, generation: Generation) {
        self.tasks.entry(task.clone()).or_default().ended_well.insert(generation);
    }

    /// The database knows a launch now that a lost state has made: it is the task's, and what becomes of it is decided as of any
    /// other, also for nodes that have not come yet.
    pub fn taken_up(&mut self, run: &RunKey) {
        self.unknown.retain(|known| (&known.task, known.generation) != (&run.task, run.generation));
    }

    /// A machine that comes for the first time since a restore is told to end a run.
    pub fn ended_unasked(&mut self, now: u64, run: &RunKey) {
        if self.unknown.contains(run) {
            let what = format!("{run} was launched by a state that was lost, and is ended without a question");
            self.broken(now, "what a restored database does not know is asked about", what);
        }
    }

    /// Something has happened to a process of a task.
    pub fn harmed(&mut self, task: &TaskId) {
        self.tasks.entry(task.clone()).or_default().is_harmed = true;
    }

    /// Whether a rank of a task lives anywhere.
    pub fn lives(&self, task: &TaskId) -> bool {
        self.tasks.get(task).is_some_and(|truth| truth.launches.values().any(|launch| launch.living > 0))
    }

    pub fn task_changed(&mut self, now: u64, task: &Task, from: TaskPhase) {
        if task.phase == from {
            return;
        }
        let truth = self.tasks.entry(task.id.clone()).or_default();
        let is_taken_for_dead =
            task.verdict.as_ref().is_some_and(|verdict| matches!(verdict.kind, VerdictKind::SupervisorLost { .. }));
        match task.phase {
            TaskPhase::Starting if from == TaskPhase::Queued => {
                let (asked, given) = (task.spec.distributed.node_ids.len(), task.nodes.len());
                if asked != given {
                    let what = format!("{} asked for {asked} nodes and starts on {given}", task.id);
                    self.broken(now, "a task runs on all nodes that it names", what);
                }
            }
            TaskPhase::Failed if is_taken_for_dead && !truth.is_harmed => {
                let what = format!("a supervisor of {} is called dead, and nothing has happened to it", task.id);
                self.broken(now, "nothing is called dead that is not", what);
            }
            TaskPhase::Initializing if from.is_final() => truth.finished = None,
            TaskPhase::Succeeded if truth.finished.is_none() => {
                let what = format!("{} succeeded, and not all of its ranks returned 0", task.id);
                self.broken(now, "a result never contradicts the exits", what);
            }
            TaskPhase::Failed if knows_success(task) => {
                let what = format!("{} failed, and the server knows that all of its ranks returned 0", task.id);
                self.broken(now, "a result never contradicts the exits", what);
            }
            _ => {}
        }
    }

    /// The server begins another launch of a task on its own.
    pub fn launched_again(&mut self, now: u64, before: &Task, task: &Task) {
        let is_own = before.phase == TaskPhase::Restarting && task.generation > before.generation;
        if is_own && knows_success(before) {
            let what = format!("{} is run again, and the server knows that all of its ranks returned 0", task.id);
            self.broken(now, "what has succeeded is not run again", what);
        }
        let is_incomplete = self.incomplete.contains(&(task.id.clone(), before.generation));
        let has_ended_well = |truth: &TaskTruth| truth.ended_well.contains(&before.generation);
        if is_own && !is_incomplete && self.tasks.get(&task.id).is_some_and(has_ended_well) {
            let what = format!("{} is run again, though its first node has noted that it succeeded", task.id);
            self.broken(now, "what has succeeded is not run again", what);
        }
    }

    /// A piece of a journal is in the database.
    pub fn journal_taken(&mut self, now: u64, run: &RunKey, offset: u64, taken: &[u8]) {
        let Some(written) = self.journals.get(run) else { return };
        let is_of = |bytes: &GrowingBytes| {
            let bytes = bytes.0.borrow();
            let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
            rest.is_some_and(|rest| rest.starts_with(taken))
        };
        if !written.iter().any(is_of) {
            let what = format!("the journal of {run} has other lines from byte {offset} on than its keepers wrote");
            self.broken(now, "cursors without gaps", what);
        }
    }

    /// A piece of a stream is on disk; `is_answered` says whether its sender hears so.
    pub fn stream_taken(&mut self, now: u64, key: (TaskId, Launch, u32), taken: &[u8], is_answered: bool) {
        let Some(bytes) = self.streams.get(&key) else { return };
        let is_prefix = bytes.0.borrow().starts_with(taken);
        let acknowledged = self.acknowledged.get(&key).copied().unwrap_or(0);
        if !is_prefix {
            let what =
                format!("the log of rank {} of {} {:?} holds other bytes than the rank wrote", key.2, key.0, key.1);
            self.broken(now, "the server's log is a prefix of the rank's bytes", what);
        } else if taken.len() < acknowledged {
            let (rank, task, launch, have) = (key.2, key.0, key.1, taken.len());
            let what = format!("of rank {rank} of {task} {launch:?} {acknowledged} bytes were there, and {have} are");
            self.broken(now, "nothing acknowledged is forgotten", what);
        } else if is_answered {
            self.acknowledged.insert(key, taken.len());
        }
    }

    /// The server has let go of what it had of a task.
    pub fn let_go(&mut self, now: u64, task: &TaskId, is_open: bool) {
        if is_open {
            self.broken(now, "logs of a task that lives stay", format!("those of {task} were let go of"));
        }
        self.acknowledged.retain(|(of, ..), _| of != task);
        self.let_go.extend(self.streams.keys().filter(|(of, ..)| of == task).cloned());
    }
}

/// Whether the server has the exits of all ranks of the last attempt, and all of them are 0.
fn knows_success(task: &Task) -> bool {
    let is_whole = |ranks: usize| ranks == task.world_size() as usize && ranks > 0;
    task.attempt().is_some_and(|attempt| {
        attempt.generation == task.generation
            && is_whole(attempt.ranks.len())
            && attempt.ranks.iter().all(|rank| rank.exit.as_ref().is_some_and(fermi_domain::exit::Exit::is_success))
    })
}

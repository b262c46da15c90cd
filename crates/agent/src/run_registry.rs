//! The runs that this agent knows, and what is to be done about them: decided here, without files or processes.

use std::collections::BTreeMap;

use fermi_api::link::{AgentMessage, Assignment, KnownRun, LaunchFailed};
use fermi_domain::task::RunKey;

/// Where a run stands on this node.
#[derive(Clone, Debug, PartialEq)]
enum RunState {
    /// An older run of the same task is still being ended.
    Fenced(Box<Assignment>),
    /// Its folder, its code and its files are being made.
    Preparing,
    /// A keeper of it lives.
    Alive,
    /// No process of it is left; what it wrote may not be taken yet.
    Over(Taken),
    Failed(LaunchFailed),
    /// It must not be started, whoever says so.
    Never,
}

/// What the server has of a run that is over, or does not want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    journal: Option<JournalTaken>,
    streams: bool,
}

/// What a journal that has been taken tells of the streams beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalTaken {
    /// Every attempt of which there are files: their bytes are taken whenever they come.
    TellsAll,
    /// Not of each: a later launch would take the number of an attempt that nothing has told of, so that its bytes come first.
    LacksAttempts,
}

/// What the registry hears.
#[derive(Clone, Debug)]
pub enum AgentInput {
    Launch(Box<Assignment>),
    Stop(RunKey),
    Kill(RunKey),
    Forget(RunKey),
    Prepared(RunKey),
    Failed(LaunchFailed),
    KeepersGone(RunKey),
    /// The server has all of its journal, or does not want it.
    JournalTaken(RunKey, JournalTaken),
    /// The server has all that its ranks wrote, or does not want it.
    StreamsTaken(RunKey),
    Welcomed {
        /// The server hears that a run is gone before all of its streams have come.
        streams_may_follow: bool,
    },
}

/// What the registry wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEffect {
    Prepare(Box<Assignment>),
    Start(RunKey),
    Signal {
        run: RunKey,
        signal: i32,
    },
    /// Send what is left and say when that is done.
    UploadRest(RunKey),
    RefuseForEver(RunKey),
    Delete(RunKey),
    Send(AgentMessage),
}

/// All runs of one cluster.
#[derive(Debug, Default)]
pub struct RunRegistry {
    runs: BTreeMap<RunKey, RunState>,
    streams_may_follow: bool,
}

impl RunRegistry {
    /// Takes in a run that an earlier agent left.
    pub fn found(&mut self, run: RunKey, found: FoundRun) {
        let state = match found {
            FoundRun::Alive => RunState::Alive,
            FoundRun::Over => RunState::Over(Taken::default()),
            FoundRun::Never => RunState::Never,
        };
        self.runs.insert(run, state);
    }

    /// After what is on disk was taken in anew. A hello has named what had not come to a start yet, and of what was refused while
    /// the disk was full there is nothing on it: such runs never start, and the server is told so.
    pub fn keep_unstarted(&mut self, before: Self) {
        for (run, state) in before.runs {
            let state = match state {
                RunState::Fenced(_) | RunState::Preparing | RunState::Never => RunState::Never,
                RunState::Failed(_) => state,
                RunState::Alive | RunState::Over(_) => continue,
            };
            self.runs.entry(run).or_insert(state);
        }
    }

    /// What a hello says.
    pub fn known(&self) -> Vec<KnownRun> {
        let alive = |state: &RunState| match state {
            // What is on its way counts as alive: it will be.
            RunState::Fenced(_) | RunState::Preparing | RunState::Alive => Some(true),
            RunState::Over(_) | RunState::Never => Some(false),
            RunState::Failed(_) => None,
        };
        self.runs.iter().filter_map(|(run, state)| Some(KnownRun { run: run.clone(), alive: alive(state)? })).collect()
    }

    /// Takes in what happened and says what to do.
    pub fn on(&mut self, input: AgentInput) -> Vec<AgentEffect> {
        match input {
            AgentInput::Launch(assignment) => self.launch(assignment),
            AgentInput::Stop(run) => self.end(run, libc::SIGTERM),
            AgentInput::Kill(run) => self.end(run, libc::SIGKILL),
            AgentInput::Forget(run) => self.forget(run),
            AgentInput::Prepared(run) => match self.runs.get_mut(&run) {
                Some(state @ RunState::Preparing) => {
                    *state = RunState::Alive;
                    vec![AgentEffect::Start(run)]
                }
                // Somebody changed their mind meanwhile.
                _ => Vec::new(),
            },
            AgentInput::Failed(failed) => self.failed(failed),
            AgentInput::KeepersGone(run) => self.keepers_gone(run),
            AgentInput::JournalTaken(run, journal) => self.taken(&run, |taken| taken.journal = Some(journal)),
            AgentInput::StreamsTaken(run) => self.taken(&run, |taken| taken.streams = true),
            AgentInput::Welcomed { streams_may_follow } => {
                self.streams_may_follow = streams_may_follow;
                self.runs.keys().filter_map(|run| self.last_word(run)).collect()
            }
        }
    }

    fn launch(&mut self, assignment: Box<Assignment>) -> Vec<AgentEffect> {
        let run = assignment.run.clone();
        if self.runs.contains_key(&run) {
            return self.last_word(&run).into_iter().collect();
        }
        let age = |key: &RunKey| (key.generation, key.incarnation);
        let is_sibling = |key: &RunKey| key.task == run.task;
        if self.runs.keys().any(|key| is_sibling(key) && age(key) > age(&run)) {
            return self.never(run);
        }
        let mut effects = Vec::new();
        let mut fenced = false;
        let older: Vec<RunKey> =
            self.runs.keys().filter(|key| is_sibling(key) && age(key) < age(&run)).cloned().collect();
        for key in older {
            match self.runs.get(&key) {
                Some(RunState::Alive) => {
                    fenced = true;
                    effects.push(AgentEffect::Signal { run: key, signal: libc::SIGKILL });
                }
                Some(RunState::Fenced(_) | RunState::Preparing) => effects.extend(self.never(key)),
                _ => {}
            }
        }
        if fenced {
            self.runs.insert(run, RunState::Fenced(assignment));
        } else {
            self.runs.insert(run, RunState::Preparing);
            effects.push(AgentEffect::Prepare(assignment));
        }
        effects
    }

    fn never(&mut self, run: RunKey) -> Vec<AgentEffect> {
        self.runs.insert(run.clone(), RunState::Never);
        vec![AgentEffect::RefuseForEver(run.clone()), AgentEffect::Send(gone_message(run, false))]
    }

    fn end(&mut self, run: RunKey, signal: i32) -> Vec<AgentEffect> {
        match self.runs.get(&run) {
            Some(RunState::Alive) => vec![AgentEffect::Signal { run, signal }],
            Some(RunState::Fenced(_) | RunState::Preparing) | None => self.never(run),
            Some(RunState::Over(_) | RunState::Failed(_) | RunState::Never) => {
                self.last_word(&run).into_iter().collect()
            }
        }
    }

    fn forget(&mut self, run: RunKey) -> Vec<AgentEffect> {
        match self.runs.get(&run) {
            Some(RunState::Fenced(_) | RunState::Preparing | RunState::Alive) => Vec::new(),
            _ => {
                self.runs.remove(&run);
                vec![AgentEffect::Delete(run)]
            }
        }
    }

    fn failed(&mut self, failed: LaunchFailed) -> Vec<AgentEffect> {
        let run = failed.run.clone();
        match self.runs.get_mut(&run) {
            Some(state @ (RunState::Preparing | RunState::Alive)) => {
                *state = RunState::Failed(failed.clone());
                vec![AgentEffect::Delete(run), AgentEffect::Send(AgentMessage::LaunchFailed(failed))]
            }
            _ => Vec::new(),
        }
    }

    fn keepers_gone(&mut self, run: RunKey) -> Vec<AgentEffect> {
        let Some(state @ RunState::Alive) = self.runs.get_mut(&run) else { return Vec::new() };
        *state = RunState::Over(Taken::default());
        let mut effects = vec![AgentEffect::UploadRest(run.clone())];
        let is_fenced_by = |key: &RunKey| key.task == run.task;
        if self.runs.iter().any(|(key, state)| is_fenced_by(key) && *state == RunState::Alive) {
            return effects;
        }
        for (key, state) in &mut self.runs {
            if is_fenced_by(key)
                && let RunState::Fenced(assignment) = state
            {
                effects.push(AgentEffect::Prepare(assignment.clone()));
                *state = RunState::Preparing;
            }
        }
        effects
    }

    fn taken(&mut self, run: &RunKey, note: impl FnOnce(&mut Taken)) -> Vec<AgentEffect> {
        let Some(RunState::Over(taken)) = self.runs.get_mut(run) else { return Vec::new() };
        note(taken);
        self.last_word(run).into_iter().collect()
    }

    /// What the server must know of a run that will not change any more; said again whenever it may not have heard. Workers
    /// wait for the journal, which says how the run ended; the files are kept until all streams have come as well.
    fn last_word(&self, run: &RunKey) -> Option<AgentEffect> {
        let follow = match self.runs.get(run)? {
            RunState::Never | RunState::Over(Taken { journal: Some(_), streams: true }) => false,
            RunState::Over(Taken { journal: Some(JournalTaken::TellsAll), streams: false })
                if self.streams_may_follow =>
            {
                true
            }
            RunState::Failed(failed) => {
                return Some(AgentEffect::Send(AgentMessage::LaunchFailed(failed.clone())));
            }
            RunState::Fenced(_) | RunState::Preparing | RunState::Alive | RunState::Over(_) => return None,
        };
        Some(AgentEffect::Send(gone_message(run.clone(), follow)))
    }
}

/// How an earlier agent left a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundRun {
    Alive,
    Over,
    Never,
}

/// How it ended is read where it is sent.
fn gone_message(run: RunKey, streams_follow: bool) -> AgentMessage {
    AgentMessage::Gone { run, streams_follow, ended: None, lease: None, in_order: false, not_started: None }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Text;

    use super::*;
    use crate::prepare::tests::assignment;

    fn key(text: &str) -> RunKey {
        text.parse().unwrap()
    }

    fn launch(run: &str) -> AgentInput {
        AgentInput::Launch(Box::new(assignment(run)))
    }

    fn gone(run: &str) -> AgentEffect {
        AgentEffect::Send(gone_message(key(run), false))
    }

    const RUN: &str = "task-1-g1-n0-i1";

    fn alive(registry: &mut RunRegistry, run: &str) {
        assert!(matches!(registry.on(launch(run))[..], [AgentEffect::Prepare(_)]));
        assert_eq!(registry.on(AgentInput::Prepared(key(run))), [AgentEffect::Start(key(run))]);
    }

    fn follow(run: &str) -> AgentEffect {
        AgentEffect::Send(gone_message(key(run), true))
    }

    fn welcomed(registry: &mut RunRegistry, streams_may_follow: bool) -> Vec<AgentEffect> {
        registry.on(AgentInput::Welcomed { streams_may_follow })
    }

    fn journal(registry: &mut RunRegistry, journal: JournalTaken) -> Vec<AgentEffect> {
        registry.on(AgentInput::JournalTaken(key(RUN), journal))
    }

    fn streams(registry: &mut RunRegistry) -> Vec<AgentEffect> {
        registry.on(AgentInput::StreamsTaken(key(RUN)))
    }

    #[test]
    fn a_run_is_started_once_and_gone_when_all_of_it_is_taken() {
        let mut registry = RunRegistry::default();
        alive(&mut registry, RUN);
        assert_eq!(registry.on(launch(RUN)), []);
        assert_eq!(registry.known(), [KnownRun { run: key(RUN), alive: true }]);
        assert_eq!(registry.on(AgentInput::KeepersGone(key(RUN))), [AgentEffect::UploadRest(key(RUN))]);
        assert_eq!(registry.on(launch(RUN)), []);
        assert_eq!(streams(&mut registry), []);
        assert_eq!(welcomed(&mut registry, true), []);
        assert_eq!(journal(&mut registry, JournalTaken::TellsAll), [gone(RUN)]);
        assert_eq!(welcomed(&mut registry, true), [gone(RUN)]);
        assert_eq!(registry.on(launch(RUN)), [gone(RUN)]);
        assert_eq!(registry.on(AgentInput::Forget(key(RUN))), [AgentEffect::Delete(key(RUN))]);
        assert_eq!(registry.known(), []);
    }

    /// An older state of the server's database was put back, and the agent looks at its disk anew.
    #[test]
    fn what_was_named_and_never_started_is_told_after_the_runs_were_taken_in_anew() {
        let mut before = RunRegistry::default();
        alive(&mut before, RUN);
        before.on(launch("task-2-g1-n0-i1"));
        before.on(AgentInput::Kill(key("task-3-g1-n0-i1")));
        let named: Vec<String> = before.known().iter().map(|known| known.run.to_string()).collect();
        assert_eq!(named, [RUN, "task-2-g1-n0-i1", "task-3-g1-n0-i1"]);
        let mut registry = RunRegistry::default();
        registry.found(key(RUN), FoundRun::Alive);
        registry.keep_unstarted(before);
        let never = [gone("task-2-g1-n0-i1"), gone("task-3-g1-n0-i1")];
        assert_eq!(welcomed(&mut registry, true), never);
        assert_eq!(registry.on(AgentInput::Prepared(key("task-2-g1-n0-i1"))), []);
        assert_eq!(registry.on(launch("task-3-g1-n0-i1")), [gone("task-3-g1-n0-i1")]);
    }

    #[test]
    fn a_run_whose_journal_is_taken_frees_its_workers_and_is_kept_until_its_streams_have_come() {
        let mut registry = RunRegistry::default();
        welcomed(&mut registry, true);
        alive(&mut registry, RUN);
        registry.on(AgentInput::KeepersGone(key(RUN)));
        assert_eq!(journal(&mut registry, JournalTaken::TellsAll), [follow(RUN)]);
        assert_eq!(welcomed(&mut registry, true), [follow(RUN)], "a server that is started anew may not have heard");
        assert_eq!(registry.known(), [KnownRun { run: key(RUN), alive: false }]);
        // Its task goes on meanwhile.
        alive(&mut registry, "task-1-g2-n0-i1");
        assert_eq!(streams(&mut registry), [gone(RUN)]);
        assert_eq!(registry.on(AgentInput::Forget(key(RUN))), [AgentEffect::Delete(key(RUN))]);
    }

    #[test]
    fn the_next_agent_keeps_what_the_last_one_has_not_sent() {
        let mut registry = RunRegistry::default();
        registry.found(key(RUN), FoundRun::Over);
        assert_eq!(welcomed(&mut registry, true), [], "whether the journal was taken is asked first");
        assert_eq!(journal(&mut registry, JournalTaken::TellsAll), [follow(RUN)]);
        assert_eq!(streams(&mut registry), [gone(RUN)]);
    }

    #[test]
    fn workers_wait_for_streams_that_could_not_be_told_apart_later_and_for_a_server_of_an_earlier_release() {
        for (streams_may_follow, taken) in [(true, JournalTaken::LacksAttempts), (false, JournalTaken::TellsAll)] {
            let mut registry = RunRegistry::default();
            welcomed(&mut registry, streams_may_follow);
            alive(&mut registry, RUN);
            registry.on(AgentInput::KeepersGone(key(RUN)));
            assert_eq!(journal(&mut registry, taken), []);
            assert_eq!(streams(&mut registry), [gone(RUN)]);
        }
    }

    #[test]
    fn an_older_run_of_the_task_is_ended_before_the_next_begins() {
        let mut registry = RunRegistry::default();
        alive(&mut registry, RUN);
        let (next, last) = ("task-1-g2-n1-i1", "task-1-g2-n1-i2");
        assert_eq!(registry.on(launch(next)), [AgentEffect::Signal { run: key(RUN), signal: libc::SIGKILL }]);
        // Overtaken before it began.
        let effects = registry.on(launch(last));
        assert!(
            effects.contains(&AgentEffect::RefuseForEver(key(next))) && effects.contains(&gone(next)),
            "{effects:?}"
        );
        let effects = registry.on(AgentInput::KeepersGone(key(RUN)));
        assert!(
            matches!(&effects[..], [AgentEffect::UploadRest(_), AgentEffect::Prepare(a)] if a.run == key(last)),
            "{effects:?}"
        );
    }

    #[test]
    fn an_instruction_that_comes_late_is_refused() {
        let mut registry = RunRegistry::default();
        alive(&mut registry, "task-1-g2-n0-i1");
        assert_eq!(registry.on(launch(RUN)), [AgentEffect::RefuseForEver(key(RUN)), gone(RUN)]);
        alive(&mut registry, "task-2-g1-n0-i1");
    }

    #[test]
    fn what_is_ended_before_it_is_known_is_never_started() {
        let mut registry = RunRegistry::default();
        assert_eq!(registry.on(AgentInput::Kill(key(RUN))), [AgentEffect::RefuseForEver(key(RUN)), gone(RUN)]);
        assert_eq!(registry.on(launch(RUN)), [gone(RUN)]);
    }

    #[test]
    fn a_stop_during_the_preparations_ends_them() {
        let mut registry = RunRegistry::default();
        registry.on(launch(RUN));
        assert_eq!(registry.on(AgentInput::Stop(key(RUN))), [AgentEffect::RefuseForEver(key(RUN)), gone(RUN)]);
        assert_eq!(registry.on(AgentInput::Prepared(key(RUN))), []);
    }

    #[test]
    fn orders_to_a_living_run_are_signals() {
        let mut registry = RunRegistry::default();
        alive(&mut registry, RUN);
        assert_eq!(
            registry.on(AgentInput::Stop(key(RUN))),
            [AgentEffect::Signal { run: key(RUN), signal: libc::SIGTERM }]
        );
        assert_eq!(
            registry.on(AgentInput::Kill(key(RUN))),
            [AgentEffect::Signal { run: key(RUN), signal: libc::SIGKILL }]
        );
        assert_eq!(registry.on(AgentInput::Forget(key(RUN))), []);
    }

    #[test]
    fn a_failed_launch_is_said_again_when_asked_again() {
        let mut registry = RunRegistry::default();
        registry.on(launch(RUN));
        let (reason, hint) = (Text::new("甲", "a"), Text::new("乙", "b"));
        let failed = LaunchFailed { run: key(RUN), reason, hint, settings: Vec::new() };
        let said = AgentEffect::Send(AgentMessage::LaunchFailed(failed.clone()));
        assert_eq!(registry.on(AgentInput::Failed(failed)), [AgentEffect::Delete(key(RUN)), said.clone()]);
        assert_eq!(registry.on(launch(RUN)), std::slice::from_ref(&said));
        assert_eq!(welcomed(&mut registry, true), [said]);
        assert_eq!(registry.known(), []);
    }
}

//! The runs that this agent knows, and what is to be done about them: decided here, without files or processes.

use std::collections::BTreeMap;

use fermi_api::link::{AgentWord, Assignment, KnownRun, LaunchFailed};
use fermi_domain::task::RunKey;

use crate::ship::Cargo;

/// Where a run stands on this node.
#[derive(Clone, Debug, PartialEq)]
enum Stand {
    /// An older run of the same task is still being ended.
    Fenced(Box<Assignment>),
    /// Its folder, its code and its files are being made.
    Preparing,
    /// A keeper of it lives.
    Alive,
    /// No process of it is left; what it wrote may not be taken yet.
    Over {
        journal: bool,
        streams: bool,
    },
    Failed(LaunchFailed),
    /// It must not be started, whoever says so.
    Never,
}

/// What the book hears.
#[derive(Clone, Debug)]
pub enum Happening {
    Launch(Box<Assignment>),
    Stop(RunKey),
    Kill(RunKey),
    Forget(RunKey),
    Prepared(RunKey),
    Failed(LaunchFailed),
    KeepersGone(RunKey),
    /// The server has all of it, or does not want it.
    Taken(RunKey, Cargo),
    Welcomed,
}

/// What the book wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Prepare(Box<Assignment>),
    Start(RunKey),
    Signal {
        run: RunKey,
        signal: i32,
    },
    /// Ship what is left and say when that is done.
    ShipRest(RunKey),
    RefuseForEver(RunKey),
    Delete(RunKey),
    Say(AgentWord),
}

/// All runs of one cluster.
#[derive(Debug, Default)]
pub struct Book {
    runs: BTreeMap<RunKey, Stand>,
}

impl Book {
    /// Takes in a run that an earlier agent left.
    pub fn found(&mut self, run: RunKey, found: Found) {
        let stand = match found {
            Found::Alive => Stand::Alive,
            Found::Over => Stand::Over { journal: false, streams: false },
            Found::Never => Stand::Never,
        };
        self.runs.insert(run, stand);
    }

    /// What a hello says.
    pub fn known(&self) -> Vec<KnownRun> {
        let alive = |stand: &Stand| match stand {
            // What is on its way counts as alive: it will be.
            Stand::Fenced(_) | Stand::Preparing | Stand::Alive => Some(true),
            Stand::Over { .. } | Stand::Never => Some(false),
            Stand::Failed(_) => None,
        };
        self.runs.iter().filter_map(|(run, stand)| Some(KnownRun { run: run.clone(), alive: alive(stand)? })).collect()
    }

    /// Takes in what happened and says what to do.
    pub fn on(&mut self, happening: Happening) -> Vec<Action> {
        match happening {
            Happening::Launch(assignment) => self.launch(assignment),
            Happening::Stop(run) => self.end(run, libc::SIGTERM),
            Happening::Kill(run) => self.end(run, libc::SIGKILL),
            Happening::Forget(run) => self.forget(run),
            Happening::Prepared(run) => match self.runs.get_mut(&run) {
                Some(stand @ Stand::Preparing) => {
                    *stand = Stand::Alive;
                    vec![Action::Start(run)]
                }
                // Somebody changed their mind meanwhile.
                _ => Vec::new(),
            },
            Happening::Failed(failed) => self.failed(failed),
            Happening::KeepersGone(run) => self.keepers_gone(run),
            Happening::Taken(run, cargo) => self.taken(run, cargo),
            Happening::Welcomed => self.runs.iter().filter_map(|(run, stand)| last_word(run, stand)).collect(),
        }
    }

    fn launch(&mut self, assignment: Box<Assignment>) -> Vec<Action> {
        let run = assignment.run.clone();
        if let Some(stand) = self.runs.get(&run) {
            return last_word(&run, stand).into_iter().collect();
        }
        let age = |key: &RunKey| (key.generation, key.incarnation);
        let is_sibling = |key: &RunKey| key.task == run.task;
        if self.runs.keys().any(|key| is_sibling(key) && age(key) > age(&run)) {
            return self.never(run);
        }
        let mut actions = Vec::new();
        let mut fenced = false;
        let older: Vec<RunKey> =
            self.runs.keys().filter(|key| is_sibling(key) && age(key) < age(&run)).cloned().collect();
        for key in older {
            match self.runs.get(&key) {
                Some(Stand::Alive) => {
                    fenced = true;
                    actions.push(Action::Signal { run: key, signal: libc::SIGKILL });
                }
                Some(Stand::Fenced(_) | Stand::Preparing) => actions.extend(self.never(key)),
                _ => {}
            }
        }
        if fenced {
            self.runs.insert(run, Stand::Fenced(assignment));
        } else {
            self.runs.insert(run, Stand::Preparing);
            actions.push(Action::Prepare(assignment));
        }
        actions
    }

    fn never(&mut self, run: RunKey) -> Vec<Action> {
        self.runs.insert(run.clone(), Stand::Never);
        vec![Action::RefuseForEver(run.clone()), Action::Say(AgentWord::Gone { run })]
    }

    fn end(&mut self, run: RunKey, signal: i32) -> Vec<Action> {
        match self.runs.get(&run) {
            Some(Stand::Alive) => vec![Action::Signal { run, signal }],
            Some(Stand::Fenced(_) | Stand::Preparing) | None => self.never(run),
            Some(stand) => last_word(&run, stand).into_iter().collect(),
        }
    }

    fn forget(&mut self, run: RunKey) -> Vec<Action> {
        match self.runs.get(&run) {
            Some(Stand::Fenced(_) | Stand::Preparing | Stand::Alive) => Vec::new(),
            _ => {
                self.runs.remove(&run);
                vec![Action::Delete(run)]
            }
        }
    }

    fn failed(&mut self, failed: LaunchFailed) -> Vec<Action> {
        let run = failed.run.clone();
        match self.runs.get_mut(&run) {
            Some(stand @ (Stand::Preparing | Stand::Alive)) => {
                *stand = Stand::Failed(failed.clone());
                vec![Action::Delete(run), Action::Say(AgentWord::LaunchFailed(failed))]
            }
            _ => Vec::new(),
        }
    }

    fn keepers_gone(&mut self, run: RunKey) -> Vec<Action> {
        let Some(stand @ Stand::Alive) = self.runs.get_mut(&run) else { return Vec::new() };
        *stand = Stand::Over { journal: false, streams: false };
        let mut actions = vec![Action::ShipRest(run.clone())];
        let is_fenced_by = |key: &RunKey| key.task == run.task;
        if self.runs.iter().any(|(key, stand)| is_fenced_by(key) && *stand == Stand::Alive) {
            return actions;
        }
        for (key, stand) in &mut self.runs {
            if is_fenced_by(key)
                && let Stand::Fenced(assignment) = stand
            {
                actions.push(Action::Prepare(assignment.clone()));
                *stand = Stand::Preparing;
            }
        }
        actions
    }

    fn taken(&mut self, run: RunKey, cargo: Cargo) -> Vec<Action> {
        let Some(stand) = self.runs.get_mut(&run) else { return Vec::new() };
        if let Stand::Over { journal, streams } = stand {
            match cargo {
                Cargo::Journal => *journal = true,
                Cargo::Streams => *streams = true,
            }
        }
        last_word(&run, stand).into_iter().collect()
    }
}

/// How an earlier agent left a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Alive,
    Over,
    Never,
}

/// What the server must know of a run that will not change any more; said again whenever it may not have heard.
fn last_word(run: &RunKey, stand: &Stand) -> Option<Action> {
    match stand {
        Stand::Over { journal: true, streams: true } | Stand::Never => {
            Some(Action::Say(AgentWord::Gone { run: run.clone() }))
        }
        Stand::Failed(failed) => Some(Action::Say(AgentWord::LaunchFailed(failed.clone()))),
        Stand::Fenced(_) | Stand::Preparing | Stand::Alive | Stand::Over { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Text;

    use super::*;
    use crate::prepare::tests::assignment;

    fn key(text: &str) -> RunKey {
        text.parse().unwrap()
    }

    fn launch(run: &str) -> Happening {
        Happening::Launch(Box::new(assignment(run)))
    }

    fn gone(run: &str) -> Action {
        Action::Say(AgentWord::Gone { run: key(run) })
    }

    const RUN: &str = "task-1-g1-n0-i1";

    fn alive(book: &mut Book, run: &str) {
        assert!(matches!(book.on(launch(run))[..], [Action::Prepare(_)]));
        assert_eq!(book.on(Happening::Prepared(key(run))), [Action::Start(key(run))]);
    }

    #[test]
    fn a_run_is_started_once_and_gone_when_all_of_it_is_taken() {
        let mut book = Book::default();
        alive(&mut book, RUN);
        assert_eq!(book.on(launch(RUN)), []);
        assert_eq!(book.known(), [KnownRun { run: key(RUN), alive: true }]);
        assert_eq!(book.on(Happening::KeepersGone(key(RUN))), [Action::ShipRest(key(RUN))]);
        assert_eq!(book.on(launch(RUN)), []);
        assert_eq!(book.on(Happening::Taken(key(RUN), Cargo::Streams)), []);
        assert_eq!(book.on(Happening::Welcomed), []);
        assert_eq!(book.on(Happening::Taken(key(RUN), Cargo::Journal)), [gone(RUN)]);
        assert_eq!(book.on(Happening::Welcomed), [gone(RUN)]);
        assert_eq!(book.on(launch(RUN)), [gone(RUN)]);
        assert_eq!(book.on(Happening::Forget(key(RUN))), [Action::Delete(key(RUN))]);
        assert_eq!(book.known(), []);
    }

    #[test]
    fn an_older_run_of_the_task_is_ended_before_the_next_begins() {
        let mut book = Book::default();
        alive(&mut book, RUN);
        let (next, last) = ("task-1-g2-n1-i1", "task-1-g2-n1-i2");
        assert_eq!(book.on(launch(next)), [Action::Signal { run: key(RUN), signal: libc::SIGKILL }]);
        // Overtaken before it began.
        let actions = book.on(launch(last));
        assert!(actions.contains(&Action::RefuseForEver(key(next))) && actions.contains(&gone(next)), "{actions:?}");
        let actions = book.on(Happening::KeepersGone(key(RUN)));
        assert!(matches!(&actions[..], [Action::ShipRest(_), Action::Prepare(a)] if a.run == key(last)), "{actions:?}");
    }

    #[test]
    fn an_instruction_that_comes_late_is_refused() {
        let mut book = Book::default();
        alive(&mut book, "task-1-g2-n0-i1");
        assert_eq!(book.on(launch(RUN)), [Action::RefuseForEver(key(RUN)), gone(RUN)]);
        alive(&mut book, "task-2-g1-n0-i1");
    }

    #[test]
    fn what_is_ended_before_it_is_known_is_never_started() {
        let mut book = Book::default();
        assert_eq!(book.on(Happening::Kill(key(RUN))), [Action::RefuseForEver(key(RUN)), gone(RUN)]);
        assert_eq!(book.on(launch(RUN)), [gone(RUN)]);
    }

    #[test]
    fn a_stop_during_the_preparations_ends_them() {
        let mut book = Book::default();
        book.on(launch(RUN));
        assert_eq!(book.on(Happening::Stop(key(RUN))), [Action::RefuseForEver(key(RUN)), gone(RUN)]);
        assert_eq!(book.on(Happening::Prepared(key(RUN))), []);
    }

    #[test]
    fn orders_to_a_living_run_are_signals() {
        let mut book = Book::default();
        alive(&mut book, RUN);
        assert_eq!(book.on(Happening::Stop(key(RUN))), [Action::Signal { run: key(RUN), signal: libc::SIGTERM }]);
        assert_eq!(book.on(Happening::Kill(key(RUN))), [Action::Signal { run: key(RUN), signal: libc::SIGKILL }]);
        assert_eq!(book.on(Happening::Forget(key(RUN))), []);
    }

    #[test]
    fn a_failed_launch_is_said_again_when_asked_again() {
        let mut book = Book::default();
        book.on(launch(RUN));
        let failed = LaunchFailed { run: key(RUN), reason: Text::new("甲", "a"), hint: Text::new("乙", "b") };
        let said = Action::Say(AgentWord::LaunchFailed(failed.clone()));
        assert_eq!(book.on(Happening::Failed(failed)), [Action::Delete(key(RUN)), said.clone()]);
        assert_eq!(book.on(launch(RUN)), std::slice::from_ref(&said));
        assert_eq!(book.on(Happening::Welcomed), [said]);
        assert_eq!(book.known(), []);
    }
}

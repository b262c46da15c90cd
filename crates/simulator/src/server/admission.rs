//! Agents say hello: who they are, and what is made of the runs that they bring.

use std::collections::BTreeSet;
use std::time::Duration;

use fermi_api::link::ServerMessage;
use fermi_domain::environment::{Environment, EnvironmentKind, EnvironmentStatus, Versions};
use fermi_domain::fleet::{
    self, Admission, Conclusion, Heard, Identity, Introduction, KnownRun, SUSPECT_AFTER, Standing,
};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::{RunKey, TaskInput};
use fermi_domain::units::Bytes;

use super::{Server, Session, StoreDown, WORKERS};
use crate::truth::Truth;

/// Who says hello.
#[derive(Clone, Debug)]
pub struct Hello {
    pub process: (usize, u32),
    pub name: String,
    pub instance: String,
    pub machine: String,
    pub boot: String,
    pub credential: Option<String>,
    pub seal: Option<String>,
    pub next_seal: Option<String>,
    pub pending_seals: Vec<String>,
    /// It shows a token that brings machines in and does nothing else.
    pub is_by_join_token: bool,
    pub runs: Vec<KnownRun>,
}

/// What a hello leads to.
#[derive(Debug)]
pub struct Welcomed {
    pub environment: EnvironmentId,
    /// Issued at a registration.
    pub credential: Option<String>,
    pub messages: Vec<ServerMessage>,
}

impl Server {
    pub fn hello(&mut self, hello: &Hello, link: usize, now: u64, truth: &mut Truth) -> Result<Welcomed, String> {
        self.write(now).map_err(|StoreDown| "the store is away".to_owned())?;
        let known = self.database.environments.values().find(|(environment, _)| environment.name == hello.name);
        let id = known.map(|(environment, _)| environment.id.clone());
        let introduction = Introduction {
            instance: &hello.instance,
            machine: Some(&hello.machine),
            boot: &hello.boot,
            credential: hello.credential.as_deref(),
            seal: hello.seal.as_deref(),
            next_seal: hello.next_seal.as_deref(),
            pending_seals: &hello.pending_seals,
        };
        let standing = id.as_ref().map(|id| self.standing(id, hello, now)).unwrap_or_default();
        let admission = fleet::admit(known.map(|(_, identity)| identity), standing, &introduction);
        if let Admission::Refuse(impostor) = admission {
            return Err(format!("{impostor:?}"));
        }
        let issued = introduction.needs_credential(known.map(|(_, identity)| identity), admission).then(|| {
            self.next_credential += 1;
            format!("k{}", self.next_credential)
        });
        let credential = issued.clone().or_else(|| hello.credential.clone());
        let id = id.unwrap_or_else(|| {
            self.database.next_environment += 1;
            EnvironmentId::from(format!("env-{:03}", self.database.next_environment).as_str())
        });
        let before = self.database.environments.get(&id).map(|(_, identity)| identity);
        let shown = hello.credential.as_deref();
        let identity = Identity::after(&introduction, credential).in_place_of(before, shown);
        self.comes_back(&id);
        self.database.environments.insert(id.clone(), (environment(&id, &hello.name), identity));
        self.picture.clear();
        let session = Session {
            link: Some(link),
            process: hello.process,
            connected_ms: now,
            heard_ms: now,
            sent: BTreeSet::new(),
        };
        self.sessions.insert(id.clone(), session);
        self.openings += 1;
        self.is_rung = true;
        let concluded = self.concluded(&id, hello, now, truth);
        let messages = concluded.map_err(|StoreDown| {
            self.link_ended(&id, link);
            "the store is away".to_owned()
        })?;
        Ok(Welcomed { environment: id, credential: issued, messages })
    }

    /// What is made of the runs of an agent. The answer is what it is told.
    fn concluded(
        &mut self,
        id: &EnvironmentId,
        hello: &Hello,
        now: u64,
        truth: &mut Truth,
    ) -> Result<Vec<ServerMessage>, StoreDown> {
        let tasks = self.database.tasks.values();
        // Every agent here looks at its machine's processes, and finds none outside of its folder.
        let heard = if self.is_unheard(id) { Heard::FirstSinceRestore } else { Heard::Before };
        let conclusions = fleet::compare(tasks, id, &hello.runs, Some(&[]), heard, |run| self.origin(run));
        let mut messages: Vec<ServerMessage> = self.kills_of_strays(id).collect();
        let mut strays = Vec::new();
        for conclusion in conclusions {
            match conclusion {
                Conclusion::Gone(run) => {
                    let input = TaskInput::gone(run.node_rank);
                    self.apply(&run.task, [input], now, truth)?;
                }
                Conclusion::Forgotten(run) => {
                    let input = TaskInput::Forgotten { node: run.node_rank };
                    self.apply(&run.task, [input], now, truth)?;
                }
                Conclusion::Unproven(_) => {}
                Conclusion::Kill(run) => {
                    if self.is_unheard(id) && !self.stray(&run).is_some_and(|stray| stray.ending) {
                        truth.ended_unasked(now, &run);
                    }
                    messages.push(ServerMessage::Kill { run });
                }
                // Its agent says when all that it wrote has come.
                Conclusion::Forget(run) if self.may_deliver(id, &run) => {}
                Conclusion::Forget(run) => messages.push(ServerMessage::Forget { run }),
                Conclusion::MovedOn(run) => {
                    let task = run.task.clone();
                    self.apply(&task, [TaskInput::MovedOn { run }], now, truth)?;
                    let others = self.links_of_other_nodes(&task, id);
                    self.to_be_asked_again.extend(others);
                }
                Conclusion::SetAside(known) => {
                    truth.incomplete.insert((known.run.task.clone(), known.run.generation));
                    strays.push(known);
                }
            }
        }
        self.write(now)?;
        self.note_hello(id, &strays);
        let is_there = |run: &RunKey| hello.runs.iter().any(|known| known.run == *run);
        self.database.trailing.retain(|run, at| at != id || is_there(run));
        Ok(messages)
    }

    /// Whether another machine was put in the place of who comes: what runs there is to end.
    pub fn has_replaced(&self, hello: &Hello) -> bool {
        let mut known = self.database.environments.values();
        let of_name = known.find(|(environment, _)| environment.name == hello.name);
        let shown = hello.credential.as_deref();
        shown.is_some_and(|shown| of_name.is_some_and(|(_, identity)| identity.has_replaced(shown)))
    }

    /// Whether an agent is connected there and was heard a moment ago.
    pub fn is_answering(&self, id: &EnvironmentId, now: u64) -> bool {
        self.sessions.get(id).is_some_and(|session| {
            let silent = Duration::from_millis(now.saturating_sub(session.heard_ms));
            session.link.is_some() && silent < SUSPECT_AFTER
        })
    }

    fn standing(&self, id: &EnvironmentId, hello: &Hello, now: u64) -> Standing {
        let is_other = self.sessions.get(id).is_some_and(|session| session.process != hello.process);
        let is_answering = is_other && self.is_answering(id, now);
        let may_have_runs = fleet::may_have_runs(self.database.tasks.values(), &self.database.strays, id);
        Standing {
            is_answering,
            may_have_runs,
            is_restored: self.is_unheard(id),
            is_by_join_token: hello.is_by_join_token,
            is_lost: self.duty(id).is_lost(),
        }
    }
}

fn environment(id: &EnvironmentId, name: &str) -> Environment {
    Environment {
        id: id.clone(),
        name: name.to_owned(),
        kind: EnvironmentKind::Custom,
        zone: None,
        image: None,
        gpus: Vec::new(),
        cpu_cores: 1,
        memory: Bytes(1),
        address: None,
        versions: Versions::default(),
        cpu_workers: WORKERS,
        labels: Default::default(),
        declared: false,
        status: EnvironmentStatus::Running,
    }
}

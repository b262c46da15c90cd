//! The agents that are here now: who answers, since when, what was measured last, and a way to send a message to each.
//!
//! All of it lives in memory: a heartbeat never becomes a row. After a start of the server nobody has been heard yet,
//! which is silence like any other.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fermi_api::link::{ABILITY_PREFLIGHT, Heartbeat, KeptThere, ProbeOrder, ServerMessage};
use fermi_domain::fleet::{Liveness, OFFLINE_AFTER, SUSPECT_AFTER};
use fermi_domain::group::Probe;
use fermi_domain::hang::StackGroup;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::preflight::{NodeReadiness, PreflightNews, PreflightPart};
use fermi_domain::task::RunKey;
use tokio::sync::mpsc;

use crate::heartbeat_pace::HeartbeatPace;
use crate::questions::{Asked, Question, Questions};
use crate::samples::{RankUse, Sample, Samples};

/// Whether a message reached an agent's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Now,
    /// Over the same connection already.
    Before,
    /// There is no connection, or it takes nothing.
    Not,
}

/// Where the ranks of a node stand, as its journal tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StacksTold {
    pub stacks: Vec<StackGroup>,
    pub silent: Vec<u32>,
}

/// One connection of an agent; a later one of the same environment has another number.
#[derive(Clone, Debug)]
pub struct AgentConnection {
    pub number: u64,
    messages: mpsc::Sender<ServerMessage>,
}

impl AgentConnection {
    /// Sends a message. A connection that does not take it is broken or hopelessly behind, and its end is noticed where it is read.
    pub fn send(&self, message: ServerMessage) -> bool {
        self.messages.try_send(message).is_ok()
    }
}

#[derive(Debug)]
struct AgentSession {
    /// Which process it is; none of an agent of an earlier release.
    process: Option<String>,
    connection: Option<AgentConnection>,
    /// When it was made.
    connected: Instant,
    heard: Instant,
    samples: Samples,
    pace: HeartbeatPace,
    /// What the machine keeps, as it has told last.
    kept: Option<KeptThere>,
    /// What was sent over which connection, so that nothing is sent twice over one.
    sent: HashMap<(RunKey, &'static str), u64>,
    /// What it can be asked for beyond what every release knows.
    abilities: Vec<String>,
}

/// Who listens to what nodes say of their parts in a preflight, by the number of the part.
pub type PreflightListener = mpsc::Sender<(u64, PreflightNews)>;

/// The number of a question that was put to the agent of an environment.
pub type OfAgent = (EnvironmentId, u64);

/// A part in a preflight that was asked of an agent; nothing of it is heard any more when this is dropped.
#[derive(Debug)]
pub struct AskedPart {
    pub number: u64,
    /// The connection that it was asked over.
    pub connection: u64,
    question: Question<OfAgent, (u64, PreflightNews)>,
}

/// Everybody who has been heard since the server started.
#[derive(Debug)]
pub struct Hub {
    started: Instant,
    sessions: Mutex<HashMap<EnvironmentId, AgentSession>>,
    /// What was measured before the server started, of environments that have not come back yet.
    before: Mutex<HashMap<EnvironmentId, Samples>>,
    next_line: std::sync::atomic::AtomicU64,
    messages: std::sync::atomic::AtomicU64,
    /// Whoever waits for the stacks of a run.
    stacks: Questions<RunKey, StacksTold>,
    /// Probes that have not been answered.
    probes: Questions<OfAgent, Probe>,
    /// Parts in preflights that are going on.
    preflights: Questions<OfAgent, (u64, PreflightNews)>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            sessions: Mutex::default(),
            before: Mutex::default(),
            next_line: std::sync::atomic::AtomicU64::new(1),
            messages: std::sync::atomic::AtomicU64::default(),
            stacks: Questions::default(),
            probes: Questions::default(),
            preflights: Questions::default(),
        }
    }
}

impl Hub {
    fn sessions(&self) -> MutexGuard<'_, HashMap<EnvironmentId, AgentSession>> {
        // Nothing is left half done under the lock, so a panic elsewhere does no harm to what it guards.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another process than this one answers under the environment's name.
    pub fn is_answering(&self, environment: &EnvironmentId, process: Option<&str>) -> bool {
        self.sessions().get(environment).is_some_and(|session| {
            let is_other = session.process.as_deref().zip(process).is_none_or(|(ours, theirs)| ours != theirs);
            is_other && session.connection.is_some() && session.heard.elapsed() < SUSPECT_AFTER
        })
    }

    /// Gives an agent its session; a connection that it had before is dropped.
    pub fn connect(
        &self,
        environment: &EnvironmentId,
        process: Option<&str>,
        abilities: &[String],
        messages: mpsc::Sender<ServerMessage>,
    ) -> AgentConnection {
        let connection = AgentConnection { number: self.next_number(), messages };
        let mut sessions = self.sessions();
        let session = sessions.entry(environment.clone()).or_insert_with(|| AgentSession {
            process: None,
            connection: None,
            connected: Instant::now(),
            heard: Instant::now(),
            samples: self.before().remove(environment).unwrap_or_default(),
            pace: HeartbeatPace::new(Instant::now()),
            kept: None,
            sent: HashMap::new(),
            abilities: Vec::new(),
        });
        session.abilities = abilities.to_vec();
        session.process = process.map(str::to_owned);
        session.connection = Some(connection.clone());
        (session.connected, session.heard) = (Instant::now(), Instant::now());
        session.sent.clear();
        connection
    }

    /// For how long an environment's agent has been connected without a break; none where it is not.
    pub fn connected_for(&self, environment: &EnvironmentId) -> Option<Duration> {
        let sessions = self.sessions();
        let session = sessions.get(environment).filter(|session| session.heard.elapsed() < SUSPECT_AFTER)?;
        session.connection.as_ref().map(|_| session.connected.elapsed())
    }

    /// Whether this is the connection that an environment's agent has now.
    pub fn is_current(&self, environment: &EnvironmentId, connection: u64) -> bool {
        let sessions = self.sessions();
        let current = sessions.get(environment).and_then(|session| session.connection.as_ref());
        current.is_some_and(|current| current.number == connection)
    }

    /// Ends the connection of an environment's agent, which has to say hello anew.
    pub fn hang_up(&self, environment: &EnvironmentId) {
        if let Some(session) = self.sessions().get_mut(environment) {
            session.connection = None;
        }
    }

    /// The connection is broken, unless the agent has a newer one.
    pub fn leave(&self, environment: &EnvironmentId, connection: u64) {
        if let Some(session) = self.sessions().get_mut(environment)
            && session.connection.as_ref().is_some_and(|current| current.number == connection)
        {
            session.connection = None;
        }
    }

    pub fn beat(&self, environment: &EnvironmentId, connection: u64, heartbeat: Heartbeat) {
        self.messages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if let Some(session) = self.sessions().get_mut(environment)
            && session.connection.as_ref().is_some_and(|current| current.number == connection)
        {
            session.heard = Instant::now();
            session.kept = heartbeat.kept.or(session.kept);
            if session.pace.keeps_one(Instant::now()) {
                session.samples.push(heartbeat);
            }
        }
    }

    /// What machines keep, as they have told since the server started.
    pub fn kept_there(&self) -> Vec<KeptThere> {
        self.sessions().values().filter_map(|session| session.kept).collect()
    }

    /// Something was heard, whatever it was: what an agent concludes from our answers must not outlast what is known of it
    /// here. Says whether it came over the connection that the agent has now.
    pub fn heard_of(&self, environment: &EnvironmentId, connection: u64) -> bool {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(environment);
        let is_current =
            |session: &AgentSession| session.connection.as_ref().is_some_and(|current| current.number == connection);
        let Some(session) = session.filter(|session| is_current(session)) else { return false };
        session.heard = Instant::now();
        true
    }

    fn heard(&self, session: Option<&AgentSession>) -> Instant {
        session.map_or(self.started, |session| session.heard)
    }

    pub fn liveness(&self, environment: &EnvironmentId) -> Liveness {
        let sessions = self.sessions();
        let session = sessions.get(environment);
        let silence = self.heard(session).elapsed();
        let is_connected = session.is_some_and(|session| session.connection.is_some());
        Liveness::of(silence, is_connected)
    }

    /// For how long nothing was heard; before the server started, everything may have been.
    pub fn silent_for(&self, environment: &EnvironmentId) -> Duration {
        self.heard(self.sessions().get(environment)).elapsed()
    }

    /// How long ago something was heard; none since the server started.
    pub fn silence(&self, environment: &EnvironmentId) -> Option<Duration> {
        self.sessions().get(environment).map(|session| session.heard.elapsed())
    }

    /// Whether an environment's agent is here and has not been told this over its present connection.
    pub fn can_send(&self, environment: &EnvironmentId, run: &RunKey, what: &'static str) -> bool {
        let sessions = self.sessions();
        let Some(session) = sessions.get(environment) else { return false };
        let Some(connection) = session.connection.as_ref().filter(|_| session.heard.elapsed() < OFFLINE_AFTER) else {
            return false;
        };
        session.sent.get(&(run.clone(), what)) != Some(&connection.number)
    }

    /// Sends a message to an environment's agent once per connection.
    pub fn send_once(
        &self,
        environment: &EnvironmentId,
        run: &RunKey,
        what: &'static str,
        message: impl FnOnce() -> ServerMessage,
    ) -> Delivery {
        let mut sessions = self.sessions();
        let Some(session) = sessions.get_mut(environment) else { return Delivery::Not };
        let Some(connection) = &session.connection else { return Delivery::Not };
        let key = (run.clone(), what);
        if session.sent.get(&key) == Some(&connection.number) {
            return Delivery::Before;
        }
        if !connection.send(message()) {
            return Delivery::Not;
        }
        session.sent.insert(key, connection.number);
        Delivery::Now
    }

    /// What was sent about a run needs no memory once the run is over.
    pub fn forget(&self, environment: &EnvironmentId, run: &RunKey) {
        if let Some(session) = self.sessions().get_mut(environment) {
            session.sent.retain(|(known, _), _| known != run);
        }
    }

    /// Asks for the stacks of a run's ranks; none where there is no connection.
    pub fn ask_for_stacks(&self, environment: &EnvironmentId, run: &RunKey) -> Option<Asked<RunKey, StacksTold>> {
        let asked = self.stacks.ask(run.clone());
        self.send(environment, ServerMessage::Stacks { run: run.clone() }).map(|_| asked)
    }

    /// What a journal has told, for whoever waits for it.
    pub fn stacks_told(&self, run: &RunKey, told: &StacksTold) {
        self.stacks.answer(run, told);
    }

    /// Asks an environment's agent to look for a master; none where there is no connection.
    pub fn probe(
        &self,
        environment: &EnvironmentId,
        order: impl FnOnce(u64) -> ProbeOrder,
    ) -> Option<Asked<OfAgent, Probe>> {
        let number = self.next_number();
        let asked = self.probes.ask((environment.clone(), number));
        self.send(environment, ServerMessage::Probe(order(number))).map(|_| asked)
    }

    /// What an agent has found; of another's question nothing is taken.
    pub fn probed(&self, environment: &EnvironmentId, number: u64, found: Probe) {
        self.probes.answer(&(environment.clone(), number), &found);
    }

    /// Sends a message over the connection that an environment's agent has; gives its number, none where there is none.
    fn send(&self, environment: &EnvironmentId, message: ServerMessage) -> Option<u64> {
        let connection = self.sessions().get(environment).and_then(|session| session.connection.clone())?;
        connection.send(message).then_some(connection.number)
    }

    fn next_number(&self) -> u64 {
        self.next_line.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// Whether an environment's agent can be asked to take part in a preflight.
    pub fn readiness(&self, environment: &EnvironmentId) -> NodeReadiness {
        let sessions = self.sessions();
        let session = sessions.get(environment).filter(|session| session.heard.elapsed() < OFFLINE_AFTER);
        match session.filter(|session| session.connection.is_some()) {
            None => NodeReadiness::Offline,
            Some(session) if session.abilities.iter().any(|it| it == ABILITY_PREFLIGHT) => NodeReadiness::Ready,
            Some(_) => NodeReadiness::CannotBeAsked,
        }
    }

    /// Whether the agent that an environment has had last is of a release that knows this.
    pub fn is_able(&self, environment: &EnvironmentId, ability: &str) -> bool {
        self.sessions().get(environment).is_some_and(|session| session.abilities.iter().any(|it| it == ability))
    }

    /// Asks an agent to take part in a preflight; none where there is no connection.
    pub fn ask_preflight(
        &self,
        environment: &EnvironmentId,
        part: PreflightPart,
        listener: &PreflightListener,
    ) -> Option<AskedPart> {
        let number = self.next_number();
        let question = self.preflights.listen((environment.clone(), number), listener.clone());
        let connection = self.send(environment, ServerMessage::Preflight { number, part: Box::new(part) })?;
        Some(AskedPart { number, connection, question })
    }

    /// What an agent says of its part; of another's nothing is taken. More than the listener takes is dropped.
    pub fn preflight_said(&self, environment: &EnvironmentId, number: u64, news: PreflightNews) {
        self.preflights.answer(&(environment.clone(), number), &(number, news));
    }

    /// Nobody waits for this part any more.
    pub fn end_preflight(&self, asked: &AskedPart) {
        let (environment, number) = asked.question.about();
        // An agent that is away hears of it by the end of its connection.
        let _ = self.send(environment, ServerMessage::EndPreflight { number: *number });
    }

    /// Lets go of what is remembered of an environment that was deleted.
    pub fn forget_environment(&self, environment: &EnvironmentId) {
        self.sessions().remove(environment);
        self.before().remove(environment);
    }

    /// The newest sample of an environment.
    pub fn latest(&self, environment: &EnvironmentId) -> Option<Sample> {
        self.sessions().get(environment).and_then(|session| session.samples.latest().cloned())
    }

    /// All samples of an environment, oldest first.
    pub fn samples(&self, environment: &EnvironmentId) -> Vec<Sample> {
        let all = |samples: &Samples| samples.all().cloned().collect();
        if let Some(session) = self.sessions().get(environment) {
            return all(&session.samples);
        }
        self.before().get(environment).map(all).unwrap_or_default()
    }

    fn before(&self) -> MutexGuard<'_, HashMap<EnvironmentId, Samples>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was measured before the server started.
    pub fn restore(&self, environment: EnvironmentId, means: Vec<Sample>) {
        self.before().entry(environment).or_default().restore(means);
    }

    /// The means of each environment that came after the time that `since` gives for it.
    pub fn means(&self, since: impl Fn(&EnvironmentId) -> u64) -> Vec<(EnvironmentId, Vec<Sample>)> {
        let sessions = self.sessions();
        let means = sessions.iter().map(|(id, session)| (id.clone(), session.samples.means_after(since(id))));
        means.filter(|(_, means)| !means.is_empty()).collect()
    }

    /// Makes means of everything, for the end of the server.
    pub fn settle(&self) {
        self.sessions().values_mut().for_each(|session| session.samples.settle());
    }

    /// The newest samples of a task's ranks, over all environments.
    pub fn rank_samples(&self, task: &TaskId) -> Vec<RankUse> {
        let sessions = self.sessions();
        let newest = sessions.values().filter_map(|session| session.samples.latest());
        newest.flat_map(|sample| &sample.ranks).filter(|rank| *rank.task == *task).cloned().collect()
    }

    /// How many agents have a connection, and how many messages of theirs were heard.
    pub fn counts(&self) -> (usize, u64) {
        let connections = self.sessions().values().filter(|session| session.connection.is_some()).count();
        (connections, self.messages.load(std::sync::atomic::Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected(hub: &Hub, process: &str) -> (AgentConnection, mpsc::Receiver<ServerMessage>) {
        let (send, messages) = mpsc::channel(8);
        (hub.connect(&"env-001".into(), Some(process), &[], send), messages)
    }

    #[test]
    fn a_second_agent_of_one_name_is_taken_only_while_the_first_answers() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let (connection, _words) = connected(&hub, "a");
        assert!(hub.is_answering(&environment, Some("b")) && !hub.is_answering(&environment, Some("a")));
        assert!(hub.is_answering(&environment, None), "one of an earlier release might be anyone");
        hub.leave(&environment, connection.number);
        assert!(!hub.is_answering(&environment, Some("b")));
    }

    #[test]
    fn the_end_of_an_old_line_does_not_end_the_new_one() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let (old, _old_words) = connected(&hub, "a");
        let (_new, _words) = connected(&hub, "a");
        hub.leave(&environment, old.number);
        assert_eq!(hub.liveness(&environment), Liveness::Here);
    }

    #[test]
    fn a_part_in_a_preflight_is_heard_of_its_own_agent_alone() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let (listener, mut heard) = mpsc::channel(4);
        let part: PreflightPart = serde_json::from_value(serde_json::json!({
            "nodeRank": 0, "names": ["a"], "masterAddress": "10.0.0.1", "joinMs": 1, "wholeMs": 1
        }))
        .unwrap();
        assert_eq!(hub.readiness(&environment), NodeReadiness::Offline);
        assert!(hub.ask_preflight(&environment, part.clone(), &listener).is_none());
        let (_line, _words) = connected(&hub, "a");
        assert_eq!(hub.readiness(&environment), NodeReadiness::CannotBeAsked, "it is of an older release");
        let (send, mut messages) = mpsc::channel(8);
        let connection = hub.connect(&environment, Some("a"), &[ABILITY_PREFLIGHT.to_owned()], send);
        assert_eq!(hub.readiness(&environment), NodeReadiness::Ready);
        let asked = hub.ask_preflight(&environment, part, &listener).unwrap();
        let number = asked.number;
        assert_eq!(asked.connection, connection.number);
        hub.preflight_said(&EnvironmentId::from("env-002"), number, PreflightNews::Over);
        hub.preflight_said(&environment, number, PreflightNews::Started);
        assert_eq!(heard.try_recv().unwrap(), (number, PreflightNews::Started));
        hub.end_preflight(&asked);
        drop(asked);
        hub.preflight_said(&environment, number, PreflightNews::Over);
        assert!(heard.try_recv().is_err());
        assert!(matches!(messages.try_recv(), Ok(ServerMessage::Preflight { .. })));
        assert!(matches!(messages.try_recv(), Ok(ServerMessage::EndPreflight { number: it }) if it == number));
    }

    #[tokio::test]
    async fn all_who_ask_for_the_same_stacks_at_once_are_answered() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let run: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        assert!(hub.ask_for_stacks(&environment, &run).is_none() && hub.stacks.open() == 0);
        let (_line, _words) = connected(&hub, "a");
        let [mut first, mut second] = [0; 2].map(|_| hub.ask_for_stacks(&environment, &run).unwrap());
        let told = StacksTold { stacks: Vec::new(), silent: vec![3] };
        hub.stacks_told(&run, &told);
        assert_eq!((first.answer().await, second.answer().await), (Some(told.clone()), Some(told)));
        drop((first, second));
        assert_eq!(hub.stacks.open(), 0);
    }

    #[test]
    fn nothing_is_remembered_of_an_environment_that_was_deleted() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let (line, _words) = connected(&hub, "a");
        hub.beat(&environment, line.number, Heartbeat::default());
        hub.forget_environment(&environment);
        assert!(hub.sessions().is_empty() && hub.latest(&environment).is_none());
        assert!(!hub.heard_of(&environment, line.number), "what still comes over its connection ends that");
    }

    #[test]
    fn a_word_is_said_once_per_line() {
        let hub = Hub::default();
        let environment = EnvironmentId::from("env-001");
        let run: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        let stop = || ServerMessage::Stop { run: run.clone() };
        assert!(!hub.can_send(&environment, &run, "stop"), "there is no connection");
        let (_line, mut messages) = connected(&hub, "a");
        assert!(hub.can_send(&environment, &run, "stop"));
        assert_eq!(hub.send_once(&environment, &run, "stop", stop), Delivery::Now);
        assert!(!hub.can_send(&environment, &run, "stop"));
        assert_eq!(hub.send_once(&environment, &run, "stop", stop), Delivery::Before);
        assert!(messages.try_recv().is_ok() && messages.try_recv().is_err());
        let (connection, mut messages) = connected(&hub, "a");
        assert!(hub.can_send(&environment, &run, "stop"));
        assert_eq!(hub.send_once(&environment, &run, "stop", stop), Delivery::Now);
        hub.leave(&environment, connection.number);
        assert!(!hub.can_send(&environment, &run, "kill"));
        assert!(messages.try_recv().is_ok());
    }
}

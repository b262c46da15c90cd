//! Keeps a connection to the server open, for ever.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fermi_api::client::ServerAddress;
use fermi_api::link::{AgentMessage, Hello, KnownRun, ServerMessage, Welcome};
use fermi_domain::access::Fingerprint;
use fermi_domain::contract::FERMI_RUN_MARK;
use fermi_domain::fleet::pause_before_dial;
use fermi_domain::language::Text;
use fermi_domain::task::RunKey;
use fermi_process::procfs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;

use super::Outbox;
use super::connection::{ConnectionError, Refused, ServerConnection};
use crate::data_folder::newest_task;
use crate::identity::{Pass, PassBook};
use crate::lasting;
use crate::options::StopFlag;

/// After a refusal: somebody has to do something first.
const REFUSED_PAUSE: Duration = Duration::from_secs(5);
/// How long the agent may take to look for the runs of a cluster that it has not served before.
const TURN_PATIENCE: Duration = Duration::from_secs(10);

/// What the link tells.
#[derive(Debug)]
pub enum LinkNews {
    Welcomed(Welcome),
    Message(ServerMessage),
    /// The server has answered a question that was asked then, by [`boot_ms`](fermi_process::lease::boot_ms).
    Answered {
        asked_ms: u64,
    },
    /// The server has refused this agent, and these runs count as ended there: another machine has its place.
    MustEnd(String, Vec<RunKey>),
    Gone(NoLink),
}

/// Why an agent has no link to its server.
#[derive(Clone, Debug, PartialEq)]
pub enum NoLink {
    /// The server is not there or does not answer.
    Lost { reason: String, retry_in: Duration },
    /// The server does not want this agent as it is. It asks again now and then.
    Refused { reason: Text, hint: Text },
}

/// What the agent knows of the runs of one cluster.
#[derive(Clone, Debug, Default)]
pub struct RunsOfCluster {
    /// None before the first welcome.
    pub cluster: Option<String>,
    pub runs: Vec<KnownRun>,
}

/// When the server was last asked something that it has answered, by [`boot_ms`](fermi_process::lease::boot_ms). The link notes
/// it whether or not there are runs: one that starts later holds its first lease from then on.
#[derive(Clone, Debug, Default)]
pub struct ServerHeard(Arc<AtomicU64>);

impl ServerHeard {
    pub fn note(&self, asked_ms: u64) {
        self.0.fetch_max(asked_ms, Ordering::Relaxed);
    }

    pub fn asked_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the thread needs.
#[derive(Debug)]
pub struct Dialer {
    pub server: ServerAddress,
    pub fingerprint: Option<Fingerprint>,
    pub token: Option<String>,
    /// All but the runs and the pass, which change.
    pub hello: Hello,
    pub runs: Arc<Mutex<RunsOfCluster>>,
    pub heard: ServerHeard,
    pub passes: PassBook,
    /// The agent's data folder, of whose tasks a hello tells the newest.
    pub data: PathBuf,
    pub stop: StopFlag,
}

/// Starts the thread.
pub fn start(dialer: Dialer, tell: impl Fn(LinkNews) + Send + 'static) -> std::io::Result<(Outbox, JoinHandle<()>)> {
    let (messages, outgoing) = channel();
    let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
    let ring = bell.clone();
    let mut dialer = dialer;
    let thread = lasting::start("link", 512 * 1024, move || dialer.dial(&outgoing, &ring, &tell))?;
    Ok((Outbox { messages, bell }, thread))
}

impl Dialer {
    fn dial(&mut self, outgoing: &Receiver<AgentMessage>, bell: &EventFd, tell: &impl Fn(LinkNews)) {
        let mut tries = 0;
        while !self.stop.is_raised() {
            let hello = self.hello();
            let spoken_of = hello.cluster.clone();
            let error = match ServerConnection::open(&self.server, self.fingerprint, self.token.as_deref(), hello) {
                Ok((connection, mut welcome)) => {
                    tries = 0;
                    welcome.credential = self.passes.confirm(&welcome.cluster, welcome.credential);
                    // Said to a connection that is gone; what still counts is said again after the welcome.
                    while outgoing.try_recv().is_ok() {}
                    let cluster = welcome.cluster.clone();
                    tell(LinkNews::Welcomed(welcome));
                    // This server has heard of another one's runs: it is told of its own.
                    if spoken_of.is_some_and(|spoken_of| spoken_of != cluster) && self.turns_to(&cluster) {
                        connection.close();
                        continue;
                    }
                    match self.talk(connection, outgoing, bell, tell) {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let wait = match error {
                ConnectionError::Lost(reason) => {
                    let wait = pause_before_dial(tries, drawn());
                    tries += 1;
                    tell(LinkNews::Gone(NoLink::Lost { reason, retry_in: wait }));
                    wait
                }
                ConnectionError::Refused(refused) => {
                    let Refused { reason, hint, cluster, end } = *refused;
                    if let Some(cluster) = cluster {
                        self.passes.turn_to(&cluster);
                        if !end.is_empty() {
                            tell(LinkNews::MustEnd(cluster, end));
                        }
                    }
                    tell(LinkNews::Gone(NoLink::Refused { reason, hint }));
                    REFUSED_PAUSE
                }
            };
            self.rest(wait, bell);
            while outgoing.try_recv().is_ok() {}
        }
    }

    fn hello(&mut self) -> Hello {
        let Pass { credential, seal, next_seal, pending_seals } = self.passes.propose().clone();
        let RunsOfCluster { cluster, runs } = self.known();
        let is_known = |run: &RunKey| runs.iter().any(|known| known.run == *run);
        // Without a look, or without knowing for which cluster, nothing is claimed.
        let seen = cluster.as_deref().and_then(runs_with_processes);
        let seen = seen.map(|seen| seen.into_iter().filter(|run| !is_known(run)).collect());
        let newest_task = cluster.as_deref().and_then(|cluster| newest_task(&self.data, cluster));
        Hello { credential, seal, next_seal, pending_seals, cluster, runs, seen, newest_task, ..self.hello.clone() }
    }

    fn known(&self) -> RunsOfCluster {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the agent has looked for the runs of a cluster.
    fn turns_to(&self, cluster: &str) -> bool {
        let until = Instant::now() + TURN_PATIENCE;
        while !self.stop.is_raised() && Instant::now() < until {
            if self.known().cluster.as_deref() == Some(cluster) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Talks until the connection breaks, or until the agent ends.
    fn talk(
        &self,
        mut connection: ServerConnection,
        outgoing: &Receiver<AgentMessage>,
        bell: &EventFd,
        tell: &impl Fn(LinkNews),
    ) -> Result<(), ConnectionError> {
        while !self.stop.is_raised() {
            for message in outgoing.try_iter() {
                connection.send(&message)?;
            }
            for message in connection.wait(bell)? {
                if let ServerMessage::Refused { reason, hint, cluster, end } = message {
                    return Err(Refused { reason, hint, cluster, end }.into());
                }
                tell(LinkNews::Message(message));
            }
            if let Some(asked_ms) = connection.take_answered() {
                self.heard.note(asked_ms);
                // Without runs nobody is woken for it.
                if self.has_live_runs() {
                    tell(LinkNews::Answered { asked_ms });
                }
            }
        }
        connection.close();
        Ok(())
    }

    fn has_live_runs(&self) -> bool {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).runs.iter().any(|known| known.alive)
    }

    /// Sleeps, unless the agent ends.
    fn rest(&self, wait: Duration, bell: &EventFd) {
        let until = Instant::now() + wait;
        while !self.stop.is_raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX));
            let _ = bell.read();
        }
    }
}

/// The runs of a cluster that have processes on this machine, whatever is left of their files; none where that cannot be
/// told.
fn runs_with_processes(cluster: &str) -> Option<Vec<RunKey>> {
    let prefix = format!("{cluster}-");
    let marks = procfs::values_of(FERMI_RUN_MARK).ok()?;
    Some(marks.iter().filter_map(|mark| mark.strip_prefix(&prefix)?.parse().ok()).collect())
}

/// Between 0 and 1.
fn drawn() -> f64 {
    let mut random = [0u8; 4];
    // Were there no randomness, the pause is just shorter.
    let _ = getrandom::fill(&mut random);
    f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX)
}

//! The life of an agent: one thread hears everything, the registry says what to do, and it is done.

mod launching;
mod taking_over;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fermi_api::link::{ABILITY_STARTS, ABILITY_STREAMS_FOLLOW, AgentMessage, Assignment, ServerMessage, Welcome};
use fermi_attempt::bundle::NodeBundle;
use fermi_attempt::run_result::{self, RunResult};
use fermi_domain::access::RunAs;
use fermi_domain::contract::FERMI_TOKEN;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;
use fermi_hardware::gpu::Gpus;
use fermi_process::last_word::{self, LastWord};
use fermi_process::lease::{self, STACKS_ASKED};
use fermi_process::stale::{self, Ended};
use fermi_process::sweep;
use nix::unistd::geteuid;
use taking_over::adopt;

use crate::data_folder::{self, ClusterFolder, DataFolder};
use crate::error::AgentError;
use crate::keepers;
use crate::lasting;
use crate::link::{self, Dialer, LinkNews, NoLink, Outbox, RunsOfCluster, ServerHeard};
use crate::machine;
use crate::options::{AgentNews, AgentOptions, StopFlag};
use crate::preflight::Preflights;
use crate::prepare::PrepareRefusal;
use crate::probe;
use crate::retention;
use crate::run_as;
use crate::run_registry::{AgentEffect, AgentInput, JournalTaken, RunRegistry};
use crate::sample::{KeptNote, LiveRuns, Sampler};
use crate::trace;
use crate::upload::{HttpUploadClient, UploadKind, UploadOrder, Uploader, WelcomedAs, journal_tells_all};
use crate::wake::{self, Beat, Pulse};

/// An answer of the server that is older renews no lease.
const OLDEST_ANSWER_MS: u64 = 5_000;
/// How often is looked for what runs have left whose keepers died unseen.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// What is told to the one thread.
enum Event {
    Link(LinkNews),
    /// Everything for a launch is there, or why not.
    Ready(Owned, Result<Box<NodeBundle>, PrepareRefusal>),
    KeepersGone(Owned, Vec<Ended>),
    /// What was left of runs whose keepers died.
    Swept(Vec<Ended>),
    Taken(RunKey, UploadKind),
    /// A child may have ended, or the agent shall.
    Woken,
}

/// A run with its cluster: two servers may give the same names.
#[derive(Clone, Debug)]
struct Owned {
    cluster: String,
    run: RunKey,
}

/// Lives until the flag is raised. Ranks go on without it.
pub fn run(options: AgentOptions, stop: StopFlag, tell: impl Fn(AgentNews)) -> Result<(), AgentError> {
    let server = options.server.clone();
    run_as::check(&options.run_as)?;
    if geteuid().is_root() {
        let news = AgentNews::RanksRunAs { text: options.run_as.told() };
        trace::news(&news, None);
        tell(news);
    }
    let data = DataFolder::take(&options.data_dir)?;
    if data.is_copy {
        tracing::warn!(folder = %options.data_dir.display(), "the data folder is a copy; this agent is another one");
    }
    let kept = KeptNote::default();
    retention::start(options.data_dir.clone(), kept.clone())?;
    // Should both keepers of a run die at once, what they held comes back to us and is reaped.
    sweep::become_subreaper()?;
    let (events, inbox) = channel();
    let gpus = Gpus::open();
    let hello = machine::hello(&options, data.instance(), gpus.as_ref());
    let shared = Shared::default();
    let uploads = |kind: UploadKind| {
        let events = events.clone();
        let client = HttpUploadClient::new(server.clone(), options.fingerprint, options.token.as_deref());
        Uploader::start(kind, client, move |run| drop(events.send(Event::Taken(run, kind))))
    };
    let (journals, streams) = (uploads(UploadKind::Journal)?, uploads(UploadKind::Streams)?);
    // Known before the first hello, which names the runs that are still here.
    let mut cluster = None;
    let mut registry = RunRegistry::default();
    for ended in stale::sweep_stale(&data.live()) {
        let news = AgentNews::Swept { run: ended.run, killed: ended.killed };
        trace::news(&news, None);
        tell(news);
    }
    let mut found = Vec::new();
    if let Some(name) = data.last_cluster()? {
        let folder = data.cluster(&name);
        found = adopt(&folder, &mut registry)?;
        cluster = Some(folder);
    }
    let known = RunsOfCluster { cluster: cluster.as_ref().map(|folder| folder.name.clone()), runs: registry.known() };
    *shared.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    let dialer = Dialer {
        server: server.clone(),
        fingerprint: options.fingerprint,
        token: options.token.clone(),
        hello,
        runs: shared.known.clone(),
        heard: shared.heard.clone(),
        passes: data.passes()?,
        data: data.root().to_owned(),
        stop: stop.clone(),
    };
    let link_events = events.clone();
    let (outbox, link) = link::start(dialer, move |news| drop(link_events.send(Event::Link(news))))?;
    start_sampler(Sampler::new(gpus, shared.live.clone(), kept), shared.pulse.clone(), outbox.clone())?;
    let wakes = events.clone();
    wake::start(stop.clone(), move || drop(wakes.send(Event::Woken)))?;
    let preflights = Preflights::new(options.data_dir.clone());
    let mut agent = Agent {
        client: HttpUploadClient::new(server, options.fingerprint, options.token.as_deref()),
        hidden: variables_that_hold(options.token.as_deref()),
        run_as: options.run_as,
        data,
        cluster,
        registry,
        ready: HashMap::new(),
        assignments: HashMap::new(),
        unwatched: Vec::new(),
        environment: None,
        epoch: None,
        probes: Arc::default(),
        preflights,
        shared,
        journals,
        streams,
        outbox: outbox.clone(),
        events,
        tell,
    };
    agent.take_over(found);
    start_sweeper(agent.data.live(), agent.events.clone())?;
    let lived = agent.live(&inbox, &stop);
    agent.shared.pulse.set(Beat::Over);
    outbox.ring();
    // It says good-bye, which must not take long.
    let deadline = Instant::now() + Duration::from_secs(1);
    while !link.is_finished() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
    lived
}

/// What other threads see of the agent.
#[derive(Clone, Debug, Default)]
struct Shared {
    known: Arc<Mutex<RunsOfCluster>>,
    heard: ServerHeard,
    live: LiveRuns,
    pulse: Arc<Pulse>,
}

/// The names of variables whose value is the token, or that of another one: ranks do not need it and must not have it.
fn variables_that_hold(token: Option<&str>) -> Vec<OsString> {
    let token = token.map(str::trim).filter(|token| !token.is_empty());
    let holds = |name: &OsString, value: &OsString| {
        name == FERMI_TOKEN || value.to_str().is_some_and(|value| Some(value.trim()) == token)
    };
    std::env::vars_os().filter(|(name, value)| holds(name, value)).map(|(name, _)| name).collect()
}

/// Measuring may take long on a machine in trouble; the link must not wait for it.
fn start_sampler(mut sampler: Sampler, pulse: Arc<Pulse>, outbox: Outbox) -> io::Result<()> {
    lasting::start("sample", 512 * 1024, move || {
        let mut last = None;
        while pulse.wait(last) {
            last = Some(Instant::now());
            outbox.send(AgentMessage::Heartbeat(Box::new(sampler.measure())));
        }
    })?;
    Ok(())
}

/// A note that could not be read when its run ended, or when we started, is nobody's once it can be.
fn start_sweeper(live_notes: PathBuf, events: Sender<Event>) -> io::Result<()> {
    lasting::start("sweep", 128 * 1024, move || {
        loop {
            thread::sleep(SWEEP_EVERY);
            let ended = stale::sweep_stale(&live_notes);
            if !ended.is_empty() && events.send(Event::Swept(ended)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

struct Agent<T> {
    client: HttpUploadClient,
    hidden: Vec<OsString>,
    run_as: RunAs,
    data: DataFolder,
    cluster: Option<ClusterFolder>,
    registry: RunRegistry,
    /// Launches that are ready to start.
    ready: HashMap<RunKey, Box<NodeBundle>>,
    assignments: HashMap<RunKey, Box<Assignment>>,
    /// Runs whose keepers live and whose end nobody waits for yet.
    unwatched: Vec<RunKey>,
    environment: Option<EnvironmentId>,
    /// That of the last welcome.
    epoch: Option<u64>,
    /// How many threads look for a master.
    probes: Arc<AtomicUsize>,
    preflights: Preflights,
    shared: Shared,
    journals: Uploader,
    streams: Uploader,
    outbox: Outbox,
    events: Sender<Event>,
    tell: T,
}

impl<T: Fn(AgentNews)> Agent<T> {
    fn tell(&self, news: AgentNews) {
        trace::news(&news, self.environment.as_ref());
        (self.tell)(news);
    }

    fn live(&mut self, inbox: &Receiver<Event>, stop: &StopFlag) -> Result<(), AgentError> {
        while !stop.is_raised() {
            let Ok(event) = inbox.recv() else { return Ok(()) };
            self.hear(event)?;
        }
        Ok(())
    }

    /// The error where its own folder cannot be read: the next agent takes all over as it is then.
    fn hear(&mut self, event: Event) -> Result<(), AgentError> {
        match event {
            Event::Link(LinkNews::Welcomed(welcome)) => self.welcomed(welcome)?,
            Event::Link(LinkNews::Message(message)) => self.obey(message),
            Event::Link(LinkNews::Answered { asked_ms }) => self.answered(asked_ms),
            Event::Link(LinkNews::MustEnd(cluster, runs)) => self.must_end(&cluster, runs),
            Event::Link(LinkNews::Gone(why)) => {
                self.shared.pulse.set(Beat::Away);
                self.tell(AgentNews::NoLink(why));
            }
            Event::Ready(owned, _) | Event::KeepersGone(owned, _) if !self.is_ours(&owned) => {}
            Event::Ready(Owned { run, .. }, Ok(bundle)) => {
                self.ready.insert(run.clone(), bundle);
                self.apply(AgentInput::Prepared(run.clone()));
                self.ready.remove(&run);
            }
            Event::Ready(Owned { run, .. }, Err(refusal)) => self.failed(refusal.for_run(run)),
            Event::KeepersGone(Owned { run, .. }, ended) => {
                self.swept(ended);
                self.shared.live.remove(&run);
                self.apply(AgentInput::KeepersGone(run));
            }
            Event::Swept(ended) => self.swept(ended),
            Event::Taken(run, UploadKind::Streams) => self.apply(AgentInput::StreamsTaken(run)),
            Event::Taken(run, UploadKind::Journal) => {
                self.streams.order(UploadOrder::JournalTaken(run.clone()));
                let tells_all = self.cluster.as_ref().is_some_and(|cluster| journal_tells_all(&cluster.run(&run)));
                let journal = if tells_all { JournalTaken::TellsAll } else { JournalTaken::LacksAttempts };
                self.apply(AgentInput::JournalTaken(run, journal));
            }
            // Wardens of ours, and whatever else became ours as subreaper or as the first process of a container. Reaped
            // by this thread alone, which also starts wardens and must not lose one that fails to start.
            Event::Woken => drop(sweep::reap(&mut |_, _| {})),
        }
        Ok(())
    }

    /// Another machine has the place of this one: what runs here counts as ended, and another launch of it may be under way. The
    /// reason of the refusal says so.
    fn must_end(&mut self, cluster: &str, runs: Vec<RunKey>) {
        if self.cluster.as_ref().is_none_or(|known| known.name != cluster) {
            return;
        }
        let known = self.registry.known();
        for run in runs {
            if known.iter().any(|known| known.run == run && known.alive) {
                trace::asked("kill", &run, self.environment.as_ref());
                self.apply(AgentInput::Kill(run));
            }
        }
    }

    fn swept(&self, ended: Vec<Ended>) {
        for Ended { run, killed } in ended {
            self.tell(AgentNews::Swept { run, killed });
        }
    }

    /// The server was there when it was asked: runs that hold a lease from it may go on. An answer that has lain about is
    /// worth nothing, since the server counts from when it gave it.
    fn answered(&mut self, asked_ms: u64) {
        self.shared.heard.note(asked_ms);
        if lease::boot_ms().saturating_sub(asked_ms) > OLDEST_ANSWER_MS {
            return;
        }
        self.watch_again();
        let Some(cluster) = &self.cluster else { return };
        for known in self.registry.known().into_iter().filter(|known| known.alive) {
            keepers::renew_lease(&cluster.run_id(&known.run), &cluster.live);
        }
    }

    fn is_ours(&self, owned: &Owned) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.name == owned.cluster)
    }

    fn welcomed(&mut self, welcome: Welcome) -> Result<(), AgentError> {
        if !data_folder::is_cluster(&welcome.cluster) {
            let (zh, en) = ("服务器的集群名称无法使用", "the server's cluster has a name that cannot be used");
            let reason = fermi_domain::language::Text::new(zh, en);
            self.tell(AgentNews::NoLink(NoLink::Refused { hint: reason.clone(), reason }));
            return Ok(());
        }
        let is_other = self.cluster.as_ref().is_none_or(|cluster| cluster.name != welcome.cluster);
        // What was sent to a database that was put back since is sent again.
        let is_restored = self.epoch.replace(welcome.epoch).is_some_and(|epoch| epoch != welcome.epoch);
        if is_other || is_restored {
            self.move_to(&welcome.cluster)?;
        }
        self.shared.pulse.set(Beat::Every(Duration::from_millis(welcome.heartbeat_ms.clamp(10, 60_000))));
        self.environment = Some(welcome.environment.clone());
        let has = |wanted: &str| welcome.abilities.iter().any(|ability| ability == wanted);
        let streams_may_follow = has(ABILITY_STREAMS_FOLLOW);
        let sender = WelcomedAs {
            environment: welcome.environment.clone(),
            cluster: welcome.cluster.clone(),
            credential: welcome.credential.clone(),
            epoch: welcome.epoch.to_string(),
            takes_starts: has(ABILITY_STARTS),
        };
        self.client.sender = Some(sender.clone());
        for uploader in [&self.journals, &self.streams] {
            uploader.order(UploadOrder::Welcomed(sender.clone()));
        }
        self.tell(AgentNews::Connected { environment: welcome.environment, cluster: welcome.cluster });
        self.answered(lease::boot_ms());
        self.apply(AgentInput::Welcomed { streams_may_follow });
        Ok(())
    }

    fn obey(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Launch(assignment) => {
                trace::asked("launch", &assignment.run, self.environment.as_ref());
                self.apply(AgentInput::Launch(assignment));
            }
            ServerMessage::Stop { run } => {
                trace::asked("stop", &run, self.environment.as_ref());
                self.apply(AgentInput::Stop(run));
            }
            ServerMessage::Kill { run } => {
                trace::asked("kill", &run, self.environment.as_ref());
                self.apply(AgentInput::Kill(run));
            }
            ServerMessage::Forget { run } => {
                trace::asked("forget", &run, self.environment.as_ref());
                self.apply(AgentInput::Forget(run));
            }
            ServerMessage::Stacks { run } => {
                trace::asked("stacks", &run, self.environment.as_ref());
                self.carry_out(AgentEffect::Signal { run, signal: STACKS_ASKED as i32 });
            }
            ServerMessage::Probe(order) => probe::start(order, self.outbox.clone(), &self.probes),
            ServerMessage::Preflight { number, part } => {
                self.preflights.start(number, &part, &self.hidden, &self.outbox);
            }
            ServerMessage::EndPreflight { number } => self.preflights.end(number),
            // The link has heard these.
            ServerMessage::Welcome(_) | ServerMessage::Refused { .. } => {}
        }
    }

    fn apply(&mut self, input: AgentInput) {
        for effect in self.registry.on(input) {
            self.carry_out(effect);
        }
        self.note_known();
    }

    fn note_known(&self) {
        let cluster = self.cluster.as_ref().map(|folder| folder.name.clone());
        let known = RunsOfCluster { cluster, runs: self.registry.known() };
        *self.shared.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn carry_out(&mut self, effect: AgentEffect) {
        let Some(cluster) = self.cluster.clone() else { return };
        let _span = trace::effect(&effect, self.environment.as_ref()).entered();
        match effect {
            AgentEffect::Prepare(assignment) => self.prepare(assignment, cluster),
            AgentEffect::Start(run) => self.start(&run, &cluster),
            AgentEffect::Signal { run, signal } => {
                keepers::signal(cluster.run_id(&run), cluster.keepers_lock(&run), cluster.live, signal);
            }
            AgentEffect::UploadRest(run) => {
                for uploader in [&self.journals, &self.streams] {
                    uploader.order(UploadOrder::Rest(run.clone()));
                }
            }
            AgentEffect::RefuseForEver(run) => {
                // Its files may have been deleted while it ran: it is called gone only when nothing of it is left.
                let killed = stale::end_marked(&cluster.run_id(&run));
                if killed > 0 {
                    self.tell(AgentNews::Swept { run: cluster.run_id(&run), killed });
                }
                // On a full disk this agent still remembers it.
                let _ = cluster.refuse_for_ever(&run);
            }
            AgentEffect::Delete(run) => {
                self.assignments.remove(&run);
                for uploader in [&self.journals, &self.streams] {
                    uploader.order(UploadOrder::Drop(run.clone()));
                }
                cluster.delete_run(&run);
            }
            AgentEffect::Send(mut message) => {
                if let AgentMessage::Gone { run, streams_follow, ended, lease, in_order, not_started } = &mut message {
                    let lock = cluster.keepers_lock(run);
                    *not_started = last_word::not_started(&lock);
                    match LastWord::of(&lock) {
                        Some(LastWord::InOrder) => *in_order = true,
                        Some(LastWord::LeaseEnded(holder)) => *lease = Some(holder),
                        None => {}
                    }
                    *ended = run_result::result(&cluster.run(run)).map(RunResult::into_event).map(Box::new);
                    if *streams_follow {
                        tracing::info!(%run, "a run is gone; what its ranks wrote is still being sent");
                    } else {
                        self.tell(AgentNews::Gone { run: run.clone() });
                    }
                }
                self.outbox.send(message);
            }
        }
    }
}

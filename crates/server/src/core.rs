//! What every part of the server shares: the store, the streams, the agents that are here, the loops in the background
//! and the bells that wake them.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use fermi_domain::access::Fingerprint;
use fermi_domain::environment::{Duty, Environment, EnvironmentStatus};
use fermi_domain::fleet::Liveness;
use fermi_domain::ids::{EnvironmentId, Generation, TaskId, WorkerId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::Scheduler;
use fermi_domain::queue::Rules;
use fermi_domain::retention::RetentionPolicy;
use fermi_domain::task::{PhaseChange, Task};
use fermi_domain::worker::Worker;
use fermi_store::chunks::ChunkStore;
use fermi_store::environments::EnvironmentRow;
use fermi_store::{Store, StoreError};
use tokio::sync::{Notify, broadcast, watch};

use crate::access::oidc::OidcClient;
use crate::access::{Accounts, Vault};
use crate::background::Background;
use crate::disk::{Disk, DiskLimits};
use crate::hub::Hub;
use crate::kept::{Account, Kind, Stock};
use crate::preflights::Preflights;
use crate::refreshes::Refreshes;
use crate::restored::Restored;
use crate::webhooks::WebhookSender;

/// What operators have settled before a server starts.
#[derive(Clone, Debug, Default)]
pub struct CoreSettings {
    /// How much of the disk may be used, and for what.
    pub limits: DiskLimits,
    /// Who gets workers first, and how many.
    pub rules: Rules,
    /// Where people find the console, without a slash at its end.
    pub public_url: Option<String>,
    /// Whether an environment whose GPU reports an error of the node's is drained.
    pub drains_faulty_gpus: bool,
    /// How long what grows with use is kept.
    pub retention: RetentionPolicy,
}

/// A handle on everything; cheap to clone.
#[derive(Clone, Debug)]
pub struct Core(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    chunks: Arc<dyn ChunkStore>,
    hub: Hub,
    background: Background,
    accounts: Arc<Accounts>,
    secret: String,
    vault: Vault,
    folder: PathBuf,
    disk: Disk,
    account: Account,
    environments: RwLock<Arc<Vec<Environment>>>,
    /// What of them is stored, as it was last read.
    rows: Mutex<Arc<HashMap<EnvironmentId, Arc<EnvironmentRow>>>>,
    refreshes: Refreshes,
    /// What is held back after a restore.
    restored: RwLock<Arc<Restored>>,
    /// The digests of what agents must show, by environment.
    credentials: RwLock<HashMap<EnvironmentId, String>>,
    bells: Bells,
    /// Who waits for which workers; filled by the placement loop.
    scheduler: Mutex<Scheduler>,
    /// Tasks that have come into the queue, or left it, since the placement loop looked.
    stirred: Mutex<HashSet<TaskId>>,
    /// Counts the moments at which a waiting task may have become able to start.
    openings: AtomicU64,
    logs: broadcast::Sender<TaskId>,
    /// Of which launch an attempt is, for those whose bytes come in now; bounded.
    attempts: Mutex<HashMap<(TaskId, u32), Generation>>,
    /// Held while accounts are read: what was read first must not be taken last.
    account_turns: tokio::sync::Mutex<()>,
    /// One is held while an agent is admitted, chosen by its name: two of one name must not both find it free.
    admissions: [tokio::sync::Mutex<()>; ADMISSIONS],
    webhook_sender: WebhookSender,
    preflights: Preflights,
    public_url: Option<String>,
    drains_faulty_gpus: bool,
    retention: RetentionPolicy,
    oidc: OnceLock<OidcClient>,
    fingerprint: OnceLock<Fingerprint>,
    shutdown: watch::Sender<bool>,
}

/// Attempts whose launch is remembered; beyond them it is looked up again.
const MOST_ATTEMPTS: usize = 10_000;

/// So many agents of different names are admitted side by side, and their registrations stored together: after a restart of
/// the server all of them come at once.
const ADMISSIONS: usize = 256;

/// Each wakes one reconciler.
#[derive(Debug, Default)]
pub struct Bells {
    /// Something may be able to start: a new task, a free worker, an environment that came.
    pub placement: Notify,
    /// Something may be wanted of a node.
    pub nodes: Notify,
    /// There may be something to tell the world.
    pub webhooks: Notify,
}

impl Core {
    /// Everything is kept in one folder.
    pub fn new(
        store: Store,
        chunks: impl ChunkStore + 'static,
        secret: String,
        vault: Vault,
        folder: PathBuf,
        settings: CoreSettings,
    ) -> Self {
        let CoreSettings { limits, rules, public_url, drains_faulty_gpus, retention } = settings;
        Self(Arc::new(Inner {
            store,
            chunks: Arc::new(chunks),
            hub: Hub::default(),
            background: Background::default(),
            accounts: Arc::default(),
            secret,
            vault,
            disk: Disk::new(&folder, limits),
            folder,
            account: Account::default(),
            environments: RwLock::default(),
            rows: Mutex::default(),
            refreshes: Refreshes::default(),
            restored: RwLock::default(),
            credentials: RwLock::default(),
            bells: Bells::default(),
            scheduler: Mutex::new(Scheduler::new(rules)),
            stirred: Mutex::default(),
            openings: AtomicU64::default(),
            logs: broadcast::channel(1_024).0,
            attempts: Mutex::default(),
            account_turns: tokio::sync::Mutex::default(),
            admissions: [const { tokio::sync::Mutex::const_new(()) }; ADMISSIONS],
            webhook_sender: WebhookSender::default(),
            preflights: Preflights::default(),
            public_url,
            drains_faulty_gpus,
            retention,
            oidc: OnceLock::new(),
            fingerprint: OnceLock::new(),
            shutdown: watch::channel(false).0,
        }))
    }

    pub fn drains_faulty_gpus(&self) -> bool {
        self.0.drains_faulty_gpus
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub fn chunks(&self) -> &Arc<dyn ChunkStore> {
        &self.0.chunks
    }

    /// One agent of a name is admitted at a time.
    pub async fn admission_turn(&self, name: &str) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.0.admissions[hasher.finish() as usize % ADMISSIONS].lock().await
    }

    pub fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// The loops that run beside the requests.
    pub fn background(&self) -> &Background {
        &self.0.background
    }

    /// Who is known.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.0.accounts
    }

    /// Reads users and tokens anew; called when one of them has changed, never per request.
    pub async fn refresh_accounts(&self) -> Result<(), StoreError> {
        let _turn = self.0.account_turns.lock().await;
        let read = self.0.store.read(|view| Ok::<_, StoreError>((view.users()?, view.tokens()?)));
        let (users, tokens) = read.await?;
        self.0.accounts.take(users, tokens);
        Ok(())
    }

    /// From which the secrets of runs are made.
    pub fn secret(&self) -> &str {
        &self.0.secret
    }

    /// Seals and opens what tasks are given and no one reads.
    pub fn vault(&self) -> &Vault {
        &self.0.vault
    }

    /// Where everything is kept.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Where sources that were sent are kept, by digest.
    pub fn snapshots(&self) -> PathBuf {
        self.0.folder.join("snapshots")
    }

    /// Where means of what machines did are kept, a file for each environment.
    pub fn samples(&self) -> PathBuf {
        self.0.folder.join("samples")
    }

    /// The disk below the folder, and what may be written to it.
    pub fn disk(&self) -> &Disk {
        &self.0.disk
    }

    /// How much is kept of each kind, here and on machines.
    pub fn stocks(&self) -> Vec<(Kind, Stock)> {
        self.account().stocks(&self.hub().kept_there())
    }

    /// How long what grows with use is kept.
    pub fn retention(&self) -> RetentionPolicy {
        self.0.retention
    }

    /// What is kept, as the retention has found it.
    pub fn account(&self) -> &Account {
        &self.0.account
    }

    pub fn webhook_sender(&self) -> &WebhookSender {
        &self.0.webhook_sender
    }

    /// Checks of several environments at once that are going on, and the last that are over.
    pub fn preflights(&self) -> &Preflights {
        &self.0.preflights
    }

    /// Where people find the console, if operators have said so.
    pub fn public_url(&self) -> Option<&str> {
        self.0.public_url.as_deref()
    }

    /// Who asks the company's service; none where no such service was named.
    pub fn oidc(&self) -> Option<&OidcClient> {
        self.0.oidc.get()
    }

    /// From now on people may come with a company account.
    pub fn let_in_by(&self, client: OidcClient) {
        // It is set once, when the server starts.
        let _ = self.0.oidc.set(client);
    }

    /// By what the server is known over TLS; none where it is not encrypted, or others vouch for its certificate.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.0.fingerprint.get().copied()
    }

    /// The server shows a certificate of its own authority, whose fingerprint this is.
    pub fn be_known_by(&self, fingerprint: Fingerprint) {
        // It is set once, when the server starts: an authority outlives the certificates that it issues.
        let _ = self.0.fingerprint.set(fingerprint);
    }

    pub fn bells(&self) -> &Bells {
        &self.0.bells
    }

    /// Wakes both reconcilers.
    pub fn ring(&self) {
        self.0.bells.placement.notify_one();
        self.0.bells.nodes.notify_one();
    }

    /// Who waits for which workers. Held for a moment only, never while something is stored.
    pub fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.0.scheduler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a task that has come into the queue, or left it.
    pub fn stir(&self, task: &Task, phases: &[PhaseChange]) {
        let is_queue = |phase: TaskPhase| matches!(phase, TaskPhase::Initializing | TaskPhase::Queued);
        if phases.iter().any(|change| is_queue(change.from) || is_queue(change.to)) {
            self.0.stirred.lock().unwrap_or_else(PoisonError::into_inner).insert(task.id.clone());
        }
    }

    /// Those that were noted, once.
    pub fn take_stirred(&self) -> HashSet<TaskId> {
        std::mem::take(&mut *self.0.stirred.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }

    /// Tasks whose streams have grown, as they grow.
    pub fn logs_grown(&self) -> broadcast::Receiver<TaskId> {
        self.0.logs.subscribe()
    }

    /// The launch that an attempt is known to be of.
    pub fn generation_of(&self, task: &TaskId, attempt: u32) -> Option<Generation> {
        self.0.attempts.lock().unwrap_or_else(PoisonError::into_inner).get(&(task.clone(), attempt)).copied()
    }

    pub fn note_generation(&self, task: &TaskId, attempt: u32, generation: Generation) {
        let mut attempts = self.0.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        if attempts.len() >= MOST_ATTEMPTS {
            attempts.clear();
        }
        attempts.insert((task.clone(), attempt), generation);
    }

    /// What was noted of a task that is deleted.
    pub fn forget_generations(&self, task: &TaskId) {
        self.0.attempts.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _), _| known != task);
    }

    pub fn tell_logs_grown(&self, task: &TaskId) {
        // Without followers there is no one to wake.
        let _ = self.0.logs.send(task.clone());
    }

    /// The environments with the status they have now, as requests are checked against them.
    pub fn known_environments(&self) -> Arc<Vec<Environment>> {
        self.0.environments.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is held back after a restore, as of the last [`Self::refresh_environments`].
    pub fn restored(&self) -> Arc<Restored> {
        self.0.restored.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The digest of the credential that the agent of an environment must show; none where it was given none.
    pub fn credential_of(&self, environment: &EnvironmentId) -> Option<String> {
        self.0.credentials.read().unwrap_or_else(PoisonError::into_inner).get(environment).cloned()
    }

    /// Reads the environments and leases anew; called when one of them has changed, never per request.
    pub async fn refresh_environments(&self) -> Result<(), StoreError> {
        self.0.refreshes.serve(|| self.read_environments()).await
    }

    async fn read_environments(&self) -> Result<(), StoreError> {
        let known = self.0.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let read = self.0.store.read(move |view| {
            let restored = Restored { history: view.history()?, strays: view.strays()? };
            Ok::<_, StoreError>((view.environments_beyond(&known)?, view.leases()?, restored))
        });
        let (rows, leases, restored) = read.await?;
        *self.0.restored.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(restored);
        let with_leases: HashSet<&str> = leases.keys().map(WorkerId::node).collect();
        let environments: Vec<Environment> = rows
            .iter()
            .map(|row| {
                let mut environment = row.environment.clone();
                environment.labels = row.labels.clone();
                let is_leased = |worker: &Worker| leases.contains_key(&worker.id);
                // Most of many are idle, and the names of their workers need not be made.
                let may_be_busy = with_leases.contains(environment.name.as_str()) || environment.worker_count() == 0;
                let is_busy = may_be_busy && environment.workers().iter().all(is_leased);
                environment.status = match (row.duty, self.0.hub.liveness(&environment.id)) {
                    (Duty::Lost | Duty::LostAndDrained, _) => EnvironmentStatus::Lost,
                    (_, Liveness::Offline) => EnvironmentStatus::Offline,
                    (_, Liveness::Suspect) => EnvironmentStatus::Suspect,
                    (Duty::Drained, Liveness::Here) => EnvironmentStatus::Drained,
                    (Duty::Serves, Liveness::Here) if is_busy => EnvironmentStatus::Busy,
                    (Duty::Serves, Liveness::Here) => EnvironmentStatus::Running,
                };
                environment
            })
            .collect();
        let credential =
            |row: &Arc<EnvironmentRow>| Some((row.environment.id.clone(), row.identity.as_ref()?.credential.clone()?));
        let credentials: HashMap<EnvironmentId, String> = rows.iter().filter_map(credential).collect();
        let replaced = |row: &Arc<EnvironmentRow>| {
            let digests = row.identity.iter().flat_map(|known| known.replaced.clone()).collect::<Vec<String>>();
            let id = row.environment.id.clone();
            digests.into_iter().map(move |digest| (digest, id.clone()))
        };
        self.0.accounts.take_replaced(rows.iter().flat_map(replaced).collect());
        let rows = rows.into_iter().map(|row| (row.environment.id.clone(), row)).collect();
        *self.0.rows.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(rows);
        *self.0.environments.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(environments);
        self.0.accounts.take_credentials(&credentials);
        *self.0.credentials.write().unwrap_or_else(PoisonError::into_inner) = credentials;
        self.0.openings.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Grows whenever environments or leases have changed: as long as it stays, waiting tasks wait on.
    pub fn openings(&self) -> u64 {
        self.0.openings.load(Ordering::Acquire)
    }

    /// Ends streams and reconcilers.
    pub fn shut_down(&self) {
        self.0.shutdown.send_replace(true);
    }

    /// Returns when the server ends.
    pub async fn ended(&self) {
        let mut ended = self.0.shutdown.subscribe();
        // The sender lives in `self`, so that waiting cannot fail.
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

//! The life of a server, from its options to its orderly end.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fermi_domain::access::{Fingerprint, TrustedProxies};
use fermi_domain::language::{Explained, Hint, Text, reason};
use fermi_store::Store;
use fermi_store::chunks::LocalChunks;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::access::oidc::{OidcClient, OidcSettings};
use crate::access::{Vault, secret_word};
use crate::connection::Connection;
use crate::connections::{BoundedListener, Connections, ConnectionsWatch};
use crate::core::{Core, CoreSettings};
use crate::guard::Guard;
use crate::key_file::{NoKey, NotPlain, TooOpen};
use crate::tls::{CertificateKeeper, CertificateProblem, Encryption, TlsListener};
use crate::{agents, background, http, key_file, reconcilers, restored, sample_files, webhooks};

/// How a server is started.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    /// Names under which a proxy on this machine may ask.
    pub allowed_hosts: Vec<String>,
    /// Who may ask.
    pub door: Door,
    /// What it shows to prove who it is.
    pub encryption: Encryption,
    /// Proxies whose word is taken on whom they ask for.
    pub proxies: TrustedProxies,
    /// The company's service, by which people may log in.
    pub oidc: Option<OidcSettings>,
    pub settings: CoreSettings,
}

/// Who may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// Who shows a token. The server's own is in this file; in the data folder when none is named.
    Closed { token_file: Option<PathBuf> },
    /// Everyone who reaches the server.
    Open,
}

/// What the command that started the server may want to show.
#[derive(Clone, Debug)]
pub enum ServerNews {
    /// It answers at this address, to those who show the token.
    Listening {
        address: SocketAddr,
        token: Option<ServerToken>,
        is_encrypted: bool,
        /// By what a server with an authority of its own is known.
        fingerprint: Option<Fingerprint>,
    },
    Stopping,
}

/// The server's own token.
#[derive(Clone)]
pub struct ServerToken {
    pub file: PathBuf,
    pub word: String,
}

impl std::fmt::Debug for ServerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerToken").field("file", &self.file).finish_non_exhaustive()
    }
}

/// A key that the server makes for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKey {
    /// Of what the supervisors of a run share.
    Runs,
    /// Of secrets and webhooks.
    Secrets,
}

/// Why a server could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot use the data folder {folder}: {source}")]
    Folder { folder: PathBuf, source: io::Error },
    /// Other users of the machine get at what is in it.
    #[error("others may read {path}: its mode is {mode:o}")]
    TooOpen { path: PathBuf, mode: u32, wanted: u32 },
    /// Reading it might never end.
    #[error("{file} is no plain file")]
    NotPlain { file: PathBuf },
    /// What only a server writes is damaged.
    #[error("{file} holds no whole key")]
    DamagedKey { file: PathBuf, of: ServerKey },
    #[error("the token in {file} is no word of {SHORTEST_TOKEN} letters or more")]
    ShortToken { file: PathBuf },
    #[error("cannot read the client secret in {file}: {source}")]
    ClientSecret { file: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] fermi_store::OpenError),
    #[error(transparent)]
    Certificate(#[from] CertificateProblem),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot read the environments: {0}")]
    Read(#[from] fermi_store::StoreError),
    #[error("the server failed: {0}")]
    Failed(#[from] io::Error),
}

impl Explained for ServerError {
    fn id(&self) -> &'static str {
        "server_not_started"
    }

    fn text(&self) -> Text {
        let zh = match self {
            Self::Folder { folder, source } => format!("无法使用数据文件夹 {}：{source}", folder.display()),
            Self::TooOpen { path, mode, .. } => format!("其他用户可以读取 {}：权限为 {mode:o}", path.display()),
            Self::NotPlain { file } => format!("{} 不是普通文件", file.display()),
            Self::DamagedKey { file, .. } => format!("{} 中没有完整的密钥", file.display()),
            Self::ShortToken { file } => {
                format!("{} 中的令牌不是至少 {SHORTEST_TOKEN} 个可见字符的单词", file.display())
            }
            Self::ClientSecret { file, source } => format!("无法读取 {} 中的客户端密钥：{source}", file.display()),
            Self::Store(error) => return error.text(),
            Self::Certificate(problem) => return problem.text(),
            Self::Listen { address, source } => format!("无法监听 {address}：{source}"),
            Self::Read(error) => format!("无法读取开发环境：{error}"),
            Self::Failed(error) => format!("服务失败：{error}"),
        };
        Text::new(reason::of_said(&zh).zh, reason::of_said(&self.to_string()).en)
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Certificate(problem) => return problem.hint(),
            Self::TooOpen { path, wanted, .. } => {
                let command = format!("chmod {wanted:o} {}", path.display());
                Hint::new(
                    format!("其中有令牌、任务的变量与日志；先执行 {command}"),
                    format!("it holds tokens, variables of tasks and logs; run `{command}` first"),
                )
            }
            Self::DamagedKey { of: ServerKey::Runs, .. } => Hint::new(
                "把备份中的 secret 放回；没有备份时删除该文件后重新启动：服务器会生成新的，正在运行的任务需重新启动",
                "put `secret` of a backup back; without one remove the file and start again: the server makes a new one, and \
                 tasks that run must be started again",
            ),
            Self::DamagedKey { of: ServerKey::Secrets, .. } => Hint::new(
                "把另行保存的 secrets.key 放回（备份中没有它）；没有时删除该文件后重新启动：服务器会生成新的，密钥与 webhook 需重新设置",
                "put the copy of secrets.key back that is kept elsewhere (no backup holds it); without one remove the file and \
                 start again: the server makes a new one, and secrets and webhooks must be set again",
            ),
            Self::NotPlain { file } => Hint::new(
                format!("把备份中的 {} 放回；没有时移走它，服务器会生成新的", file.display()),
                format!(
                    "put {} of a backup back; without one move it away: the server makes a new one",
                    file.display()
                ),
            ),
            Self::ShortToken { file } => Hint::new(
                format!("删除 {} 后重新启动，服务器会生成一个新的", file.display()),
                format!("remove {} and start again: the server makes a new one", file.display()),
            ),
            Self::ClientSecret { .. } => Hint::new(
                "--oidc-client-secret-file 指向只含该密钥的文件，权限 600",
                "--oidc-client-secret-file names a file that holds the secret alone, with mode 600",
            ),
            Self::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => Hint::new(
                format!("{address} 已被占用；用 --listen 换一个端口，或先结束占用它的程序"),
                format!(
                    "somebody listens on {address} already; choose another port with --listen, or end that one first"
                ),
            ),
            Self::Listen { .. } => Hint::new(
                "--listen 要写本机的地址，例如 127.0.0.1:7070",
                "--listen wants an address of this machine, such as 127.0.0.1:7070",
            ),
            Self::Folder { .. } | Self::Read(_) | Self::Failed(_) => {
                Hint::new("检查文件夹的权限与磁盘空间", "check the folder's permissions and the disk's space")
            }
        })
    }
}

/// Serves until SIGTERM or SIGINT.
pub fn run(options: ServerOptions, tell: impl Fn(ServerNews) + Send + 'static) -> Result<(), ServerError> {
    allow_many_connections();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("fermi-server").build()?;
    let outcome = runtime.block_on(serve(options, tell));
    // What still runs on the blocking pool is a read for a client that is gone.
    runtime.shutdown_background();
    outcome
}

/// Agents and followers hold connections open; the usual 1,024 files are soon used up.
fn allow_many_connections() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With fewer it serves fewer at once.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

async fn serve(options: ServerOptions, tell: impl Fn(ServerNews) + Send + 'static) -> Result<(), ServerError> {
    let folder = &options.data_dir;
    let in_folder = |source: io::Error| ServerError::Folder { folder: folder.clone(), source };
    key_file::make_private_folder(folder).map_err(in_folder)?;
    refuse_if_open(folder, 0o700)?;
    let snapshots = folder.join("snapshots");
    std::fs::create_dir_all(&snapshots).and_then(|()| key_file::keep_name(&snapshots)).map_err(in_folder)?;
    let store = Store::open(folder)?;
    let chunks = LocalChunks::open(&folder.join("streams")).map_err(in_folder)?;
    let key = |file: PathBuf, of| {
        refuse_unless_plain(&file)?;
        match key_file::key(&file).map_err(in_folder)? {
            Ok(key) => Ok(key),
            Err(NoKey) => Err(ServerError::DamagedKey { file, of }),
        }
    };
    let secret = key(folder.join("secret"), ServerKey::Runs)?;
    let key_of_secrets = folder.join(fermi_store::backup::KEY_OF_SECRETS);
    refuse_if_open(&key_of_secrets, 0o600)?;
    let vault = Vault::new(&key(key_of_secrets, ServerKey::Secrets)?);
    let core = Core::new(store, chunks, secret, vault, folder.clone(), options.settings.clone());
    restored::find_out(&core).await?;
    core.refresh_environments().await?;
    core.refresh_accounts().await?;
    webhooks::seal_old(&core).await?;
    if let Some(settings) = options.oidc.clone() {
        let secret = settings.client_secret_file.as_deref().map(client_secret).transpose()?;
        core.let_in_by(OidcClient::new(settings, secret));
    }
    for (environment, means) in sample_files::read(&core.samples()) {
        core.hub().restore(environment, means);
    }

    let refused = |source: io::Error| ServerError::Listen { address: options.listen, source };
    let listener = listen(options.listen).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let token = server_token(&options)?;
    if let Some(token) = &token {
        core.accounts().close(secret_word::digest(token.word.as_bytes()));
    }
    let keeper = CertificateKeeper::open(&options.encryption, folder, address, &options.allowed_hosts)?;
    let guard = Guard::new(address, &options.allowed_hosts, core.accounts().clone()).trusting(options.proxies.clone());
    reconcilers::start(&core);
    let app = guard.protect(http::router(core.clone()).merge(agents::router(core.clone())));
    let fingerprint = keeper.as_ref().and_then(CertificateKeeper::fingerprint);
    if let Some(fingerprint) = fingerprint {
        core.be_known_by(fingerprint);
    }
    let encrypted = keeper.as_ref().map(CertificateKeeper::config).transpose()?;
    // Before anyone hears that it is up: a stop may come at once.
    let mut signals = StopSignals::take()?;
    tell(ServerNews::Listening { address, token, is_encrypted: keeper.is_some(), fingerprint });
    let connections = Connections::default();
    look_after(&core, keeper, &connections);
    let (ending, listening, strangers) = (core.clone(), core.clone(), connections.clone());
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let stop = async move {
        signals.next().await;
        tell(ServerNews::Stopping);
        // Open streams would hold the end up for ever, and whoever has asked for nothing yet gets no answer any more.
        ending.shut_down();
        strangers.end_strangers(Duration::ZERO);
        drop(stopping);
    };
    let served = async {
        let service = app.into_make_service_with_connect_info::<Connection>();
        match encrypted {
            None => {
                let listener = BoundedListener::new(listener, connections);
                axum::serve(listener, service).with_graceful_shutdown(stop).await
            }
            Some(config) => {
                let listener = TlsListener::start(&listening, listener, config, connections)?;
                axum::serve(listener, service).with_graceful_shutdown(stop).await
            }
        }
    };
    tokio::select! {
        outcome = served => outcome?,
        () = out_of_patience(stopped) => tracing::warn!("requests were cut off that had not ended after the stop"),
    }
    core.hub().settle();
    if let Err(error) =
        sample_files::append(&core.samples(), &core.hub().means(|id| sample_files::last(&core.samples(), id)))
    {
        tracing::warn!(%error, "what machines did lately could not be kept");
    }
    core.store().close();
    Ok(())
}

/// Starts the loops that look after connections and what is shown to them.
fn look_after(core: &Core, keeper: Option<CertificateKeeper>, connections: &Connections) {
    if let Some(keeper) = keeper {
        background::start(core, keeper);
    }
    background::start(core, ConnectionsWatch(connections.clone()));
}

/// For tests: the loops that a server with a certificate of its own starts beside the reconcilers.
#[doc(hidden)]
pub fn start_at_the_door(core: &Core, listen: SocketAddr) -> Result<(), ServerError> {
    let keeper = CertificateKeeper::open(&Encryption::OwnAuthority, core.folder(), listen, &[])?;
    look_after(core, keeper, &Connections::default());
    Ok(())
}

/// How many connections may wait to be taken: after a restart thousands of agents dial within a second, and who finds no place
/// is heard a second later.
const WAITING: u32 = 4_096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// How long requests that are under way may take once the server shall end.
const LAST_REQUESTS: Duration = Duration::from_secs(4);

/// A client that sends half a request, or reads nothing, is not waited for: [`LAST_REQUESTS`] after the stop, or at a second
/// signal, the server ends.
async fn out_of_patience(stopped: tokio::sync::oneshot::Receiver<()>) {
    // An error is the sender's end, which is the stop.
    let _ = stopped.await;
    tokio::select! {
        () = tokio::time::sleep(LAST_REQUESTS) => {}
        () = another_signal() => {}
    }
}

/// A shorter token can be guessed: wrong ones are not counted.
const SHORTEST_TOKEN: usize = 20;

/// The server's own token, which is made when it first starts; none where everyone may ask.
fn server_token(options: &ServerOptions) -> Result<Option<ServerToken>, ServerError> {
    let Door::Closed { token_file } = &options.door else { return Ok(None) };
    let file = token_file.clone().unwrap_or_else(|| options.data_dir.join("token"));
    refuse_unless_plain(&file)?;
    refuse_if_open(&file, 0o600)?;
    let word = key_file::read_or_make(&file).map_err(|source| ServerError::Folder { folder: file.clone(), source })?;
    if word.len() < SHORTEST_TOKEN || !word.bytes().all(|letter| letter.is_ascii_graphic()) {
        return Err(ServerError::ShortToken { file });
    }
    Ok(Some(ServerToken { file, word }))
}

fn client_secret(file: &Path) -> Result<String, ServerError> {
    refuse_if_open(file, 0o600)?;
    let unreadable = |source: io::Error| ServerError::ClientSecret { file: file.to_owned(), source };
    let text = fermi_named_file::read_plain_text(file).map_err(unreadable)?;
    match text.trim() {
        "" => Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, "it is empty"))),
        secret => Ok(secret.to_owned()),
    }
}

/// To open a pipe in which nobody writes would hold the start up for ever.
fn refuse_unless_plain(file: &Path) -> Result<(), ServerError> {
    let unreadable = |source: io::Error| ServerError::Folder { folder: file.to_owned(), source };
    match key_file::check_plain(file).map_err(unreadable)? {
        Ok(()) => Ok(()),
        Err(NotPlain) => Err(ServerError::NotPlain { file: file.to_owned() }),
    }
}

fn refuse_if_open(path: &Path, wanted: u32) -> Result<(), ServerError> {
    let unreadable = |source: io::Error| ServerError::Folder { folder: path.to_owned(), source };
    match key_file::check_private(path).map_err(unreadable)? {
        Ok(()) => Ok(()),
        Err(TooOpen { mode }) => Err(ServerError::TooOpen { path: path.to_owned(), mode, wanted }),
    }
}

async fn another_signal() {
    match StopSignals::take() {
        Ok(mut signals) => signals.next().await,
        Err(_) => std::future::pending().await,
    }
}

/// SIGTERM and SIGINT, which from then on end nothing by themselves.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn take() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

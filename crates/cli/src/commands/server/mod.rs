//! `fermi server`: the control plane.
//!
//! [`settings`] reads the file of `--config`; a flag wins over it; [`values`] reads what both may say. [`oidc`] is the company's log-in service. [`status`] asks a server how it fares; [`backup`] copies
//! what it keeps, and puts it back; [`strays`] shows what a restored database does not know.

mod backup;
mod oidc;
mod settings;
mod status;
mod strays;
mod values;

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use fermi_domain::access::{AddressRange, Fingerprint, TrustedProxies};
use fermi_domain::disk::LogBudgets;
use fermi_domain::language::{Text, reason};
use fermi_process::no_dump;
use fermi_server::core::CoreSettings;
use fermi_server::disk::DiskLimits;
use fermi_server::{Door, Encryption, ServerNews, ServerOptions, ServerToken};
use serde_json::json;

use super::daemon_output::DaemonOutput;
use crate::connection::{self, CommandProblem, Outcome};
use crate::known_servers::{self, RunningNote};
use crate::speech::{self, Paint, pick};
use crate::table;

/// Where it listens unless it is told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7070);

/// Run the server: the API, the console, and the place that knows all environments and tasks
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Example: fermi server --listen 0.0.0.0:7070 --data-dir /var/lib/fermi",
    args_conflicts_with_subcommands = true
)]
pub struct ServerFlags {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Where to listen [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where everything is kept [default: the state folder's server/]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A YAML file with listen, data_dir, allowed_hosts, public_url, token_file, tls, trust_proxy, oidc, log_budget_per_task, log_budget, disk_reserve, drain_faulty_gpus, queue and retention
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A name by which a proxy or a browser may call this server
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Where people find the console, for links in what webhooks are told and for log-ins with a company account
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Where the token is; it is made when the file does not exist [default: the data folder's token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Ask for no token: everyone who can reach the address may run programs here; on loopback alone
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    /// Speak https, with a certificate of an authority of the server's own, which is made when it first starts
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    tls: bool,
    /// Speak https with this chain of certificates in PEM, the server's own first; read again when the file changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key to it, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy whose X-Forwarded headers are believed, as an address or a range such as 10.0.0.0/8 (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    trust_proxy: Vec<String>,
    #[command(flatten)]
    oidc: oidc::OidcFlags,
    /// How many bytes of logs are kept of one task, such as 500MB; what comes beyond is counted and not kept [default: 8GB]
    #[arg(long, value_name = "SIZE")]
    log_budget_per_task: Option<String>,
    /// How many bytes of logs are kept of all tasks [default: 64GB]
    #[arg(long, value_name = "SIZE")]
    log_budget: Option<String>,
    /// How much of the disk is kept free for the database [default: 256MB, at most an eighth of the disk]
    #[arg(long, value_name = "SIZE")]
    disk_reserve: Option<String>,
    /// Drain an environment when its GPU reports an error that needs a repair (Xid); by default operators are told only
    #[arg(long)]
    drain_faulty_gpus: bool,
    /// Where it listens, as one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Verb {
    Status(status::StatusFlags),
    Backup(backup::BackupFlags),
    Restore(backup::RestoreFlags),
    Strays(strays::StraysFlags),
}

pub fn execute(flags: &ServerFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Some(Verb::Status(flags)) => status::execute(flags),
        Some(Verb::Backup(flags)) => backup::back_up(flags),
        Some(Verb::Restore(flags)) => backup::restore(flags),
        Some(Verb::Strays(flags)) => strays::execute(flags),
        None => serve(flags),
    })
}

fn serve(flags: &ServerFlags) -> Outcome {
    no_dump::set();
    let options = options(flags)?;
    let folder = options.data_dir.clone();
    let as_json = flags.json;
    let output = DaemonOutput::with_log("warn,fermi_server=info,fermi_store=info");
    let said = output.clone();
    let note = Arc::new(Mutex::new(None));
    let noted = note.clone();
    let outcome = fermi_server::run(options, move |news| {
        if let ServerNews::Listening { address, token: Some(token), is_encrypted, fingerprint } = &news {
            let encryption = known_servers::Encryption { is_tls: *is_encrypted, fingerprint: *fingerprint };
            let written = RunningNote::write(*address, &token.file, encryption);
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = told_if_unwritten(&said, written);
        }
        tell(&said, &news, &folder, as_json);
    });
    if let Some(note) = note.lock().unwrap_or_else(PoisonError::into_inner).take() {
        RunningNote::remove(note);
    }
    output.finish();
    outcome.map(|()| ExitCode::SUCCESS).map_err(|error| CommandProblem::of(&error))
}

/// Lets the commands of this account find the token; without it they have to be told.
fn told_if_unwritten(output: &DaemonOutput, written: std::io::Result<RunningNote>) -> Option<RunningNote> {
    written
        .inspect_err(|error| {
            let why = reason::of_io(error);
            let text = Text::new(
                format!("其他命令无法自动找到令牌（{}）；请使用 --token-file\n", why.zh),
                format!("commands will not find the token by themselves ({}); give them --token-file\n", why.en),
            );
            output.say(text.in_language(speech::language()));
        })
        .ok()
}

fn options(flags: &ServerFlags) -> Result<ServerOptions, CommandProblem> {
    let settings = flags.config.as_deref().map(settings::read).transpose()?.unwrap_or_default();
    let listen = flags.listen.as_deref().map(|text| values::address("--listen", text)).transpose()?;
    let listen = listen.or(settings.listen).unwrap_or(LISTEN);
    let data_dir = data_dir(flags.data_dir.clone().or(settings.data_dir))?;
    let mut allowed_hosts = settings.allowed_hosts;
    allowed_hosts.extend(flags.allowed_host.iter().cloned());
    let door = if flags.no_token {
        must_be_loopback(listen)?;
        Door::Open
    } else {
        Door::Closed { token_file: flags.token_file.clone().or(settings.token_file) }
    };
    let encryption = match (flags.tls_cert.clone(), flags.tls_key.clone()) {
        (Some(certificate), Some(key)) => Encryption::Files { certificate, key },
        _ if flags.tls => Encryption::OwnAuthority,
        _ => settings.encryption,
    };
    let given = flags.trust_proxy.iter().map(|text| values::proxy("--trust-proxy", text));
    let given: Vec<AddressRange> = given.collect::<Result<_, _>>()?;
    let proxies = TrustedProxies([settings.trust_proxy, given].concat());
    let usual = LogBudgets::default();
    let size = |flag: &str, given: &Option<String>| given.as_deref().map(|text| values::size(flag, text)).transpose();
    let per_task = size("--log-budget-per-task", &flags.log_budget_per_task)?.or(settings.log_budget_per_task);
    let in_all = size("--log-budget", &flags.log_budget)?.or(settings.log_budget);
    let limits = DiskLimits {
        logs: LogBudgets { per_task: per_task.unwrap_or(usual.per_task), in_all: in_all.unwrap_or(usual.in_all) },
        reserve: size("--disk-reserve", &flags.disk_reserve)?.or(settings.disk_reserve),
    };
    let public_url = flags.public_url.as_deref().map(|url| values::page("--public-url", url)).transpose()?;
    let public_url = public_url.or(settings.public_url);
    let oidc = flags.oidc.settings(settings.oidc, public_url.as_deref(), flags.no_token)?;
    let drains_faulty_gpus = flags.drain_faulty_gpus || settings.drain_faulty_gpus;
    let settings =
        CoreSettings { limits, rules: settings.queue, public_url, drains_faulty_gpus, retention: settings.retention };
    Ok(ServerOptions { listen, data_dir, allowed_hosts, door, encryption, proxies, oidc, settings })
}

/// Who can reach an open server runs programs on every environment.
fn must_be_loopback(listen: SocketAddr) -> Result<(), CommandProblem> {
    if listen.ip().is_loopback() {
        return Ok(());
    }
    Err(CommandProblem::usage(
        Text::new(
            format!("--no-token 不能与 --listen {listen} 一起使用：网络上的任何人都能在这里运行程序"),
            format!("--no-token does not go with --listen {listen}: anyone on the network could run programs here"),
        ),
        Text::new(
            "去掉 --no-token，或只监听 127.0.0.1，由带认证的代理转发",
            "leave --no-token out, or listen on 127.0.0.1 behind a proxy that asks who it is",
        ),
    ))
}

/// The folder that was named, or the usual one.
fn data_dir(named: Option<PathBuf>) -> Result<PathBuf, CommandProblem> {
    match named {
        Some(folder) => Ok(folder),
        None => Ok(connection::state_folder().ok_or_else(no_folder)?.join("server")),
    }
}

/// Nothing says where files may be kept.
pub fn no_folder() -> CommandProblem {
    CommandProblem::usage(
        Text::new("没有可用的数据目录", "there is no folder to keep data in"),
        Text::new("用 --data-dir 指定，或设置 HOME", "name one with --data-dir, or set HOME"),
    )
}

fn tell(output: &DaemonOutput, news: &ServerNews, folder: &std::path::Path, as_json: bool) {
    match news {
        ServerNews::Listening { address, token, is_encrypted, fingerprint } if as_json => {
            // The file's name alone: what is printed is kept in logs that others read.
            if let Some(ServerToken { file, .. }) = token {
                output.print(&format!("{}\n", json!({"event": "token", "file": file})));
            }
            let mut line = json!({"event": "listening", "address": address.to_string(), "dataDir": folder});
            if *is_encrypted {
                line["tls"] = json!({"fingerprint": fingerprint});
            }
            output.print(&format!("{line}\n"));
        }
        ServerNews::Listening { address, token, is_encrypted, fingerprint } => {
            let scheme = if *is_encrypted { "https" } else { "http" };
            let url = format!("{scheme}://{}/", shown(*address));
            output.say(&greeting(&url, *fingerprint, token.as_ref(), folder));
        }
        ServerNews::Stopping if as_json => {}
        ServerNews::Stopping => {
            output.say(pick("正在停止；训练中的进程不受影响\n", "stopping; what trains goes on training\n"));
        }
    }
}

/// What people need: where it is, how to open the console, where the token is.
fn greeting(
    url: &str,
    fingerprint: Option<Fingerprint>,
    token: Option<&ServerToken>,
    folder: &std::path::Path,
) -> String {
    let paint = Paint::for_stderr();
    let console = console_link(url, token.map(|token| token.word.as_str()));
    let facts = table::facts(
        [
            (pick("地址", "address"), Some(url.trim_end_matches('/').to_owned())),
            (pick("指纹", "fingerprint"), fingerprint.map(|fingerprint| fingerprint.to_string())),
            (pick("控制台", "console"), Some(console)),
            (pick("数据目录", "data"), Some(folder.display().to_string())),
            (pick("令牌文件", "token file"), token.map(|token| token.file.display().to_string())),
        ],
        paint,
    );
    let up = paint.bold(pick("Fermi 服务器已启动", "the Fermi server is up"));
    let open = pick(
        "未启用令牌：本机上的每个用户都能在这里运行程序\n",
        "no token is asked for: every user of this machine may run programs here\n",
    );
    let warning = if token.is_none() { format!("{} {open}", paint.yellow("!")) } else { String::new() };
    format!("{} {up}\n{facts}{warning}", paint.green("●"))
}

/// An address that opens the console with the token. Logs are kept and read by others, so that it is for a terminal alone.
pub fn console_link(url: &str, token: Option<&str>) -> String {
    match token.filter(|_| std::io::stderr().is_terminal()) {
        Some(token) => format!("{url}#token={token}"),
        None => url.to_owned(),
    }
}

/// An address that somebody can open: nobody can open "everywhere".
fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        return format!("{}:{}", host.unwrap_or_else(|| "localhost".to_owned()), address.port());
    }
    address.to_string()
}

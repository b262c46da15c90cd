//! `fermi server`: the control plane.
//!
//! [`settings`] reads the file of `--config`; a flag wins over it. [`status`] asks a server how it fares; [`backup`] copies
//! what it keeps, and puts it back; [`strays`] shows what a restored database does not know.

mod backup;
mod settings;
mod status;
mod strays;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use fermi_domain::disk::LogBudgets;
use fermi_domain::language::Text;
use fermi_domain::units::Bytes;
use fermi_server::disk::DiskLimits;
use fermi_server::{ServerNews, ServerOptions};
use serde_json::json;

use super::daemon_output::DaemonOutput;
use crate::connection::{self, CommandProblem, Outcome};

use crate::speech::{self, Paint, pick};
use crate::table;

const LISTEN: &str = "127.0.0.1:7070";

/// Run the server: the API, the console, and the place that knows all environments and tasks
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Example: fermi server --listen 0.0.0.0:7070 --data-dir /var/lib/fermi",
    args_conflicts_with_subcommands = true
)]
pub struct ServerFlags {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Where to listen; anywhere but on loopback a token is needed [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where everything is kept [default: the state folder's server/]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A YAML file with listen, data_dir, allowed_hosts, token_file, log_budget_per_task, log_budget, disk_reserve and queue
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A name by which a proxy or a browser may call this server
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Where the token is; it is made when the file does not exist [default: the data folder's token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How many bytes of logs are kept of one task, such as 500MB; what comes beyond is counted and not kept [default: 8GB]
    #[arg(long, value_name = "SIZE")]
    log_budget_per_task: Option<String>,
    /// How many bytes of logs are kept of all tasks [default: 64GB]
    #[arg(long, value_name = "SIZE")]
    log_budget: Option<String>,
    /// How much of the disk is kept free for the database [default: 256MB, at most an eighth of the disk]
    #[arg(long, value_name = "SIZE")]
    disk_reserve: Option<String>,
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
    let options = options(flags)?;
    let folder = options.data_dir.clone();
    let as_json = flags.json;
    let output = DaemonOutput::with_log("warn,fermi_server=info,fermi_store=info");
    let said = output.clone();
    let outcome = fermi_server::run(options, move |news| tell(&said, &news, &folder, as_json));
    output.finish();
    outcome.map(|()| ExitCode::SUCCESS).map_err(|error| CommandProblem::of(&error))
}

fn options(flags: &ServerFlags) -> Result<ServerOptions, CommandProblem> {
    let settings = flags.config.as_deref().map(settings::read).transpose()?.unwrap_or_default();
    let listen = flags.listen.clone().or(settings.listen).unwrap_or_else(|| LISTEN.to_owned());
    let listen: SocketAddr = listen.parse().map_err(|_| {
        CommandProblem::usage(
            Text::new(format!("不能监听 “{listen}”"), format!("cannot listen on '{listen}'")),
            Text::new(
                "写成 地址:端口，例如 127.0.0.1:7070 或 0.0.0.0:7070",
                "write ADDRESS:PORT, such as 127.0.0.1:7070 or 0.0.0.0:7070",
            ),
        )
    })?;
    let data_dir = data_dir(flags.data_dir.clone().or(settings.data_dir))?;
    let mut allowed_hosts = settings.allowed_hosts;
    allowed_hosts.extend(flags.allowed_host.iter().cloned());
    let token_file = flags.token_file.clone().or(settings.token_file);
    let usual = LogBudgets::default();
    let size = |flag: &'static str, given: &Option<String>, set: Option<String>| {
        given.clone().or(set).map(|text| amount(flag, &text)).transpose()
    };
    let limits = DiskLimits {
        logs: LogBudgets {
            per_task: size("--log-budget-per-task", &flags.log_budget_per_task, settings.log_budget_per_task)?
                .unwrap_or(usual.per_task),
            in_all: size("--log-budget", &flags.log_budget, settings.log_budget)?.unwrap_or(usual.in_all),
        },
        reserve: size("--disk-reserve", &flags.disk_reserve, settings.disk_reserve)?,
    };
    Ok(ServerOptions { listen, data_dir, allowed_hosts, token_file, limits, rules: settings.queue })
}

/// The folder that was named, or the usual one.
fn data_dir(named: Option<PathBuf>) -> Result<PathBuf, CommandProblem> {
    match named {
        Some(folder) => Ok(folder),
        None => Ok(connection::state_folder().ok_or_else(no_folder)?.join("server")),
    }
}

fn amount(flag: &'static str, text: &str) -> Result<u64, CommandProblem> {
    Bytes::parse(text).map(|bytes| bytes.0).ok_or_else(|| {
        CommandProblem::usage(
            Text::new(format!("{flag} 不能是 “{text}”"), format!("{flag} cannot be '{text}'")),
            Text::new("写成 500MB、8GB 或字节数", "write 500MB, 8GB or a number of bytes"),
        )
    })
}

/// Nothing says where files may be kept.
pub fn no_folder() -> CommandProblem {
    CommandProblem::usage(
        Text::new("没有可用的数据目录", "there is no folder to keep data in"),
        Text::new("用 --data-dir 指定，或设置 HOME", "name one with --data-dir, or set HOME"),
    )
}

fn tell(output: &DaemonOutput, news: &ServerNews, folder: &std::path::Path, as_json: bool) {
    let paint = Paint::for_stderr();
    match news {
        ServerNews::Listening { address } if as_json => {
            let line = json!({"event": "listening", "address": address.to_string(), "dataDir": folder});
            output.print(&format!("{line}\n"));
        }
        ServerNews::Listening { address } => {
            let shown = shown(*address);
            let facts = table::facts(
                [
                    (pick("地址", "address"), Some(format!("http://{shown}"))),
                    (pick("控制台", "console"), Some(format!("http://{shown}/"))),
                    (pick("数据目录", "data"), Some(folder.display().to_string())),
                ],
                paint,
            );
            output.say(&format!(
                "{} {}\n{facts}",
                paint.green("●"),
                paint.bold(pick("Fermi 服务器已启动", "the Fermi server is up"))
            ));
        }
        ServerNews::Token { file, made } => {
            let file = file.display();
            match made {
                Some(token) if as_json => {
                    output.print(&format!("{}\n", json!({"event": "token", "file": file.to_string(), "token": token})));
                }
                Some(token) => output.say(&format!(
                    "{}\n\n  {}\n\n{}\n",
                    pick("新令牌，只显示这一次：", "a new token, shown this once:"),
                    paint.bold(token),
                    match speech::language() {
                        fermi_domain::language::Language::ZhCn =>
                            format!("它保存在 {file}；客户端用 --token-file 或 FERMI_TOKEN"),
                        fermi_domain::language::Language::En =>
                            format!("it is kept in {file}; clients give it by --token-file or FERMI_TOKEN"),
                    }
                )),
                None if as_json => {}
                None => output.say(&format!("{} {file}\n", pick("令牌在", "the token is in"))),
            }
        }
        ServerNews::Stopping if as_json => {}
        ServerNews::Stopping => {
            output.say(pick("正在停止；训练中的进程不受影响\n", "stopping; what trains goes on training\n"));
        }
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

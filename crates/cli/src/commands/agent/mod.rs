//! `fermi agent`: makes this machine an environment of a cluster.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use fermi_agent::{AgentError, AgentNews, AgentOptions, Declared, NoLink, StopFlag};
use fermi_domain::access::RunAs;
use fermi_domain::environment::{EnvironmentKind, LONGEST_NAME, is_name};
use fermi_domain::language::{Explained, Text};
use fermi_process::no_dump;
use serde_json::json;

use super::daemon_output::DaemonOutput;
use super::server::no_folder;
use super::task::parse_pair;
use super::usage::Expected;
use crate::connection::{self, CommandProblem, Outcome, ServerFlags};

use crate::speech::{self, Paint, pick};
use crate::{signals, span};

/// Make this machine an environment: register it, run what the server sends, ship what ranks write
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: fermi agent --server http://10.0.0.1:7070 --name gn6 --zone 北京可用区A --workers 2")]
pub struct AgentFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// The environment's name; its workers are NAME-0, NAME-1, … [default: the host's name]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// The availability zone
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// How many ranks may run here where there is no GPU; with GPUs there is one worker for each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    workers: u32,
    /// jupyter, vscode, ssh or custom
    #[arg(long, value_name = "KIND", default_value = "custom", value_parser = parse_kind)]
    kind: EnvironmentKind,
    /// The image that it runs, for people to read
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// A label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    label: Vec<(String, String)>,
    /// Where the agent keeps its files [default: the state folder's agents/NAME]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Resources as somebody says they are, such as gpus=2xA100,cpus=16,memory=128GiB; shown as declared
    #[arg(long, value_name = "RESOURCES", value_parser = parse_declared)]
    declare: Option<Declared>,
    /// Where other nodes reach this one [default: where the server sees it]
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// As whom ranks run, where the agent is root: same-name (the account that is called like the task's owner), map:FILE
    /// (lines of OWNER ACCOUNT; * for everyone else), an account, or off (root) [default: same-name for tasks of users, off for
    /// those of the server's own token]
    #[arg(long, value_name = "WHO", value_parser = parse_run_as)]
    run_as: Option<RunAs>,
    /// What happens, as one JSON object per line
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &AgentFlags) -> ExitCode {
    connection::answer(serve(flags))
}

fn serve(flags: &AgentFlags) -> Outcome {
    // Training scripts of this user must not find the credential here.
    no_dump::set();
    let options = options(flags)?;
    let stop = StopFlag::new().map_err(|error| CommandProblem::of(&AgentError::from(error)))?;
    signals::listen();
    let raised = stop.clone();
    std::thread::spawn(move || {
        // A wait that fails is as good as a signal: an agent that nobody can end must not live.
        let _ = signals::wait();
        raised.raise();
    });
    // On a terminal it is said in words for people, elsewhere in lines that carry task, run and environment.
    let usual = if std::io::stderr().is_terminal() { "off" } else { "warn,fermi_agent=info" };
    let output = DaemonOutput::with_log(usual);
    let said = output.clone();
    let name = options.name.clone();
    let as_json = flags.json;
    let outcome = fermi_agent::run(options, stop, move |news| tell(&said, &name, &news, as_json));
    output.finish();
    outcome.map(|()| ExitCode::SUCCESS).map_err(|error| CommandProblem::of(&error))
}

fn options(flags: &AgentFlags) -> Result<AgentOptions, CommandProblem> {
    let server = flags.server.address()?;
    let token = flags.server.token(&server)?;
    let fingerprint = flags.server.fingerprint(&server);
    let name = match &flags.name {
        Some(name) => name.clone(),
        None => host_name(),
    };
    let data_dir = match &flags.data_dir {
        Some(folder) => folder.clone(),
        None => connection::state_folder().ok_or_else(no_folder)?.join("agents").join(name.replace('/', "_")),
    };
    Ok(AgentOptions {
        server,
        token,
        fingerprint,
        name,
        zone: flags.zone.clone(),
        kind: flags.kind,
        image: flags.image.clone(),
        labels: flags.label.iter().cloned().collect(),
        cpu_workers: flags.workers,
        data_dir,
        declared: flags.declare.clone(),
        address: flags.address.clone(),
        run_as: flags.run_as.clone().unwrap_or_default(),
    })
}

/// The first part of this machine's name.
pub fn host_name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    name.and_then(|name| name.split('.').next().map(str::to_owned)).unwrap_or_else(|| "localhost".to_owned())
}

fn tell(output: &DaemonOutput, name: &str, news: &AgentNews, as_json: bool) {
    if as_json {
        output.print(&format!("{}\n", as_line(name, news)));
        return;
    }
    if output.logs(fermi_agent::LOG_TARGET) {
        // The log says the same on the same stream.
        return;
    }
    let paint = Paint::for_stderr();
    let language = speech::language();
    let text = match news {
        AgentNews::RanksRunAs { text } => format!("{} {}", paint.yellow("○"), text.in_language(language)),
        AgentNews::Connected { environment, .. } => {
            format!("{} {} {environment}", paint.green("●"), pick("已连接，环境", "connected as"))
        }
        AgentNews::NoLink(NoLink::Lost { reason, retry_in }) => format!(
            "{} {}: {reason} ({} {})",
            paint.yellow("○"),
            pick("与服务器的连接中断", "no connection to the server"),
            pick("重试间隔", "trying again in"),
            span::exact(u64::try_from(retry_in.as_millis()).unwrap_or(0))
        ),
        AgentNews::NoLink(NoLink::Refused { reason, hint }) => {
            format!("{} {}\n  {}", paint.red("✗"), reason.in_language(language), hint.in_language(language))
        }
        AgentNews::Launched { run } => format!("{} {run} {}", paint.green("▶"), pick("已启动", "started")),
        AgentNews::LaunchFailed { run, reason, hint } => {
            format!("{} {run} {}\n  {}", paint.red("✗"), reason.in_language(language), hint.in_language(language))
        }
        AgentNews::Adopted { run } => format!("{} {run} {}", paint.green("▶"), pick("已接管", "taken over")),
        AgentNews::Gone { run } => format!("{} {run} {}", paint.dim("■"), pick("已结束", "is gone")),
        AgentNews::Swept { run, killed } => {
            format!("{} {run}: {killed} {}", paint.yellow("■"), pick("个遗留进程已清理", "left processes were ended"))
        }
    };
    output.say(&format!("{text}\n"));
}

fn as_line(name: &str, news: &AgentNews) -> serde_json::Value {
    let (event, detail) = match news {
        AgentNews::RanksRunAs { text } => ("ranksRunAs", json!({"text": text})),
        AgentNews::Connected { environment, cluster } => {
            ("connected", json!({"environment": environment, "cluster": cluster}))
        }
        AgentNews::NoLink(NoLink::Lost { reason, retry_in }) => {
            ("lost", json!({"reason": reason, "retryInMs": retry_in.as_millis() as u64}))
        }
        AgentNews::NoLink(NoLink::Refused { reason, hint }) => ("refused", json!({"reason": reason, "hint": hint})),
        AgentNews::Launched { run } => ("launched", json!({"run": run})),
        AgentNews::LaunchFailed { run, reason, hint } => {
            ("launchFailed", json!({"run": run, "reason": reason, "hint": hint}))
        }
        AgentNews::Adopted { run } => ("adopted", json!({"run": run})),
        AgentNews::Gone { run } => ("gone", json!({"run": run})),
        AgentNews::Swept { run, killed } => ("swept", json!({"run": run, "killed": killed})),
    };
    json!({"event": event, "name": name, "detail": detail})
}

/// The kinds of the form.
/// The name of an environment, as the server takes it too.
pub fn parse_name(text: &str) -> Result<String, Expected> {
    let name = text.trim();
    let rule = || {
        Text::new(
            format!("名称只能用字母、数字、- _ .，至多 {LONGEST_NAME} 个字符，且不以 . 或 - 开头"),
            format!("a name has letters, digits, - _ and ., at most {LONGEST_NAME}, and begins with neither . nor -"),
        )
    };
    if is_name(name) { Ok(name.to_owned()) } else { Err(Expected(rule())) }
}

pub fn parse_kind(text: &str) -> Result<EnvironmentKind, Expected> {
    let expected = || Text::new("可用的值：jupyter、vscode、ssh、custom", "use jupyter, vscode, ssh or custom");
    EnvironmentKind::named(text).ok_or_else(|| Expected(expected()))
}

pub fn parse_run_as(text: &str) -> Result<RunAs, Expected> {
    let forms = || {
        Text::new(
            "可用的值：same-name、map:文件、账户名、off",
            "use same-name, map:FILE, the name of an account, or off",
        )
    };
    text.parse().map_err(|_| Expected(forms()))
}

fn parse_declared(text: &str) -> Result<Declared, Expected> {
    Declared::parse(text).map_err(|error| Expected(speech::hint(&error).unwrap_or_else(|| error.text())))
}

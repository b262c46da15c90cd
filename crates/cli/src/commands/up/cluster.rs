//! A server with its agents, each a process of its own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fermi_api::client::{Client, ClientOptions, ServerAddress};
use fermi_api::v1::{BulkRequest, BulkVerb, MOST_PER_PAGE, TaskRow};
use fermi_domain::access::RunAs;
use fermi_domain::language::{FrontEnd, Language, Text, reason};
use fermi_domain::task::NodeRunState;
use fermi_process::private_folder::{self, TooOpen};
use fermi_process::stale;

use super::EnvironmentSpec;
use super::child::{Child, ChildLine};
use super::subreaper;
use crate::connection::{self, CommandProblem};
use crate::signals;
use crate::speech::{self, Paint, pick};

/// How long a server and its agents may take to come up.
const START: Duration = Duration::from_secs(30);
/// How long tasks get to end by their ladder.
const STOP: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(100);
/// How many of the tasks that are stopped are named.
const NAMED: usize = 20;

/// What to start.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    pub listen: String,
    pub folder: PathBuf,
    pub environments: Vec<EnvironmentSpec>,
    /// Everyone on this machine may ask.
    pub no_token: bool,
    /// As whom ranks run, where the agents are root.
    pub run_as: Option<RunAs>,
}

/// What becomes of tasks that run when the cluster ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    StopTasks,
    KeepRunning,
}

/// The processes, and what they reported.
#[derive(Debug)]
pub struct Cluster {
    server: Child,
    agents: Vec<Child>,
    address: ServerAddress,
    lines: Receiver<ChildLine>,
    connected: BTreeSet<String>,
    /// Agents that have reported the server away and not yet back.
    lost: BTreeSet<String>,
    environments: Vec<EnvironmentSpec>,
    token_file: Option<PathBuf>,
}

impl Cluster {
    /// Starts the server, waits for its address, and starts the agents.
    pub fn start(options: &ClusterOptions) -> Result<Self, CommandProblem> {
        let folder = &options.folder;
        make_private(folder)?;
        refuse_left_out(folder, &options.environments)?;
        private_folder::make(&folder.join("logs")).map_err(|error| unwritable(folder, &error))?;
        let (sender, lines) = channel();
        let text = |path: PathBuf| path.display().to_string();
        let words = |listen: &str| {
            let mut words = ["server", "--json", "--listen", listen, "--data-dir", &text(folder.join("server"))]
                .map(str::to_owned)
                .to_vec();
            words.extend(options.no_token.then(|| "--no-token".to_owned()));
            words
        };
        let log = folder.join("logs").join("server.log");
        let mut server = Child::start("server", words(&options.listen), log, sender.clone())
            .map_err(|error| unwritable(folder, &error))?;
        let listening = until_listening(&mut server, &lines)?;
        // The server keeps the port that it got when it is started again.
        server.set_arguments(words(&listening));
        let address: ServerAddress = listening.parse().map_err(|_| did_not_start(&server))?;
        let mut cluster = Self {
            server,
            agents: Vec::new(),
            address,
            lines,
            connected: BTreeSet::new(),
            lost: BTreeSet::new(),
            environments: options.environments.clone(),
            token_file: (!options.no_token).then(|| folder.join("server").join("token")),
        };
        for spec in &options.environments {
            let kind = serde_json::to_value(spec.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
            let mut arguments = [
                "agent",
                "--json",
                "--server",
                &cluster.address.to_string(),
                "--name",
                &spec.name,
                "--zone",
                &spec.zone,
                "--workers",
                &spec.workers.to_string(),
                "--kind",
                kind.as_deref().unwrap_or("custom"),
                "--data-dir",
                &text(folder.join("agents").join(&spec.name)),
                "--address",
                "127.0.0.1",
            ]
            .map(str::to_owned)
            .to_vec();
            if let Some(file) = &cluster.token_file {
                arguments.extend(["--token-file".to_owned(), text(file.clone())]);
            }
            if let Some(rule) = &options.run_as {
                arguments.extend(["--run-as".to_owned(), rule.to_string()]);
            }
            let log = folder.join("logs").join(format!("agent-{}.log", spec.name));
            let agent = Child::start(&spec.name, arguments, log, sender.clone());
            cluster.agents.push(agent.map_err(|error| unwritable(folder, &error))?);
        }
        Ok(cluster)
    }

    pub fn server(&self) -> &ServerAddress {
        &self.address
    }

    /// The server's own token.
    pub fn token(&self) -> Option<String> {
        self.token_file.as_ref().and_then(|file| connection::read_token(file).ok())
    }

    pub fn client(&self) -> Client {
        Client::new(ClientOptions {
            token: self.token(),
            language: speech::language(),
            front_end: FrontEnd::CommandLine,
            ..ClientOptions::new(self.address.clone())
        })
    }

    /// Waits until every agent has been taken in.
    pub fn until_connected(&mut self, mut tell: impl FnMut(&str)) -> Result<(), CommandProblem> {
        let deadline = Instant::now() + START;
        while self.connected.len() < self.agents.len() && signals::heard() == 0 {
            self.look_after(&mut tell)?;
            if Instant::now() >= deadline {
                let missing = self.agents.iter().find(|agent| !self.connected.contains(&agent.name));
                return Err(missing.map_or_else(|| did_not_start(&self.server), did_not_start));
            }
        }
        Ok(())
    }

    /// Takes what children report, and starts those again that died.
    pub fn look_after(&mut self, mut tell: impl FnMut(&str)) -> Result<(), CommandProblem> {
        match self.lines.recv_timeout(TICK) {
            Ok(said) => self.receive(&said, &mut tell),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
        }
        let paint = Paint::for_stderr();
        for child in std::iter::once(&mut self.server).chain(&mut self.agents) {
            if let Some(status) = child.died() {
                let log = child.log().display();
                tell(&format!(
                    "{} {} {} ({status}); {} {log}",
                    paint.yellow("○"),
                    child.name,
                    pick("已退出，将重新启动", "died and is started again"),
                    pick("日志", "log"),
                ));
            }
            if let Err(error) = child.revive() {
                let why = reason::of_io(&error);
                tell(&format!("{} {}: {}", paint.red("✗"), child.name, why.in_language(speech::language())));
            }
        }
        subreaper::reap_orphans(&self.pids());
        Ok(())
    }

    fn receive(&mut self, said: &ChildLine, tell: &mut impl FnMut(&str)) {
        let paint = Paint::for_stderr();
        let detail = &said.line["detail"];
        let in_words = |text: &serde_json::Value| {
            serde_json::from_value::<Text>(text.clone())
                .map(|text| text.in_language(speech::language()).to_owned())
                .unwrap_or_default()
        };
        match said.line["event"].as_str() {
            Some("connected") => {
                self.connected.insert(said.child.clone());
                self.lost.remove(&said.child);
                let spec = self.environments.iter().find(|spec| spec.name == said.child);
                let place = spec.map_or_else(String::new, |spec| format!("  {}  {}", spec.zone, workers(spec.workers)));
                tell(&format!("{} {}{}", paint.green("●"), paint.bold(&said.child), paint.dim(&place)));
            }
            Some("refused" | "launchFailed") => {
                tell(&format!("{} {}: {}", paint.red("✗"), said.child, in_words(&detail["reason"])));
            }
            Some("lost") if self.lost.insert(said.child.clone()) => tell(&format!(
                "{} {}: {}",
                paint.yellow("○"),
                said.child,
                detail["reason"].as_str().unwrap_or_default()
            )),
            _ => {}
        }
    }

    fn pids(&self) -> Vec<i32> {
        std::iter::once(&self.server).chain(&self.agents).filter_map(Child::pid).collect()
    }

    /// Ends it: tasks, then agents, then the server. False when a task was left, or a process that had to be ended by force.
    pub fn end(&mut self, ending: Ending, mut tell: impl FnMut(&str)) -> bool {
        let is_stopped = ending == Ending::KeepRunning || self.stop_tasks(&mut tell);
        for agent in &self.agents {
            agent.signal(nix::sys::signal::Signal::SIGTERM);
        }
        for agent in &mut self.agents {
            agent.end(Duration::from_secs(5));
        }
        self.server.end(Duration::from_secs(10));
        if ending == Ending::KeepRunning {
            return true;
        }
        let left = subreaper::wait_until_empty(Duration::from_secs(5));
        for process in &left {
            tell(&format!(
                "{} {} ({})",
                pick("仍在运行，已终止：", "still there, ended:"),
                process.command,
                process.pid
            ));
        }
        for pid in subreaper::end_descendants() {
            tell(&format!("{} {pid}", pick("无法终止：", "could not be ended:")));
        }
        left.is_empty() && is_stopped
    }

    /// Asks all tasks that are not over to stop, and waits until the nodes of all are empty. False where some are not.
    fn stop_tasks(&mut self, tell: &mut impl FnMut(&str)) -> bool {
        let client = self.client();
        let paint = Paint::for_stderr();
        let asked_before = signals::heard();
        let tasks = active(&client);
        for task in tasks.iter().take(NAMED) {
            let id = paint.dim(&task.id);
            tell(&format!("{} {} {} {id}", paint.yellow("■"), pick("停止任务", "stopping"), task.name));
        }
        if let Some(more) = tasks.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let text = Text::new(format!("以及另外 {more} 个任务"), format!("and {more} more"));
            tell(&format!("{} {}", paint.yellow("■"), text.in_language(speech::language())));
        }
        let ids: Vec<String> = tasks.into_iter().map(|task| task.id).collect();
        stop(&client, &ids, false);
        let left = self.until_gone(&client, &ids, asked_before);
        for id in left.iter().take(NAMED) {
            let nodes = where_left(&client, id).join(", ");
            let text = Text::new(
                format!("{id} 没有结束：{nodes} 上可能仍有进程；再次运行 fermi up 并写明这些环境"),
                format!(
                    "{id} has not ended: processes may be left on {nodes}; run fermi up again with these environments"
                ),
            );
            tell(&format!("{} {}", paint.red("✗"), text.in_language(speech::language())));
        }
        left.is_empty()
    }

    /// Those that were not gone in time.
    fn until_gone(&mut self, client: &Client, ids: &[String], asked_before: u32) -> Vec<String> {
        let deadline = Instant::now() + STOP;
        let mut forced = false;
        let mut left = ids.iter().peekable();
        while let Some(id) = left.peek()
            && Instant::now() < deadline
        {
            if is_gone(client, id) {
                left.next();
                continue;
            }
            // A second Ctrl-C ends the tasks without their grace.
            if signals::heard() > asked_before && !forced {
                forced = stop(client, ids, true);
            }
            subreaper::reap_orphans(&self.pids());
            std::thread::sleep(TICK);
        }
        left.filter(|id| !is_gone(client, id)).cloned().collect()
    }
}

/// Ranks that an earlier start has left running in an environment which this one leaves out would be out of everybody's reach.
fn refuse_left_out(folder: &std::path::Path, environments: &[EnvironmentSpec]) -> Result<(), CommandProblem> {
    let agents = std::fs::read_dir(folder.join("agents")).into_iter().flatten().flatten();
    let names = agents.filter_map(|entry| entry.file_name().into_string().ok());
    let is_named = |name: &String| environments.iter().any(|spec| spec.name == *name);
    let runs_of = |name: &String| stale::living(&folder.join("agents").join(name).join("live"));
    let mut left: Vec<(String, Vec<String>)> =
        names.filter(|name| !is_named(name)).map(|name| (name.clone(), runs_of(&name))).collect();
    left.retain(|(_, runs)| !runs.is_empty());
    left.sort();
    let Some((name, runs)) = left.first() else { return Ok(()) };
    let all: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    let (runs, all) = (runs.join(", "), all.join(", "));
    Err(CommandProblem::usage(
        Text::new(
            format!("{name} 上仍有运行中的任务（{runs}），而 --env 中没有它"),
            format!("{name} still has what an earlier start left running ({runs}), and no --env names it"),
        ),
        Text::new(
            format!("用 --env 写明 {all}（与上次相同），由它接管或结束这些任务"),
            format!("name {all} with --env as before, so that it is taken over, or ended"),
        ),
    ))
}

/// The environments where something of a task may be left.
fn where_left(client: &Client, id: &str) -> Vec<String> {
    let nodes = client.task(id).map(|answer| answer.data.nodes).unwrap_or_default();
    let left = nodes.into_iter().filter(|node| !matches!(node.state, NodeRunState::Gone | NodeRunState::Waiting));
    left.map(|node| node.name).collect()
}

/// Whether a task is over and its nodes are empty. One that nobody can tell of is not waited for.
fn is_gone(client: &Client, id: &str) -> bool {
    let is_empty = |state: NodeRunState| matches!(state, NodeRunState::Gone | NodeRunState::Waiting);
    client.task(id).map_or(true, |answer| {
        answer.data.row.status.is_final() && answer.data.nodes.iter().all(|node| is_empty(node.state))
    })
}

/// Asks for all of them at once, so that none waits for another's grace. Says whether the server has taken it.
fn stop(client: &Client, ids: &[String], force: bool) -> bool {
    let ask = |ids: &[String]| client.bulk(&BulkRequest { action: BulkVerb::Stop, ids: ids.to_vec(), force }).is_ok();
    // Every part is asked for, whatever became of the one before.
    ids.chunks(MOST_PER_PAGE as usize).map(ask).fold(true, |all, one| all & one)
}

/// Tasks that are not over.
fn active(client: &Client) -> Vec<TaskRow> {
    let filter = "status=initializing,queued,starting,running,restarting,stopping";
    connection::pages(|query| client.tasks(&query.clone().with("filter", filter))).map_while(Result::ok).collect()
}

fn until_listening(server: &mut Child, lines: &Receiver<ChildLine>) -> Result<String, CommandProblem> {
    let deadline = Instant::now() + START;
    while Instant::now() < deadline {
        if let Ok(said) = lines.recv_timeout(TICK)
            && let Some(address) = said.line["address"].as_str()
        {
            return Ok(address.to_owned());
        }
        // Here a death is an answer: a taken port stays taken.
        if server.died().is_some() {
            break;
        }
    }
    Err(did_not_start(server))
}

fn did_not_start(child: &Child) -> CommandProblem {
    let (name, words) = (&child.name, child.last_lines());
    CommandProblem::failed(
        Text::new(format!("{name} 没有启动\n{words}"), format!("{name} did not come up\n{words}")),
        Text::new(format!("完整日志：{}", child.log().display()), format!("its log: {}", child.log().display())),
    )
}

/// What is in it is no one else's: logs, data of the server and the agents.
fn make_private(folder: &std::path::Path) -> Result<(), CommandProblem> {
    private_folder::make(folder).map_err(|error| unwritable(folder, &error))?;
    match private_folder::check(folder).map_err(|error| unwritable(folder, &error))? {
        Ok(()) => Ok(()),
        Err(TooOpen { mode }) => {
            let path = folder.display();
            let command = format!("chmod 700 {path}");
            Err(CommandProblem::failed(
                Text::new(
                    format!("其他用户可以进入 {path}：权限为 {mode:o}"),
                    format!("others may enter {path}: its mode is {mode:o}"),
                ),
                Text::new(
                    format!("其中有令牌、任务的变量与日志；先执行 {command}"),
                    format!("it holds tokens, variables of tasks and logs; run `{command}` first"),
                ),
            ))
        }
    }
}

fn unwritable(folder: &std::path::Path, error: &std::io::Error) -> CommandProblem {
    let (folder, why) = (folder.display(), reason::of_io(error));
    CommandProblem::failed(
        Text::new(format!("无法使用 {folder}：{}", why.zh), format!("{folder} cannot be used: {}", why.en)),
        Text::new("用 --data-dir 指定可写目录", "name a folder you may write to with --data-dir"),
    )
}
/// A worker is called so in both languages.
fn workers(count: u32) -> String {
    if count == 1 || speech::language() == Language::ZhCn {
        format!("{count} worker")
    } else {
        format!("{count} workers")
    }
}

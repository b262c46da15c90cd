//! This node's part in a preflight: a process of its own, so that nothing of it stays in the agent.
//!
//! It is `fermi` again, under a hidden command: its part comes over stdin, which stays open as long as anybody wants it, and
//! what it says goes over stdout, one [`PreflightNews`] a line. It ends with its stdin, with the agent, and by itself in time.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use fermi_api::link::AgentMessage;
use fermi_domain::language::{Text, reason};
use fermi_domain::preflight::{PreflightNews, PreflightPart};

use crate::link::Outbox;

/// The hidden command.
pub const COMMAND: &str = "doctor-node";
/// Two at once disturb each other's measurements; the server has one at a time.
const MOST_AT_ONCE: usize = 2;
/// More is no report. The server takes messages of 1 MiB.
const LONGEST_LINE: u64 = 900 << 10;

/// The parts that are going on.
#[derive(Debug)]
pub struct Preflights {
    folder: PathBuf,
    running: Arc<Mutex<HashMap<u64, ChildStdin>>>,
}

impl Preflights {
    /// The disk that is looked at is that of the folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, running: Arc::default() }
    }

    /// Must be called by the thread that reaps the agent's children.
    pub fn start(&self, number: u64, part: &PreflightPart, hidden: &[OsString], outbox: &Outbox) {
        let is_full = running(&self.running).len() >= MOST_AT_ONCE;
        let started = if is_full { Err(busy()) } else { self.spawn(part, hidden).map_err(|error| not_started(&error)) };
        let tell = teller(number, outbox.clone());
        match started {
            Err(news) => tell(news),
            Ok((stdin, stdout)) => {
                running(&self.running).insert(number, stdin);
                let all = self.running.clone();
                let listen = move || {
                    listen(stdout, &tell);
                    running(&all).remove(&number);
                };
                if thread::Builder::new().name("preflight".into()).stack_size(512 * 1024).spawn(listen).is_err() {
                    self.end(number);
                }
            }
        }
    }

    /// Whoever has lost its stdin ends.
    pub fn end(&self, number: u64) {
        running(&self.running).remove(&number);
    }

    fn spawn(&self, part: &PreflightPart, hidden: &[OsString]) -> io::Result<(ChildStdin, ChildStdout)> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in hidden {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (mut stdin, stdout) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        let mut line = serde_json::to_vec(part)?;
        line.push(b'\n');
        stdin.write_all(&line)?;
        Ok((stdin, stdout))
    }
}

fn running(all: &Mutex<HashMap<u64, ChildStdin>>) -> MutexGuard<'_, HashMap<u64, ChildStdin>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn teller(number: u64, outbox: Outbox) -> impl Fn(PreflightNews) + Send + 'static {
    move |news| outbox.send(AgentMessage::Preflight { number, news })
}

/// Passes on what it says. One that ends without its last word is said to have failed.
fn listen(stdout: ChildStdout, tell: &impl Fn(PreflightNews)) {
    let mut lines = BufReader::new(stdout);
    loop {
        let mut line = String::new();
        let news = match lines.by_ref().take(LONGEST_LINE).read_line(&mut line) {
            Ok(length) if length > 0 => serde_json::from_str::<PreflightNews>(&line).ok(),
            _ => None,
        };
        let Some(news) = news else { return tell(died()) };
        let is_last = matches!(news, PreflightNews::Report(_) | PreflightNews::Over | PreflightNews::Failed { .. });
        tell(news);
        if is_last {
            return;
        }
    }
}

fn busy() -> PreflightNews {
    PreflightNews::Failed {
        reason: Text::new("另一次预检正在这台机器上进行", "another preflight is going on on this machine"),
        hint: Text::new("等它结束后再试", "try again when it is over"),
    }
}

fn not_started(error: &io::Error) -> PreflightNews {
    let why = reason::of_io(error);
    PreflightNews::Failed {
        reason: Text::new(format!("检查进程无法启动：{}", why.zh), format!("the check cannot be started: {}", why.en)),
        hint: Text::new("看该机器的进程数与内存限制", "see to the limits of processes and memory of that machine"),
    }
}

fn died() -> PreflightNews {
    PreflightNews::Failed {
        reason: Text::new("检查进程中途结束", "the check ended in the middle"),
        hint: Text::new(
            "在该机器上运行 fermi doctor；内核日志会说明它是否因内存不足被结束",
            "run 'fermi doctor' there; the kernel's log says whether it was ended for want of memory",
        ),
    }
}

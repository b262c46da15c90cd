//! How a host is spoken to: the system's `ssh`, or `sh` where the host is this machine.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::flags::LaunchFlags;
use super::plan::Node;
use super::script;

/// ssh itself could not do it, as opposed to what ran there.
pub const BROKEN: i32 = 255;
/// How long a host that answers may take for a check.
const CHECK_TIME: Duration = Duration::from_secs(60);
/// A program of some megabytes over a slow line.
const COPY_TIME: Duration = Duration::from_secs(600);

/// The program and its options, the same for all hosts.
#[derive(Clone, Debug)]
pub struct Ssh {
    program: String,
    options: Vec<OsString>,
    pub connect_timeout: Duration,
}

/// What a short conversation brought.
#[derive(Debug)]
pub struct SshAnswer {
    /// None when it took too long.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Whether the child may get the terminal's Ctrl-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Ours,
    Own,
}

impl Ssh {
    pub fn new(flags: &LaunchFlags) -> Self {
        let mut options: Vec<OsString> = Vec::new();
        // ssh takes the first value that it is given for an option, so the user's come first.
        for option in &flags.ssh_option {
            match option.starts_with('-') {
                true => options.push(option.into()),
                false => options.extend(["-o".into(), option.into()]),
            }
        }
        if let Some(port) = flags.ssh_port {
            options.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(user) = &flags.user {
            options.extend(["-l".into(), user.into()]);
        }
        let seconds = flags.connect_timeout;
        // A connection that stalls for a minute is lived through: a host that is gone is noticed by the other nodes.
        for option in [
            "BatchMode=yes".to_owned(),
            format!("ConnectTimeout={seconds}"),
            "ServerAliveInterval=15".to_owned(),
            "ServerAliveCountMax=7".to_owned(),
        ] {
            options.extend(["-o".into(), option.into()]);
        }
        options.extend(["-T".into(), "-x".into()]);
        Self { program: flags.ssh.clone(), options, connect_timeout: Duration::from_secs(seconds) }
    }

    /// The words in front of what is run, for people.
    pub fn words(&self, node: &Node) -> Vec<OsString> {
        let mut words = vec![OsString::from(&self.program)];
        words.extend(self.options.iter().cloned());
        words.extend(["--".into(), OsString::from(&node.host.name)]);
        words
    }

    /// A shell on the host that reads a script of this length.
    fn command(&self, node: &Node, length: usize) -> Command {
        if node.is_here {
            let mut command = Command::new("sh");
            command.args(script::carrier_here(length));
            return command;
        }
        let mut command = Command::new(&self.program);
        command.args(self.words(node).split_off(1)).arg(script::carrier(length));
        command
    }

    /// Starts the shell; its streams are pipes of ours. The script still has to be written.
    pub fn spawn(&self, node: &Node, length: usize, group: Group) -> io::Result<Child> {
        let mut command = self.command(node, length);
        if group == Group::Own {
            command.process_group(0);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Runs a script to its end.
    pub fn ask(&self, node: &Node, script: &[u8], payload: &[u8]) -> io::Result<SshAnswer> {
        let mut child = self.spawn(node, script.len(), Group::Ours)?;
        let patience = self.connect_timeout + if payload.is_empty() { CHECK_TIME } else { COPY_TIME };
        let deadline = Instant::now() + patience;
        let stdout = read_aside(child.stdout.take());
        let stderr = read_aside(child.stderr.take());
        let stdin = child.stdin.take();
        let sent = [script, payload].concat();
        let writer = std::thread::spawn(move || {
            // A host that does not take it says why on its other streams.
            let _ = stdin.map(|mut stdin| stdin.write_all(&sent));
        });
        let code = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status.code().unwrap_or(BROKEN));
            }
            if Instant::now() >= deadline {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let _ = writer.join();
        Ok(SshAnswer { code, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
    }

    /// How long [`Ssh::ask`] waits for the answer to a check.
    pub fn patience(&self) -> Duration {
        self.connect_timeout + CHECK_TIME
    }
}

fn read_aside(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

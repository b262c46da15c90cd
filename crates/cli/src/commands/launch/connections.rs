//! The connections to the hosts while a run goes on: one child each, whose standard input is the leash of the run there.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::SyncSender;

use fermi_domain::event::Record;
use fermi_process::output::StreamKind;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;

use super::plan::{Node, Plan};
use super::script;
use super::ssh::{Group, Ssh};
use crate::commands::run::voice::Voice;

/// What comes from outside.
#[derive(Debug)]
pub enum HostNews {
    /// Bytes of ranks, or of whatever talks on that host.
    Output {
        host: usize,
        bytes: Vec<u8>,
    },
    /// A host's output is at its end.
    OutputEnded {
        host: usize,
    },
    Event {
        host: usize,
        record: Box<Record>,
    },
    Signal(i32),
}

/// Where the output of hosts goes.
#[derive(Clone, Debug)]
pub struct OutputVoice {
    voice: Voice,
    kind: StreamKind,
}

impl OutputVoice {
    /// Output of ranks is data; with `--json` stdout belongs to the events.
    pub fn new(voice: Voice, as_json: bool) -> Self {
        Self { voice, kind: if as_json { StreamKind::Stderr } else { StreamKind::Stdout } }
    }

    pub fn show(&self, bytes: &[u8]) {
        match self.kind {
            _ if bytes.is_empty() => {}
            StreamKind::Stdout => self.voice.print_bytes(bytes),
            StreamKind::Stderr => self.voice.say_bytes(bytes),
        }
    }

    fn wait_for_room(&self) {
        self.voice.wait_for_room(self.kind);
    }
}

/// One connection.
#[derive(Debug)]
pub struct SshConnection {
    child: Child,
    leash: Option<ChildStdin>,
    /// How it ended, once it has.
    pub ended: Option<ExitStatus>,
}

impl SshConnection {
    /// Starts the run on a host and reads what comes from it on threads of their own.
    pub fn start(
        plan: &Plan,
        node: &Node,
        fermi: &str,
        ssh: &Ssh,
        host: usize,
        news: &SyncSender<HostNews>,
        voice: &OutputVoice,
    ) -> io::Result<Self> {
        let script = script::start(plan, node, fermi);
        let mut child = ssh.spawn(node, script.len(), Group::Own)?;
        let events = child.stdout.take();
        let output = child.stderr.take();
        let mut leash = child.stdin.take();
        if let Some(leash) = &mut leash {
            // A connection that breaks here is noticed as the child's end.
            let _ = leash.write_all(&script).and_then(|()| leash.flush());
        }
        let (to_events, to_output) = (news.clone(), news.clone());
        std::thread::spawn(move || read_events(events, host, &to_events));
        let voice = voice.clone();
        std::thread::spawn(move || read_output(output, host, &to_output, &voice));
        Ok(Self { child, leash, ended: None })
    }

    /// Passes a signal on to the run there.
    pub fn pass_on(&mut self, signal: i32) {
        let byte = u8::try_from(signal).unwrap_or(15);
        let sent = self.leash.as_mut().map(|leash| leash.write_all(&[byte]).and_then(|()| leash.flush()));
        if matches!(sent, Some(Err(_))) {
            self.leash = None;
        }
    }

    /// The end of the leash: what runs there stops by itself.
    pub fn let_go(&mut self) {
        self.leash = None;
    }

    /// Ends our side of the connection at once.
    pub fn cut(&mut self) {
        self.leash = None;
        // A child that has ended already cannot be killed, which is as good.
        let _ = self.child.kill();
    }

    /// Whether it has ended by now; true just once.
    pub fn has_just_ended(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.ended = self.child.try_wait().ok().flatten();
        self.ended.is_some()
    }
}

/// One JSON object per line; anything else is talk of a login shell.
fn read_events(stream: Option<impl Read>, host: usize, news: &SyncSender<HostNews>) {
    let Some(stream) = stream else { return };
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let said = match serde_json::from_slice::<Record>(&line) {
            Ok(record) => HostNews::Event { host, record: Box::new(record) },
            Err(_) => HostNews::Output { host, bytes: line.clone() },
        };
        if news.send(said).is_err() {
            return;
        }
        line.clear();
    }
}

/// A host whose output the terminal's reader does not take is not read for a while: it drops and counts its own lines.
fn read_output(stream: Option<impl Read>, host: usize, news: &SyncSender<HostNews>, voice: &OutputVoice) {
    let mut bytes = [0; 16 * 1024];
    if let Some(mut stream) = stream {
        loop {
            voice.wait_for_room();
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(n) if news.send(HostNews::Output { host, bytes: bytes[..n].to_vec() }).is_err() => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    let _ = news.send(HostNews::OutputEnded { host });
}

/// Signals become news. The thread ends with the program.
pub fn read_signals(signals: SignalFd, news: SyncSender<HostNews>) {
    std::thread::spawn(move || {
        loop {
            let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::NONE);
            while let Ok(Some(info)) = signals.read_signal() {
                let signal = i32::try_from(info.ssi_signo).unwrap_or(libc::SIGTERM);
                if news.send(HostNews::Signal(signal)).is_err() {
                    return;
                }
            }
        }
    });
}

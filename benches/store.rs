//! The hosted store beside torch's own server: thousands of clients that join, and commands per second.
//!
//! The clients are the same for both: sockets of this process that speak torch's protocol.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::lab::{Lab, Trouble};
use crate::report::{Bound, Report, Table, ms};
use crate::stats::Samples;

const CLIENTS: usize = 10_000;
const ROUNDS: usize = 3;
const THREADS: usize = 4;
/// Connections that ask at the same time, and how many commands each sends.
const ASKERS: usize = 8;
const COMMANDS: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// torch's own server, as rank 0 would host it.
const TORCH: &str = "import sys, time\n\
    from torch.distributed import TCPStore\n\
    store = TCPStore('127.0.0.1', int(sys.argv[1]), None, True, wait_for_workers=False)\n\
    time.sleep(600)\n";

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    allow_many_files()?;
    let hosts: &[Host] =
        if lab.beside_python("torchrun").is_some() { &[Host::Fermi, Host::Torch] } else { &[Host::Fermi] };
    let rounds = lab.options.rounds.min(ROUNDS);
    let mut joined = [Samples::default()];
    let mut speed = [Samples::default(), Samples::default()];
    let mut ratio = Samples::default();
    for round in 0..rounds {
        lab.progress("store", round, rounds);
        let mut asked = [f64::NAN; 2];
        // Each has the first turn as often as the other: what else this machine does favours neither.
        for turn in 0..hosts.len() {
            let index = (turn + round) % hosts.len();
            let host = hosts[index];
            // torch's server asks the resolver for the name of every client that comes, so that thousands of them would
            // measure the resolver.
            if matches!(host, Host::Fermi) {
                joined[index].push(join_all(Server::start(lab, host)?.port)?);
            }
            asked[index] = ask(Server::start(lab, host)?.port)?;
            speed[index].push(asked[index]);
        }
        if let [fermi, torch] = asked
            && torch.is_finite()
        {
            ratio.push(fermi / torch);
        }
    }
    let mut table = Table::new(
        "A store for torch: 10,000 clients join and wait for the last one; commands of 8 clients",
        &["host", "joined ms", "commands/s"],
    );
    for (index, host) in hosts.iter().enumerate() {
        let join = if matches!(host, Host::Fermi) { ms(joined[index].median()) } else { "–".to_owned() };
        table.row([host.name().to_owned(), join, format!("{:.0}", speed[index].median())]);
    }
    table.print();
    report.promise("10,000 clients join a hosted store", Bound::AtMost(2_000.0), joined[0].median(), "ms");
    if hosts.len() > 1 {
        report.promise("store, commands/s, fermi / torch", Bound::AtLeast(1.0), ratio.median(), "x");
    }
    let fermi = json!({ "joinedMs": joined[0].json(), "commandsPerS": speed[0].json() });
    let torch = json!({ "commandsPerS": speed[1].json() });
    report.keep("store", json!({ "fermi": fermi, "torch": torch, "ratio": ratio.json() }));
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Host {
    Fermi,
    Torch,
}

impl Host {
    fn name(self) -> &'static str {
        match self {
            Self::Fermi => "fermi run",
            Self::Torch => "torch's TCPStore",
        }
    }
}

/// A store that is up; it ends with this value.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(lab: &Lab, host: Host) -> Result<Self, Trouble> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = match host {
            Host::Fermi => {
                let mut command = lab.fermi_run();
                command.args(["-q", "--log-dir", "/dev/null", "--store", "fermi", "--master-port", &port.to_string()]);
                command.args(["--no-python", "sleep", "600"]);
                command
            }
            Host::Torch => {
                let mut command = Command::new(lab.python()?);
                command.args(["-c", TORCH, &port.to_string()]);
                command
            }
        };
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let server = Self { process, port };
        let deadline = Instant::now() + PATIENCE;
        while client(port).is_err() {
            if Instant::now() > deadline {
                return Err(format!("{} does not come up", host.name()).into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.process.id()) {
            // SAFETY: our own child, not yet waited for.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        let _ = self.process.wait();
    }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

/// What torch's client says first: who it is, and a number that it wants to hear again.
const INTRODUCTION: &[u8] = b"\x00\xce\xf7\x85\x3c\x0d\x01\x02\x03\x04";

fn connect(port: u16) -> Result<TcpStream, Trouble> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A client that has introduced itself and was heard.
fn client(port: u16) -> Result<TcpStream, Trouble> {
    let mut stream = connect(port)?;
    stream.write_all(INTRODUCTION)?;
    stream.read_exact(&mut [0; 4])?;
    Ok(stream)
}

/// Milliseconds until all have joined, counted themselves, and heard that the last one has come.
fn join_all(port: u16) -> Result<f64, Trouble> {
    let started = Instant::now();
    let share = CLIENTS / THREADS;
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(move || join(port, share).ok())).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Option<Vec<_>>>()
    });
    all.ok_or("not all clients joined")?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// One step for all clients after the other, as processes that come at the same time would take them: what a server holds
/// back for one client holds up no other.
fn join(port: u16, clients: usize) -> Result<(), Trouble> {
    let add = [&[4][..], &text(b"/init/"), &1i64.to_le_bytes()].concat();
    let wait = [&[6][..], &1u64.to_le_bytes(), &text(b"/all")].concat();
    let mut streams: Vec<TcpStream> = (0..clients).map(|_| connect(port)).collect::<Result<_, Trouble>>()?;
    for stream in &mut streams {
        stream.write_all(INTRODUCTION)?;
    }
    for stream in &mut streams {
        stream.read_exact(&mut [0; 4])?;
        stream.write_all(&add)?;
    }
    for stream in &mut streams {
        let mut count = [0; 8];
        stream.read_exact(&mut count)?;
        if i64::from_le_bytes(count) == CLIENTS as i64 {
            stream.write_all(&[&[1][..], &text(b"/all"), &text(b"1")].concat())?;
        }
        stream.write_all(&wait)?;
    }
    for stream in &mut streams {
        stream.read_exact(&mut [0])?;
    }
    Ok(())
}

/// Commands per second: each asker sets a value and reads it, one after the other.
fn ask(port: u16) -> Result<f64, Trouble> {
    let started = Instant::now();
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ASKERS).map(|asker| scope.spawn(move || asked(port, asker).ok())).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Option<Vec<_>>>()
    });
    all.ok_or("not all commands were answered")?;
    Ok((ASKERS * COMMANDS) as f64 / started.elapsed().as_secs_f64())
}

fn asked(port: u16, asker: usize) -> Result<(), Trouble> {
    let mut stream = client(port)?;
    let key = text(format!("/k{asker}").as_bytes());
    let both = [&[1][..], &key, &text(&[7; 64]), &[3], &key].concat();
    for _ in 0..COMMANDS / 2 {
        stream.write_all(&both)?;
        stream.read_exact(&mut [0; 72])?;
    }
    Ok(())
}

fn allow_many_files() -> Result<(), Trouble> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most.min(40_000), most)?;
    Ok(())
}

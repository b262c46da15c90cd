//! Floods at a server that may open 512 files: others are answered, its memory stays within bounds, and it ends in time.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, Run, eventually};

const FILES: &str = "512";
const SLOW: usize = 1_000;
/// For how long the others ask meanwhile.
const MEANWHILE: Duration = Duration::from_secs(3);

/// What a stranger, or one with a token and nothing to say, has sent so far.
fn beginning(number: usize, token: &str) -> Vec<u8> {
    let text = match number % 5 {
        0 => String::new(),
        1 => "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".to_owned(),
        2 => "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Fermi-Front-End: x\r\n\
              Content-Length: 1000\r\n\r\n{\"user\":\""
            .to_owned(),
        3 => format!(
            "GET /api/agent/v1/link HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ),
        _ => format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: {}", "x".repeat(60 << 10)),
    };
    text.into_bytes()
}

/// The most by which a flood may make the server grow.
const MOST_MEMORY_KIB: u64 = 50 << 10;
/// Within this others are answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// A server on which a flood comes down.
struct Flooded {
    place: Place,
    server: Run,
    address: SocketAddr,
    token: String,
    /// Its memory before the flood, and the most since.
    usual_kib: u64,
    most_kib: u64,
    answers: Vec<Duration>,
}

impl Flooded {
    fn start() -> Self {
        let place = Place::new();
        let data = place.path().join("server");
        let mut limited = place.program("sh");
        limited.args(["-c", "ulimit -n $0 && exec \"$@\"", FILES, env!("CARGO_BIN_EXE_fermi"), "server", "--json"]);
        let server = Run::start(limited.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(&data));
        let address: SocketAddr = eventually("the server's address", || {
            let said = server.stdout_so_far();
            let mut said = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            said.find_map(|line| line["address"].as_str()?.trim_start_matches("http://").parse().ok())
        });
        let token = fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let mut flooded = Self { place, server, address, token, usual_kib: 0, most_kib: 0, answers: Vec::new() };
        flooded.others_ask();
        flooded.answers.clear();
        flooded.flood_begins();
        flooded
    }

    /// What is there now is as usual.
    fn flood_begins(&mut self) {
        self.usual_kib = self.memory_kib();
        self.most_kib = self.usual_kib;
    }

    /// What the server has allocated; pages of its file come and go.
    fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Another user and a stranger ask and are answered.
    fn others_ask(&mut self) {
        for path in ["/livez", "/api/v1/overview"] {
            let (took, status) = ask(self.address, path, &self.token);
            assert_eq!(status, "200", "{path} after {} answers", self.answers.len());
            self.answers.push(took);
        }
        self.most_kib = self.most_kib.max(self.memory_kib());
    }

    /// Floods from threads of their own while others ask; each thread sends until it is told that it is enough. The answer is how
    /// often the flood was answered how.
    fn meanwhile(
        &mut self,
        threads: usize,
        send: impl Fn(SocketAddr, usize, usize) -> String + Sync,
    ) -> BTreeMap<String, usize> {
        let (is_enough, address) = (AtomicBool::new(false), self.address);
        let statuses = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (send, is_enough, statuses) = (&send, &is_enough, &statuses);
                scope.spawn(move || {
                    for turn in 0.. {
                        if is_enough.load(Ordering::Relaxed) {
                            return;
                        }
                        let status = send(address, thread, turn);
                        *statuses.lock().unwrap().entry(status).or_default() += 1;
                    }
                });
            }
            let began = Instant::now();
            // The flood ends also where an answer is missed, or its threads would go on for ever.
            let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                while began.elapsed() < MEANWHILE {
                    self.others_ask();
                    std::thread::sleep(Duration::from_millis(20));
                }
            }));
            is_enough.store(true, Ordering::Relaxed);
            asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        statuses.into_inner().unwrap()
    }

    /// Others were answered in time, the memory stayed within bounds, and the server ends when it is told to.
    fn end(mut self) {
        self.answers.sort();
        let at = |percent: usize| self.answers[(self.answers.len() * percent / 100).min(self.answers.len() - 1)];
        let (usual, most) = (self.usual_kib, self.most_kib);
        eprintln!(
            "{} answers, half within {:?}, 99 of 100 within {:?}, all within {:?}; {} KiB more",
            self.answers.len(),
            at(50),
            at(99),
            at(100),
            most - usual
        );
        // One in a hundred may be the slowness of a machine that is busy with other tests.
        assert!(at(99) <= ANSWERED_WITHIN, "{:?}", self.answers);
        assert!(most - usual <= MOST_MEMORY_KIB, "from {usual} to {most} KiB");
        let asked = Instant::now();
        self.server.signal(libc::SIGTERM);
        let ended = self.server.ended();
        assert_eq!(ended.code(), Some(0), "{}", ended.err());
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
}

/// How long a request takes over a connection of its own, and its status.
fn ask(address: SocketAddr, path: &str, token: &str) -> (Duration, String) {
    let began = Instant::now();
    let mut said = Vec::new();
    let asked = TcpStream::connect_timeout(&address, Duration::from_secs(10)).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.read_to_end(&mut said)
    });
    let status = String::from_utf8_lossy(&said).split(' ').nth(1).map(str::to_owned);
    (began.elapsed(), status.unwrap_or_else(|| format!("{asked:?}")))
}

fn agent(place: &Place, server: &str, token: &str, name: &str) -> Run {
    let data = place.path().join(name).display().to_string();
    let mut command = place.fermi(["agent", "--server", server, "--name", name, "--data-dir", &data, "--json"]);
    Run::start(command.env("FERMI_TOKEN", token))
}

fn is_connected(agent: &Run) -> Option<()> {
    agent.stdout_so_far().contains("\"connected\"").then_some(())
}

#[test]
fn a_thousand_half_sent_requests_keep_nobody_out() {
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 4_096, 4_096).unwrap();
    let mut flooded = Flooded::start();
    let (address, token, url) = (flooded.address, flooded.token.clone(), format!("http://{}", flooded.address));
    let early = agent(&flooded.place, &url, &token, "early");
    eventually("an agent to be there", || is_connected(&early));
    flooded.flood_begins();

    let mut slow: Vec<TcpStream> = Vec::with_capacity(SLOW);
    let mut late = None;
    let began = Instant::now();
    while began.elapsed() < MEANWHILE || slow.len() < SLOW {
        for _ in 0..50 {
            if slow.len() < SLOW
                && let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(10))
            {
                let _ = stream.write_all(&beginning(slow.len(), &token));
                stream.set_nonblocking(true).unwrap();
                slow.push(stream);
            }
        }
        // A byte now and then, from those that were not hung up on.
        slow.iter_mut().for_each(|stream| drop(stream.write(b"x")));
        flooded.others_ask();
        if slow.len() == SLOW && late.is_none() {
            late = Some(agent(&flooded.place, &url, &token, "late"));
        }
    }
    let late = late.unwrap();
    eventually("a second agent to come in", || is_connected(&late));
    assert!(
        !early.stdout_so_far().contains("\"lost\""),
        "the first one was never hung up on: {}",
        early.stdout_so_far()
    );
    flooded.end();
    for agent in [early, late] {
        agent.signal(libc::SIGTERM);
        agent.ended();
    }
}

/// Sends a request over a connection of its own; its status.
fn post(address: SocketAddr, path: &str, headers: &str, body: &[u8]) -> String {
    let mut said = Vec::new();
    let asked = TcpStream::connect_timeout(&address, Duration::from_secs(10)).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.read_to_end(&mut said)
    });
    let status = String::from_utf8_lossy(&said).split(' ').nth(1).map(str::to_owned);
    status.unwrap_or_else(|| format!("{:?}", asked.map_err(|error| error.kind())))
}

#[test]
fn a_flood_of_log_ins_keeps_nobody_out_and_leaves_no_memory_behind() {
    let mut flooded = Flooded::start();
    let headers = "Content-Type: application/json\r\nX-Fermi-Front-End: x\r\n";
    for _ in 0..2 {
        // A name is tried once: the next try would have to wait.
        let statuses = flooded.meanwhile(40, |address, thread, turn| {
            let body = json!({"user": format!("u{thread}x{turn}"), "password": "a guess"}).to_string();
            post(address, "/api/v1/session", headers, body.as_bytes())
        });
        eprintln!("{statuses:?}");
        assert!(statuses.get("401").is_some_and(|&tried| tried >= 20), "{statuses:?}");
        assert!(statuses.keys().all(|status| status == "401" || status == "429"), "{statuses:?}");
    }
    flooded.end();
}

/// An agent's link that is asked for by hand; none where the server does not open it.
fn link(address: SocketAddr, token: &str) -> Result<TcpStream, String> {
    let broken = |error: std::io::Error| format!("{:?}", error.kind());
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).map_err(broken)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(broken)?;
    stream.write_all(&beginning(3, token)).map_err(broken)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).map_err(broken)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if head.contains(" 101 ") { Ok(stream) } else { Err(head.lines().next().unwrap_or_default().to_owned()) }
}

/// One message as it goes over a link.
fn message(kind: &str, data: &Value) -> Vec<u8> {
    let text = json!({"type": kind, "data": data}).to_string();
    let length = u64::try_from(text.len()).unwrap().to_be_bytes();
    // A mask of zeros changes nothing.
    [&[0x81, 0x80 | 127], length.as_slice(), &[0; 4], text.as_bytes()].concat()
}

/// The next short message of the server.
fn heard(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    let mut length = usize::from(head[1]);
    if length == 126 {
        stream.read_exact(&mut head)?;
        length = usize::from(u16::from_be_bytes(head));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn what_hostile_agents_say_keeps_nobody_out_and_leaves_no_memory_behind() {
    let mut flooded = Flooded::start();
    let token = flooded.token.clone();
    let escape = "\u{1b}]0;title\u{7}";
    let unfit = [
        json!({"cpuWorkers": 4_000_000_000_u32}),
        json!({"zone": escape, "labels": {escape: escape}, "versions": {"torch": escape}}),
        json!({"gpus": vec![json!({"model": "A100", "memory": 1, "count": 4_000_000_000_u32}); 2_000]}),
        json!({"process": "p".repeat(500_000)}),
    ];
    let ranks: Vec<Value> = (0..9_000)
        .map(|rank| json!({"task": format!("task-{rank}"), "attempt": 1, "rank": rank, "cpus": 1.5, "memory": 4_096}))
        .collect();
    let beat = json!({"ranks": ranks, "gpus": vec![json!({}); 1_000]});
    let beat = message("heartbeat", &beat);
    assert!((600_000..1_000_000).contains(&beat.len()), "{}", beat.len());
    let statuses = flooded.meanwhile(4, |address, thread, turn| {
        let mut hello = json!({
            "version": 1, "fermi": "0.1.0", "instance": format!("i{thread}x{turn}"), "name": format!("flood-{thread}-{turn}"),
            "kind": "custom", "cpuWorkers": 8, "cpuCores": 8, "memory": 1, "boot": "b",
        });
        let changes = if turn % 2 == 0 { Some(&unfit[turn / 2 % unfit.len()]) } else { None };
        changes.iter().flat_map(|it| it.as_object().unwrap()).for_each(|(name, value)| hello[name] = value.clone());
        let mut stream = match link(address, &token) {
            Ok(stream) => stream,
            Err(said) => return said,
        };
        let answer = stream.write_all(&message("hello", &hello)).and_then(|()| heard(&mut stream));
        let answer = answer.unwrap_or_else(|error| format!("{:?}", error.kind()));
        match (changes, answer.contains("\"welcome\"")) {
            (None, true) => {
                let said = (0..20).filter(|_| stream.write_all(&beat).is_ok()).count();
                format!("{said} heartbeats")
            }
            (Some(_), false) if answer.contains("\"refused\"") => "refused".to_owned(),
            _ => answer,
        }
    });
    eprintln!("{statuses:?}");
    assert!(statuses.keys().all(|said| ["refused", "20 heartbeats"].contains(&said.as_str())), "{statuses:?}");
    assert_eq!(statuses.len(), 2, "{statuses:?}");
    flooded.end();
}

//! A thousand slow and half-sent requests at a server that may open 512 files: others are answered, and it ends in time.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Place, Run, eventually};

const FILES: &str = "512";
const SLOW: usize = 1_000;
/// For how long the others ask meanwhile.
const MEANWHILE: Duration = Duration::from_secs(4);

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

fn memory_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
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
    let url = format!("http://{address}");
    let early = agent(&place, &url, &token, "early");
    eventually("an agent to be there", || is_connected(&early));
    // A machine that is busy with other things is slow without a flood too.
    let usual =
        (0..5).map(|_| ask(address, "/api/v1/overview", &token)).inspect(|(_, status)| assert_eq!(status, "200"));
    let bound = Duration::from_secs(1).max(20 * usual.map(|(took, _)| took).max().unwrap_or_default());
    let before = memory_kib(server.pid());

    let mut slow: Vec<TcpStream> = Vec::with_capacity(SLOW);
    let mut answers: Vec<Duration> = Vec::new();
    let mut late = None;
    let began = Instant::now();
    let mut most = before;
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
        for path in ["/livez", "/api/v1/overview"] {
            let (took, status) = ask(address, path, &token);
            assert_eq!(status, "200", "{path} after {} ms", began.elapsed().as_millis());
            answers.push(took);
        }
        most = most.max(memory_kib(server.pid()));
        if slow.len() == SLOW && late.is_none() {
            late = Some(agent(&place, &url, &token, "late"));
        }
    }
    answers.sort();
    let slowest = answers[answers.len() * 9 / 10];
    eprintln!(
        "{} answers, the slowest tenth from {slowest:?}, {:?} at most; {} KiB more",
        answers.len(),
        answers.last(),
        most - before
    );
    assert!(slowest <= bound, "more than {bound:?}: {answers:?}");
    assert!(most - before <= 50 << 10, "from {before} to {most} KiB");
    let late = late.unwrap();
    eventually("a second agent to come in", || is_connected(&late));
    assert!(
        !early.stdout_so_far().contains("\"lost\""),
        "the first one was never hung up on: {}",
        early.stdout_so_far()
    );

    let asked = Instant::now();
    server.signal(libc::SIGTERM);
    server.ended();
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    for agent in [early, late] {
        agent.signal(libc::SIGTERM);
        agent.ended();
    }
}

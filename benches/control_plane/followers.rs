//! A thousand followers of the event stream: how soon each hears what happens, and whether all hear all of it, in order.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::outside::{self, CpuMeter, pss_mb};
use super::spread::Spread;
use crate::Trouble;
use crate::report::{Bound, Report, Table};

const FOLLOWERS: usize = 1_000;
const THREADS: usize = 2;
const CREATES: usize = 200;
const CREATE_EVERY: Duration = Duration::from_millis(50);
/// How long a follower waits to be let in.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last events may take to arrive.
const GRACE: Duration = Duration::from_secs(2);

/// One connection that hears events.
struct Follower {
    stream: TcpStream,
    rest: Vec<u8>,
    heard: Vec<(u64, Instant)>,
    is_lost: bool,
}

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("held", 1)])?;
    fleet.hold_workers()?;
    let task = fleet.task(&["/bin/true"])?;
    outside::many_files()?;
    let before = pss_mb(fleet.server_pid());
    let open = |number| {
        Follower::open(fleet.address())
            .map_err(|error| format!("follower {number} heard nothing when it came: {error}"))
    };
    let mut followers = (1..=FOLLOWERS).map(open).collect::<Result<Vec<_>, String>>()?;
    let meter = CpuMeter::start(fleet.server_pid());
    let is_over = AtomicBool::new(false);
    let mut sent: HashMap<String, Instant> = HashMap::new();
    let mut acknowledged = Spread::default();
    let mut cpu = f64::NAN;
    std::thread::scope(|scope| -> Result<(), Trouble> {
        let threads: Vec<_> = followers
            .chunks_mut(FOLLOWERS.div_ceil(THREADS))
            .map(|share| scope.spawn(|| listen(share, &is_over)))
            .collect();
        let created = create_all(&fleet, &task, &mut sent, &mut acknowledged);
        cpu = meter.percent();
        std::thread::sleep(GRACE);
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a thread of followers failed")??;
        }
        created.map_err(|trouble| format!("beside {FOLLOWERS} followers nobody else is served: {trouble}").into())
    })?;
    let after = pss_mb(fleet.server_pid());

    let events = tasks_of_events(&fleet)?;
    let first = followers.iter().filter_map(|follower| follower.heard.first()).map(|(cursor, _)| *cursor).min();
    let all: Vec<u64> = events.iter().map(|(cursor, _)| *cursor).filter(|cursor| Some(*cursor) >= first).collect();
    let complete = |follower: &&Follower| follower.heard.iter().map(|(cursor, _)| cursor).eq(&all);
    let incomplete = FOLLOWERS - followers.iter().filter(complete).count();
    let lost = followers.iter().filter(|follower| follower.is_lost).count();
    let tasks: HashMap<u64, String> = events.into_iter().collect();
    let since = |(cursor, at): &(u64, Instant)| {
        let sent = sent.get(tasks.get(cursor)?)?;
        Some(at.saturating_duration_since(*sent).as_secs_f64() * 1e3)
    };
    let latency: Spread = followers.iter().flat_map(|follower| &follower.heard).filter_map(since).collect();

    let mut table = Table::new(
        "1,000 followers (SSE), 20 creates/s: ms from sending a create",
        &["", "count", "p50", "p99", "max"],
    );
    table.row(["answered".to_owned()].into_iter().chain(acknowledged.cells()));
    table.row(["heard by a follower".to_owned()].into_iter().chain(latency.cells()));
    table.print();
    println!(
        "  {} events to each; {lost} connections lost; CPU of the server {cpu:.0} % of one core; memory {before:.1} → {after:.1} MB",
        all.len(),
    );
    report.promise("1,000 followers: without all events in order", Bound::AtMost(0.0), incomplete as f64, "");
    report.keep(
        "followers",
        json!({
            "events": all.len(), "incomplete": incomplete, "lost": lost, "ms": latency.json(),
            "answeredMs": acknowledged.json(), "serverCpuPercent": cpu, "pssMb": [before, after],
        }),
    );
    Ok(())
}

fn create_all(
    fleet: &Fleet,
    task: &Value,
    sent: &mut HashMap<String, Instant>,
    acknowledged: &mut Spread,
) -> Result<(), Trouble> {
    let mut wire = fleet.wire()?;
    let mut due = Instant::now();
    for _ in 0..CREATES {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += CREATE_EVERY;
        let begun = Instant::now();
        let id = fleet.create(&mut wire, task)?;
        acknowledged.push(begun.elapsed().as_secs_f64() * 1e3);
        sent.insert(id, begun);
    }
    Ok(())
}

/// Every event of the server, with the task that it is about.
fn tasks_of_events(fleet: &Fleet) -> Result<Vec<(u64, String)>, Trouble> {
    let mut wire = fleet.wire()?;
    let (mut all, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = wire.get(&format!("/events?pageSize=1000&after={after}"))?;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        let Some(last) = items.last() else { return Ok(all) };
        after = last["cursor"].as_str().unwrap_or_default().to_owned();
        all.extend(items.iter().filter_map(|event| {
            let cursor = event["cursor"].as_str()?.parse().ok()?;
            Some((cursor, event["taskId"].as_str().unwrap_or_default().to_owned()))
        }));
    }
}

impl Follower {
    /// Returns when the server has begun to speak.
    fn open(address: &str) -> io::Result<Self> {
        let address = address.parse().map_err(io::Error::other)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")?;
        let mut head = [0; 4_096];
        let read = stream.read(&mut head)?;
        if !head[..read].starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other(String::from_utf8_lossy(&head[..read]).into_owned()));
        }
        stream.set_nonblocking(true)?;
        Ok(Self { stream, rest: Vec::new(), heard: Vec::new(), is_lost: false })
    }

    /// Takes note of the cursor of each event. Lengths of chunks between them are lines of their own.
    fn hear(&mut self, buffer: &mut [u8]) {
        let read = match self.stream.read(buffer) {
            Ok(0) => {
                self.is_lost = true;
                return;
            }
            Ok(read) => read,
            Err(error) => {
                self.is_lost = error.kind() != io::ErrorKind::WouldBlock;
                return;
            }
        };
        let now = Instant::now();
        self.rest.extend_from_slice(&buffer[..read]);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.rest[..end].split(|byte| *byte == b'\n') {
            let cursor = line.strip_prefix(b"id: ").and_then(|rest| std::str::from_utf8(rest).ok());
            if let Some(cursor) = cursor.and_then(|cursor| cursor.trim().parse().ok()) {
                self.heard.push((cursor, now));
            }
        }
        self.rest.drain(..end);
    }
}

fn listen(followers: &mut [Follower], is_over: &AtomicBool) -> Result<(), String> {
    let epoll = Epoll::new(EpollCreateFlags::empty()).map_err(|error| error.to_string())?;
    for (index, follower) in followers.iter().enumerate() {
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, index as u64);
        epoll.add(&follower.stream, event).map_err(|error| error.to_string())?;
    }
    let mut events = vec![EpollEvent::empty(); 256];
    let mut buffer = vec![0; 64 << 10];
    while !is_over.load(Ordering::Relaxed) {
        // An interrupted wait is a wait that ended early.
        let ready = epoll.wait(&mut events, EpollTimeout::from(100_u8)).unwrap_or(0);
        for event in &events[..ready] {
            followers[event.data() as usize].hear(&mut buffer);
        }
    }
    Ok(())
}

//! From the launcher's start to the first sign of its slowest rank.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, Trouble};
use crate::peers::{self, LeftOut, Peer};
use crate::report::{Better, Bound, Report, Table, ms};
use crate::signs::{self, Signs, ms_between, wait_readable};
use crate::stats::Samples;

const PATIENCE: Duration = Duration::from_secs(120);

/// What was measured of one competitor.
struct Entry {
    peer: Peer,
    sign: Samples,
    line: Samples,
}

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    for ranks in [2, 8] {
        let (mut peers, left_out) = peers::present(lab);
        if ranks > 2 {
            // Seconds per start, and nothing is promised of it there.
            peers.retain(|peer| !matches!(peer, Peer::Deepspeed(_)));
        }
        let entries = race(lab, ranks, peers)?;
        show(ranks, &entries, &left_out);
        promise(report, ranks, &entries);
        report.keep(&format!("first-line, n = {ranks}"), details(&entries, &left_out));
    }
    Ok(())
}

/// All competitors take their turn in every round. A first round, which is not counted, warms the caches.
fn race(lab: &Lab, ranks: u32, peers: Vec<Peer>) -> Result<Vec<Entry>, Trouble> {
    let mut signs = Signs::open(lab.folder().join(format!("first-line-{ranks}")))?;
    let mut entries: Vec<Entry> =
        peers.into_iter().map(|peer| Entry { peer, sign: Samples::default(), line: Samples::default() }).collect();
    for round in 0..=lab.options.rounds {
        lab.progress(&format!("first line, n = {ranks}"), round, lab.options.rounds + 1);
        for index in shuffled(entries.len(), round) {
            let entry = &mut entries[index];
            let start = start(lab, &entry.peer, ranks, &mut signs)
                .map_err(|trouble| format!("{}: {trouble}", entry.peer.name()))?;
            if round > 0 {
                entry.sign.push(start.sign_ms);
                start.line_ms.into_iter().for_each(|line| entry.line.push(line));
            }
        }
    }
    fs::remove_file(signs.path())?;
    Ok(entries)
}

/// Another order in every round, the same in every run: nobody always starts with the caches that the same neighbour left.
fn shuffled(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = round as u64;
    for last in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
    order
}

struct Start {
    sign_ms: f64,
    /// When the slowest rank's line was on the launcher's standard output.
    line_ms: Option<f64>,
}

fn start(lab: &Lab, peer: &Peer, ranks: u32, signs: &mut Signs) -> Result<Start, Trouble> {
    let talk = lab.folder().join("talk");
    let mut commands = peer.commands(lab, ranks, &lab.script("sign.py"))?;
    for command in &mut commands {
        command.current_dir(lab.folder()).env(signs::VARIABLE, signs.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&talk)?);
    }
    let begun = Instant::now();
    let mut children: Vec<Child> = commands.iter_mut().map(|command| command.spawn()).collect::<Result<_, _>>()?;
    let mut lines = Lines::of(&mut children);
    let mut ranks_seen = BTreeSet::new();
    let (mut signed, mut lined) = (None, None);
    while signed.is_none() || peer.shows_all_ranks() && lined.is_none() {
        if begun.elapsed() > PATIENCE {
            children.iter_mut().for_each(|child| drop(child.kill()));
            let said = fs::read_to_string(&talk).unwrap_or_default();
            return Err(format!("not all ranks came; it said: {said}").into());
        }
        let mut fds = lines.open();
        fds.push(signs.as_fd());
        wait_readable(&fds, Duration::from_secs(1));
        for sign in signs.read() {
            ranks_seen.insert(sign.rank);
            if ranks_seen.len() == ranks as usize {
                signed.get_or_insert(sign.at);
            }
        }
        if lines.read() >= ranks as usize {
            lined.get_or_insert(Instant::now());
        }
    }
    for mut child in children {
        child.wait()?;
    }
    // Not before: what a launcher says at its end must have a place to go.
    drop(lines);
    let signed = signed.ok_or("no sign")?;
    Ok(Start { sign_ms: ms_between(begun, signed), line_ms: lined.map(|at| ms_between(begun, at)) })
}

/// The standard output of the launcher, or of all bare processes.
struct Lines {
    streams: Vec<Option<ChildStdout>>,
    text: Vec<u8>,
}

impl Lines {
    fn of(children: &mut [Child]) -> Self {
        let streams: Vec<_> = children.iter_mut().map(|child| child.stdout.take()).collect();
        for stream in streams.iter().flatten() {
            // A pipe of our own: reading it must not hold up the reading of signs.
            let _ = nix::fcntl::fcntl(stream, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK));
        }
        Self { streams, text: Vec::new() }
    }

    fn open(&self) -> Vec<BorrowedFd<'_>> {
        self.streams.iter().flatten().map(AsFd::as_fd).collect()
    }

    /// Reads what is there; answers with the number of ranks' lines so far.
    fn read(&mut self) -> usize {
        let mut chunk = [0; 8192];
        for stream in &mut self.streams {
            while let Some(open) = stream {
                match open.read(&mut chunk) {
                    Ok(0) => *stream = None,
                    Ok(n) => self.text.extend_from_slice(&chunk[..n]),
                    Err(_) => break,
                }
            }
        }
        String::from_utf8_lossy(&self.text).matches("line of rank ").count()
    }
}

fn median_of(entries: &[Entry], name: &str) -> Option<f64> {
    entries.iter().find(|entry| entry.peer.name() == name).map(|entry| entry.sign.median())
}

fn show(ranks: u32, entries: &[Entry], left_out: &[LeftOut]) {
    let bare = median_of(entries, "bare processes").unwrap_or(f64::NAN);
    let fermi = median_of(entries, "fermi run").unwrap_or(f64::NAN);
    let title = format!("First sign of the slowest of {ranks} ranks, ms");
    let columns = ["launcher", "median", "min", "max", "over bare", "times fermi", "its line on stdout"];
    let mut table = Table::new(&title, &columns);
    for Entry { peer, sign, line } in entries {
        let median = sign.median();
        table.row([
            peer.name().to_owned(),
            ms(median),
            ms(sign.least()),
            ms(sign.most()),
            ms(median - bare),
            format!("{:.1}", median / fermi),
            if peer.shows_all_ranks() { ms(line.median()) } else { "-".to_owned() },
        ]);
    }
    table.print();
    for LeftOut { name, why } in left_out {
        println!("  {name} is left out: {why}");
    }
}

fn promise(report: &mut Report, ranks: u32, entries: &[Entry]) {
    let (Some(bare), Some(fermi)) = (median_of(entries, "bare processes"), median_of(entries, "fermi run")) else {
        return;
    };
    if let Some(before) = median_of(entries, "fermi run, before") {
        report.compare(&format!("first line of the slowest of {ranks} ranks"), Better::Lower, (before, fermi), "ms");
        let over_bare = (before - bare, fermi - bare);
        report.compare(&format!("first line over bare, n = {ranks}"), Better::Lower, over_bare, "ms");
    }
    report.promise(&format!("first line over bare, n = {ranks}"), Bound::AtMost(4.0), fermi - bare, "ms");
    if ranks != 2 {
        return;
    }
    for (name, times) in [("torchrun", 50.0), ("deepspeed", 100.0), ("mpirun", 2.0)] {
        if let Some(other) = median_of(entries, name) {
            report.promise(&format!("first line, {name} / fermi, n = 2"), Bound::AtLeast(times), other / fermi, "x");
        }
    }
}

fn details(entries: &[Entry], left_out: &[LeftOut]) -> Value {
    let peers: serde_json::Map<String, Value> = entries
        .iter()
        .map(|entry| {
            (entry.peer.name().to_owned(), json!({ "signMs": entry.sign.json(), "lineMs": entry.line.json() }))
        })
        .collect();
    let left_out: Vec<Value> = left_out.iter().map(|gone| json!({ "name": gone.name, "why": gone.why })).collect();
    json!({ "launchers": peers, "leftOut": left_out })
}

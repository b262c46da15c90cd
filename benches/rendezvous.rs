//! How long thousands of nodes take to come together: a real coordinator, and simulated nodes that speak its language.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fermi_attempt::frame::Reading;
use fermi_attempt::greeting::{Greeting, LINK_VERSION};
use fermi_attempt::link::{self, JoinError, Link};
use fermi_attempt::node_message::NodeCommand;
use fermi_domain::language::Explained;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use crate::lab::{Lab, Trouble};
use crate::report::{Bound, Report, Table, ms};
use crate::stats::Samples;

/// Nodes in all, the coordinator's among them, and the promised time.
const SIZES: [(usize, f64); 4] = [(250, f64::NAN), (1_000, 2_000.0), (2_000, f64::NAN), (4_000, 10_000.0)];
const ROUNDS: usize = 3;
/// Nodes knock from several machines at once; the simulation has a few threads.
const THREADS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    allow_many_files()?;
    let rounds = lab.options.rounds.min(ROUNDS);
    let mut samples: Vec<Samples> = SIZES.iter().map(|_| Samples::default()).collect();
    for round in 0..rounds {
        lab.progress("rendezvous", round, rounds);
        for ((nodes, _), samples) in SIZES.iter().zip(&mut samples) {
            samples.push(come_together(lab, *nodes)?);
        }
    }
    let mut table = Table::new(
        "Nodes come together (simulated nodes, real coordinator): first knock to the last node's start, ms",
        &["nodes", "median", "min", "max", "per node"],
    );
    let mut details = Vec::new();
    for ((nodes, bound), samples) in SIZES.iter().zip(&samples) {
        let each = samples.median() / *nodes as f64;
        table.row([
            nodes.to_string(),
            ms(samples.median()),
            ms(samples.least()),
            ms(samples.most()),
            format!("{each:.3}"),
        ]);
        if !bound.is_nan() {
            report.promise(&format!("{nodes} nodes come together"), Bound::AtMost(*bound), samples.median(), "ms");
        }
        details.push(json!({ "nodes": nodes, "ms": samples.json() }));
    }
    table.print();
    report.keep("rendezvous", json!(details));
    Ok(())
}

fn come_together(lab: &Lab, nodes: usize) -> Result<f64, Trouble> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command: Command = lab.fermi_run();
    command.args(["--quiet", "--log-dir", "/dev/null", "--nproc-per-node", "1", "--node-rank", "0"]);
    command.args(["--nnodes", &nodes.to_string(), "--master-port", &port.to_string()]);
    command.args(["--no-python", "sleep", "600"]);
    let started = Instant::now();
    let mut coordinator = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let others: Vec<usize> = (1..nodes).collect();
    let all_started = std::thread::scope(|scope| {
        let shares: Vec<_> = others.chunks(others.len().div_ceil(THREADS)).collect();
        let threads: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || play_nodes(share, port))).collect();
        threads.into_iter().all(|thread| thread.join().is_ok_and(|played| played.is_ok()))
    });
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    // SAFETY: our own child, not yet waited for.
    unsafe { libc::kill(i32::try_from(coordinator.id())?, libc::SIGTERM) };
    coordinator.wait()?;
    if all_started { Ok(elapsed) } else { Err(format!("not all of {nodes} nodes were started").into()) }
}

/// Joins as each of these nodes, then waits until each is told to start.
fn play_nodes(nodes: &[usize], port: u16) -> Result<(), String> {
    let mut links = Vec::with_capacity(nodes.len());
    for node in nodes {
        links.push(knock(*node, port)?);
    }
    for link in &mut links {
        wait_for_start(link)?;
    }
    Ok(())
}

fn knock(node: usize, port: u16) -> Result<Link, String> {
    let greeting = Greeting {
        version: LINK_VERSION,
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        run: String::new(),
        secret: String::new(),
        nonce: None,
        name: format!("node{node}"),
        node_rank: u32::try_from(node).ok(),
        ranks: 8,
        tells_checkpoints: false,
        meets_at_hosted_store: true,
        role: None,
        terms: None,
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        match link::join("127.0.0.1", port, &greeting, "") {
            Ok(link) => return Ok(link),
            Err(JoinError::Refused(refusal)) => return Err(refusal.text().en.into_owned()),
            Err(error) if Instant::now() > deadline => return Err(error.to_string()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn wait_for_start(link: &mut Link) -> Result<(), String> {
    loop {
        let _ = poll(&mut [PollFd::new(link.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
        let (commands, reading) = link.receive::<NodeCommand>().map_err(|error| error.to_string())?;
        if commands.iter().any(|command| matches!(command, NodeCommand::Start(_))) {
            return Ok(());
        }
        if reading == Reading::Closed {
            return Err("the coordinator closed the link".to_owned());
        }
    }
}

fn allow_many_files() -> Result<(), Trouble> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most.min(20_000), most)?;
    Ok(())
}

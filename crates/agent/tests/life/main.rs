//! Agents and runs as real processes, against a server that is played here.
//!
//! This binary is the agent and the keepers too: an agent starts keepers from its own executable. That is why it brings
//! its own list of tests instead of the usual harness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod played_server;
mod world;

use std::ffi::OsString;
use std::time::Duration;

use fermi_agent::{AgentNews, AgentOptions, NoLink, StopFlag};
use fermi_domain::environment::EnvironmentKind;

type Test = (&'static str, fn());

const TESTS: [Test; 7] = [
    ("ranks_outlive_a_killed_agent_and_every_byte_arrives_once", world::outlive),
    ("a_stop_climbs_the_ladder_and_a_kill_leaves_nothing", world::stop_and_kill),
    ("a_newer_launch_waits_until_the_older_is_gone", world::fence),
    ("both_keepers_killed_at_once_leave_nothing", world::keepers_killed),
    ("a_launch_that_cannot_work_is_refused_with_a_sentence", world::refused_launch),
    ("an_agent_that_had_nothing_to_do_for_longer_than_a_lease_starts_a_run_with_one", world::idle_lease),
    ("an_idle_line_is_on_its_way_at_once", world::latency),
];

fn main() {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some(fermi_attempt::launcher::SUPERVISE) => fermi_attempt::launcher::supervise(&words[1..]).unwrap(),
        Some("agent") => be_agent(words[1].to_str().unwrap(), words[2].to_str().unwrap()),
        _ => run_tests(&words),
    }
}

fn be_agent(server: &str, data: &str) {
    let options = AgentOptions {
        server: server.parse().unwrap(),
        token: Some("geheim".to_owned()),
        fingerprint: None,
        name: "gn6".to_owned(),
        zone: None,
        kind: EnvironmentKind::Custom,
        image: None,
        labels: Default::default(),
        cpu_workers: 4,
        data_dir: data.into(),
        declared: None,
        address: Some("127.0.0.1".to_owned()),
        run_as: Default::default(),
    };
    let result = fermi_agent::run(options, StopFlag::new().unwrap(), |news| {
        if !matches!(news, AgentNews::NoLink(NoLink::Lost { .. })) {
            eprintln!("agent: {news:?}");
        }
    });
    result.unwrap();
}

/// Understands as much of the usual harness as test runners ask for.
fn run_tests(words: &[OsString]) {
    let has = |word: &str| words.iter().any(|known| known == word);
    if has("--list") {
        if !has("--ignored") {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return;
    }
    let filters: Vec<&str> = words.iter().filter_map(|w| w.to_str()).filter(|w| !w.starts_with('-')).collect();
    let chosen = TESTS.iter().filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(f)));
    for (name, test) in chosen {
        world::watchdog(name, Duration::from_secs(60));
        test();
        println!("test {name} ... ok");
    }
    world::watchdog("", Duration::ZERO);
}

//! Several machines with the same command on each: every order of starting, and everything that breaks between them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{self, Hosts, Place, Run, eventually, script};

const PORT: &str = "29555";

/// The options of the node with this rank in a run of so many nodes; rank 0 is on host 1.
fn node<'a>(nodes: &'a str, rank: &'a str) -> Vec<&'a str> {
    vec!["--nnodes", nodes, "--node-rank", rank, "--master-addr", "10.77.0.1", "--master-port", PORT]
}

/// A shell that says who it is.
fn says_who_it_is(mut command: Command) -> Command {
    command.args([
        "--tee",
        "3",
        "--no-python",
        "sh",
        "-c",
        "echo rank $RANK of $WORLD_SIZE local $LOCAL_RANK node $NODE_RANK",
    ]);
    command
}

/// The built-in trainer, slow enough to be disturbed.
fn trains(mut command: Command, steps: &str) -> Command {
    command.args(["--no-python", env!("CARGO_BIN_EXE_fermi"), "trainer", "--throttle", "10", "--global-batch", "6"]);
    command.args(["--checkpoint-every", "10", "--steps", steps]);
    command
}

/// The ranks have met, and there is something to resume from.
fn has_saved(first: &Run) {
    first.says("checkpoint of step");
}

/// Starts a run and waits until its keepers are up, which its note says.
fn comes_up(place: &Place, start: impl FnOnce() -> Run) -> Run {
    let before = place.live_notes();
    let run = start();
    eventually("the note on the run", || (!place.live_notes().is_subset(&before)).then_some(()));
    run
}

/// Every order in which these can be started.
fn orders(hosts: &[usize]) -> Vec<Vec<usize>> {
    if hosts.is_empty() {
        return vec![Vec::new()];
    }
    let begin_with = |first: usize| {
        let rest: Vec<usize> = hosts.iter().copied().filter(|host| *host != first).collect();
        orders(&rest).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    hosts.iter().copied().flat_map(begin_with).collect()
}

#[test]
fn the_report_of_the_first_node_says_where_on_another_the_log_lies() {
    let Some(hosts) = Hosts::new(2) else { return };
    let logs = tempfile::tempdir().unwrap();
    let start = |host: usize, rank: &str, logs: &[&str]| {
        let mut command = hosts.run(host, &node("2", rank));
        let script = "[ $RANK -eq 0 ] && sleep 600; echo no data >&2; exit 3";
        command.args(["-n", "1"]).args(logs).args(["--no-python", "sh", "-c", script]);
        Run::start(&mut command)
    };
    let first = start(1, "0", &[]);
    let second = start(2, "1", &["--log-dir", logs.path().to_str().unwrap()]);
    let said = first.ended().expect(1).says(&["rank 1 on gn2 ended with exit code 3", "on gn2: "]).err();
    let place = format!("on gn2: {}", logs.path().display());
    let joined: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(&place) && joined.contains("attempt_0/0/stderr.log"), "{said}");
    // At home it needs no name of a machine.
    let own = second.ended().expect(1).err();
    assert!(!own.contains("on gn2: ") && own.contains("stderr.log"), "{own}");
}

#[test]
fn four_nodes_may_start_in_any_order_and_have_unequal_ranks() {
    let Some(hosts) = Hosts::new(4) else { return };
    let ranks = ["1", "2", "1", "3"];
    let places = [(1, 0, 0), (2, 0, 1), (2, 1, 1), (3, 0, 2), (4, 0, 3), (4, 1, 3), (4, 2, 3)];
    let expected: Vec<String> = (0..)
        .zip(places)
        .map(|(rank, (host, local, node))| format!("[gn{host}:{rank}] rank {rank} of 7 local {local} node {node}"))
        .collect();
    let all = orders(&[1, 2, 3, 4]);
    assert_eq!(all.len(), 24);
    for order in all {
        let start = |host: usize| {
            let rank = (host - 1).to_string();
            let mut command = hosts.run(host, &node("4", &rank));
            command.args(["-n", ranks[host - 1]]);
            Run::start(&mut says_who_it_is(command))
        };
        let mut runs: Vec<Run> = Vec::new();
        let (last, before) = order.split_last().unwrap();
        for host in before {
            // The keepers of each are up before the next one starts.
            runs.push(comes_up(hosts.place(*host), || start(*host)));
        }
        runs.push(start(*last));
        let mut lines: Vec<String> = Vec::new();
        for run in runs {
            lines.extend(run.ended().expect(0).out().lines().map(str::to_owned));
        }
        lines.sort();
        assert_eq!(lines, expected, "started in the order {order:?}");
    }
}

#[test]
fn at_an_endpoint_nodes_are_numbered_as_they_come() {
    let Some(hosts) = Hosts::new(2) else { return };
    let options = ["--nnodes", "2", "--rdzv-endpoint", "10.77.0.1:29555", "--rdzv-backend", "c10d", "--rdzv-id", "job"];
    let second = Run::start(&mut says_who_it_is(hosts.run(2, &options)));
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &options)));
    assert_eq!(first.ended().expect(0).out(), "[gn1:0] rank 0 of 2 local 0 node 0\n");
    assert_eq!(second.ended().expect(0).out(), "[gn2:1] rank 1 of 2 local 0 node 1\n");
}

#[test]
fn while_waiting_it_says_who_is_missing_and_what_was_tried() {
    let Some(hosts) = Hosts::new(2) else { return };
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &node("2", "0"))));
    first.says("waiting for 1 more node on port 29555");
    first.signal(libc::SIGTERM);
    first.ended().expect(143);
    let second = Run::start(&mut says_who_it_is(hosts.run(2, &node("2", "1"))));
    second.says("the first node 10.77.0.1:29555 cannot be reached");
}

#[test]
fn a_dead_supervisor_is_known_on_all_nodes_within_a_second() {
    let Some(hosts) = Hosts::new(3) else { return };
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let mut options = node("3", &rank);
        options.push("--json");
        Run::start(&mut trains(hosts.run(host, &options), "5000"))
    };
    let runs: Vec<Run> = (1..=3).map(start).collect();
    for run in &runs {
        run.event("rank.started");
    }
    let supervisor = runs[1].event("run.started")["supervisorPid"].as_i64().unwrap();
    let killed = Instant::now();
    support::signal(i32::try_from(supervisor).unwrap(), libc::SIGKILL);
    for run in [&runs[0], &runs[2]] {
        let end = run.event("run.ended");
        assert_eq!(end["verdict"]["kind"]["type"], "supervisorLost", "{end}");
        assert_eq!(end["verdict"]["kind"]["node"], "gn2");
    }
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    for run in runs {
        run.ended().expect(1);
    }
    (1..=3).for_each(|host| hosts.place(host).assert_empty());
}

#[test]
fn a_node_that_was_cut_off_is_suspect_then_lost_and_taken_in_again() {
    let Some(hosts) = Hosts::new(2) else { return };
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let mut options = node("2", &rank);
        options.extend(["--json", "--node-lost-after", "5", "--max-restarts", "2"]);
        Run::start(&mut trains(hosts.run(host, &options), "5000"))
    };
    let (first, second) = (start(1), start(2));
    has_saved(&first);
    let cut = Instant::now();
    hosts.cut(2);
    first.event("node.suspect");
    assert!(cut.elapsed() < Duration::from_secs(5), "suspect after {:?}", cut.elapsed());
    let lost = first.event("node.lost");
    assert_eq!(lost["name"], "gn2");
    assert!(cut.elapsed() < Duration::from_secs(7), "lost after {:?}", cut.elapsed());
    // Its own ranks do not go on alone.
    second.says("connecting again");
    hosts.mend(2);
    first.event_count("attempt.started", 2);
    first.says("resumed from step");
    first.signal(libc::SIGINT);
    first.ended().expect(130);
    second.ended().expect(130);
    (1..=2).for_each(|host| hosts.place(host).assert_empty());
}

#[test]
fn a_short_cut_harms_nobody() {
    let Some(hosts) = Hosts::new(2) else { return };
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let mut options = node("2", &rank);
        options.extend(["--json", "--node-lost-after", "15"]);
        Run::start(&mut trains(hosts.run(host, &options), "150"))
    };
    let (first, second) = (start(1), start(2));
    has_saved(&first);
    hosts.cut(2);
    first.event("node.suspect");
    hosts.mend(2);
    first.event("node.back");
    let first = first.ended().expect(0);
    second.ended().expect(0);
    assert_eq!(first.events_named("attempt.started").len(), 1);
}

#[test]
fn when_the_first_host_dies_the_others_end_and_say_so() {
    let Some(hosts) = Hosts::new(2) else { return };
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let mut options = node("2", &rank);
        options.extend(["--json", "--node-lost-after", "5"]);
        Run::start(&mut trains(hosts.run(host, &options), "5000"))
    };
    let (first, second) = (start(1), start(2));
    has_saved(&first);
    hosts.cut(1);
    let cut = Instant::now();
    let second = second.ended().expect(1).says(&["the node 10.77.0.1 was lost"]);
    assert!(cut.elapsed() < Duration::from_secs(8), "{:?}", cut.elapsed());
    assert_eq!(second.events_named("run.ended").len(), 1);
    first.ended().expect(1).says(&["the node gn2 was lost"]);
    (1..=2).for_each(|host| hosts.place(host).assert_empty());
}

#[test]
fn ctrl_c_on_any_node_stops_all() {
    let Some(hosts) = Hosts::new(2) else { return };
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let mut options = node("2", &rank);
        options.push("--json");
        Run::start(&mut trains(hosts.run(host, &options), "5000"))
    };
    let (first, second) = (start(1), start(2));
    first.event("rank.started");
    second.event("rank.started");
    second.signal(libc::SIGINT);
    first.ended().expect(130);
    second.ended().expect(130);
    (1..=2).for_each(|host| hosts.place(host).assert_empty());
}

#[test]
fn an_elastic_run_goes_on_with_those_who_remain_and_takes_in_who_comes_back() {
    let Some(hosts) = Hosts::new(3) else { return };
    // One that comes back has a new folder, in which there is nothing to go on from.
    let shared = tempfile::tempdir().unwrap();
    let start = |host: usize| {
        let options = ["--nnodes", "1:3", "--rdzv-endpoint", "10.77.0.1:29555", "--rdzv-conf", "last_call_timeout=1"];
        let mut command = hosts.run(host, &options);
        command.args(["--json", "--max-restarts", "5", "--checkpoint-dir"]).arg(shared.path());
        Run::start(&mut trains(command, "5000"))
    };
    let runs: Vec<Run> = (1..=3).map(start).collect();
    has_saved(&runs[0]);
    runs[2].signal(libc::SIGKILL);
    let second_attempt = runs[0].event_count("attempt.started", 2).pop().unwrap();
    assert_eq!(second_attempt["resume"], true);
    runs[0].says("on 2 ranks");
    // It knocks until the next restart opens the door.
    let back = comes_up(hosts.place(3), || start(3));
    let rank = runs[0].event_count("rank.started", 2)[1]["pid"].as_i64().unwrap();
    support::signal(i32::try_from(rank).unwrap(), libc::SIGKILL);
    runs[0].event_count("attempt.started", 3);
    back.event("rank.started");
    eventually("three ranks again", || (runs[0].stderr_so_far().matches("on 3 ranks").count() >= 2).then_some(()));
    runs[0].signal(libc::SIGINT);
    for run in runs.into_iter().take(2).chain([back]) {
        run.ended().expect(130);
    }
    (1..=3).for_each(|host| hosts.place(host).assert_empty());
}

/// The firewall of the first host ends the link there, and the second hears nothing of it: it trains on until its lease is over.
#[test]
fn an_elastic_run_whose_link_was_reset_on_one_side_goes_on_when_the_other_sides_ranks_have_ended() {
    let Some(hosts) = Hosts::new(2) else { return };
    let shared = tempfile::tempdir().unwrap();
    let (beat, began) = (shared.path().join("beat"), shared.path().join("began"));
    let script = format!(
        "if [ $WORLD_SIZE -eq 1 ]; then date +%s%N > {began}; exit 0; fi; [ $RANK -eq 0 ] && exec sleep 600; \
         while true; do date +%s%N >> {beat}; done",
        began = began.display(),
        beat = beat.display()
    );
    let start = |host: usize| {
        let options = ["--nnodes", "1:2", "--rdzv-endpoint", "10.77.0.1:29555", "--rdzv-conf", "last_call_timeout=60"];
        let mut command = hosts.run(host, &options);
        command.args(["--node-lost-after", "8", "--max-restarts", "2", "-n", "1", "--no-python", "sh", "-c", &script]);
        Run::start(&mut command)
    };
    let (first, second) = (start(1), start(2));
    eventually("rank 1 to write", || beat.exists().then_some(()));
    hosts.reset_to(1, "10.77.0.2");
    first.says("gn2 is out of reach and has not said that its ranks have ended");
    second.says("this node's ranks were ended, connecting again");
    first.ended().expect(0);
    second.signal(libc::SIGTERM);
    second.ended().expect(143);
    // A rank that is killed leaves the beginning of a number at most.
    let last = |path: &std::path::Path| {
        let times = std::fs::read_to_string(path).unwrap();
        times.lines().filter(|line| line.len() == 19).filter_map(|line| line.parse::<u64>().ok()).max().unwrap()
    };
    let (wrote, next) = (last(&beat), last(&began));
    assert!(wrote < next, "rank 1 wrote at {wrote} and the next attempt began at {next}");
}

#[test]
fn a_taken_port_is_named_with_its_holder() {
    let Some(hosts) = Hosts::new(1) else { return };
    let holder = "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 29555)); s.listen(); print('up', flush=True); time.sleep(60)";
    let mut command = hosts.program(1, "python3");
    let holder = Run::start(command.args(["-c", holder]));
    holder.says("up");
    let refused = Run::whole(&mut says_who_it_is(hosts.run(1, &node("2", "0")))).expect(2);
    assert!(refused.err().starts_with("error: port 29555 is taken by process"), "{}", refused.err());
}

#[test]
fn a_name_that_does_not_resolve_is_said() {
    let Some(hosts) = Hosts::new(1) else { return };
    let options = ["--nnodes", "2", "--node-rank", "1", "--master-addr", "no-such-host.invalid", "--join-timeout", "1"];
    let ended = Run::whole(&mut says_who_it_is(hosts.run(1, &options))).expect(1);
    let ended = ended.says(&["the host name no-such-host.invalid does not resolve"]);
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
}

#[test]
fn a_node_that_never_comes_ends_the_wait_in_time() {
    let Some(hosts) = Hosts::new(1) else { return };
    let mut options = node("2", "0");
    options.extend(["--join-timeout", "2"]);
    let ended = Run::whole(&mut says_who_it_is(hosts.run(1, &options))).expect(1);
    assert!(ended.took < Duration::from_secs(6), "{:?}", ended.took);
}

#[test]
fn a_third_of_the_packets_lost_does_not_break_a_run() {
    let Some(hosts) = Hosts::new(2) else { return };
    (1..=2).for_each(|host| hosts.lose_every(host, 3));
    let second = Run::start(&mut says_who_it_is(hosts.run(2, &node("2", "1"))));
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &node("2", "0"))));
    assert_eq!(first.ended().expect(0).out(), "[gn1:0] rank 0 of 2 local 0 node 0\n");
    assert_eq!(second.ended().expect(0).out(), "[gn2:1] rank 1 of 2 local 0 node 1\n");
}

/// Somebody on the second host who connects and says these bytes; what comes back within a second is printed.
fn stranger(hosts: &Hosts, bytes: &[u8]) -> Command {
    let file = hosts.place(2).file("words", bytes);
    let talk = "import socket, sys; s = socket.create_connection(('10.77.0.1', 29555), 5); s.sendall(open(sys.argv[1], 'rb').read()); \
                s.settimeout(1)\ntry: print(s.recv(9999), flush=True)\nexcept OSError: print('silence', flush=True)\ns.settimeout(None); s.recv(1)";
    let mut command = hosts.program(2, "python3");
    command.arg("-c").arg(talk).arg(file);
    command
}

fn framed(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap().to_le_bytes();
    length.iter().copied().chain(json.bytes()).collect()
}

#[test]
fn silence_garbage_and_another_version_are_met_with_the_right_answer_and_do_no_harm() {
    let Some(hosts) = Hosts::new(2) else { return };
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &node("2", "0"))));
    first.says("waiting for 1 more node");
    let _silent = Run::start(&mut stranger(&hosts, b""));
    let _garbage = Run::start(&mut stranger(&hosts, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    let greeting = r#"{"version":99,"fermi":"9.9.9","run":"","secret":"","name":"gn2","nodeRank":1,"ranks":1}"#;
    let other = Run::start(&mut stranger(&hosts, &framed(greeting)));
    other.says("otherVersion");
    first.says("versions differ");
    let second = Run::start(&mut says_who_it_is(hosts.run(2, &node("2", "1"))));
    first.ended().expect(0);
    second.ended().expect(0);
}

#[test]
fn a_second_run_at_the_same_address_is_told_so() {
    let Some(hosts) = Hosts::new(2) else { return };
    let mut first = node("2", "0");
    first.extend(["--rdzv-id", "one"]);
    let mut other = node("2", "1");
    other.extend(["--rdzv-id", "two"]);
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &first)));
    first.says("waiting for 1 more node");
    Run::whole(&mut says_who_it_is(hosts.run(2, &other)))
        .expect(1)
        .says(&["another run waits at this address: it is 'one', this node wants 'two'"]);
    let mut wrong_secret = node("2", "1");
    wrong_secret.extend(["--rdzv-id", "one", "--rdzv-secret", "guess"]);
    Run::whole(&mut says_who_it_is(hosts.run(2, &wrong_secret)))
        .expect(1)
        .says(&["the rendezvous secret is not that of the first node", "check --rdzv-secret"]);
    first.signal(libc::SIGTERM);
    first.ended().expect(143);
}

#[test]
fn nodes_prove_that_they_know_the_secret_and_older_ones_are_told_to_update() {
    let Some(hosts) = Hosts::new(2) else { return };
    let with_secret = |rank: &'static str| {
        let mut options = node("2", rank);
        options.extend(["--rdzv-secret", "word"]);
        options
    };
    let first = Run::start(&mut says_who_it_is(hosts.run(1, &with_secret("0"))));
    first.says("waiting for 1 more node");
    let greeting = r#"{"version":1,"fermi":"0.0.9","run":"","secret":"word","name":"gn2","nodeRank":1,"ranks":1}"#;
    let older = Run::start(&mut stranger(&hosts, &framed(greeting)));
    older.says("otherVersion");
    first.says("update fermi there");
    Run::whole(&mut says_who_it_is(hosts.run(2, &node("2", "1"))))
        .expect(1)
        .says(&["the rendezvous secret is not that of the first node"]);
    let second = Run::start(&mut says_who_it_is(hosts.run(2, &with_secret("1"))));
    assert_eq!(first.ended().expect(0).out(), "[gn1:0] rank 0 of 2 local 0 node 0\n");
    assert_eq!(second.ended().expect(0).out(), "[gn2:1] rank 1 of 2 local 0 node 1\n");
}

#[test]
fn real_torch_trains_over_two_hosts_with_two_and_one_ranks() {
    let Some(hosts) = Hosts::new(2) else { return };
    let start = |host: usize, ranks: &str| {
        let rank = (host - 1).to_string();
        let mut options = node("2", &rank);
        options.extend(["-n", ranks, "--tee", "1"]);
        let mut command = hosts.run(host, &options);
        command.env("PYTHON_EXEC", support::torch_python()).arg(script("torch_ddp.py"));
        Run::start(&mut command)
    };
    let (first, second) = (start(1, "2"), start(2, "1"));
    let finals: Vec<String> = [first, second]
        .into_iter()
        .flat_map(|run| run.ended().expect(0).out().lines().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| Some(line[line.find("final rank")?..].to_owned()))
        .collect();
    assert_eq!(finals.len(), 3, "{finals:?}");
    let result = |line: &str| line[line.find("loss").unwrap()..].to_owned();
    assert!(finals.iter().all(|line| result(line) == result(&finals[0])), "{finals:?}");
}

//! `fermi launch-multi-node` over a real ssh server: addresses of the loopback are the hosts.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::sshd::{self, BARE, HOSTS, OLD, Sshd};
use crate::support::{Place, Process, Run, eventually, script, signal};
use serde_json::Value;

/// A launch on these hosts, with the first as master; the script and its arguments still have to be added.
fn launch(place: &Place, sshd: &Sshd, hosts: &[(&str, u32)], options: &[&str]) -> Command {
    let list: Vec<String> = hosts.iter().map(|(host, slots)| format!("{host}:{slots}")).collect();
    let mut command = place.fermi(["launch-multi-node", hosts[0].0, "auto", "auto", "--hosts", &list.join(",")]);
    command.args(sshd.options()).args(["--master-port", &sshd::free_port().to_string(), "-x", "FERMI_TEST_MARK"]);
    command.args(options);
    command
}

const TWO: [(&str, u32); 2] = [(HOSTS[0], 2), (HOSTS[1], 1)];

/// Three ranks of `polite.py` on two hosts, all ready.
fn polite(place: &Place, sshd: &Sshd, options: &[&str], leaves_on: &str) -> Run {
    let mut command = launch(place, sshd, &TWO, options);
    command.env("HF_TOKEN", TOKEN).arg(script("polite.py")).arg(place.work()).arg(leaves_on);
    let run = Run::start(&mut command);
    eventually(&format!("three ranks are ready: {}", run.stderr_so_far()), || {
        (0..3).all(|rank| place.work().join(format!("{rank}.ready")).exists()).then_some(())
    });
    run
}

const TOKEN: &str = "hf_this_is_nobodys_business";

fn signals(place: &Place) -> Vec<String> {
    (0..3).map(|rank| fs::read_to_string(place.work().join(format!("{rank}.signals"))).unwrap_or_default()).collect()
}

fn everything_is_gone(place: &Place) {
    eventually("nothing is left on any host", || place.alive().is_empty().then_some(()));
}

#[test]
fn ranks_on_two_hosts_get_their_places_their_words_and_their_environment() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let words = ["two words", "it's \"so\"", "训练", "$(id) `id` $HOME", "line\nbreak", "", "--nnodes", "~/a*"];
    let mut command = launch(&place, &sshd, &TWO, &["-x", "FERMI_TELL", "-x", "GREETING=你 好 '$x'"]);
    command.env("FERMI_TELL", place.path()).env("NCCL_DEBUG", "WARN two").env("NOT_ASKED_FOR", "1");
    command.arg(script("tell.py")).args(words);
    let ended = Run::whole(&mut command).expect(0);
    for rank in 0..3u32 {
        let told: Value =
            serde_json::from_slice(&fs::read(place.path().join(format!("{rank}.json"))).unwrap()).unwrap();
        let env = &told["env"];
        let (node, local) = if rank < 2 { ("0", rank) } else { ("1", 0) };
        assert_eq!(env["WORLD_SIZE"], "3", "{}", ended.err());
        assert_eq!(
            (env["NODE_RANK"].as_str(), env["LOCAL_RANK"].as_str()),
            (Some(node), Some(local.to_string().as_str()))
        );
        assert_eq!(env["MASTER_ADDR"], HOSTS[0]);
        assert_eq!(env["NCCL_DEBUG"], "WARN two");
        assert_eq!(latin(&env["GREETING"]), "你 好 '$x'");
        assert_eq!(env["NOT_ASKED_FOR"], Value::Null);
        assert_eq!(told["folder"].as_str(), place.work().canonicalize().unwrap().to_str());
        let argv: Vec<String> = told["argv"].as_array().unwrap().iter().skip(1).map(latin).collect();
        assert_eq!(argv, words);
    }
    everything_is_gone(&place);
}

/// `tell.py` writes bytes as Latin letters.
fn latin(value: &Value) -> String {
    let bytes: Vec<u8> = value.as_str().unwrap().chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn output_comes_behind_the_hosts_name_and_events_with_it() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let hello = place.file("hello.py", "import os\nprint('hello from', os.environ['RANK'])\n");
    let ended = Run::whole(launch(&place, &sshd, &TWO, &[]).arg(&hello)).expect(0);
    assert!(ended.out().contains("[127.0.0.2] hello from 0\n"), "{}", ended.out());
    assert!(ended.out().contains("[127.0.0.3] hello from 2\n"), "{}", ended.out());
    let ended = ended.says(&["fermi: 3 ranks: 127.0.0.2:2 127.0.0.3:1 · master 127.0.0.2:"]);
    assert!(!ended.err().contains("error"), "{}", ended.err());
    let ended = Run::whole(launch(&place, &sshd, &TWO, &["--json"]).arg(&hello)).expect(0);
    let ends = ended.events_named("run.ended");
    assert!(ends.iter().any(|event| event["host"] == HOSTS[0] && event["outcome"] == "succeeded"), "{ends:?}");
    let started: Vec<Value> =
        ended.events_named("rank.started").into_iter().map(|event| event["host"].clone()).collect();
    assert!(started.contains(&HOSTS[1].into()), "{started:?}");
}

#[test]
fn a_failing_rank_on_the_second_host_is_named_with_its_log() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let fails =
        "import os, time\nif os.environ['RANK'] == '2':\n    raise ValueError('the shape is wrong')\ntime.sleep(60)\n";
    let fails = place.file("fails.py", fails);
    let ended = Run::whole(launch(&place, &sshd, &TWO, &[]).arg(fails)).expect(1);
    let ended = ended.says(&["rank 2 on", "exit code 1", "ValueError: the shape is wrong", "127.0.0.3:/"]);
    assert_eq!(ended.err().matches('✗').count(), 1, "one report: {}", ended.err());
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    everything_is_gone(&place);
}

#[test]
fn one_ctrl_c_stops_all_hosts_and_secrets_are_in_nobodys_list_of_processes() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let run = polite(&place, &sshd, &[], "SIGINT:0.2");
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let shown = lines.filter(|line| String::from_utf8_lossy(line).contains(TOKEN)).count();
    assert_eq!(shown, 0, "the token is on a command line");
    run.signal(libc::SIGINT);
    run.ended().expect(130).says(&["stopping all hosts (SIGINT)"]);
    assert_eq!(signals(&place), ["SIGINT\n"; 3]);
    everything_is_gone(&place);
}

#[test]
fn a_second_ctrl_c_kills_what_does_not_want_to_stop() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let run = polite(&place, &sshd, &[], "never");
    run.signal(libc::SIGINT);
    eventually("all were asked", || (signals(&place) == ["SIGINT\n"; 3]).then_some(()));
    let second = Instant::now();
    run.signal(libc::SIGINT);
    run.ended().expect(130);
    assert!(second.elapsed() < Duration::from_secs(10), "{:?}", second.elapsed());
    everything_is_gone(&place);
}

#[test]
fn a_launcher_that_is_killed_leaves_nothing_on_any_host() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let run = polite(&place, &sshd, &[], "SIGTERM");
    run.signal(libc::SIGKILL);
    assert_eq!(run.ended().signal(), Some(libc::SIGKILL));
    everything_is_gone(&place);
    assert_eq!(signals(&place), ["SIGTERM\n"; 3], "they were asked, as by SIGTERM");
}

#[test]
fn a_connection_that_breaks_ends_the_run_and_is_named() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let run = polite(&place, &sshd, &[], "SIGTERM");
    let is_second = |process: &Process| {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("ssh\0") && line.contains(&format!("\0{}\0", HOSTS[1]))
    };
    let second = place.alive().into_iter().find(is_second).expect("an ssh to the second host");
    signal(second.pid, libc::SIGKILL);
    run.ended().expect(1).says(&["the ssh connection to 127.0.0.3 broke"]);
    everything_is_gone(&place);
}

#[test]
fn hosts_that_are_not_ready_are_listed_and_nothing_starts() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let good = place.file("good.py", "open('ran', 'w')\n");
    let hosts = [(HOSTS[0], 1), ("127.0.0.99", 1), ("no-such-host.invalid", 1), (BARE, 1), (OLD, 1)];
    let options = ["--connect-timeout", "3", "--master-addr", "127.0.0.2"];
    let ended = Run::whole(launch(&place, &sshd, &hosts, &options).arg(&good)).expect(7);
    assert!(ended.took < Duration::from_secs(20), "{:?}", ended.took);
    let ended = ended.says(&[
        "4 of 5 hosts are not ready; nothing was started",
        "127.0.0.2             ready",
        "127.0.0.99            cannot be reached: ",
        "Connection refused",
        "no-such-host.invalid  cannot be reached: ",
        "127.0.0.4             there is no fermi (looked for fermi, ~/.cache/fermi/bin/",
        "fermi is fermi 0.0.1, this is fermi ",
        "--copy-binary",
    ]);
    assert_eq!(ended.out(), "");
    assert!(!place.work().join("ran").exists());
}

#[test]
fn a_host_that_drops_everything_is_given_up_after_the_connect_time() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let good = place.file("good.py", "");
    // Listens and never answers: ssh waits for the other side's greeting.
    let silent = std::net::TcpListener::bind("127.0.0.77:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut command =
        place.fermi(["launch-multi-node", "127.0.0.77", "1", "1", "--hosts", "127.0.0.77", "--connect-timeout", "2"]);
    command.args(sshd.options().iter().filter(|option| !option.starts_with("--ssh-port")));
    let ended = Run::whole(command.arg(format!("--ssh-port={port}")).arg(&good)).expect(7);
    assert!(ended.took < Duration::from_secs(10), "{:?}", ended.took);
    ended.says(&["127.0.0.77  cannot be reached: ", "ssh HOST true"]);
}

#[test]
fn a_script_or_folder_that_is_missing_there_is_said_before_the_start() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    Run::whole(launch(&place, &sshd, &TWO, &[]).arg("nowhere.py"))
        .expect(2)
        .says(&["2 of 2 hosts", "127.0.0.3  the script nowhere.py does not exist"]);
    Run::whole(launch(&place, &sshd, &TWO, &["--chdir", "/no/such/folder"]).arg("a.py"))
        .expect(2)
        .says(&["there is no folder /no/such/folder", "--chdir"]);
}

#[test]
fn the_binary_is_copied_when_asked_and_found_again_later() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let hello = place.file("hello.py", "import os\nprint('rank', os.environ['RANK'])\n");
    let hosts = [(BARE, 1), (OLD, 1)];
    let ended = Run::whole(launch(&place, &sshd, &hosts, &["--copy-binary"]).arg(&hello)).expect(0);
    assert!(
        ended.out().contains("[127.0.0.4] rank 0\n") && ended.out().contains("[127.0.0.5] rank 1\n"),
        "{}",
        ended.out()
    );
    let copy = sshd::bare_home(&place).join(format!(".cache/fermi/bin/{}", env!("CARGO_PKG_VERSION")));
    let files: Vec<_> = fs::read_dir(copy).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(files, ["fermi"], "no drafts are left");
    Run::whole(launch(&place, &sshd, &hosts, &[]).arg(&hello)).expect(0);
}

/// `fermi run` on a leash, with two ranks that leave on any of the usual signals.
fn on_a_leash(place: &Place, leaves_on: &str) -> Run {
    let mut command = place.run(["-n", "2", "--stop-on-stdin-eof"]);
    command.arg(script("polite.py")).arg(place.work()).arg(leaves_on).stdin(std::process::Stdio::piped());
    Run::start_as_it_is(&mut command)
}

#[test]
fn a_run_on_a_leash_stops_as_by_sigterm_when_it_is_let_go() {
    let place = Place::new();
    let mut run = on_a_leash(&place, "SIGTERM");
    let leash = run.stdin();
    eventually("both are ready", || {
        (0..2).all(|rank| place.work().join(format!("{rank}.ready")).exists()).then_some(())
    });
    drop(leash);
    run.ended().expect(143);
    everything_is_gone(&place);
}

#[test]
fn a_tug_that_comes_with_the_start_is_felt() {
    let place = Place::new();
    let mut run = on_a_leash(&place, "SIGINT");
    let mut leash = run.stdin();
    std::io::Write::write_all(&mut leash, &[2]).unwrap();
    run.ended().expect(130);
    drop(leash);
    everything_is_gone(&place);
}

#[test]
fn this_machine_is_started_without_ssh() {
    let place = Place::new();
    let hello = place.file("hello.py", "import sys\nprint('read', sys.stdin.read(), 'end')\n");
    let port = sshd::free_port().to_string();
    let mut command =
        place.fermi(["launch-multi-node", "localhost", "1", "2", "--master-port", &port, "--ssh", "/bin/false"]);
    let ended = Run::whole(command.arg(&hello)).expect(0);
    assert!(ended.out().contains("[localhost] read  end"), "rank 0 has nothing to read: {}", ended.out());
}

#[test]
fn a_port_that_is_taken_is_refused_by_the_master_and_the_others_are_stopped() {
    let place = Place::new();
    let Some(sshd) = Sshd::start(&place) else { return };
    let good = place.file("good.py", "");
    let holder = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let mut command = place.fermi([
        "launch-multi-node",
        HOSTS[0],
        "2",
        "1",
        "--hosts",
        "127.0.0.2,127.0.0.3",
        "--master-port",
        &port,
    ]);
    let ended = Run::whole(command.args(sshd.options()).arg(&good)).expect(2);
    ended.says(&["127.0.0.2: port", "is taken by process"]);
    everything_is_gone(&place);
}

#[test]
fn what_would_be_started_is_shown_without_values_of_variables() {
    let place = Place::new();
    let mut command =
        place.fermi(["launch-multi-node", "gn6", "2", "4", "--hosts", "gn6:4,me@gn7:2", "--dry-run", "-x", "A=secret"]);
    command.env_remove("PYTHON_EXEC").env_remove("FERMI_STATE_DIR").args([
        "--max-restarts",
        "3",
        "my train.py",
        "--lr",
        "1",
    ]);
    let ended = Run::whole(&mut command).expect(0);
    let work = place.work().canonicalize().unwrap().display().to_string();
    insta::assert_snapshot!(ended.out().replace(&work, "WORK"), @r"
    gn6 (4)
      ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=7 -T -x -- gn6
      cd WORK
      export A FERMI_RDZV_SECRET FERMI_LANG
      fermi run --nnodes=2 --node-rank=0 --master-addr=gn6 --master-port=29500 --nproc-per-node=4 --max-restarts=3 --json --stop-on-stdin-eof 'my train.py' --lr 1

    gn7 (2)
      ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o ServerAliveCountMax=7 -T -x -- me@gn7
      cd WORK
      export A FERMI_RDZV_SECRET FERMI_LANG
      fermi run --nnodes=2 --node-rank=1 --master-addr=gn6 --master-port=29500 --nproc-per-node=2 --max-restarts=3 --json --stop-on-stdin-eof 'my train.py' --lr 1
    ");
}

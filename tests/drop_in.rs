//! Commands as people write them for other launchers: they do the same here, or are refused with the sentence that helps.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Hosts, Place, Run, sshd::free_port};

/// Options by which nodes meet at an address of this machine.
fn at(nodes: &str, endpoint: &str) -> Vec<String> {
    let words = ["--nnodes", nodes, "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "job"];
    words.map(str::to_owned).to_vec()
}

/// A shell that says who it is, with every line in one write.
fn says_who_it_is(mut command: Command) -> Command {
    let line = "echo rank $RANK of $WORLD_SIZE node $GROUP_RANK at $MASTER_ADDR";
    command.args(["--tee", "3", "--log-line-prefix-template", "", "--no-python", "sh", "-c", line]);
    command
}

fn lines_of(runs: Vec<Run>) -> Vec<String> {
    let mut lines: Vec<String> = runs
        .into_iter()
        .flat_map(|run| run.ended().expect(0).out().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines.sort();
    lines
}

#[test]
fn agents_of_one_machine_meet_at_one_endpoint_and_the_first_one_hosts() {
    for (nodes, per_node, host) in [(2usize, 2usize, "localhost"), (3, 1, "127.0.0.1"), (5, 1, "::1")] {
        let place = Place::new();
        let endpoint = fermi_endpoint(host);
        let start = |_| {
            let mut command = place.run(at(&nodes.to_string(), &endpoint));
            command.args(["-n", &per_node.to_string()]);
            Run::start(&mut says_who_it_is(command))
        };
        let lines = lines_of((0..nodes).map(start).collect());
        let world = nodes * per_node;
        let expected: Vec<String> =
            (0..world).map(|rank| format!("rank {rank} of {world} node {} at {host}", rank / per_node)).collect();
        assert_eq!(lines, expected);
    }
}

fn fermi_endpoint(host: &str) -> String {
    let port = free_port();
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[test]
fn an_agent_of_another_run_at_the_same_endpoint_is_told_which_run_waits_there() {
    let place = Place::new();
    let endpoint = fermi_endpoint("localhost");
    let first = Run::start(&mut says_who_it_is(place.run(at("2", &endpoint))));
    first.says("waiting for 1 more node");
    let mut other = at("2", &endpoint);
    *other.last_mut().unwrap() = "other".to_owned();
    let ended = Run::whole(&mut says_who_it_is(place.run(other)));
    ended.expect(1).says(&["another run waits at this address: it is 'job', this node wants 'other'"]);
    let second = Run::start(&mut says_who_it_is(place.run(at("2", &endpoint))));
    assert_eq!(lines_of(vec![first, second]).len(), 2);
}

#[test]
fn worker_0_is_a_name_like_any_other() {
    let place = Place::new();
    let script = place.file("t.py", "print('started')\n");
    for hosts in ["worker-0:2,worker-1:2", "worker-0:2", "localhost:2,gn7:2"] {
        let ended = Run::whole(place.run(["-np", "4", "-H", hosts]).arg(&script)).expect(2);
        assert!(ended.out().is_empty());
        ended.says(&["is not this machine", "fermi launch-multi-node auto auto auto --hostfile"]);
    }
    let hosts = place.file("hf", "worker-0 slots=2\n");
    Run::whole(place.run(["-H", "hf"]).arg(&script)).expect(2).says(&["hf is a file of hosts", "--hostfile hf"]);
    Run::whole(place.run(["--hostfile"]).arg(hosts).arg(&script))
        .expect(2)
        .says(&["fermi launch-multi-node auto auto auto --hostfile"]);
    let ended = Run::whole(place.run(["-H", "localhost:1,localhost:2", "--tee", "1"]).arg(&script)).expect(0);
    assert_eq!(ended.out().matches("started").count(), 3);
}

#[test]
fn an_endpoint_named_worker_0_is_where_that_name_leads() {
    let Some(hosts) = Hosts::new(2) else { return };
    let names = hosts.place(1).file("hosts", "127.0.0.1 localhost\n10.77.0.1 worker-0\n");
    let start = |host: usize| {
        let mut command = hosts.program(host, "unshare");
        let shell = format!("mount --bind {} /etc/hosts && exec \"$@\"", names.display());
        command.args(["-m", "sh", "-c", &shell, "-", env!("CARGO_BIN_EXE_fermi"), "run"]);
        command.args(at("2", "worker-0:29555"));
        Run::start(&mut says_who_it_is(command))
    };
    let runs = vec![start(1), start(2)];
    assert_eq!(lines_of(runs), ["rank 0 of 2 node 0 at worker-0", "rank 1 of 2 node 1 at worker-0"]);
}

#[test]
fn two_hosts_without_ipv4_meet_and_find_rank_0() {
    let Some(hosts) = Hosts::new(2) else { return };
    for host in [1, 2] {
        let address = format!("fd77::{host}/64");
        let mut shell = hosts.program(host, "sh");
        shell.args([
            "-c",
            &format!("ip addr flush dev eth0 && ip addr add {address} dev eth0 nodad && ip link set lo up"),
        ]);
        Run::whole(&mut shell).expect(0);
    }
    for (rank_0, rank_1) in [
        (vec!["--node-rank", "0", "--master-addr", "fd77::1"], vec!["--node-rank", "1", "--master-addr", "[fd77::1]"]),
        (vec!["--rdzv-endpoint", "[fd77::1]:29500"], vec!["--rdzv-endpoint", "[fd77::1]:29500"]),
    ] {
        let start = |host: usize, options: Vec<&str>| {
            let mut command = hosts.run(host, &["--nnodes", "2", "--join-timeout", "60"]);
            command.args(options);
            Run::start(&mut says_who_it_is(command))
        };
        let runs = vec![start(2, rank_1), start(1, rank_0)];
        assert_eq!(lines_of(runs), ["rank 0 of 2 node 0 at fd77::1", "rank 1 of 2 node 1 at fd77::1"]);
    }
}

#[test]
fn an_address_in_brackets_reaches_ranks_without_them() {
    let place = Place::new();
    let script = place.file("t.py", "import os\nprint(os.environ['MASTER_ADDR'])\n");
    for given in ["[::1]", "::1"] {
        let ended = Run::whole(place.run(["--master-addr", given]).arg(&script)).expect(0);
        assert_eq!(ended.out(), "::1\n");
        assert!(ended.err().contains("master [::1]:"), "{}", ended.err());
    }
}

#[test]
fn a_start_up_error_of_a_later_attempt_is_tried_again() {
    let place = Place::new();
    let script = place.file(
        "second.py",
        "import os, sys\n\
         attempt = int(os.environ['FERMI_ATTEMPT'])\n\
         if attempt == 1: os.kill(os.getpid(), 11)\n\
         if attempt == 2: open('/nowhere/share')\n\
         print('fine')\n",
    );
    let ended = Run::whole(place.run(["-n", "1", "--max-restarts", "3"]).arg(&script)).expect(0);
    assert!(ended.out().contains("fine"));
    // In the first attempt it is taken for what it says.
    let script = place.file("first.py", "open('/nowhere/share')\n");
    let ended = Run::whole(place.run(["--max-restarts", "3"]).arg(&script)).expect(1);
    ended.says(&["not restarted: this start-up error would only repeat"]);
}

#[test]
fn a_node_that_leaves_an_elastic_run_politely_does_not_end_it() {
    let place = Place::new();
    let endpoint = fermi_endpoint("localhost");
    let script = place.file(
        "elastic.py",
        "import os, time\n\
         print('world', os.environ['WORLD_SIZE'], 'restart', os.environ['TORCHELASTIC_RESTART_COUNT'], flush=True)\n\
         time.sleep(0.2 if os.environ['WORLD_SIZE'] == '1' else 1000)\n",
    );
    let start = || {
        let mut options = at("1:2", &endpoint);
        // No restart is allowed: none is needed for it.
        options.extend(["--rdzv-conf", "last_call_timeout=60", "--tee", "1", "--max-restarts", "0"].map(str::to_owned));
        Run::start(place.run(options).arg(&script))
    };
    let first = start();
    first.says("waiting for 1 more node");
    let second = start();
    first.says("world 2 restart 0");
    second.says("world 2 restart 0");
    second.signal(libc::SIGTERM);
    second.ended().expect(143);
    let ended = first.ended().expect(0);
    assert!(ended.out().contains("world 1 restart 1"), "{}", ended.out());
    ended.says(&["got SIGTERM and leaves the run; the others stop and go on without it"]);
}

#[test]
fn too_few_nodes_end_with_the_one_that_is_stopped() {
    let place = Place::new();
    let endpoint = fermi_endpoint("localhost");
    let start = || {
        let mut command = place.run(at("2:3", &endpoint));
        command.args(["--rdzv-conf", "last_call_timeout=0", "--no-python", "sh", "-c", "echo up; exec sleep 1000"]);
        Run::start(&mut command)
    };
    let first = start();
    first.says("waiting for 2 more nodes");
    let second = start();
    first.says("up");
    second.signal(libc::SIGTERM);
    second.ended().expect(143);
    first.ended().expect(143);
}

#[test]
fn what_ranks_leave_running_is_ended_with_a_word_and_helpers_that_end_by_themselves_without() {
    let place = Place::new();
    let leaves = |seconds: &str| {
        let text = format!("import subprocess\nsubprocess.Popen(['sleep', '{seconds}'], start_new_session=True)\n");
        place.file("leaves.py", text)
    };
    let ended = Run::whole(place.run(["-n", "2"]).arg(leaves("1000"))).expect(0);
    ended.says(&["2 processes that ranks left running were ended: sleep 1000; sleep 1000"]);
    place.assert_empty();
    let ended = Run::whole(place.run(["-n", "2"]).arg(leaves("0.05"))).expect(0);
    assert!(!ended.err().contains("left running"), "{}", ended.err());
}

#[test]
fn without_a_home_that_can_be_written_logs_go_to_a_private_temporary_folder() {
    let place = Place::new();
    let script = place.file("t.py", "print('fine')\n");
    for home in [None, Some("/proc/nowhere")] {
        let mut command = place.run([&script]);
        command.env_remove("FERMI_STATE_DIR").env_remove("HOME").env("TMPDIR", place.path());
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let ended = Run::whole(&mut command).expect(0);
        assert_eq!(ended.out(), "fine\n");
        let folder = place.path().join(format!("fermi-{}", nix::unistd::geteuid()));
        ended.says(&["there is no HOME to write to, so logs are kept in", &folder.display().to_string()]);
        assert!(fs::read_dir(folder.join("runs")).unwrap().count() >= 1);
    }
}

#[test]
fn of_an_option_that_is_given_twice_the_last_one_counts() {
    let place = Place::new();
    let script = place.file("t.py", "import os\nprint(os.environ['WORLD_SIZE'], os.environ['A'], os.environ['B'])\n");
    let words = ["--nproc_per_node", "8", "--standalone", "-x", "A=1", "--standalone", "-n", "2", "-x", "B=2"];
    let ended = Run::whole(place.run(words).arg(&script)).expect(0);
    assert_eq!(ended.out(), "2 1 2\n");
}

#[test]
fn a_link_named_torchrun_is_fermi_run_and_one_named_mpirun_is_not() {
    let place = Place::new();
    let script = place.file("t.py", "import os, sys\nprint(os.environ['WORLD_SIZE'], sys.argv[1:])\n");
    for name in ["torchrun", "mpirun"] {
        symlink(env!("CARGO_BIN_EXE_fermi"), place.path().join(name)).unwrap();
    }
    let mut command = place.program(place.path().join("torchrun"));
    let ended =
        Run::whole(command.args(["--nproc_per_node=2", "--redirect", "0"]).arg(&script).args(["-n", "7"])).expect(0);
    assert_eq!(ended.out(), "2 ['-n', '7']\n");
    let mut command = place.program(place.path().join("torchrun"));
    Run::whole(command.args(["--nproc_per_node=x"]).arg(&script)).expect(2).says(&["--nproc-per-node cannot be 'x'"]);
    let mut command = place.program(place.path().join("mpirun"));
    Run::whole(command.args(["-np", "2"]).arg(&script)).expect(2).says(&["called as mpirun", "fermi run"]);
    // The real one is meant, which is not here.
    let mut command = place.run(["--use-torchrun"]);
    command.env("PATH", place.path());
    Run::whole(command.arg(&script)).expect(2).says(&["torchrun"]);
}

#[test]
fn as_many_ranks_start_as_mpirun_is_told_by_node() {
    let place = Place::new();
    let script = place.file("t.py", "import os\nprint(os.environ['WORLD_SIZE'])\n");
    let two: [&[&str]; 5] = [
        &["--map-by", "ppr:2:node"],
        &["--ppr", "2:node"],
        &["-npernode", "2"],
        &["-N", "2", "--rank-by", "slot"],
        &["-np", "2", "--map-by", "ppr:4:node:PE=2"],
    ];
    for options in two {
        assert_eq!(Run::whole(place.run(options).arg(&script)).expect(0).out(), "2\n", "{options:?}");
    }
}

#[test]
fn options_of_other_launchers_are_refused_with_what_to_do_instead() {
    let place = Place::new();
    let script = place.file("t.py", "");
    let table: [(&[&str], &str); 21] = [
        // mpirun's, which decide how many ranks start.
        (&["--map-by", "ppr:2:socket"], "else give the number of all with -np"),
        (&["--npersocket", "2"], "give the number of all with -np"),
        (&["-np", "4", "--map-by", "ppr:2:node"], "two different numbers of processes were given: 4 and 2"),
        (&["--map-by", "banana"], "use one of: slot, hwthread, core"),
        (&["--logs-specs", "nonsense"], "use one of: default"),
        (&["--launcher", "pdsh"], "fermi launch-multi-node"),
        // Words that mean something else here.
        (&["--timeout", "60", "-np", "2"], "--timeout needs --framework"),
        (&["--timeout", "60", "-np", "2"], "to limit the time use the command timeout"),
        (&["-timeout", "60", "-np", "2"], "-timeout is an option of mpirun"),
        (&["-i", "key.pem"], "--include cannot be 'key.pem'"),
        (&["--min_elastic_nodes", "2"], "for a range of nodes use --nnodes 2:4"),
        (&["--elastic_training"], "for a range of nodes use --nnodes 2:4"),
        // The word that was typed is blamed, and no flag that it becomes.
        (&["--numa-binding", "bogus"], "--numa-binding cannot be 'bogus'"),
        (&["--numa-binding", "bogus"], "use one of: node, socket, exclusive, core-complex"),
        (&["--num_gpus", "x"], "--num_gpus cannot be 'x'"),
        (&["--gpu_ids", "a,b"], "--gpu_ids cannot be 'a,b'"),
        (&["--network-interfaces", "lo"], "--network-interfaces needs --framework"),
        (&["--rdzv-backend", "etcd", "--nnodes", "2", "--rdzv-endpoint", "localhost:2379"], "names a training machine"),
        (&["--rdzv-conf", "garbage", "--nnodes", "2", "--node-rank", "0"], "KEY=VALUE"),
        (&["-np", "2", "python"], "leave the word python out"),
        (&["-m", "pkg/mod.py"], "-m pkg.mod"),
    ];
    for (options, sentence) in table {
        Run::whole(place.run(options).arg(&script)).expect(2).says(&[sentence]);
    }
    let words = ["--dry-run", "--framework", "pytorch-ddp", "--timeout", "60"];
    Run::whole(place.run(words).arg(&script))
        .expect(0)
        .says(&["--timeout 60: collectives wait up to 60 s; to limit the time of the run use the command timeout"]);
}

#[test]
fn a_port_of_another_run_is_told_as_such_though_nobody_listens_there() {
    let place = Place::new();
    let script = place.file("t.py", "");
    let port = free_port().to_string();
    let mut command = place.run(["--master-port", &port, "--no-python", "sh", "-c", "echo up; exec sleep 1000"]);
    let first = Run::start(&mut command);
    first.says("up");
    for (language, said) in
        [("en", "is taken by another run of Fermi, process"), ("zh", "已被另一个 Fermi 运行占用：进程")]
    {
        let mut command = place.run(["--master-port", &port]);
        let ended = Run::whole(command.arg(&script).env("FERMI_LANG", language)).expect(2);
        ended.says(&[said, "fermi", "--master-port"]);
    }
    // Others come to it: no other is picked.
    let words = ["--mode", "manual", "--rank", "0", "--world-size", "2", "--master-port", &port];
    let ended = Run::whole(place.run(words).arg(&script)).expect(2);
    let ended = ended.says(&["take another port, the same everywhere", "the other ranks come to it too"]);
    assert!(!ended.err().contains("picks a free one"), "{}", ended.err());
    first.signal(libc::SIGTERM);
    first.ended().expect(143);
}

#[test]
fn what_is_left_out_of_torchrun_is_said_at_the_start() {
    let place = Place::new();
    let script = place.file("t.py", "import os\nprint(os.environ.get('TORCHELASTIC_TIMER_FILE'))\n");
    for (value, is_said) in [("1", true), ("0", false)] {
        let mut command = place.run([&script]);
        let ended = Run::whole(command.env("TORCHELASTIC_ENABLE_FILE_TIMER", value)).expect(0);
        assert_eq!(ended.out(), "None\n");
        let said = "TORCHELASTIC_ENABLE_FILE_TIMER has no effect: there is no watchdog file";
        assert_eq!(ended.err().contains(said), is_said, "{value}: {}", ended.err());
    }
    let endpoint = fermi_endpoint("localhost");
    for (conf, said) in [
        ("is_host=0", Some("localhost is this machine, but this node does not coordinate; it waits for one")),
        ("is_host=1", None),
        ("is_host=1,read_timeout=9", Some("read_timeout of --rdzv-conf has no effect")),
    ] {
        let mut options = at("2", &endpoint);
        options.extend(["--dry-run", "--rdzv-conf", conf].map(str::to_owned));
        let ended = Run::whole(place.run(options).arg(&script)).expect(0);
        match said {
            Some(said) => drop(ended.says(&[said])),
            None => assert!(!ended.err().contains("--rdzv-conf"), "{conf}: {}", ended.err()),
        }
    }
}

#[test]
fn long_lines_are_shown_whole_behind_their_prefix_up_to_a_megabyte() {
    let place = Place::new();
    let script = place.file("t.py", "import sys\nsys.stdout.write('x' * int(sys.argv[1]) + 'end\\nnext\\n')\n");
    for (length, is_whole) in [(100_000, true), (1 << 20, false)] {
        let mut command = place.run(["--tee", "1", "--log-line-prefix-template", "> "]);
        let ended = Run::whole(command.arg(&script).arg(length.to_string())).expect(0);
        let lines: Vec<String> = ended.out().lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "> next");
        let end = if is_whole { "xend" } else { "x … (+3 bytes)" };
        assert!(lines[0].ends_with(end) && lines[0].len() >= length, "{} bytes", lines[0].len());
    }
}

#[test]
fn a_late_node_is_told_that_the_run_is_under_way() {
    let place = Place::new();
    let endpoint = fermi_endpoint("localhost");
    let script = place.file("t.py", "import time\nprint('up', flush=True)\ntime.sleep(1000)\n");
    let start = || {
        let mut options = at("1:2", &endpoint);
        options.extend(["--rdzv-conf", "last_call_timeout=0"].map(str::to_owned));
        Run::start(place.run(options).arg(&script))
    };
    let first = start();
    first.says("up");
    let late = start();
    late.says("the run 'job' at localhost");
    late.says("is under way");
    first.signal(libc::SIGTERM);
    first.ended().expect(143);
    late.says("no longer answers: it is over, or about to restart");
    late.signal(libc::SIGTERM);
    late.ended().expect(143);
    place.assert_empty();
}

#[test]
fn nodes_with_different_roles_count_their_ranks_within_the_role() {
    let place = Place::new();
    let endpoint = fermi_endpoint("localhost");
    let start = |role: &str, ranks: &str| {
        let mut command = place.run(at("3", &endpoint));
        let line = "echo $ROLE_NAME $ROLE_RANK of $ROLE_WORLD_SIZE";
        command.args(["--role", role, "-n", ranks, "--tee", "3", "--log-line-prefix-template", ""]);
        Run::start(command.args(["--no-python", "sh", "-c", line]))
    };
    let lines = lines_of(vec![start("trainer", "2"), start("reader", "1"), start("trainer", "2")]);
    let expected = ["reader 0 of 1", "trainer 0 of 4", "trainer 1 of 4", "trainer 2 of 4", "trainer 3 of 4"];
    assert_eq!(lines, expected);
}

#[test]
fn the_one_that_starts_the_launcher_finds_the_first_failure_in_its_error_file() {
    let place = Place::new();
    let script = place.file("fails.py", "raise ValueError('no such luck')\n");
    let file = place.path().join("reply/error.json");
    let mut command = place.run([&script]);
    Run::whole(command.env("TORCHELASTIC_ERROR_FILE", &file)).expect(1);
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("Python raised ValueError") && text.contains("no such luck"), "{text}");
}

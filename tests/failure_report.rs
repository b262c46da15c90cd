//! What a failed run says and leaves: who failed first, how, why, what to do, and the records of every rank.

use std::fs;

use crate::support::{Ended, Place, Run, host_name};
use serde_json::Value;

/// Runs a body on two ranks (`rank` holds the number as text) until it fails.
fn fails(place: &Place, body: &str) -> Ended {
    fails_with(place, &["-n", "2"], body)
}

fn fails_with(place: &Place, options: &[&str], body: &str) -> Ended {
    let whole = format!("import os, signal, sys, time\nrank = os.environ['RANK']\n{body}\n");
    let script = place.file("train.py", whole);
    Run::whole(place.run(options).arg(script)).expect(1)
}

#[test]
fn the_rank_and_its_exit_code_are_named() {
    let ended = fails(&Place::new(), "if rank == '1': sys.exit(42)\ntime.sleep(1000)");
    ended.says(&[&format!("✗ rank 1 on {} ended with exit code 42", host_name())]);
}

#[test]
fn the_signal_that_ended_a_rank_is_named_with_a_cause_and_advice() {
    for (name, cause) in [
        ("SIGSEGV", "The process had a segmentation fault (SIGSEGV)"),
        ("SIGABRT", "SIGABRT"),
        ("SIGKILL", "The process was ended from outside by SIGKILL"),
        ("SIGBUS", "bus error"),
    ] {
        let place = Place::new();
        let body = format!(
            "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n\
             if rank == '1': os.kill(os.getpid(), signal.{name})\ntime.sleep(1000)"
        );
        let ended = fails(&place, &body);
        ended.says(&[&format!("rank 1 on {} was killed by {name}", host_name()), cause, "advice"]);
    }
}

#[test]
fn the_traceback_is_shown_whole_with_the_file_and_the_line() {
    let place = Place::new();
    let body = "def inner(batch):\n    raise ValueError(f'batch {batch} is empty 批次')\n\
                def outer():\n    inner(7)\nif rank == '1': outer()\ntime.sleep(1000)";
    fails(&place, body).says(&[
        "│ Traceback (most recent call last):",
        "train.py\", line 4, in inner",
        "│ ValueError: batch 7 is empty 批次",
        "stderr.log",
    ]);
}

#[test]
fn without_a_traceback_the_last_lines_are_shown() {
    let ended = fails(&Place::new(), "for line in range(100): print('line', line, file=sys.stderr)\nsys.exit(9)");
    let err = ended.says(&["last lines", "│ line 99"]).err();
    assert!(!err.contains("│ line 10\n"), "only the last ones: {err}");
}

#[test]
fn common_causes_are_recognised_and_come_with_advice() {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB";
    let table = [
        (
            "import flash_attn_missing".to_owned(),
            "The Python module flash_attn_missing is not installed",
            "pip install",
        ),
        (
            format!("print({oom:?}, file=sys.stderr); sys.exit(1)"),
            "ran out of memory while allocating 2.50 GiB",
            "micro-batch",
        ),
        (
            "import socket; one = socket.create_server(('127.0.0.1', 0)); socket.create_server(one.getsockname())"
                .to_owned(),
            "already in use",
            "ss -ltnp",
        ),
        ("open('/no/such/data.bin')".to_owned(), "/no/such/data.bin does not exist", "Check the path"),
        ("raise OSError(28, 'No space left on device')".to_owned(), "The disk is full", "df -h"),
        ("raise PermissionError(13, 'Permission denied', '/data/x')".to_owned(), "ermi", "advice"),
        ("import argparse; argparse.ArgumentParser().parse_args(['--nonsense'])".to_owned(), "arguments", "--help"),
    ];
    for (body, cause, advice) in table {
        let place = Place::new();
        let ended = fails_with(&place, &["-n", "1"], &body);
        let err = ended.says(&[cause, advice, "cause", "advice"]).err();
        assert!(err.find("cause").unwrap() < err.find("advice").unwrap());
    }
}

#[test]
fn the_cause_is_named_although_its_victims_ended_first() {
    let place = Place::new();
    let body = "\
if rank == '1':
    while not (os.path.exists('gone-0') and os.path.exists('gone-2')): time.sleep(0.005)
    time.sleep(0.3)
    raise ValueError('the real reason')
print('RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection reset by peer', file=sys.stderr, flush=True)
open('gone-' + rank, 'w').close()
os._exit(1)";
    let ended = fails_with(&place, &["-n", "3"], body);
    ended.says(&[
        &format!("✗ rank 1 on {} ended with exit code 1", host_name()),
        "ValueError: the real reason",
        "2 more ranks failed after it, 2 of them as victims",
    ]);
}

#[test]
fn victims_alone_are_reported_after_two_seconds_and_not_waited_for_longer() {
    let place = Place::new();
    let body = "\
if rank == '1': time.sleep(1000)
print('RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection reset by peer', file=sys.stderr, flush=True)
os._exit(1)";
    let ended = fails(&place, body);
    assert!(ended.took.as_millis() >= 2_000, "evidence is waited for: {:?}", ended.took);
    assert!(ended.took.as_secs() < 20, "{:?}", ended.took);
    ended.says(&[&format!("✗ rank 0 on {} ended with exit code 1", host_name())]);
    place.assert_empty();
}

#[test]
fn every_rank_leaves_a_record_of_its_end() {
    let place = Place::new();
    let body = "\
if rank == '0': open('done-0', 'w').close(); sys.exit(0)
while not os.path.exists('done-0'): time.sleep(0.005)
if rank == '1': time.sleep(0.1); os.kill(os.getpid(), signal.SIGKILL)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(1000)";
    fails_with(&place, &["-n", "3"], body);
    let record = |rank| -> Value { serde_json::from_str(&place.rank_text(0, rank, "exit.json")).unwrap() };
    let expected = [
        serde_json::json!({"kind": "code", "code": 0}),
        serde_json::json!({"kind": "signal", "signal": 9}),
        serde_json::json!({"kind": "signal", "signal": 9}),
    ];
    for (rank, expected) in (0..3).zip(expected) {
        let record = record(rank);
        assert_eq!(record["version"], 1);
        assert_eq!(record["rank"], rank);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&record["exit"][name], value, "rank {rank}: {record}");
        }
        assert!(record["pid"].as_i64() > Some(1));
        assert!(record["startedMs"].as_u64() <= record["endedMs"].as_u64());
    }
}

/// Checks the form that every reader may rely on.
fn are_well_formed(events: &[Value]) {
    assert!(!events.is_empty());
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["v"], 1, "{event}");
        assert_eq!(event["seq"].as_u64(), Some(index as u64 + 1), "numbers without a gap: {event}");
        assert!(event["timeMs"].as_u64() > Some(1_600_000_000_000), "{event}");
        assert!(event["event"].is_string(), "{event}");
    }
    assert_eq!(events[0]["event"], "run.started");
    assert_eq!(events.last().unwrap()["event"], "run.ended");
}

#[test]
fn the_events_and_the_journal_tell_the_same_story() {
    let place = Place::new();
    let ended = fails_with(&place, &["-n", "2", "--json", "--max-restarts", "1"], "print('noise'); sys.exit(4)");
    let events = ended.events();
    are_well_formed(&events);
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    for expected in ["attempt.started", "rank.started", "rank.exited", "attempt.failed", "restart.scheduled"] {
        assert!(names.contains(&expected), "{names:?}");
    }
    let last = events.last().unwrap();
    assert_eq!((last["outcome"].as_str(), last["attempts"].as_u64()), (Some("failed"), Some(2)));
    assert_eq!(last["verdict"]["first"]["exit"]["code"], 4);

    let journal = fs::read_to_string(place.run_folder().join("journal.ndjson")).unwrap();
    let mut lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(header["journal"], 1);
    assert!(header["fermi"].is_string());
    assert_eq!(lines.collect::<Vec<_>>(), events);
    // The events have stdout to themselves.
    assert!(ended.err().contains("noise"));
}

#[test]
fn a_run_that_succeeds_says_nothing_on_stdout_but_what_rank_0_prints() {
    let place = Place::new();
    let script = place.file("train.py", "import os; print('rank', os.environ['RANK'])");
    let ended = Run::whole(place.run(["-n", "2"]).arg(&script)).expect(0);
    assert_eq!(ended.out(), "rank 0\n");
    let quiet = Run::whole(place.run(["-q", "-n", "2"]).arg(&script)).expect(0);
    assert_eq!((quiet.out().as_str(), quiet.err().as_str()), ("rank 0\n", ""));
}

#[test]
fn the_report_speaks_chinese_to_whoever_does() {
    let place = Place::new();
    let script = place.file("train.py", "import no_such_module_here");
    let mut command = place.run(["-n", "2"]);
    let ended = Run::whole(command.arg(script).env("FERMI_LANG", "zh")).expect(1);
    let err = ended.says(&["缺少 Python 模块 no_such_module_here", "原因", "建议", "以退出码 1 结束"]).err();
    for english in ["ended with exit code", "cause", "advice", "not restarted"] {
        assert!(!err.contains(english), "{english} in {err}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_a_failure_with_its_name() {
    let place = Place::new();
    let program = place.file("broken", "#!/no/such/interpreter\n");
    std::process::Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    let ended = Run::whole(place.run(["-n", "2", "--no-python"]).arg(&program)).expect(1);
    // Which of the two is seen first is chance.
    ended.says(&["could not be started", "broken", "The program to start does not exist"]);
    place.assert_empty();
}

//! How a run is asked to end: which signals the ranks get, how long they have, and what the launcher returns.

use std::fs;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use crate::support::{Ended, Place, Run, eventually, script, signal};

/// Two ranks of `polite.py`, both ready.
fn polite(place: &Place, options: &[&str], leaves_on: &str) -> Run {
    let mut command = place.run(["-n", "2"]);
    command.args(options).arg(script("polite.py")).arg(place.work()).arg(leaves_on);
    let run = Run::start(&mut command);
    are_ready(place);
    run
}

fn are_ready(place: &Place) {
    eventually("both ranks are ready", || {
        (0..2).all(|rank| place.work().join(format!("{rank}.ready")).exists()).then_some(())
    });
}

/// What each rank was sent, in order.
fn signals(place: &Place) -> [Vec<String>; 2] {
    [0, 1].map(|rank| {
        let text = fs::read_to_string(place.work().join(format!("{rank}.signals"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    })
}

fn time_of(ended: &Ended, event: &str) -> u64 {
    ended.events_named(event).first().unwrap_or_else(|| panic!("no {event}"))["timeMs"].as_u64().unwrap()
}

#[test]
fn ctrl_c_once_asks_and_the_ranks_may_finish_what_they_do() {
    let place = Place::new();
    let run = polite(&place, &[], "SIGINT:0.4");
    run.signal(libc::SIGINT);
    let ended = run.ended().expect(130);
    assert_eq!(signals(&place), [["SIGINT"], ["SIGINT"]]);
    assert_eq!(ended.out(), "saved and left\n");
    ended.says(&["stopping: SIGINT sent to all ranks, waiting up to 30 s; Ctrl-C again kills them"]);
    place.assert_empty();
}

#[test]
fn the_code_of_a_rank_that_was_asked_to_stop_changes_nothing() {
    let place = Place::new();
    let run = polite(&place, &["--max-restarts", "3"], "SIGTERM:0:7");
    run.signal(libc::SIGTERM);
    let ended = run.ended().expect(143);
    assert!(!ended.err().contains("restarting"), "{}", ended.err());
}

#[test]
fn ctrl_c_twice_kills_at_once() {
    let place = Place::new();
    let run = polite(&place, &["--json"], "never");
    run.signal(libc::SIGINT);
    run.event("attempt.stopping");
    eventually("both were asked", || (signals(&place) == [["SIGINT"], ["SIGINT"]]).then_some(()));
    let second = Instant::now();
    run.signal(libc::SIGINT);
    let ended = run.ended().expect(130);
    assert!(second.elapsed() < Duration::from_secs(10), "the grace of 30 s was not waited for: {:?}", second.elapsed());
    assert_eq!(ended.events_named("attempt.killing").len(), 1);
    assert_eq!(signals(&place), [["SIGINT"], ["SIGINT"]]);
    place.assert_empty();
}

#[test]
fn every_stopping_signal_is_passed_on_and_gives_its_own_code() {
    for (number, name, code) in
        [(libc::SIGTERM, "SIGTERM", 143), (libc::SIGHUP, "SIGHUP", 129), (libc::SIGQUIT, "SIGQUIT", 131)]
    {
        let place = Place::new();
        let run = polite(&place, &[], name);
        run.signal(number);
        run.ended().expect(code);
        assert_eq!(signals(&place), [[name], [name]]);
    }
}

#[test]
fn the_checkpoint_signal_comes_first_and_has_a_grace_of_its_own() {
    let place = Place::new();
    let options = ["--checkpoint-signal", "SIGUSR1", "--checkpoint-grace", "0.4", "--json"];
    let run = polite(&place, &options, "SIGTERM");
    run.signal(libc::SIGTERM);
    let ended = run.ended().expect(143);
    assert_eq!(signals(&place), [["SIGUSR1", "SIGTERM"], ["SIGUSR1", "SIGTERM"]]);
    let rungs = ended.events_named("attempt.stopping");
    let waited = rungs[1]["timeMs"].as_u64().unwrap() - rungs[0]["timeMs"].as_u64().unwrap();
    assert!((395..5_000).contains(&waited), "{waited} ms between the two");
}

#[test]
fn a_rank_that_saves_and_leaves_on_the_checkpoint_signal_is_not_asked_again() {
    let place = Place::new();
    let run = polite(&place, &["--checkpoint-signal", "usr1"], "SIGUSR1");
    run.signal(libc::SIGINT);
    run.ended().expect(130);
    assert_eq!(signals(&place), [["SIGUSR1"], ["SIGUSR1"]]);
}

#[test]
fn who_ignores_the_stop_is_killed_when_the_shutdown_time_is_over() {
    let place = Place::new();
    let run = polite(&place, &["--json", "--shutdown-timeout", "0.7"], "never");
    run.signal(libc::SIGTERM);
    let ended = run.ended().expect(143);
    let waited = time_of(&ended, "attempt.killing") - time_of(&ended, "attempt.stopping");
    assert!((695..5_000).contains(&waited), "{waited} ms were given");
    place.assert_empty();
}

#[test]
fn under_nohup_a_hangup_ends_nothing() {
    let place = Place::new();
    let mut command = place.run(["-n", "2"]);
    command.arg(script("polite.py")).arg(place.work()).arg("never");
    // SAFETY: one system call. What is ignored stays ignored over exec: that is all nohup does.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut run = Run::start(&mut command);
    are_ready(&place);
    run.signal(libc::SIGHUP);
    // SIGWINCH is read after SIGHUP would have been; a rank's answer to nothing can only be shown by letting it finish.
    run.signal(libc::SIGWINCH);
    assert!(!run.is_over());
    place.file("finish", "");
    let ended = run.ended().expect(0);
    assert!(!ended.err().contains("stopping"), "{}", ended.err());
    assert_eq!(signals(&place), [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn only_the_signals_to_handle_are_handled() {
    let place = Place::new();
    let run = polite(&place, &["--signals-to-handle", "SIGUSR1,SIGUSR2"], "SIGUSR2");
    run.signal(libc::SIGUSR2);
    run.ended().expect(138 + 2);
    assert_eq!(signals(&place), [["SIGUSR2"], ["SIGUSR2"]]);

    let place = Place::new();
    let run = polite(&place, &["--signals_to_handle", "SIGUSR1"], "never");
    run.signal(libc::SIGTERM);
    assert_eq!(run.ended().signal(), Some(libc::SIGTERM), "a signal that is not handled does what it always does");
    eventually("nothing is left", || place.alive().is_empty().then_some(()));
}

#[test]
fn a_stop_while_the_next_attempt_is_waited_for_ends_the_run_at_once() {
    let place = Place::new();
    let failing = place.file("failing.py", "raise SystemExit(3)");
    let run = Run::start(place.run(["--json", "-n", "2", "--max-restarts", "9"]).arg(failing));
    eventually("a back-off of 2 s at least", || {
        run.events().iter().find(|event| event["afterMs"].as_u64() >= Some(2_000)).map(|_| ())
    });
    let asked = Instant::now();
    run.signal(libc::SIGTERM);
    run.ended().expect(143);
    assert!(asked.elapsed() < Duration::from_millis(1_500), "{:?}", asked.elapsed());
}

#[test]
fn who_signals_a_keeper_means_the_run() {
    for keeper in ["wardenPid", "supervisorPid"] {
        let place = Place::new();
        let run = polite(&place, &["--json"], "SIGTERM");
        let pid = run.event("run.started")[keeper].as_i64().unwrap();
        signal(i32::try_from(pid).unwrap(), libc::SIGTERM);
        run.ended().expect(143);
        assert_eq!(signals(&place), [["SIGTERM"], ["SIGTERM"]], "through the {keeper}");
    }
}

#[test]
fn a_rank_that_stands_still_is_woken_to_be_stopped() {
    let place = Place::new();
    let run = polite(&place, &["--json"], "SIGTERM");
    let ranks = run.event_count("rank.started", 2);
    signal(i32::try_from(ranks[1]["pid"].as_i64().unwrap()).unwrap(), libc::SIGSTOP);
    run.signal(libc::SIGTERM);
    run.ended().expect(143);
    assert_eq!(signals(&place), [["SIGTERM"], ["SIGTERM"]]);
}

#[test]
fn a_launcher_that_is_paused_does_not_hold_up_the_training() {
    let place = Place::new();
    let run = polite(&place, &[], "never");
    run.signal(libc::SIGSTOP);
    place.file("finish", "");
    eventually("the ranks end while the launcher stands still", || {
        let records = |rank| place.rank_file(0, rank, "exit.json").exists();
        (records(0) && records(1)).then_some(())
    });
    run.signal(libc::SIGCONT);
    run.ended().expect(0);
}

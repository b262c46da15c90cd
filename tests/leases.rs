//! Ranks that have lost those they depend on end by themselves, and only then does another attempt begin.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Ended, Fleet, Place, Run, eventually, signal};

/// The first attempt would go on for ever, the next one ends at once.
const UNTIL_RESTARTED: &str = "echo \"attempt $FERMI_ATTEMPT\"; [ $FERMI_ATTEMPT -gt 1 ] || sleep 600";

#[test]
fn a_training_that_has_lost_the_server_ends_when_its_lease_does_and_is_started_again() {
    let mut fleet = Fleet::of(&[("first", 2)]);
    let id = fleet.create(json!({
        "taskName": "a test",
        "command": { "argv": ["/bin/sh", "-c", UNTIL_RESTARTED] },
        "policies": { "restart": { "maxRestarts": 1 }, "onDisconnect": { "stopAfter": 20 } },
        "distributedConfig": { "framework": "command" },
    }));
    fleet.says(&id, 1, 0, "attempt 1");
    // Renewed all the while: a lease of 20 s is over by now if it was not.
    std::thread::sleep(Duration::from_secs(24));
    assert!(fleet.keepers(0).is_some());
    fleet.kill_server();
    let cut = Instant::now();
    eventually("the keepers to end", || fleet.keepers(0).is_none().then_some(()));
    let took = cut.elapsed();
    assert!((Duration::from_secs(12)..Duration::from_secs(60)).contains(&took), "{took:?}");
    fleet.start_server();
    let task = fleet.task_is(&id, "succeeded");
    assert_eq!(task["attempt"], 2, "{task:#}");
    let headline = task["attempts"][0]["verdict"]["headline"].to_string();
    assert!(headline.contains("cut off from the server for as long as the task allows"), "{task:#}");
    fleet.assert_idle();
}

/// Holds a process as a debugger does, whatever signals it gets but SIGKILL: one that a signal has stopped is told to go on.
fn hold(pid: i32) {
    std::thread::spawn(move || {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: a process that the test has started; this thread is its tracer as long as both live.
        let is_held = unsafe {
            libc::ptrace(libc::PTRACE_SEIZE, pid, nothing, nothing) == 0
                && libc::ptrace(libc::PTRACE_INTERRUPT, pid, nothing, nothing) == 0
        };
        assert!(is_held, "{}", std::io::Error::last_os_error());
        let mut status = 0;
        // Its parent hears of its end when the tracer has.
        // SAFETY: the kernel writes one number of ours.
        while unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } == pid && libc::WIFSTOPPED(status) {}
    });
}

/// Warden and supervisor of the node that was started with `--node-rank 1`.
fn keepers_of_the_second_node(place: &Place) -> [i32; 2] {
    let is_second = |pid: i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.windows(14).any(|part| part == b"--node-rank\x001\x00")
    };
    eventually("the note of the second node", || {
        place.live_notes().into_iter().find_map(|path| {
            let note: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
            let keeper = |at: usize| i32::try_from(note["keepers"][at]["pid"].as_i64()?).ok();
            let keepers = [keeper(0)?, keeper(1)?];
            is_second(keepers[1]).then_some(keepers)
        })
    })
}

/// How both nodes of a run of fixed size end whose second one stands still for longer than it may, as a machine that sleeps:
/// neither keeper can let the other one go on. What the first node has sent meanwhile is read before the end of its link.
fn one_stands_still(place: &Place, port: &str, max_restarts: &str) -> [Ended; 2] {
    let node = |rank: &str| {
        let options = ["--nnodes", "2", "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", port];
        let rest = ["--rdzv-secret", "s", "--node-lost-after", "4", "--max-restarts", max_restarts, "-n", "1"];
        let script = ["--no-python", "/bin/sh", "-c", UNTIL_RESTARTED];
        Run::start(&mut place.run(options.iter().chain(&rest).chain(&script)))
    };
    let (first, second) = (node("0"), node("1"));
    first.says("attempt 1");
    let keepers = keepers_of_the_second_node(place);
    keepers.iter().for_each(|keeper| signal(*keeper, libc::SIGSTOP));
    first.says("is lost");
    keepers.iter().for_each(|keeper| signal(*keeper, libc::SIGCONT));
    let second = second.ended();
    [first.ended(), second]
}

#[test]
fn a_node_that_stood_still_for_too_long_comes_back_for_the_next_attempt() {
    let place = Place::new();
    let [first, second] = one_stands_still(&place, "29874", "2");
    second.expect(0).says(&["this node stood still for", "this node's ranks were ended, connecting again"]);
    first.expect(0);
    place.assert_empty();
}

#[test]
fn a_node_that_stood_still_where_nothing_restarts_blames_nobody_else() {
    let place = Place::new();
    let [first, second] = one_stands_still(&place, "29875", "0");
    let second = second.expect(1);
    let said: String = second.err().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("this node stood still for") && said.contains("was given up by the others"), "{said}");
    assert!(!said.contains("127.0.0.1 was lost") && !said.contains("supervisor"), "{said}");
    first.expect(1);
    place.assert_empty();
}

/// The supervisor of the second node hangs, as on a disk that does not answer; its warden lives.
#[test]
fn an_elastic_run_goes_on_without_a_node_only_when_that_nodes_ranks_have_ended() {
    let place = Place::new();
    let (beat, began) = (place.path().join("beat"), place.path().join("began"));
    let script = format!(
        "if [ $WORLD_SIZE -eq 1 ]; then date +%s%N > {}; sleep 2; exit 0; fi; [ $RANK -eq 0 ] && sleep 600; \
         while true; do date +%s%N > {}; done",
        began.display(),
        beat.display()
    );
    let node = |rank: &str| {
        let options = ["--nnodes", "1:2", "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", "29873"];
        let rest = ["--rdzv-secret", "s", "--node-lost-after", "5", "--max-restarts", "2", "-n", "1", "--no-python"];
        let last_call = ["--rdzv-conf", "last_call_timeout=20"];
        let words = options.iter().chain(&rest).chain(&last_call).copied().chain(["/bin/sh", "-c", &script]);
        Run::start(&mut place.run(words))
    };
    let first = node("0");
    let second = node("1");
    eventually("rank 1 to write", || beat.exists().then_some(()));
    let [_, supervisor] = keepers_of_the_second_node(&place);
    // Once it has heard the coordinator answer.
    std::thread::sleep(Duration::from_secs(2));
    hold(supervisor);
    first.ended().expect(0).says(&["by its lease"]);
    second
        .ended()
        .expect(1)
        .says(&["had no answer from the first node for too long, and ended its processes by its lease"]);
    let time = |path: &std::path::Path| std::fs::read_to_string(path).unwrap().trim().parse::<u64>().unwrap_or(0);
    assert!(
        time(&beat) < time(&began),
        "rank 1 wrote at {} and the next attempt began at {}",
        time(&beat),
        time(&began)
    );
}

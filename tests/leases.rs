//! Ranks that have lost those they depend on end by themselves, and only then does another attempt begin.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Fleet, Place, Run, eventually, signal};

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
    fleet.assert_idle();
}

/// The supervisor of the second node hangs, as on a disk that does not answer; its warden lives.
#[test]
fn an_elastic_run_goes_on_without_a_node_only_when_that_nodes_ranks_have_ended() {
    let place = Place::new();
    let alive = place.path().join("alive");
    let script = format!(
        "echo \"of $WORLD_SIZE\"; [ $WORLD_SIZE -gt 1 ] || {{ [ $(wc -l < {0}) -eq 0 ] && exit 0 || exit 9; }}; \
         [ $RANK -eq 0 ] && sleep 600; while true; do echo > {0}; sleep 0.01; : > {0}; sleep 0.01; done",
        alive.display()
    );
    let node = |rank: &str| {
        let options = ["--nnodes", "1:2", "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", "29873"];
        let rest = ["--rdzv-secret", "s", "--node-lost-after", "5", "--max-restarts", "2", "-n", "1", "--no-python"];
        Run::start(&mut place.run(options.iter().chain(&rest).copied().chain(["/bin/sh", "-c", &script])))
    };
    let first = node("0");
    first.says("waiting");
    let second = node("1");
    first.says("of 2");
    eventually("rank 1 to write", || alive.exists().then_some(()));
    let note = eventually("the note of the second node", || {
        place.live_notes().into_iter().find_map(|path| {
            let note: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
            let supervisor = note["keepers"][1]["pid"].as_i64()? as i32;
            place.alive_below(&[second.pid()]).iter().any(|process| process.pid == supervisor).then_some(supervisor)
        })
    });
    std::thread::sleep(Duration::from_secs(2));
    signal(note, libc::SIGSTOP);
    eventually("the ranks of the second node to end", || {
        let below = place.alive_below(&[second.pid()]);
        (!below.iter().any(|process| process.environ().windows(6).any(|pair| pair == b"RANK=1"))).then_some(())
    });
    std::fs::write(&alive, "").unwrap();
    first.ended().expect(0).says(&["of 1"]);
    second.signal(libc::SIGKILL);
}

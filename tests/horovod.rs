//! Horovod's rendezvous, served by the first node's supervisor: a client that behaves like Horovod's own meets there,
//! under `fermi run` and through agents. The real Horovod is a suite of its own (`make test-horovod`), since it must be
//! built: FERMI_HOROVOD_PYTHON names an interpreter that has it, and without one those tests say that they are left out.

use std::path::{Path, PathBuf};

use crate::engines::job::{Fate, Job, Storage};
use crate::support::{Fleet, Place, Run, python, script};
use serde_json::json;

const SAYS: &str = "has met all in attempt 2";

#[test]
fn ranks_meet_under_fermi_run_and_a_restart_finds_nothing_of_the_attempt_before() {
    let place = Place::new();
    let mut command = place.run(["-n", "3", "--framework", "horovod", "--max-restarts", "1"]);
    Run::whole(command.arg(script("horovod_client.py")).arg("--fail-first")).expect(0);
    for rank in 0..3 {
        let said = place.rank_text(1, rank, "stdout.log");
        assert_eq!(said, format!("rank {rank} of 3 {SAYS}\n"));
    }
    place.assert_empty();
}

#[test]
fn ranks_meet_over_several_nodes_under_fermi_run() {
    let place = Place::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let node = |rank: &'static str| {
        let mut command = place.run(["--nnodes", "2", "--node-rank", rank, "--master-addr", "127.0.0.1"]);
        command.args(["--master-port", &port, "-n", "2", "--framework", "horovod"]);
        // Two nodes on one machine are told apart by name.
        command.env("FERMI_NODE_NAME", format!("host{rank}"));
        Run::start(command.arg(script("horovod_client.py")))
    };
    let (second, first) = (node("1"), node("0"));
    first.ended().expect(0);
    second.ended().expect(0);
    place.assert_empty();
}

#[test]
fn ranks_meet_through_agents_on_unequal_nodes_and_after_a_restart() {
    let fleet = Fleet::of(&[("small", 1), ("big", 2)]);
    let id = fleet.create(json!({
        "taskName": "horovod",
        "command": { "argv": [script("horovod_client.py"), "--fail-first"], "interpreter": python() },
        "policies": { "restart": { "maxRestarts": 1 } },
        "distributedConfig": { "framework": "horovod" },
    }));
    fleet.task_is(&id, "succeeded");
    for rank in 0..3 {
        fleet.says(&id, 2, rank, &format!("rank {rank} of 3 {SAYS}"));
    }
    fleet.assert_idle();
}

/// An interpreter with the real Horovod, if there is one.
pub fn horovod() -> Option<&'static Path> {
    let named = std::env::var_os("FERMI_HOROVOD_PYTHON").filter(|path| !path.is_empty()).map(PathBuf::from);
    if named.is_none() {
        eprintln!("left out: the real Horovod (make test-horovod builds and runs it)");
    }
    named.map(|path| &*Box::leak(path.into_boxed_path()))
}

#[test]
fn the_real_horovod_ends_alike_through_agents_after_a_kill_and_by_horovodrun() {
    let Some(python) = horovod() else { return };
    let job = Job {
        framework: "horovod",
        python,
        script: "train_horovod.py",
        words: &["--steps", "60", "--save-every", "10"],
        settings: json!({}),
        tensor_parallel: 1,
    };
    let ours = job.under_run(&Place::new(), 2, Fate::DiesAt(35, 30));
    assert_eq!(ours.step, 60.0);
    job.through_agents(&[1, 1], Fate::DiesAt(35, 30), Storage::Own).is_as(&ours);
    job.through_agents(&[1, 2], Fate::Undisturbed, Storage::Own);
    let options = ["--gloo", "-np", "2", "--network-interfaces", "lo", "--output-filename", "logs"];
    let options = [&options[..], &[python.to_str().unwrap()]].concat();
    job.by_launcher(&python.with_file_name("horovodrun"), &options, &[]).is_as(&ours);
}

//! Errors that GPUs report are told at once, and explain why a rank has failed. The driver's library is a fake one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Run, eventually};

/// A folder with the fake library, and the file that is its events.
fn fake_driver(place: &Place) -> (PathBuf, PathBuf) {
    let folder = place.path().join("driver");
    fs::create_dir_all(&folder).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/fake_nvml.c");
    let library = folder.join("libnvidia-ml.so.1");
    let mut compiler = Command::new("cc");
    assert!(compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status().unwrap().success());
    let events = folder.join("events");
    fs::write(&events, "").unwrap();
    (folder, events)
}

/// Two ranks, of which this one fails as soon as the file `fail` is there.
fn started(place: &Place, fails: &str) -> (Run, PathBuf, PathBuf) {
    let (driver, events) = fake_driver(place);
    let fail = place.path().join("fail");
    let waits = "[ $RANK = $1 ] || exec sleep 600; while [ ! -e \"$0\" ]; do sleep 0.05; done; exit 1";
    let mut command = place.run(["--json", "-n", "2", "--no-python", "sh", "-c", waits]);
    command.arg(&fail).arg(fails).env("LD_LIBRARY_PATH", &driver).env("FAKE_NVML_EVENTS", &events);
    command.env_remove("CUDA_VISIBLE_DEVICES");
    let run = Run::start(&mut command);
    run.event_count("rank.started", 2);
    (run, events, fail)
}

/// What is told of these errors, in their order.
fn faults(run: &Run, count: usize) -> Vec<Value> {
    eventually("the errors to be told", || {
        let told: Vec<Value> = run.events().into_iter().filter(|event| event["event"] == "device.fault").collect();
        (told.len() == count).then_some(told)
    })
}

#[test]
fn a_gpu_that_falls_off_the_bus_is_why_its_rank_has_failed() {
    let place = Place::new();
    let (run, events, fail) = started(&place, "1");
    fs::write(&events, "1 45\n1 lost\n").unwrap();
    let told = faults(&run, 2);
    assert_eq!((&told[0]["class"], &told[0]["ranks"]), (&"application".into(), &serde_json::json!([1])));
    assert_eq!((&told[1]["xid"], &told[1]["class"], &told[1]["gpu"]), (&79.into(), &"node".into(), &1.into()));
    assert_eq!(told[1]["text"]["en"], "GPU 1 has fallen off the bus (Xid 79)");
    fs::write(&fail, "").unwrap();
    let ended = run.ended().expect(1);
    let failed = ended.events_named("attempt.failed").remove(0);
    let verdict = &failed["verdict"];
    assert_eq!(
        (&verdict["diagnosis"]["id"], &verdict["first"]["rank"]),
        (&"device_fault".into(), &1.into()),
        "{failed}"
    );
    assert_eq!(verdict["class"], "infrastructure", "{failed}");
    place.assert_empty();
}

#[test]
fn an_error_of_the_program_is_no_reason_to_leave_the_gpu() {
    let place = Place::new();
    let (run, events, fail) = started(&place, "0");
    fs::write(&events, "0 31\n0 31\n").unwrap();
    let told = faults(&run, 1);
    assert!(told[0]["hint"]["en"].as_str().unwrap().starts_with("The GPU is sound"), "{told:?}");
    fs::write(&fail, "").unwrap();
    let ended = run.ended().expect(1);
    let verdict = ended.events_named("attempt.failed").remove(0)["verdict"].clone();
    assert_eq!(verdict["class"], "user", "{verdict}");
    place.assert_empty();
}

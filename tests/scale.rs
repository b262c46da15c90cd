//! `fermi bench collective` and `fermi scale`: what they measure, write, and leave when they are ended.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, Run, eventually, signal};

/// Says a speed that grows by 90 for each process more.
const SPEAKS: &str = "echo $((90 * WORLD_SIZE + 10)) tokens/s";

fn report(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join("scaling.json")).ok()?).ok()
}

#[test]
fn collectives_are_measured_by_ranks_that_are_started_for_it() {
    let place = Place::new();
    let words = ["bench", "collective", "--nproc_per_node", "3", "--max", "4KiB", "--json"];
    let answer: Value = serde_json::from_str(&Run::whole(&mut place.fermi(words)).expect(0).out()).unwrap();
    assert_eq!((&answer["v"], &answer["ranks"]), (&Value::from(1), &Value::from(3)));
    let rows = answer["rows"].as_array().unwrap();
    let short: Vec<_> =
        rows.iter().map(|row| (row["operation"].as_str().unwrap(), row["bytes"].as_u64().unwrap())).collect();
    let expected: Vec<_> = ["all-reduce", "all-gather", "reduce-scatter", "broadcast"]
        .into_iter()
        .flat_map(|operation| [(operation, 1024), (operation, 4096)])
        .collect();
    assert_eq!(short, expected);
    assert!(rows.iter().all(|row| row["wrong"] == 0 && row["micros"].as_f64().unwrap() > 0.0), "{answer}");
    place.assert_empty();
}

#[test]
fn a_training_that_prints_its_speed_is_measured_and_reported() {
    let place = Place::new();
    let many = (std::thread::available_parallelism().unwrap().get().max(2) + 1).to_string();
    let words = ["scale", "--num_gpus_list", "2", "1", &many, "--repeats", "1", "--results_dir", "found"];
    let training = format!("[ $WORLD_SIZE != {many} ] || exit 3; {SPEAKS}");
    let mut command = place.fermi(words);
    command.args(["--", "--no-python", "/bin/sh", "-c", &training]);
    let ended = Run::whole(&mut command).expect(1);
    let found = report(&place.work().join("found")).unwrap();
    let speeds: Vec<f64> = found["points"].as_array().unwrap().iter().map(|it| it["speed"].as_f64().unwrap()).collect();
    assert_eq!(speeds, [100.0, 190.0], "{found}");
    for said in [format!("{many} processes share them"), "the run failed".to_owned(), "only weak scaling".to_owned()] {
        assert!(ended.err().contains(&said), "{said}: {}", ended.err());
    }
    for name in ["scaling.csv", "scaling.svg", "scaling.html"] {
        assert!(place.work().join("found").join(name).is_file(), "{name}");
    }
    place.assert_empty();
}

#[test]
fn what_was_measured_stays_when_the_measurement_is_ended() {
    let place = Place::new();
    let training = format!("{SPEAKS}; [ $WORLD_SIZE = 1 ] || sleep 600");
    let words = ["scale", "--num-gpus-list", "1", "2", "--results-dir", "found", "--", "--no-python", "/bin/sh", "-c"];
    let run = Run::start(place.fermi(words).arg(&training));
    let found = eventually("the first run is written", || report(&place.work().join("found")));
    assert_eq!((&found["complete"], &found["points"][0]["speed"]), (&Value::from(false), &Value::from(100.0)));
    signal(run.pid(), libc::SIGTERM);
    let ended = run.ended();
    assert_eq!(ended.code(), Some(143), "{}", ended.err());
    assert_eq!(report(&place.work().join("found")).unwrap()["points"].as_array().unwrap().len(), 1);
    place.assert_empty();
}

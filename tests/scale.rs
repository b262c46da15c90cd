//! `fermi bench collective` and `fermi scale`: what they measure, write, and leave when they are ended.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Fleet, Place, Run, eventually, signal};

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
fn a_smallest_buffer_beyond_the_largest_is_refused_before_ranks_start() {
    let place = Place::new();
    let mut bounds = place.fermi(["bench", "collective", "--min", "8KiB", "--max", "4KiB", "--json"]);
    let said = Run::whole(&mut bounds).expect(2);
    assert!(said.err().contains("--min 8.0 KB is more than --max 4.0 KB"), "{}", said.err());
    assert_eq!(said.out(), "");
    let mut beyond = place.fermi(["bench", "collective", "--min", "16GiB", "-n", "1"]);
    let said = Run::whole(&mut beyond);
    assert!(said.err().contains("the smallest buffer, 16 GB, is more than the "), "{}", said.err());
    assert_ne!(said.code(), Some(0));
    place.assert_empty();
}

#[test]
fn nccl_that_is_asked_for_by_name_and_missing_is_a_failure() {
    let place = Place::new();
    let words = ["bench", "collective", "-n", "1", "--max", "4KiB", "--transport", "nccl", "--nccl-library", "/none"];
    let said = Run::whole(&mut place.fermi(words)).expect(1);
    assert!(said.err().starts_with("error: NCCL cannot be measured: "), "{}", said.err());
    assert_eq!(said.out(), "");
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
    for name in ["scaling.csv", "scaling.svg", "scaling.png", "scaling.html"] {
        assert!(place.work().join("found").join(name).is_file(), "{name}");
    }
    place.assert_empty();
}

#[test]
fn the_planner_learns_from_the_runs_of_the_built_in_trainer() {
    let place = Place::new();
    let words = ["scale", "--num-gpus-list", "1", "2", "--repeats", "1", "--preset", "small", "--steps", "6"];
    let mut command = place.fermi(words);
    command.args(["--scaling", "weak", "--calibrate", "--results-dir", "found"]);
    let cores = std::thread::available_parallelism().unwrap().get();
    let ended = Run::whole(&mut command).expect(0);
    let folder = place.work().join("found");
    let found = report(&folder).unwrap();
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), cores.min(2), "{found}");
    // A rate that is found from the runs meets them, so that constants need not move.
    assert!(ended.err().contains("the planner ") && ended.err().contains("a core counts as "), "{}", ended.err());
    assert!(
        ended.err().contains("fermi plan predict --runs") && !ended.err().contains("--gpu-tflops"),
        "{}",
        ended.err()
    );
    let points = found["points"].as_array().unwrap();
    assert!(points.iter().all(|it| it["predictedEfficiency"].as_f64().is_some_and(|it| it > 0.0)), "{found}");
    let (before, after) = (&found["calibration"]["errorBefore"], &found["calibration"]["errorAfter"]);
    // Two runs may be met by rate and link alone, as far as numbers have digits.
    assert!(after.as_f64().unwrap() <= before.as_f64().unwrap() + 0.05, "{before} {after}");
    // What it wrote is what the planner reads.
    let folder = folder.to_str().unwrap();
    let calibration = format!("{folder}/calibration.json");
    let rows = format!("{folder}/scaling.json");
    let mut predict = place.fermi(["plan", "predict", "--json", "--runs", &rows, "--calibration", &calibration]);
    let answer: Value = serde_json::from_str(&Run::whole(&mut predict).expect(0).out()).unwrap();
    assert!(answer["rows"][0]["tokens_per_s"].as_f64().is_some_and(|it| it > 0.0), "{answer}");
    let mut again = place.fermi(["plan", "calibrate", "--json", "--runs", &rows, "--out", "again.json"]);
    let answer: Value = serde_json::from_str(&Run::whole(&mut again).expect(0).out()).unwrap();
    assert_eq!(answer["runs"], found["calibration"]["runs"]);
    place.assert_empty();
}

#[test]
fn what_the_planner_expects_stands_beside_what_is_measured_without_being_asked_for() {
    let place = Place::new();
    let words = ["scale", "--num-gpus-list", "1", "2", "--repeats", "1", "--steps", "6", "--results-dir", "found"];
    Run::whole(&mut place.fermi(words)).expect(0);
    let found = report(&place.work().join("found")).unwrap();
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 4, "{found}");
    assert!(points.iter().all(|it| it["predictedEfficiency"].as_f64().is_some_and(|it| it > 0.0)), "{found}");
    assert!(found.get("calibration").is_none(), "{found}");
    // A command is described by a row.
    let row = r#"{"model_name": "gpt2", "seq_len": 1024, "gpu": "A100-80", "micro_batch": 8}"#;
    fs::write(place.work().join("row.json"), row).unwrap();
    let words = ["scale", "--num-gpus-list", "1", "2", "--repeats", "1", "--row", "row.json", "--results-dir", "row"];
    let mut command = place.fermi(words);
    Run::whole(command.args(["--", "--no-python", "/bin/sh", "-c", SPEAKS])).expect(0);
    let found = report(&place.work().join("row")).unwrap();
    let points = found["points"].as_array().unwrap();
    assert!(points.iter().all(|it| it["predictedEfficiency"].as_f64().is_some_and(|it| it > 0.0)), "{found}");
    place.assert_empty();
}

/// A measurement on these environments, with what else is given.
fn on_nodes(fleet: &Fleet, nodes: &str, options: &[&str]) -> Run {
    let server = format!("http://{}", fleet.address());
    let mut command = fleet.place.fermi(["scale", "--nodes", nodes, "--server", &server, "--repeats", "1"]);
    command.arg("--token-file").arg(fleet.data().join("token")).args(["--results-dir", "found"]);
    Run::start(command.args(options))
}

fn tasks(fleet: &Fleet) -> Vec<Value> {
    fleet.get("/training-tasks")["items"].as_array().unwrap().clone()
}

#[test]
fn numbers_of_environments_are_compared_by_tasks_of_the_server() {
    let mut fleet = Fleet::of(&[("sn-a", 1), ("sn-b", 1), ("sn-c", 1)]);
    let (all, weak) = ("sn-a,sn-b,sn-c", ["--num-nodes-list", "1", "2", "3", "--scaling", "weak", "--steps", "6"]);
    let ended = on_nodes(&fleet, all, &weak).ended().expect(0);
    let found = report(&fleet.place.work().join("found")).unwrap();
    let points = found["points"].as_array().unwrap();
    let counts: Vec<_> = points.iter().map(|it| (it["nodes"].as_u64(), it["processes"].as_u64())).collect();
    assert_eq!(counts, [1, 2, 3].map(|count| (Some(count), Some(count))), "{found}");
    assert_eq!((&found["complete"], &found["environments"][2]), (&Value::from(true), &Value::from("sn-c")));
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    for point in points {
        let is_shared = point["nodes"].as_u64().unwrap() > cores;
        assert!(point["speed"].as_f64().unwrap() > 0.0, "{found}");
        assert_eq!(
            (point["sharesDevices"].as_bool(), point["efficiency"].is_null()),
            (Some(is_shared), is_shared),
            "{found}"
        );
        assert!(point["predictedEfficiency"].as_f64().is_some_and(|it| it > 0.0), "{found}");
    }
    assert!(ended.err().contains("sn-a, sn-b, sn-c are one machine"), "{}", ended.err());
    assert!(ended.out().contains("NODES"), "{}", ended.out());
    let csv = fs::read_to_string(fleet.place.work().join("found/scaling.csv")).unwrap();
    assert!(csv.starts_with("scaling,nodes,processes,") && csv.contains("\nweak,2,2,"), "{csv}");
    assert_eq!(tasks(&fleet), Vec::<Value>::new(), "tasks of runs that ended well are deleted");
    fleet.assert_idle();

    on_nodes(&fleet, "sn-a,sn-b,none", &weak).ended().expect(3).says(&["none"]);
    on_nodes(&fleet, "sn-a,sn-b", &weak).ended().expect(2).says(&["--num-nodes-list"]);
    let holder = fleet.run_script_on("sn-b", "sleep 600", 0);
    fleet.task_is(&holder, "running");
    fleet.kill_agent(2);
    eventually("both obstacles to be named", || {
        let said = on_nodes(&fleet, all, &weak).ended();
        let is_whole = said.err().contains("sn-c is ") && said.err().contains(&format!("sn-b is held by {holder}"));
        (said.code() == Some(5) && is_whole && said.err().contains("fermi task wait")).then_some(())
    });
    assert_eq!(tasks(&fleet).len(), 1, "nothing was started");
}

#[test]
fn a_measurement_on_environments_that_is_ended_leaves_no_task_behind() {
    let fleet = Fleet::of(&[("se-a", 1), ("se-b", 1)]);
    let words = ["--num-nodes-list", "2", "--", "--framework", "command", "/bin/sh", "-c", "sleep 600"];
    let run = on_nodes(&fleet, "se-a,se-b", &words);
    eventually("its task to run", || tasks(&fleet).iter().any(|task| task["status"] == "running").then_some(()));
    signal(run.pid(), libc::SIGINT);
    let ended = run.ended();
    assert_eq!(ended.code(), Some(130), "{}", ended.err());
    assert_eq!(tasks(&fleet), Vec::<Value>::new());
    fleet.assert_idle();
}

#[test]
fn the_planner_is_not_taught_what_it_cannot_learn_from() {
    let place = Place::new();
    let cores = std::thread::available_parallelism().unwrap().get();
    let many = (cores + 1).to_string();
    let mut shared = place.fermi(["scale", "--calibrate", "--num-gpus-list", &many]);
    let said = Run::whole(&mut shared).expect(2);
    assert!(said.err().contains("the planner learns nothing from that"), "{}", said.err());
    let mut unknown = place.fermi(["scale", "--calibrate", "--", "train.py"]);
    assert!(Run::whole(&mut unknown).expect(2).err().contains("--row"));
    fs::write(place.work().join("row.json"), r#"{"model_name": "gpt2", "seq_len": 1024}"#).unwrap();
    let mut without_batch = place.fermi(["scale", "--calibrate", "--row", "row.json", "--", "train.py"]);
    assert!(Run::whole(&mut without_batch).expect(2).err().contains("the batch is not known"));
    assert!(!place.work().join("results").exists());
}

#[test]
fn a_second_measurement_into_the_same_folder_keeps_the_first() {
    let place = Place::new();
    for speed in ["100", "200"] {
        let words = ["scale", "--num-gpus-list", "1", "--repeats", "1", "--results-dir", "found"];
        let mut command = place.fermi(words);
        command.args(["--", "--no-python", "/bin/sh", "-c", &format!("echo {speed} tokens/s")]);
        Run::whole(&mut command).expect(0);
    }
    let folder = place.work().join("found");
    let speed = |name: &str| -> Value {
        let text = fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_slice::<Value>(&text).unwrap()["points"][0]["speed"].clone()
    };
    assert_eq!((speed("scaling-1.json"), speed("scaling.json")), (Value::from(100.0), Value::from(200.0)));
    assert!(folder.join("scaling-1.svg").is_file() && folder.join("runs/output-1-2.log").is_file());
    place.assert_empty();
}

#[test]
fn a_second_measurement_at_the_same_time_is_sent_elsewhere() {
    let place = Place::new();
    let folder = place.work().join("found");
    let words = ["scale", "--num-gpus-list", "1", "--repeats", "1", "--results-dir", "found", "--", "--no-python"];
    let first = Run::start(place.fermi(words).args([
        "/bin/sh",
        "-c",
        "until [ -e go ]; do sleep 0.05; done; echo 100 tokens/s",
    ]));
    eventually("the first one measures", || folder.join("runs/output-1.log").exists().then_some(()));
    let second = Run::whole(place.fermi(words).args(["/bin/sh", "-c", "echo 200 tokens/s"])).expect(5);
    assert!(second.err().contains("another fermi scale (process "), "{}", second.err());
    assert!(second.err().contains("--results-dir"), "{}", second.err());
    fs::write(place.work().join("go"), "").unwrap();
    assert_eq!(first.ended().code(), Some(0));
    assert_eq!(report(&folder).unwrap()["points"][0]["speed"], Value::from(100.0));
    assert!(!folder.join("scaling-1.json").exists());
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

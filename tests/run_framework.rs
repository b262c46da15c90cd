//! `fermi run --framework`: what the engine needs reaches every rank, on one node and on several, and what cannot be
//! known or does not fit is refused before anything starts.

use std::fs;
use std::process::Command;

use crate::support::{Place, Run, host_name, script};
use serde_json::Value;

/// `fermi run` of the script that writes down how it was started.
fn tell(place: &Place, options: &[&str]) -> Command {
    let mut command = place.run(options);
    command.env("FERMI_TELL", place.numbers()).arg(script("tell.py"));
    command
}

/// What a rank wrote down.
fn told(place: &Place, rank: u32) -> Value {
    let text = fs::read(place.numbers().join(format!("{rank}.json"))).unwrap();
    // It would be taken for the number of a process that hides.
    serde_json::from_slice(&text).unwrap()
}

fn variable(told: &Value, name: &str) -> String {
    told["env"][name].as_str().unwrap_or_else(|| panic!("there is no {name} in {:#}", told["env"])).to_owned()
}

fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn jax_gets_a_coordinator_and_a_cluster_that_it_recognises() {
    let place = Place::new();
    Run::whole(&mut tell(&place, &["-n", "2", "--framework", "jax"])).expect(0);
    for rank in 0..2 {
        let told = told(&place, rank);
        let master = format!("127.0.0.1:{}", variable(&told, "MASTER_PORT"));
        assert_eq!(variable(&told, "JAX_COORDINATOR_ADDRESS"), master);
        assert_eq!(variable(&told, "OMPI_COMM_WORLD_SIZE"), "2");
        assert_eq!(variable(&told, "OMPI_COMM_WORLD_RANK"), rank.to_string());
        assert_eq!(variable(&told, "JAX_PLATFORM_NAME"), "cpu");
        assert_eq!(variable(&told, "FERMI_FRAMEWORK"), "jax");
    }
}

#[test]
fn deepspeeds_files_are_written_and_named_and_its_argument_comes_behind_the_scripts_own() {
    let place = Place::new();
    let set = ["--set", "zeroStage=3", "--set", "microBatchSize=2", "--set", "configArgument=--deepspeed_config"];
    let mut command = tell(&place, &[&["-n", "2", "--framework", "deepspeed"][..], &set].concat());
    let ended = Run::whole(command.arg("--epochs=3")).expect(0);
    ended.says(&["effective batch"]);
    let told = told(&place, 1);
    let file = variable(&told, "FERMI_CONFIG_FILE");
    let words: Vec<&str> = told["argv"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words, ["--epochs=3", "--deepspeed_config", &file]);
    let launch = place.run_folder().join("launch");
    assert_eq!(file, launch.join("ds_config.json").to_str().unwrap());
    let json: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!((&json["zero_optimization"]["stage"], &json["train_micro_batch_size_per_gpu"]), (&3.into(), &2.into()));
    assert_eq!(fs::read_to_string(launch.join("hostfile")).unwrap().trim_end(), format!("{} slots=2", host_name()));
    // A file with rank 0's port is written once that is known.
    let yaml = fs::read_to_string(launch.join("accelerate_deepspeed.yaml")).unwrap();
    assert!(yaml.contains(&format!("main_process_port: {}\n", variable(&told, "MASTER_PORT"))), "{yaml}");
}

#[test]
fn a_variable_of_the_users_own_wins() {
    let place = Place::new();
    let mut command =
        tell(&place, &["-n", "1", "--framework", "jax", "-x", "JAX_PLATFORM_NAME=mine", "-x", "MASTER=1"]);
    Run::whole(command.env("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.3").env("JAX_PROCESS_ID", "7")).expect(0);
    let told = told(&place, 0);
    assert_eq!(variable(&told, "JAX_PLATFORM_NAME"), "mine");
    assert_eq!(variable(&told, "XLA_PYTHON_CLIENT_MEM_FRACTION"), "0.3");
    assert_eq!(variable(&told, "JAX_PROCESS_ID"), "0", "who a rank is, is never inherited");
}

#[test]
fn without_it_nothing_of_an_engine_is_set() {
    let place = Place::new();
    Run::whole(&mut tell(&place, &["-n", "1"])).expect(0);
    let told = told(&place, 0);
    for name in ["FERMI_FRAMEWORK", "FERMI_LAUNCH_DIR", "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK"] {
        assert!(told["env"][name].is_null(), "{name}");
    }
    assert!(!place.run_folder().join("launch").exists());
}

#[test]
fn a_dry_run_shows_the_engines_variables_and_writes_nothing() {
    let place = Place::new();
    let ended = Run::whole(&mut tell(&place, &["-n", "2", "--framework", "horovod", "--dry-run"])).expect(0);
    let said = ended.out();
    for line in ["HOROVOD_RANK=1", "HOROVOD_SIZE=2", "HOROVOD_GLOO_RENDEZVOUS_PORT=29500", "HOROVOD_GLOO_IFACE=lo"] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
    assert!(place.run_folders().is_empty());
}

#[test]
fn nodes_with_equal_ranks_know_the_whole_world_before_they_meet() {
    let place = Place::new();
    let port = free_port();
    let node = |rank: &str| {
        let options = ["--nnodes", "2", "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", &port];
        Run::start(&mut tell(&place, &[&options[..], &["-n", "2", "--framework", "jax"]].concat()))
    };
    let (second, first) = (node("1"), node("0"));
    first.ended().expect(0);
    second.ended().expect(0);
    for rank in 0..4 {
        let told = told(&place, rank);
        assert_eq!(variable(&told, "RANK"), rank.to_string());
        assert_eq!(variable(&told, "OMPI_COMM_WORLD_RANK"), rank.to_string());
        assert_eq!(variable(&told, "OMPI_COMM_WORLD_LOCAL_RANK"), (rank % 2).to_string());
        assert_eq!(variable(&told, "JAX_NUM_PROCESSES"), "4");
        assert_eq!(variable(&told, "JAX_COORDINATOR_ADDRESS"), format!("127.0.0.1:{port}"));
    }
}

#[test]
fn nodes_with_unequal_ranks_start_nothing_and_say_why() {
    let place = Place::new();
    let port = free_port();
    let node = |rank: &str, count: &str| {
        let options = ["--nnodes", "2", "--node-rank", rank, "--master-addr", "127.0.0.1", "--master-port", &port];
        Run::start(&mut tell(&place, &[&options[..], &["-n", count, "--framework", "jax"]].concat()))
    };
    let (second, first) = (node("1", "2"), node("0", "1"));
    let first = first.ended().expect(1);
    second.ended().expect(1);
    first.says(&["a framework needs the same number of ranks on every node"]);
    assert_eq!(fs::read_dir(place.numbers()).unwrap().count(), 0, "a rank was started");
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence_and_a_hint() {
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--framework", "deepsped"], &["The framework deepsped is not known", "did you mean deepspeed?"]),
        (&["--framework", "deepspeed", "--set", "zeroStge=3"], &["zeroStge", "did you mean zeroStage?"]),
        (&["--framework", "deepspeed", "--set", "zeroStage"], &["--set zeroStage is no setting", "give KEY=VALUE"]),
        (&["--framework", "megatron-lm", "-n", "2", "--tensor-parallel", "3"], &["hint:"]),
        (
            &["--framework", "jax", "--nnodes", "2", "--rdzv-endpoint", "203.0.113.7:4711"],
            &["--framework must know the place of every rank beforehand", "--node-rank"],
        ),
        (&["--set", "zeroStage=3"], &["--framework"]),
    ];
    for (options, said) in cases {
        let place = Place::new();
        Run::whole(&mut tell(&place, options)).expect(2).says(said);
        assert!(place.run_folders().is_empty(), "{options:?}");
    }
}

#[test]
fn a_rank_that_is_started_alone_heeds_the_variables_beside_it() {
    let place = Place::new();
    let names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT";
    place.file("show.py", format!("import os\nprint(*(os.environ[name] for name in '{names}'.split()))\n"));
    let alone = ["--mode", "manual", "--rank", "7", "--world-size", "8"];
    let mut said = place.run([&alone[..], &["show.py"]].concat());
    said.env("LOCAL_RANK", "3").env("NODE_RANK", "1").env("MASTER_ADDR", "10.0.0.9").env("MASTER_PORT", "4711");
    assert_eq!(Run::whole(&mut said).expect(0).out(), "7 8 3 4 1 10.0.0.9 4711\n");
    let mut flags = place.run([&alone[..], &["--master-addr", "gn6", "--master-port", "5000", "show.py"]].concat());
    flags.env("MASTER_ADDR", "10.0.0.9").env("MASTER_PORT", "4711");
    assert!(Run::whole(&mut flags).expect(0).out().ends_with(" gn6 5000\n"));
    let mut nonsense = place.run([&alone[..], &["show.py"]].concat());
    let refused = Run::whole(nonsense.env("LOCAL_RANK", "first")).expect(2);
    refused.says(&["the variable LOCAL_RANK cannot be 'first'", "unset LOCAL_RANK"]);
}

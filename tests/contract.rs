//! What a rank is given: torchrun's variables and arguments, in every spelling that users bring along.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Place, Run, host_name, python, script};
use serde_json::Value;

/// What the ranks wrote down, in the order of their numbers.
fn told(place: &Place) -> Vec<Value> {
    let mut told: Vec<(u32, Value)> = fs::read_dir(place.numbers())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let rank = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            (rank, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
        })
        .collect();
    told.sort_by_key(|(rank, _)| *rank);
    told.into_iter().map(|(_, told)| told).collect()
}

fn run_of(place: &Place, options: &[&str]) -> Command {
    let mut command = place.run(options);
    command.env("FERMI_TELL", place.numbers());
    command
}

/// Runs `tell.py` and answers with what its ranks saw.
fn tell(place: &Place, options: &[&str]) -> Vec<Value> {
    tell_with(place, options, |_| {})
}

fn tell_with(place: &Place, options: &[&str], change: impl FnOnce(&mut Command)) -> Vec<Value> {
    let mut command = run_of(place, options);
    command.arg(script("tell.py"));
    change(&mut command);
    Run::whole(&mut command).expect(0);
    told(place)
}

fn variable<'a>(told: &'a Value, name: &str) -> Option<&'a str> {
    told["env"][name].as_str()
}

fn words(told: &Value) -> Vec<&str> {
    told["argv"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect()
}

/// The ranks of a dry run with these options.
fn planned(place: &Place, options: &[&str]) -> Vec<Value> {
    let mut command = run_of(place, options);
    let ended = Run::whole(command.args(["--dry-run", "--json"]).arg(script("tell.py"))).expect(0);
    let plan: Value = serde_json::from_slice(&ended.stdout).unwrap();
    plan["ranks"].as_array().unwrap().clone()
}

#[test]
fn every_rank_gets_torchruns_variables_with_the_right_values() {
    let place = Place::new();
    let options =
        ["-n", "3", "--max-restarts", "2", "--rdzv-id", "job7", "--role", "actor", "--signals-to-handle", "SIGTERM"];
    let told = tell(&place, &options);
    assert_eq!(told.len(), 3);
    let run_id = place.run_folder().file_name().unwrap().to_str().unwrap().strip_prefix("job7_").unwrap().to_owned();
    for (rank, told) in told.iter().enumerate() {
        let number = rank.to_string();
        let folder = place.run_folder().join(format!("attempt_0/{rank}"));
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let host = host_name();
        let expected = [
            ("RANK", number.clone()),
            ("LOCAL_RANK", number.clone()),
            ("ROLE_RANK", number.clone()),
            ("WORLD_SIZE", "3".into()),
            ("LOCAL_WORLD_SIZE", "3".into()),
            ("ROLE_WORLD_SIZE", "3".into()),
            ("LOCAL_SIZE", "3".into()),
            ("GROUP_RANK", "0".into()),
            ("NODE_RANK", "0".into()),
            ("CROSS_RANK", "0".into()),
            ("GROUP_WORLD_SIZE", "1".into()),
            ("CROSS_SIZE", "1".into()),
            ("ROLE_NAME", "actor".into()),
            ("MASTER_ADDR", "127.0.0.1".into()),
            ("TORCHELASTIC_RESTART_COUNT", "0".into()),
            ("TORCHELASTIC_MAX_RESTARTS", "2".into()),
            ("TORCHELASTIC_RUN_ID", "job7".into()),
            ("TORCHELASTIC_USE_AGENT_STORE", "True".into()),
            ("TORCHELASTIC_ERROR_FILE", path("error.json")),
            ("TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM".into()),
            ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1".into()),
            ("OMP_NUM_THREADS", "1".into()),
            ("PYTHONUNBUFFERED", "1".into()),
            ("FERMI_TASK_ID", run_id.clone()),
            ("FERMI_RUN_MARK", run_id.clone()),
            ("FERMI_ATTEMPT", "1".into()),
            ("FERMI_PROGRESS_FILE", path("progress.ndjson")),
            ("FERMI_NODE_NAME", host.clone()),
            ("FERMI_WORKER_ID", format!("{host}-{rank}")),
        ];
        for (name, value) in expected {
            assert_eq!(variable(told, name), Some(value.as_str()), "{name} of rank {rank}");
        }
        assert_eq!(variable(told, "FERMI_RESUME"), None);
        let port: u16 = variable(told, "MASTER_PORT").unwrap().parse().unwrap();
        assert!(port >= 29_500);
        assert_eq!(told["folder"].as_str(), place.work().canonicalize().unwrap().to_str());
        assert_eq!(told["unbuffered"], true);
    }
}

#[test]
fn a_dry_run_shows_what_a_run_gives_and_starts_nothing() {
    let place = Place::new();
    let options = ["-n", "2", "--master-port", "29457", "--rdzv-id", "same", "-x", "A=b c", "--cpu-bind", "cores"];
    let planned = planned(&place, &options);
    assert!(told(&place).is_empty() && place.run_folders().is_empty(), "a dry run leaves nothing");
    let told = tell(&place, &options);
    let run_id = variable(&told[0], "FERMI_TASK_ID").unwrap();
    for (rank, planned) in planned.iter().enumerate() {
        let planned_id = planned["env"]["FERMI_TASK_ID"].as_str().unwrap();
        for (name, value) in planned["env"].as_object().unwrap() {
            let expected = value.as_str().unwrap().replace(planned_id, run_id);
            assert_eq!(variable(&told[rank], name), Some(expected.as_str()), "{name} of rank {rank}");
        }
        assert_eq!(planned["cpus"], told[rank]["cpus"]);
        let argv: Vec<&str> = planned["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(argv, [python().to_str().unwrap(), "-u", script("tell.py").to_str().unwrap()]);
    }
    let text = Run::whole(run_of(&place, &["-n", "2", "--dry-run"]).arg(script("tell.py")).arg("it's")).expect(0).out();
    for part in [&format!("rank 1 on {}", host_name()), "  WORLD_SIZE=2\n", "'it'\\''s'"] {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
}

#[test]
fn the_number_of_processes_is_understood_in_every_spelling() {
    for options in [
        &["--nproc-per-node", "2"][..],
        &["--nproc_per_node", "2"],
        &["--nproc_per_node=2"],
        &["-n", "2"],
        &["-n2"],
        &["-np", "2"],
        &["--num_gpus", "2"],
        &["--num_gpus=2"],
        &["--num-gpus", "2", "--num_nodes=1"],
        &["--host", "localhost:2"],
        &["-H", "localhost:2"],
        &["--include", "localhost:1,3"],
        &["--mode", "manual", "--world-size", "2"],
        &[
            "--standalone",
            "--nnodes",
            "1",
            "--nproc-per-node",
            "2",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=localhost:0",
        ],
        &["--nnodes=1:1", "--node_rank=0", "--master_addr=127.0.0.1", "--master_port=29433", "--nproc_per_node=2"],
    ] {
        let ranks = planned(&Place::new(), options);
        assert_eq!(ranks.len(), 2, "{options:?}");
        assert_eq!(ranks[1]["env"]["WORLD_SIZE"], "2", "{options:?}");
    }
    let cpus = planned(&Place::new(), &["-n", "cpu"]).len();
    assert_eq!(cpus, std::thread::available_parallelism().unwrap().get());
    assert_eq!(planned(&Place::new(), &[]).len(), 1);
}

#[test]
fn variables_of_torchrun_are_options_too_and_options_win() {
    let place = Place::new();
    let set = |command: &mut Command| {
        command.envs([
            ("PET_NPROC_PER_NODE", "3"),
            ("PET_MAX_RESTARTS", "4"),
            ("PET_RDZV_ID", "by-variable"),
            ("PET_ROLE", "critic"),
            ("PET_MASTER_PORT", "29444"),
            ("PET_STANDALONE", "1"),
            ("PET_TEE", "3"),
            ("PET_NO_PYTHON", "0"),
        ]);
    };
    let told = tell_with(&place, &["--max-restarts", "5"], set);
    assert_eq!(told.len(), 3);
    let expected = [
        ("TORCHELASTIC_MAX_RESTARTS", "5"),
        ("TORCHELASTIC_RUN_ID", "by-variable"),
        ("ROLE_NAME", "critic"),
        ("MASTER_PORT", "29444"),
    ];
    for (name, value) in expected {
        assert_eq!(variable(&told[2], name), Some(value), "{name}");
    }
}

#[test]
fn a_module_is_run_as_python_m_does() {
    let place = Place::new();
    place.file("pkg/__init__.py", "");
    place.file("pkg/train.py", fs::read(script("tell.py")).unwrap());
    for option in ["-m", "--module"] {
        Run::whole(run_of(&place, &["-n", "2", option, "pkg.train", "--lr", "0.1", "-m", "x"]).arg("last")).expect(0);
        let told = told(&place);
        assert_eq!(words(&told[1]), ["--lr", "0.1", "-m", "x", "last"]);
        assert_eq!(told[1]["name"], "__main__");
    }
}

#[test]
fn a_program_of_any_kind_runs_without_python() {
    let place = Place::new();
    let program = place.file("job", "#!/bin/sh\necho \"$RANK of $WORLD_SIZE: $*\" > \"out-$RANK\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Run::whole(&mut run_of(&place, &["-n", "2", "--no-python", "./job", "--index", "${local_rank}", "$RANK"]))
        .expect(0);
    assert_eq!(fs::read_to_string(place.work().join("out-1")).unwrap(), "1 of 2: --index 1 $RANK\n");
}

#[test]
fn run_path_runs_a_script_as_main_with_its_own_arguments() {
    let place = Place::new();
    let mut command = run_of(&place, &["-n", "1", "--run-path"]);
    Run::whole(command.arg(script("tell.py")).args(["a", "--b"])).expect(0);
    let told = told(&place);
    assert_eq!(words(&told[0]), ["a", "--b"]);
    assert_eq!(told[0]["argv"][0].as_str(), script("tell.py").to_str());
    assert_eq!(told[0]["name"], "__main__");
}

#[test]
fn what_a_script_of_run_path_has_left_to_do_is_done_before_its_rank_ends() {
    let place = Place::new();
    let lines = "import atexit, sys, threading, time\n\
                 atexit.register(lambda: print('registered'))\n\
                 threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n\
                 sys.exit(int(sys.argv[1]))\n";
    let script = place.file("leaves.py", lines);
    for code in ["0", "3"] {
        let mut command = run_of(&place, &["-n", "1", "--run-path"]);
        let ended = Run::whole(command.arg(&script).arg(code));
        let ended = ended.expect(if code == "0" { 0 } else { 1 });
        assert!(ended.out().contains("thread\nregistered\n"), "{}", ended.out());
    }
}

#[test]
fn the_local_rank_is_filled_into_arguments_and_legacy_scripts_get_it_as_one() {
    let place = Place::new();
    let told = tell_with(&place, &["-n", "2"], |command| {
        command.args(["--out=part-${local_rank}.bin", "${rank}"]);
    });
    assert_eq!(words(&told[1]), ["--out=part-1.bin", "${rank}"]);
    let place = Place::new();
    let told = tell_with(&place, &["-n", "2", "--legacy-launch"], |command| {
        command.args(["--lr", "1"]);
    });
    assert_eq!(words(&told[1]), ["--local-rank=1", "--lr", "1"]);
}

#[test]
fn python_exec_names_the_interpreter() {
    let place = Place::new();
    let body = format!("#!/bin/sh\ntouch taken\nexec {} \"$@\"\n", python().display());
    let wrapper = place.file("my python", body);
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    tell_with(&place, &["-n", "1"], |command| {
        command.env("PYTHON_EXEC", &wrapper);
    });
    assert!(place.work().join("taken").exists());
}

#[test]
fn without_python_exec_the_active_environments_interpreter_is_taken() {
    let place = Place::new();
    fs::create_dir_all(place.work().join("venv/bin")).unwrap();
    std::os::unix::fs::symlink(python(), place.work().join("venv/bin/python")).unwrap();
    let told = tell_with(&place, &["-n", "1"], |command| {
        command.env_remove("PYTHON_EXEC").env("VIRTUAL_ENV", place.work().join("venv"));
    });
    assert!(told[0]["executable"].as_str().unwrap().ends_with("work/venv/bin/python"), "{}", told[0]["executable"]);
}

#[test]
fn deepspeeds_devices_and_mpiruns_variables_are_passed_on() {
    let place = Place::new();
    let options = ["--include", "localhost:0,2", "-x", "NCCL_DEBUG=INFO", "-x", "PASSED", "-x", "EMPTY="];
    let told = tell_with(&place, &options, |command| {
        command.env("PASSED", "on");
    });
    assert_eq!(told.len(), 2);
    for told in &told {
        assert_eq!(variable(told, "CUDA_VISIBLE_DEVICES"), Some("0,2"));
        assert_eq!(variable(told, "NCCL_DEBUG"), Some("INFO"));
        assert_eq!(variable(told, "PASSED"), Some("on"));
        assert_eq!(variable(told, "EMPTY"), Some(""));
    }
}

#[test]
fn manual_mode_starts_one_rank_of_a_larger_world() {
    let place = Place::new();
    let options = ["--mode", "manual", "--rank", "1", "--world-size", "4", "--master-addr", "10.1.2.3"];
    let told = tell(&place, &options);
    assert_eq!(told.len(), 1);
    let expected = [
        ("RANK", "1"),
        ("WORLD_SIZE", "4"),
        ("LOCAL_RANK", "0"),
        ("MASTER_ADDR", "10.1.2.3"),
        ("MASTER_PORT", "29500"),
    ];
    for (name, value) in expected {
        assert_eq!(variable(&told[0], name), Some(value), "{name}");
    }
}

#[test]
fn omp_num_threads_is_the_users_or_one_when_ranks_share_the_machine() {
    let omp = |ranks: &str, inherited: Option<&str>| {
        let told = tell_with(&Place::new(), &["-n", ranks], |command| {
            command.envs(inherited.map(|value| ("OMP_NUM_THREADS", value)));
        });
        variable(&told[0], "OMP_NUM_THREADS").map(str::to_owned)
    };
    assert_eq!(omp("2", None).as_deref(), Some("1"));
    assert_eq!(omp("1", None), None);
    assert_eq!(omp("2", Some("7")).as_deref(), Some("7"));
}

#[test]
fn visible_devices_are_inherited_or_one_for_each() {
    let told = tell_with(&Place::new(), &["-n", "2"], |command| {
        command.env("CUDA_VISIBLE_DEVICES", "3,1");
    });
    assert!(told.iter().all(|told| variable(told, "CUDA_VISIBLE_DEVICES") == Some("3,1")));
    let told = tell(&Place::new(), &["-n", "2"]);
    assert!(told.iter().all(|told| variable(told, "CUDA_VISIBLE_DEVICES").is_none()));
    let told = tell_with(&Place::new(), &["-n", "2", "--virtual-local-rank"], |command| {
        command.env("CUDA_VISIBLE_DEVICES", "3,1");
    });
    for (told, device) in told.iter().zip(["3", "1"]) {
        assert_eq!(variable(told, "LOCAL_RANK"), Some("0"));
        assert_eq!(variable(told, "CUDA_VISIBLE_DEVICES"), Some(device));
        assert_eq!(variable(told, "HIP_VISIBLE_DEVICES"), Some(device));
    }
}

#[test]
fn bound_ranks_run_on_their_share_of_the_cpus() {
    let all = tell(&Place::new(), &["-n", "1"])[0]["cpus"].as_array().unwrap().clone();
    for options in [
        &["-n", "2", "--cpu-bind", "cores"][..],
        &["-n", "2", "--bind_cores_to_rank"],
        &["-np", "2", "--bind-to", "core"],
    ] {
        let told = tell(&Place::new(), options);
        let shares: Vec<_> = told.iter().map(|told| told["cpus"].as_array().unwrap().clone()).collect();
        let each = (all.len() / 2).max(1);
        assert_eq!(shares[0][..], all[..each], "{options:?}");
        assert_eq!(variable(&told[0], "OMP_NUM_THREADS"), Some(each.to_string().as_str()));
        if all.len() > 1 {
            assert!(shares[1].iter().all(|cpu| !shares[0].contains(cpu)), "{shares:?}");
        }
    }
    let told = tell(&Place::new(), &["-n", "2", "--bind-core-list", "0"]);
    assert_eq!(told[1]["cpus"], serde_json::json!([0]));
}

#[test]
fn names_that_would_break_a_shell_arrive_as_they_are() {
    let odd = [
        "with space",
        "it's",
        "\"quoted\"",
        "训练集",
        "$HOME `id` $(id); rm -rf / | & > x",
        "*",
        "",
        "a\nb\tc",
        "--",
        "-n",
        "\\",
    ];
    let place = Place::new();
    let name = "my 训练 'script' $(x).py";
    let script = place.file(name, fs::read(script("tell.py")).unwrap());
    let mut command = run_of(&place, &["-n", "2"]);
    command.arg(&script).args(odd);
    Run::whole(&mut command).expect(0);
    let expected: Vec<String> = odd.iter().map(|word| latin_1(word.as_bytes())).collect();
    for told in told(&place) {
        assert_eq!(words(&told), expected);
        assert_eq!(told["argv"][0].as_str().unwrap(), latin_1(script.as_os_str().as_bytes()));
    }
}

/// As `tell.py` writes bytes.
fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

#[test]
fn arguments_and_variables_that_are_not_utf_8_arrive_as_they_are() {
    let odd = OsString::from_vec(b"caf\xe9 \xff\xfe.bin".to_vec());
    let place = Place::new();
    let told = tell_with(&place, &["-n", "2"], |command| {
        command.arg(&odd).env("ODD", &odd).env(OsStr::from_bytes(b"ODD_\xe9"), "value");
    });
    for told in told {
        assert_eq!(words(&told), [latin_1(odd.as_bytes())]);
        assert_eq!(variable(&told, "ODD"), Some(latin_1(odd.as_bytes()).as_str()));
        assert_eq!(variable(&told, &latin_1(b"ODD_\xe9")), Some("value"));
    }
}

#[test]
fn two_runs_at_once_get_different_ports_and_folders() {
    let place = Place::new();
    let body = "import os, time\nopen('port-' + os.environ['MASTER_PORT'], 'w').close()\nwhile len([n for n in os.listdir('.') if n.startswith('port-')]) < 2: time.sleep(0.005)";
    let script = place.file("a.py", body);
    let runs = [(); 2].map(|()| Run::start(place.run(["-n", "1"]).arg(&script)));
    for run in runs {
        run.ended().expect(0);
    }
    assert_eq!(place.run_folders().len(), 2);
}

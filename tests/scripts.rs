//! The files of `scripts/`, which carry other projects' names for what `fermi` does.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{self, Place, Run};

/// A file of `scripts/`, started by its interpreter.
fn script(place: &Place, name: &str, arguments: &[&str]) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name).canonicalize().unwrap();
    let interpreter = if name.ends_with(".py") { support::python() } else { Path::new("/bin/sh") };
    let mut command = place.program(interpreter);
    command.env("FERMI_BIN", env!("CARGO_BIN_EXE_fermi")).arg(path).args(arguments);
    command
}

#[test]
fn run_distributed_starts_main_py_where_no_script_is_named() {
    let place = Place::new();
    place.file("main.py", "import os, sys\nprint(os.environ['WORLD_SIZE'], sys.argv[1:])\n");
    for (arguments, wanted) in [
        (vec!["--nproc_per_node", "2", "--config", "c.yaml"], "2 ['--mode', 'train', '--config', 'c.yaml']\n"),
        (vec!["--mode", "manual", "--world-size", "3"], "3 ['--mode', 'train']\n"),
        (vec!["--nproc_per_node=1", "main.py", "--config", "x"], "1 ['--config', 'x']\n"),
        // In whatever order: the launcher's options are the launcher's.
        (
            vec!["--config", "c.yaml", "--nproc_per_node", "2", "--algorithm=sft"],
            "2 ['--mode', 'train', '--config', 'c.yaml', '--algorithm=sft']\n",
        ),
    ] {
        let ended = Run::whole(&mut script(&place, "run_distributed.py", &arguments)).expect(0);
        assert_eq!(ended.out(), wanted, "{arguments:?}");
    }
}

#[test]
fn the_strategy_of_a_config_is_carried_out_and_said() {
    let place = Place::new();
    place.file("main.py", "import os, sys\nprint(os.environ.get('FERMI_FRAMEWORK'), sys.argv[1:])\n");
    place.file("ds.yaml", "training: {distributed_strategy: deepspeed, per_device_train_batch_size: 2}\n");
    let arguments = ["--nproc_per_node", "2", "--config", "ds.yaml", "--algorithm", "sft"];
    let ended = Run::whole(&mut script(&place, "run_distributed.py", &arguments)).expect(0);
    let ended = ended.says(&["strategy DeepSpeed ZeRO-2", "effective batch 4 = 2 x 2 ranks"]);
    assert!(
        ended.out().ends_with("['--mode', 'train', '--config', 'ds.yaml', '--algorithm', 'sft']\n"),
        "{}",
        ended.out()
    );
}

#[test]
fn the_scripts_find_what_make_build_made_and_say_so_where_nothing_is() {
    let place = Place::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    for entry in fs::read_dir(scripts).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        place.file(&format!("scripts/{}", entry.file_name().to_str().unwrap()), fs::read(entry.path()).unwrap());
    }
    let call = |name: &str, language: &str, words: &[&str]| {
        let interpreter = if name.ends_with(".py") { support::python() } else { Path::new("/bin/sh") };
        let mut command = place.program(interpreter);
        command.env("PATH", "/usr/bin:/bin").env("LANG", language).arg(format!("scripts/{name}")).args(words);
        Run::whole(&mut command)
    };
    for name in [
        "run_distributed.py",
        "setup_cluster.py",
        "test_distributed.py",
        "quick_start_examples.sh",
        "launch_multi_node.sh",
    ] {
        call(name, "C.UTF-8", &["a", "2", "4"])
            .expect(2)
            .says(&["error: there is no fermi", "hint: run make build in"]);
        call(name, "zh_CN.UTF-8", &["a", "2", "4"]).expect(2).says(&["错误：找不到 fermi", "提示：在"]);
    }
    fs::create_dir_all(place.work().join("target/release")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fermi"), place.work().join("target/release/fermi")).unwrap();
    let line = call("quick_start_examples.sh", "C", &["--scenario", "single", "--print"]).expect(0).out();
    assert_eq!(line, "fermi run --nproc-per-node auto train.py\n");
    place.file("main.py", "print('found')\n");
    assert_eq!(call("run_distributed.py", "C", &["--nproc_per_node", "1"]).expect(0).out(), "found\n");
    let asked = call("launch_multi_node.sh", "C", &["192.168.1.100", "2", "4"]).expect(2);
    asked.says(&["there is no list of hosts", "hostfile"]);
}

#[test]
fn setup_cluster_takes_underscores_and_writes_the_file() {
    let place = Place::new();
    let port = support::sshd::free_port().to_string();
    let arguments = ["--master_addr", "localhost", "--master_port", &port, "--world_size=4", "--node_rank", "0"];
    let ended = Run::whole(&mut script(&place, "setup_cluster.py", &arguments)).expect(0);
    assert!(ended.out().contains("fermi run --nproc-per-node 4"), "{}", ended.out());
    let file = fs::read_to_string(place.work().join("cluster_config.yaml")).unwrap();
    assert!(file.contains(&format!("master_port: {port}\nworld_size: 4\nnode_rank: 0\n")), "{file}");
}

#[test]
fn a_failed_check_writes_nothing() {
    let place = Place::new();
    let ended =
        Run::whole(&mut script(&place, "setup_cluster.py", &["--master_addr", "no-such-host.invalid"])).expect(1);
    ended.says(&["✗ the host name no-such-host.invalid does not resolve"]);
    assert!(!place.work().join("cluster_config.yaml").exists());
}

#[test]
fn the_others_hand_over_to_fermi() {
    let place = Place::new();
    let ended = Run::whole(&mut script(&place, "launch_multi_node.sh", &["gn6", "2", "4", "train.py"])).expect(2);
    ended.says(&["there is no list of hosts to start on", "hostfile"]);
    let arguments = ["--scenario", "single", "--gpus", "4", "--print"];
    let ended = Run::whole(&mut script(&place, "quick_start_examples.sh", &arguments)).expect(0);
    assert_eq!(ended.out(), "fermi run --nproc-per-node 4 train.py\n");
    let ended = Run::whole(&mut script(&place, "test_distributed.py", &[])).expect(0);
    assert!(ended.out().contains("two ranks here all-reduce"), "{}", ended.out());
}

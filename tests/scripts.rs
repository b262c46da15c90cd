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
    ] {
        let ended = Run::whole(&mut script(&place, "run_distributed.py", &arguments)).expect(0);
        assert_eq!(ended.out(), wanted, "{arguments:?}");
    }
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
    assert!(ended.out().contains("two ranks trained together"), "{}", ended.out());
}

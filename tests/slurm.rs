//! A real Slurm of four nodes: batch files, submitted jobs, failing ranks, requeues and cancelled jobs.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{self, Cluster, Ended, Place, Run, eventually};
use serde_json::Value;

/// Says who it is, as every test here wants to know. On SIGUSR1 it saves and ends.
const WHO: &str = r#"
import os, pathlib, signal, sys, time
e = os.environ
folder = pathlib.Path(e["FERMI_CHECKPOINT_DIR"])
saved = len(list(folder.glob("rank*")))
def save(*_):
    (folder / f"rank{e['RANK']}").write_text("")
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
print(" ".join(f"{n}={e.get(n, '-')}" for n in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK",
    "GROUP_RANK", "GROUP_WORLD_SIZE", "FERMI_NODE_NAME", "MASTER_ADDR", "MASTER_PORT", "FERMI_RESUME"]), f"saved={saved}", flush=True)
"#;

/// A place with a cluster and a script that says who it is and then does this.
fn set_up(then: &str) -> Option<(Place, Cluster)> {
    let place = Place::new();
    let cluster = Cluster::start(&place)?;
    place.file("train.py", format!("{WHO}\n{then}\n"));
    Some((place, cluster))
}

/// The first line of every rank of a job, by rank.
fn lines(place: &Place, job: &str) -> Vec<String> {
    let mut lines: Vec<String> = files_below(place.work().join("fermi-logs").join(job))
        .into_iter()
        .filter(|path| path.ends_with("stdout.log"))
        .filter_map(|path| fs::read_to_string(path).ok()?.lines().next().map(str::to_owned))
        .collect();
    lines.sort();
    lines
}

fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(path) } else { vec![path] }).collect()
}

fn job_of(event: &Value) -> String {
    event["job"].as_str().unwrap().to_owned()
}

/// Waits until a job runs all its ranks.
fn ranks_run(place: &Place, job: &str, ranks: usize) {
    eventually("the first line of every rank", || (lines(place, job).len() >= ranks).then_some(()));
}

/// The states that whoever follows the job was told, in their order.
fn states(run: &Run) -> Vec<Value> {
    let states = run.events().into_iter().filter(|event| event["event"] == "job.state");
    states.map(|mut event| event["state"].take()).collect()
}

fn is_running(run: &Run) {
    eventually("RUNNING", || states(run).iter().any(|state| state == "RUNNING").then_some(()));
}

fn is_requeued(run: &Run) {
    eventually("RUNNING, then PENDING", || {
        states(run).windows(2).any(|pair| pair == ["RUNNING", "PENDING"]).then_some(())
    });
}

fn nothing_is_left(place: &Place) {
    eventually("nothing of the job", || place.alive().is_empty().then_some(()));
}

#[test]
fn a_batch_file_starts_one_launcher_per_node_with_a_rank_per_gpu() {
    let Some((place, cluster)) = set_up("print(e['CUDA_VISIBLE_DEVICES'])") else { return };
    let written =
        Run::whole(&mut cluster.fermi(&place, &["slurm", "script", "-N", "2", "-G", "2", "--", "train.py"])).expect(0);
    assert_eq!(written.out(), "sbatch slurm_scripts/run_slurm.sh\n");
    let job = cluster.ask(&place, "sbatch", &["--parsable", "--wait", "slurm_scripts/run_slurm.sh"]);
    let lines = lines(&place, job.trim());
    assert_eq!(lines.len(), 4, "{lines:?}");
    for (rank, line) in lines.iter().enumerate() {
        let (local, node) = (rank % 2, rank / 2);
        let whole = format!(
            "RANK={rank} WORLD_SIZE=4 LOCAL_RANK={local} LOCAL_WORLD_SIZE=2 NODE_RANK={node} GROUP_RANK={node} GROUP_WORLD_SIZE=2 FERMI_NODE_NAME=n{} MASTER_ADDR=127.0.0.1 ",
            node + 1
        );
        assert!(line.starts_with(&whole), "{line}\n{whole}");
    }
    nothing_is_left(&place);
}

#[test]
fn an_edited_batch_file_is_not_overwritten() {
    let Some((place, cluster)) = set_up("") else { return };
    let create = ["run", "--mode", "create_slurm", "--num-nodes", "2", "train.py"];
    for _ in 0..2 {
        Run::whole(&mut cluster.fermi(&place, &create)).expect(0).says(&["wrote slurm_scripts/run_slurm.sh"]);
    }
    let path = place.work().join("slurm_scripts/run_slurm.sh");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("#SBATCH --nodes=2\n"), "{text}");
    fs::write(&path, text.replace("--nodes=2", "--nodes=3")).unwrap();
    Run::whole(&mut cluster.fermi(&place, &create)).expect(2).says(&["was edited", "--force"]);
    Run::whole(&mut cluster.fermi(&place, &["slurm", "script", "--force", "train.py"])).expect(0);
    assert!(fs::read_to_string(&path).unwrap().contains("#SBATCH --nodes=1\n"));
}

#[test]
fn submit_and_wait_shows_states_and_output_and_ends_as_the_training_does() {
    let Some((place, cluster)) = set_up("time.sleep(3)") else { return };
    let ended =
        Run::whole(&mut cluster.fermi(&place, &["slurm", "submit", "--wait", "-N", "2", "-n", "2", "train.py"]));
    let ended = ended.expect(0).says(&["submitted · output fermi-logs/", ": RUNNING (n[1-2])", "ended: COMPLETED"]);
    assert!(ended.out().contains("RANK=0 WORLD_SIZE=4"), "{}", ended.out());
}

#[test]
fn a_failing_rank_is_named_with_its_node_and_the_exit_code_is_one() {
    let Some((place, cluster)) = set_up("if e['RANK'] == '3': raise ValueError('bad batch')\ntime.sleep(1000)") else {
        return;
    };
    let submit = ["slurm", "submit", "--wait", "-N", "2", "-n", "2"];
    let plain = Run::whole(cluster.fermi(&place, &submit).arg("train.py")).expect(1);
    let plain = plain.says(&["ended: FAILED · rank 3 on n2 ended with exit code 1"]);
    assert!(plain.out().contains("ValueError: bad batch"), "{}", plain.out());
    let ended = Run::whole(cluster.fermi(&place, &submit).args(["--json", "train.py"])).expect(1);
    let last = ended.events_named("job.ended").pop().unwrap();
    assert_eq!((&last["state"], &last["exitCode"]), (&Value::from("FAILED"), &Value::from(1)));
    assert_eq!(
        (&last["verdict"]["first"]["rank"], &last["verdict"]["first"]["node"]),
        (&Value::from(3), &Value::from("n2"))
    );
    nothing_is_left(&place);
}

#[test]
fn a_task_for_each_rank_keeps_slurms_count_of_ranks_and_nodes() {
    let Some((place, cluster)) = set_up("") else { return };
    cluster.srun(&place, &["-N3", "-n5"], &["--log-dir", "fermi-logs", "train.py"]).expect(0);
    let job = fs::read_dir(place.work().join("fermi-logs")).unwrap().next().unwrap().unwrap().file_name();
    let lines = lines(&place, job.to_str().unwrap());
    assert_eq!(lines.len(), 5, "{lines:?}");
    for (rank, (local, size, node)) in [(0, 3, 0), (1, 3, 0), (2, 3, 0), (0, 1, 1), (0, 1, 2)].into_iter().enumerate() {
        let start = format!(
            "RANK={rank} WORLD_SIZE=5 LOCAL_RANK={local} LOCAL_WORLD_SIZE={size} NODE_RANK={node} GROUP_RANK={node} GROUP_WORLD_SIZE=3 FERMI_NODE_NAME=n{}",
            node + 1
        );
        assert!(lines[rank].starts_with(&start), "{}\n{start}", lines[rank]);
    }
    let failing =
        place.file("fail.py", "import os, sys, time\nif os.environ['RANK'] == '2': sys.exit(7)\ntime.sleep(1000)");
    let ended = cluster.srun(&place, &["-N2", "-n4"], &[failing.to_str().unwrap()]).expect(1);
    assert_eq!(ended.err().matches("✗ rank 2 on n1 ended with exit code 7").count(), 1, "{}", ended.err());
    nothing_is_left(&place);
}

#[test]
fn several_launchers_of_one_srun_are_one_training_without_a_word_of_slurm() {
    let Some((place, cluster)) = set_up("") else { return };
    let run = |options: &[&str]| {
        let mut command =
            cluster.program(&place, "srun", &["-N2", "--ntasks-per-node=1", env!("CARGO_BIN_EXE_fermi"), "run"]);
        Run::whole(command.args(options).args(["-n", "2", "--tee", "1", "train.py"])).expect(0)
    };
    let ended = run(&[]);
    for rank in 0..4 {
        assert!(ended.out().contains(&format!("RANK={rank} WORLD_SIZE=4 ")), "{}", ended.out());
    }
    ended.says(&["start as one training (--mode slurm)", "--standalone"]);
    let alone = run(&["--standalone"]);
    assert_eq!(alone.out().matches("RANK=0 WORLD_SIZE=2 ").count(), 2, "{}", alone.out());
    nothing_is_left(&place);
}

#[test]
fn a_missing_scontrol_is_no_matter_and_an_unknown_name_is_said() {
    let Some((place, cluster)) = set_up("") else { return };
    let bare = format!(
        "--export=PATH=/nowhere,PYTHON_EXEC={},HOME=/,FERMI_STATE_DIR={}",
        support::python().display(),
        place.state().display()
    );
    let step = ["-N2", "--ntasks-per-node=1", &bare];
    cluster.srun(&place, &step, &["--master-addr", "127.0.0.1", "train.py"]).expect(0);
    let ended = cluster.srun(&place, &step, &["--join-timeout", "2", "train.py"]).expect(1);
    ended.says(&["the launch was refused: the host name n", "does not resolve"]);
}

#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    let Some((place, cluster)) = set_up("") else { return };
    let run = format!("{} run --mode slurm train.py", env!("CARGO_BIN_EXE_fermi"));
    Run::whole(&mut place.run(["--mode", "slurm", "train.py"]))
        .expect(2)
        .says(&["there is no SLURM_JOB_ID", "fermi slurm submit"]);
    let batch = |options: &[&str]| -> Ended {
        let mut command = cluster.program(&place, "sbatch", &["--parsable", "--wait", "-o", "said.out"]);
        Run::whole(command.args(options).args(["--wrap", &run]))
    };
    let said = || fs::read_to_string(place.work().join("said.out")).unwrap();
    batch(&["-N2"]).expect(2);
    assert!(said().contains("fermi run was not started on them by srun"), "{}", said());
    let het =
        place.file("het.sh", format!("#!/bin/bash\n#SBATCH -N1 -o said.out\n#SBATCH hetjob\n#SBATCH -N1\n{run}\n"));
    Run::whole(&mut cluster.program(&place, "sbatch", &["--wait", het.to_str().unwrap()])).expect(2);
    assert!(said().contains("heterogeneous Slurm jobs are not supported"), "{}", said());
    Run::whole(&mut cluster.fermi(&place, &["slurm", "submit", "-t", "4h", "train.py"]))
        .expect(2)
        .says(&["'4h' is no time limit"]);
    let unknown = ["slurm", "submit", "-p", "nowhere", "train.py"];
    Run::whole(&mut cluster.fermi(&place, &unknown)).expect(2).says(&["sbatch refused: ", "invalid partition"]);
}

#[test]
fn tasks_of_an_array_run_side_by_side() {
    let Some((place, cluster)) = set_up("time.sleep(2)") else { return };
    Run::whole(&mut cluster.fermi(&place, &["slurm", "script", "-N", "2", "--array", "3-4", "train.py"])).expect(0);
    let job = cluster.ask(&place, "sbatch", &["--parsable", "--wait", "slurm_scripts/run_slurm.sh"]);
    let ports: Vec<String> = ["3", "4"]
        .map(|task| {
            let lines = lines(&place, &format!("{}_{task}", job.trim()));
            assert_eq!(lines.len(), 2, "{lines:?}");
            lines[0].split("MASTER_PORT=").nth(1).unwrap().split(' ').next().unwrap().to_owned()
        })
        .into();
    assert_ne!(ports[0], ports[1]);
}

/// Lasts until it is told to save; resumed, it is done at once.
const SAVES: &str = r#"
if e.get("FERMI_RESUME") == "1": sys.exit(0)
if "--at-once" in sys.argv: (folder / f"rank{e['RANK']}").write_text("")
time.sleep(1000)
"#;

#[test]
fn near_the_time_limit_the_script_saves_and_the_requeued_job_resumes() {
    let Some((place, cluster)) = set_up(SAVES) else { return };
    let words = [
        "slurm",
        "submit",
        "--wait",
        "--json",
        "--requeue",
        "--checkpoint-signal",
        "SIGUSR1",
        "-N",
        "2",
        "-n",
        "2",
        "train.py",
    ];
    let run = Run::start(&mut cluster.fermi(&place, &words));
    let job = job_of(&run.event("job.submitted"));
    is_running(&run);
    ranks_run(&place, &job, 4);
    // What Slurm does at --signal=B:USR1@120; a time limit of minutes is too long for a test.
    cluster.ask(&place, "scancel", &["--batch", "--signal=USR1", &job]);
    is_requeued(&run);
    cluster.starts_again(&place, &job);
    run.ended().expect(0);
    let lines = lines(&place, &job);
    assert_eq!(lines.iter().filter(|line| line.ends_with("FERMI_RESUME=1 saved=4")).count(), 4, "{lines:?}");
    nothing_is_left(&place);
}

#[test]
fn a_signal_to_the_whole_step_reaches_the_ranks_and_spares_their_keepers() {
    let Some((place, cluster)) = set_up(SAVES) else { return };
    let words = ["slurm", "submit", "--wait", "--json", "-N", "2", "-n", "2", "train.py"];
    let run = Run::start(&mut cluster.fermi(&place, &words));
    let job = job_of(&run.event("job.submitted"));
    ranks_run(&place, &job, 4);
    cluster.ask(&place, "scancel", &["--signal=USR1", &job]);
    run.ended().expect(0);
    let saved = place.work().join("fermi-logs").join(&job).join("outputs/checkpoints");
    let ranks = fs::read_dir(saved).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != ".fermi");
    assert_eq!(ranks.count(), 4);
    nothing_is_left(&place);
}

#[test]
fn after_the_death_of_a_slurmd_the_job_is_requeued_and_resumes_on_other_nodes() {
    let Some((place, cluster)) = set_up(SAVES) else { return };
    let words = ["slurm", "submit", "--wait", "--json", "--requeue", "-N", "2", "-n", "2", "train.py", "--at-once"];
    let run = Run::start(&mut cluster.fermi(&place, &words));
    let job = job_of(&run.event("job.submitted"));
    is_running(&run);
    ranks_run(&place, &job, 4);
    cluster.kill_node("n2");
    is_requeued(&run);
    cluster.starts_again(&place, &job);
    run.ended().expect(0);
    let lines = lines(&place, &job);
    let resumed: Vec<&String> = lines.iter().filter(|line| line.ends_with("FERMI_RESUME=1 saved=4")).collect();
    assert_eq!(resumed.len(), 4, "{lines:?}");
    assert!(resumed.iter().all(|line| !line.contains("FERMI_NODE_NAME=n2 ")), "{lines:?}");
    nothing_is_left(&place);
}

#[test]
fn ctrl_c_and_scancel_leave_nothing_behind() {
    let stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\ntime.sleep(1000)";
    let Some((place, cluster)) = set_up(stubborn) else { return };
    let run = Run::start(&mut cluster.fermi(&place, &["slurm", "submit", "--wait", "-N", "2", "-n", "2", "train.py"]));
    let job = eventually("the job's number", || {
        let said = run.stderr_so_far();
        said.split("fermi: job ").nth(1)?.split(' ').next().map(str::to_owned)
    });
    ranks_run(&place, &job, 4);
    // Ctrl-Z gives the shell back; the job goes on.
    run.signal(libc::SIGTSTP);
    let state = || fs::read_to_string(format!("/proc/{}/stat", run.pid())).unwrap();
    eventually("it to stand still", || state().rsplit(')').next()?.starts_with(" T").then_some(()));
    run.signal(libc::SIGCONT);
    run.signal(libc::SIGINT);
    let ended = run.ended().expect(130).says(&["cancelling job", "ended: CANCELLED"]);
    assert!(ended.took < Duration::from_secs(40), "{:?}", ended.took);
    nothing_is_left(&place);
}

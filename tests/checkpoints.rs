//! Checkpoints over several nodes: whether they share a folder, from which step all go on, and who may write there.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engines::job::free_port;
use crate::support::{Ended, Place, Run, eventually};

/// Says what it is told of checkpoints. Rank 0 of the first attempt saves step 7 as `$1` says, and rank 1 fails.
const RANK: &str = r#"
echo "rank $RANK shared=$FERMI_CHECKPOINT_SHARED resume=$FERMI_RESUME step=$FERMI_RESUME_STEP"
[ "$FERMI_ATTEMPT" = 1 ] || exit 0
case $1 in none) ;; both) echo x > "$FERMI_CHECKPOINT_DIR/step-7.pt" ;; *) [ $RANK = 1 ] || echo x > "$FERMI_CHECKPOINT_DIR/$1" ;; esac
touch "$BOARD/saved-$RANK"
while [ ! -e "$BOARD/saved-0" ] || [ ! -e "$BOARD/saved-1" ]; do sleep 0.01; done
[ $RANK = 0 ] && sleep 60
exit 3
"#;

/// Two nodes with one rank each, whose first attempt fails; the answer is what the ranks of the second one say.
fn restarted(saves: &str, options: &[&str]) -> (Vec<String>, Vec<Ended>, [Place; 2]) {
    let (port, board) = (free_port(), tempfile::tempdir().unwrap());
    let places = [Place::new(), Place::new()];
    let runs = [0, 1].map(|node: usize| {
        let rank = node.to_string();
        let node_options =
            ["--nnodes", "2", "--node-rank", &rank, "--master-addr", "127.0.0.1", "--master-port", &port];
        let mut command = places[node].run(node_options);
        command.args(["--max-restarts", "1", "-n", "1"]).args(options).args([
            "--no-python",
            "sh",
            "-c",
            RANK,
            "-",
            saves,
        ]);
        Run::start(command.env("BOARD", board.path()))
    });
    let ended: Vec<Ended> = runs.into_iter().map(|run| run.ended().expect(0)).collect();
    let said = places.iter().map(|place| place.rank_text(1, 0, "stdout.log").trim().to_owned()).collect();
    (said, ended, places)
}

#[test]
fn nodes_of_one_folder_go_on_from_its_newest_step() {
    let shared = tempfile::tempdir().unwrap();
    let (said, ended, _places) = restarted("step-7.pt", &["--checkpoint-dir", shared.path().to_str().unwrap()]);
    assert_eq!(said, ["rank 0 shared=1 resume=1 step=7", "rank 1 shared=1 resume=1 step=7"]);
    for ended in ended {
        ended.says(&["all 2 nodes see one checkpoint folder", "attempt 2 goes on from the checkpoint of step 7"]);
    }
    let names: Vec<_> = fs::read_dir(shared.path().join(".fermi")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["fence"], "nothing else is left beside the checkpoints");
}

#[test]
fn nodes_with_folders_of_their_own_go_on_from_the_step_that_both_have() {
    let (said, ended, _places) = restarted("both", &[]);
    assert_eq!(said, ["rank 0 shared=0 resume=1 step=7", "rank 1 shared=0 resume=1 step=7"]);
    for ended in ended {
        ended.says(&[
            "attempt 2 goes on from step 7, the newest checkpoint that is whole on every node",
            "(--checkpoint-dir)",
        ]);
    }
}

#[test]
fn nodes_without_a_common_step_begin_anew_and_say_what_each_has() {
    for (saves, held) in [("step-7.pt", ": 7; "), ("model.bin", ": none; ")] {
        let (said, ended, places) = restarted(saves, &[]);
        assert_eq!(said, ["rank 0 shared=0 resume=0 step=", "rank 1 shared=0 resume=0 step="], "{saves}");
        for ended in ended {
            ended.says(&["attempt 2 begins anew: the nodes have no whole checkpoint in common (", held]);
        }
        let kept = places[0].run_folder().join("outputs/checkpoints").join(saves);
        assert!(kept.is_file(), "what was saved stays");
    }
}

#[test]
fn where_nothing_was_saved_the_script_is_told_to_resume_as_ever() {
    let (said, _ended, places) = restarted("none", &[]);
    assert_eq!(said, ["rank 0 shared=0 resume=1 step=", "rank 1 shared=0 resume=1 step="]);
    for place in &places {
        assert!(!place.run_folder().join("outputs").exists(), "folders that nobody used are not left behind");
    }
}

#[test]
fn the_trainer_goes_on_from_a_step_that_both_nodes_have_saved() {
    let port = free_port();
    let places = [Place::new(), Place::new()];
    let runs = [0, 1].map(|node: usize| {
        let rank = node.to_string();
        let options = ["--nnodes", "2", "--node-rank", &rank, "--master-addr", "127.0.0.1", "--master-port", &port];
        let mut command = places[node].run(options);
        command.args([
            "--max-restarts",
            "1",
            "--no-python",
            "fermi",
            "trainer",
            "--global-batch",
            "4",
            "--seq-len",
            "32",
        ]);
        command.args(["--steps", "30", "--checkpoint-every", "10", "--fault", "1:25"]);
        Run::start(&mut command)
    });
    for run in runs {
        run.ended().expect(0).says(&["attempt 2 goes on from step 20"]);
    }
    for place in &places {
        let saved = place.run_folder().join("outputs/checkpoints");
        assert!(saved.join("step-30/state.bin").is_file() && saved.join("step-20/header.json").is_file());
    }
}

fn fence(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join(".fermi/fence")).ok()?).ok()
}

#[test]
fn a_newer_generation_beside_the_checkpoints_ends_the_ranks_at_once_and_for_good() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let mut command = place.run(["-n", "2", "--max-restarts", "5", "--json", "--checkpoint-dir"]);
    command.arg(folder.path()).args(["--no-python", "sleep", "60"]);
    let run = Run::start(&mut command);
    run.event("rank.started");
    let mut newer = eventually("the fence", || fence(folder.path()));
    assert_eq!((&newer["generation"], &newer["attempt"]), (&json!(1), &json!(1)));
    newer["generation"] = json!(2);
    fs::write(folder.path().join("draft"), newer.to_string()).unwrap();
    fs::rename(folder.path().join("draft"), folder.path().join(".fermi/fence")).unwrap();
    let written = Instant::now();
    let told = run.event("checkpoints.superseded");
    assert_eq!(told["generation"], 2);
    let ended = run.ended().expect(1);
    assert!(written.elapsed() < Duration::from_secs(10), "{:?}", written.elapsed());
    let last = ended.events_named("run.ended").remove(0);
    assert_eq!((&last["verdict"]["kind"]["type"], &last["attempts"]), (&json!("superseded"), &json!(1)));
    assert_eq!(fence(folder.path()), Some(newer), "the successor's fence stands");
    place.assert_empty();
}

#[test]
fn the_fence_of_another_run_is_spoken_of_and_one_that_has_ended_is_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".fermi")).unwrap();
    let other = json!({"owner": "c/task-9", "generation": 7, "attempt": 3});
    fs::write(folder.path().join(".fermi/fence"), other.to_string()).unwrap();
    let train = || {
        let place = Place::new();
        let mut command = place.run(["-n", "1", "--json", "--checkpoint-dir"]);
        command.arg(folder.path()).args([
            "--no-python",
            "sh",
            "-c",
            "sleep 0.5; echo x > $FERMI_CHECKPOINT_DIR/step-1.pt",
        ]);
        Run::whole(&mut command).expect(0)
    };
    let foreign = train().events_named("checkpoints.foreign");
    assert_eq!(foreign.len(), 1);
    assert_eq!(foreign[0]["owner"], "c/task-9");
    assert_eq!(fence(folder.path()).unwrap()["hasEnded"], true);
    assert!(train().events_named("checkpoints.foreign").is_empty());
}

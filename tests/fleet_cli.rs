//! The nouns of the command line against a real server: what they print, and how they end.

use crate::support::{self, Ended, Fleet, Place, Run, eventually};
use serde_json::{Value, json};

fn fermi(fleet: &Fleet, words: &[&str]) -> Ended {
    let mut command = fleet.place.fermi(words);
    Run::whole(command.env("FERMI_SERVER", format!("http://{}", fleet.address())).env("FERMI_LANG", "en"))
}

fn data(fleet: &Fleet, words: &[&str]) -> Value {
    let ended = fermi(fleet, &[words, &["--json"]].concat());
    assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.err());
    serde_json::from_str(&ended.out()).unwrap_or_else(|error| panic!("{words:?} is no JSON: {error}\n{}", ended.out()))
}

#[test]
fn a_task_is_created_followed_and_read_by_the_command_line() {
    let fleet = Fleet::of(&[("gn6", 2), ("gn7", 1)]);
    let list = fermi(&fleet, &["env", "list"]);
    assert!(list.out().contains("gn6") && list.out().contains("gn7"), "{}", list.out());
    assert_eq!(data(&fleet, &["env", "list"])["items"].as_array().unwrap().len(), 2);

    let script = "echo hello from $RANK";
    let words = ["task", "create", "--name", "greeting", "--env", "gn6", "--env", "gn7", "--master", "gn7"];
    let words = [&words[..], &["--framework", "command", "--wait", "--", "sh", "-c", script]].concat();
    let created = fermi(&fleet, &words);
    assert_eq!(created.code(), Some(0), "{}", created.err());
    let id = created.out().lines().next().unwrap().to_owned();
    assert_eq!(id, "task-1");

    for (rank, node) in [(0, "gn7"), (1, "gn6"), (2, "gn6")] {
        fleet.says(&id, 1, rank, &format!("hello from {rank}"));
        let log = fermi(&fleet, &["task", "logs", &id, "--rank", &rank.to_string()]).out();
        assert_eq!(log, format!("[{node}:{rank}] hello from {rank}\n"));
    }
    let found = fermi(&fleet, &["task", "logs", &id, "--search", "FROM 2"]).out();
    assert!(found.is_empty() || found.contains("from 2"), "{found}");
    assert_eq!(data(&fleet, &["task", "show", &id])["status"], "succeeded");
    assert!(fermi(&fleet, &["task", "explain", &id]).out().contains("the training finished"));
    assert!(fermi(&fleet, &["task", "list"]).out().contains("greeting"));
}

#[test]
fn what_has_not_begun_is_told_with_what_there_is() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let create = |name: &str, rest: &[&str]| {
        let words = ["task", "create", "--name", name, "--env", "gn6", "--framework", "command", "--max-restarts", "1"];
        assert_eq!(fermi(&fleet, &[&words[..], &["--"], rest].concat()).code(), Some(0));
    };
    create("runs", &["sh", "-c", "echo up; sleep 1000"]);
    fleet.says("task-1", 1, 0, "up");
    fleet.started("task-1", 1, 0);
    create("waits", &["true"]);
    for (words, code, said) in [
        (
            &["launch", "waits"][..],
            3,
            "task-2 has not been launched yet\n\nhint: fermi task explain task-2 says what it waits for",
        ),
        (&["launch", "waits", "--attempt", "1"], 3, "task-2 has not been launched yet"),
        (
            &["launch", "runs", "--attempt", "2"],
            3,
            "attempt 2 of task-1 has not begun\n\nhint: attempt 1 is its only one",
        ),
        (&["logs", "runs", "--attempt", "2"], 0, "nothing was written: attempt 2 of task-1 has not begun"),
    ] {
        let told = fermi(&fleet, &[&["task"], words].concat());
        assert!(told.code() == Some(code) && told.err().contains(said), "{words:?}: {}", told.err());
    }
    for id in ["task-2", "task-1"] {
        assert_eq!(fermi(&fleet, &["task", "stop", id]).code(), Some(0));
    }
    fleet.task_is("task-1", "stopped");
}

#[test]
fn a_task_is_called_by_id_number_name_or_last() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    for name in ["heal", "heal", "other"] {
        let words =
            ["task", "create", "--name", name, "--env", "gn6", "--framework", "command", "--wait", "--", "true"];
        assert_eq!(fermi(&fleet, &words).code(), Some(0));
    }
    for (called, id) in
        [("task-1", "task-1"), ("1", "task-1"), ("heal", "task-2"), ("other", "task-3"), ("last", "task-3")]
    {
        assert_eq!(data(&fleet, &["task", "show", called])["id"], id, "{called}");
    }
    for verb in ["logs", "explain", "events", "ranks", "launch", "metrics", "wait"] {
        assert_eq!(fermi(&fleet, &["task", verb, "heal"]).code(), Some(0), "{verb}");
    }
    let deleted = fermi(&fleet, &["task", "delete", "last", "1"]);
    assert!(deleted.code() == Some(0) && deleted.err().contains("task-3:"), "{}", deleted.err());
    let unknown = fermi(&fleet, &["task", "show", "haal"]);
    assert_eq!(unknown.code(), Some(3));
    assert!(
        unknown.err().contains("there is no task 'haal'") && unknown.err().contains("did you mean heal?"),
        "{}",
        unknown.err()
    );
    for (words, said) in [
        (&["logs", "heal", "--rank", "99"][..], "task-2 has no rank 99\n\nhint: rank 0 is its only one"),
        (&["logs", "heal", "--rank", "0,98-99"], "task-2 has no rank 98"),
        (&["logs", "heal", "--attempt", "99"], "task-2 has no attempt 99\n\nhint: attempt 1 is its only one"),
        (&["launch", "heal", "--rank", "99"], "task-2 has no rank 99"),
    ] {
        let missing = fermi(&fleet, &[&["task"], words].concat());
        assert!(missing.code() == Some(3) && missing.err().contains(said), "{words:?}: {}", missing.err());
    }
}

#[test]
fn ranks_of_a_task_that_was_stopped_have_not_failed() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    for force in [&[][..], &["--force"]] {
        let create =
            ["task", "create", "--name", "long", "--env", "gn6", "--framework", "command", "--", "sleep", "600"];
        let task = fermi(&fleet, &create).expect(0).out().trim().to_owned();
        fleet.task_is(&task, "running");
        assert_eq!(fermi(&fleet, &[&["task", "stop", "--wait", &task][..], force].concat()).code(), Some(0));
        eventually("the rank to be stopped", || {
            (data(&fleet, &["task", "ranks", &task])["items"][0]["state"] == "stopped").then_some(())
        });
        let shown = fermi(&fleet, &["task", "ranks", &task]).out();
        assert!(shown.contains("stopped") && !shown.contains("failed"), "{shown}");
    }
}

#[test]
fn a_failed_training_fails_the_wait_and_explain_says_why() {
    let fleet = Fleet::of(&[("gn6", 2)]);
    let words = ["task", "create", "--name", "bad", "--env", "gn6", "--framework", "command", "--wait", "--"];
    let ended = fermi(&fleet, &[&words[..], &["sh", "-c", "echo broken >&2; exit 3"]].concat());
    assert_eq!(ended.code(), Some(1), "{}", ended.err());
    let why = fermi(&fleet, &["task", "explain", "task-1"]);
    assert!(why.out().contains("exit code 3") && why.out().contains("broken"), "{}", why.out());
}

#[test]
fn exit_codes_are_those_of_the_page() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    assert_eq!(fermi(&fleet, &["task", "show", "task-99"]).code(), Some(3));
    let unknown = ["task", "create", "--name", "x", "--env", "nowhere", "--", "true"];
    let refused = fermi(&fleet, &unknown);
    assert!(matches!(refused.code(), Some(2 | 3)), "{}", refused.err());
    assert!(refused.err().contains("nowhere") && refused.err().contains("hint:"), "{}", refused.err());
    assert_eq!(fermi(&fleet, &["model", "create", "bert"]).code(), Some(0));
    assert_eq!(fermi(&fleet, &["model", "create", "bert"]).code(), Some(5));
    let mut away = fleet.place.fermi(["env", "list"]);
    let away = Run::whole(away.env("FERMI_SERVER", "http://127.0.0.1:9").env("FERMI_LANG", "en"));
    assert_eq!(away.code(), Some(7));
    assert!(away.err().contains("hint:"), "{}", away.err());
}

#[test]
fn a_folder_is_sent_once_and_runs_on_every_node() {
    let fleet = Fleet::of(&[("gn6", 1), ("gn7", 1)]);
    fleet.place.file("code/main.sh", "cat data/说明.txt\n");
    fleet.place.file("code/data/说明.txt", "你好\n");
    let words = ["task", "create", "--name", "sent", "--env", "gn6", "--env", "gn7", "--framework", "command"];
    let ended = fermi(&fleet, &[&words[..], &["--source", "code", "--wait", "--", "sh", "main.sh"]].concat());
    assert_eq!(ended.code(), Some(0), "{}", ended.err());
    for rank in 0..2 {
        fleet.says("task-1", 1, rank, "你好");
    }
}

/// Settings, a training.yaml and the DeepSpeed file that it names go with a task, and its launch is made from them.
#[test]
fn a_task_takes_the_engines_settings_and_a_training_yaml() {
    let fleet = Fleet::of(&[("gn6", 1), ("gn7", 2)]);
    fleet.place.file("conf/ds.json", r#"{"zero_optimization": {"stage": 1, "own": 7}, "gradient_clipping": 2.0}"#);
    fleet.place.file(
        "conf/training.yaml",
        "training:\n  distributed_strategy: deepspeed\n  deepspeed: {config_path: ds.json}\n  bf16: true\n  per_device_train_batch_size: 2\n",
    );
    let words =
        ["task", "create", "--name", "settings", "--env", "gn6", "--env", "gn7", "--config", "conf/training.yaml"];
    let script = "cat $FERMI_CONFIG_FILE $FERMI_TRAINING_FILE";
    let words = [&words[..], &["--set", "gradientAccumulationSteps=4", "--wait", "--", "sh", "-c", script]].concat();
    let ended = fermi(&fleet, &words);
    assert_eq!(ended.code(), Some(0), "{}", ended.err());
    for said in ["\"train_batch_size\": 24", "\"own\": 7", "\"gradient_clipping\": 2.0", "per_device_train_batch_size"]
    {
        fleet.says("task-1", 1, 2, said);
    }
    assert_eq!(data(&fleet, &["task", "show", "task-1"])["framework"], "deepspeed");

    let megatron = ["task", "preview", "--name", "m", "--env", "gn7", "--framework", "megatron-lm"];
    let preview = fermi(&fleet, &[&megatron[..], &["--tensor-parallel", "2", "--", "pretrain.py"]].concat()).out();
    assert!(preview.contains("pretrain.py --tensor-model-parallel-size 2"), "{preview}");

    let refusals: [(&[&str], &str); 4] = [
        (&["--set", "zeroStge=1", "--framework", "deepspeed", "--", "x.py"], "did you mean zeroStage?"),
        (&["--set", "config=@nowhere.json", "--framework", "deepspeed", "--", "x.py"], "cannot read nowhere.json"),
        (&["--framework", "ddp", "--", "x.py"], "did you mean pytorch-ddp?"),
        (&["--frmework", "jax", "--", "x.py"], "--frmework"),
    ];
    for (words, said) in refusals {
        let refused = fermi(&fleet, &[&["task", "create", "--name", "x", "--env", "gn6"], words].concat());
        assert_eq!(refused.code(), Some(2), "{words:?}: {}", refused.err());
        assert!(refused.err().contains(said), "{words:?}: {}", refused.err());
    }
}

#[test]
fn the_request_of_the_form_trains_the_built_in_model_on_any_number_of_ranks_and_says_so() {
    let fleet = Fleet::of(&[("pytorch-dev-env", 2), ("llm-training-env", 1)]);
    let id_of = |path: &str, body: Value| fleet.post(path, &body).1["data"]["id"].as_str().unwrap().to_owned();
    let dataset = id_of("/datasets", json!({ "name": "corpus" }));
    let path = fleet.place.file("corpus/a.txt", "text\n");
    let version = id_of(&format!("/datasets/{dataset}/versions"), json!({ "version": "v1", "path": path }));
    let task = fleet.create(json!({
        "taskName": "gpt3-pretraining",
        "datasetId": dataset,
        "datasetVersionId": version,
        "modelId": id_of("/models", json!({ "name": "gpt3-tiny" })),
        "launchMode": "existing",
        "distributedConfig": {
            "framework": "deepspeed",
            "strategy": { "dataParallel": 2, "pipelineParallel": 4, "tensorParallel": 8 },
        },
    }));
    let done = fleet.task_is(&task, "succeeded");
    assert_eq!(done["distributedInfo"]["nodeCount"], 2);
    let events = fleet.get(&format!("/training-tasks/{task}/events"));
    let said = |text: &str| events["items"].to_string().contains(text);
    assert!(said("the built-in trainer runs"), "{events:#}");
    fleet.says(&task, 1, 2, "parameters");
}

#[test]
fn a_sweep_that_was_cut_off_is_completed_by_the_same_command() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let sweep = |seeds: &str, script: &str| {
        let words =
            ["task", "create", "--name", "bert", "--env", "gn6", "--framework", "command", "--sweep", seeds, "--"];
        fermi(&fleet, &[&words[..], &["/bin/sh", "-c", script, "sh"]].concat())
    };
    let ids = |ended: &Ended| ended.out().lines().map(str::to_owned).collect::<Vec<_>>();
    let first = sweep("seed=1..2", "true");
    assert_eq!((first.code(), ids(&first).len()), (Some(0), 2), "{}", first.err());
    // One of them is gone, as if it had never been made.
    fleet.task_is(&ids(&first)[0], "succeeded");
    eventually("the task to be swept and deleted", || {
        (fermi(&fleet, &["task", "delete", &ids(&first)[0]]).code() == Some(0)).then_some(())
    });
    let again = sweep("seed=1..4", "true");
    assert_eq!((again.code(), ids(&again).len()), (Some(0), 3), "{}", again.err());
    assert!(
        again.err().contains("1 of the 4 tasks of the sweep 'bert' are there already; 3 are made"),
        "{}",
        again.err()
    );
    let whole = sweep("seed=1..4", "true");
    assert_eq!((whole.code(), ids(&whole).len()), (Some(0), 0), "{}", whole.err());
    let mut seeds: Vec<String> = data(&fleet, &["task", "sweep", "bert"])
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["labels"]["sweep.seed"].as_str().unwrap().to_owned())
        .collect();
    seeds.sort();
    assert_eq!(seeds, ["1", "2", "3", "4"]);
    // The same name for something else is no continuation.
    let other = sweep("seed=1..5", "false");
    assert_eq!((other.code(), ids(&other).len()), (Some(2), 0), "{}", other.err());
    assert!(other.err().contains("there is a sweep 'bert' that was made by another command"), "{}", other.err());
}

#[test]
fn a_sweep_with_one_value_that_is_refused_makes_no_task_at_all() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let seeds = format!("seed=1,2,{}", "3".repeat(300));
    let words = ["task", "create", "--name", "bert", "--env", "gn6", "--framework", "command", "--sweep", &seeds];
    let ended = fermi(&fleet, &[&words[..], &["--", "/bin/sh", "-c", "true", "sh"]].concat());
    assert_eq!((ended.code(), ended.out().as_str()), (Some(2), ""), "{}", ended.err());
    let said = format!("seed={} is refused, so that no task was created", "3".repeat(300));
    assert!(ended.err().contains(&said), "{}", ended.err());
    assert_eq!(fleet.get("/training-tasks")["items"], json!([]));
}

#[test]
fn the_demo_trains_six_ranks_and_leaves_nothing() {
    let place = support::Place::new();
    let ended = Run::whole(place.fermi(["demo"]).env("FERMI_LANG", "en"));
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out(), ended.err());
    let text = format!("{}{}", ended.out(), ended.err());
    for line in ["all 6 ranks hold the same parameters", "nothing is left running", "北京可用区A"] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    place.assert_empty();
}

/// What the second start leaves out would be out of everybody's reach.
#[test]
fn fermi_up_names_what_an_earlier_start_has_left_running_in_an_environment_that_is_left_out() {
    let place = Place::new();
    let up = |envs: &[&str], options: &[&str]| {
        let mut command = place.fermi(["up", "--json", "--listen", "127.0.0.1:0"]);
        for env in envs {
            command.args(["--env", env]);
        }
        Run::start(command.args(options).env("FERMI_LANG", "en"))
    };
    let first = up(&["a1:z:1", "a2:z:1"], &["--keep-running"]);
    let server = eventually("the address of the server", || {
        let said: Value = serde_json::from_str(first.stdout_so_far().lines().next()?).ok()?;
        Some(said["server"].as_str()?.to_owned())
    });
    first.says("Ctrl-C");
    let begun = place.path().join("begun");
    let script = format!("touch {}; while :; do sleep 0.1; done", begun.display());
    let mut create = place.fermi(["task", "create", "--name", "k2", "--env", "a2", "--framework", "command"]);
    Run::whole(create.args(["--", "sh", "-c", &script]).env("FERMI_SERVER", &server)).expect(0);
    eventually("it to run", || begun.exists().then_some(()));
    first.signal(libc::SIGINT);
    first.ended();
    let refused = up(&["a1:z:1"], &[]).ended();
    assert_eq!(refused.code(), Some(2), "{}", refused.err());
    let said = refused.err();
    assert!(said.contains("a2 still has what an earlier start left running"), "{said}");
    let both = up(&["a1:z:1", "a2:z:1"], &[]);
    both.says("Ctrl-C");
    both.signal(libc::SIGINT);
    let ended = both.ended();
    assert_eq!(ended.code(), Some(128 + libc::SIGINT), "{}", ended.err());
    place.assert_empty();
}

/// Each takes its time to end: nobody's grace is waited for before the next one is asked.
#[test]
fn at_the_end_of_fermi_up_all_tasks_are_asked_to_stop_at_once() {
    let place = Place::new();
    let mut command = place.fermi(["up", "--json", "--listen", "127.0.0.1:0", "--env", "here:zone:3"]);
    let up = Run::start(command.env("FERMI_LANG", "en"));
    let server = eventually("the address of the server", || {
        let said: Value = serde_json::from_str(up.stdout_so_far().lines().next()?).ok()?;
        Some(said["server"].as_str()?.to_owned())
    });
    up.says("Ctrl-C");
    let file = |what: &str, task: usize| place.path().join(format!("{what}-{task}"));
    let mark = |what: &str, task: usize| format!("date +%s%N > {}", file(what, task).display());
    for task in 0..3 {
        let (asked, ended) = (mark("asked", task), mark("ended", task));
        let script = format!(
            "trap '{asked}; sleep 3; {ended}; exit 0' TERM; {}; while :; do sleep 0.1; done",
            mark("began", task)
        );
        let workers = format!("here={task}");
        let mut create = place.fermi(["task", "create", "--name", "slow", "--env", "here", "--framework", "command"]);
        create.args(["--workers", &workers, "--", "sh", "-c", &script]).env("FERMI_SERVER", &server);
        Run::whole(&mut create).expect(0);
    }
    eventually("all of them to run", || (0..3).all(|task| file("began", task).exists()).then_some(()));
    up.signal(libc::SIGINT);
    let ended = up.ended();
    assert_eq!(ended.code(), Some(128 + libc::SIGINT), "{}", ended.err());
    let time = |what: &str, task: usize| -> u128 {
        std::fs::read_to_string(file(what, task)).unwrap_or_default().trim().parse().unwrap_or(0)
    };
    let last_asked = (0..3).map(|task| time("asked", task)).max().unwrap();
    let first_ended = (0..3).map(|task| time("ended", task)).min().unwrap();
    assert!(0 < last_asked && last_asked < first_ended, "{last_asked} {first_ended}: {}", ended.err());
    place.assert_empty();
}

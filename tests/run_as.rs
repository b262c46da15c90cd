//! An agent that is root starts ranks as the accounts of their tasks' owners: they write what they must, and get at nothing of
//! the agent or of other tasks. `tests/access/rank.py` tries.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Fleet, Run, eventually, is_left_out};

const SECRET: &str = "hf_what-only-bobs-rank-reads";
const WRITTEN: &str = "what-only-bobs-log-holds";
const NOBODY: u32 = 65_534;
const DAEMON: u32 = 1;

/// A server with users, whose folders a shared machine's other accounts may pass through.
fn server_with(users: &[&str]) -> Option<Fleet> {
    if is_left_out("nobody") {
        return None;
    }
    assert!(
        nix::unistd::geteuid().is_root(),
        "nothing can be run as another user here; run as root, or set FERMI_LEAVE_OUT=nobody to leave these tests out"
    );
    let fleet = Fleet::server();
    fs::set_permissions(fleet.place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in users {
        let file = fleet.place.file(&format!("{name}.password"), format!("{name}'s password\n")).display().to_string();
        fleet.typed("owner", &["user", "add", name, "--role", "member", "--password-file", &file]).expect(0);
        fleet.typed(name, &["login", "--user", name, "--password-file", &file]).expect(0);
    }
    Some(fleet)
}

fn create(fleet: &Fleet, who: &str, options: &[&str], command: &[&str]) -> String {
    let words = ["task", "create", "--name", "t", "--framework", "command"].iter().chain(options);
    let words: Vec<&str> = words.chain(&["--"]).chain(command).copied().collect();
    fleet.typed(who, &words).expect(0).out().trim().to_owned()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let with_inner = |path: PathBuf| {
        let inner = if path.is_symlink() || !path.is_dir() { Vec::new() } else { below(&path) };
        [path].into_iter().chain(inner)
    };
    entries.flat_map(with_inner).collect()
}

/// The Python of the system, which every user may execute.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn a_rank_is_its_owners_account_and_gets_at_nothing_else() {
    let Some(mut fleet) = server_with(&["ann", "bob"]) else { return };
    let map = fleet.place.path().join("accounts");
    fs::write(&map, "# owner account\nann nobody\nbob daemon\n").unwrap();
    fleet.add("gn6", 2, &["--run-as", &format!("map:{}", map.display())]);
    let password = fleet.place.file("value", SECRET).display().to_string();
    let set = format!("\"$FERMI\" secret set hf < '{password}'");
    let mut shell = fleet.place.program("sh");
    shell.env("FERMI", env!("CARGO_BIN_EXE_fermi")).env("FERMI_SERVER", format!("http://{}", fleet.address()));
    Run::whole(shell.env("FERMI_STATE_DIR", fleet.place.path().join("bob")).args(["-c", &set])).expect(0);

    let go = fleet.place.path().join("go");
    let victim = format!(
        "echo '{}''{}'; echo x > \"$FERMI_OUTPUT_DIR/of-bob\"; while ! test -e {}; do sleep 0.02; done",
        &WRITTEN[..9],
        &WRITTEN[9..],
        go.display()
    );
    let bobs = create(
        &fleet,
        "bob",
        &["--env", "gn6", "--workers", "gn6=0", "--secret", "HF_TOKEN=hf"],
        &["/bin/sh", "-c", &victim],
    );
    fleet.says(&bobs, 1, 0, WRITTEN);

    // What it was started with is for the agent alone, on its way to the server.
    let started = fleet.started(&bobs, 1, 0);
    assert_eq!((&started["account"], &started["env"]["HF_TOKEN"]), (&json!("daemon"), &json!("***")));
    let record = below(&fleet.agent_data(0)).into_iter().find(|path| path.ends_with("start.json")).unwrap();
    let about = fs::metadata(record).unwrap();
    assert_eq!((about.uid(), about.mode() & 0o777), (0, 0o600));

    // Everything of the agent that there is by now, by name: what cannot be listed may still be guessed.
    let data = fleet.agent_data(0);
    let pids: Vec<i32> = fleet.place.alive().iter().map(|process| process.pid).collect();
    let pass = below(&data).into_iter().find(|path| path.ends_with("pass.json")).expect("the agent's pass");
    let pass: Value = serde_json::from_slice(&fs::read(pass).unwrap()).unwrap();
    let targets = fleet.place.path().join("targets.json");
    let needles = json!({"the secret": SECRET, "bob's log": WRITTEN, "the credential": pass["credential"]});
    let paths: Vec<PathBuf> = below(&data).into_iter().chain([data.clone(), fleet.data()]).collect();
    fs::write(&targets, json!({"paths": paths, "pids": pids, "needles": needles}).to_string()).unwrap();
    fs::set_permissions(&targets, fs::Permissions::from_mode(0o644)).unwrap();

    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/access/rank.py")).unwrap();
    let targets = targets.display().to_string();
    let anns = create(&fleet, "ann", &["--env", "gn6", "--workers", "gn6=1"], &[PYTHON, "-c", &script, &targets]);
    fleet.task_is(&anns, "succeeded");
    fleet.says(&anns, 1, 0, "\"descriptors\"");
    let log = fleet.log(&anns, 1, 0);
    assert!(log.contains("through /dev/stdout\n"), "{log}");
    let told: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(told["got"], json!([]), "{told:#}");
    assert_eq!(
        [&told["uid"], &told["gid"], &told["groups"]],
        [&json!([NOBODY, NOBODY, NOBODY]), &json!([NOBODY, NOBODY, NOBODY]), &json!([NOBODY])]
    );
    assert_eq!(told["variables"], json!(["/nonexistent", "nobody", "nobody", "/usr/sbin/nologin"]), "{told:#}");
    assert_eq!((&told["root"], &told["descriptors"]), (&json!("refused"), &json!([0, 1, 2])));

    // What it had to write it has written, as itself; the notes beside its checkpoints too.
    let outputs = below(&data)
        .into_iter()
        .filter(|path| path.starts_with(data.clone()) && path.to_string_lossy().contains(&format!("{anns}/outputs")));
    let owners: Vec<(String, u32)> = outputs
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::symlink_metadata(&path).unwrap().uid())
        })
        .collect();
    for name in ["outputs", "checkpoints", "step-1.pt", "fence"] {
        assert!(owners.contains(&(name.to_owned(), NOBODY)), "{name}: {owners:?}");
    }
    assert!(owners.iter().all(|(_, uid)| *uid == NOBODY), "{owners:?}");
    let metrics = fleet.get(&format!("/training-tasks/{anns}/metrics"));
    assert!(metrics["series"].to_string().contains("loss"), "its progress has arrived: {metrics}");

    // The same ways do find these things where they are allowed to.
    let mut as_root = fleet.place.program(PYTHON);
    let by_root = Run::whole(
        as_root
            .args(["-c", &script, &targets])
            .env("FERMI_OUTPUT_DIR", fleet.place.path())
            .env("FERMI_CHECKPOINT_DIR", fleet.place.path())
            .env("FERMI_PROGRESS_FILE", "/dev/null"),
    );
    let told: Value = serde_json::from_str(by_root.out().lines().last().unwrap()).unwrap();
    let got = told["got"].to_string();
    for way in ["the secret in", "bob's log in", "the credential in", "listed", "wrote to", "may signal"] {
        assert!(got.contains(way), "{way}: {got}");
    }

    // Root ends what is another account's.
    let rank = fleet
        .place
        .alive()
        .into_iter()
        .find(|process| fs::metadata(format!("/proc/{}", process.pid)).is_ok_and(|about| about.uid() == DAEMON));
    assert!(rank.is_some(), "bob's rank is daemon's");
    fleet.typed("bob", &["task", "stop", &bobs, "--force"]).expect(0);
    fleet.task_is(&bobs, "stopped");
    fleet.assert_idle();

    // An agent that comes back finds its folder as it left it.
    fleet.kill_agent(0);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    fleet.start_agent(0);
    let is_open = || fs::metadata(&data).is_ok_and(|about| about.mode() & 0o777 == 0o711);
    eventually("the folder lets accounts pass again", || is_open().then_some(()));
}

#[test]
fn without_an_account_a_task_is_refused_with_a_sentence_and_the_servers_own_token_is_root() {
    let Some(mut fleet) = server_with(&["nobody-has-this-account", "daemon"]) else { return };
    fleet.add("gn6", 1, &[]);
    let log = fs::read_to_string(fleet.place.path().join("agent-gn6.log")).unwrap();
    assert!(log.contains("root") && log.contains("--run-as"), "it says so at its start: {log}");
    let told = |who: &str| {
        let task = create(&fleet, who, &["--env", "gn6"], &["/bin/true"]);
        let shown = fleet.task_is(&task, "failed").to_string();
        (shown.contains("this node has no system account nobody-has-this-account"), shown)
    };
    let (is_said, shown) = told("nobody-has-this-account");
    assert!(is_said && shown.contains("--run-as off"), "{shown}");
    let (_, shown) = told("daemon");
    assert!(shown.contains("daemon is an account of the system itself (uid 1)"), "{shown}");
    let task = create(&fleet, "owner", &["--env", "gn6"], &["/bin/sh", "-c", "id -u; echo $HOME"]);
    fleet.task_is(&task, "succeeded");
    fleet.says(&task, 1, 0, &format!("0\n{}\n", fleet.place.home().display()));
    eventually("the run to be gone", || fleet.keepers(0).is_none().then_some(()));
}

//! Another user of the machine gets no secret, no token, no log and runs nothing: `tests/access/nobody.py` tries.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::{Fleet, Place, Run, eventually, is_left_out, python};

const SECRET: &str = "hf_a-value-that-no-one-else-sees";
const WRITTEN: &str = "what-only-the-owner-reads";
/// The user `nobody` of every system.
const NOBODY: &str = "65534";

/// A program as `nobody`; none where the one who runs the tests is not root and says so.
fn as_nobody(place: &Place) -> Option<Command> {
    if is_left_out("nobody") {
        return None;
    }
    let mut command = place.program("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    let tried = place.program("setpriv").args(["--reuid", NOBODY, "--clear-groups", "true"]).status();
    assert!(
        tried.is_ok_and(|status| status.success()),
        "nothing can be run as another user here; run as root, or set FERMI_LEAVE_OUT=nobody to leave these tests out"
    );
    Some(command)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn word(path: &Path) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// A command that is given to a server on stdin and must go well.
fn typed(place: &Place, server: &str, words: &[&str], stdin: &str) -> String {
    let mut command = place.fermi(words);
    command.env("FERMI_SERVER", server).env("FERMI_LANG", "en").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "fermi {words:?}");
    String::from_utf8(ended.stdout).unwrap().trim().to_owned()
}

#[test]
fn another_user_of_the_machine_gets_nothing() {
    let place = Place::new();
    let Some(mut nobody) = as_nobody(&place) else { return };
    // Only the folders of Fermi itself stand between: those above them are open, as a shared machine's are.
    for folder in [place.path(), &place.work()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let up = place.path().join("up");
    let data = up.display().to_string();
    let words = ["up", "--listen", "127.0.0.1:0", "--data-dir", &data, "--env", "gn6:here:1", "--json"];
    let cluster = Run::start(&mut place.fermi(words));
    let server = eventually("the server's address", || {
        let line = cluster.stdout_so_far();
        let said: Value = serde_json::from_str(line.lines().next()?).ok()?;
        Some(said["server"].as_str()?.to_owned())
    });
    eventually("gn6 to be there", || cluster.stderr_so_far().contains("gn6").then_some(()));
    typed(&place, &server, &["secret", "set", "hf"], &format!("{SECRET}\n"));
    // This run's own: other logs may lie about on this machine, and copies of the program with all that it ever says.
    let name = format!("task-{:x}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos());
    // In two pieces: the words of a command are for everyone to read.
    let script = format!("echo '{}''{}'; sleep 600", &WRITTEN[..9], &WRITTEN[9..]);
    let create =
        ["task", "create", "--name", &name, "--env", "gn6", "--framework", "command", "--secret", "HF_TOKEN=hf"];
    let create: Vec<&str> = create.into_iter().chain(["--", "/bin/sh", "-c", &script]).collect();
    let task = typed(&place, &server, &create, "");
    let shown = eventually("the task to run", || {
        let shown: Value =
            serde_json::from_str(&typed(&place, &server, &["task", "show", &task, "--json"], "")).ok()?;
        (shown["status"] == "running").then_some(shown)
    });
    let agent = up.join("agents").join("gn6");
    eventually("the rank to write", || files_below(&agent).iter().any(|file| word_is_in(file, WRITTEN)).then_some(()));

    let home = place.path().join("nobodys");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65_534), Some(65_534)).unwrap();
    let files: Vec<PathBuf> = files_below(&up).into_iter().chain(files_below(&place.state())).collect();
    let pass = files.iter().find(|file| file.ends_with("pass.json")).expect("the agent's pass");
    let pass: Value = serde_json::from_slice(&fs::read(pass).unwrap()).unwrap();
    let mut target = json!({
        "place": place.path(), "up": up, "agent": agent, "state": place.state(), "home": home, "files": files,
        "address": server.strip_prefix("http://").unwrap(), "task": task, "masterPort": shown["masterPort"],
        "pids": place.alive().iter().map(|process| process.pid).collect::<Vec<_>>(),
        "fermi": env!("CARGO_BIN_EXE_fermi"),
        "needles": {
            "the secret": SECRET, "what the rank wrote": WRITTEN, "the credential": pass["credential"],
            "the token": word(&up.join("server/token")), "the key of runs": word(&up.join("server/secret")),
            "the key of secrets": word(&up.join("server/secrets.key")), "a log of ours": name,
        },
    });
    // In clear it is in the rank's own variables and the memory of its keepers, and in no file.
    for file in &files {
        assert!(!word_is_in(file, SECRET), "the secret is in {}", file.display());
    }
    let ways = tried(&mut nobody, &target);
    for way in &ways {
        assert!(way["found"] == json!([]) && way["done"].is_null(), "{way}");
    }
    assert!(ways.len() >= 30, "{} ways", ways.len());
    // The same ways do find these things where they are allowed to.
    let harmless = ["the_keys", "the_folder_of_everything", "the_logs_of_up", "variables_of_processes"];
    target["only"] = json!(harmless);
    let by_owner = tried(&mut place.program("env"), &target);
    assert_eq!(by_owner.len(), harmless.len());
    for (way, thing) in by_owner.iter().zip(["what the rank wrote", "the token", "a log of ours", "the secret"]) {
        assert!(way["found"].as_array().unwrap().iter().any(|found| found == thing), "{thing}: {way}");
    }
    assert!(typed(&place, &server, &["task", "show", &task], "").contains("running"), "the task was not disturbed");
    cluster.signal(libc::SIGTERM);
    cluster.ended();
}

/// The Python of the system, which every user may execute, before one that may lie in somebody's home.
fn everyones_python() -> &'static Path {
    let system = Path::new("/usr/bin/python3");
    if system.exists() { system } else { python() }
}

/// What each way of the attack has found, as `user` starts it.
fn tried(user: &mut Command, target: &Value) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/access/nobody.py");
    let command = user.arg(everyones_python());
    command.arg("-c").arg(fs::read_to_string(script).unwrap()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut attack = command.current_dir("/").spawn().unwrap();
    attack.stdin.take().unwrap().write_all(target.to_string().as_bytes()).unwrap();
    let ended = attack.wait_with_output().unwrap();
    assert!(ended.status.success(), "the attack itself failed");
    String::from_utf8(ended.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn word_is_in(file: &Path, word: &str) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.windows(word.len()).any(|found| found == word.as_bytes()))
}

/// What a rank tries with each of the processes that it names by their numbers; it says what it has got.
const CLIMB: &str = r#"
for pid in $PPID $(cut -d' ' -f4 /proc/$PPID/stat) AGENT; do
    for name in environ mem maps auxv; do
        head -c 4096 /proc/$pid/$name > got 2>/dev/null && test -s got && echo "read $name of $pid"
    done
    ls /proc/$pid/fd > got 2>/dev/null && test -s got && echo "listed descriptors of $pid"
    ls /proc/$pid/cwd/ > got 2>/dev/null && test -s got && echo "entered the folder of $pid"
    PYTHON -c "import ctypes; print('traced' if ctypes.CDLL(None).ptrace(16, $pid, None, None) >= 0 else 'refused')"
done
echo "own secret: $OWN"
echo over
"#;

#[test]
fn a_training_script_reads_nothing_of_an_agent_and_keepers_that_are_its_own_user() {
    let fleet = Fleet::server();
    let place = &fleet.place;
    let Some(_) = as_nobody(place) else { return };
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let server = format!("http://{}", fleet.address());
    let home = place.path().join("nobodys");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(65_534), Some(65_534)).unwrap();
    let token = typed(place, &server, &["token", "create", "gn6", "--scope", "agent"], "");
    let data = home.join("agent").display().to_string();
    let start = || {
        let mut agent = as_nobody(place).unwrap();
        agent.arg(env!("CARGO_BIN_EXE_fermi")).args([
            "agent",
            "--server",
            &server,
            "--name",
            "gn6",
            "--data-dir",
            &data,
        ]);
        agent.env("HOME", &home).env("FERMI_STATE_DIR", home.join("state")).env("FERMI_TOKEN", &token);
        Run::start(agent.current_dir(&home))
    };
    let agent = start();
    fleet.environment_is("gn6", "running");
    typed(place, &server, &["secret", "set", "own"], SECRET);
    let go = home.join("go");
    let script =
        CLIMB.replace("AGENT", &agent.pid().to_string()).replace("PYTHON", everyones_python().to_str().unwrap());
    let script = format!("cd {}; {script} while ! test -e {}; do sleep 0.01; done", home.display(), go.display());
    let create = ["task", "create", "--name", "t", "--env", "gn6", "--framework", "command", "--secret", "OWN=own"];
    let create: Vec<&str> = create.into_iter().chain(["--", "/bin/sh", "-c", &script]).collect();
    let task = typed(place, &server, &create, "");
    fleet.says(&task, 1, 0, "over");
    let said = fleet.log(&task, 1, 0);
    assert_eq!(said, format!("refused\nrefused\nrefused\nown secret: {SECRET}\nover\n"));

    // Keepers that hide are known to the next agent all the same.
    agent.signal(libc::SIGKILL);
    agent.ended();
    let agent = start();
    fleet.environment_is("gn6", "busy");
    fs::write(&go, "").unwrap();
    fleet.task_is(&task, "succeeded");
    eventually("the run to be gone", || files_below(&home.join("agent").join("live")).is_empty().then_some(()));
    agent.signal(libc::SIGTERM);
    agent.ended();
}

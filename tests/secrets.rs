//! Secrets reach the ranks of their tasks and nothing else, also through a restart of the agent and of the server.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::support::Fleet;

const VALUE: &str = "hf_4711-in-clear-nowhere";

/// `fermi` with something on its stdin; answers with exit code and all that it said.
fn typed(fleet: &Fleet, words: &[&str], stdin: &str) -> (i32, String) {
    let mut command = fleet.place.fermi(words);
    command.env("FERMI_SERVER", format!("http://{}", fleet.address())).env("FERMI_LANG", "en");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    (ended.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Nowhere on disk, in no log of ours, in no command line.
fn assert_in_clear_nowhere(fleet: &Fleet) {
    for file in files_below(fleet.place.path()) {
        let bytes = fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(VALUE.len()).any(|found| found == VALUE.as_bytes()), "it is in {}", file.display());
    }
    for process in fleet.place.alive() {
        let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&words).contains(VALUE), "{words:?}");
    }
}

#[test]
fn a_secret_reaches_the_ranks_of_its_task_and_stands_nowhere_else() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let create = |name: &str, script: &str| {
        let words = ["task", "create", "--name", name, "--env", "gn6", "--framework", "command", "--max-restarts", "1"];
        let words = words.into_iter().chain(["--secret", "HF_TOKEN=hf", "--", "/bin/sh", "-c", script]);
        typed(&fleet, &words.collect::<Vec<_>>(), "")
    };
    let (code, said) = create("early", "true");
    assert!(
        code == 2 && said.contains("There is no secret 'hf'") && said.contains("fermi secret set"),
        "{code} {said}"
    );
    let (code, said) = typed(&fleet, &["secret", "set", "hf", VALUE], "");
    assert!(code == 2, "a value is never taken from the command line: {said}");
    assert_eq!(typed(&fleet, &["secret", "set", "hf"], "first\n").0, 0);
    assert_eq!(typed(&fleet, &["secret", "set", "hf"], &format!("{VALUE}\n")).0, 0);
    let (_, listed) = typed(&fleet, &["secret", "list", "--json"], "");
    assert!(listed.contains("\"hf\"") && !listed.contains(VALUE), "{listed}");

    // The first attempt fails once it is told to, so that the keepers start ranks again without the server.
    let go = fleet.place.work().join("go");
    let script = format!(
        "printf %s \"$HF_TOKEN\" | md5sum; test \"$FERMI_ATTEMPT\" = 2 && exec sleep 600; \
         while ! test -e {}; do sleep 0.01; done; exit 3",
        go.display()
    );
    let (code, said) = create("t", &script);
    assert_eq!(code, 0, "{said}");
    let task = "task-1";
    let digest = "printf %s \"$V\" | md5sum";
    let wanted = fleet.place.program("/bin/sh").args(["-c", digest]).env("V", VALUE).output().unwrap().stdout;
    let wanted = String::from_utf8(wanted).unwrap();
    fleet.says(task, 1, 0, wanted.trim());
    let shown = fleet.get(&format!("/training-tasks/{task}/launch"));
    assert_eq!(shown["env"]["HF_TOKEN"], "***");
    // What it was really started with is told to the letter, but for the secret.
    let started = fleet.started(task, 1, 0);
    assert_eq!((&started["argv"], &started["env"]["HF_TOKEN"]), (&json!(["/bin/sh", "-c", script]), &json!("***")));
    let environ = fs::read_to_string(format!("/proc/{}/environ", started["pid"])).unwrap();
    let given = started["env"].as_object().unwrap();
    assert!(given.len() > 30, "{started:#}");
    for (name, value) in given.iter().filter(|(name, _)| *name != "HF_TOKEN") {
        let pair = format!("{name}={}", value.as_str().unwrap());
        assert!(environ.split('\0').any(|variable| variable == pair), "{pair}");
    }
    assert!(environ.contains(VALUE));
    assert_in_clear_nowhere(&fleet);

    fleet.kill_agent(0);
    fleet.start_agent(0);
    fs::write(&go, "").unwrap();
    fleet.says(task, 2, 0, wanted.trim());
    fleet.task_is(task, "running");
    assert_eq!(fleet.started(task, 2, 0)["env"]["HF_TOKEN"], "***");
    assert_in_clear_nowhere(&fleet);

    // A new launch after a restart of the server: sealed and opened again. Then it is gone, and no launch is taken.
    fleet.kill_server();
    fleet.start_server();
    fleet.environment_is("gn6", "busy");
    typed(&fleet, &["task", "stop", task], "");
    fleet.task_is(task, "stopped");
    fs::remove_file(&go).unwrap();
    let (code, said) = typed(&fleet, &["task", "restart", task], "");
    assert_eq!(code, 0, "{said}");
    fleet.says(task, 3, 0, wanted.trim());
    fleet.started(task, 3, 0);
    typed(&fleet, &["task", "stop", task], "");
    fleet.task_is(task, "stopped");
    assert_eq!(typed(&fleet, &["secret", "delete", "hf"], "").0, 0);
    let (code, said) = typed(&fleet, &["task", "restart", task], "");
    assert!(code == 2 && said.contains("There is no secret 'hf'"), "{code} {said}");
    assert!(said.contains("fermi secret set"), "{said}");
    fleet.task_is(task, "stopped");

    // Long after, without the machine: of each attempt.
    fleet.kill_agent(0);
    fs::remove_dir_all(fleet.agent_data(0)).unwrap();
    for attempt in ["1", "2", "3"] {
        let (code, said) = typed(&fleet, &["task", "launch", task, "--attempt", attempt], "");
        assert!(code == 0 && said.contains("HF_TOKEN='***'") && said.contains("\n/bin/sh -c"), "{said}");
        assert!(
            said.contains(&format!("TORCHELASTIC_RESTART_COUNT={}", attempt.parse::<u32>().unwrap() - 1)),
            "{said}"
        );
    }
    let (code, said) = typed(&fleet, &["task", "launch", task, "--rank", "1"], "");
    assert!(code == 3 && said.contains("task-1 has no rank 1") && said.contains("hint:"), "{code} {said}");
    assert_in_clear_nowhere(&fleet);
}

#[test]
fn a_backup_does_not_hold_the_key_and_says_so() {
    let fleet = Fleet::server();
    assert_eq!(typed(&fleet, &["secret", "set", "hf", "--shared"], VALUE).0, 0);
    let address = "https://hooks.example/the-key-in-an-address";
    assert_eq!(typed(&fleet, &["webhook", "add", "chat", "-"], address).0, 0);
    let (data, to) = (fleet.data().display().to_string(), fleet.place.path().join("backup"));
    let (code, said) = typed(&fleet, &["server", "backup", to.to_str().unwrap(), "--data-dir", &data], "");
    assert!(code == 0 && said.contains("2, sealed") && said.contains("secrets.key"), "{said}");
    assert!(to.join("fermi.db").exists() && to.join("token").exists() && !to.join("secrets.key").exists());
    let kept = fs::read(to.join("fermi.db")).unwrap();
    assert!(!kept.windows(19).any(|bytes| bytes == b"the-key-in-an-addre"));
    let (_, said) = typed(&fleet, &["audit"], "");
    assert!(said.contains("the shared secret hf was kept") && !said.contains(VALUE), "{said}");
}

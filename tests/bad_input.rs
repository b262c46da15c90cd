//! Bad flags and bad environments: each gets a sentence and a hint, exit code 2, and starts nothing.
//!
//! What people read is kept in two snapshots, one for each language; paths and the ids of runs are replaced by words
//! there.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Ended, Place, Run};

/// What is wrong, and how it comes about. The command ends with a good script unless the case brings its own.
struct Case {
    name: &'static str,
    options: Vec<&'static str>,
    script: Option<&'static str>,
    change: fn(&Place, &mut Command),
}

fn flags(name: &'static str, options: &[&'static str]) -> Case {
    Case { name, options: options.to_vec(), script: Some("good.py"), change: |_, _| {} }
}

fn script(name: &'static str, options: &[&'static str], script: Option<&'static str>) -> Case {
    Case { script, ..flags(name, options) }
}

fn world(name: &'static str, options: &[&'static str], change: fn(&Place, &mut Command)) -> Case {
    Case { change, ..flags(name, options) }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        flags("no processes", &["-n", "0"]),
        flags("fewer than no processes", &["-n", "-1"]),
        flags("processes in words", &["--nproc-per-node", "two"]),
        flags("half a process", &["--nproc_per_node=1.5"]),
        flags("far too many processes", &["-n", "99999"]),
        flags("two numbers of processes", &["-n", "2", "--world-size", "3"]),
        world("a GPU where there is none", &["-n", "gpu"], |_, command| {
            command.env("CUDA_VISIBLE_DEVICES", "");
        }),
        flags("machines in words", &["--nnodes", "several"]),
        flags("no machine", &["--nnodes", "0"]),
        flags("machines the wrong way round", &["--nnodes", "2:1"]),
        flags("a node rank in words", &["--node-rank", "first"]),
        flags("fewer than no restarts", &["--max-restarts", "-1"]),
        flags("restarts in words", &["--max-restarts", "many"]),
        flags("a stream that does not exist", &["--tee", "9"]),
        flags("a stream of a rank that does not exist", &["--redirects", "0:9"]),
        flags("a filter in words", &["--local-ranks-filter", "first"]),
        flags("a filter with a hole", &["--ranks-filter", "0,,x"]),
        flags("a signal that does not exist", &["--signals-to-handle", "SIGTERM,SIGNOPE"]),
        flags("a signal that cannot be caught", &["--signals-to-handle", "SIGKILL"]),
        flags("a checkpoint signal that cannot be caught", &["--checkpoint-signal", "SIGSTOP"]),
        flags("a checkpoint signal that does not exist", &["--checkpoint-signal", "SAVE"]),
        flags("a time in words", &["--shutdown-timeout", "soon"]),
        flags("a time before now", &["--shutdown-timeout", "-1"]),
        flags("a checkpoint grace in words", &["--checkpoint-signal", "USR1", "--checkpoint-grace", "long"]),
        flags("a start time that is no number", &["--start-timeout", "nan"]),
        flags("an interval in words", &["--monitor-interval", "often"]),
        flags("port 0", &["--master-port", "0"]),
        flags("a port beyond the last", &["--master-port", "70000"]),
        flags("a port in words", &["--master-port", "http"]),
        flags("a variable with a space in its name", &["-x", "A B=1"]),
        flags("a variable without a name", &["-x", "=1"]),
        flags("devices of another machine", &["--include", "elsewhere:0"]),
        flags("devices in words", &["--include", "a,b"]),
        flags("devices in and out", &["--include", "0", "--exclude", "1"]),
        flags("fewer devices than processes", &["-n", "4", "--include", "0,1"]),
        flags("another host", &["--host", "elsewhere:2"]),
        flags("slots in words", &["--host", "localhost:x"]),
        flags("a binding that does not exist", &["--cpu-bind", "planets"]),
        flags("CPUs that this machine has not", &["--bind-core-list", "0-9999"]),
        flags("CPUs in words", &["--bind-core-list", "all"]),
        flags("a mode that does not exist", &["--mode", "dream"]),
        flags("a rank without a world", &["--rank", "1"]),
        flags("a rank beyond the world", &["--rank", "4", "--world-size", "4"]),
        flags("a slip of the pen", &["--nproc-per-nodes", "2"]),
        flags("an option that nobody knows", &["--frobnicate"]),
        flags("a module without Python", &["-m", "--no-python"]),
        flags("a relative path for run-path", &["--run-path"]),
        script("no script", &["-n", "2"], None),
        script("an option without its value", &["--tee"], None),
        script("a script that is not there", &[], Some("absent.py")),
        script("a script that is a folder", &[], Some("folder")),
        script("a script that is a program", &[], Some("/bin/ls")),
        script("a program that is not there", &["--no-python"], Some("no-such-program")),
        script("a program that may not be executed", &["--no-python"], Some("./good.py")),
        script("a program that is a folder", &["--no-python"], Some("./folder")),
        flags("outputs where nothing can be written", &["--output-dir", "/proc/outputs"]),
        flags("logs below a file", &["--log-dir", "/etc/hostname/logs"]),
    ];
    cases.extend(worlds());
    cases
}

/// Environments in which nothing can go well.
fn worlds() -> Vec<Case> {
    vec![
        world("PET_NPROC_PER_NODE in words", &[], |_, command| {
            command.env("PET_NPROC_PER_NODE", "lots");
        }),
        world("PET_STANDALONE neither on nor off", &[], |_, command| {
            command.env("PET_STANDALONE", "perhaps");
        }),
        world("PET_MAX_RESTARTS in words", &[], |_, command| {
            command.env("PET_MAX_RESTARTS", "x");
        }),
        world("PET_MASTER_PORT in words", &[], |_, command| {
            command.env("PET_MASTER_PORT", "x");
        }),
        world("PET_TEE beyond three", &[], |_, command| {
            command.env("PET_TEE", "7");
        }),
        world("TORCH_ELASTIC_SHUTDOWN_TIMEOUT in words", &[], |_, command| {
            command.env("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "later");
        }),
        world("PYTHON_EXEC names nothing", &[], |_, command| {
            command.env("PYTHON_EXEC", "/no/such/python");
        }),
        world("no Python anywhere", &[], |place, command| {
            command.env_remove("PYTHON_EXEC").env("PATH", place.work());
        }),
        world("no torchrun anywhere", &["--use-torchrun"], |place, command| {
            command.env("PATH", place.work());
        }),
        world("a log folder that is a file", &[], |place, command| {
            command.env("PET_LOG_DIR", place.work().join("good.py"));
        }),
        world("a log folder that is not UTF-8", &[], |place, command| {
            command.env("PET_LOG_DIR", place.work().join(OsStr::from_bytes(b"caf\xe9")));
        }),
        world("a state folder that cannot be written", &[], |_, command| {
            command.env("FERMI_STATE_DIR", "/proc/fermi");
        }),
        world("no home and no place for temporary things", &[], |_, command| {
            command.env_remove("HOME").env_remove("FERMI_STATE_DIR").env("TMPDIR", "/proc/nowhere");
        }),
    ]
}

fn prepared() -> Place {
    let place = Place::new();
    place.file("good.py", "open('ran', 'w').close()");
    fs::create_dir(place.work().join("folder")).unwrap();
    place
}

fn command_of(place: &Place, case: &Case, language: &str) -> Command {
    let mut command = place.run(&case.options);
    command.args(case.script).env("FERMI_LANG", language);
    (case.change)(place, &mut command);
    command
}

/// Checks the form that all refusals have, and gives what was said with this machine's own names taken out.
fn refused(place: &Place, name: &str, language: &str, ended: &Ended) -> String {
    assert_eq!(ended.code(), Some(2), "{name} ({language}): {:?}\n{}", ended.status, ended.err());
    assert_eq!(ended.out(), "", "{name} ({language})");
    assert!(!place.work().join("ran").exists(), "{name}: the script was started");
    let err = ended.err();
    let (error, hint) = if language == "zh" { ("错误：", "提示：") } else { ("error: ", "hint: ") };
    let (sentence, advice) = err.split_once("\n\n").unwrap_or_else(|| panic!("{name}: no blank line in {err:?}"));
    assert!(sentence.starts_with(error), "{name}: {err}");
    assert!(advice.starts_with(hint), "{name}: {err}");
    assert!(sentence.len() > error.len() && advice.len() > hint.len() + 1, "{name}: {err}");
    if language == "zh" {
        assert!(is_chinese(sentence.trim_start_matches(error)), "{name}: {sentence}");
        let is_command = advice.trim_start_matches(hint).starts_with("chmod ");
        assert!(is_command || is_chinese(advice.trim_start_matches(hint)), "{name}: {advice}");
        assert!(!err.contains("error:") && !err.contains("hint:"), "{name}: {err}");
    }
    without_run_ids(&err.replace(place.path().to_str().unwrap(), "<place>"))
}

/// A run's id is `run-<date>-<time>-<random>`.
fn without_run_ids(text: &str) -> String {
    const LENGTH: usize = "run-20260101-000000-01234567".len();
    let mut parts = text.split("run-2");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, rest| text + "<run>" + rest.get(LENGTH - "run-2".len()..).unwrap_or_default())
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

fn all_refusals(language: &str) -> String {
    let said = cases().into_iter().map(|case| {
        let place = prepared();
        let ended = Run::whole(&mut command_of(&place, &case, language));
        let text = refused(&place, case.name, language, &ended);
        place.assert_empty();
        format!("# {}\n{text}", case.name)
    });
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_refusal_is_a_sentence_and_a_hint() {
    insta::assert_snapshot!("english", all_refusals("en"));
}

#[test]
fn every_refusal_is_chinese_for_those_who_read_it() {
    insta::assert_snapshot!("chinese", all_refusals("zh"));
}

#[test]
fn there_are_enough_of_them() {
    assert!(cases().len() >= 60, "{}", cases().len());
    let mut names: Vec<&str> = cases().iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases().len());
}

#[test]
fn a_taken_port_is_refused_with_the_name_of_its_holder() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let own_name = fs::read_to_string("/proc/self/comm").unwrap().trim().to_owned();
    for language in ["en", "zh"] {
        let place = prepared();
        let mut command = place.run(["-n", "2", "--master-port", &port.to_string(), "good.py"]);
        let ended = Run::whole(command.env("FERMI_LANG", language));
        let said = refused(&place, "a taken port", language, &ended);
        for part in [port.to_string(), std::process::id().to_string(), own_name.clone()] {
            assert!(said.contains(&part), "'{part}' is not in {said}");
        }
        place.assert_empty();
    }
}

#[test]
fn keepers_that_the_machine_lets_not_start_say_why() {
    for (language, why) in [("en", "too many files are open"), ("zh", "打开的文件过多")] {
        let place = prepared();
        let mut command = place.program("sh");
        command.args(["-c", "ulimit -n 10 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_fermi"), "run", "good.py"]);
        let ended = Run::whole(command.env("FERMI_LANG", language));
        let said = refused(&place, "too few files", language, &ended);
        assert!(said.contains(why) && said.contains("ulimit -n 1024"), "{said}");
        place.assert_empty();
    }
}

#[test]
fn a_script_that_may_not_be_read_is_refused() {
    let place = prepared();
    let secret = place.file("secret.py", "print('never')");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    // A superuser reads every file; without these capabilities root is a user like others.
    let capabilities = "--bounding-set=-dac_override,-dac_read_search";
    let mut command = if fs::read(&secret).is_ok() { place.program("setpriv") } else { place.program("env") };
    if command.get_program() == "setpriv" {
        command.args(["--inh-caps=-all", capabilities]);
    }
    let ended = Run::whole(command.args([env!("CARGO_BIN_EXE_fermi"), "run", "-n", "1"]).arg(&secret));
    refused(&place, "unreadable", "en", &ended);
}

#[test]
fn a_working_folder_that_was_deleted_is_refused() {
    let place = prepared();
    let gone = place.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = place.program("sh");
    let line = "cd \"$1\" && rmdir \"$1\" && shift && exec \"$@\"";
    command.args(["-c", line, "-"]).arg(&gone).args([env!("CARGO_BIN_EXE_fermi"), "run", "-n", "1", "/bin/true"]);
    let ended = Run::whole(&mut command);
    let said = refused(&place, "deleted folder", "en", &ended);
    assert!(said.contains("the current folder cannot be used"), "{said}");
}

#[test]
fn a_command_that_does_not_exist_is_refused_with_the_nearest_one() {
    let place = prepared();
    let ended = Run::whole(&mut place.fermi(["runn", "good.py"]));
    let said = refused(&place, "no such command", "en", &ended);
    assert!(said.contains("there is no command runn") && said.contains("did you mean run?"), "{said}");
}

#[test]
fn help_and_version_are_data_and_no_error() {
    let place = prepared();
    for words in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let ended = Run::whole(&mut place.fermi(words)).expect(0);
        assert!(!ended.stdout.is_empty() && ended.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn help_is_in_the_language_of_the_locale() {
    let place = prepared();
    for (name, value, is_chinese) in [
        ("LANG", "zh_CN.UTF-8", true),
        ("LC_ALL", "zh_TW.UTF-8", true),
        ("FERMI_LANG", "zh", true),
        ("LANG", "en_US.UTF-8", false),
        ("LC_ALL", "C", false),
    ] {
        for words in
            [&["--help"][..], &["run", "--help"], &["task", "create", "-h"], &["plan", "scale", "--help"], &["task"]]
        {
            let mut command = place.fermi(words);
            let ended = Run::whole(command.env_remove("LANG").env(name, value));
            let said = ended.out() + &ended.err();
            assert_eq!(said.contains("用法：fermi"), is_chinese, "{name}={value} {words:?}: {said}");
            assert_eq!(said.contains("Usage: fermi"), !is_chinese, "{name}={value} {words:?}: {said}");
        }
    }
    let mut command = place.run(["--no-such", "good.py"]);
    let said = Run::whole(command.env("LANG", "zh_CN.UTF-8")).expect(2).err();
    assert!(said.starts_with("错误：") && said.contains("提示："), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_said_and_fails() {
    let place = prepared();
    let bench = ["bench", "collective", "-n", "1", "--max", "1KiB", "--transport", "tcp"];
    for words in [&["--help"][..], &["run", "--dry-run", "good.py"], &["reference"], &["completions", "bash"], &bench] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = place.fermi(words).env("FERMI_LANG", "en").stdout(full).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("error: cannot write to standard output: no space is left"), "{words:?}: {said}");
        // A pipe that was closed has got all that its reader wanted.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = place.fermi(words).stdout(writer).output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_file_that_never_ends_is_refused_with_its_bound() {
    let place = prepared();
    let cases: &[&[&str]] = &[
        &["server", "--config", "/dev/zero"],
        &["task", "create", "--file", "/dev/zero"],
        &["train", "--config", "/dev/zero", "--algorithm", "sft"],
        &["plan", "calibrate", "--runs", "/dev/zero"],
        &["launch-multi-node", "--hostfile", "/dev/zero", "gn6", "2", "4", "good.py"],
        &["task", "list", "--token-file", "/dev/zero"],
    ];
    for words in cases {
        let ended = Run::whole(place.fermi(*words).env("FERMI_LANG", "en"));
        assert_eq!(ended.code(), Some(2), "{words:?}: {}", ended.err());
        assert!(ended.err().contains("it has more than 64 MiB, as no such file has"), "{words:?}: {}", ended.err());
    }
}

#[test]
fn a_script_whose_name_begins_with_a_dash_runs_behind_two_dashes() {
    let place = prepared();
    place.file("-d.py", "open('ran', 'w').close()");
    Run::whole(&mut place.run(["-n", "1", "--", "-d.py"])).expect(0);
    assert!(place.work().join("ran").exists());
}

#[test]
fn without_a_home_a_run_whose_logs_go_nowhere_still_works() {
    let place = prepared();
    let mut command = place.run(["-n", "1", "--log-dir", "/dev/null", "good.py"]);
    Run::whole(command.env_remove("HOME").env_remove("FERMI_STATE_DIR").env("TMPDIR", place.path())).expect(0);
    assert!(place.work().join("ran").exists());
}

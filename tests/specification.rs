//! The command lines of the documents that specify Fermi, each tried in a fresh place: it runs, or it says what to give.
//!
//! `specification/commands.json` has them all with document, section and line; `specification/extract.py` has taken them from
//! the documents. A line that fits none of the kinds below fails the test, so that none is forgotten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::support::{self, Ended, Place, Run};

#[derive(Debug, Deserialize)]
struct Documented {
    document: String,
    section: String,
    line: u32,
    kind: String,
    command: String,
}

/// What a line is to Fermi.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// A script of ours, with its arguments.
    Script(Vec<String>),
    /// Another launcher, whose options `fermi run` takes.
    Launcher(Vec<String>),
    /// A variable that ranks inherit as it is.
    Variable(String, String),
    /// The server, under a name of its own.
    Server(Vec<String>),
    /// A request to the API.
    Request(String),
    /// A program that the user brings or that a recipe of ours is.
    Own(String),
    /// A program of the system or of another package.
    OfTheSystem,
}

/// Programs that are not Fermi's and that no words of Fermi's replace.
const OF_THE_SYSTEM: [&str; 12] =
    ["ping", "telnet", "sudo", "nvidia-smi", "watch", "iftop", "tail", "pip", "ds_report", "sbatch", "netstat", "ps"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn documented() -> Vec<Documented> {
    let text = fs::read_to_string(root().join("tests/specification/commands.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The words of a line. An ellipsis stands for what the reader adds, and names in brackets for what the reader knows.
fn words(command: &str) -> Vec<String> {
    let known = [("<主节点IP>", "192.168.1.100"), ("<节点数>", "2"), ("<每节点GPU数>", "4")];
    let command = known.iter().fold(command.to_owned(), |line, (name, value)| line.replace(name, value));
    command.split_whitespace().filter(|word| *word != "...").map(str::to_owned).collect()
}

fn kind(line: &Documented) -> Kind {
    if line.kind == "http" {
        return Kind::Request(line.command.clone());
    }
    let words = words(&line.command);
    let rest = |from: usize| words[from..].to_vec();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["python", "-m", "torch.distributed.launch", ..] => {
            Kind::Launcher([vec!["--legacy-launch".into()], rest(3)].concat())
        }
        ["torchrun" | "deepspeed", ..] => Kind::Launcher(rest(1)),
        ["python", "-m", "procguard", ..] => Kind::Server(rest(3)),
        ["python", script, ..] if script.starts_with("scripts/") => Kind::Script(rest(1)),
        [script, ..] if script.starts_with("./scripts/") => Kind::Script(rest(0)),
        ["python", script, ..] if script.ends_with(".py") => Kind::Own((*script).to_owned()),
        ["python", "-c", ..] => Kind::OfTheSystem,
        ["export", assignment] => {
            let (name, value) = assignment.split_once('=').unwrap();
            Kind::Variable(name.to_owned(), value.to_owned())
        }
        [program, ..] if OF_THE_SYSTEM.contains(program) => Kind::OfTheSystem,
        other => panic!("{} line {}: what is {other:?}?", line.document, line.line),
    }
}

/// A folder as the documents assume it: our scripts and configurations, and a training script of the user's.
fn project() -> Place {
    let place = Place::new();
    for folder in ["scripts", "configs", "configs/deepspeed", "procguard"] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap).filter(|it| it.path().is_file()) {
            let name = entry.file_name().into_string().unwrap();
            place.file(&format!("{folder}/{name}"), fs::read(entry.path()).unwrap());
        }
    }
    for name in ["config_distributed_example.yaml", "config_deepspeed_example.yaml"] {
        place.file(name, fs::read(root().join(name)).unwrap());
    }
    let script = "import os, sys\nprint('trained', os.environ['RANK'], os.environ['WORLD_SIZE'], *sys.argv[1:])\n";
    place.file("main.py", script);
    place.file("scripts/distributed_train.py", script);
    place
}

/// What a line does here, with a port that is free and without waiting for other machines.
fn tried(place: &Place, program: &Path, before: &[&str], words: &[String]) -> Ended {
    let mut command: Command = place.program(program);
    command.env("FERMI_BIN", env!("CARGO_BIN_EXE_fermi")).args(before);
    let is_several = words.iter().any(|word| word.contains("192.168.1.100"));
    let port = support::sshd::free_port().to_string();
    let mut words: Vec<String> =
        words.iter().map(|word| word.replace("29500", &port).replace("29501", &port)).collect();
    if words[0].ends_with("evaluate_scaling.py") {
        words.extend(["--repeats", "1", "--steps", "2", "--batch", "1"].map(str::to_owned));
    }
    if is_several && !words[0].ends_with("launch_multi_node.sh") {
        let at = usize::from(words[0].ends_with(".py"));
        words.insert(at, "--dry-run".to_owned());
    }
    Run::whole(command.args(words))
}

/// It runs, or it says in a sentence what to give.
fn runs_or_says(line: &Documented, ended: &Ended) {
    let said = ended.err();
    let is_good =
        ended.code() == Some(0) || (ended.code() == Some(2) && said.contains("error:") && said.contains("hint:"));
    assert!(
        is_good,
        "{} §{} line {}: {}\n{:?}\n{}\n{said}",
        line.document,
        line.section,
        line.line,
        line.command,
        ended.status,
        ended.out()
    );
    for word in ["Traceback", "panicked", "os error", "unknown variant"] {
        assert!(!said.contains(word), "{}: {said}", line.command);
    }
}

#[test]
fn every_line_is_of_a_kind_that_is_known() {
    let lines = documented();
    assert!(lines.len() >= 69, "{}", lines.len());
    for document in ["000", "001", "002", "003", "004"] {
        assert!(lines.iter().any(|line| line.document == document), "{document}");
    }
    lines.iter().for_each(|line| drop(kind(line)));
}

#[test]
fn scripts_and_launchers_run_or_say_what_to_give() {
    let mut ranks = 0;
    for line in documented() {
        let place = project();
        let ended = match kind(&line) {
            Kind::Script(words) => {
                let interpreter = if words[0].ends_with(".py") { support::python() } else { Path::new("/bin/sh") };
                tried(&place, interpreter, &[], &words)
            }
            Kind::Launcher(words) => tried(&place, Path::new(env!("CARGO_BIN_EXE_fermi")), &["run"], &words),
            _ => continue,
        };
        runs_or_says(&line, &ended);
        ranks += ended.out().matches("trained ").count();
        if line.command.contains("create_slurm") {
            assert!(place.work().join("slurm_scripts/run_slurm.sh").is_file(), "what sbatch is told to submit");
        }
        if line.command.contains("evaluate_scaling") {
            assert!(place.work().join("results/scaling_analysis/scaling.json").is_file());
        }
    }
    assert!(ranks >= 10, "only {ranks} ranks have trained");
}

#[test]
fn exported_variables_reach_every_rank_as_they_are() {
    let place = Place::new();
    place.file("show.py", "import os, sys\nprint(*(os.environ.get(name) for name in sys.argv[1:]))\n");
    for line in documented() {
        let Kind::Variable(name, value) = kind(&line) else { continue };
        for framework in ["pytorch-ddp", "jax"] {
            let mut run = place.run(["-q", "-n", "1", "--framework", framework, "show.py", &name]);
            let ended = Run::whole(run.env(&name, &value)).expect(0);
            assert_eq!(ended.out().trim(), value, "{name} under {framework}");
        }
    }
}

#[test]
fn the_server_and_the_api_are_where_the_documents_say() {
    for line in documented() {
        match kind(&line) {
            Kind::Server(words) => {
                let place = project();
                let file = words.last().unwrap();
                let text = fs::read_to_string(place.work().join(file)).unwrap();
                place.file(file, text.replace("127.0.0.1:7070", "127.0.0.1:0"));
                let mut command = place.program(support::python());
                command
                    .env("FERMI_BIN", env!("CARGO_BIN_EXE_fermi"))
                    .args(["-m", "procguard"])
                    .args(&words)
                    .arg("--json");
                let run = Run::start(&mut command);
                run.says("127.0.0.1:");
                run.signal(libc::SIGTERM);
                run.ended().expect(0);
            }
            Kind::Request(request) => {
                let (verb, path) = request.split_once(' ').unwrap();
                let described = fs::read_to_string(root().join("docs/reference/openapi.json")).unwrap();
                let described: serde_json::Value = serde_json::from_str(&described).unwrap();
                assert!(!described["paths"][path][verb.to_lowercase()].is_null(), "{request}");
            }
            _ => {}
        }
    }
}

#[test]
fn programs_that_the_repository_ships_answer_for_themselves() {
    let place = Place::new();
    for line in documented() {
        let Kind::Own(script) = kind(&line) else { continue };
        let path = root().join(&script);
        if path.is_file() {
            let mut command = place.program(support::python());
            Run::whole(command.arg("-m").arg("py_compile").arg(&path).env("PYTHONPYCACHEPREFIX", "/tmp/fermi-pycache"))
                .expect(0);
        }
    }
}

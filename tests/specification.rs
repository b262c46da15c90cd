//! The command lines of the documents that specify Fermi, each tried in a fresh place: it runs, or it says what to give.
//!
//! `specification/commands.json` has them all with document, section and line; `specification/extract.py` has taken them from
//! the documents. A line that fits none of the kinds below fails the test, so that none is forgotten. What launchers start is a
//! stand-in that says its words; the programs themselves are then called with these words, by `specification/own.py`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::engines::job::engine_variables;
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
    /// A program that the user brings or that a recipe of ours is, with its words.
    Own(Vec<String>),
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
        ["python", script, ..] if script.ends_with(".py") => Kind::Own(rest(1)),
        ["python", "-c", ..] => Kind::OfTheSystem,
        ["export", assignment] => {
            let (name, value) = assignment.split_once('=').unwrap();
            Kind::Variable(name.to_owned(), value.to_owned())
        }
        [program, ..] if OF_THE_SYSTEM.contains(program) => Kind::OfTheSystem,
        other => panic!("{} line {}: what is {other:?}?", line.document, line.line),
    }
}

/// Programs of the repository that launchers start.
const STARTED: [&str; 2] = ["main.py", "scripts/distributed_train.py"];

/// A folder as the documents assume it: our scripts and configurations, with a stand-in for what launchers start.
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
    for name in STARTED {
        let script = format!(
            "import json, os, sys\nprint('trained', os.environ['RANK'], json.dumps(['{name}', *sys.argv[1:]]))\n"
        );
        place.file(name, script);
    }
    place
}

/// A folder as a fresh clone is: with what launchers start as it is, and the library that it imports.
fn clone() -> Place {
    let place = project();
    for name in [&STARTED[..], &["prepare_datasets.py"]].concat() {
        place.file(name, fs::read(root().join(name)).unwrap());
    }
    for folder in ["python", "examples"] {
        std::os::unix::fs::symlink(root().join(folder), place.work().join(folder)).unwrap();
    }
    place
}

/// How a program of the repository has ended.
#[derive(Debug, Deserialize)]
struct Called {
    code: i32,
    said: String,
}

/// Calls programs of the repository with their words, in a fresh clone without a network.
fn called(calls: &[Vec<String>]) -> Vec<Called> {
    let place = clone();
    let mut command = place.program(support::torch_python());
    command.arg(root().join("tests/specification/own.py")).arg(serde_json::to_string(calls).unwrap());
    command.env("HF_HUB_OFFLINE", "1").env("PYTHONDONTWRITEBYTECODE", "1").envs(engine_variables());
    serde_json::from_str(&Run::whole(&mut command).expect(0).out()).unwrap()
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
fn scripts_and_launchers_run_or_say_what_to_give_and_so_do_the_programs_that_they_start() {
    let mut ranks = 0;
    // The words of the programs of the repository.
    let mut own: BTreeSet<Vec<String>> = BTreeSet::new();
    for line in documented() {
        let place = project();
        let ended = match kind(&line) {
            Kind::Script(words) => {
                let interpreter = if words[0].ends_with(".py") { support::python() } else { Path::new("/bin/sh") };
                tried(&place, interpreter, &[], &words)
            }
            Kind::Launcher(words) => tried(&place, Path::new(env!("CARGO_BIN_EXE_fermi")), &["run"], &words),
            Kind::Own(words) => {
                own.insert(words);
                continue;
            }
            _ => continue,
        };
        runs_or_says(&line, &ended);
        ranks += ended.out().matches("trained ").count();
        let words = ended
            .out()
            .lines()
            .filter_map(|line| line.strip_prefix("trained 0 "))
            .map(str::to_owned)
            .collect::<Vec<_>>();
        own.extend(words.iter().map(|words| serde_json::from_str::<Vec<String>>(words).unwrap()));
        if line.command.contains("create_slurm") {
            assert!(place.work().join("slurm_scripts/run_slurm.sh").is_file(), "what sbatch is told to submit");
        }
        if line.command.contains("evaluate_scaling") {
            assert!(place.work().join("results/scaling_analysis/scaling.json").is_file());
        }
    }
    assert!(ranks >= 10, "only {ranks} ranks have trained");
    programs_run_or_say_what_to_give(own.into_iter().collect());
}

fn programs_run_or_say_what_to_give(own: Vec<Vec<String>>) {
    for program in ["main.py", "scripts/distributed_train.py", "prepare_datasets.py"] {
        assert!(own.iter().any(|words| words[0] == program), "no line calls {program}");
    }
    // Once as they stand, and once with a model that needs no network and with few steps.
    let small = |words: &Vec<String>| {
        let is_of_deepspeed = words.iter().any(|word| word.contains("config_deepspeed"));
        let loader = if is_of_deepspeed { "dataloader.num_workers" } else { "dataloader_num_workers" };
        let loader = format!("training.{loader}=0");
        let more: &[&str] = match words[0].as_str() {
            "main.py" => {
                &["--set", "model.name_or_path=preset:tiny", "--set", "training.num_train_epochs=1", "--set", &loader]
            }
            "scripts/distributed_train.py" => &["--model_name", "preset:tiny", "--max_steps", "2"],
            _ => &[],
        };
        [words.clone(), more.iter().map(|word| (*word).to_owned()).collect()].concat()
    };
    let calls: Vec<Vec<String>> = own.iter().cloned().chain(own.iter().map(small)).collect();
    let mut trained = BTreeSet::new();
    for (words, called) in calls.iter().zip(called(&calls)) {
        let says_what_to_give = called.code == 2 && called.said.contains("error:") && called.said.contains("hint:");
        assert!(called.code == 0 || says_what_to_give, "{words:?}: {called:?}");
        assert!(!called.said.contains("Traceback"), "{words:?}: {}", called.said);
        if called.code == 0 {
            trained.insert(words[0].clone());
        }
    }
    let engines = if support::is_left_out("deepspeed") { &STARTED[..1] } else { &STARTED[..] };
    let expected: BTreeSet<String> = engines.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(trained, expected, "programs that have trained");
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
fn the_commands_are_those_of_the_documents() {
    let place = Place::new();
    let script = root().join("tests/specification/extract.py");
    let taken = |documents: &[PathBuf]| {
        let mut command = place.program(support::python());
        Run::whole(command.arg(&script).args(documents).env("PYTHONUTF8", "1")).expect(0).out()
    };
    let sample = "# A title\n\n```bash\n# a comment\npython a.py --b \\\n    --c 1    # why\n```\n\n## Section\n\n```http\n\
                  POST /api/v1/x\nAccept: all\n```\n\n```python\nprint()\n```\n";
    let sample = place.file("007_sample.txt", sample);
    let row = |section: &str, line: u32, kind: &str, command: &str| serde_json::json!({"document": "007", "title": "A title", "section": section, "line": line, "kind": kind, "command": command});
    let expected = [row("A title", 5, "shell", "python a.py --b --c 1"), row("Section", 12, "http", "POST /api/v1/x")];
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&taken(&[sample])).unwrap(), expected);
    // Beside a checkout that has the documents, all of them.
    let Ok(found) = fs::read_dir(root().join("../shared/seeds")) else { return };
    let mut documents: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    documents.sort();
    let written = fs::read_to_string(root().join("tests/specification/commands.json")).unwrap();
    assert_eq!(taken(&documents), written, "tests/specification/extract.py writes commands.json anew");
}

/// The options of a page with what is said of each: `  --option VALUE    what it is`, in one line or, where the option is long,
/// in two.
fn options_of(page: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = page.lines().collect();
    let options = lines.iter().enumerate().filter(|(_, line)| line.starts_with("  -"));
    let with_about = options.map(|(at, line)| {
        let below = || (line.trim(), lines.get(at + 1).copied().unwrap_or_default());
        let (option, about) = line.trim().split_once("  ").unwrap_or_else(below);
        (option.to_owned(), about.trim().to_owned())
    });
    with_about.collect()
}

#[test]
fn the_help_of_what_the_repository_ships_is_there_in_both_languages() {
    let is_chinese = |text: &str| text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
    let place = Place::new();
    for script in ["main.py", "prepare_datasets.py", "scripts/distributed_train.py", "scripts/train.py"] {
        let page = |language: &str| {
            let mut command = place.program(support::python());
            command.arg(root().join(script)).arg("--help").env("FERMI_LANG", language).env("COLUMNS", "200");
            Run::whole(command.env("PYTHONDONTWRITEBYTECODE", "1")).expect(0).out()
        };
        for language in ["en", "zh"] {
            let page = page(language);
            assert_eq!(is_chinese(&page), language == "zh", "{script}: {page}");
            let name = script.rsplit('/').next().unwrap();
            assert!(page.contains(&format!(" {name} ")) || page.contains(&format!("：{name} ")), "{script}: {page}");
            for (option, about) in options_of(&page) {
                let is_right = about.contains("training.yaml") || is_chinese(&about) == (language == "zh");
                assert!(is_right && !about.is_empty(), "{script} in {language}: {option}");
            }
        }
        assert!(
            is_chinese(&fs::read_to_string(root().join(script)).unwrap()),
            "{script} says in both languages what it is"
        );
    }
    let refused = |language: &str| {
        let mut command = place.program(support::python());
        Run::whole(command.arg(root().join("main.py")).args(["--mode", "dance"]).env("FERMI_LANG", language)).expect(2)
    };
    refused("en").says(&["error: there is no mode 'dance'", "hint: give --mode train or --mode prepare"]);
    refused("zh").says(&["错误：没有模式 “dance”", "提示：请使用 --mode train 或 --mode prepare"]);
}

/// Runs a script in which the libraries that it imports are there, and are nothing.
const WITHOUT_LIBRARIES: &str = "
import importlib.abc, importlib.machinery, runpy, sys, types
class Kind(type):
    def __getattr__(cls, name):
        return Nothing
class Nothing(metaclass=Kind):
    def __init__(self, *_, **__):
        pass
    def __call__(self, *_, **__):
        return Nothing()
    def __getattr__(self, name):
        return Nothing()
class Library(types.ModuleType):
    def __getattr__(self, name):
        return Nothing
class Libraries(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split('.')[0] in ('torch', 'numpy', 'jax', 'deepspeed', 'horovod', 'megatron'):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return Library(spec.name)
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, Libraries())
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rsplit('/', 1)[0])
runpy.run_path(sys.argv[0], run_name='__main__')
";

#[test]
fn the_examples_speak_the_readers_language() {
    let is_chinese = |text: &str| text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
    let place = Place::new();
    let examples = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let with_options = |path: &PathBuf| {
        let is_python = path.extension().is_some_and(|ending| ending == "py");
        is_python && fs::read_to_string(path).unwrap().contains(".parse_") && !path.ends_with("words.py")
    };
    let examples: Vec<PathBuf> = examples.filter(with_options).collect();
    assert!(examples.len() >= 7, "{examples:?}");
    for example in examples {
        for language in ["en", "zh"] {
            let mut command = place.program(support::python());
            command.args(["-c", WITHOUT_LIBRARIES]).arg(&example).arg("--help").env("COLUMNS", "200");
            command.env("FERMI_LANG", language).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
            let page = Run::whole(&mut command).expect(0).out();
            let options = options_of(&page);
            assert!(options.len() > 2, "{page}");
            for (option, about) in options {
                assert!(!about.is_empty(), "{option} says nothing: {page}");
                assert_eq!(is_chinese(&about), language == "zh", "{}: {option}", example.display());
            }
        }
    }
}

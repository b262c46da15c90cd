//! What to execute: the interpreter, the script, the program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fermi_domain::contract::RankPosition;
use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::machine::Machine;

/// Runs a script inside an interpreter that is already up, as torchrun's `--run-path` does. A script that is done ends there too
/// without taking the interpreter down, in which a process group that was left open may abort: its threads, what it has
/// registered for the end and its output are waited for.
const RUN_PATH: &str = "\
import atexit, os, runpy, sys, threading
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name='__main__')
except SystemExit as end:
    if end.code:
        raise
threading._shutdown()
atexit._run_exitfuncs()
print(end='', flush=True)
os._exit(0)
";

/// What a rank executes.
#[derive(Debug)]
pub struct Program {
    /// `${local_rank}` in the script's arguments stays for the rank to fill in.
    words: Vec<OsString>,
    /// Where `--local-rank=N` goes among the words, if anywhere.
    legacy_at: Option<usize>,
    /// The interpreter among the words, if there is one.
    pub python: Option<PathBuf>,
}

impl Program {
    /// What the flags name, found on this machine.
    pub fn read(flags: &RunFlags, machine: &Machine) -> Result<Self, RunProblem> {
        let (script, arguments) = flags.script.split_first().ok_or(RunProblem::NoScript)?;
        if flags.module && flags.no_python {
            return Err(RunProblem::ModuleWithoutPython);
        }
        if let Some(path) = script.to_str().filter(|name| flags.module && is_path(name)) {
            return Err(RunProblem::ModuleIsPath { path: path.to_owned() });
        }
        let python = if flags.no_python && !flags.run_path { None } else { Some(python(machine)?) };
        let mut words: Vec<OsString> = match &python {
            Some(python) => vec![python.into(), "-u".into()],
            None => vec![program(script, machine)?.into()],
        };
        if python.is_some() {
            match (flags.run_path, flags.module) {
                (true, _) => {
                    check_run_path(Path::new(script))?;
                    words.extend(["-c".into(), RUN_PATH.into()]);
                }
                (false, true) => words.push("-m".into()),
                (false, false) => check_script(Path::new(script))?,
            }
            words.push(script.clone());
        }
        let legacy_at = flags.legacy_launch.then_some(words.len());
        words.extend(arguments.iter().cloned());
        Ok(Self { words, legacy_at, python })
    }

    /// The words of one rank: `${local_rank}` in arguments is its number, as torchrun has it.
    pub fn of_rank(&self, place: &RankPosition) -> Vec<OsString> {
        let number = place.visible_local_rank;
        let filled = self.words.iter().map(|word| match word.to_str() {
            Some(text) if text.contains("${local_rank}") => text.replace("${local_rank}", &number.to_string()).into(),
            _ => word.clone(),
        });
        let mut words: Vec<OsString> = filled.collect();
        if let Some(at) = self.legacy_at {
            words.insert(at, format!("--local-rank={number}").into());
        }
        words
    }
}

fn check_run_path(script: &Path) -> Result<(), RunProblem> {
    if !script.is_absolute() {
        return Err(RunProblem::RunPathWithoutFile { path: script.display().to_string() });
    }
    check_script(script)
}

/// Whether a module is named by the path of its file.
fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".py")
}

/// `python`, `python3`, `python3.11`: what stands before the script where another launcher starts any program.
fn is_interpreter(name: &str) -> bool {
    let version = name.strip_prefix("python");
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn python(machine: &Machine) -> Result<PathBuf, RunProblem> {
    machine.python.usual().map_err(|error| RunProblem::PythonNotFound { tried: error.tried })
}

fn program(name: &OsStr, machine: &Machine) -> Result<PathBuf, RunProblem> {
    let path = Path::new(name);
    if let Some(found) = machine.python.program(path) {
        return Ok(found);
    }
    // The binary that is running need not be on the PATH to run its own trainer.
    if name == "fermi" {
        return Ok(machine.own_binary.clone());
    }
    let shown = path.display().to_string();
    Err(match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => RunProblem::ScriptIsFolder { path: shown },
        Ok(_) => RunProblem::ProgramNotExecutable { path: shown },
        Err(_) => RunProblem::ProgramNotFound { name: shown },
    })
}

/// A script must be there, be readable, and not be a compiled program.
fn check_script(path: &Path) -> Result<(), RunProblem> {
    let shown = path.display().to_string();
    let meta = fs::metadata(path).map_err(|_| match is_interpreter(&shown) {
        true => RunProblem::InterpreterAsScript { name: shown.clone() },
        false => RunProblem::ScriptNotFound { path: shown.clone() },
    })?;
    // A folder with a __main__.py is a script for Python.
    if meta.is_dir() {
        let runs = path.join("__main__.py").exists();
        return if runs { Ok(()) } else { Err(RunProblem::ScriptIsFolder { path: shown }) };
    }
    // A pipe (`<(…)`) can be read once, by the rank.
    if !meta.is_file() {
        return Ok(());
    }
    let mut magic = [0; 4];
    let read = fs::File::open(path)
        .and_then(|mut file| file.read(&mut magic))
        .map_err(|error| RunProblem::ScriptNotReadable { path: shown.clone(), error: reason::of_io(&error) })?;
    if read == 4 && magic == *b"\x7fELF" { Err(RunProblem::ScriptIsProgram { path: shown }) } else { Ok(()) }
}

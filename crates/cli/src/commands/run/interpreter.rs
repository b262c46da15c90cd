//! What to execute: the interpreter, the script, the program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;
use super::machine::Machine;

/// Runs a script inside an interpreter that is already up, as torchrun's `--run-path` does.
const RUN_PATH: &str = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')";

/// The argv of a rank; `${local_rank}` in the script's arguments stays for the rank to fill in.
pub fn argv(flags: &RunFlags, machine: &Machine) -> Result<Vec<OsString>, RunProblem> {
    let (script, arguments) = flags.script.split_first().ok_or(RunProblem::NoScript)?;
    if flags.module && flags.no_python {
        return Err(RunProblem::ModuleWithoutPython);
    }
    let mut argv = if flags.run_path {
        run_path(script, machine)?
    } else if flags.no_python {
        vec![program(script, machine)?.into_os_string()]
    } else {
        let python = python(machine)?;
        let mut argv = vec![python.into_os_string(), "-u".into()];
        if flags.module {
            argv.push("-m".into());
        } else {
            check_script(Path::new(script))?;
        }
        argv.push(script.clone());
        argv
    };
    argv.extend(arguments.iter().cloned());
    Ok(argv)
}

fn run_path(script: &OsStr, machine: &Machine) -> Result<Vec<OsString>, RunProblem> {
    let path = Path::new(script);
    if !path.is_absolute() {
        return Err(RunProblem::RunPathWithoutFile { path: path.display().to_string() });
    }
    check_script(path)?;
    Ok(vec![python(machine)?.into_os_string(), "-u".into(), "-c".into(), RUN_PATH.into(), script.to_owned()])
}

/// PYTHON_EXEC, then the active virtual environment's, then `python` and `python3` on the PATH.
fn python(machine: &Machine) -> Result<PathBuf, RunProblem> {
    if let Some(named) = &machine.python_exec {
        return find(named, machine).ok_or_else(|| RunProblem::PythonNotFound { tried: named.display().to_string() });
    }
    let in_environment = machine.virtual_env.as_ref().map(|folder| folder.join("bin/python"));
    [in_environment, Some("python".into()), Some("python3".into())]
        .into_iter()
        .flatten()
        .find_map(|candidate| find(&candidate, machine))
        .ok_or_else(|| RunProblem::PythonNotFound { tried: "python, python3".to_owned() })
}

fn program(name: &OsStr, machine: &Machine) -> Result<PathBuf, RunProblem> {
    let path = Path::new(name);
    // The binary that is running need not be on the PATH to run its own trainer.
    if name == "fermi" && find(path, machine).is_none() {
        return Ok(machine.own_binary.clone());
    }
    if let Some(found) = find(path, machine) {
        return Ok(found);
    }
    let shown = path.display().to_string();
    Err(match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => RunProblem::ScriptIsFolder { path: shown },
        Ok(_) => RunProblem::ProgramNotExecutable { path: shown },
        Err(_) => RunProblem::ProgramNotFound { name: shown },
    })
}

/// As the shell does: a name with a slash is a path, any other is looked for on the PATH.
fn find(name: &Path, machine: &Machine) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return is_executable(name).then(|| name.to_owned());
    }
    std::env::split_paths(&machine.path).map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A script must be there, be readable, and not be a compiled program.
fn check_script(path: &Path) -> Result<(), RunProblem> {
    let shown = path.display().to_string();
    let meta = fs::metadata(path).map_err(|_| RunProblem::ScriptNotFound { path: shown.clone() })?;
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
        .map_err(|error| RunProblem::ScriptNotReadable { path: shown.clone(), error: error.to_string() })?;
    if read == 4 && magic == *b"\x7fELF" { Err(RunProblem::ScriptIsProgram { path: shown }) } else { Ok(()) }
}

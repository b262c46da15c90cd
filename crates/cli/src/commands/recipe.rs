//! `fermi recipe`: what a rank of a task that trains by a recipe runs. It writes the recipes that the binary carries, and
//! becomes the node's Python.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use fermi_attempt::recipes;
use fermi_domain::contract;
use fermi_domain::language::{Notice, Text, reason};

use super::run::state_folder;
use crate::{exit_code, speech};

#[derive(Debug, clap::Args)]
pub struct RecipeFlags {
    python: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub fn execute(flags: &RecipeFlags) -> ExitCode {
    let failed = become_python(&flags.python, &flags.words);
    speech::complain(&failed);
    ExitCode::from(exit_code::USAGE)
}

/// Becomes a Python with the recipes; returns only if that cannot be.
pub fn become_python(python: &Path, words: &[OsString]) -> Notice {
    let folder = match folder() {
        Ok(folder) => folder,
        Err(notice) => return notice,
    };
    let mut command = Command::new(python);
    if let Ok(own) = std::env::current_exe() {
        command.env(contract::FERMI_BIN, own);
    }
    let error = command.arg("-u").arg(folder).args(words).exec();
    let (why, python) = (reason::of_io(&error), python.display());
    Notice::new(
        "python_not_started",
        Text::new(format!("无法启动 {python}：{}", why.zh), format!("cannot start {python}: {}", why.en)),
        Text::new("检查该 Python 是否可执行", "see whether this Python can be executed"),
    )
}

/// Where the recipes lie, as Python can run them.
pub fn folder() -> Result<PathBuf, Notice> {
    let state = state_folder::here().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    let written = state.and_then(|state| {
        if state.is_temporary {
            state_folder::make_private(&state.path)?;
        }
        recipes::write_below(&state.path)
    });
    written.map_err(|error| {
        let why = reason::of_io(&error);
        Notice::new(
            "recipes_not_written",
            Text::new(format!("无法写出训练配方：{}", why.zh), format!("cannot write the recipes: {}", why.en)),
            Text::new("用 FERMI_STATE_DIR 指定一个可写的目录", "name a folder that can be written by FERMI_STATE_DIR"),
        )
    })
}

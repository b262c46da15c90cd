//! The hidden command by which `fermi` becomes the warden and supervisor of a run.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use fermi_attempt::launcher;
use fermi_domain::language::{Notice, Text, reason};

use crate::{exit_code, speech};

pub fn execute() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    match launcher::supervise(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let why = reason::of_io(cause(&error));
            speech::complain(&Notice::new(
                "supervisor_ended",
                Text::new(
                    format!("这次运行的 supervisor 无法工作：{}", why.zh),
                    format!("the supervisor of this run cannot work: {}", why.en),
                ),
                Text::new("用 fermi doctor 检查这台机器", "look at this machine with fermi doctor"),
            ));
            ExitCode::from(exit_code::FAILED)
        }
    }
}

/// What the system has said, at the bottom of an error.
fn cause(error: &io::Error) -> &io::Error {
    let inner = error.get_ref().and_then(|inner| inner.source()?.downcast_ref::<io::Error>());
    inner.map_or(error, cause)
}

//! `fermi man --out DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use fermi_domain::language::{Notice, Text, reason};

use crate::{exit_code, speech};

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
pub struct ManFlags {
    /// Where to write fermi.1, fermi-run.1 …
    #[arg(long, value_name = "DIR", default_value = "man")]
    out: PathBuf,
}

pub fn execute(flags: &ManFlags) -> ExitCode {
    let written =
        std::fs::create_dir_all(&flags.out).and_then(|()| clap_mangen::generate_to(super::Cli::command(), &flags.out));
    match written {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let (folder, why) = (flags.out.display(), reason::of_io(&error));
            speech::complain(&Notice::new(
                "man_not_written",
                Text::new(format!("无法写入 {folder}：{}", why.zh), format!("cannot write to {folder}: {}", why.en)),
                Text::new("用 --out 指定可写的文件夹", "name a folder you may write to with --out"),
            ));
            ExitCode::from(exit_code::USAGE)
        }
    }
}

//! `fermi doctor`: looks at this machine, with `--nnodes` or `--nodes` at the wire between machines, and says what would
//! hinder a training.
//!
//! The looking and the judging are `fermi-doctor`'s; [`printing`] shows findings, [`matrix`] who reaches whom how well.
//! [`nodes`] needs no server, [`environments`] asks one, and [`part`] is what agents start for that.

mod environments;
mod hang;
mod matrix;
mod nodes;
pub mod part;
mod printing;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use fermi_doctor::look::{self, LookOptions};
use fermi_doctor::{Counts, check};
use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightEngine;
use serde_json::json;

use self::printing::View;
use crate::connection::ServerFlags;
use crate::{exit_code, speech};

pub const NAME: &str = "doctor";

const SEVERAL: &str = "Several machines";
const THROUGH_SERVER: &str = "Environments of a server";

/// Check this machine for training, or several at once: what is wrong comes with its evidence and its fix
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: fermi doctor --nodes gn6,gn7   (environments of a server)\n          fermi doctor --nnodes 4 --node-rank 0 --master-addr 10.0.0.1   (without one, on each machine with its own rank)"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DoctorFlags {
    #[command(subcommand)]
    about: Option<About>,
    /// The folder whose disk is tried, such as that of checkpoints
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Also list the devices of this engine; several machines add by its own means as well
    #[arg(long, value_name = "NAME")]
    engine: Option<EngineAsked>,
    /// The Python to ask for torch, DeepSpeed and JAX [default: the one that fermi run takes]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Do not ask Python
    #[arg(long, conflicts_with_all = ["engine", "python"])]
    no_python: bool,
    /// The port at which ranks meet [default: MASTER_PORT, else 29500]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    master_port: Option<u16>,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
    /// How many machines are checked together; start the same command on each
    #[arg(long, value_name = "N", default_value_t = 1, alias = "num-nodes", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = SEVERAL)]
    nnodes: u32,
    /// Which of them this is, from 0; 0 says what was found
    #[arg(long, value_name = "R", default_value_t = 0, help_heading = SEVERAL)]
    node_rank: u32,
    /// Where the others find node 0 [default: MASTER_ADDR]
    #[arg(long, value_name = "HOST", help_heading = SEVERAL)]
    master_addr: Option<String>,
    /// How long machines wait for each other
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600), help_heading = SEVERAL)]
    join_timeout: u64,
    /// A folder that all shall have, such as that of a data set: is it the same everywhere?
    #[arg(long, value_name = "DIR", help_heading = SEVERAL)]
    path: Option<PathBuf>,
    /// Check these environments of a server together, by name or id, with commas: their agents do it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["nnodes", "node_rank", "master_addr", "join_timeout", "folder", "python"], help_heading = THROUGH_SERVER)]
    nodes: Vec<String>,
    #[command(flatten, next_help_heading = THROUGH_SERVER)]
    server: ServerFlags,
}

/// What else is looked at.
#[derive(Debug, Subcommand)]
enum About {
    Hang(hang::HangFlags),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineAsked {
    Torch,
    Jax,
}

impl EngineAsked {
    fn engine(self) -> PreflightEngine {
        match self {
            Self::Torch => PreflightEngine::Torch,
            Self::Jax => PreflightEngine::Jax,
        }
    }
}

pub fn execute(flags: &DoctorFlags) -> ExitCode {
    if let Some(About::Hang(flags)) = &flags.about {
        return hang::execute(flags);
    }
    if !flags.nodes.is_empty() {
        return environments::execute(flags);
    }
    if flags.nnodes > 1 {
        return nodes::execute(flags);
    }
    if flags.path.is_some() {
        let text = Text::new("--path 比较多台机器上的文件夹", "--path compares a folder of several machines");
        let hint = Text::new(
            "加上 --nnodes 或 --nodes；只看本机的磁盘用 --folder",
            "add --nnodes or --nodes; the disk of this machine alone is --folder",
        );
        return nodes::refuse("path", text, hint);
    }
    alone(flags)
}

fn alone(flags: &DoctorFlags) -> ExitCode {
    let start = Instant::now();
    let facts = look::machine(&options(flags, look::PYTHON));
    let findings = check::machine(&facts);
    let counts = Counts::of(&findings);
    let seconds = start.elapsed().as_secs_f64();
    if flags.json {
        let is_ok = counts.errors == 0;
        speech::print_json(
            &json!({"v": 1, "ok": is_ok, "host": facts.host, "fermi": facts.fermi, "seconds": seconds, "counts": counts, "findings": findings, "facts": facts}),
        );
    } else {
        let view = View::for_stdout();
        speech::print(&view.findings(&facts.host, &findings));
        speech::print(&view.summary(counts, seconds));
    }
    code(counts.errors)
}

fn options(flags: &DoctorFlags, patience: Duration) -> LookOptions {
    LookOptions {
        // By its name alone: what hangs is looked at with a deadline.
        folder: std::path::absolute(&flags.folder).unwrap_or_else(|_| flags.folder.clone()),
        python: flags.python.clone(),
        port: look::port(flags.master_port),
        lists: flags.engine.map(EngineAsked::engine),
        python_patience: (!flags.no_python).then_some(patience),
    }
}

fn code(errors: usize) -> ExitCode {
    ExitCode::from(if errors == 0 { exit_code::DONE } else { exit_code::FAILED })
}

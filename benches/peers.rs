//! The competitors: how each is told to start the same Python script in n processes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::before::Edition;
use crate::lab::{Lab, Trouble, on_path};

/// A way to start n ranks.
#[derive(Clone, Debug)]
pub enum Peer {
    /// n processes started directly: what no launcher can beat.
    Bare,
    Fermi(Edition),
    /// All ranks on our standard output, line by line.
    FermiTee,
    Mpirun(PathBuf),
    Torchrun(PathBuf),
    Deepspeed(PathBuf),
}

/// One that cannot take part, and why.
#[derive(Clone, Debug)]
pub struct LeftOut {
    pub name: &'static str,
    pub why: &'static str,
}

impl Peer {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare processes",
            Self::Fermi(Edition::Now) => "fermi run",
            Self::Fermi(Edition::Before) => "fermi run, before",
            Self::FermiTee => "fermi run --tee 3",
            Self::Mpirun(_) => "mpirun",
            Self::Torchrun(_) => "torchrun",
            Self::Deepspeed(_) => "deepspeed",
        }
    }

    /// Whether every rank's standard output appears on the launcher's.
    pub fn shows_all_ranks(&self) -> bool {
        !matches!(self, Self::Fermi(_))
    }

    /// The processes to spawn: one launcher, or the ranks themselves.
    pub fn commands(&self, lab: &Lab, ranks: u32, script: &Path) -> Result<Vec<Command>, Trouble> {
        let python = lab.python()?;
        let count = ranks.to_string();
        Ok(match self {
            Self::Bare => (0..ranks)
                .map(|rank| {
                    let mut command = Command::new(python);
                    command.arg("-u").arg(script).env("RANK", rank.to_string());
                    command
                })
                .collect(),
            Self::Fermi(edition) => vec![with(lab.fermi_run_of(*edition), &["-n", &count], script)],
            Self::FermiTee => vec![with(lab.fermi_run(), &["-n", &count, "--tee", "3"], script)],
            Self::Mpirun(program) => {
                let mut command = Command::new(program);
                command.args(["--allow-run-as-root", "--oversubscribe", "-np", &count]);
                command.arg(python).arg("-u").arg(script);
                vec![command]
            }
            Self::Torchrun(program) => vec![with(Command::new(program), &["--nproc-per-node", &count], script)],
            Self::Deepspeed(program) => {
                let mut command = with(Command::new(program), &["--num_gpus", &count], script);
                // It calls programs of its own installation by name.
                command.env("PATH", path_with(program)).env("DS_ACCELERATOR", "cpu");
                vec![command]
            }
        })
    }
}

fn with(mut command: Command, options: &[&str], script: &Path) -> Command {
    command.args(options).arg(script);
    command
}

fn path_with(program: &Path) -> String {
    let own = program.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    format!("{own}:{}", std::env::var("PATH").unwrap_or_default())
}

/// Those that are installed, and those that are not.
pub fn present(lab: &Lab) -> (Vec<Peer>, Vec<LeftOut>) {
    let mut peers = vec![Peer::Bare, Peer::FermiTee];
    peers.splice(1..1, lab.editions().iter().map(|edition| Peer::Fermi(*edition)));
    let mut left_out = Vec::new();
    let mut take = |name, found: Option<Peer>| match found {
        Some(peer) => peers.push(peer),
        None => left_out.push(LeftOut { name, why: "not installed" }),
    };
    take("mpirun", on_path("mpirun").map(Peer::Mpirun));
    take("torchrun", lab.beside_python("torchrun").map(Peer::Torchrun));
    take("deepspeed", lab.beside_python("deepspeed").map(Peer::Deepspeed));
    left_out.push(LeftOut { name: "accelerate", why: "without a GPU and a host file it starts one process only" });
    (peers, left_out)
}

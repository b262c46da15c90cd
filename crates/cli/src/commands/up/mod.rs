//! `fermi up`: a server and its environments on this machine, as processes of their own, until Ctrl-C.
//!
//! [`cluster`] starts them, keeps them alive and ends them in order; [`child`] is one of them; [`subreaper`] looks after
//! the orphans that return to this process.

pub mod child;
pub mod cluster;
pub mod subreaper;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use fermi_domain::access::RunAs;
use fermi_domain::environment::{self, EnvironmentKind, LONGEST_NAME};
use fermi_domain::language::Text;
use fermi_process::no_dump;

use super::agent::{host_name, parse_kind, parse_run_as};
use super::server::{console_link, no_folder};
use super::usage::Expected;
use crate::connection::{self, CommandProblem, Outcome};
use crate::speech::{self, Paint, pick};
use crate::{exit_code, signals};
use cluster::{Cluster, ClusterOptions, Ending};

/// Start a server and environments on this machine and stay; Ctrl-C ends all of it
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: fermi up --env pytorch-dev-env:北京可用区A:2 --env llm-training-env:深圳可用区C:2")]
pub struct UpFlags {
    /// Where the server listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    listen: String,
    /// Where everything is kept [default: the state folder's up/]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// NAME:ZONE:WORKERS, and a kind behind it if it is not custom [default: one, named after this host]
    #[arg(long = "env", value_name = "ENV", value_parser = parse_environment)]
    envs: Vec<EnvironmentSpec>,
    /// Leave ranks running when this command ends; the next `fermi up` on the same folder takes them over
    #[arg(long)]
    keep_running: bool,
    /// Ask for no token: every user of this machine may run programs here
    #[arg(long)]
    no_token: bool,
    /// As whom ranks run, where this is root: as `fermi agent --run-as` says
    #[arg(long, value_name = "WHO", value_parser = parse_run_as)]
    run_as: Option<RunAs>,
    /// The server's address as JSON once everything is up
    #[arg(long)]
    json: bool,
}

/// An environment to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentSpec {
    pub name: String,
    pub zone: String,
    pub workers: u32,
    pub kind: EnvironmentKind,
}

pub fn execute(flags: &UpFlags) -> ExitCode {
    connection::answer(run(flags))
}

fn run(flags: &UpFlags) -> Outcome {
    let folder = match &flags.data_dir {
        Some(folder) => folder.clone(),
        None => connection::state_folder().ok_or_else(no_folder)?.join("up"),
    };
    let environments = if flags.envs.is_empty() { vec![this_machine()] } else { flags.envs.clone() };
    if let Some(name) = named_twice(&environments) {
        return Err(CommandProblem::usage(
            Text::new(format!("--env 两次写了 {name}"), format!("--env names {name} twice")),
            Text::new(
                "每个开发环境用自己的名称；Worker 数写在末尾，例如 gn6:北京可用区A:4",
                "give each environment a name of its own; its workers are counted last, such as gn6:zone-a:4",
            ),
        ));
    }
    no_dump::set();
    signals::listen();
    subreaper::adopt_orphans();
    let options = ClusterOptions {
        listen: flags.listen.clone(),
        folder,
        environments,
        no_token: flags.no_token,
        run_as: flags.run_as.clone(),
    };
    let mut cluster = Cluster::start(&options)?;
    let paint = Paint::for_stderr();
    if flags.json {
        speech::print(&format!(
            "{}\n",
            serde_json::json!({"server": cluster.server().to_string(), "dataDir": options.folder})
        ));
    }
    cluster.until_connected(|line| speech::say(&format!("{line}\n")))?;
    speech::say(&format!(
        "\n{} {}\n{} {}\n\n",
        paint.dim(pick("控制台", "console")),
        paint.bold(&console_link(&format!("{}/", cluster.server()), cluster.token().as_deref())),
        paint.dim(pick("  结束", "   end")),
        "Ctrl-C"
    ));
    while signals::heard() == 0 {
        cluster.look_after(|line| speech::say(&format!("{line}\n")))?;
    }
    speech::say("\n");
    let ending = if flags.keep_running { Ending::KeepRunning } else { Ending::StopTasks };
    let is_clean = cluster.end(ending, |line| speech::say(&format!("{line}\n")));
    Ok(if is_clean { exit_code::of_signal(signals::last()) } else { ExitCode::from(exit_code::FAILED) })
}

/// One worker for each GPU, or two.
fn this_machine() -> EnvironmentSpec {
    let gpus = u32::try_from(fermi_hardware::gpu::count()).unwrap_or(0);
    EnvironmentSpec {
        name: host_name(),
        zone: pick("本机", "here").to_owned(),
        workers: if gpus == 0 { 2 } else { gpus },
        kind: EnvironmentKind::Custom,
    }
}

/// The first name that stands there once more: two agents cannot share it, nor their folder.
fn named_twice(environments: &[EnvironmentSpec]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    environments.iter().map(|spec| spec.name.as_str()).find(|name| !seen.insert(*name))
}

/// `NAME:ZONE:WORKERS[:KIND]`.
fn parse_environment(text: &str) -> Result<EnvironmentSpec, Expected> {
    let hint = || {
        Expected(Text::new(
            "写成 名称:可用区:数量，例如 gn6:北京可用区A:2",
            "write NAME:ZONE:WORKERS, such as gn6:zone-a:2",
        ))
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (name, zone, workers, kind) = match parts[..] {
        [name, zone, workers] => (name, zone, workers, EnvironmentKind::Custom),
        [name, zone, workers, kind] => (name, zone, workers, parse_kind(kind)?),
        _ => return Err(hint()),
    };
    let workers = workers.parse().ok().filter(|workers| (1..=4096).contains(workers)).ok_or_else(hint)?;
    if name.trim().is_empty() || zone.trim().is_empty() {
        return Err(hint());
    }
    // The server would refuse it again and again, and the name is a folder's before.
    if !environment::is_name(name.trim()) {
        return Err(Expected(Text::new(
            format!("名称只能用字母、数字、- _ .，至多 {LONGEST_NAME} 个字符，且不以 . 或 - 开头"),
            format!(
                "in the name use letters, digits, - _ and ., at most {LONGEST_NAME}, and begin with neither . nor -"
            ),
        )));
    }
    Ok(EnvironmentSpec { name: name.trim().to_owned(), zone: zone.trim().to_owned(), workers, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_name_zone_and_workers() {
        let spec = parse_environment("gn6:北京可用区A:2:jupyter").unwrap();
        assert_eq!((spec.name.as_str(), spec.zone.as_str(), spec.workers), ("gn6", "北京可用区A", 2));
        assert_eq!(spec.kind, EnvironmentKind::Jupyter);
        for text in ["", "gn6", "gn6:z", "gn6:z:0", "gn6:z:x", ":z:1", "gn6::1", "gn6:z:1:web", "gn6:z:1:ssh:x"] {
            assert!(parse_environment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_environment_has_a_name_that_the_server_takes_and_of_its_own() {
        for name in ["a/b", "../gn6", "-gn6", ".gn6", "gn 6", "n".repeat(64).as_str()] {
            assert!(parse_environment(&format!("{name}:z:1")).is_err(), "{name}");
        }
        let specs = |texts: &[&str]| texts.iter().map(|text| parse_environment(text).unwrap()).collect::<Vec<_>>();
        assert_eq!(named_twice(&specs(&["甲:z:1", "gn7:z:1"])), None);
        assert_eq!(named_twice(&specs(&["gn6:z:1", "gn7:z:1", " gn6:y:2"])), Some("gn6"));
    }
}

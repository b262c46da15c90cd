//! `fermi setup-cluster`: looks whether this node could take part in a run, writes `cluster_config.yaml`, and prints
//! environment and command for each node.
//!
//! [`layout`] decides from the flags, [`probe`] looks at names and ports, [`printing`] writes the file and the instructions.

mod layout;
mod printing;
mod probe;

use std::path::PathBuf;
use std::process::ExitCode;

use fermi_domain::language::Language;
use fermi_domain::language::reason;
use fermi_domain::messages::setup_cluster::{Finding, SetupProblem};
use serde_json::json;

use crate::{exit_code, speech};

pub const NAME: &str = "setup-cluster";

/// Check this node for a run on several machines, write cluster_config.yaml, print what to start where
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Example: fermi setup-cluster --master-addr 10.0.0.1 --master-port 29500 --world-size 8 --nnodes 2 --node-rank 0"
)]
pub struct SetupFlags {
    /// Address of the node that has rank 0
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    master_addr: String,
    /// The one port at which the nodes meet
    #[arg(long, value_name = "PORT", default_value_t = 29_500, value_parser = clap::value_parser!(u16).range(1..))]
    master_port: u16,
    /// All processes of the run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    world_size: u32,
    /// Which node this is, from 0
    #[arg(long, value_name = "R", default_value_t = 0)]
    node_rank: u32,
    /// Number of nodes [default: world size by processes per node, else 1]
    #[arg(long, value_name = "N", alias = "num-nodes", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nnodes: Option<u32>,
    /// Processes on each node [default: the world shared out]
    #[arg(long, value_name = "N", alias = "num-gpus", value_parser = clap::value_parser!(u32).range(1..=4096))]
    nproc_per_node: Option<u32>,
    /// nccl for GPUs, gloo for CPUs
    #[arg(long, value_name = "NAME", default_value = "nccl")]
    backend: String,
    /// Seconds to wait for the master's answer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Where to write
    #[arg(long, value_name = "FILE", default_value = "cluster_config.yaml")]
    out: PathBuf,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn execute(flags: &SetupFlags) -> ExitCode {
    match set_up(flags) {
        Ok(code) => code,
        Err(problem) => {
            speech::complain(&problem);
            ExitCode::from(exit_code::USAGE)
        }
    }
}

fn set_up(flags: &SetupFlags) -> Result<ExitCode, SetupProblem> {
    let cluster = layout::decide(flags)?;
    let findings = probe::look(&cluster, flags.node_rank, std::time::Duration::from_secs(flags.timeout));
    let is_good = findings.iter().all(Finding::is_good);
    // A file that says how to start what cannot start would only mislead.
    if is_good {
        std::fs::write(&flags.out, printing::yaml(&cluster, flags.node_rank, speech::language())).map_err(|error| {
            SetupProblem::NotWritable { path: flags.out.display().to_string(), error: reason::of_io(&error) }
        })?;
    }
    if flags.json {
        tell_as_json(flags, &cluster, &findings, is_good);
    } else {
        tell(flags, &cluster, &findings, is_good);
    }
    Ok(ExitCode::from(if is_good { exit_code::DONE } else { exit_code::FAILED }))
}

fn tell_as_json(flags: &SetupFlags, cluster: &layout::Cluster, findings: &[Finding], is_good: bool) {
    let checks: Vec<_> = findings
        .iter()
        .map(|finding| json!({"check": finding.check(), "ok": finding.is_good(), "text": finding.text()}))
        .collect();
    let nodes: Vec<_> = cluster
        .nodes
        .iter()
        .map(|node| {
            let env: serde_json::Map<_, _> =
                printing::environment(cluster, node).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            json!({"nodeRank": node.rank, "firstRank": node.first_rank, "processes": node.processes, "env": env, "command": printing::command(cluster, node)})
        })
        .collect();
    let file = is_good.then(|| flags.out.display().to_string());
    speech::print(&format!("{}\n", json!({"v": 1, "ok": is_good, "checks": checks, "file": file, "nodes": nodes})));
}

fn tell(flags: &SetupFlags, cluster: &layout::Cluster, findings: &[Finding], is_good: bool) {
    let language = speech::language();
    for finding in findings {
        let sign = if finding.is_good() { "✓" } else { "✗" };
        speech::say(&format!("{sign} {}\n", finding.text().in_language(language)));
    }
    if !is_good {
        return;
    }
    let wrote = match language {
        Language::ZhCn => format!("✓ 已写入 {}\n", flags.out.display()),
        Language::En => format!("✓ wrote {}\n", flags.out.display()),
    };
    speech::say(&wrote);
    speech::print(&printing::instructions(cluster, flags.node_rank, language));
}

//! `fermi group create`.

use fermi_api::v1::{CreateGroup, GroupConfig};
use fermi_domain::group::{Backend, DEFAULT_PORT};

use super::change::backend;
use crate::connection::{AskFlags, Outcome};

/// Make a group, with workers or without
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi group create llm --master gn6 gn6-0 gn39-0 gn40-0 gn7-0")]
pub struct CreateFlags {
    /// Its name
    name: String,
    /// Workers that it shall have, such as gn6-0; each leaves the group in which it was
    #[arg(value_name = "WORKER")]
    workers: Vec<String>,
    /// The name of the master node, such as gn6
    #[arg(long, value_name = "NODE", alias = "master-addr")]
    master: Option<String>,
    /// How many processes; the workers beyond it stand by [default: all workers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    world_size: Option<u32>,
    /// The master's port
    #[arg(long, value_name = "PORT", alias = "master-port", default_value_t = DEFAULT_PORT,
        value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// nccl, gloo or mpi
    #[arg(long, value_name = "NAME", default_value = "nccl", value_parser = backend)]
    backend: Backend,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let request = CreateGroup {
        name: flags.name.clone(),
        config: GroupConfig {
            master_addr: flags.master.clone(),
            world_size: flags.world_size,
            master_port: flags.port,
            backend: flags.backend,
        },
        workers: flags.workers.clone(),
    };
    let made = flags.ask.connect()?.create_group(&request)?;
    flags.ask.made(&made, &made.data.id)
}

//! `fermi group rename` and `fermi group config`.

use fermi_api::v1::{ChangeGroup, Group, GroupConfigChange};
use fermi_domain::group::Backend;
use fermi_domain::language::Text;

use super::{find, show};
use crate::commands::usage::Expected;
use crate::connection::{AskFlags, Outcome};
use crate::speech;

/// Give a group another name
#[derive(Debug, clap::Args)]
pub struct RenameFlags {
    /// Its name or id
    group: String,
    /// The new name
    name: String,
    #[command(flatten)]
    ask: AskFlags,
}

/// Change how a group is launched, or show it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi group config llm --master gn6 --world-size 4")]
pub struct ConfigFlags {
    /// Its name or id
    group: String,
    /// The name of the master node, such as gn6; none takes it away
    #[arg(long, value_name = "NODE", alias = "master-addr")]
    master: Option<String>,
    /// How many processes, or all for every worker
    #[arg(long, value_name = "N", value_parser = world_size)]
    world_size: Option<WorldSize>,
    /// The master's port; of 29500, the first free one from it on is taken
    #[arg(long, value_name = "PORT", alias = "master-port", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// nccl, gloo or mpi
    #[arg(long, value_name = "NAME", value_parser = backend)]
    backend: Option<Backend>,
    #[command(flatten)]
    ask: AskFlags,
}

#[derive(Clone, Copy, Debug)]
enum WorldSize {
    All,
    Of(u32),
}

fn world_size(text: &str) -> Result<WorldSize, Expected> {
    let number = || text.parse().ok().filter(|number| *number > 0).map(WorldSize::Of);
    let found = if text == "all" { Some(WorldSize::All) } else { number() };
    found.ok_or(Expected(Text::new("需要正整数或 all", "a positive number or all is needed")))
}

pub fn backend(text: &str) -> Result<Backend, Expected> {
    let known = [Backend::Nccl, Backend::Gloo, Backend::Mpi];
    known
        .into_iter()
        .find(|backend| backend.as_str().eq_ignore_ascii_case(text))
        .ok_or(Expected(Text::new("可用 nccl、gloo、mpi", "use nccl, gloo or mpi")))
}

pub fn rename(flags: &RenameFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let group = find(&client, &flags.group)?;
    let change = ChangeGroup { name: Some(flags.name.clone()), ..ChangeGroup::default() };
    flags.ask.done(&client.change_group(&group.id, &change)?)
}

pub fn configure(flags: &ConfigFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let group = find(&client, &flags.group)?;
    let config = GroupConfigChange {
        master_addr: flags.master.as_ref().map(|master| Some(master.clone()).filter(|master| master != "none")),
        world_size: flags.world_size.map(|world_size| match world_size {
            WorldSize::All => None,
            WorldSize::Of(number) => Some(number),
        }),
        master_port: flags.port.map(Some),
        backend: flags.backend.map(Some),
    };
    if config == GroupConfigChange::default() {
        return flags.ask.show(&client.group(&group.id)?, |group: &Group, paint| show::configuration(group, paint));
    }
    // Somebody else's change is not overwritten unseen.
    let change = ChangeGroup { config, version: Some(group.version), ..ChangeGroup::default() };
    let answer = client.change_group(&group.id, &change)?;
    if flags.ask.printed(&answer) {
        return Ok(std::process::ExitCode::SUCCESS);
    }
    speech::say(&format!("{}\n", answer.message));
    flags.ask.show(&answer, |group: &Group, paint| {
        format!("{}{}", show::configuration(group, paint), show::failures(&group.checks, paint))
    })
}

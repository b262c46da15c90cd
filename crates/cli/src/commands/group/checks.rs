//! `fermi group check`.

use std::process::ExitCode;

use fermi_domain::group::CheckState;

use super::{find, show};
use crate::connection::{AskFlags, Outcome};
use crate::exit_code;

/// Ask the nodes of a group whether they find and reach their master, and see what else would go wrong
#[derive(Debug, clap::Args)]
pub struct CheckFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &CheckFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.check_group(&find(&client, &flags.group)?.id)?;
    flags.ask.show(&answer, |page, paint| show::checks(&page.items, paint))?;
    let has_failed = answer.data.items.iter().any(|check| check.state == CheckState::Failed);
    Ok(if has_failed { ExitCode::from(exit_code::FAILED) } else { ExitCode::SUCCESS })
}

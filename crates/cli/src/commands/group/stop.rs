//! `fermi group stop`.

use fermi_api::v1::BulkAnswer;

use super::find;
use crate::commands::task::stop::HowFlags;
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, pick};

/// Stop the tasks of a group: SIGTERM, a grace, then SIGKILL, on all nodes
#[derive(Debug, clap::Args)]
pub struct StopFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    how: HowFlags,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &StopFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let group = find(&client, &flags.group)?;
    let answer = client.stop_group(&group.id, &flags.how.request())?;
    let BulkAnswer { results, .. } = &answer.data;
    if !flags.ask.printed(&answer) {
        for result in results {
            speech::say(&format!("{}: {}\n", result.id, result.message));
        }
        if results.is_empty() {
            speech::say(pick("该分组没有未结束的任务\n", "the group has no task that is not over\n"));
        }
    }
    flags.how.wait(&client, results.iter().map(|result| &result.id))
}

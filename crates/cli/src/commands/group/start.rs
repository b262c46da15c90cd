//! `fermi group start`.

use fermi_api::v1::StartGroup;
use fermi_domain::group::CheckState;

use super::{find, ranks, show};
use crate::commands::task::stay::StayFlags;
use crate::commands::task::work::{Sending, WorkFlags};
use crate::connection::{Outcome, ServerFlags};
use crate::speech::{self, Paint};

/// Start a command on the ranks of a group: a task, after all checks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi group start llm --follow -- train.py --epochs 3")]
pub struct StartFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    server: ServerFlags,
    /// The task's name [default: the group's]
    #[arg(long, short)]
    name: Option<String>,
    #[command(flatten)]
    stay: StayFlags,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    work: WorkFlags,
}

pub fn execute(flags: &StartFlags) -> Outcome {
    let client = flags.server.connect()?;
    let group = find(&client, &flags.group)?;
    let engine = flags.work.engine()?;
    let framework = engine.framework.map(|framework| framework.as_str().to_owned());
    let strategy = engine.strategy(group.world_size.unwrap_or(0));
    let asked = flags.work.request(&client, Sending::Send, engine.options)?;
    let request = StartGroup {
        command: asked.command,
        recipe: asked.recipe,
        task_name: flags.name.clone(),
        framework,
        strategy,
        dataset_id: asked.dataset_id,
        dataset_version_id: asked.dataset_version_id,
        model_id: asked.model_id,
        source: asked.source,
        options: asked.options,
        policies: asked.policies,
        priority: asked.priority,
        labels: asked.labels,
    };
    let answer = client.start_group(&group.id, &request)?;
    let created = &answer.data.created;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        let paint = Paint::for_stderr();
        speech::say(&format!("{} {}\n", paint.green("✓"), paint.bold(&answer.message)));
        let told: Vec<_> =
            answer.data.checks.iter().filter(|check| check.state != CheckState::Passed).cloned().collect();
        speech::say(&show::checks(&told, paint));
        speech::say(&ranks::render(&answer.data.ranks, paint));
        for warning in &created.warnings {
            speech::say(&format!("  {} {}\n", paint.yellow("!"), warning.message));
        }
        speech::print(&format!("{}\n", created.task_id));
    }
    flags.stay.with(&client, &created.task_id)
}

//! `fermi group show`.

use fermi_api::v1::{Check, Group};
use fermi_domain::group::CheckState;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, Paint, pick};
use crate::{span, table};

/// Show a group: its configuration, its workers, its tasks, and what would go wrong
#[derive(Debug, clap::Args)]
pub struct ShowFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ShowFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.group(&find(&client, &flags.group)?.id)?;
    flags.ask.show(&answer, |group: &Group, paint| {
        let mut out = format!("{}\n\n{}", paint.bold(&group.name), configuration(group, paint));
        if !group.tasks.is_empty() {
            out.push_str(&format!("\n  {}\n", pick("任务", "tasks")));
            for task in &group.tasks {
                let status = task.status_text.in_language(speech::language());
                out.push_str(&format!("  {}  {}  {status}\n", task.id, task.name));
            }
        }
        if !group.checks.is_empty() {
            out.push_str(&format!("\n  {}\n{}", pick("检查", "checks"), checks(&group.checks, paint)));
        }
        out
    })
}

/// How a group is launched, line by line.
pub fn configuration(group: &Group, paint: Paint) -> String {
    let named = !group.is_default;
    let config = &group.config;
    let or_all = config.world_size.map_or_else(
        || pick("全部 Worker", "all workers").to_owned(),
        |world| {
            let standby = group.standby;
            if standby == 0 { world.to_string() } else { format!("{world} ({} {standby})", pick("待命", "standby")) }
        },
    );
    table::facts(
        [
            ("ID", Some(group.id.clone())),
            ("Worker", Some(format!("{}  {}", group.workers.len(), table::cut(&group.workers.join(" "), 72)))),
            (
                pick("Master 地址", "master address"),
                named.then(|| config.master_addr.clone().unwrap_or("-".to_owned())),
            ),
            ("World Size", named.then_some(or_all)),
            (pick("Master 端口", "master port"), named.then(|| config.master_port.to_string())),
            (pick("后端", "backend"), named.then(|| config.backend.as_str().to_owned())),
            (pick("版本", "version"), named.then(|| group.version.to_string())),
            (pick("修改", "changed"), named.then(|| span::ago(group.updated_at))),
        ],
        paint,
    )
}

/// One line each, with what to do below those that need it.
pub fn checks(checks: &[Check], paint: Paint) -> String {
    let language = speech::language();
    let line = |check: &Check| {
        let sign = match check.state {
            CheckState::Passed => paint.green("✓"),
            CheckState::Warning => paint.yellow("!"),
            CheckState::Failed => paint.red("✗"),
            CheckState::Unknown => paint.dim("?"),
        };
        let hint = check.hint.as_ref().filter(|_| check.state != CheckState::Passed);
        let hint = hint.map(|hint| format!("    {}\n", paint.dim(hint.in_language(language)))).unwrap_or_default();
        format!("  {sign} {}\n{hint}", check.text.in_language(language))
    };
    checks.iter().map(line).collect()
}

/// Only those that keep the group from starting.
pub fn failures(all: &[Check], paint: Paint) -> String {
    let failed: Vec<Check> = all.iter().filter(|check| check.state == CheckState::Failed).cloned().collect();
    if failed.is_empty() { String::new() } else { format!("\n{}", checks(&failed, paint)) }
}

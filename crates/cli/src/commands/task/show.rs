//! `fermi task show`.

use fermi_api::v1::{Progress, Task};

use super::{find, ledger, verdict};
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{self, Cell, Table};

/// Show one task: where it stands, how far it is, its attempts
#[derive(Debug, clap::Args)]
pub struct ShowFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ShowFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.task(&find::id(&client, &flags.task)?)?;
    flags.ask.show(&answer, render)
}

fn render(task: &Task, paint: Paint) -> String {
    let language = speech::language();
    let row = &task.row;
    let status = super::colour(row.status).paint(paint, row.status_text.in_language(language));
    let mut out = format!("{}  [{status}]\n\n", paint.bold(&row.name));
    let nodes: Vec<String> = task.nodes.iter().map(|node| node.name.clone()).collect();
    let nodes = if nodes.is_empty() { row.environments.clone() } else { nodes };
    let end = row.ended_at.unwrap_or_else(span::now_ms);
    let labels: Vec<String> = row.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    out.push_str(&table::facts(
        [
            ("ID", Some(row.id.clone())),
            (pick("原因", "reason"), row.reason.as_ref().map(|text| text.in_language(language).to_owned())),
            (pick("框架", "framework"), row.framework.map(|framework| framework.as_str().to_owned())),
            (pick("节点", "nodes"), Some(nodes.join(", "))),
            (pick("进程", "ranks"), (row.world_size > 0).then(|| row.world_size.to_string())),
            (pick("网卡", "interface"), interfaces(task.nodes.iter().map(|it| (&it.name, &it.interface)))),
            (pick("主端口", "port"), task.master_port.map(|port| port.to_string())),
            (pick("进度", "progress"), task.progress.as_ref().map(progress)),
            (pick("优先级", "priority"), Some(row.priority.to_string())),
            (pick("时限", "time limit"), Some(time_limit(task))),
            (pick("重启", "restarts"), Some(format!("{}/{}", row.restarts_used, task.max_restarts))),
            (pick("创建", "created"), Some(span::ago(row.created_at))),
            (pick("用时", "time"), row.started_at.map(|start| span::long(end.saturating_sub(start)))),
            (
                pick("时间去向", "time spent"),
                task.course.ledger.as_ref().map(|spent| ledger::bar(spent, language, paint)),
            ),
            (pick("卡住", "hangs"), task.course.hang.as_ref().map(|hang| hang.text.in_language(language).to_owned())),
            (
                pick("等待", "waits"),
                task.course.waits.as_ref().map(|waits| waits.text.in_language(language).to_owned()),
            ),
            (pick("标签", "labels"), (!labels.is_empty()).then(|| labels.join(", "))),
        ],
        paint,
    ));
    if !task.attempts.is_empty() {
        let head = [pick("启动", "ATTEMPT"), pick("状态", "STATUS"), pick("进程", "RANKS"), pick("用时", "TIME"), ""];
        let mut attempts = Table::new(head);
        for attempt in &task.attempts {
            let lived = attempt.ended_at.unwrap_or_else(span::now_ms).saturating_sub(attempt.started_at);
            let why = attempt.verdict.as_ref().map_or("", |verdict| verdict.headline.in_language(language));
            attempts.row([
                Cell::number(attempt.number.to_string()),
                attempt.status_text.in_language(language).into(),
                Cell::number(attempt.ranks_started.to_string()),
                span::exact(lived).into(),
                why.into(),
            ]);
        }
        out.push_str(&format!("\n{}", attempts.render(paint)));
    }
    if !task.warnings.is_empty() {
        out.push('\n');
    }
    for warning in &task.warnings {
        out.push_str(&format!("{} {}\n", paint.yellow("!"), warning.text.in_language(language)));
        if let Some(hint) = &warning.hint {
            out.push_str(&format!("  {}\n", paint.dim(hint.in_language(language))));
        }
    }
    if let Some(end) = task.verdict.as_ref().filter(|end| end.class.is_some()) {
        out.push_str(&verdict::render(end, language, paint));
    }
    out
}

/// What a preflight has found for the ranks of each node; none where it was not asked or set nothing.
pub fn interfaces<'a>(nodes: impl Iterator<Item = (&'a String, &'a Option<String>)>) -> Option<String> {
    let set: Vec<(&str, &str)> =
        nodes.filter_map(|(name, interface)| Some((name.as_str(), interface.as_deref()?))).collect();
    let (_, first) = set.first()?;
    let shown = match set.iter().all(|(_, interface)| interface == first) {
        true => (*first).to_owned(),
        false => set.iter().map(|(name, interface)| format!("{name} {interface}")).collect::<Vec<_>>().join(", "),
    };
    Some(format!("{shown} ({})", pick("预检找到并设置", "found and set by the preflight")))
}

/// How long it may have its workers.
fn time_limit(task: &Task) -> String {
    task.spec.policies.time_limit.map_or_else(|| pick("无", "none").to_owned(), |limit| span::long(limit.as_millis()))
}

/// `step 40/120, loss 2.31, 3,412 tokens/s`.
pub fn progress(progress: &Progress) -> String {
    let mut parts = vec![match progress.total_steps {
        Some(total) => format!("{} {}/{total}", pick("步", "step"), progress.step),
        None => format!("{} {}", pick("步", "step"), progress.step),
    }];
    if let Some(loss) = progress.loss {
        parts.push(format!("loss {loss:.4}"));
    }
    if let Some(speed) = progress.tokens_per_s {
        parts.push(format!("{speed:.0} tokens/s"));
    }
    if let Some(eta) = progress.eta_seconds.filter(|eta| *eta > 0) {
        parts.push(format!("{} {}", pick("剩余", "ETA"), span::long(eta * 1000)));
    }
    parts.join(pick("，", ", "))
}

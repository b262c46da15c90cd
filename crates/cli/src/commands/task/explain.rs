//! `fermi task explain`.

use fermi_api::v1::{Explanation, QueuePlace};

use super::{find, ledger, show, verdict};
use crate::commands::run::report::labelled;
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};

/// How many of the last events are shown.
const EVENTS: usize = 8;

/// Say why a task is where it is, and what to do about it
#[derive(Debug, clap::Args)]
pub struct ExplainFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ExplainFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.explain(&find::id(&client, &flags.task)?)?;
    flags.ask.show(&answer, render)
}

fn render(explanation: &Explanation, paint: Paint) -> String {
    let language = speech::language();
    let status = explanation.status_text.in_language(language);
    let status = super::colour(explanation.status).paint(paint, status);
    let mut out = format!("{}  [{status}]\n", paint.bold(&explanation.name));
    let failed = explanation.verdict.as_ref().filter(|verdict| verdict.class.is_some());
    match failed {
        Some(end) => out.push_str(&verdict::render(end, language, paint)),
        None => {
            out.push_str(&format!("\n{}\n", explanation.summary.in_language(language)));
            if let Some(advice) = &explanation.advice {
                out.push_str(&labelled(pick("建议", "advice"), advice.in_language(language), paint));
            }
        }
    }
    if let Some(hang) = &explanation.course.hang {
        out.push_str(&labelled(pick("位置", "places"), &ledger::places(hang, &explanation.task_id), paint));
    }
    if let Some(spent) = &explanation.course.ledger {
        out.push_str(&labelled(pick("时间", "time"), &ledger::bar(spent, language, Paint::none()), paint));
    }
    for wait in &explanation.waiting_for {
        out.push_str(&labelled(pick("等待", "waits"), wait.text.in_language(language), paint));
    }
    if let Some(place) = &explanation.queue {
        out.push_str(&queue(place, paint));
    }
    if !explanation.status.is_final() {
        let nodes: Vec<&str> = explanation.nodes.iter().map(|node| node.text.in_language(language)).collect();
        if !nodes.is_empty() {
            out.push_str(&labelled(pick("节点", "nodes"), &nodes.join("\n"), paint));
        }
    }
    let interfaces = show::interfaces(explanation.nodes.iter().map(|it| (&it.name, &it.interface)));
    if let Some(interfaces) = interfaces {
        out.push_str(&labelled(pick("网卡", "over"), &interfaces, paint));
    }
    if explanation.max_restarts > 0 {
        let used = format!("{}/{}", explanation.restarts_used, explanation.max_restarts);
        out.push_str(&labelled(pick("重启", "restarts"), &used, paint));
    }
    let events = &explanation.events;
    if !events.is_empty() {
        out.push('\n');
        for event in &events[events.len().saturating_sub(EVENTS)..] {
            out.push_str(&format!("  {}  {}\n", paint.dim(&span::clock(event.time)), event.text.in_language(language)));
        }
    }
    out
}

/// Who is before it, and what is kept for whom.
fn queue(place: &QueuePlace, paint: Paint) -> String {
    let mut out = String::new();
    if place.before > 0 {
        let named: Vec<String> = place.ahead.iter().map(|task| format!("{} ({})", task.task_id, task.name)).collect();
        let more = (place.before as usize).saturating_sub(named.len());
        let more = if more > 0 { format!(" … +{more}") } else { String::new() };
        let ahead = format!("{}{more}", named.join(", "));
        out.push_str(&labelled(pick("前面", "ahead"), &ahead, paint));
    }
    if let Some(kept) = &place.reservation {
        out.push_str(&labelled(pick("保留", "kept"), kept.text.in_language(speech::language()), paint));
    }
    out
}

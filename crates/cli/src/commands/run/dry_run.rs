//! `--dry-run`: what each rank would get.

use std::collections::BTreeMap;

use fermi_attempt::bundle::{MasterPort, NodeBundle};
use fermi_attempt::port;
use fermi_domain::contract::RankPosition;
use fermi_domain::slurm::script::quoted;
use fermi_process::spawn::RankCommand;
use serde_json::{Value, json};

use super::plan::Plan;
use crate::speech;

pub fn show(plan: &Plan, as_json: bool) {
    let mut bundle = plan.bundle.clone();
    // A launch that was made for one place in the world is shown there; ranks of others count from here.
    let placement = bundle.made_for.clone().unwrap_or_else(|| bundle.own_position());
    bundle.take_place(&placement);
    let port = first_port(&bundle);
    let facts = bundle.facts(&bundle.foreseen_start(port, placement));
    let ranks = bundle.ranks.iter().map(|rank| (&rank.place, bundle.command(rank, &facts)));
    let files = plan.files.texts(&bundle.deferred, port);
    let text = if as_json {
        let ranks: Vec<_> = ranks.map(|(place, command)| as_value(place, &command)).collect();
        let files: Vec<_> = files.map(|(path, text)| json!({"path": path, "text": text})).collect();
        format!("{}\n", json!({"v": 1, "runId": bundle.run_id, "ranks": ranks, "files": files, "notes": plan.notes}))
    } else {
        let ranks = ranks.map(|(place, command)| describe(place, &command));
        let files = files.map(|(path, text)| format!("file {}\n{}", path.display(), indented(&text)));
        ranks.chain(files).collect::<Vec<_>>().join("\n")
    };
    speech::print(&text);
}

fn as_value(place: &RankPosition, command: &RankCommand) -> Value {
    let argv: Vec<_> = command.argv.iter().map(|word| word.to_string_lossy()).collect();
    let env: BTreeMap<&String, &String> = command.env.iter().map(|(name, value)| (name, value)).collect();
    json!({"rank": place.rank, "localRank": place.local_rank, "argv": argv, "env": env, "cpus": command.cpus})
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn describe(place: &RankPosition, command: &RankCommand) -> String {
    let argv: Vec<_> = command.argv.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    let mut text = format!("rank {} on {}\n  {}\n", place.rank, place.node_name, argv.join(" "));
    for (name, value) in &command.env {
        text.push_str(&format!("  {name}={}\n", quoted(value)));
    }
    if let Some(cpus) = &command.cpus {
        let list: Vec<_> = cpus.iter().map(usize::to_string).collect();
        text.push_str(&format!("  (cpus {})\n", list.join(",")));
    }
    text
}

/// The first candidate where Fermi would choose.
fn first_port(bundle: &NodeBundle) -> u16 {
    match bundle.master_port {
        MasterPort::Any => port::FIRST,
        MasterPort::Exactly(port) | MasterPort::Elsewhere(port) => port,
    }
}

//! `--dry-run`: what each rank would get.

use std::path::Path;

use fermi_attempt::bundle::{MasterPort, RankPlan};
use fermi_attempt::port;
use serde_json::json;

use super::plan::Plan;
use crate::speech;

pub fn show(plan: &Plan, as_json: bool) {
    let ranks = plan.bundle.ranks.iter().map(|rank| (rank, environment(plan, rank)));
    let text = if as_json {
        let ranks: Vec<_> = ranks
            .map(|(rank, env)| {
                let argv: Vec<_> = rank.argv.iter().map(|word| word.to_string_lossy()).collect();
                let env: serde_json::Map<String, serde_json::Value> =
                    env.into_iter().map(|(name, value)| (name, value.into())).collect();
                json!({"rank": rank.place.rank, "localRank": rank.place.local_rank, "argv": argv, "env": env, "cpus": rank.cpus})
            })
            .collect();
        let files: Vec<_> = files(plan).map(|(path, text)| json!({"path": path, "text": text})).collect();
        format!(
            "{}\n",
            json!({"v": 1, "runId": plan.bundle.run_id, "ranks": ranks, "files": files, "notes": plan.notes})
        )
    } else {
        let ranks = ranks.map(|(rank, env)| describe(rank, &env));
        let files = files(plan).map(|(path, text)| format!("file {}\n{}", path.display(), indented(&text)));
        ranks.chain(files).collect::<Vec<_>>().join("\n")
    };
    speech::print(&text);
}

/// The framework's files, as they would be written; the port as in the variables.
fn files(plan: &Plan) -> impl Iterator<Item = (&Path, String)> {
    let now = plan.files.iter().map(|(path, text)| (path.as_path(), text.clone()));
    let late = &plan.bundle.late;
    let later = late.files.iter().map(|(path, text)| (path.as_path(), late.fill(text, port(plan))));
    now.chain(later)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn describe(rank: &RankPlan, env: &[(String, String)]) -> String {
    let argv: Vec<_> = rank.argv.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    let mut text = format!("rank {} on {}\n  {}\n", rank.place.rank, rank.place.node_name, argv.join(" "));
    for (name, value) in env {
        text.push_str(&format!("  {name}={}\n", quoted(value)));
    }
    if let Some(cpus) = &rank.cpus {
        let list: Vec<_> = cpus.iter().map(usize::to_string).collect();
        text.push_str(&format!("  (cpus {})\n", list.join(",")));
    }
    text
}

/// The first candidate where Fermi would choose.
fn port(plan: &Plan) -> u16 {
    match plan.bundle.master_port {
        MasterPort::Any => port::FIRST,
        MasterPort::Exactly(port) | MasterPort::Elsewhere(port) => port,
    }
}

/// The first attempt's variables.
fn environment(plan: &Plan, rank: &RankPlan) -> Vec<(String, String)> {
    let start = plan.bundle.start(1, plan.bundle.resume, port(plan), plan.bundle.own_placement());
    plan.bundle.variables(rank, &plan.bundle.facts(&start))
}

/// As one would type it into a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

//! `--dry-run`: what would be started where. Of the environment only the names: values may be secrets.

use serde_json::json;

use super::plan::{Node, Plan};
use super::script;
use super::ssh::Ssh;
use super::{flags::LaunchFlags, quote};
use crate::speech;

pub fn show(plan: &Plan, flags: &LaunchFlags, ssh: &Ssh) {
    let fermi = flags.remote_fermi.as_deref().unwrap_or(if flags.copy_binary { script::COPY } else { "fermi" });
    let names: Vec<&str> = plan.variables.iter().map(|(name, _)| name.as_str()).collect();
    let text = if flags.json {
        let hosts: Vec<_> = plan.nodes.iter().map(|node| value(node, fermi, ssh)).collect();
        format!("{}\n", json!({"v": 1, "master": plan.master, "folder": plan.folder, "env": names, "hosts": hosts}))
    } else {
        plan.nodes.iter().map(|node| describe(plan, node, fermi, &names, ssh)).collect::<Vec<_>>().join("\n")
    };
    speech::print(&text);
}

fn way(node: &Node, ssh: &Ssh) -> Option<String> {
    (!node.is_here).then(|| script::shown(&quote::words(ssh.words(node).iter().map(|word| word.as_os_str()))))
}

fn value(node: &Node, fermi: &str, ssh: &Ssh) -> serde_json::Value {
    let words: Vec<_> = node.words.iter().map(|word| word.to_string_lossy()).collect();
    json!({"host": node.label, "ranks": node.ranks, "ssh": way(node, ssh), "fermi": fermi, "argv": words})
}

fn describe(plan: &Plan, node: &Node, fermi: &str, names: &[&str], ssh: &Ssh) -> String {
    let mut text = format!("{} ({})\n", node.label, node.ranks);
    if let Some(way) = way(node, ssh) {
        text.push_str(&format!("  {way}\n"));
    }
    text.push_str(&format!("  cd {}\n", script::shown(&quote::word(plan.folder.as_os_str()))));
    text.push_str(&format!("  export {}\n", names.join(" ")));
    text.push_str(&format!("  {}\n", script::shown(&script::call(node, fermi))));
    text
}

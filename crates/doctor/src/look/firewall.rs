//! What filters incoming packets here, as far as it may be read.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::child;
use crate::facts::FirewallFacts;

const PATIENCE: Duration = Duration::from_secs(2);

pub fn look() -> FirewallFacts {
    let mut facts = FirewallFacts {
        has_ufw: fs::read_to_string("/etc/ufw/ufw.conf")
            .is_ok_and(|text| text.lines().any(|line| line.trim().eq_ignore_ascii_case("ENABLED=yes"))),
        has_firewalld: Path::new("/run/firewalld").exists(),
        ..FirewallFacts::default()
    };
    // The administrator's programs are often not on the path of others.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let said = child::ask(Command::new("nft").args(["list", "ruleset"]).env("PATH", path), PATIENCE);
    if let Some(said) = said.filter(|said| said.succeeded == Some(true)) {
        facts.are_rules_readable = true;
        (facts.closed_chains, facts.refusing_rules) = incoming(&said.stdout);
    }
    facts
}

/// Chains of the input hook that drop by default, and their rules that drop or reject.
fn incoming(ruleset: &str) -> (Vec<String>, Vec<String>) {
    let (mut closed, mut refusing) = (Vec::new(), Vec::new());
    let (mut table, mut chain, mut is_input) = (String::new(), String::new(), false);
    for line in ruleset.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("table ") {
            table = name.trim_end_matches('{').trim().to_owned();
        } else if let Some(name) = line.strip_prefix("chain ") {
            chain = name.trim_end_matches('{').trim().to_owned();
            is_input = false;
        } else if line.contains("hook input") {
            is_input = true;
            if line.contains("policy drop") {
                closed.push(format!("{table} {chain}"));
            }
        } else if is_input && line.split(' ').any(|word| word == "drop" || word == "reject") {
            refusing.push(line.to_owned());
        }
    }
    (closed, refusing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_for_incoming_packets_are_found() {
        let rules = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t\ttcp dport 22 accept\n\t\ttcp dport 29500 drop\n\t}\n\tchain output {\n\t\ttype filter hook output priority filter; policy accept;\n\t\tdrop\n\t}\n}\n";
        let (closed, refusing) = incoming(rules);
        assert_eq!(closed, ["inet filter input"]);
        assert_eq!(refusing, ["tcp dport 29500 drop"]);
        assert_eq!(incoming(""), (vec![], vec![]));
    }
}

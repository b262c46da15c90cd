//! The page of `fermi --help`: the commands under what people come for, instead of one long list.

use clap::Command;
use fermi_domain::language::{Language, Text};

use super::WIDEST;
use crate::wrap;

/// What people come for, and the commands that do it, the usual ones first.
struct Chapter {
    zh: &'static str,
    en: &'static str,
    commands: &'static [&'static str],
}

const CHAPTERS: [Chapter; 6] = [
    Chapter {
        zh: "训练",
        en: "Train",
        commands: &["run", "train", "launch-multi-node", "slurm", "quickstart", "trainer"],
    },
    Chapter {
        zh: "训练之前",
        en: "Before you train",
        commands: &["plan", "doctor", "setup-cluster", "scale", "bench", "launch"],
    },
    Chapter { zh: "搭建集群", en: "Make a cluster", commands: &["demo", "up", "server", "agent", "env"] },
    Chapter {
        zh: "使用集群",
        en: "Work on a cluster",
        commands: &["task", "top", "group", "worker", "dataset", "model", "secret", "webhook"],
    },
    Chapter {
        zh: "用户与权限", en: "People and rights", commands: &["login", "logout", "user", "token", "audit"]
    },
    Chapter { zh: "本命令自身", en: "This command", commands: &["completions", "man"] },
];

/// Spaces before a name, and between the longest name and what it does.
const MARGIN: usize = 2;

/// The whole command line with a page that has chapters, in the language of its texts.
pub fn arranged(root: Command, language: Language) -> Command {
    let chapters = chapters(&root, language, wrap::columns().min(WIDEST));
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{chapters}Options:\n{{options}}{{after-help}}"
    ))
}

fn chapters(root: &Command, language: Language, columns: usize) -> String {
    let shown: Vec<&Command> = root.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    let longest = shown.iter().map(|below| below.get_name().len()).max().unwrap_or_default();
    let indent = MARGIN + longest + MARGIN;
    let mut page = String::new();
    for Chapter { zh, en, commands } in &CHAPTERS {
        page += &format!("{}:\n", Text::new(*zh, *en).in_language(language));
        for command in commands.iter().filter_map(|name| shown.iter().find(|below| below.get_name() == *name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let lines = wrap::wrapped(&about, columns.saturating_sub(indent)).join(&format!("\n{:indent$}", ""));
            page += &format!("{:MARGIN$}{:longest$}{:MARGIN$}{lines}\n", "", command.get_name(), "");
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;
    use crate::help;

    #[test]
    fn every_command_is_in_one_chapter() {
        let root = Cli::command();
        let shown = root.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name);
        let listed: Vec<&str> = CHAPTERS.iter().flat_map(|chapter| chapter.commands).copied().collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len(), "a command stands in two chapters: {listed:?}");
        assert_eq!(once, shown.collect::<BTreeSet<&str>>());
    }

    #[test]
    fn a_narrow_page_keeps_its_columns_in_both_languages() {
        for (root, language) in [(Cli::command(), Language::En), (help::in_chinese(Cli::command()), Language::ZhCn)] {
            let page = chapters(&root, language, 60);
            assert!(page.lines().all(|line| wrap::width(line) <= 60), "{page}");
            assert!(page.contains("\n  run "), "{page}");
        }
    }
}

//! Every option of the table is what the table says, and the guides say the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::Args;
use clap::parser::ValueSource;
use fermi_domain::language::{Explained, Language};

use super::*;
use crate::commands::run::RunFlags;
use crate::commands::run::spellings::{refuse_unknown, unify};

/// A value that fits what an option takes.
fn fitting(name: &str, takes: &Takes) -> String {
    match (name, takes) {
        ("--tee" | "-t" | "--redirects" | "-r", _) => "3".into(),
        ("--bind-to", _) => "core".into(),
        ("--rdzv-conf", _) => "timeout=5".into(),
        ("--rdzv-backend", _) => "c10d".into(),
        (_, Takes::Number) => "2".into(),
        (_, Takes::OneOf(words)) => words[0].to_owned(),
        (_, Takes::Anything) => "word".into(),
    }
}

/// What `fermi run OPTION [VALUES] train.py` is read as: the flags, and the names of those that the command line set.
fn read(words: &[String]) -> Result<(RunFlags, Vec<String>), String> {
    use clap::FromArgMatches;
    let cli = clap::Command::new("fermi").subcommand(RunFlags::augment_args(clap::Command::new("run")));
    let line: Vec<OsString> =
        ["fermi", "run"].into_iter().map(OsString::from).chain(words.iter().map(OsString::from)).collect();
    let line = unify(&cli, line);
    let matches = cli.try_get_matches_from(&line).map_err(|error| error.kind().to_string())?;
    let run = matches.subcommand_matches("run").unwrap();
    let set = run.ids().filter(|id| run.value_source(id.as_str()) == Some(ValueSource::CommandLine));
    let set = set.map(|id| id.as_str().to_owned()).collect();
    Ok((RunFlags::from_arg_matches(run).unwrap(), set))
}

/// Whether the same word is a flag of `fermi run` with another meaning: it takes no word of that launcher, and says why.
fn is_of_another_meaning(option: &ForeignOption) -> bool {
    [("mpirun", "--timeout"), ("deepspeed", "-H")].contains(&(option.launcher, option.name))
        && matches!(option.fate, Fate::Refused(_))
}

#[test]
fn every_option_of_the_table_has_the_fate_that_the_table_says() {
    let options = all();
    assert!(options.len() > 300, "{}", options.len());
    for option in options {
        let name = option.name;
        let values = option.takes.iter().map(|takes| fitting(name, takes));
        let words: Vec<String> = [name.to_owned()].into_iter().chain(values).chain(["train.py".to_owned()]).collect();
        if ["--help", "-h"].contains(&name) {
            assert_eq!(read(&words).unwrap_err(), clap::error::ErrorKind::DisplayHelp.to_string());
            continue;
        }
        if is_of_another_meaning(&option) {
            continue;
        }
        let (flags, set) = read(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let is_script = flags.script == [OsString::from("train.py")];
        match option.fate {
            Fate::Same => assert!(is_script && set.len() > 1, "{words:?}: {set:?}"),
            Fate::Becomes(word) => {
                let id = word.trim_start_matches('-').split('=').next().unwrap().replace('-', "_");
                let id = if id == "env" { "variables".to_owned() } else { id };
                assert!(is_script && set.contains(&id), "{words:?}: {set:?}");
            }
            Fate::NoEffect(_) => {
                // Some are hidden flags of ours, the others are only named.
                let said = super::super::without_effect(&flags);
                assert!(is_script && said.iter().any(|text| text.en.starts_with(name)), "{words:?}: {said:?}");
            }
            Fate::Refused(hint) => {
                let problem = refuse_unknown(&flags.script).expect_err(name);
                assert_eq!(
                    problem.hint().unwrap().spelled(fermi_domain::language::FrontEnd::CommandLine),
                    hint,
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn an_option_of_several_launchers_has_one_fate() {
    let mut fates: BTreeMap<&str, Vec<ForeignOption>> = BTreeMap::new();
    for option in all().into_iter().filter(|option| !is_of_another_meaning(option)) {
        fates.entry(option.name).or_default().push(option);
    }
    for (name, options) in fates {
        let kinds: Vec<_> = options.iter().map(|option| std::mem::discriminant(&option.fate)).collect();
        assert!(kinds.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {options:?}");
    }
}

#[test]
fn nonsense_values_are_refused_with_what_would_be_right() {
    for (words, hint) in [
        (["--mixed_precision", "fp9"], "use one of: no, fp16, bf16, fp8"),
        (["--zero_stage=7", "train.py"], "use one of: 0, 1, 2, 3"),
        (["--num_processes", "many"], "use a number from 0 up"),
        (["--cycle-time-ms", "-1"], "use a number from 0 up"),
        (["-npernode", "x"], "use a number from 0 up"),
        (["--start_method", "magic"], "use one of: spawn, fork, forkserver"),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain(["train.py".to_owned()]).collect();
        let (flags, _) = read(&words).unwrap();
        let problem = super::super::refuse_foreign(&flags).expect_err(&words[0]);
        let said = problem.hint().unwrap().spelled(fermi_domain::language::FrontEnd::CommandLine).en;
        assert_eq!(said, hint, "{words:?}");
    }
}

/// What the guides say of one launcher.
fn section(launcher: &str, language: Language) -> String {
    let options: Vec<ForeignOption> = all().into_iter().filter(|option| option.launcher == launcher).collect();
    let names = |wanted: &dyn Fn(&Fate) -> bool| -> String {
        let names = options.iter().filter(|option| wanted(&option.fate)).map(|option| format!("`{}`", option.name));
        names.collect::<Vec<_>>().join(" ")
    };
    let say = |zh: &'static str, en: &'static str| if language == Language::ZhCn { zh } else { en };
    let mut out = format!(
        "#### {launcher}\n\n| {} | {} |\n|---|---|\n",
        say("参数", "options"),
        say("在 fermi run 中", "on fermi run")
    );
    let mut row = |names: String, told: &str| {
        if !names.is_empty() {
            out.push_str(&format!("| {names} | {told} |\n"));
        }
    };
    row(names(&|fate| *fate == Fate::Same), say("含义相同", "the same"));
    let mut seen: Vec<Fate> = Vec::new();
    for option in options.iter().filter(|option| option.fate != Fate::Same) {
        if seen.contains(&option.fate) {
            continue;
        }
        seen.push(option.fate.clone());
        let told = match &option.fate {
            Fate::Same => continue,
            Fate::Becomes(word) => format!("{} `{word}`", say("相当于", "becomes")),
            Fate::NoEffect(why) => {
                format!("{}{}", say("接受，没有作用：", "taken without effect: "), why.in_language(language))
            }
            Fate::Refused(hint) => format!("{}{}", say("拒绝：", "refused: "), hint.in_language(language)),
        };
        row(names(&|fate| *fate == option.fate), &told.replace('|', "\\|"));
    }
    out
}

#[test]
fn the_guides_have_the_table() {
    const MARKS: (&str, &str) = ("<!-- launchers -->\n", "<!-- /launchers -->");
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    for (name, language) in [("run.md", Language::En), ("run.zh-CN.md", Language::ZhCn)] {
        let path = guides.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(MARKS.0).unwrap_or_else(|| panic!("{name} has no {}", MARKS.0));
        let (written, after) = rest.split_once(MARKS.1).unwrap();
        let launchers = ["torchrun", "deepspeed", "mpirun", "accelerate", "horovodrun"];
        let wanted = launchers.map(|launcher| section(launcher, language)).join("\n");
        if std::env::var_os("FERMI_UPDATE_DOCS").is_some() {
            fs::write(&path, format!("{before}{}{wanted}{}{after}", MARKS.0, MARKS.1)).unwrap();
        } else {
            assert_eq!(written, wanted, "docs/guides/{name} is not current: FERMI_UPDATE_DOCS=1 writes it");
        }
    }
}

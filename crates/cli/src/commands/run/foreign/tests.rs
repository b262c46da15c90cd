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

/// Values that fit what an option takes: every one of those that it names.
fn fitting(name: &str, takes: &Takes) -> Vec<String> {
    match (name, takes) {
        ("--tee" | "-t" | "--redirects" | "-r", _) => vec!["3".into()],
        ("--rdzv-conf", _) => vec!["timeout=5".into()],
        (_, Takes::Number) => vec!["2".into()],
        (_, Takes::PerNode) => vec!["2:node".into()],
        (_, Takes::Policy(words)) => words.iter().map(|word| (*word).to_owned()).chain(["NUMA:PE=2".into()]).collect(),
        (_, Takes::OneOf(words)) => words.iter().map(|word| (*word).to_owned()).collect(),
        (_, Takes::Anything) => vec!["word".into()],
    }
}

/// Options as they can be written: several where an option names its values.
fn lines(option: &ForeignOption) -> Vec<Vec<String>> {
    let begun = vec![vec![option.name.to_owned()]];
    option.takes.iter().fold(begun, |lines, takes| {
        let longer = |line: &Vec<String>| {
            fitting(option.name, takes)
                .into_iter()
                .map(|value| [line.clone(), vec![value]].concat())
                .collect::<Vec<_>>()
        };
        lines.iter().flat_map(longer).collect()
    })
}

/// The flags that a command line sets, each with its values as they were read.
type Set = BTreeMap<String, Vec<String>>;

/// What `fermi run OPTION [VALUES] train.py` is read as.
fn read(words: &[String]) -> Result<(RunFlags, Set), String> {
    use clap::FromArgMatches;
    let cli = clap::Command::new("fermi").subcommand(RunFlags::augment_args(clap::Command::new("run")));
    let line: Vec<OsString> =
        ["fermi", "run"].into_iter().map(OsString::from).chain(words.iter().map(OsString::from)).collect();
    let line = unify(&cli, line);
    let matches = cli.try_get_matches_from(&line).map_err(|error| error.kind().to_string())?;
    let run = matches.subcommand_matches("run").unwrap();
    let ids = run.ids().map(clap::Id::as_str).filter(|id| run.value_source(id) == Some(ValueSource::CommandLine));
    let values = |id: &str| match run.try_get_raw(id) {
        Ok(Some(values)) => values.map(|value| value.to_string_lossy().into_owned()).collect(),
        _ => Vec::new(),
    };
    let set = ids.map(|id| (id.to_owned(), values(id))).collect();
    Ok((RunFlags::from_arg_matches(run).unwrap(), set))
}

/// Whether the same word is a flag of `fermi run` with another meaning: it takes no word of that launcher, and says why, as
/// `tests/drop_in.rs` sees.
fn is_of_another_meaning(option: &ForeignOption) -> bool {
    [("mpirun", "--timeout"), ("deepspeed", "-H"), ("horovodrun", "-i")].contains(&(option.launcher, option.name))
        && matches!(option.fate, Fate::Refused(_))
}

/// What an option that means the same sets, where its name is not that of the flag.
fn meant(name: &str, value: Option<&String>) -> (String, String) {
    let own = || value.map_or("true", String::as_str);
    let (flag, value) = match name {
        "-m" => ("module", own()),
        "-r" => ("redirects", own()),
        "-t" => ("tee", own()),
        "-q" => ("quiet", own()),
        "-i" => ("include", own()),
        "-e" => ("exclude", own()),
        "-H" => ("host", own()),
        "-x" | "--env" => ("variables", own()),
        "-n" | "-np" | "--np" | "--num-gpus" => ("nproc_per_node", own()),
        "--num-nodes" | "--num-machines" => ("nnodes", own()),
        "--machine-rank" => ("node_rank", own()),
        "--main-process-ip" => ("master_addr", own()),
        "--main-process-port" => ("master_port", own()),
        "--bind-cores-to-rank" => ("cpu_bind", "cores"),
        "--bind-to" | "--numa-binding" => match own() {
            "none" => ("cpu_bind", "none"),
            "socket" | "package" | "numa" | "node" => ("cpu_bind", "numa"),
            "core" | "hwthread" | "exclusive" | "core-complex" => ("cpu_bind", "cores"),
            other => panic!("{name} {other}: what is meant?"),
        },
        long => return (long.trim_start_matches('-').replace('-', "_"), own().to_owned()),
    };
    (flag.to_owned(), value.to_owned())
}

/// The flag that a word of the table names, as `fermi run` spells it, and the value that it gets.
fn becomes(word: &str, value: Option<&String>) -> (String, String) {
    let word = word.replace("{}", value.map_or("", |value| value.strip_suffix(":node").unwrap_or(value)));
    let (name, value) = word.split_once('=').unwrap_or((&word, "true"));
    let run = RunFlags::augment_args(clap::Command::new("run"));
    let flag = run.get_arguments().find(|flag| flag.get_long() == name.strip_prefix("--"));
    (flag.unwrap_or_else(|| panic!("{name} is no flag")).get_id().to_string(), value.to_owned())
}

#[test]
fn every_option_of_the_table_has_the_fate_that_the_table_says() {
    let options = all();
    assert!(options.len() > 300, "{}", options.len());
    for option in options.iter().filter(|option| !is_of_another_meaning(option)) {
        for words in lines(option) {
            has_its_fate(option, &words);
        }
    }
}

fn has_its_fate(option: &ForeignOption, words: &[String]) {
    let (name, value) = (option.name, words.get(1));
    let line = [words, &["train.py".to_owned()]].concat();
    if ["--help", "-h"].contains(&name) {
        assert_eq!(read(&line).unwrap_err(), clap::error::ErrorKind::DisplayHelp.to_string());
        return;
    }
    let (flags, set) = read(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    let sets = |(flag, value): (String, String)| {
        let values = set.get(&flag).unwrap_or_else(|| panic!("{line:?} does not set {flag}: {set:?}"));
        let is_it = |given: &String| *given == value || (value == "true" && given == "1");
        assert!(values.iter().any(is_it), "{line:?}: {flag} is {values:?}, not {value}");
        assert_eq!(flags.script, [OsString::from("train.py")], "{line:?}");
    };
    match &option.fate {
        Fate::Same | Fate::SameBut(_) => sets(meant(name, value)),
        Fate::Becomes(word) => sets(becomes(word, value)),
        Fate::Partly(why) | Fate::NoEffect(why) => {
            if matches!(option.fate, Fate::Partly(_)) {
                sets(meant(name, value));
            }
            // Some are hidden flags of ours, the others are only named.
            let said = super::super::without_effect(&flags);
            let is_said =
                |text: &Text| text.en.contains(name) && text.en.ends_with(&*why.en) && text.zh.ends_with(&*why.zh);
            assert!(said.iter().any(is_said), "{line:?}: {said:?}");
            assert_eq!(flags.script, [OsString::from("train.py")], "{line:?}");
        }
        Fate::Refused(hint) => {
            let problem = refuse_unknown(&flags.script).expect_err(name);
            let said = problem.hint().unwrap().spelled(fermi_domain::language::FrontEnd::CommandLine);
            assert_eq!(said, *hint, "{name}");
        }
    }
}

#[test]
fn of_a_configuration_of_the_rendezvous_the_keys_that_do_not_count_are_said() {
    let said = |conf: &str| {
        let line = ["--rdzv-conf".to_owned(), conf.to_owned(), "train.py".to_owned()];
        super::super::without_effect(&read(&line).unwrap().0).iter().map(|text| text.en.clone()).collect::<Vec<_>>()
    };
    let counts = "join_timeout, last_call_timeout and is_host count, other keys do not";
    assert_eq!(said("is_host=1,timeout=5"), [format!("timeout of --rdzv-conf has no effect: {counts}")]);
    assert_eq!(said("timeout=5,use_fast=1"), [format!("timeout, use_fast of --rdzv-conf have no effect: {counts}")]);
    assert!(said("join_timeout=5").is_empty());
}

#[test]
fn an_option_of_several_launchers_has_one_fate() {
    let mut fates: BTreeMap<&str, Vec<ForeignOption>> = BTreeMap::new();
    for option in all().into_iter().filter(|option| !is_of_another_meaning(option)) {
        fates.entry(option.name).or_default().push(option);
    }
    for (name, options) in fates {
        assert!(options.windows(2).all(|pair| pair[0].fate == pair[1].fate), "{name}: {options:?}");
    }
}

const POLICIES: &str =
    "use one of: slot, hwthread, core, l1cache, l2cache, l3cache, socket, package, numa, board, node";
const PER_NODE_ONLY: &str =
    "of such values only N:node says how many ranks start here, such as 2:node; else give the number of all with -np";

#[test]
fn nonsense_values_are_refused_with_what_would_be_right() {
    for (words, hint) in [
        (["--mixed_precision", "fp9"], "use one of: no, fp16, bf16, fp8"),
        (["--zero_stage=7", "train.py"], "use one of: 0, 1, 2, 3"),
        (["--num_processes", "many"], "use a number from 0 up"),
        (["--cycle-time-ms", "-1"], "use a number from 0 up"),
        (["-npernode", "x"], "use a number from 0 up"),
        (["--map-by", "banana"], POLICIES),
        (["--map-by=banana:2:node", "train.py"], POLICIES),
        (["-rank-by", "zzz"], POLICIES),
        (["--map-by", "ppr:2:socket"], PER_NODE_ONLY),
        (["--map-by", "ppr:0:node"], PER_NODE_ONLY),
        (["--ppr", "2"], PER_NODE_ONLY),
        (["--logs-specs", "nonsense"], "use one of: default"),
        (["--event-log-handler", "nonsense"], "use one of: null, console, dynamic_rendezvous"),
        (["--start_method", "magic"], "use one of: spawn, fork, forkserver"),
        (["--numa-binding", "bogus"], "use one of: node, socket, exclusive, core-complex"),
        (["--bind_to", "l3cache"], "use one of: none, core, hwthread, socket, package, numa"),
        (["-bind-to", "board:overload-allowed"], "use one of: none, core, hwthread, socket, package, numa"),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain(["train.py".to_owned()]).collect();
        let (flags, _) = read(&words).unwrap();
        let problem = super::super::refuse_foreign(&flags).expect_err(&words[0]);
        let said = problem.hint().unwrap().spelled(fermi_domain::language::FrontEnd::CommandLine).en;
        assert_eq!(said, hint, "{words:?}");
        // The option is named that was typed, and no flag of ours that it becomes.
        let typed = words[0].split('=').next().unwrap().replace('_', "-");
        let named = problem.text().en.split(' ').next().unwrap().to_owned();
        assert_eq!(named.trim_start_matches('-'), typed.trim_start_matches('-'), "{words:?}");
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
            Fate::SameBut(how) => {
                format!("{}{}", say("含义相同，但是：", "the same, but: "), how.in_language(language))
            }
            Fate::Partly(which) => {
                format!("{}{}", say("部分相同：", "the same in part: "), which.in_language(language))
            }
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

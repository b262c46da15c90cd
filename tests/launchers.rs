//! Other launchers as they are installed: the table of `fermi run` has every option that their help lists, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{self, Place, Run};

/// The options of one launcher in the table, each with what it takes and its fate.
fn rows(launcher: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/launchers.txt");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix(&format!("{launcher} | ")));
    let of_row = |row: &str| {
        let mut cells = row.split(" | ");
        let (options, fate) = (cells.next().unwrap(), cells.next().unwrap());
        options.split(", ").map(|option| (option.to_owned(), fate.to_owned())).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

/// Their names, with two hyphens and without underscores.
fn in_the_table(launcher: &str) -> BTreeSet<String> {
    rows(launcher).iter().map(|(option, _)| option.split_whitespace().next().unwrap().to_owned()).collect()
}

/// The options at the beginning of the lines of a help page.
fn listed(page: &str) -> BTreeSet<String> {
    let lines = page.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let head = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let words = lines.flat_map(|line| head(line).split([',', '|', ' ']).map(str::to_owned).collect::<Vec<_>>());
    let is_option = |word: &String| {
        word.starts_with('-') && word.trim_start_matches('-').starts_with(|letter: char| letter.is_ascii_alphabetic())
    };
    words.filter(is_option).map(|word| word.split('=').next().unwrap().replace('_', "-")).collect()
}

/// With two hyphens, as `fermi run` takes it, where a launcher writes a long option with one.
fn long(word: &str) -> String {
    if word.starts_with("--") || word.len() == 2 { word.to_owned() } else { format!("-{word}") }
}

/// What is listed and not in the table, and what the table has and nobody lists, in whatever spelling. Some options are
/// taken and left out of the help.
fn differences(launcher: &str, page: &str, unlisted: &[&str]) -> [Vec<String>; 2] {
    let (known, listed) = (in_the_table(launcher), listed(page));
    assert!(listed.len() > 5, "{launcher} lists nothing: {page}");
    let spelled: BTreeSet<String> = listed.iter().map(|word| long(word)).collect();
    let is_known = |word: &&String| known.contains(*word) || known.contains(&long(word));
    let is_listed =
        |name: &&String| listed.contains(*name) || spelled.contains(&long(name)) || unlisted.contains(&name.as_str());
    let forgotten = listed.iter().filter(|word| !is_known(word)).cloned().collect();
    [forgotten, known.iter().filter(|name| !is_listed(name)).cloned().collect()]
}

const NONE: [[&str; 0]; 2] = [[], []];

/// The help of a launcher that is a Python program.
fn page_of(python: &Path, call: &str) -> String {
    let place = Place::new();
    let mut command: Command = place.program(python);
    let call = format!("import sys; sys.argv = ['x', '--help']; {call}");
    Run::whole(command.args(["-c", &call]).env("COLUMNS", "200")).expect(0).out()
}

fn page_of_main(module: &str) -> String {
    page_of(support::torch_python(), &format!("from {module} import main; main()"))
}

#[test]
fn the_options_of_torchrun_are_those_of_its_help() {
    let of_its_older_form = ["--use-env"];
    assert_eq!(differences("torchrun", &page_of_main("torch.distributed.run"), &of_its_older_form), NONE);
}

#[test]
fn the_options_of_deepspeed_are_those_of_its_help() {
    if !support::is_left_out("deepspeed") {
        let of_other_releases = ["-m", "--elastic-training", "--min-elastic-nodes", "--max-elastic-nodes"];
        assert_eq!(differences("deepspeed", &page_of_main("deepspeed.launcher.runner"), &of_other_releases), NONE);
    }
}

#[test]
fn the_options_of_accelerate_are_those_of_its_help() {
    assert_eq!(differences("accelerate", &page_of_main("accelerate.commands.launch"), &[]), NONE);
}

#[test]
fn the_options_of_mpirun_are_those_of_its_help() {
    if support::is_left_out("mpirun") {
        return;
    }
    let place = Place::new();
    let mut pages = String::new();
    // The last one has all of them, the others are those that people are shown.
    for part in [
        "general",
        "output",
        "input",
        "mapping",
        "ranking",
        "binding",
        "launch",
        "debug",
        "dvm",
        "compatibility",
        "unsupported",
    ] {
        let mut command = place.program("mpirun");
        pages += &Run::whole(command.args(["--allow-run-as-root", "--help", part])).expect(0).out();
    }
    assert_eq!(differences("mpirun", &pages, &[]), NONE);
}

#[test]
fn the_options_of_the_real_horovodrun_are_those_of_its_help() {
    let Some(python) = crate::horovod::horovod() else { return };
    let unlisted = [
        "--no-autotune",
        "--no-timeline-mark-cycles",
        "--stall-check",
        "--no-mpi-threads-disable",
        "--log-with-timestamp",
        "--log-hide-timestamp",
        "--no-log-hide-timestamp",
    ];
    let page = page_of(python, "from horovod.runner.launch import parse_args; parse_args()");
    assert_eq!(differences("horovodrun", &page, &unlisted), NONE);
}

#[test]
fn options_of_the_real_horovodrun_set_the_variables_that_it_sets_itself() {
    let Some(python) = crate::horovod::horovod() else { return };
    let set = rows("horovodrun").into_iter().filter_map(|(option, fate)| {
        let (name, value) = fate.strip_prefix("--env=")?.split_once('=')?;
        Some(format!(
            "{} {name}={}",
            option.replace(" N", " 1").replace("VALUE", "word"),
            value.replace("{}", if option.ends_with('N') { "1" } else { "word" })
        ))
    });
    let set: Vec<String> = set.collect();
    assert!(set.len() > 20, "{set:?}");
    // Some are heeded only beside the one that turns their subject on.
    let call = "\
import sys
from horovod.runner.common.util import config_parser
from horovod.runner.launch import parse_args
for row in sys.argv[1:]:
    *option, wanted = row.split()
    name, subject = wanted.split('=')[0], option[0].removeprefix('--no-').strip('-').split('-')[0]
    beside = {'autotune': ['--autotune'], 'timeline': ['--timeline-filename', 'x']}.get(subject, [])
    sys.argv = ['x', '-np', '1', *([] if option[0] in ('--autotune', '--no-autotune') else beside), *option, 'train.py']
    env = {}
    config_parser.set_env_from_args(env, parse_args())
    value = env.get(name, '0').removesuffix('.0')
    if wanted != f'{name}={value}':
        sys.exit(f'{row}: it is {value}')
";
    Run::whole(Place::new().program(python).args(["-c", call]).args(set)).expect(0);
}

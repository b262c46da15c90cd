//! `fermi train`: a recipe from one training.yaml, as a run whose program is the package that the binary carries.
//!
//! [`check`] asks that package what it would refuse, [`fit`] asks the planner; everything else is `fermi run`.

mod check;
mod fit;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, Args};
use fermi_domain::language::{Notice, Text};
use fermi_domain::messages::run::RunProblem;

use super::engine::EngineRefusal;
use super::recipe;
use super::run::machine::Machine;
use super::run::plan::Plan;
use super::run::{self, RunFlags, spellings};
use crate::{exit_code, speech};

/// Train a language model from a training.yaml: SFT, reward model, DPO, GRPO, PPO
///
/// Everything is checked before any process starts: keys that the recipe does not obey, libraries that are missing, whether
/// the model fits. Then it is a run like any other: ranks, restarts, logs and several machines are those of fermi run, whose
/// other options are taken too.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, mut_args(as_of_train))]
pub struct TrainFlags {
    /// sft, rm, dpo, grpo or ppo [default: what the file says, else sft]
    #[arg(long, value_name = "NAME", help_heading = RECIPE)]
    algorithm: Option<String>,
    /// A trainer of your own: a subclass of fermi_train.BaseTrainer, for sft
    #[arg(long, value_name = "MODULE:CLASS", help_heading = RECIPE)]
    trainer: Option<String>,
    #[command(flatten)]
    run: RunFlags,
}

const RECIPE: &str = "Recipe";
const PREPARE: &str = "prepare";
/// Where ranks begin to search for the micro-batch that fits.
const DYNAMIC_FROM: &str = "recipe.dynamic_batch_from";

const EXAMPLES: &str = "\
Examples:
  fermi train --config training.yaml --algorithm sft                    one rank per GPU, else one
  fermi train --config training.yaml -n 4 --max-restarts 3              four ranks that go on from their checkpoints
  fermi train --config training.yaml --set training.max_steps=5 --dry-run
  fermi train prepare --config training.yaml                            check and tokenise the data, and train nothing";

/// Options of `fermi run` that `fermi train --help` shows; it takes the others as well.
const SHOWN: [&str; 23] = [
    "algorithm",
    "trainer",
    "config",
    "set",
    "script",
    "nproc_per_node",
    "nnodes",
    "node_rank",
    "master_addr",
    "master_port",
    "rdzv_endpoint",
    "max_restarts",
    "variables",
    "hook",
    "warm",
    "log_dir",
    "tee",
    "dry_run",
    "json",
    "quiet",
    "output_dir",
    "checkpoint_dir",
    "resume",
];

fn as_of_train(argument: Arg) -> Arg {
    let argument = match argument.get_id().as_str() {
        "config" => argument.help("The training.yaml").help_heading(RECIPE),
        "set" => {
            argument.help("Put a value over the file's, such as training.max_steps=5 (repeatable)").help_heading(RECIPE)
        }
        "script" => argument.value_name("prepare [ARGS]").help("Check and tokenise the data, and train nothing"),
        _ => argument,
    };
    let is_shown = SHOWN.contains(&argument.get_id().as_str());
    argument.hide(!is_shown)
}

/// Why nothing is trained, said already or to be said.
enum Refused {
    Run(RunProblem),
    Said(ExitCode),
    Told(Notice),
}

impl From<RunProblem> for Refused {
    fn from(problem: RunProblem) -> Self {
        Self::Run(problem)
    }
}

impl From<EngineRefusal> for Refused {
    fn from(refusal: EngineRefusal) -> Self {
        Self::Told(Notice::of(&refusal))
    }
}

impl From<Notice> for Refused {
    fn from(notice: Notice) -> Self {
        Self::Told(notice)
    }
}

pub fn execute(flags: TrainFlags) -> ExitCode {
    match start(flags) {
        Ok(code) | Err(Refused::Said(code)) => code,
        Err(Refused::Run(problem)) => run::refuse(&problem),
        Err(Refused::Told(notice)) => {
            speech::complain(&notice);
            ExitCode::from(exit_code::USAGE)
        }
    }
}

fn start(flags: TrainFlags) -> Result<ExitCode, Refused> {
    let TrainFlags { algorithm, trainer, mut run } = flags;
    spellings::refuse_unknown(&run.script)?;
    if let Some(flag) = of_a_script(&run) {
        return Err(no_kind_of_script(flag).into());
    }
    let machine = Machine::look()?;
    let python = machine.python.usual().map_err(|error| RunProblem::PythonNotFound { tried: error.tried })?;
    let recipe_words = |run: &RunFlags| words(run, algorithm.as_deref());
    if run.script.first().is_some_and(|word| word == PREPARE) {
        let changes = run.engine.set_over_the_file()?;
        let changes = changes.into_iter().flat_map(|change| [OsString::from("--set"), change.into()]);
        let mut words: Vec<OsString> = [PREPARE.into()].into_iter().chain(recipe_words(&run)).chain(changes).collect();
        words.extend(run.script.drain(1..));
        return Err(recipe::become_python(&python, &words).into());
    }
    if let Some(word) = run.script.first() {
        return Err(no_script(&word.to_string_lossy()).into());
    }
    if run.engine.config().is_none() {
        return Err(no_file().into());
    }
    let asked = recipe_words(&run);
    let folder = recipe::folder()?;
    let changes = run.engine.set_over_the_file()?;
    run.is_recipe = true;
    run.script = program(&folder, algorithm.as_deref(), trainer.as_deref(), run.output_dir.as_deref());
    let gpus = (machine.count_gpus)(machine.cuda_visible_devices.as_deref());
    if run.nproc_per_node.is_none() && run.world_size.is_none() && run.total_processes.is_none() && gpus > 0 {
        run.nproc_per_node = Some("gpu".to_owned());
    }
    let ranks = Ranks::of(&run::planned(&run, &machine)?, gpus);
    let checked = check::ask(&python, &folder, &asked, &changes, ranks)?;
    if let Some(size) = &checked.parameters {
        run.engine.change("model.parameters", size.clone());
    }
    run.output_dir = run.output_dir.take().or_else(|| Some(checked.output_dir.clone()));
    let word = fit::PlannedBatch::of(&checked, ranks, &fit::gpus_here(ranks));
    if let Some(micro) = word.begins_at(&checked) {
        run.engine.change(DYNAMIC_FROM, micro.into());
    }
    let mut plan = run::planned(&run, &machine)?;
    plan.notes.extend(word.sentence);
    Ok(run::carry_out(plan, &run)?)
}

/// How many processes train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ranks {
    all: u32,
    here: u32,
    /// Whether each has a GPU of its own.
    on_gpus: bool,
}

impl Ranks {
    fn of(plan: &Plan, gpus: usize) -> Self {
        let place = plan.bundle.ranks.first().map(|rank| &rank.place);
        let (here, nodes) = place.map_or((1, 1), |place| (place.local_world_size, place.node_count));
        let all = place.map_or(1, |place| place.world_size);
        // Before nodes have met a rank counts those of its own node alone.
        let all = all.max(here.saturating_mul(nodes.max(plan.bundle.gathering.nodes)));
        Self { all, here, on_gpus: gpus >= here as usize }
    }
}

/// What the package is asked by, under every command.
fn words(run: &RunFlags, algorithm: Option<&str>) -> Vec<OsString> {
    let config = run.engine.config().map(|path| ["--config".into(), path.as_os_str().to_owned()]);
    let algorithm = algorithm.map(|name| [OsString::from("--algorithm"), name.into()]);
    config.into_iter().chain(algorithm).flatten().collect()
}

/// What each rank runs; its settings are those of the launch (FERMI_TRAINING_FILE). A folder for results that the command
/// line names wins over the file's.
fn program(folder: &Path, algorithm: Option<&str>, trainer: Option<&str>, output: Option<&Path>) -> Vec<OsString> {
    let option = |name: &str, value: Option<&OsStr>| value.map(|value| [OsString::from(name), value.to_owned()]);
    let options = [
        option("--algorithm", algorithm.map(OsStr::new)),
        option("--trainer", trainer.map(OsStr::new)),
        option("--output-dir", output.map(Path::as_os_str)),
    ];
    [folder.into()].into_iter().chain(options.into_iter().flatten().flatten()).collect()
}

/// An option that says what kind of script is run, where there is none.
fn of_a_script(run: &RunFlags) -> Option<&'static str> {
    [("--module", run.module), ("--no-python", run.no_python), ("--run-path", run.run_path)]
        .into_iter()
        .find_map(|(name, is_given)| is_given.then_some(name))
}

fn no_kind_of_script(flag: &str) -> Notice {
    Notice::new(
        "no_script_here",
        Text::new(
            format!("fermi train 不运行脚本，{flag} 不起作用"),
            format!("fermi train runs no script, so that {flag} would have no effect"),
        ),
        Text::new(
            format!("删除 {flag}（或环境变量 PET_*）；自己的训练器用 --trainer，自己的脚本用 fermi run"),
            format!("remove {flag}, or its variable PET_*; --trainer takes a trainer of your own, fermi run a script"),
        ),
    )
}

fn no_script(word: &str) -> Notice {
    Notice::new(
        "no_script_here",
        Text::new(format!("fermi train 后面不能是 “{word}”"), format!("'{word}' cannot stand behind fermi train")),
        Text::new(
            "可用的只有 fermi train prepare；训练自己的脚本用 fermi run",
            "there is fermi train prepare alone; a script of your own is for fermi run",
        ),
    )
}

fn no_file() -> Notice {
    Notice::new(
        "no_training_file",
        Text::new("没有指定 training.yaml", "there is no training.yaml"),
        Text::new("请使用 --config training.yaml", "give it by --config training.yaml"),
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_option_that_is_shown_is_one() {
        let cli = crate::commands::Cli::command();
        let train = cli.find_subcommand("train").unwrap();
        let shown: Vec<&str> =
            train.get_arguments().filter(|it| !it.is_hide_set()).map(|it| it.get_id().as_str()).collect();
        for name in SHOWN {
            assert!(shown.contains(&name), "{name}");
        }
        assert_eq!(shown.len(), SHOWN.len(), "{shown:?}");
    }

    #[test]
    fn ranks_run_the_folder_with_the_words_of_the_recipe() {
        let results = Some(Path::new("/results"));
        let line = program(Path::new("/state/recipes/1"), Some("sft"), Some("mine:Trainer"), results);
        let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(line.join(" "), "/state/recipes/1 --algorithm sft --trainer mine:Trainer --output-dir /results");
        assert_eq!(program(Path::new("/r"), None, None, None), ["/r"]);
    }
}

//! `fermi launch generate --framework NAME --out DIR`.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::framework::Framework;
use fermi_domain::language::Text;
use fermi_domain::task::{TaskSpec, Work};
use fermi_frameworks::{LaunchOrder, launch};

use super::{EngineRefusal, cluster, write};
use crate::commands::engine::{Engine, EngineFlags};
use crate::speech;

/// Stands where the user gave no command.
const STAND_IN: &str = "train.py";

/// Write the files that a framework needs, with everything decided
///
/// Writes the framework's configuration and launch.json (arguments, and all variables of every rank) into a folder.
/// Nothing is started.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi launch generate --framework deepspeed --node gn6:4:10.0.0.6 --node gn7:4:10.0.0.7 \
                        --set zeroStage=3 --out launch -- train.py --epochs 3"
)]
pub struct GenerateFlags {
    /// Where the files go; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A node with its ranks, address and zone (repeatable, the first is the master); one of two ranks unless given
    #[arg(long = "node", value_name = "NAME:RANKS[:ADDRESS[:ZONE]]")]
    nodes: Vec<String>,
    /// No rank has a GPU
    #[arg(long)]
    cpu: bool,
    /// Port of rank 0
    #[arg(long, value_name = "PORT", default_value_t = 29500, value_parser = clap::value_parser!(u16).range(1..))]
    master_port: u16,
    /// Print the launch as JSON too
    #[arg(long)]
    json: bool,
    /// What runs in each rank
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    engine: EngineFlags,
}

pub(super) fn execute(flags: &GenerateFlags) -> Result<(), EngineRefusal> {
    let cluster = cluster::read(&flags.nodes, !flags.cpu)?;
    let mut engine = flags.engine.read()?;
    engine.options.master_port = Some(flags.master_port);
    let spec = task(flags, engine, cluster.ranks.world_size());
    let order = LaunchOrder {
        spec: &spec,
        ranks: &cluster.ranks,
        nodes: &cluster.nodes,
        dataset_path: None,
        model_path: None,
        model_parameters: None,
        known_models: fermi_planner::catalogue::parameters_of,
    };
    let mut launch = launch(&order)?;
    if flags.command.is_empty() && matches!(spec.work, Work::Command { .. }) {
        launch.notes.push(Text::new(
            format!("未给出命令：以 {STAND_IN} 代替"),
            format!("no command is given: {STAND_IN} stands for it"),
        ));
    }
    for line in &launch.notes {
        speech::say(&format!("{}\n", line.in_language(speech::language())));
    }
    let written = write::all(&flags.out, &launch, &cluster, flags.master_port)?;
    if flags.json {
        speech::print(&format!("{}\n", written.launch));
    } else {
        let lines: String = written.paths.iter().map(|path| format!("{}\n", path.display())).collect();
        speech::print(&lines);
    }
    Ok(())
}

fn task(flags: &GenerateFlags, mut engine: Engine, ranks: u32) -> TaskSpec {
    let framework = engine.framework.unwrap_or_default();
    engine.framework = Some(framework);
    let work = if flags.command.is_empty() && framework == Framework::Builtin {
        Work::Builtin { args: Vec::new() }
    } else {
        let argv = if flags.command.is_empty() { vec![STAND_IN.to_owned()] } else { flags.command.clone() };
        Work::Command { argv, directory: None, env: Default::default(), secrets: Default::default(), interpreter: None }
    };
    engine.task("launch", work, ranks)
}

//! `fermi launch generate --framework NAME --out DIR`.

use std::path::PathBuf;

use clap::Args;
use fermi_domain::framework::Framework;
use fermi_domain::language::Text;
use fermi_domain::task::{DistributedConfig, LaunchMode, LaunchOptions, Policies, Strategy, TaskSpec, Work};
use fermi_frameworks::{LaunchOrder, launch};

use super::{Refused, cluster, settings, write};
use crate::speech;

/// Write the files that a framework needs, with everything decided
///
/// Writes the framework's configuration and launch.json (arguments, variables of all ranks and of each) into a folder.
/// Nothing is started.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi launch generate --framework deepspeed --node gn6:4:10.0.0.6 --node gn7:4:10.0.0.7 \
                        --set zeroStage=3 --out launch -- train.py --epochs 3"
)]
pub struct GenerateFlags {
    /// pytorch-ddp, pytorch-fsdp, deepspeed, horovod, megatron-lm, jax, command, builtin
    #[arg(long, value_name = "NAME")]
    framework: Option<String>,
    /// Where the files go; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A node with its ranks, address and zone (repeatable, the first is the master); one of two ranks unless given
    #[arg(long = "node", value_name = "NAME:RANKS[:ADDRESS[:ZONE]]")]
    nodes: Vec<String>,
    /// No rank has a GPU
    #[arg(long)]
    cpu: bool,
    /// A setting of the framework (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A training.yaml: strategy, batch and precision come from it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    data_parallel: u32,
    #[arg(long, value_name = "N", default_value_t = 1)]
    pipeline_parallel: u32,
    #[arg(long, value_name = "N", default_value_t = 1)]
    tensor_parallel: u32,
    /// nccl or gloo
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Network interface of NCCL and gloo
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// How long collectives wait
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep NCCL off InfiniBand
    #[arg(long)]
    no_infiniband: bool,
    /// NCCL_DEBUG
    #[arg(long, value_name = "LEVEL")]
    nccl_debug: Option<String>,
    #[arg(long, value_name = "PORT", default_value_t = 29500)]
    master_port: u16,
    /// Print the launch as JSON too
    #[arg(long)]
    json: bool,
    /// What runs in each rank
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn execute(flags: &GenerateFlags) -> Result<(), Refused> {
    let cluster = cluster::read(&flags.nodes, !flags.cpu)?;
    let mut options = LaunchOptions {
        backend: flags.backend.clone(),
        master_port: Some(flags.master_port),
        interface: flags.interface.clone(),
        timeout: flags.timeout,
        nccl_debug: flags.nccl_debug.clone(),
        infiniband: flags.no_infiniband.then_some(false),
        ..LaunchOptions::default()
    };
    let mut said = Vec::new();
    let mut framework = flags.framework.as_deref().map(known).transpose()?;
    if let Some(path) = &flags.config {
        let file = settings::training_yaml(path, &cluster)?;
        said.extend(file.lines());
        options.framework.clone_from(file.settings());
        options.backend = options.backend.or_else(|| Some(file.backend.to_owned()));
        framework = framework.or(Some(file.strategy.framework()));
    }
    settings::given(&flags.set, &mut options.framework)?;
    let spec = task(flags, framework, options);
    let order =
        LaunchOrder { spec: &spec, ranks: &cluster.ranks, nodes: &cluster.nodes, dataset_path: None, model_path: None };
    let launch = launch(&order)?;
    // The file's own reading of the batch is the launch's too, once.
    for note in launch.notes.iter().cloned() {
        if !said.contains(&note) {
            said.push(note);
        }
    }
    for line in &said {
        speech::say(&format!("{}\n", line.in_language(speech::language())));
    }
    let written = write::all(&flags.out, &launch, &cluster, flags.master_port)?;
    if flags.json {
        speech::print(&format!("{}\n", serde_json::to_string(&launch).unwrap_or_default()));
    } else {
        let lines: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
        speech::print(&lines);
    }
    Ok(())
}

/// The framework of this name.
pub(in crate::commands) fn known(name: &str) -> Result<Framework, Refused> {
    Framework::parse(name).ok_or_else(|| {
        let names = Framework::ALL.map(Framework::as_str);
        Refused {
            text: Text::new(format!("不支持的分布式框架 {name}"), format!("The framework {name} is not known")),
            hint: Text::new(format!("可选：{}", names.join("、")), format!("choose one of {}", names.join(", "))),
        }
    })
}

fn task(flags: &GenerateFlags, framework: Option<Framework>, options: LaunchOptions) -> TaskSpec {
    let (pipeline_parallel, tensor_parallel) = (flags.pipeline_parallel, flags.tensor_parallel);
    // Data parallelism alone is what every framework does without being told.
    let wanted = flags.data_parallel > 0 || pipeline_parallel > 1 || tensor_parallel > 1;
    let strategy =
        wanted.then(|| Strategy { data_parallel: flags.data_parallel.max(1), pipeline_parallel, tensor_parallel });
    let work = if flags.command.is_empty() && framework == Some(Framework::Builtin) {
        Work::Builtin { args: Vec::new() }
    } else {
        let script = || vec!["train.py".to_owned()];
        let argv = Some(flags.command.clone()).filter(|words| !words.is_empty()).unwrap_or_else(script);
        Work::Command { argv, directory: None, env: Default::default(), interpreter: None }
    };
    TaskSpec {
        name: "launch".to_owned(),
        dataset: None,
        model_id: None,
        launch_mode: LaunchMode::default(),
        work,
        source: None,
        distributed: DistributedConfig { enabled: true, framework, strategy, ..DistributedConfig::default() },
        options,
        policies: Policies::default(),
        priority: 0,
        labels: Default::default(),
    }
}

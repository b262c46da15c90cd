//! Makes the runs one after the other, on this machine or as tasks of a server, and writes after each what is known.

use std::fs;
use std::time::Duration;

use clap::Parser;
use fermi_api::client::Client;
use fermi_api::v1::{CreateRequest, RequestedNodes};
use fermi_domain::contract::CUDA_VISIBLE_DEVICES;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::{Language, Notice, Text};
use fermi_domain::units::Seconds;
use fermi_hardware::gpu::{self, Gpus};

use super::fleet::{Device, Fleet};
use super::planning::Planned;
use super::refusals::{unwritten, words_refused};
use super::report::{CALIBRATION, Measurement, PICTURE, TEXTS};
use super::table::{Scaling, Trial, lines};
use super::teaching::Forecaster;
use super::trial::{self, Outcome, TrialOrder};
use super::{Refusal, ScaleFlags, earlier, node_trial};
use crate::commands::engine::Engine;
use crate::commands::task::work::{Sending, WorkFlags};
use crate::speech;

/// A task is given so much more time than it may take, for the case that nobody is left to stop it.
const BEYOND_S: u64 = 300;

/// Where runs are made.
pub enum Ground {
    /// On this machine.
    Here {
        gpus: Option<Box<Gpus>>,
        /// How many processes have a GPU, or a core, of their own.
        devices: u64,
    },
    /// On environments of a server.
    Nodes(Box<Nodes>),
}

/// Environments, and the task that all runs are made of.
pub struct Nodes {
    pub client: Client,
    pub fleet: Fleet,
    pub device: Device,
    request: CreateRequest,
    engine: Engine,
}

/// What stands behind `--` where runs are tasks.
#[derive(Debug, Parser)]
#[command(name = "--", no_binary_name = true, disable_help_flag = true)]
struct TaskWords {
    #[command(flatten)]
    work: WorkFlags,
}

impl Ground {
    /// Looks at what there is. The built-in trainer computes on cores, whatever else a machine has.
    pub fn of(flags: &ScaleFlags) -> Result<Self, Refusal> {
        let may_use_gpus = !flags.command.is_empty();
        if flags.nodes.is_empty() {
            let gpus = Gpus::open().filter(|gpus| may_use_gpus && !gpus.list().is_empty());
            return Ok(Self::Here { gpus: gpus.map(Box::new), devices: devices(may_use_gpus) });
        }
        flags.check_counts()?;
        let words = TaskWords::try_parse_from(&flags.command).map_err(|error| {
            let said = error.to_string();
            words_refused(said.lines().next().unwrap_or_default().trim_start_matches("error: "))
        })?;
        let client = flags.server.connect()?;
        let fleet = Fleet::find(&client, &flags.nodes)?;
        let engine = words.work.engine()?;
        let mut request = words.work.request(&client, Sending::Send, engine.options.clone())?;
        request.policies.time_limit.get_or_insert(Seconds(flags.timeout.saturating_add(BEYOND_S)));
        let device = fleet.device(may_use_gpus);
        Ok(Self::Nodes(Box::new(Nodes { client, fleet, device, request, engine })))
    }

    pub fn environments(&self) -> Vec<String> {
        match self {
            Self::Here { .. } => Vec::new(),
            Self::Nodes(nodes) => nodes.fleet.names(),
        }
    }

    pub fn processes(&self, count: u64) -> u64 {
        match self {
            Self::Here { .. } => count,
            Self::Nodes(nodes) => nodes.fleet.processes(count),
        }
    }

    pub fn shares_devices(&self, count: u64) -> bool {
        match self {
            Self::Here { devices, .. } => count > *devices,
            Self::Nodes(nodes) => nodes.fleet.shares_devices(count, nodes.device),
        }
    }

    pub fn devices(&self) -> u64 {
        match self {
            Self::Here { devices, .. } => *devices,
            Self::Nodes(nodes) => nodes.fleet.devices(nodes.device),
        }
    }

    pub fn has_gpus(&self) -> bool {
        match self {
            Self::Here { gpus, .. } => gpus.is_some(),
            Self::Nodes(nodes) => nodes.device == Device::Gpu,
        }
    }

    /// What a count counts.
    pub fn noun(&self) -> (&'static str, &'static str) {
        match self {
            Self::Here { .. } => ("进程", "processes"),
            Self::Nodes(_) => ("节点", "nodes"),
        }
    }

    fn run(&self, flags: &ScaleFlags, next: &Planned) -> Outcome {
        let patience = Duration::from_secs(flags.timeout);
        match self {
            Self::Here { gpus, .. } => {
                let (words, folder) = (flags.words(next), flags.results_dir.join("runs"));
                let order = TrialOrder { words: &words, processes: next.processes, folder: &folder, patience };
                trial::run(&order, gpus.as_deref())
            }
            Self::Nodes(nodes) => node_trial::run(&nodes.client, &nodes.task(flags, next), patience),
        }
    }
}

impl Nodes {
    /// The task of one run.
    fn task(&self, flags: &ScaleFlags, next: &Planned) -> CreateRequest {
        let mut request = self.request.clone();
        let fill = |words: &mut Vec<String>| words.iter_mut().for_each(|word| *word = next.filled(word));
        if let Some(command) = &mut request.command {
            fill(&mut command.argv);
        }
        if let Some(recipe) = &mut request.recipe {
            fill(&mut recipe.args);
            if flags.command.is_empty() {
                recipe.args.extend(flags.trainer_words(next));
            }
        }
        let chosen = usize::try_from(next.count).unwrap_or(usize::MAX);
        let ids = self.fleet.environments.iter().take(chosen);
        let node_ids: Vec<EnvironmentId> = ids.map(|it| EnvironmentId::from(it.id.as_str())).collect();
        request.distributed_config = RequestedNodes {
            enabled: Some(node_ids.len() > 1),
            framework: Some(self.engine.framework.unwrap_or_default().as_str().to_owned()),
            strategy: self.engine.strategy(u32::try_from(next.processes).unwrap_or(u32::MAX)),
            master_node: node_ids.first().cloned(),
            node_ids,
            ..RequestedNodes::default()
        };
        request.task_name = match next.scaling {
            Scaling::Weak => format!("scale-weak-{}", next.count),
            Scaling::Strong => format!("scale-strong-{}", next.count),
        };
        request
    }
}

/// How many processes have a GPU, or a core, of their own here.
fn devices(may_use_gpus: bool) -> u64 {
    let listed = std::env::var(CUDA_VISIBLE_DEVICES).ok();
    let gpus = if may_use_gpus { gpu::visible_count(listed.as_deref()) } else { 0 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if gpus > 0 { gpus as u64 } else { cores as u64 }
}

impl ScaleFlags {
    /// Makes one run after the other and writes after each what is known; says how many failed.
    pub fn measure(&self, found: &mut Measurement, ground: &Ground, by: &Forecaster) -> Result<usize, Notice> {
        let planned = self.planned(|count| ground.processes(count));
        let (mut failed, mut is_first) = (0, true);
        for (at, next) in planned.iter().enumerate() {
            let progress = |outcome: Option<&str>| progress((at, planned.len()), ground, next, outcome);
            progress(None);
            match ground.run(self, next) {
                Outcome::Measured { throughput, memory_bytes } => {
                    found.unit = throughput.unit;
                    progress(Some(&format!("{:.1} {}", throughput.speed, throughput.unit)));
                    found.trials.push(Trial {
                        scaling: next.scaling,
                        nodes: matches!(ground, Ground::Nodes(_)).then_some(next.count),
                        processes: next.processes,
                        global_batch: self.knows_batch().then_some(next.global_batch()),
                        speed: throughput.speed,
                        memory_bytes,
                        shares_devices: ground.shares_devices(next.count),
                    });
                }
                Outcome::Failed(why) => {
                    failed += 1;
                    progress(Some(why.in_language(speech::language())));
                    let (n, (what_zh, what_en)) = (next.count, ground.noun());
                    found
                        .notes
                        .push(Text::new(format!("{n} 个{what_zh}：{}", why.zh), format!("{n} {what_en}: {}", why.en)));
                }
                Outcome::Interrupted => break,
            }
            found.complete = at + 1 == planned.len();
            found.lines = lines(&found.trials, &by.forecasts(&found.trials, found.unit));
            if std::mem::take(&mut is_first) {
                found.notes.extend(self.keep_earlier()?);
            }
            self.write(found)?;
        }
        Ok(failed)
    }

    /// What was measured into the same folder before stays there, under another name.
    fn keep_earlier(&self) -> Result<Option<Text>, Notice> {
        let kept = earlier::keep(&self.results_dir).map_err(|error| unwritten(&self.results_dir, &error))?;
        Ok(kept.map(|number| {
            Text::new(
                format!("此前测得的结果保留为 scaling-{number}.*"),
                format!("what was measured there before is kept as scaling-{number}.*"),
            )
        }))
    }

    /// Each file is whole or the one before, whenever this process ends.
    pub fn write(&self, found: &Measurement) -> Result<(), Notice> {
        let folder = &self.results_dir;
        let language = speech::language();
        let json = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
        let texts = [json(&found.json()), found.csv(), found.chart(language).svg(), found.page(language)];
        let calibration = found.learned.as_ref().map(|learned| (CALIBRATION, json(&learned.constants())));
        // The letters of a picture are Latin ones.
        let written = found.chart(Language::En).png().and_then(|picture| {
            let texts = TEXTS.into_iter().zip(texts).chain(calibration).map(|(name, text)| (name, text.into_bytes()));
            let mut files = texts.chain([(PICTURE, picture)]);
            files.try_for_each(|(name, content)| {
                let fresh = folder.join(format!("{name}.new"));
                fs::write(&fresh, content)?;
                fs::rename(&fresh, folder.join(name))
            })
        });
        written.map_err(|error| unwritten(folder, &error))
    }
}

fn progress((at, all): (usize, usize), ground: &Ground, planned: &Planned, outcome: Option<&str>) {
    let (at, n, batch, (what_zh, what_en)) = (at + 1, planned.count, planned.batch, ground.noun());
    let line = match (speech::language(), planned.scaling) {
        (Language::ZhCn, Scaling::Weak) => format!("[{at}/{all}] 弱扩展，{n} 个{what_zh}，每个进程 {batch} 条"),
        (Language::ZhCn, Scaling::Strong) => format!("[{at}/{all}] 强扩展，{n} 个{what_zh}，每个进程 {batch} 条"),
        (Language::En, Scaling::Weak) => format!("[{at}/{all}] weak, {n} {what_en} with {batch} sequences per process"),
        (Language::En, Scaling::Strong) => {
            format!("[{at}/{all}] strong, {n} {what_en} with {batch} sequences per process")
        }
    };
    match outcome {
        Some(outcome) => speech::say(&format!("{line}  {outcome}\n")),
        None if std::io::IsTerminal::is_terminal(&std::io::stderr()) => speech::say(&format!("{line} …\r")),
        None => {}
    }
}

//! `--framework`: what an engine needs, made by the same rules as a task's on the server.
//!
//! The launch is made before the nodes meet, for nodes with as many ranks as this one; the supervisor compares.

use std::path::PathBuf;

use fermi_attempt::bundle::{Gathering, RankPlan};
use fermi_attempt::late::Late;
use fermi_attempt::word::Placement;
use fermi_domain::ids::{EnvironmentId, LocalRank, NodeRank, Rank, WorkerId};
use fermi_domain::language::Text;
use fermi_domain::launch::{Phrase, Place, Serves, TaskLaunch};
use fermi_domain::messages::run::RunProblem;
use fermi_domain::rank_map::{RankMap, RankSlot};
use fermi_domain::task::{DistributedConfig, LaunchMode, Policies, TaskSpec, Work};
use fermi_frameworks::{LaunchOrder, NodeFacts};

use super::flags::RunFlags;
use super::machine::Machine;
use super::slurm;
use crate::commands::engine::{Engine, EngineRefusal};

/// What the framework adds to a run.
#[derive(Debug, Default)]
pub struct Addition {
    pub late: Late,
    pub serves: Serves,
    pub made_for: Option<Placement>,
    /// Written when the run really starts.
    pub files: Vec<(PathBuf, String)>,
    /// What was decided, for the user to hear.
    pub notes: Vec<Text>,
}

/// Where this node's things are, as far as the framework's words name them.
#[derive(Debug)]
pub struct Here<'a> {
    pub launch: PathBuf,
    pub output: PathBuf,
    pub checkpoint: PathBuf,
    pub master_addr: &'a str,
    pub gathering: &'a Gathering,
}

/// Adds the framework's words and variables to the ranks and says what else it needs; nothing without an engine.
pub fn add(
    flags: &RunFlags,
    machine: &Machine,
    here: &Here<'_>,
    ranks: &mut [RankPlan],
) -> Result<Addition, RunProblem> {
    let Some(engine) = wanted(flags)? else { return Ok(Addition::default()) };
    let world = World::of(flags, here.gathering, ranks)?;
    let spec = spec(flags, engine, &world);
    let (map, nodes) = world.ranks_and_nodes(machine, ranks)?;
    let launched = |spec: &TaskSpec| {
        let order = LaunchOrder { spec, ranks: &map, nodes: &nodes, dataset_path: None, model_path: None };
        fermi_frameworks::launch(&order).map_err(|refusal| RunProblem::of_framework(&refusal))
    };
    let launch = launched(&spec)?;
    // The interpreter and the script are the run's own; the framework's words are those behind them.
    let mut plain = spec;
    plain.distributed.framework = Some(fermi_domain::framework::Framework::Command);
    plain.options.framework.clear();
    plain.options.training = None;
    plain.distributed.strategy = None;
    let own_words = launched(&plain)?.argv.len();
    let interface = fermi_agent::interface_to(here.master_addr).unwrap_or_default();
    let place = |place: Place| match place {
        Place::LaunchFolder => here.launch.to_string_lossy().into_owned(),
        Place::OutputFolder => here.output.to_string_lossy().into_owned(),
        Place::CheckpointFolder => here.checkpoint.to_string_lossy().into_owned(),
        Place::SourceFolder => machine.folder.to_string_lossy().into_owned(),
        Place::Fermi => machine.own_binary.to_string_lossy().into_owned(),
        Place::MasterAddress => here.master_addr.to_owned(),
        Place::Interface => interface.clone(),
        // The interpreter stands in the run's own words, and the port is filled in by the supervisor.
        Place::Python | Place::MasterPort => String::new(),
    };
    let late_place = [Place::MasterAddress, Place::LaunchFolder, Place::OutputFolder, Place::Interface];
    let mut addition = Addition {
        late: Late { known: late_place.map(|known| (known, place(known))).to_vec(), ..Late::default() },
        serves: launch.serves,
        made_for: (here.gathering.nodes > 1).then_some(world.own),
        files: Vec::new(),
        notes: launch.notes.clone(),
    };
    for file in &launch.files {
        let path = here.launch.join(&file.path);
        if is_late(&file.text) {
            addition.late.files.push((path, file.text.clone()));
        } else {
            addition.files.push((path, file.text.fill(place)));
        }
    }
    let words: Vec<String> = launch.argv.iter().skip(own_words).map(|word| word.fill(place)).collect();
    for (local_rank, plan) in (0..).zip(ranks) {
        plan.argv.extend(words.iter().map(Into::into));
        for (variable, value) in variables(&launch, world.own_node, local_rank, machine) {
            if is_late(value) {
                addition.late.env.push((local_rank, variable.clone(), value.clone()));
            } else if plan.env.iter().all(|(known, _)| known != variable) {
                plan.env.push((variable.clone(), value.fill(place)));
            }
        }
    }
    Ok(addition)
}

fn is_late(phrase: &Phrase) -> bool {
    phrase.places().any(|place| place == Place::MasterPort)
}

/// A rank's variables: its own, and those of all that the user has not tuned.
fn variables<'a>(
    launch: &'a TaskLaunch,
    node: u32,
    local_rank: u32,
    machine: &'a Machine,
) -> impl Iterator<Item = &'a (String, Phrase)> {
    let node = launch.nodes.iter().find(|launch| launch.node_rank.0 == node);
    let own = node.and_then(|node| node.ranks.get(local_rank as usize)).map(|rank| rank.env.as_slice());
    let own = own.unwrap_or_default();
    let is_own = move |name: &str| own.iter().any(|(known, _)| known == name);
    let shared = launch.env.iter().filter(move |(name, _)| !is_own(name) && !machine.tuned.contains(name));
    own.iter().chain(shared)
}

/// The whole run, if every node is like this one.
struct World {
    nodes: u32,
    per_node: u32,
    own_node: u32,
    own: Placement,
}

impl World {
    fn of(flags: &RunFlags, gathering: &Gathering, ranks: &[RankPlan]) -> Result<Self, RunProblem> {
        let per_node = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        let is_one_of_several = flags.rank.is_some() || ranks.first().is_some_and(|rank| rank.place.node_count > 1);
        let own_node = match gathering.node_rank {
            Some(own) if !gathering.is_elastic() && !is_one_of_several => own,
            _ => return Err(RunProblem::FrameworkWithoutSeat),
        };
        let own = Placement {
            first_rank: own_node * per_node,
            world_size: gathering.nodes * per_node,
            node_rank: own_node,
            node_count: gathering.nodes,
        };
        Ok(Self { nodes: gathering.nodes, per_node, own_node, own })
    }

    fn ranks_and_nodes(&self, machine: &Machine, here: &[RankPlan]) -> Result<(RankMap, Vec<NodeFacts>), RunProblem> {
        let gpus = (machine.count_gpus)(machine.cuda_visible_devices.as_deref());
        let on_gpus = gpus >= here.len();
        let name = |node: u32| match here.first() {
            Some(plan) if node == self.own_node => plan.place.node_name.clone(),
            _ => format!("node{node}"),
        };
        let slots = (0..self.nodes).flat_map(|node| (0..self.per_node).map(move |local| (node, local)));
        let slots: Vec<RankSlot> = slots
            .map(|(node, local)| RankSlot {
                rank: Rank(node * self.per_node + local),
                local_rank: LocalRank(local),
                local_world_size: self.per_node,
                node_rank: NodeRank(node),
                node: name(node),
                environment: EnvironmentId::from(name(node).as_str()),
                worker: WorkerId::new(name(node), local),
                gpu: on_gpus.then_some(local),
            })
            .collect();
        let map = RankMap::try_from(slots).map_err(|error| RunProblem::of_framework(&error))?;
        let gpu_count = if on_gpus { self.per_node } else { 0 };
        let nodes = (0..self.nodes).map(|node| NodeFacts { name: name(node), gpu_count, ..NodeFacts::default() });
        Ok((map, nodes.collect()))
    }
}

/// Only Fermi's own launch makes an engine's files: other ways to start would silently leave them out.
pub fn refuse_elsewhere(flags: &RunFlags) -> Result<(), RunProblem> {
    let way = if flags.use_torchrun { "--use-torchrun" } else { "--mode create_slurm" };
    match flags.engine.first_given() {
        Some(flag) if flags.use_torchrun || slurm::is_create(flags) => Err(RunProblem::Framework {
            text: Text::new(
                format!("{flag} 不能与 {way} 同时使用"),
                format!("{flag} cannot be used together with {way}"),
            ),
            hint: Text::new(
                "去掉其中之一；Slurm 作业可用 fermi slurm script --run-option",
                "leave one of them out; for a Slurm job there is fermi slurm script --run-option",
            ),
        }),
        _ => Ok(()),
    }
}

/// The engine that is asked for; flags that only an engine heeds are refused without one.
fn wanted(flags: &RunFlags) -> Result<Option<Engine>, RunProblem> {
    let Some(first) = flags.engine.first_given() else { return Ok(None) };
    let refused = |EngineRefusal { text, hint }: EngineRefusal| RunProblem::Framework { text, hint };
    let engine = flags.engine.read().map_err(refused)?;
    if engine.framework.is_some() {
        return Ok(Some(engine));
    }
    Err(RunProblem::Framework {
        text: Text::new(
            format!("{first} 需要 --framework 或 --config"),
            format!("{first} needs --framework or --config"),
        ),
        hint: Text::new("例如 --framework pytorch-ddp", "such as --framework pytorch-ddp"),
    })
}

fn spec(flags: &RunFlags, engine: Engine, world: &World) -> TaskSpec {
    let (framework, strategy) = (engine.framework, engine.strategy(world.own.world_size));
    let module = flags.module.then(|| "-m".to_owned());
    let argv = module.into_iter().chain(flags.script.iter().map(|word| word.to_string_lossy().into_owned())).collect();
    let own = flags.variables.iter().filter_map(|variable| variable.split_once('='));
    let env = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    TaskSpec {
        name: "run".to_owned(),
        dataset: None,
        model_id: None,
        launch_mode: LaunchMode::default(),
        work: Work::Command { argv, directory: None, env, interpreter: None },
        source: None,
        distributed: DistributedConfig { enabled: true, framework, strategy, ..DistributedConfig::default() },
        options: engine.options,
        policies: Policies::default(),
        priority: 0,
        labels: Default::default(),
    }
}

//! `--framework`: what an engine needs, made by the same rules as a task's on the server.
//!
//! The launch is made before the nodes meet, for nodes with as many ranks as this one; the supervisor compares.

use fermi_attempt::bundle::{Meeting, RankNumbering};
use fermi_domain::contract::RankPosition;
use fermi_domain::ids::NodeRank;
use fermi_domain::language::Text;
use fermi_domain::launch::NodeLaunch;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::task::Work;
use fermi_frameworks::{LaunchOrder, NodeFacts};

use super::flags::RunFlags;
use super::foreign;
use super::machine::Machine;
use super::slurm;
use crate::commands::engine::{Engine, EngineRefusal};

/// What the framework adds to a run.
#[derive(Debug, Default)]
pub struct Framework {
    /// Without the program, which is the run's own; all of it empty where no framework is asked for.
    pub launch: NodeLaunch,
    /// What was decided, for the user to hear.
    pub notes: Vec<Text>,
    /// Which one it is, if there is one.
    pub name: Option<fermi_domain::framework::Framework>,
}

impl Framework {
    /// What the flags ask for, on nodes of which the `hosts` are known by name, the first one first.
    pub fn of(
        flags: &RunFlags,
        machine: &Machine,
        meeting: &Meeting,
        ranks: &[RankPosition],
        hosts: &[String],
    ) -> Result<Self, RunProblem> {
        let Some(engine) = wanted(flags)? else { return Ok(Self::default()) };
        let world = World::of(flags, meeting, ranks).ok_or(RunProblem::FrameworkWithoutSeat)?;
        let on_gpus = world.fits_gpus(machine);
        let nodes = world.nodes(on_gpus, ranks, hosts, &meeting.address);
        let counts = nodes.iter().map(|node| (node.name.as_str(), world.per_node));
        let map = fermi_frameworks::ranks_of(counts, on_gpus).map_err(|error| RunProblem::of_framework(&error))?;
        let name = engine.framework;
        let spec = engine.task("run", work(flags), map.world_size());
        let order = LaunchOrder {
            spec: &spec,
            ranks: &map,
            nodes: &nodes,
            dataset_path: None,
            model_path: None,
            model_parameters: None,
            known_models: fermi_planner::catalogue::parameters_of,
        };
        let refused =
            |refusal: &fermi_frameworks::LaunchRefusal| flags.engine.by_its_name(RunProblem::of_framework(refusal));
        let mut launch = fermi_frameworks::launch(&order).map_err(|refusal| refused(&refusal))?;
        launch.program.clear();
        let notes = std::mem::take(&mut launch.notes).into_iter().chain(time_out(flags)).collect();
        Ok(Self { launch: launch.node(NodeRank(world.own_node)).unwrap_or_default(), notes, name })
    }
}

/// The whole run, if every node is like this one.
struct World {
    nodes: u32,
    per_node: u32,
    own_node: u32,
}

impl World {
    /// None where the place of every rank cannot be known before the nodes meet.
    fn of(flags: &RunFlags, meeting: &Meeting, ranks: &[RankPosition]) -> Option<Self> {
        let gathering = &meeting.gathering;
        let first = ranks.first().filter(|_| flags.rank.is_none() && !gathering.is_elastic())?;
        let (per_node, own_node) = (first.local_world_size, gathering.node_rank);
        match meeting.numbering {
            RankNumbering::Assigned => Some(Self { nodes: gathering.nodes, per_node, own_node: own_node? }),
            // Slurm has started each rank by itself, and need not have put as many on every node.
            RankNumbering::Known => {
                let world = Self { nodes: first.node_count, per_node, own_node: first.node_rank };
                let is_even = first.rank == first.node_rank.saturating_mul(per_node).saturating_add(first.local_rank)
                    && first.world_size == first.node_count.saturating_mul(per_node);
                is_even.then_some(world)
            }
        }
    }

    /// Whether every rank here can have a GPU of its own.
    fn fits_gpus(&self, machine: &Machine) -> bool {
        (machine.count_gpus)(machine.cuda_visible_devices.as_deref()) >= self.per_node as usize
    }

    fn nodes(&self, on_gpus: bool, ranks: &[RankPosition], hosts: &[String], master: &str) -> Vec<NodeFacts> {
        let gpu_count = if on_gpus { self.per_node } else { 0 };
        let own_name = ranks.first().map(|place| place.node_name.as_str()).unwrap_or_default();
        let name = |node: u32| match hosts.get(node as usize) {
            _ if node == self.own_node => own_name.to_owned(),
            Some(host) => host.clone(),
            None => format!("node{node}"),
        };
        // Of the others no more is known than that they will come.
        let address = |node: u32| (node == 0 && self.nodes > 1).then(|| master.to_owned());
        let facts = |node| NodeFacts { name: name(node), address: address(node), gpu_count, ..NodeFacts::default() };
        (0..self.nodes).map(facts).collect()
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
    // mpirun's option of this name is another one.
    let foreign = foreign::hint_of_refusal(first);
    Err(RunProblem::Framework {
        text: Text::new(
            format!("{first} 需要 --framework 或 --config"),
            format!("{first} needs --framework or --config"),
        ),
        hint: foreign.unwrap_or_else(|| Text::new("例如 --framework pytorch-ddp", "such as --framework pytorch-ddp")),
    })
}

/// What `--timeout` does, for those who know it from mpirun, where it ends the run.
fn time_out(flags: &RunFlags) -> Option<Text> {
    let seconds = flags.engine.timeout()?;
    Some(Text::new(
        format!("--timeout {seconds}：集合通信最多等待 {seconds} 秒；限制整个运行的时间用 timeout 命令"),
        format!(
            "--timeout {seconds}: collectives wait up to {seconds} s; to limit the time of the run use the command timeout"
        ),
    ))
}

/// What the framework reads of the command line; the words themselves go to the ranks as they are.
fn work(flags: &RunFlags) -> Work {
    let own = flags.variables.iter().filter_map(|variable| variable.split_once('='));
    let env = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if flags.is_recipe {
        let name = "recipe".to_owned();
        return Work::Recipe { name, config: None, args: Vec::new(), directory: None, env, interpreter: None };
    }
    let module = flags.module.then(|| "-m".to_owned());
    let argv = module.into_iter().chain(flags.script.iter().map(|word| word.to_string_lossy().into_owned())).collect();
    Work::Command { argv, directory: None, env, secrets: Default::default(), interpreter: None }
}

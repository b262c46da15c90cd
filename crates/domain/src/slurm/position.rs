//! Where a task stands in its Slurm job, from the variables that Slurm gave it.
//!
//! Many variables speak of the job and some of the step that `srun` started; a script that asks for four tasks may well
//! start one launcher per node. So the step's variables come first, and the job's only where there is no step. What
//! SLURM_LAUNCH_NODE_IPADDR holds is the host where `srun` was called, which may be a login node: it is never asked.

use super::hostlist;
use crate::messages::slurm::SlurmProblem;

/// The first of the ports that Fermi gives to runs, and how many there are.
const FIRST_PORT: u64 = 29_500;
const PORTS: u64 = 1000;
/// Step numbers from here up are Slurm's own shells (interactive, batch, extern), not steps that a user started.
pub const SPECIAL_STEPS: u64 = 0xffff_fff0;

/// What this process is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// It is its node's only task and starts the node's ranks.
    LauncherPerNode,
    /// Slurm started one task for each rank, and this is that rank.
    TaskPerRank { rank: u32, world_size: u32, local_rank: u32, local_world_size: u32 },
}

/// A task's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmPosition {
    pub job: u64,
    /// The array's number and the task's in it.
    pub array: Option<(u64, u64)>,
    pub step: u64,
    /// How often Slurm has put the job back into the queue.
    pub restarts: u32,
    pub node_name: String,
    pub node_rank: u32,
    /// The hosts of the step, the first one first.
    pub hosts: Vec<String>,
    pub tasks: Tasks,
    pub gpus_on_node: Option<u32>,
}

impl SlurmPosition {
    pub fn node_count(&self) -> u32 {
        u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }

    /// The name of the job as people see it in squeue: `12`, or `12_3` for a task of an array.
    pub fn label(&self) -> String {
        self.array.map_or_else(|| self.job.to_string(), |(array, task)| format!("{array}_{task}"))
    }

    /// What nodes that meet must agree on; one that is left from before a requeue does not.
    pub fn run(&self) -> String {
        format!("slurm-{}.{}-{}", self.label(), self.step, self.restarts)
    }

    /// All nodes agree on it without talking. Jobs keep a distance, for the steps that one may run side by side and for
    /// trainers that take the next ports too.
    pub fn port(&self) -> u16 {
        let offset = self.job.wrapping_mul(7).wrapping_add(self.step) % PORTS;
        // Below 30,500, which fits.
        u16::try_from(FIRST_PORT + offset).unwrap_or(29_500)
    }
}

/// Reads the place from variables by name.
pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<SlurmPosition, SlurmProblem> {
    let variables = Variables { read: &variable };
    let job = variables.number("SLURM_JOB_ID").or_else(|| variables.number("SLURM_JOBID"));
    let job = job.ok_or(SlurmProblem::NotInSlurm)?;
    if ["SLURM_HET_SIZE", "SLURM_PACK_SIZE"].iter().any(|name| variables.number(name).is_some_and(|size| size > 1)) {
        return Err(SlurmProblem::HetJob);
    }
    let node_name = variables.text("SLURMD_NODENAME");
    let scope = match variables.step() {
        Some(step) if variables.belongs(node_name.as_deref()) => variables.step_scope(step)?,
        _ => variables.job_scope(node_name.as_deref())?,
    };
    let node_rank = variables
        .small("SLURM_NODEID")
        .or_else(|| position(&scope.hosts, node_name.as_deref()?))
        .filter(|rank| (*rank as usize) < scope.hosts.len())
        .ok_or(SlurmProblem::MissingVariable { name: "SLURM_NODEID" })?;
    let here = scope.hosts.get(node_rank as usize).cloned();
    let tasks = variables.tasks(&scope, node_rank)?;
    Ok(SlurmPosition {
        job,
        array: variables.number("SLURM_ARRAY_JOB_ID").zip(variables.number("SLURM_ARRAY_TASK_ID")),
        step: scope.step,
        restarts: variables.small("SLURM_RESTART_COUNT").unwrap_or(0),
        node_name: node_name.or(here).unwrap_or_default(),
        node_rank,
        hosts: scope.hosts,
        tasks,
        gpus_on_node: variables.gpus(),
    })
}

/// Which nodes and tasks belong together.
struct Scope {
    step: u64,
    hosts: Vec<String>,
    tasks_per_node: Vec<u32>,
}

struct Variables<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.read)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty() && value != "(null)")
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    fn small(&self, name: &str) -> Option<u32> {
        self.text(name)?.parse().ok()
    }

    fn hosts(&self, name: &str) -> Result<Option<Vec<String>>, SlurmProblem> {
        let Some(value) = self.text(name) else { return Ok(None) };
        hostlist::expand(&value).map(Some).ok_or(SlurmProblem::BadNodeList { value })
    }

    fn step(&self) -> Option<u64> {
        let id = self.number("SLURM_STEP_ID").or_else(|| self.number("SLURM_STEPID"))?;
        (id < SPECIAL_STEPS).then_some(id)
    }

    /// `sbatch` called inside a job hands the variables of that job's step on. They give themselves away by nodes that
    /// are not of this job.
    fn belongs(&self, node_name: Option<&str>) -> bool {
        let Ok(Some(step)) = self.hosts("SLURM_STEP_NODELIST") else { return true };
        let Ok(Some(job)) = self.hosts("SLURM_JOB_NODELIST") else { return true };
        let is_here = node_name.is_none_or(|name| step.iter().any(|host| host == name));
        is_here && step.iter().all(|host| job.contains(host))
    }

    fn step_scope(&self, step: u64) -> Result<Scope, SlurmProblem> {
        let hosts = match self.hosts("SLURM_STEP_NODELIST")? {
            Some(hosts) => hosts,
            // srun rewrites this one for the step too.
            None => {
                self.hosts("SLURM_NODELIST")?.ok_or(SlurmProblem::MissingVariable { name: "SLURM_STEP_NODELIST" })?
            }
        };
        if let Some(count) = self.number("SLURM_STEP_NUM_NODES").filter(|count| *count != hosts.len() as u64) {
            return Err(SlurmProblem::NodeCountDiffers { count, hosts: hosts.len() });
        }
        let tasks_per_node = self.tasks_per_node(hosts.len())?;
        Ok(Scope { step, hosts, tasks_per_node })
    }

    fn tasks_per_node(&self, nodes: usize) -> Result<Vec<u32>, SlurmProblem> {
        let named = self.text("SLURM_STEP_TASKS_PER_NODE").or_else(|| self.text("SLURM_TASKS_PER_NODE"));
        if let Some(counts) = named.as_deref().and_then(hostlist::expand_counts).filter(|counts| counts.len() == nodes)
        {
            return Ok(counts);
        }
        let tasks = self.number("SLURM_STEP_NUM_TASKS").or_else(|| self.number("SLURM_NTASKS"));
        let even = tasks.filter(|tasks| *tasks > 0 && tasks.is_multiple_of(nodes as u64));
        let each = even.and_then(|tasks| u32::try_from(tasks / nodes as u64).ok());
        each.map(|each| vec![each; nodes]).ok_or(SlurmProblem::MissingVariable { name: "SLURM_STEP_TASKS_PER_NODE" })
    }

    /// Without srun there is one process on one node, whatever the job asked for.
    fn job_scope(&self, node_name: Option<&str>) -> Result<Scope, SlurmProblem> {
        let hosts = match self.hosts("SLURM_JOB_NODELIST")? {
            Some(hosts) => Some(hosts),
            None => self.hosts("SLURM_NODELIST")?,
        };
        let nodes = self
            .number("SLURM_JOB_NUM_NODES")
            .or_else(|| self.number("SLURM_NNODES"))
            .unwrap_or_else(|| hosts.as_ref().map_or(1, |hosts| hosts.len() as u64));
        match (nodes, node_name) {
            (1, Some(name)) => Ok(Scope { step: 0, hosts: vec![name.to_owned()], tasks_per_node: vec![1] }),
            _ => Err(SlurmProblem::NeedsSrun { nodes }),
        }
    }

    fn tasks(&self, scope: &Scope, node_rank: u32) -> Result<Tasks, SlurmProblem> {
        if scope.tasks_per_node.iter().all(|tasks| *tasks == 1) {
            return Ok(Tasks::LauncherPerNode);
        }
        let needed = |name: &'static str| self.small(name).ok_or(SlurmProblem::MissingVariable { name });
        let rank = needed("SLURM_PROCID")?;
        let is_arbitrary = self.text("SLURM_DISTRIBUTION").is_some_and(|how| how.starts_with("arbitrary"));
        if is_arbitrary || (rank == 0 && node_rank != 0) {
            // Rank 0 may be on any host then, and nothing tells the others on which.
            return Err(SlurmProblem::ArbitraryDistribution);
        }
        Ok(Tasks::TaskPerRank {
            rank,
            world_size: scope.tasks_per_node.iter().sum(),
            local_rank: needed("SLURM_LOCALID")?,
            local_world_size: scope.tasks_per_node.get(node_rank as usize).copied().unwrap_or(1),
        })
    }

    fn gpus(&self) -> Option<u32> {
        let listed = |name: &str| {
            let list = self.text(name)?;
            u32::try_from(list.split(',').filter(|gpu| !gpu.is_empty()).count()).ok()
        };
        self.small("SLURM_GPUS_ON_NODE")
            .or_else(|| listed("SLURM_STEP_GPUS"))
            .or_else(|| listed("SLURM_JOB_GPUS"))
            .filter(|gpus| *gpus > 0)
    }
}

fn position(hosts: &[String], name: &str) -> Option<u32> {
    hosts.iter().position(|host| host == name).and_then(|at| u32::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NAME=VALUE …` without the `SLURM_` in front.
    fn placed(words: &str) -> Result<SlurmPosition, SlurmProblem> {
        let pairs: Vec<(String, String)> = words
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| {
                let name = if name == "NODE" { "SLURMD_NODENAME".to_owned() } else { format!("SLURM_{name}") };
                (name, value.to_owned())
            })
            .collect();
        from_variables(|name| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
    }

    /// A job of two nodes with two tasks each, as its batch script sees it.
    const BATCH: &str =
        "JOB_ID=7 JOB_NODELIST=n[1-2] JOB_NUM_NODES=2 NTASKS=4 TASKS_PER_NODE=2(x2) NODE=n1 NODEID=0 PROCID=0";

    fn step(more: &str) -> String {
        format!("JOB_ID=7 JOB_NODELIST=n[1-3] JOB_NUM_NODES=3 {more}")
    }

    #[test]
    fn one_task_per_node_is_a_launcher_even_where_the_job_asked_for_more() {
        let place = placed(&step(
            "NTASKS_PER_NODE=2 STEP_ID=0 STEP_NODELIST=n[2-3] STEP_NUM_NODES=2 STEP_NUM_TASKS=2 STEP_TASKS_PER_NODE=1(x2) \
             TASKS_PER_NODE=2(x3) NODE=n3 NODEID=1 PROCID=1 LOCALID=0 GPUS_ON_NODE=4 LAUNCH_NODE_IPADDR=10.9.9.9",
        ))
        .unwrap();
        assert_eq!(place.tasks, Tasks::LauncherPerNode);
        assert_eq!((place.node_rank, place.node_count(), place.node_name.as_str()), (1, 2, "n3"));
        assert_eq!(place.hosts.first().map(String::as_str), Some("n2"), "the step's first host, not the job's");
        assert_eq!((place.gpus_on_node, place.restarts, place.label().as_str()), (Some(4), 0, "7"));
    }

    #[test]
    fn several_tasks_per_node_are_the_ranks() {
        let unequal = "STEP_ID=2 STEP_NODELIST=n[1-3] STEP_NUM_NODES=3 STEP_NUM_TASKS=5 STEP_TASKS_PER_NODE=3,1(x2)";
        for (own, rank, local_rank, local_world_size, node) in [
            ("NODE=n1 NODEID=0 PROCID=0 LOCALID=0", 0, 0, 3, 0),
            ("NODE=n1 NODEID=0 PROCID=2 LOCALID=2", 2, 2, 3, 0),
            ("NODE=n2 NODEID=1 PROCID=3 LOCALID=0", 3, 0, 1, 1),
            ("NODE=n3 NODEID=2 PROCID=4 LOCALID=0", 4, 0, 1, 2),
            // srun -m cyclic deals the tasks out one by one.
            ("NODE=n1 NODEID=0 PROCID=3 LOCALID=1 DISTRIBUTION=cyclic", 3, 1, 3, 0),
        ] {
            let place = placed(&step(&format!("{unequal} {own}"))).unwrap();
            assert_eq!(place.tasks, Tasks::TaskPerRank { rank, world_size: 5, local_rank, local_world_size }, "{own}");
            assert_eq!(place.node_rank, node, "{own}");
        }
    }

    #[test]
    fn older_slurm_without_the_steps_task_counts_is_understood() {
        let place = placed(&step("STEPID=0 STEP_NODELIST=n[1-2] STEP_NUM_TASKS=4 NODE=n2 NODEID=1 PROCID=3 LOCALID=1"))
            .unwrap();
        assert_eq!(place.tasks, Tasks::TaskPerRank { rank: 3, world_size: 4, local_rank: 1, local_world_size: 2 });
    }

    #[test]
    fn a_missing_node_number_is_found_in_the_list() {
        let place = placed(&step("STEP_ID=0 STEP_NODELIST=n[1-3] STEP_TASKS_PER_NODE=1(x3) NODE=n3")).unwrap();
        assert_eq!(place.node_rank, 2);
    }

    #[test]
    fn without_srun_a_job_of_one_node_runs_and_a_larger_one_is_refused() {
        let alone =
            placed("JOB_ID=7 JOB_NODELIST=n1 JOB_NUM_NODES=1 NTASKS=4 TASKS_PER_NODE=4 NODE=n1 NODEID=0 JOB_GPUS=0,1")
                .unwrap();
        assert_eq!((alone.tasks, alone.node_count(), alone.gpus_on_node), (Tasks::LauncherPerNode, 1, Some(2)));
        assert_eq!(placed(BATCH), Err(SlurmProblem::NeedsSrun { nodes: 2 }));
        // The shell of salloc is on the login node.
        assert_eq!(placed("JOB_ID=7 JOB_NODELIST=n1 JOB_NUM_NODES=1"), Err(SlurmProblem::NeedsSrun { nodes: 1 }));
        // The shell of an interactive step counts as no step.
        assert_eq!(
            placed(&format!("{BATCH} STEP_ID=4294967290 STEP_NODELIST=n1 STEP_NUM_NODES=1 STEP_TASKS_PER_NODE=1")),
            Err(SlurmProblem::NeedsSrun { nodes: 2 })
        );
    }

    #[test]
    fn the_step_of_another_job_is_not_ours() {
        let inherited = "STEP_ID=5 STEP_NODELIST=n9 STEP_NUM_NODES=1 STEP_NUM_TASKS=1 STEP_TASKS_PER_NODE=1";
        assert_eq!(placed(&format!("{BATCH} {inherited}")), Err(SlurmProblem::NeedsSrun { nodes: 2 }));
    }

    #[test]
    fn a_task_of_an_array_has_its_own_port_and_name() {
        let task = |job: u64, number: u64| {
            placed(&format!(
                "JOB_ID={job} ARRAY_JOB_ID=40 ARRAY_TASK_ID={number} JOB_NODELIST=n1 JOB_NUM_NODES=1 NODE=n1 NODEID=0 RESTART_COUNT=2"
            ))
            .unwrap()
        };
        let (one, two) = (task(41, 3), task(40, 4));
        assert_eq!((one.label().as_str(), two.label().as_str()), ("40_3", "40_4"));
        assert_eq!((one.port(), two.port()), (29_787, 29_780));
        assert_eq!((one.restarts, one.run().as_str()), (2, "slurm-40_3.0-2"));
    }

    #[test]
    fn no_two_of_a_thousand_jobs_share_a_port() {
        let port = |job: u64| placed(&format!("JOB_ID={job} NODE=n1 NODEID=0")).unwrap().port();
        let ports: std::collections::BTreeSet<u16> = (5000..6000).map(port).collect();
        assert_eq!(ports.len(), 1000);
        assert!(ports.iter().all(|port| (29_500..30_500).contains(port)));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert_eq!(placed("NTASKS=4 PROCID=0"), Err(SlurmProblem::NotInSlurm));
        assert_eq!(placed(&format!("{BATCH} HET_SIZE=2")), Err(SlurmProblem::HetJob));
        let bad_list = placed("JOB_ID=7 STEP_ID=0 STEP_NODELIST=n[1-");
        assert_eq!(bad_list, Err(SlurmProblem::BadNodeList { value: "n[1-".into() }));
        let differs = placed(&step("STEP_ID=0 STEP_NODELIST=n[1-3] STEP_NUM_NODES=2 NODE=n1 NODEID=0"));
        assert_eq!(differs, Err(SlurmProblem::NodeCountDiffers { count: 2, hosts: 3 }));
        let arbitrary = "STEP_ID=1 STEP_NODELIST=n[1,3] STEP_NUM_NODES=2 STEP_TASKS_PER_NODE=1,2 NODE=n1 NODEID=0 PROCID=1 LOCALID=0 DISTRIBUTION=arbitrary";
        assert_eq!(placed(&step(arbitrary)), Err(SlurmProblem::ArbitraryDistribution));
        let nameless =
            placed(&step("STEP_ID=1 STEP_NODELIST=n[1-2] STEP_TASKS_PER_NODE=2(x2) NODE=n1 NODEID=0 LOCALID=0"));
        assert_eq!(nameless, Err(SlurmProblem::MissingVariable { name: "SLURM_PROCID" }));
    }
}

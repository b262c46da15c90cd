//! What a supervisor needs, made of what the server assigned and what this node knows. A plain function over values.

use std::ffi::OsString;
use std::path::PathBuf;

use fermi_api::link::Assignment;
use fermi_attempt::bundle::{self, Gathering, MasterPort, NodeBundle, Places as WhoPlaces, RankPlan};
use fermi_attempt::late::Late;
use fermi_domain::contract::{self, RankPlace};
use fermi_domain::exit::signal_name;
use fermi_domain::launch::{Phrase, Place, RankLaunch};
use fermi_process::output::Show;
use fermi_process::spawn::StdinPlan;

use crate::places::Places;

/// Signals that torch's own processes pass on, as under `fermi run`.
const SIGNALS: &str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

/// What the agent itself was started with, as far as ranks inherit it.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    pub omp_num_threads: Option<String>,
    pub nccl_async_error_handling: bool,
    /// The devices that the agent may use, by their numbers in CUDA_VISIBLE_DEVICES.
    pub devices: Option<Vec<String>>,
}

impl Inherited {
    pub fn look() -> Self {
        let text = |name: &str| std::env::var(name).ok();
        Self {
            omp_num_threads: text(contract::OMP_NUM_THREADS),
            nccl_async_error_handling: std::env::var_os(contract::TORCH_NCCL_ASYNC_ERROR_HANDLING).is_some(),
            devices: text(contract::CUDA_VISIBLE_DEVICES).map(|list| fermi_hardware::gpu::visible_devices(&list)),
        }
    }
}

/// Where a run keeps its things on this node.
#[derive(Clone, Debug)]
pub struct Homes {
    pub run_id: String,
    pub live: PathBuf,
    pub run: PathBuf,
    /// Where the ranks start.
    pub work: PathBuf,
    /// Which cluster, so that nodes of two never meet.
    pub cluster: String,
}

/// Makes the bundle. Files that hold rank 0's port are the supervisor's to write; the others have been written.
pub fn make(assignment: &Assignment, places: &Places, homes: &Homes, inherited: &Inherited) -> NodeBundle {
    let node_rank = assignment.run.node_rank.get();
    let coordinates = node_rank == 0;
    let mut late = Late {
        known: EVERY_OTHER_PLACE.map(|place| (place, places.of(place))).to_vec(),
        files: late_files(assignment, places),
        ..Late::default()
    };
    late.words = (0..).zip(&assignment.argv).filter(|(_, word)| is_late(word)).map(|(i, w)| (i, w.clone())).collect();
    let argv: Vec<OsString> = assignment.argv.iter().map(|word| word.fill(|place| places.of(place)).into()).collect();
    let ranks = (0..)
        .zip(&assignment.ranks)
        .map(|(local_rank, rank)| {
            let env = variables(assignment, rank, places, inherited);
            late.env.extend(late_variables(assignment, rank, local_rank));
            plan(assignment, rank, local_rank, argv.clone(), env, homes)
        })
        .collect();
    NodeBundle {
        version: bundle::VERSION,
        run_id: homes.run_id.clone(),
        task_id: assignment.run.task.to_string(),
        torch_run_id: assignment.run.task.to_string(),
        generation: assignment.run.generation.get(),
        attempts_before: assignment.attempts_before,
        live_folder: homes.live.clone(),
        run_folder: Some(homes.run.clone()),
        output_dir: places.outputs.clone(),
        checkpoint_dir: places.checkpoints.clone(),
        node_name: assignment.node_name.clone(),
        gathering: Gathering {
            nodes: assignment.node_count,
            least_nodes: assignment.node_count,
            last_call_ms: 0,
            node_rank: Some(node_rank),
            coordinates,
            run: format!("{}/{}-g{}", homes.cluster, assignment.run.task, assignment.run.generation),
            secret: assignment.secret.clone(),
            join_timeout_ms: assignment.join_timeout_ms,
            node_lost_after_ms: assignment.node_lost_after_ms,
        },
        master_addr: assignment.master_address.clone(),
        master_port: match (coordinates, assignment.master_port) {
            (true, None) => MasterPort::Any,
            (true, Some(port)) => MasterPort::Exactly(port),
            (false, port) => MasterPort::Elsewhere(port.unwrap_or_default()),
        },
        ranks,
        places: WhoPlaces::Known,
        late,
        serves: assignment.serves,
        made_for: None,
        restarts: assignment.restarts,
        ladder: assignment.ladder.clone(),
        start_timeout_ms: assignment.start_timeout_ms,
        resume: assignment.resume,
        stdout_filters: Vec::new(),
        stderr_filters: Vec::new(),
    }
}

const EVERY_OTHER_PLACE: [Place; 8] = [
    Place::LaunchFolder,
    Place::OutputFolder,
    Place::CheckpointFolder,
    Place::SourceFolder,
    Place::Fermi,
    Place::Python,
    Place::MasterAddress,
    Place::Interface,
];

/// Whether a phrase can be filled in only by the supervisor.
pub fn is_late(phrase: &Phrase) -> bool {
    phrase.places().any(|place| place == Place::MasterPort)
}

fn late_files(assignment: &Assignment, places: &Places) -> Vec<(PathBuf, Phrase)> {
    let late = assignment.files.iter().filter(|file| is_late(&file.text));
    late.map(|file| (places.launch.join(&file.path), file.text.clone())).collect()
}

/// The phrase that counts for each variable of a rank: its own, then those of all.
fn phrases<'a>(assignment: &'a Assignment, rank: &'a RankLaunch) -> impl Iterator<Item = &'a (String, Phrase)> {
    let is_own = |name: &str| rank.env.iter().any(|(own, _)| own == name);
    assignment.env.iter().filter(move |(name, _)| !is_own(name)).chain(&rank.env)
}

fn late_variables(assignment: &Assignment, rank: &RankLaunch, local_rank: u32) -> Vec<(u32, String, Phrase)> {
    let late = phrases(assignment, rank).filter(|(_, value)| is_late(value));
    late.map(|(name, value)| (local_rank, name.clone(), value.clone())).collect()
}

fn variables(
    assignment: &Assignment,
    rank: &RankLaunch,
    places: &Places,
    inherited: &Inherited,
) -> Vec<(String, String)> {
    let count = u32::try_from(assignment.ranks.len()).unwrap_or(u32::MAX);
    let mut env = vec![
        (contract::FERMI_WORKER_ID.to_owned(), rank.worker.to_string()),
        (contract::TORCHELASTIC_SIGNALS_TO_HANDLE.to_owned(), SIGNALS.to_owned()),
    ];
    if let Some(threads) = contract::omp_num_threads(inherited.omp_num_threads.as_deref(), count, None) {
        env.push((contract::OMP_NUM_THREADS.to_owned(), threads));
    }
    if !inherited.nccl_async_error_handling {
        env.push((contract::TORCH_NCCL_ASYNC_ERROR_HANDLING.to_owned(), "1".to_owned()));
    }
    if let Some(rung) = &assignment.ladder.checkpoint {
        env.push((contract::FERMI_CHECKPOINT_SIGNAL.to_owned(), signal_name(rung.signal)));
    }
    env.extend(places.search_path.clone().map(|path| (contract::PATH.to_owned(), path)));
    env.extend(devices(assignment, inherited).map(|list| (contract::CUDA_VISIBLE_DEVICES.to_owned(), list)));
    for (name, value) in phrases(assignment, rank).filter(|(_, value)| !is_late(value)) {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.fill(|place| places.of(place))));
    }
    env
}

/// The GPUs of this node's ranks, in their order, so that local rank i finds its own at position i.
fn devices(assignment: &Assignment, inherited: &Inherited) -> Option<String> {
    let named = |gpu: u32| {
        let visible = inherited.devices.as_ref().and_then(|devices| devices.get(gpu as usize).cloned());
        visible.unwrap_or_else(|| gpu.to_string())
    };
    let gpus: Option<Vec<String>> = assignment.ranks.iter().map(|rank| rank.gpu.map(named)).collect();
    gpus.filter(|gpus| !gpus.is_empty()).map(|gpus| gpus.join(","))
}

fn plan(
    assignment: &Assignment,
    rank: &RankLaunch,
    local_rank: u32,
    argv: Vec<OsString>,
    env: Vec<(String, String)>,
    homes: &Homes,
) -> RankPlan {
    RankPlan {
        place: RankPlace {
            rank: rank.rank.get(),
            local_rank,
            world_size: assignment.world_size,
            local_world_size: u32::try_from(assignment.ranks.len()).unwrap_or(u32::MAX),
            node_rank: assignment.run.node_rank.get(),
            node_count: assignment.node_count,
            node_name: assignment.node_name.clone(),
            role: "default".to_owned(),
            visible_local_rank: local_rank,
        },
        argv,
        env,
        folder: Some(homes.work.clone()),
        cpus: None,
        stdin: StdinPlan::Null,
        terminal: None,
        show_stdout: Show::Hidden,
        show_stderr: Show::Hidden,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use fermi_domain::healing::RestartPolicy;
    use fermi_domain::ids::{Rank, WorkerId};
    use fermi_domain::ladder::StopLadder;
    use fermi_domain::launch::Serves;

    use super::*;

    pub(crate) fn assignment(run: &str) -> Assignment {
        Assignment {
            run: run.parse().unwrap(),
            task_name: "训练 'x'".into(),
            node_name: "gn 6'\"训".into(),
            node_count: 1,
            world_size: 2,
            ranks: [(0, 5), (1, 3)]
                .map(|(rank, slot)| RankLaunch {
                    rank: Rank(rank),
                    worker: WorkerId::new("gn6", slot),
                    gpu: Some(slot),
                    env: Vec::new(),
                })
                .to_vec(),
            argv: vec!["/bin/sh".into(), "-c".into(), "echo hi".into()],
            directory: None,
            interpreter: None,
            source: None,
            files: Vec::new(),
            env: Vec::new(),
            serves: Serves::Nothing,
            master_address: "127.0.0.1".into(),
            master_port: None,
            secret: "s".into(),
            restarts: RestartPolicy { max_restarts: 0 },
            ladder: StopLadder::default(),
            node_lost_after_ms: 15_000,
            join_timeout_ms: 60_000,
            start_timeout_ms: None,
            attempts_before: 0,
            resume: false,
            output_dir: None,
        }
    }

    fn made(assignment: &Assignment, inherited: &Inherited) -> NodeBundle {
        let places = Places {
            launch: "/d/launch".into(),
            outputs: "/d/out".into(),
            checkpoints: "/d/out/checkpoints".into(),
            source: "/src 目录".into(),
            fermi: "/bin/fermi".into(),
            python: "/usr/bin/python3".into(),
            search_path: None,
            master_address: assignment.master_address.clone(),
            interface: "eth0".into(),
        };
        let homes = Homes {
            run_id: format!("c-{}", assignment.run),
            live: "/d/live".into(),
            run: "/d/run".into(),
            work: "/work".into(),
            cluster: "c".into(),
        };
        make(assignment, &places, &homes, inherited)
    }

    fn all_variables(bundle: &NodeBundle, local: usize, port: u16) -> std::collections::BTreeMap<String, String> {
        let start = bundle.start(bundle.attempts_before + 1, false, port, bundle.own_placement());
        bundle.variables(&bundle.ranks[local], &bundle.facts(&start)).into_iter().collect()
    }

    #[test]
    fn ranks_know_who_they_are_and_which_worker_they_have() {
        let mut assignment = assignment("task-1-g4-n2-i1");
        assignment.node_count = 3;
        assignment.world_size = 9;
        assignment.ranks[0].rank = Rank(7);
        assignment.ranks[1].rank = Rank(8);
        assignment.master_port = Some(29_511);
        let bundle = made(&assignment, &Inherited::default());
        assert_eq!(bundle.master_port, MasterPort::Elsewhere(29_511));
        assert_eq!((bundle.gathering.coordinates, bundle.gathering.run.as_str()), (false, "c/task-1-g4"));
        let variables = all_variables(&bundle, 1, 29_511);
        let expected = [
            ("RANK", "8"),
            ("LOCAL_RANK", "1"),
            ("WORLD_SIZE", "9"),
            ("NODE_RANK", "2"),
            ("FERMI_TASK_ID", "task-1"),
            ("FERMI_GENERATION", "4"),
            ("FERMI_WORKER_ID", "gn6-3"),
            ("FERMI_NODE_NAME", "gn 6'\"训"),
            ("CUDA_VISIBLE_DEVICES", "5,3"),
            ("OMP_NUM_THREADS", "1"),
            ("MASTER_PORT", "29511"),
            ("FERMI_RUN_MARK", "c-task-1-g4-n2-i1"),
        ];
        for (name, value) in expected {
            assert_eq!(variables.get(name).map(String::as_str), Some(value), "{name}");
        }
    }

    #[test]
    fn a_later_launch_goes_on_counting() {
        let mut assignment = assignment("task-1-g2-n0-i1");
        assignment.attempts_before = 3;
        let bundle = made(&assignment, &Inherited::default());
        assert_eq!(bundle.master_port, MasterPort::Any);
        assert_eq!(all_variables(&bundle, 0, 1)["FERMI_ATTEMPT"], "4");
        let folder = bundle.rank_folder(&bundle.ranks[0], 4).unwrap();
        assert_eq!(folder.path, PathBuf::from("/d/run/attempt_3/0"));
    }

    #[test]
    fn strange_texts_stay_as_they_are_and_places_are_filled_in() {
        let mut assignment = assignment("task-1-g1-n0-i1");
        let strange = "训练 'a' \"b\" $HOME `x` {masterPort} <launchFolder> \\";
        assignment.argv = vec![
            Phrase::place(Place::Python),
            strange.into(),
            Phrase::place(Place::SourceFolder).then("/a b.py"),
            Phrase::text("--url=").then_place(Place::MasterAddress).then(":").then_place(Place::MasterPort),
        ];
        assignment.env = vec![
            ("NAME".into(), strange.into()),
            ("SHARED".into(), "all".into()),
            ("CUDA_VISIBLE_DEVICES".into(), "9".into()),
            ("PORT".into(), Phrase::place(Place::MasterPort)),
        ];
        assignment.ranks[1].env = vec![("SHARED".into(), Phrase::place(Place::Interface))];
        let bundle = made(&assignment, &Inherited::default());
        let argv = bundle.late.argv(&bundle.ranks[0], 29_500);
        assert_eq!(argv, ["/usr/bin/python3", strange, "/src 目录/a b.py", "--url=127.0.0.1:29500"]);
        let (zero, one) = (all_variables(&bundle, 0, 29_500), all_variables(&bundle, 1, 29_500));
        assert_eq!((zero["NAME"].as_str(), zero["CUDA_VISIBLE_DEVICES"].as_str()), (strange, "9"));
        assert_eq!((zero["SHARED"].as_str(), one["SHARED"].as_str()), ("all", "eth0"));
        assert_eq!(zero["PORT"], "29500");
    }

    #[test]
    fn devices_are_those_that_the_agent_may_use() {
        let assignment = assignment("task-1-g1-n0-i1");
        let devices = Some((0..8).map(|gpu| format!("GPU-{gpu}")).collect());
        let bundle = made(&assignment, &Inherited { devices, ..Inherited::default() });
        assert_eq!(all_variables(&bundle, 0, 1)["CUDA_VISIBLE_DEVICES"], "GPU-5,GPU-3");
        let mut without = assignment;
        without.ranks.iter_mut().for_each(|rank| rank.gpu = None);
        assert!(!all_variables(&made(&without, &Inherited::default()), 0, 1).contains_key("CUDA_VISIBLE_DEVICES"));
    }
}

//! The files on disk, and the launch as they have it: placeholders filled in, every rank with all its variables.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use fermi_attempt::bundle::{Gathering, MasterPort, Meeting, RankNumbering};
use fermi_attempt::launch::{Devices, FileOutside, Folders, Prepared, RunIdentity, Site, prepare, unseen_ranks};
use fermi_domain::contract::{self, Inherited};
use fermi_domain::ids::NodeRank;
use fermi_domain::language::{Text, reason};
use fermi_domain::launch::{NodePart, RunPolicy, TaskLaunch};
use fermi_process::spawn::RankCommand;
use serde_json::{Value, json};

use super::{EngineRefusal, cluster::Cluster};

const FILE: &str = "launch.json";
const OUTPUTS: &str = "outputs";
const CHECKPOINTS: &str = "outputs/checkpoints";

/// Variables that only a run under Fermi has.
const OF_A_RUN: [&str; 6] = [
    contract::FERMI_TASK_ID,
    contract::FERMI_ATTEMPT,
    contract::FERMI_GENERATION,
    contract::FERMI_PROGRESS_FILE,
    contract::FERMI_RUN_MARK,
    contract::TORCHELASTIC_ERROR_FILE,
];

/// What was written.
pub(super) struct Written {
    pub paths: Vec<PathBuf>,
    /// The launch, as `launch.json` has it.
    pub launch: Value,
}

/// Writes every file of the launch and `launch.json`. What an earlier launch has left in the folder goes.
pub(super) fn all(out: &Path, launch: &TaskLaunch, cluster: &Cluster, port: u16) -> Result<Written, EngineRefusal> {
    fs::create_dir_all(out).map_err(|error| refused(out, &error))?;
    let folder = fs::canonicalize(out).map_err(|error| refused(out, &error))?;
    let master = cluster.nodes.first().map(|node| node.address.clone().unwrap_or_else(|| node.name.clone()));
    let start = Start { site: site(folder), master: master.unwrap_or_else(|| "127.0.0.1".to_owned()), port };
    let nodes = launch.nodes.iter().filter_map(|part| start.node(launch, part.node_rank));
    let nodes: Vec<Prepared> = nodes.collect::<Result<_, _>>()?;
    remove_earlier(out);
    // Every node gets the same files.
    let mut texts: Vec<(String, String)> = match nodes.first() {
        Some(Prepared { bundle, files }) => {
            files.texts(&bundle.deferred, port).map(|(path, text)| (start.name(path), text)).collect()
        }
        None => Vec::new(),
    };
    let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
    let json = start.launch(launch, &nodes, &names);
    texts.push((FILE.to_owned(), serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"));
    let mut paths = Vec::new();
    for (name, text) in texts {
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| refused(&path, &error))?;
        paths.push(path);
    }
    Ok(Written { paths, launch: json })
}

fn refused(path: &Path, error: &io::Error) -> EngineRefusal {
    let why = reason::of_io(error);
    EngineRefusal {
        text: Text::new(
            format!("无法写入 {}：{}", path.display(), why.zh),
            format!("cannot write {}: {}", path.display(), why.en),
        ),
        hint: Text::new("换一个 --out 目录", "give another folder with --out"),
    }
}

impl From<FileOutside> for EngineRefusal {
    fn from(outside: FileOutside) -> Self {
        Self::of(&outside)
    }
}

/// The files of the launch that was here before, by its own list. A file of another framework would mislead.
fn remove_earlier(out: &Path) {
    let Ok(text) = fs::read_to_string(out.join(FILE)) else { return };
    let earlier: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_ours = earlier["nodes"].is_array() && earlier["argv"].is_array();
    let names = earlier["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in names.filter(|_| is_ours) {
        let mut parts = Path::new(name).components();
        if matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            let _ = fs::remove_file(out.join(name));
        }
    }
}

/// Anywhere, for those who start the ranks themselves: programs by name, folders from where they stand.
fn site(launch: PathBuf) -> Site {
    let folders = Folders {
        live: PathBuf::new(),
        run: None,
        launch,
        output: OUTPUTS.into(),
        checkpoint: CHECKPOINTS.into(),
        source: ".".into(),
    };
    Site {
        folders,
        fermi: "fermi".into(),
        python: Some("python".into()),
        search_path: None,
        interface: None,
        inherited: Inherited::default(),
        tuned: Default::default(),
        devices: Devices::OfRanks { visible: None },
        signals: contract::SIGNALS_TO_HANDLE.to_owned(),
    }
}

/// Where and how the ranks would start.
struct Start {
    site: Site,
    master: String,
    port: u16,
}

impl Start {
    /// A file's name in the launch folder.
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.site.folders.launch).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// What a supervisor of this node would get.
    fn node(&self, launch: &TaskLaunch, node_rank: NodeRank) -> Option<Result<Prepared, FileOutside>> {
        let node = launch.node(node_rank)?;
        let run = RunIdentity {
            run_id: String::new(),
            task_id: String::new(),
            torch_run_id: "launch".to_owned(),
            generation: 1,
            owner: String::new(),
        };
        let meeting = Meeting {
            gathering: Gathering::alone(),
            address: self.master.clone(),
            port: MasterPort::Exactly(self.port),
            numbering: RankNumbering::Known,
        };
        let ranks = unseen_ranks(&node, node_rank.get(), None);
        Some(prepare(&node, &self.site, &RunPolicy::default(), run, meeting, ranks))
    }

    fn launch(&self, launch: &TaskLaunch, nodes: &[Prepared], files: &[&str]) -> Value {
        let commands = |prepared: &Prepared| -> Vec<RankCommand> {
            let bundle = &prepared.bundle;
            let facts = bundle.facts(&bundle.foreseen_start(self.port, bundle.own_position()));
            bundle.ranks.iter().map(|rank| bundle.command(rank, &facts)).collect()
        };
        let commands: Vec<Vec<RankCommand>> = nodes.iter().map(commands).collect();
        let first = commands.first().and_then(|ranks| ranks.first());
        let argv: Vec<_> = first.iter().flat_map(|command| &command.argv).map(|word| word.to_string_lossy()).collect();
        let nodes: Vec<Value> = launch.nodes.iter().zip(&commands).map(|(part, ranks)| node(part, ranks)).collect();
        json!({
            "argv": argv,
            "files": files,
            "serves": launch.serves,
            "nodes": nodes,
            "notes": launch.notes,
        })
    }
}

fn node(part: &NodePart, commands: &[RankCommand]) -> Value {
    let ranks = part.ranks.iter().zip(commands).map(|(rank, command)| {
        let env = command.env.iter().filter(|(name, _)| !OF_A_RUN.contains(&name.as_str()));
        let env: BTreeMap<&String, &String> = env.map(|(name, value)| (name, value)).collect();
        json!({"rank": rank.rank, "worker": rank.worker, "gpu": rank.gpu, "env": env})
    });
    json!({"name": part.name, "nodeRank": part.node_rank, "ranks": ranks.collect::<Vec<_>>()})
}

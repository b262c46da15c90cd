//! The files on disk, and the launch as they have it: places filled in, every rank with all its variables.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use fermi_domain::contract::{self, AttemptFacts, RankFiles, RankPlace};
use fermi_domain::language::Text;
use fermi_domain::launch::{NodeLaunch, Phrase, Place, RankLaunch, TaskLaunch};
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
    let filled = Filled { folder, master: master.unwrap_or_else(|| "127.0.0.1".to_owned()), port };
    remove_earlier(out);
    let mut texts: Vec<(&str, String)> = Vec::new();
    for file in &launch.files {
        texts.push((file.path.as_str(), filled.text(&file.text)));
    }
    let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
    let json = filled.launch(launch, &names);
    texts.push((FILE, serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"));
    let mut paths = Vec::new();
    for (name, text) in texts {
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| refused(&path, &error))?;
        paths.push(path);
    }
    Ok(Written { paths, launch: json })
}

fn refused(path: &Path, error: &io::Error) -> EngineRefusal {
    EngineRefusal {
        text: Text::new(
            format!("无法写入 {}：{error}", path.display()),
            format!("cannot write {}: {error}", path.display()),
        ),
        hint: Text::new("换一个 --out 目录", "give another folder with --out"),
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

/// What the places of the launch are, for those who start it themselves.
struct Filled {
    folder: PathBuf,
    master: String,
    port: u16,
}

impl Filled {
    fn text(&self, phrase: &Phrase) -> String {
        phrase.fill(|place| match place {
            Place::LaunchFolder => self.folder.to_string_lossy().into_owned(),
            Place::OutputFolder => OUTPUTS.to_owned(),
            Place::CheckpointFolder => CHECKPOINTS.to_owned(),
            Place::SourceFolder => ".".to_owned(),
            Place::Fermi => "fermi".to_owned(),
            Place::Python => "python".to_owned(),
            Place::MasterAddress => self.master.clone(),
            Place::MasterPort => self.port.to_string(),
            Place::Interface => String::new(),
        })
    }

    fn launch(&self, launch: &TaskLaunch, files: &[&str]) -> Value {
        let argv: Vec<String> = launch.argv.iter().map(|word| self.text(word)).collect();
        let nodes: Vec<Value> = launch.nodes.iter().map(|node| self.node(launch, node)).collect();
        json!({
            "argv": argv,
            "files": files,
            "serves": launch.serves,
            "nodes": nodes,
            "notes": launch.notes,
        })
    }

    fn node(&self, launch: &TaskLaunch, node: &NodeLaunch) -> Value {
        let ranks = (0..).zip(&node.ranks).map(|(local_rank, rank)| {
            json!({
                "rank": rank.rank,
                "worker": rank.worker,
                "gpu": rank.gpu,
                "env": self.variables(launch, node, rank, local_rank),
            })
        });
        json!({"name": node.name, "nodeRank": node.node_rank, "ranks": ranks.collect::<Vec<_>>()})
    }

    /// All variables of a rank: those of every launch, then the framework's, then its own.
    fn variables(
        &self,
        launch: &TaskLaunch,
        node: &NodeLaunch,
        rank: &RankLaunch,
        local_rank: u32,
    ) -> BTreeMap<String, String> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let place = RankPlace {
            rank: rank.rank.get(),
            local_rank,
            world_size: count(launch.nodes.iter().map(|node| node.ranks.len()).sum()),
            local_world_size: count(node.ranks.len()),
            node_rank: node.node_rank.get(),
            node_count: count(launch.nodes.len()),
            node_name: node.name.clone(),
            role: "default".to_owned(),
            visible_local_rank: local_rank,
        };
        let facts = AttemptFacts {
            task_id: String::new(),
            run_id: "launch".to_owned(),
            mark: String::new(),
            attempt: 1,
            generation: 1,
            max_restarts: 0,
            master_addr: self.master.clone(),
            master_port: self.port,
            resume: false,
        };
        let files = RankFiles {
            error_file: String::new(),
            progress_file: String::new(),
            output_dir: OUTPUTS.to_owned(),
            checkpoint_dir: CHECKPOINTS.to_owned(),
        };
        let mut env: BTreeMap<String, String> = contract::rank_variables(&place, &facts, &files).into_iter().collect();
        env.retain(|name, _| !OF_A_RUN.contains(&name.as_str()));
        let gpus: Option<Vec<String>> = node.ranks.iter().map(|rank| Some(rank.gpu?.to_string())).collect();
        env.extend(gpus.map(|gpus| (contract::CUDA_VISIBLE_DEVICES.to_owned(), gpus.join(","))));
        // Each node has its own interface, which nobody knows here: the libraries choose.
        let is_known = |value: &Phrase| value.places().all(|place| place != Place::Interface);
        let own = launch.env.iter().chain(&rank.env).filter(|(_, value)| is_known(value));
        env.extend(own.map(|(name, value)| (name.clone(), self.text(value))));
        env
    }
}

//! Nodes, ranks and tasks to launch.

use fermi_domain::{
    framework::Framework,
    ids::{EnvironmentId, LocalRank, NodeRank, Rank, WorkerId},
    launch::{TaskLaunch, Template},
    rank_map::{RankMap, RankSlot},
    task::{DatasetChoice, DistributedConfig, LaunchOptions, Policies, Selection, Strategy, TaskSpec, Work},
};
use fermi_frameworks::{LaunchOrder, LaunchRefusal, NodeFacts, launch};
use serde_json::Value;

/// A node: name, ranks, zone.
pub type Node = (&'static str, u32, &'static str);

pub const ONE: [Node; 1] = [("pytorch-dev-env", 2, "北京可用区A")];
pub const UNEQUAL: [Node; 3] = [
    ("pytorch-dev-env", 2, "北京可用区A"),
    ("llm-training-env", 4, "北京可用区A"),
    ("nlp-research-lab", 8, "北京可用区A"),
];
pub const TWO_ZONES: [Node; 2] = [("pytorch-dev-env", 4, "北京可用区A"), ("llm-training-env", 4, "深圳可用区C")];

/// A task on some nodes, with or without GPUs.
pub struct Scene {
    pub spec: TaskSpec,
    pub ranks: RankMap,
    pub nodes: Vec<NodeFacts>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gpus {
    OnePerRank,
    None,
}

impl Scene {
    pub fn new(framework: Framework, nodes: &[Node], gpus: Gpus) -> Self {
        let distributed = DistributedConfig { enabled: true, framework: Some(framework), ..Default::default() };
        let spec = TaskSpec {
            name: "gpt3-pretraining".into(),
            dataset: Some(DatasetChoice { dataset_id: "dataset-001".into(), dataset_version_id: "version-001".into() }),
            model_id: Some("model-001".into()),
            selection: Selection::Environments,
            work: command(&["train.py", "--epochs", "3"]),
            source: None,
            distributed,
            options: LaunchOptions::default(),
            policies: Policies::default(),
            priority: 0,
            labels: Default::default(),
        };
        let facts = (1..).zip(nodes).map(|(index, (name, ranks, zone))| NodeFacts {
            name: (*name).to_owned(),
            address: Some(format!("192.168.{index}.{index}0")),
            zone: Some((*zone).to_owned()),
            gpu_model: (gpus == Gpus::OnePerRank).then(|| "A100".to_owned()),
            gpu_count: if gpus == Gpus::OnePerRank { *ranks } else { 0 },
        });
        let counts: Vec<(&str, u32)> = nodes.iter().map(|(name, ranks, _)| (*name, *ranks)).collect();
        Self { spec, ranks: ranks(&counts, gpus), nodes: facts.collect() }
    }

    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.spec.options.framework.insert(key.to_owned(), value.into());
        self
    }

    pub fn strategy(mut self, data_parallel: u32, pipeline_parallel: u32, tensor_parallel: u32) -> Self {
        self.spec.distributed.strategy = Some(Strategy { data_parallel, pipeline_parallel, tensor_parallel });
        self
    }

    pub fn argv(mut self, words: &[&str]) -> Self {
        self.spec.work = command(words);
        self
    }

    pub fn launch(&self) -> Result<TaskLaunch, LaunchRefusal> {
        launch(&LaunchOrder {
            spec: &self.spec,
            ranks: &self.ranks,
            nodes: &self.nodes,
            dataset_path: Some("/data/wiki 2024".into()),
            model_path: Some("/models/llama2-7b".into()),
            model_parameters: None,
            known_models: |name| (name == "meta-llama/Llama-2-13b-hf").then_some(13_000_000_000),
        })
    }
}

pub fn command(words: &[&str]) -> Work {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    Work::Command { argv, directory: None, env: Default::default(), secrets: Default::default(), interpreter: None }
}

pub fn ranks(nodes: &[(&str, u32)], gpus: Gpus) -> RankMap {
    let mut slots = Vec::new();
    for (node_rank, (node, count)) in (0_u32..).zip(nodes) {
        for local in 0..*count {
            slots.push(RankSlot {
                rank: Rank(u32::try_from(slots.len()).unwrap()),
                local_rank: LocalRank(local),
                local_world_size: *count,
                node_rank: NodeRank(node_rank),
                node: (*node).to_owned(),
                environment: EnvironmentId(format!("env-{node_rank:03}")),
                worker: WorkerId::new(*node, local),
                gpu: (gpus == Gpus::OnePerRank).then_some(local),
            });
        }
    }
    RankMap::try_from(slots).unwrap()
}

/// The text of a file of a launch, places in angle brackets.
pub fn file(launch: &TaskLaunch, path: &str) -> String {
    launch.files.iter().find(|file| file.path == path).map(|file| file.text.shown()).unwrap()
}

/// A variable of all ranks.
pub fn variable(launch: &TaskLaunch, name: &str) -> Option<String> {
    launch.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.shown())
}

/// A whole launch for people to read.
pub fn shown(launch: &TaskLaunch) -> String {
    let words: Vec<String> = launch.argv().map(|word| format!("{:?}", word.shown())).collect();
    let mut text = format!("argv: {}\n", words.join(" "));
    text += &format!("serves: {:?}\n\nenv:\n{}", launch.serves, lines(&launch.env));
    for node in &launch.nodes {
        text += &format!("\nnode {} {}\n", node.node_rank, node.name);
        for rank in &node.ranks {
            let env: Vec<String> = rank.env.iter().map(|(name, value)| format!("{name}={}", value.shown())).collect();
            text += &format!("  rank {} {} gpu {:?} {}\n", rank.rank, rank.worker, rank.gpu, env.join(" "));
        }
    }
    for note in &launch.notes {
        text += &format!("\nnote: {}\n      {}\n", note.zh, note.en);
    }
    for file in &launch.files {
        text += &format!("\n--- {}\n{}", file.path, file.text.shown());
    }
    text
}

fn lines(env: &[(String, Template)]) -> String {
    env.iter().map(|(name, value)| format!("  {name}={}\n", value.shown())).collect()
}

//! What is started, where, and with which files and variables.

use std::collections::BTreeMap;

use fermi_domain::access::secret::MASK;
use fermi_domain::language::Text;
use fermi_domain::launch::{TaskLaunch, Template};
use fermi_domain::task::TaskSpec;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A launch as people read it. What only a node knows stands in angle brackets, such as `<masterPort>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The same for every rank.
    pub argv: Vec<String>,
    pub directory: Option<String>,
    /// Written on every node before anything starts.
    pub files: Vec<LaunchFile>,
    /// Of every rank.
    pub env: BTreeMap<String, String>,
    /// In the order of node ranks.
    pub nodes: Vec<LaunchNode>,
    /// What was decided on the way and why.
    pub notes: Vec<Text>,
}

/// A file that the engine or a person reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFile {
    pub path: String,
    pub text: String,
}

/// One node's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchNode {
    pub environment: String,
    pub name: String,
    pub node_rank: u32,
    pub ranks: Vec<LaunchRank>,
}

/// One rank's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchRank {
    pub rank: u32,
    pub worker: String,
    pub gpu: Option<u32>,
    /// Of this rank alone.
    pub env: BTreeMap<String, String>,
}

impl Launch {
    /// The launch of a task, with a mask where a secret will be.
    pub fn of(launch: &TaskLaunch, spec: &TaskSpec) -> Self {
        let rank = |rank: &fermi_domain::launch::RankLaunch| LaunchRank {
            rank: rank.rank.0,
            worker: rank.worker.to_string(),
            gpu: rank.gpu,
            env: variables(&rank.env),
        };
        let node = |node: &fermi_domain::launch::NodePart| LaunchNode {
            environment: node.environment.to_string(),
            name: node.name.clone(),
            node_rank: node.node_rank.0,
            ranks: node.ranks.iter().map(rank).collect(),
        };
        let file =
            |file: &fermi_domain::launch::LaunchFile| LaunchFile { path: file.path.clone(), text: file.text.shown() };
        let mut env = variables(&launch.env);
        env.extend(spec.secrets().map(|(variable, _)| (variable.to_owned(), MASK.to_owned())));
        Self {
            argv: launch.argv().map(Template::shown).collect(),
            directory: launch.directory.clone(),
            files: launch.files.iter().map(file).collect(),
            env,
            nodes: launch.nodes.iter().map(node).collect(),
            notes: launch.notes.clone(),
        }
    }
}

fn variables(env: &[(String, Template)]) -> BTreeMap<String, String> {
    env.iter().map(|(name, value)| (name.clone(), value.shown())).collect()
}

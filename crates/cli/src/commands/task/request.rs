//! What is to be trained and on which workers, read from the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fermi_api::client::Client;
use fermi_api::v1::{CreateRequest, Environment, RequestedNodes};
use fermi_domain::ids::{EnvironmentId, GroupId};
use fermi_domain::language::Text;
use fermi_domain::task::{AutoSelection, Selection};
use serde_json::{Map, Value};

use super::file;
use super::work::{Sending, WorkFlags, parse_pair};
use crate::commands::engine::Engine;
use crate::commands::usage::Expected;
use crate::commands::{env, group};
use crate::connection::CommandProblem;

/// What a file says as well.
const BESIDE_FILE: [&str; 45] = [
    "envs",
    "group",
    "master",
    "workers",
    "auto",
    "dataset",
    "dataset_version",
    "model",
    "max_restarts",
    "source",
    "source_path",
    "workdir",
    "interpreter",
    "port",
    "checkpoint_dir",
    "stop_after",
    "start_timeout",
    "time_limit",
    "not_preemptible",
    "preflight",
    "preflight_interface",
    "node_lost_after",
    "use_standby",
    "hook",
    "warm",
    "on_hang",
    "hang_after",
    "env_var",
    "secret",
    "label",
    "priority",
    "builtin",
    "recipe",
    "command",
    "framework",
    "set",
    "config",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "backend",
    "interface",
    "timeout",
    "no_infiniband",
    "nccl_debug",
];

/// The flags that `create` and `preview` share.
#[derive(Debug, clap::Args)]
pub struct RequestFlags {
    /// The task's name
    #[arg(long, short, required_unless_present = "file")]
    name: Option<String>,
    /// The whole request as YAML or JSON, with the API's fields; - is standard input
    #[arg(long, short = 'F', value_name = "FILE", conflicts_with_all = BESIDE_FILE)]
    file: Option<PathBuf>,
    /// An environment by name or id; give it once for each, the first has rank 0 unless --master says otherwise
    #[arg(long = "env", short = 'e', value_name = "ENV", required_unless_present_any = ["group", "auto", "file"])]
    envs: Vec<String>,
    /// A group by name or id: its workers, master, world size, port and backend
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["envs", "master", "workers"])]
    group: Option<String>,
    /// The environment that has rank 0
    #[arg(long, value_name = "ENV")]
    master: Option<String>,
    /// Only these workers of an environment, such as gn6=0,1 or gn6=0-3
    #[arg(long, value_name = "ENV=LIST", value_parser = parse_workers)]
    workers: Vec<(String, Vec<u32>)>,
    #[command(flatten)]
    auto: AutoFlags,
    #[command(flatten)]
    work: WorkFlags,
}

/// What Fermi shall pick.
#[derive(Debug, clap::Args)]
struct AutoFlags {
    /// Let Fermi pick the environments: of one zone and one GPU model where it can
    #[arg(long, conflicts_with_all = ["envs", "group", "master", "workers"])]
    auto: bool,
    /// With --auto: how many nodes
    #[arg(long, value_name = "N", requires = "auto", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    /// With --auto: GPUs on each node
    #[arg(long, value_name = "N", requires = "auto", conflicts_with = "workers_per_node")]
    gpus_per_node: Option<u32>,
    /// With --auto: workers on each node, with a GPU or without [default: 1]
    #[arg(long, value_name = "N", requires = "auto")]
    workers_per_node: Option<u32>,
    /// With --auto: only GPUs of this model, such as A100
    #[arg(long, value_name = "MODEL", requires = "auto")]
    gpu_type: Option<String>,
    /// With --auto: only in this zone
    #[arg(long, value_name = "ZONE", requires = "auto")]
    zone: Option<String>,
    /// With --auto: only environments with this label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", requires = "auto", value_parser = parse_pair)]
    node_label: Vec<(String, String)>,
}

impl AutoFlags {
    fn selection(&self) -> Option<AutoSelection> {
        self.auto.then(|| AutoSelection {
            nodes: self.nodes,
            gpus_per_node: self.gpus_per_node,
            workers_per_node: self.workers_per_node,
            gpu_type: self.gpu_type.clone(),
            zone: self.zone.clone(),
            labels: self.node_label.iter().cloned().collect(),
        })
    }
}

impl RequestFlags {
    /// The request as it is sent: names have become ids, and the code is there.
    pub fn request(&self, client: &Client, sending: Sending) -> Result<Map<String, Value>, CommandProblem> {
        let mut request = match &self.file {
            Some(path) => file::read(path)?,
            None => object(&self.of_flags(client, sending)?),
        };
        if self.file.is_some() {
            file::name_environments(&mut request, client)?;
        }
        if let Some(name) = &self.name {
            request.insert("taskName".to_owned(), Value::String(name.clone()));
        }
        Ok(request)
    }

    fn of_flags(&self, client: &Client, sending: Sending) -> Result<CreateRequest, CommandProblem> {
        let engine = self.work.engine()?;
        let (selection, nodes) = match (self.auto.selection(), &self.group) {
            (Some(auto), _) => {
                let nodes = RequestedNodes {
                    framework: Some(engine.framework.unwrap_or_default().as_str().to_owned()),
                    strategy: engine.strategy(auto.nodes.saturating_mul(auto.per_node())),
                    ..RequestedNodes::default()
                };
                (Selection::Auto(auto), nodes)
            }
            (None, Some(text)) => {
                let group = group::find(client, text)?;
                let nodes = RequestedNodes {
                    framework: engine.framework.map(|framework| framework.as_str().to_owned()),
                    strategy: engine.strategy(group.world_size.unwrap_or(0)),
                    ..RequestedNodes::default()
                };
                (Selection::Group(GroupId(group.id)), nodes)
            }
            (None, None) => (Selection::Environments, self.nodes(&env::find::all(client)?, &engine)?),
        };
        let request = self.work.request(client, sending, engine.options)?;
        Ok(CreateRequest { selection, distributed_config: nodes, ..request })
    }

    fn nodes(&self, known: &[Environment], engine: &Engine) -> Result<RequestedNodes, CommandProblem> {
        let id = |text: &str| env::find::one(known, text).map(|found| EnvironmentId::from(found.id.as_str()));
        let node_ids = self.envs.iter().map(|text| id(text)).collect::<Result<Vec<_>, _>>()?;
        let master_node = match &self.master {
            Some(text) => Some(id(text)?),
            None => node_ids.first().cloned(),
        };
        let workers: Result<BTreeMap<_, _>, CommandProblem> =
            self.workers.iter().map(|(text, list)| Ok((id(text)?, list.clone()))).collect();
        let workers = workers?;
        let ranks = |id: &EnvironmentId| match workers.get(id) {
            Some(chosen) => chosen.len(),
            None => known.iter().find(|it| it.id == id.as_str()).map_or(0, |it| it.workers.len()),
        };
        let ranks = node_ids.iter().map(ranks).sum::<usize>();
        Ok(RequestedNodes {
            enabled: Some(node_ids.len() > 1),
            framework: Some(engine.framework.unwrap_or_default().as_str().to_owned()),
            strategy: engine.strategy(u32::try_from(ranks).unwrap_or(u32::MAX)),
            node_ids,
            master_node,
            workers,
        })
    }
}

/// A request is an object.
fn object(request: &CreateRequest) -> Map<String, Value> {
    match serde_json::to_value(request) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// `gn6=0,2-3`.
fn parse_workers(text: &str) -> Result<(String, Vec<u32>), Expected> {
    let hint = || Expected(Text::new("写成 环境=0,1 或 环境=0-3", "write ENV=0,1 or ENV=0-3"));
    let (name, list) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(hint)?;
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| hint());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last - first > 4_096 {
            return Err(hint());
        }
        numbers.extend(first..=last);
    }
    Ok((name.to_owned(), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_read_as_lists_and_ranges() {
        assert_eq!(parse_workers("a=b=0,2-4").unwrap(), ("a=b".to_owned(), vec![0, 2, 3, 4]));
        for text in ["", "a", "=0", "a=", "a=3-1", "a=x", "a=0-99999"] {
            assert!(parse_workers(text).is_err(), "{text}");
        }
    }
}

//! The variables of a rank beyond those of the contract, and which of two values counts.

use fermi_domain::contract::{self, Usual};
use fermi_domain::launch::{NodeLaunch, Placeholder, RunPolicy, Template};

use super::site::{Devices, Site};
use crate::bundle::RankPlan;

/// What a rank gets: texts that are whole, and those that wait for the port.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub now: Vec<(String, String)>,
    pub deferred: Vec<(String, Template)>,
}

impl Variables {
    fn set(&mut self, name: &str, value: String) {
        match self.now.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.now.push((name.to_owned(), value)),
        }
    }
}

/// What all ranks of the node get before the launch says anything.
pub(super) fn of_node(
    launch: &NodeLaunch,
    site: &Site,
    policy: &RunPolicy,
    ranks: &[RankPlan],
) -> Vec<(String, String)> {
    let first = ranks.first();
    let usual = Usual {
        inherited: site.inherited,
        ranks_on_node: first.map_or(0, |rank| rank.place.local_world_size),
        cores_bound: first.and_then(|rank| rank.command.cpus.as_ref()).map(Vec::len),
        signals: &site.signals,
        checkpoint_signal: policy.ladder.checkpoint.as_ref().map(|rung| rung.signal),
    };
    let path = site.search_path.clone().map(|path| (contract::PATH.to_owned(), path));
    let devices = devices(launch, &site.devices).map(|list| (contract::CUDA_VISIBLE_DEVICES.to_owned(), list));
    path.into_iter().chain(usual.variables()).chain(devices).collect()
}

/// The variables of one rank: those of the node, then the launch's, then those that the user gave here (`own`), each
/// taking the place of an earlier one of its name.
pub(super) fn of_rank(
    launch: &NodeLaunch,
    site: &Site,
    of_node: &[(String, String)],
    local_rank: usize,
    own: &[(String, String)],
    fill: &impl Fn(&Template) -> String,
) -> Variables {
    let mut variables = Variables { now: of_node.to_vec(), deferred: Vec::new() };
    let part = launch.ranks.get(local_rank);
    if let Some(rank) = part {
        variables.set(contract::FERMI_WORKER_ID, rank.worker.to_string());
    }
    let is_own_of_rank = |name: &str| part.is_some_and(|rank| rank.env.iter().any(|(known, _)| known == name));
    for (name, value) in launch.variables(local_rank) {
        let is_tuned = site.tuned.contains(name) && !is_own_of_rank(name);
        // Each node has its own interface; where it is not known, the libraries choose.
        let is_unknown = site.interface.is_none() && value.placeholders().any(|place| place == Placeholder::Interface);
        if is_tuned || is_unknown || own.iter().any(|(known, _)| known == name) {
            continue;
        }
        if value.needs_port() {
            variables.deferred.push((name.to_owned(), value.clone()));
        } else {
            variables.set(name, fill(value));
        }
    }
    for (name, value) in own {
        variables.set(name, value.clone());
    }
    variables
}

/// The GPUs of this node's ranks, in their order, so that local rank i finds its own at position i.
fn devices(launch: &NodeLaunch, devices: &Devices) -> Option<String> {
    let Devices::OfRanks { visible } = devices else { return None };
    let named = |gpu: u32| {
        let visible = visible.as_ref().and_then(|devices| devices.get(gpu as usize).cloned());
        visible.unwrap_or_else(|| gpu.to_string())
    };
    let gpus: Option<Vec<String>> = launch.ranks.iter().map(|rank| rank.gpu.map(named)).collect();
    gpus.filter(|gpus| !gpus.is_empty()).map(|gpus| gpus.join(","))
}

//! Asks the nodes of a group what only they can tell: whether they find and reach their master.

use std::time::Duration;

use fermi_api::link::ProbeOrder;
use fermi_domain::environment::Environment;
use fermi_domain::group::{Group, Probes};
use fermi_domain::rank_map::RankMap;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::core::Core;

/// How long nodes may take to answer; those that do not are said to be silent.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the nodes of these ranks find, all at once.
pub async fn probe(core: &Core, group: &Group, ranks: &RankMap, known: &[Environment]) -> Probes {
    let Some(master) = group.launch.master() else { return Probes::default() };
    let address = known.iter().find(|environment| environment.name == master).and_then(|it| it.address.clone());
    let ask = ranks.nodes().map(|node| {
        let (name, environment, address) = (node.node.to_owned(), node.environment.clone(), address.clone());
        async move {
            let order = |number| ProbeOrder {
                number,
                is_master: name == master,
                name: master.to_owned(),
                address,
                port: group.launch.master_port,
            };
            let found = match core.hub().probe(&environment, order) {
                None => None,
                Some(mut asked) => timeout(PATIENCE, asked.answer()).await.ok().flatten(),
            };
            (name, found)
        }
    });
    Probes(join_all(ask).await.into_iter().collect())
}

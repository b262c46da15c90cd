//! The ranks of a group.

use std::cmp::Ordering;

use super::map::Numbering;
use super::{RankMap, RankMapError};
use crate::{
    group::LaunchConfig,
    ids::{EnvironmentId, WorkerId},
    worker::Worker,
};

/// The ranks of a group, and the workers that the world size leaves over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRanks {
    pub map: RankMap,
    /// In the order in which they would be next.
    pub standby: Vec<WorkerId>,
}

/// Gives ranks to the workers of a group: the master's node first, the others by the alphabet, the workers of a node
/// by their number. A smaller world size takes the first ones; the others stand by.
///
/// The alphabet is the plain one (gn39 before gn7), because that is the rule that groups promise.
pub fn of_group(workers: &[Worker], launch: &LaunchConfig) -> Result<GroupRanks, RankMapError> {
    if workers.is_empty() {
        return Err(RankMapError::NoWorkers);
    }
    let master = launch.master().ok_or(RankMapError::NoMaster)?;
    let mut ordered: Vec<Keyed<'_>> = workers.iter().map(|worker| Keyed::of(worker, master)).collect();
    ordered.sort_unstable_by(Keyed::order);
    if ordered[0].is_elsewhere {
        let mut nodes: Vec<String> = ordered.iter().map(|keyed| keyed.worker.id.node().to_owned()).collect();
        nodes.dedup();
        return Err(RankMapError::MasterUnknown { master: master.to_owned(), nodes });
    }
    if let Some(pair) = ordered.windows(2).find(|pair| pair[0].order(&pair[1]).is_eq()) {
        return Err(RankMapError::WorkerTwice { worker: pair[0].worker.id.clone() });
    }
    let standby = ordered.split_off(world(ordered.len(), launch.world_size)?);
    let mut numbering = Numbering::with_room(ordered.len());
    for of_node in ordered.chunk_by(Keyed::is_same_node) {
        let node = of_node[0].worker.id.node();
        numbering.add(node, of_node.iter().map(|keyed| keyed.placed(node)));
    }
    let standby = standby.into_iter().map(|keyed| keyed.worker.id.clone()).collect();
    Ok(GroupRanks { map: numbering.done()?, standby })
}

/// A worker with what its order mostly depends on: workers lie scattered in memory, and there may be a hundred thousand.
#[derive(Clone, Copy, Debug)]
struct Keyed<'a> {
    /// Not of the master's node.
    is_elsewhere: bool,
    /// The first bytes of its node's name, which order it as the whole does as far as they differ.
    beginning: u64,
    /// The name goes on behind them.
    goes_on: bool,
    index: u32,
    worker: &'a Worker,
}

impl<'a> Keyed<'a> {
    fn of(worker: &'a Worker, master: &str) -> Self {
        let node = worker.id.node();
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(node.bytes()).for_each(|(to, from)| *to = from);
        Self {
            is_elsewhere: node != master,
            beginning: u64::from_be_bytes(bytes),
            goes_on: node.len() > bytes.len(),
            index: worker.id.index(),
            worker,
        }
    }

    /// The master's workers first, then by name and number.
    fn order(&self, other: &Self) -> Ordering {
        (self.is_elsewhere, self.beginning).cmp(&(other.is_elsewhere, other.beginning)).then_with(|| {
            if self.goes_on || other.goes_on {
                self.worker.id.cmp(&other.worker.id)
            } else {
                self.index.cmp(&other.index)
            }
        })
    }

    /// What its rank stands on. Its name is put together from what is at hand: its own copies lie elsewhere in memory.
    fn placed(&self, node: &str) -> (WorkerId, EnvironmentId, Option<u32>) {
        (WorkerId::new(node, self.index), self.worker.environment.clone(), self.worker.gpu)
    }

    fn is_same_node(&self, other: &Self) -> bool {
        self.beginning == other.beginning
            && (!(self.goes_on || other.goes_on) || self.worker.id.node() == other.worker.id.node())
    }
}

/// How many of the workers get a rank.
fn world(workers: usize, wanted: Option<u32>) -> Result<usize, RankMapError> {
    match wanted {
        None => Ok(workers),
        Some(0) => Err(RankMapError::WorldEmpty),
        Some(world_size) => {
            let wanted = usize::try_from(world_size).unwrap_or(usize::MAX);
            if wanted > workers { Err(RankMapError::WorldTooLarge { world_size, workers }) } else { Ok(wanted) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::language::{Explained, FrontEnd};

    fn workers(names: &[&str]) -> Vec<Worker> {
        names
            .iter()
            .map(|name| {
                let id: WorkerId = name.parse().unwrap();
                Worker { environment: EnvironmentId::from(id.node()), gpu: Some(id.index()), id }
            })
            .collect()
    }

    fn for_group(workers: &[Worker], launch: &LaunchConfig) -> Result<RankMap, RankMapError> {
        of_group(workers, launch).map(|ranks| ranks.map)
    }

    fn launch(master: &str) -> LaunchConfig {
        LaunchConfig { master_addr: Some(master.to_owned()), ..LaunchConfig::default() }
    }

    /// (worker, RANK, LOCAL_RANK, NODE_RANK) as the specification's tables show them.
    fn table(map: &RankMap) -> Vec<(String, u32, u32, u32)> {
        map.slots()
            .iter()
            .map(|slot| (slot.worker.to_string(), slot.rank.0, slot.local_rank.0, slot.node_rank.0))
            .collect()
    }

    fn row(worker: &str, rank: u32, local_rank: u32, node_rank: u32) -> (String, u32, u32, u32) {
        (worker.to_owned(), rank, local_rank, node_rank)
    }

    #[test]
    fn four_workers_on_four_nodes_are_ordered_as_specified() {
        let map = for_group(&workers(&["gn7-0", "gn40-0", "gn6-0", "gn39-0"]), &launch("gn6")).unwrap();
        let expected = [row("gn6-0", 0, 0, 0), row("gn39-0", 1, 0, 1), row("gn40-0", 2, 0, 2), row("gn7-0", 3, 0, 3)];
        assert_eq!(table(&map), expected);
    }

    #[test]
    fn several_workers_of_a_node_are_ordered_as_specified() {
        let map = for_group(&workers(&["gn7-1", "gn6-1", "gn7-0", "gn6-0"]), &launch("gn6")).unwrap();
        let expected = [row("gn6-0", 0, 0, 0), row("gn6-1", 1, 1, 0), row("gn7-0", 2, 0, 1), row("gn7-1", 3, 1, 1)];
        assert_eq!(table(&map), expected);
        assert!(map.slots().iter().all(|slot| slot.local_world_size == 2));
    }

    #[test]
    fn workers_of_a_node_count_by_number_not_by_letter() {
        let map = for_group(&workers(&["a-10", "a-9", "a-2"]), &launch("a")).unwrap();
        assert_eq!(table(&map).iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["a-2", "a-9", "a-10"]);
    }

    #[test]
    fn a_smaller_world_size_takes_the_first_ranks() {
        let config = LaunchConfig { world_size: Some(3), ..launch("gn7") };
        let map = for_group(&workers(&["gn6-0", "gn6-1", "gn7-0", "gn7-1", "gn8-0"]), &config).unwrap();
        assert_eq!(table(&map), [row("gn7-0", 0, 0, 0), row("gn7-1", 1, 1, 0), row("gn6-0", 2, 0, 1)]);
        assert_eq!(map.slots()[2].local_world_size, 1);
        assert_eq!(map.node_count(), 2);
        let ranks = of_group(&workers(&["gn6-0", "gn6-1", "gn7-0", "gn7-1", "gn8-0"]), &config).unwrap();
        assert_eq!(ranks.standby, ["gn6-1".parse().unwrap(), "gn8-0".parse().unwrap()]);
    }

    #[test]
    fn what_does_not_add_up_is_refused_with_a_sentence() {
        let two = workers(&["gn6-0", "gn7-0"]);
        let world = |world_size| LaunchConfig { world_size: Some(world_size), ..launch("gn6") };
        let table: [(&[Worker], LaunchConfig, &str, &str); 7] = [
            (&two, LaunchConfig::default(), "master_required", "未设置 Master 地址"),
            (&two, launch("  "), "master_required", "未设置 Master 地址"),
            (&two, launch("gn9"), "master_invalid", "Master gn9 不在所选节点中"),
            (&two, world(3), "world_size_too_large", "World Size 3 大于 Worker 数量 2"),
            (&two, world(0), "world_size_invalid", "World Size 至少为 1"),
            (&[], launch("gn6"), "workers_required", "没有可用的 Worker"),
            (&workers(&["gn6-0", "gn6-0"]), launch("gn6"), "worker_duplicate", "Worker gn6-0 重复"),
        ];
        for (workers, launch, id, zh) in table {
            let refused = for_group(workers, &launch).unwrap_err();
            assert_eq!((refused.id(), &*refused.text().zh), (id, zh));
            assert!(!refused.hint().unwrap().spelled(FrontEnd::Api).en.is_empty());
        }
    }

    #[test]
    fn a_worker_given_as_master_is_answered_with_its_node() {
        let refused = for_group(&workers(&["gn6-0"]), &launch("gn6-0")).unwrap_err();
        assert!(
            refused.hint().unwrap().spelled(FrontEnd::Api).en.ends_with(": gn6"),
            "{}",
            refused.hint().unwrap().spelled(FrontEnd::Api).en
        );
    }

    /// The rules as the specification words them, worker by worker: who is before me in the order has a smaller rank.
    fn naive(workers: &[Worker], master: &str, world: usize) -> Vec<(String, u32, u32, u32)> {
        let mut nodes: Vec<&str> = workers.iter().map(|worker| worker.id.node()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|node| *node != master);
        nodes.insert(0, master);
        let mut rows = Vec::new();
        for (node_rank, node) in (0_u32..).zip(nodes) {
            let mut numbers: Vec<u32> =
                workers.iter().filter(|worker| worker.id.node() == node).map(|worker| worker.id.index()).collect();
            let mut local_rank = 0;
            while let Some(smallest) = numbers.iter().copied().min() {
                numbers.retain(|number| *number != smallest);
                let rank = u32::try_from(rows.len()).unwrap();
                rows.push((format!("{node}-{smallest}"), rank, local_rank, node_rank));
                local_rank += 1;
            }
        }
        rows.truncate(world);
        rows
    }

    fn some_workers() -> impl Strategy<Value = Vec<Worker>> {
        proptest::collection::hash_set(("([a-c]{1,2}|gpu-rack|gpu-rack-[ab])[0-9]{0,2}", 0_u32..12), 1..40).prop_map(
            |set| {
                set.into_iter()
                    .map(|(node, index)| Worker {
                        environment: EnvironmentId::from(node.as_str()),
                        gpu: Some(index),
                        id: WorkerId::new(node, index),
                    })
                    .collect()
            },
        )
    }

    proptest! {
        #[test]
        fn ranks_are_contiguous_and_every_worker_has_one(workers in some_workers(), pick in any::<prop::sample::Index>()) {
            let master = pick.get(&workers).id.node().to_owned();
            let map = for_group(&workers, &launch(&master)).unwrap();
            prop_assert_eq!(map.slots().len(), workers.len());
            for (rank, slot) in (0_u32..).zip(map.slots()) {
                prop_assert_eq!(slot.rank.0, rank);
            }
            for (node_rank, node) in (0_u32..).zip(map.nodes()) {
                prop_assert_eq!(node.node_rank.0, node_rank);
                for (local, slot) in (0_u32..).zip(node.slots) {
                    prop_assert_eq!(slot.local_rank.0, local);
                    prop_assert_eq!(slot.local_world_size as usize, node.slots.len());
                    prop_assert_eq!(slot.worker.node(), node.node);
                }
            }
            prop_assert_eq!(&map.slots()[0].node, &master);
            let mut given: Vec<&WorkerId> = workers.iter().map(|worker| &worker.id).collect();
            let mut mapped: Vec<&WorkerId> = map.slots().iter().map(|slot| &slot.worker).collect();
            given.sort();
            mapped.sort();
            prop_assert_eq!(given, mapped);
        }

        #[test]
        fn the_ranks_are_those_of_the_naive_reading(
            workers in some_workers(),
            pick in any::<prop::sample::Index>(),
            share in 0.0_f64..=1.0,
        ) {
            let master = pick.get(&workers).id.node().to_owned();
            let world = ((workers.len() as f64 * share) as usize).clamp(1, workers.len());
            let config = LaunchConfig { world_size: Some(world as u32), ..launch(&master) };
            let ranks = of_group(&workers, &config).unwrap();
            let expected = naive(&workers, &master, world);
            prop_assert_eq!(table(&ranks.map), expected);
            let all = naive(&workers, &master, workers.len());
            let left: Vec<String> = all[world..].iter().map(|row| row.0.clone()).collect();
            prop_assert_eq!(ranks.standby.iter().map(ToString::to_string).collect::<Vec<_>>(), left);
        }

        #[test]
        fn the_order_in_which_workers_are_given_does_not_matter(
            (first, second) in some_workers().prop_flat_map(|workers| (Just(workers.clone()), Just(workers).prop_shuffle())),
            world in 1_u32..40,
        ) {
            let config = LaunchConfig { world_size: Some(world), ..launch(first.iter().map(|worker| worker.id.node()).max().unwrap()) };
            prop_assert_eq!(for_group(&first, &config), for_group(&second, &config));
        }
    }
}

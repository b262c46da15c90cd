//! Those who stand by, in the place of workers whose machine is gone.

use std::collections::BTreeMap;

use crate::{
    environment::{Environment, EnvironmentStatus},
    ids::{EnvironmentId, WorkerId},
    language::Text,
    task::{OnDisconnect, Standby, TaskSpec},
};

/// The task as its next attempt would have it: as many of those that stand by as were lost, behind the nodes that remain. None
/// where the policy waits, nothing is lost, or too few stand by.
pub fn replaced(spec: &TaskSpec, known: &[Environment], is_free: impl Fn(&WorkerId) -> bool) -> Option<TaskSpec> {
    let wanted = &spec.distributed;
    if spec.policies.standby == Standby::Wait || wanted.standby.is_empty() {
        return None;
    }
    let is_gone = |id: &EnvironmentId| known.iter().find(|it| it.id == *id).is_none_or(|it| is_out(it.status));
    let (gone, kept): (Vec<_>, Vec<_>) = wanted.node_ids.iter().cloned().partition(is_gone);
    let lost: usize = gone.iter().map(|id| wanted.workers.get(id).map_or(0, Vec::len)).sum();
    if lost == 0 {
        return None;
    }
    let there = |worker: &WorkerId| {
        let environment = known.iter().find(|it| it.name == worker.node() && worker.index() < it.worker_count())?;
        (environment.status.is_reachable() && is_free(worker)).then(|| (environment.id.clone(), worker.index()))
    };
    let next: Vec<(EnvironmentId, u32)> = wanted.standby.iter().filter_map(there).take(lost).collect();
    if next.len() < lost {
        return None;
    }
    let mut spec = spec.clone();
    let distributed = &mut spec.distributed;
    let mut workers: BTreeMap<EnvironmentId, Vec<u32>> = std::mem::take(&mut distributed.workers);
    workers.retain(|id, _| kept.contains(id));
    distributed.node_ids = kept;
    for (environment, index) in next {
        if !distributed.node_ids.contains(&environment) {
            distributed.node_ids.push(environment.clone());
        }
        workers.entry(environment).or_default().push(index);
    }
    distributed.workers = workers;
    let master = distributed.master_node.take().filter(|master| distributed.node_ids.contains(master));
    distributed.master_node = master.or_else(|| distributed.node_ids.first().cloned());
    Some(spec)
}

/// What is to be known of a task whose lost machines are replaced, before one is lost: whether ranks still train on a machine that
/// falls silent cannot be told, unless they end without the server.
pub fn note(spec: &TaskSpec) -> Option<Text> {
    let is_replaced = spec.policies.standby == Standby::Replace && !spec.distributed.standby.is_empty();
    (is_replaced && spec.policies.on_disconnect == OnDisconnect::Keep).then(|| {
        Text::new(
            "机器失去联系后，声明它丢失（fermi env lost）才由待命的 Worker 接替；任务设定了失联后停止的时限，则到时自动接替",
            "workers that stand by take the place of a machine that falls silent once it is declared lost (fermi env lost); \
             by themselves where the task stops some time after it was cut off",
        )
    })
}

/// One that has only been silent for some seconds may be back at any moment.
fn is_out(status: EnvironmentStatus) -> bool {
    match status {
        EnvironmentStatus::Offline | EnvironmentStatus::Lost | EnvironmentStatus::Drained => true,
        EnvironmentStatus::Running | EnvironmentStatus::Busy | EnvironmentStatus::Suspect => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{environment::tests::environment, rank_map::of_spec};

    fn spec(policy: &str) -> TaskSpec {
        serde_json::from_value(serde_json::json!({
            "name": "x", "work": {"kind": "builtin"}, "launchMode": {"group": "group-001"},
            "policies": {"standby": policy},
            "distributed": {"enabled": true, "nodeIds": ["a", "b", "c"], "masterNode": "a",
                "workers": {"a": [0], "b": [0], "c": [0]}, "standby": ["gn-c-1", "gn-d-0", "gn-d-1"]}
        }))
        .unwrap()
    }

    fn known() -> Vec<Environment> {
        ["a", "b", "c", "d"].map(|id| environment(id, &format!("gn-{id}"), 2, "A100", "z")).to_vec()
    }

    fn ranks(spec: &TaskSpec, known: &[Environment], free: impl Fn(&WorkerId) -> bool) -> Option<Vec<String>> {
        let map = of_spec(&replaced(spec, known, free)?, known).unwrap();
        Some(map.slots().iter().map(|slot| slot.worker.to_string()).collect())
    }

    #[test]
    fn the_first_that_stand_by_take_the_place_of_those_that_are_lost() {
        let mut known = known();
        assert_eq!(ranks(&spec("replace"), &known, |_| true), None, "nothing is lost");
        known[1].status = EnvironmentStatus::Lost;
        let names = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(ranks(&spec("replace"), &known, |_| true), names(&["gn-a-0", "gn-c-0", "gn-c-1"]));
        let no_c = |worker: &WorkerId| worker.node() != "gn-c";
        assert_eq!(ranks(&spec("replace"), &known, no_c), names(&["gn-a-0", "gn-c-0", "gn-d-0"]));
        assert_eq!(ranks(&spec("wait"), &known, |_| true), None, "the policy says so");
        assert_eq!(ranks(&spec("replace"), &known, |_| false), None, "too few");
        known[1].status = EnvironmentStatus::Suspect;
        assert_eq!(ranks(&spec("replace"), &known, |_| true), None, "it may be back");
    }

    #[test]
    fn who_counts_on_those_that_stand_by_is_told_when_they_come_by_themselves() {
        let mut task = spec("replace");
        assert!(note(&task).is_some_and(|text| text.en.contains("cut off")));
        assert_eq!(note(&spec("wait")), None);
        task.policies.on_disconnect = OnDisconnect::StopAfter(OnDisconnect::SHORTEST);
        assert_eq!(note(&task), None);
        task = spec("replace");
        task.distributed.standby.clear();
        assert_eq!(note(&task), None, "nobody stands by");
    }

    #[test]
    fn when_the_master_is_lost_the_next_node_is_master() {
        let mut known = known();
        known.remove(0);
        let found = replaced(&spec("replace"), &known, |_| true).unwrap();
        assert_eq!(found.distributed.master_node, Some("b".into()));
        assert_eq!(found.distributed.node_ids.len(), 2, "c has one of those that stood by");
    }
}

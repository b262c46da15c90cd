//! Which workers of a group open tasks count on.

use std::collections::{HashMap, HashSet};

use super::{Group, GroupRefusal};
use crate::{
    environment::Environment,
    ids::WorkerId,
    rank_map,
    task::{Standby, Task},
};

/// The workers that a task has, or will ask for.
fn workers_of(task: &Task, known: &[Environment]) -> HashSet<WorkerId> {
    let ranks = task.rank_map.clone().or_else(|| rank_map::of_spec(&task.spec, known).ok());
    let ranked = ranks.iter().flat_map(|ranks| ranks.slots()).map(|slot| slot.worker.clone());
    let next = task.spec.distributed.standby.iter().filter(|_| task.spec.policies.standby == Standby::Replace).cloned();
    ranked.chain(next).collect()
}

/// Whether workers may leave their groups: none may on which an open task of its group counts.
pub fn may_leave(
    leaving: &[WorkerId],
    groups: &[(Group, Vec<Task>)],
    known: &[Environment],
) -> Result<(), GroupRefusal> {
    for (group, tasks) in groups {
        let mut users: HashMap<WorkerId, Vec<&Task>> = HashMap::new();
        for task in tasks {
            for worker in workers_of(task, known) {
                users.entry(worker).or_default().push(task);
            }
        }
        let used = leaving.iter().find_map(|worker| Some((worker, users.get(worker)?)));
        if let Some((worker, tasks)) = used {
            return Err(GroupRefusal::WorkerInUse {
                worker: worker.clone(),
                group: group.name.clone(),
                tasks: tasks.iter().map(|task| task.id.clone()).collect(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{environment::tests::environment, language::Explained};

    #[test]
    fn a_worker_that_a_task_counts_on_stays_and_the_task_is_named() {
        let known = [environment("env-001", "gn6", 3, "A100", "z")];
        let group: Group =
            serde_json::from_str(r#"{"id": "group-001", "name": "llm", "workers": ["gn6-0", "gn6-1", "gn6-2"]}"#)
                .unwrap();
        let spec = serde_json::from_value(serde_json::json!({
            "name": "x", "work": {"kind": "builtin"}, "launchMode": {"group": "group-001"},
            "distributed": {"enabled": false, "nodeIds": ["env-001"], "workers": {"env-001": [0, 1]}}
        }));
        let task = Task::new("task-7".into(), spec.unwrap(), 1);
        let groups = [(group, vec![task])];
        let leave = |worker: &str| may_leave(&[worker.parse().unwrap()], &groups, &known);
        let refused = leave("gn6-1").unwrap_err();
        assert_eq!(refused.text().en, "the worker gn6-1 is used by task-7 of the group llm");
        assert!(refused.is_conflict() && refused.hint().is_some());
        assert_eq!(leave("gn6-2"), Ok(()), "it stands by");
    }
}

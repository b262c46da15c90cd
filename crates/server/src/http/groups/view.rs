//! Groups as they are answered.

use std::collections::{HashMap, HashSet};

use fermi_api::v1::{self, Action, AllowedAction, GroupConfig, GroupProblem, GroupRank, GroupTask, WorkerStatus};
use fermi_domain::environment::Environment;
use fermi_domain::group::{Group, GroupRefusal, LaunchConfig, UNASSIGNED, checks};
use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::language::{Explained, FrontEnd, Language, Text};
use fermi_domain::principal::Principal;
use fermi_domain::rank_map::{RankSlot, of_group};
use fermi_domain::task::Task;
use fermi_store::groups::GroupRow;

/// What is said of the workers that are in no group.
pub fn name_of_unassigned(language: Language) -> &'static str {
    match language {
        Language::ZhCn => "未分组",
        Language::En => UNASSIGNED,
    }
}

pub fn config(launch: &LaunchConfig) -> GroupConfig {
    GroupConfig {
        master_addr: launch.master_addr.clone(),
        world_size: launch.world_size,
        master_port: launch.master_port,
        backend: launch.backend,
    }
}

pub fn launch(config: GroupConfig) -> LaunchConfig {
    let GroupConfig { master_addr, world_size, master_port, backend } = config;
    LaunchConfig { master_addr, world_size, master_port, backend }
}

/// A group with what is stored beside it.
#[derive(Clone, Debug)]
pub struct StoredGroup {
    pub row: GroupRow,
    pub owner: Option<String>,
    /// Those that are not over.
    pub tasks: Vec<Task>,
}

/// Who reads what is shown of a group: what they may do with it, and in whose words advice names settings.
#[derive(Clone, Debug)]
pub struct GroupReader {
    pub principal: Principal,
    pub front_end: FrontEnd,
}

/// A group with its open tasks, and the checks that need no node.
pub fn group(stored: &StoredGroup, known: &[Environment], reader: &GroupReader) -> v1::Group {
    let StoredGroup { row: GroupRow { group, created_ms, updated_ms }, tasks, .. } = stored;
    let ranks = of_group(&group.members(known).workers, &group.launch).ok();
    let found = checks(group, known, None);
    v1::Group {
        id: group.id.to_string(),
        name: group.name.clone(),
        is_default: false,
        config: config(&group.launch),
        workers: group.workers.iter().map(ToString::to_string).collect(),
        world_size: ranks.as_ref().map(|ranks| ranks.map.world_size()),
        standby: ranks.map_or(0, |ranks| u32::try_from(ranks.standby.len()).unwrap_or(u32::MAX)),
        tasks: tasks.iter().map(task).collect(),
        checks: found.iter().map(|check| v1::Check::of(check, reader.front_end)).collect(),
        version: group.version,
        created_at: *created_ms,
        updated_at: *updated_ms,
        allowed_actions: allowed(stored, &reader.principal),
    }
}

/// The group is its owner's, each task its own owner's; a group with open tasks stays.
fn allowed(stored: &StoredGroup, reader: &Principal) -> Vec<AllowedAction> {
    let StoredGroup { row, owner, tasks } = stored;
    let in_use = || {
        let (group, tasks) = (row.group.name.clone(), tasks.iter().map(|task| task.id.clone()).collect());
        GroupRefusal::InUse { group, tasks }.text()
    };
    let mut all = AllowedAction::on_owned(reader, owner.as_deref());
    for action in &mut all {
        if action.action == Action::Delete && action.allowed && !tasks.is_empty() {
            *action = AllowedAction::unless(Action::Delete, Some(in_use()));
        }
    }
    // Of several tasks those are stopped that may be.
    let denied = tasks.iter().map(|task| AllowedAction::denied(Action::Stop, reader, task.owner()));
    let why_not = denied.min_by_key(Option::is_some);
    let nothing = || Some(Text::new("没有未结束的任务", "no task on it is open"));
    all.push(AllowedAction::unless(Action::Stop, why_not.unwrap_or_else(nothing)));
    all
}

/// The group of the workers that are in no other.
pub fn unassigned<'a>(
    groups: impl IntoIterator<Item = &'a GroupRow>,
    known: &[Environment],
    language: Language,
) -> v1::Group {
    let taken: HashSet<&WorkerId> = groups.into_iter().flat_map(|row| &row.group.workers).collect();
    let mut workers: Vec<WorkerId> = known.iter().flat_map(Environment::workers).map(|worker| worker.id).collect();
    workers.retain(|worker| !taken.contains(worker));
    workers.sort_unstable();
    v1::Group {
        id: UNASSIGNED.to_owned(),
        name: name_of_unassigned(language).to_owned(),
        is_default: true,
        config: GroupConfig::default(),
        workers: workers.iter().map(ToString::to_string).collect(),
        world_size: None,
        standby: 0,
        tasks: Vec::new(),
        checks: Vec::new(),
        version: 0,
        created_at: 0,
        updated_at: 0,
        allowed_actions: Vec::new(),
    }
}

fn task(task: &Task) -> GroupTask {
    GroupTask {
        id: task.id.to_string(),
        name: task.spec.name.clone(),
        status: task.phase,
        status_text: task.phase.text(),
    }
}

/// The rank table, as things stand.
pub fn ranks(
    group: &Group,
    known: &[Environment],
    leases: &HashMap<WorkerId, TaskId>,
    front_end: FrontEnd,
) -> v1::GroupRanks {
    let members = group.members(known);
    let by_name: HashMap<&str, &Environment> =
        known.iter().map(|environment| (environment.name.as_str(), environment)).collect();
    let status = |worker: &WorkerId| match by_name.get(worker.node()) {
        Some(environment) if worker.index() < environment.worker_count() => {
            WorkerStatus::of(environment.status, leases.contains_key(worker))
        }
        _ => WorkerStatus::Missing,
    };
    let gpu = |worker: &WorkerId| {
        let environment = by_name.get(worker.node())?;
        (environment.gpu_count() > worker.index()).then(|| worker.index())
    };
    let row = |worker: &WorkerId, slot: Option<&RankSlot>, world_size: Option<u32>, standby: bool| {
        let status = status(worker);
        GroupRank {
            worker: worker.to_string(),
            node: worker.node().to_owned(),
            rank: slot.map(|slot| slot.rank.0),
            local_rank: slot.map(|slot| slot.local_rank.0),
            node_rank: slot.map(|slot| slot.node_rank.0),
            world_size: world_size.filter(|_| slot.is_some()),
            gpu: gpu(worker),
            standby,
            status,
            status_text: status.text(),
        }
    };
    let mut answer = v1::GroupRanks {
        group_id: group.id.to_string(),
        group_name: group.name.clone(),
        version: group.version,
        master_addr: group.launch.master_addr.clone(),
        master_port: group.launch.master_port,
        backend: group.launch.backend,
        world_size: None,
        node_count: 0,
        rows: Vec::new(),
        problem: None,
    };
    match of_group(&members.workers, &group.launch) {
        Ok(ranks) => {
            let world = ranks.map.world_size();
            answer.world_size = Some(world);
            answer.node_count = ranks.map.node_count();
            let ranked = ranks.map.slots().iter().map(|slot| row(&slot.worker, Some(slot), Some(world), false));
            answer.rows = ranked.chain(ranks.standby.iter().map(|worker| row(worker, None, None, true))).collect();
        }
        Err(error) => {
            let refusal = GroupRefusal::Ranks(error);
            answer.problem = Some(GroupProblem::of(&refusal, front_end));
            answer.rows = group.workers.iter().map(|worker| row(worker, None, None, false)).collect();
        }
    }
    answer
}

//! Gives workers to the tasks that wait for them, in their order.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::language::{Explained, Text};
use fermi_domain::placement::{Board, Placement, Queued};
use fermi_domain::rank_map::{ChosenNode, RankMap, RankMapError, for_task};
use fermi_domain::task::{Happening, Task, TaskSpec};
use fermi_store::leases::LeaseError;
use fermi_store::tasks::QueuePlace;
use fermi_store::{StoreError, WriteError};

use super::rest;
use crate::core::Core;
use crate::course::{self, CourseError};

const AT_LEAST_EVERY: Duration = Duration::from_millis(500);
/// Between two looks, so that a flood of requests is answered and not looked at one by one.
const BREATH: Duration = Duration::from_millis(5);
/// Tasks that are read at once.
const PAGE: usize = 64;

pub async fn run(core: Core) {
    let mut seen = None;
    loop {
        let began = Instant::now();
        if let Err(error) = look(&core, &mut seen).await {
            tracing::error!(%error, "the queue could not be served");
            seen = None;
        }
        tokio::time::sleep(BREATH.saturating_sub(began.elapsed())).await;
        rest(&core.bells().placement, AT_LEAST_EVERY).await;
    }
}

/// What the last look at the whole queue has shown.
struct Seen {
    openings: u64,
    board: Board,
}

/// As long as no worker was freed and no environment came, those who wait go on waiting, and only who is new is looked at.
async fn look(core: &Core, seen: &mut Option<Seen>) -> Result<(), StoreError> {
    let openings = core.openings();
    let environments = core.known_environments();
    let has_started = match seen.as_mut().filter(|seen| seen.openings == openings) {
        Some(Seen { board, .. }) => look_at_new(core, &environments, board).await?,
        None => {
            let mut board = Board::new(core.store().read(|view| view.leases()).await?);
            let has_started = look_at_all(core, &environments, &mut board).await?;
            *seen = Some(Seen { openings, board });
            has_started
        }
    };
    if has_started {
        core.refresh_environments().await?;
        core.bells().nodes.notify_one();
    }
    Ok(())
}

async fn look_at_new(core: &Core, environments: &[Environment], board: &mut Board) -> Result<bool, StoreError> {
    let mut has_started = false;
    let mut before = None;
    loop {
        let page = core.store().read(|view| view.initializing_tasks(PAGE)).await?;
        // One that could not be dealt with is left for the next look.
        let first = page.first().map(|task| task.value.id.clone());
        if first == before {
            return Ok(has_started);
        }
        before = first;
        let news = page.iter().map(|task| (task.value.id.clone(), decide(&task.value, environments, board))).collect();
        has_started |= carry_out(core, news).await?;
    }
}

async fn look_at_all(core: &Core, environments: &[Environment], board: &mut Board) -> Result<bool, StoreError> {
    let workers = || environments.iter().flat_map(Environment::workers).map(|worker| worker.id);
    let mut after = None;
    let mut has_started = false;
    while !board.is_full(workers()) {
        let page = core.store().read(move |view| view.queued_tasks(after, PAGE)).await?;
        let Some(last) = page.last() else { break };
        after = QueuePlace::of(&last.value);
        let news = page.iter().map(|task| (task.value.id.clone(), decide(&task.value, environments, board))).collect();
        has_started |= carry_out(core, news).await?;
    }
    Ok(has_started | look_at_new(core, environments, board).await?)
}

/// What is decided for a task, before it is stored.
enum Decided {
    Start { rank_map: RankMap },
    Wait { reason: Text },
}

fn decide(task: &Task, environments: &[Environment], board: &mut Board) -> Decided {
    let rank_map = match rank_map(&task.spec, environments) {
        Ok(rank_map) => rank_map,
        Err(error) => return Decided::Wait { reason: error.text() },
    };
    let workers: Vec<WorkerId> = rank_map.slots().iter().map(|slot| slot.worker.clone()).collect();
    let unreachable = environments
        .iter()
        .filter(|environment| task.spec.distributed.node_ids.contains(&environment.id))
        .filter(|environment| matches!(environment.status, EnvironmentStatus::Offline | EnvironmentStatus::Suspect))
        .map(|environment| environment.name.clone())
        .collect();
    let queued = Queued { task: task.id.clone(), workers, unreachable };
    match board.place(&queued) {
        Placement::Start => Decided::Start { rank_map },
        Placement::Wait { reason } => Decided::Wait { reason },
    }
}

/// The ranks of a task on the environments as they are now.
pub fn rank_map(spec: &TaskSpec, environments: &[Environment]) -> Result<RankMap, RankMapError> {
    let by_id: HashMap<_, _> = environments.iter().map(|environment| (&environment.id, environment)).collect();
    let nodes: Vec<ChosenNode> = spec
        .distributed
        .node_ids
        .iter()
        .filter_map(|id| by_id.get(id))
        .map(|environment| {
            let mut node = ChosenNode::all_of(environment);
            if let Some(chosen) = spec.distributed.workers.get(&environment.id) {
                node.workers.retain(|worker| chosen.contains(&worker.id.index()));
            }
            node
        })
        .collect();
    let first = spec.distributed.node_ids.first();
    let master = spec.distributed.master_node.as_ref().or(first).cloned();
    for_task(&nodes, &master.unwrap_or_else(|| "".into()))
}

/// Stores what was decided, all of it at once. Answers whether something starts.
async fn carry_out(core: &Core, news: Vec<(TaskId, Decided)>) -> Result<bool, StoreError> {
    let now_ms = core.now_ms();
    core.store()
        .write(move |tx| {
            let mut has_started = false;
            for (id, decided) in news {
                let happening = match decided {
                    Decided::Start { rank_map } => {
                        let generation = tx.task(&id)?.map(|task| task.value.generation).unwrap_or_default();
                        let workers = rank_map.slots().iter().map(|slot| (&slot.worker, &slot.environment));
                        match tx.lease(workers, &id, generation) {
                            Ok(()) => {}
                            // Somebody else was given one of them since we looked, or it was deleted.
                            Err(LeaseError::Held { .. } | LeaseError::NoTask) => continue,
                            Err(LeaseError::Store(error)) => return Err(error),
                        }
                        has_started = true;
                        Happening::Placed { rank_map }
                    }
                    Decided::Wait { reason } => Happening::MustWait { reason },
                };
                match course::happen(tx, &id, [happening], now_ms) {
                    Ok(_) | Err(CourseError::NotFound(_) | CourseError::Update(_)) => {}
                    Err(CourseError::Store(error)) => return Err(error),
                }
            }
            Ok(has_started)
        })
        .await
        .map_err(WriteError::flatten)
}

//! Gives workers to the tasks that wait for them, in their order.

use std::collections::HashMap;
use std::time::Duration;

use fermi_domain::environment::Environment;
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::placement::{Board, Look, Placement};
use fermi_domain::principal::Principal;
use fermi_domain::task::{Task, TaskInput};
use fermi_store::leases::LeaseError;
use fermi_store::tasks::QueueCursor;
use fermi_store::{StoreError, WriteError};
use tokio::time::Instant;

use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::lifecycle::{self, Cause, Changed, LifecycleError};

/// Tasks that are read at once.
const PAGE: usize = 64;

pub struct Placing {
    core: Core,
    seen: Option<Seen>,
}

impl Placing {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), seen: None }
    }

    /// Once in a period, what was seen is held against the leases in the store: one that was freed without word is
    /// found then.
    async fn compare(&mut self) -> Result<(), StoreError> {
        let Some(seen) = self.seen.as_mut().filter(|seen| seen.compared.elapsed() >= Self::PERIOD) else {
            return Ok(());
        };
        seen.compared = Instant::now();
        if self.core.store().read(|view| view.leases()).await? != seen.leases {
            // What is known of the environments has missed it as well.
            self.core.refresh_environments().await?;
        }
        Ok(())
    }
}

impl BackgroundLoop for Placing {
    const NAME: &'static str = "placement";
    const PERIOD: Duration = Duration::from_millis(500);
    /// A flood of requests is answered, and not looked at one by one.
    const BREATH: Duration = Duration::from_millis(5);

    async fn woken(&mut self) {
        self.core.bells().placement.notified().await;
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        self.compare().await?;
        look(&self.core, &mut self.seen).await
    }

    /// What was placed on the board may not have been stored.
    fn reset(&mut self) {
        self.seen = None;
    }
}

/// What the last look at the whole queue has shown.
struct Seen {
    openings: u64,
    board: Board,
    /// As they were before the look; whoever starts in it counts as an opening.
    leases: HashMap<WorkerId, TaskId>,
    compared: Instant,
}

/// As long as no worker was freed and no environment came, those who wait go on waiting, and only who is new is looked at.
async fn look(core: &Core, seen: &mut Option<Seen>) -> Result<(), StoreError> {
    let openings = core.openings();
    let environments = core.known_environments();
    let look = Look::since(seen.as_ref().map(|seen| seen.openings), openings);
    let has_started = match (look, seen.as_mut()) {
        (Look::New, Some(Seen { board, .. })) => look_at_new(core, &environments, board).await?,
        _ => {
            let leases = core.store().read(|view| view.leases()).await?;
            let mut board = Board::new(leases.clone());
            let has_started = look_at_all(core, &environments, &mut board).await?;
            *seen = Some(Seen { openings, board, leases, compared: Instant::now() });
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
        let news = page.iter().map(|task| decide(core, &task.value, environments, board)).collect();
        has_started |= carry_out(core, news).await?;
    }
}

/// What becomes of a task in the queue. One that is held back after a restore takes no workers meanwhile.
fn decide(core: &Core, task: &Task, environments: &[Environment], board: &mut Board) -> (TaskId, Placement) {
    let names = |id: &EnvironmentId| task.spec.distributed.node_ids.contains(id);
    let placement = match core.hold(&task.id, names) {
        Some(reason) => Placement::Wait { reason },
        None => board.decide(task, environments),
    };
    (task.id.clone(), placement)
}

async fn look_at_all(core: &Core, environments: &[Environment], board: &mut Board) -> Result<bool, StoreError> {
    let workers = || environments.iter().flat_map(Environment::workers).map(|worker| worker.id);
    let mut after = None;
    let mut has_started = false;
    while !board.is_full(workers()) {
        let page = core.store().read(move |view| view.queued_tasks(after, PAGE)).await?;
        let Some(last) = page.last() else { break };
        after = QueueCursor::of(&last.value);
        let news = page.iter().map(|task| decide(core, &task.value, environments, board)).collect();
        has_started |= carry_out(core, news).await?;
    }
    Ok(has_started | look_at_new(core, environments, board).await?)
}

/// Stores what was decided, all of it at once. Answers whether something starts.
async fn carry_out(core: &Core, news: Vec<(TaskId, Placement)>) -> Result<bool, StoreError> {
    let cause = Cause { principal: Principal::System, now_ms: core.now_ms() };
    let stored = core.store().write(move |tx| {
        let mut has_started = false;
        let mut all = Vec::with_capacity(news.len());
        for (id, placement) in news {
            let input = match placement {
                Placement::Start { rank_map } => {
                    let generation = tx.task(&id)?.map(|task| task.value.generation).unwrap_or_default();
                    let workers = rank_map.slots().iter().map(|slot| (&slot.worker, &slot.environment));
                    match tx.lease(workers, &id, generation) {
                        Ok(()) => {}
                        // Somebody else was given one of them since we looked, or it was deleted.
                        Err(LeaseError::Held { .. } | LeaseError::NoTask) => continue,
                        Err(LeaseError::Store(error)) => return Err(error),
                    }
                    has_started = true;
                    TaskInput::Placed { rank_map }
                }
                Placement::Wait { reason } => TaskInput::MustWait { reason },
            };
            match lifecycle::apply(tx, &id, [input], &cause) {
                Ok(changed) => all.push(changed),
                Err(LifecycleError::NotFound(_) | LifecycleError::Update(_)) => {}
                Err(LifecycleError::Store(error)) => return Err(error),
            }
        }
        Ok((has_started, all))
    });
    let (has_started, all) = stored.await.map_err(WriteError::flatten)?;
    all.iter().for_each(Changed::log);
    Ok(has_started)
}

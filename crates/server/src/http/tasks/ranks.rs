//! The ranks of a task, one by one.

use std::collections::HashMap;

use axum::extract::{RawQuery, State};
use fermi_api::v1::{Envelope, Failure, Page, Rank, RankState};
use fermi_domain::phase::AttemptPhase;
use fermi_domain::rank_map::RankSlot;
use fermi_domain::task::RankRecord;
use fermi_store::chunks::{ChunkStore, StreamKind, StreamName};

use super::progress::{ProgressReport, reports};
use super::{show, view};
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply};
use crate::http::id::TaskPath;
use crate::http::params::Params;

/// With more ranks than this, their last steps are not looked up.
const MOST_LOOKED_UP: usize = 256;

/// Who is which rank, and how each fares.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/ranks", tag = "training-tasks",
    params(("id" = String, Path), ("attempt" = Option<u32>, Query, minimum = 1, description = "The newest when not given")),
    responses((status = 200, body = Envelope<Page<Rank>>), (status = 404, body = Failure)))]
pub async fn ranks(State(core): State<Core>, TaskPath(id): TaskPath, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &["attempt"])?;
    let wanted = params.number("attempt", 1..=u32::MAX)?;
    let task = show::find(&core, &id).await?;
    task.check_part(wanted, None)?;
    let attempt = wanted.unwrap_or(task.newest_attempt());
    let Some(map) = view::rank_map(&task, &core.known_environments()) else {
        return EnvelopeAnswer::ok(&Page::<Rank>::whole(Vec::new()));
    };
    let mut last = HashMap::new();
    if attempt > 0 && map.slots().len() <= MOST_LOOKED_UP {
        let (chunks, id, count) = (core.chunks().clone(), id.clone(), map.world_size());
        let looked = tokio::task::spawn_blocking(move || last_reports(&*chunks, &id, attempt, count)).await;
        last = looked.unwrap_or_default();
    }
    let samples: HashMap<u32, _> = core
        .hub()
        .rank_samples(&id)
        .into_iter()
        .filter(|sample| sample.attempt == attempt)
        .map(|sample| (sample.rank, sample))
        .collect();
    let found = task.attempts.iter().find(|known| known.number.get() == attempt);
    let records: HashMap<u32, &RankRecord> =
        found.into_iter().flat_map(|found| &found.ranks).map(|record| (record.rank.0, record)).collect();
    let phase = found.map_or(AttemptPhase::Prepared, |found| found.phase);
    let is_stopped = task.ends_on_request(attempt);
    let items = map.slots().iter().map(|slot| {
        let record = records.get(&slot.rank.0).copied();
        let mut rank = rank(slot, attempt, record, state(record, phase, is_stopped));
        if let Some(sample) = samples.get(&slot.rank.0).filter(|_| rank.state == RankState::Running) {
            rank.cpus = Some(sample.cpus);
            rank.memory = Some(sample.memory);
        }
        if let Some(report) = last.get(&slot.rank.0) {
            rank.step = Some(report.step);
            rank.loss = report.loss;
        }
        rank
    });
    EnvelopeAnswer::ok(&Page::whole(items.collect()))
}

/// Where a rank stands in an attempt that is in this phase. Of one whose end nobody has told the attempt's own end speaks.
fn state(record: Option<&RankRecord>, phase: AttemptPhase, is_stopped: bool) -> RankState {
    let Some(record) = record else { return RankState::Waiting };
    match (&record.exit, phase) {
        (Some(exit), _) if exit.is_success() => RankState::Succeeded,
        (Some(_), _) if is_stopped => RankState::Stopped,
        (Some(_), _) | (None, AttemptPhase::Failed) => RankState::Failed,
        (None, AttemptPhase::Succeeded) => RankState::Succeeded,
        (None, AttemptPhase::Stopped) => RankState::Stopped,
        (None, AttemptPhase::Prepared | AttemptPhase::Launching | AttemptPhase::Running | AttemptPhase::Stopping) => {
            RankState::Running
        }
    }
}

fn rank(slot: &RankSlot, attempt: u32, record: Option<&RankRecord>, state: RankState) -> Rank {
    let exit = record.and_then(|record| record.exit.clone());
    Rank {
        attempt,
        rank: slot.rank.0,
        local_rank: slot.local_rank.0,
        node_rank: slot.node_rank.0,
        worker: slot.worker.to_string(),
        environment: slot.environment.to_string(),
        node: slot.node.clone(),
        gpu: slot.gpu,
        state,
        state_text: state.text(),
        pid: record.map(|record| record.pid),
        started_at: record.map(|record| record.started_ms),
        ended_at: record.and_then(|record| record.ended_ms),
        exit_text: exit.as_ref().map(ToString::to_string),
        exit,
        cpus: None,
        memory: None,
        step: None,
        loss: None,
    }
}

fn last_reports(
    chunks: &dyn ChunkStore,
    task: &fermi_domain::ids::TaskId,
    attempt: u32,
    count: u32,
) -> HashMap<u32, ProgressReport> {
    let last = |rank| {
        let name = StreamName { task: task.clone(), attempt, rank, kind: StreamKind::Progress };
        let (_, bytes) = chunks.tail(&name, 2).ok()?;
        Some((rank, reports(&bytes).last()?))
    };
    (0..count).filter_map(last).collect()
}

#[cfg(test)]
mod tests {
    use fermi_domain::exit::Exit;
    use fermi_domain::ids::Rank;

    use super::*;

    #[test]
    fn a_rank_has_failed_only_where_nobody_asked_for_its_end() {
        let record = |exit| RankRecord { rank: Rank(0), worker: None, pid: 7, started_ms: 1, ended_ms: None, exit };
        let (killed, well) = (record(Some(Exit::Code { code: 143 })), record(Some(Exit::SUCCESS)));
        let untold = record(None);
        for (record, phase, is_stopped, expected) in [
            (None, AttemptPhase::Running, false, RankState::Waiting),
            (Some(&untold), AttemptPhase::Running, false, RankState::Running),
            (Some(&untold), AttemptPhase::Stopping, true, RankState::Running),
            (Some(&killed), AttemptPhase::Running, false, RankState::Failed),
            (Some(&killed), AttemptPhase::Stopping, true, RankState::Stopped),
            (Some(&killed), AttemptPhase::Stopped, true, RankState::Stopped),
            (Some(&killed), AttemptPhase::Failed, false, RankState::Failed),
            (Some(&well), AttemptPhase::Stopped, true, RankState::Succeeded),
            (Some(&untold), AttemptPhase::Stopped, true, RankState::Stopped),
            (Some(&untold), AttemptPhase::Failed, false, RankState::Failed),
            (Some(&untold), AttemptPhase::Succeeded, false, RankState::Succeeded),
        ] {
            assert_eq!(state(record, phase, is_stopped), expected, "{phase:?}");
        }
    }
}

//! How the server fares, for those who look after it.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{DiskStatus, Envelope, KeptKind, ServerStatus};
use fermi_store::{StoreError, UnreadableRow};

use super::health;
use crate::connection::is_forwarded;
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply};

/// What the server keeps and why, what the disk has, and how the loops beside the requests fare.
#[utoipa::path(get, path = "/api/v1/server/status", tag = "health",
    responses((status = 200, body = Envelope<ServerStatus>)))]
pub async fn show(State(core): State<Core>, headers: HeaderMap) -> Reply {
    let unreadable: Result<_, StoreError> = core.store().read(|view| view.unreadable()).await;
    let restored = core.restored();
    let (disk, policy) = (core.disk(), core.retention());
    let space = disk.space();
    let kept = core.stocks().into_iter().map(|(kind, stock)| KeptKind {
        kind: kind.as_str().to_owned(),
        name: kind.name(),
        count: stock.count,
        bytes: stock.bytes,
        rule: kind.rule(&policy, disk),
        removed: stock.removed,
        removed_bytes: stock.removed_bytes,
    });
    EnvelopeAnswer::ok(&ServerStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cluster: core.store().cluster().to_owned(),
        fingerprint: core.fingerprint().filter(|_| !is_forwarded(&headers)),
        data_dir: std::path::absolute(core.folder()).unwrap_or_else(|_| core.folder().to_owned()).display().to_string(),
        disk: DiskStatus {
            free_bytes: space.free,
            size_bytes: space.size,
            reserve_bytes: disk.reserve().0,
            log_budget_bytes: disk.budgets().in_all,
            log_budget_per_task_bytes: disk.budgets().per_task,
            complaint: disk.complaint(),
        },
        kept: kept.collect(),
        log_bytes_dropped: disk.dropped(),
        believed_time: core.account().believed_ms(),
        loops: core.background().reports().iter().map(health::shown).collect(),
        epoch: restored.history.epoch,
        strays: restored.strays.len() as u64,
        unreadable: unreadable?.iter().map(UnreadableRow::text).collect(),
    })
}

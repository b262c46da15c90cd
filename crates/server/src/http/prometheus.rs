//! Numbers for Prometheus. Labels are phases, statuses and address patterns: none grows with use.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use fermi_domain::phase::TaskPhase;
use fermi_store::StoreError;

use super::desk::Desk;
use super::meters::{Meters, family};
use crate::envelope::Problem;

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "The exposition format", content_type = "text/plain")))]
pub async fn metrics(State(desk): State<Desk>, meters: Option<Extension<Arc<Meters>>>) -> Result<Response, Problem> {
    let counts: Result<_, StoreError> = desk.core.store().read(|view| view.count_by_phase()).await;
    let counts = counts?;
    let mut out = String::with_capacity(8 << 10);
    family(&mut out, "fermi_tasks", "gauge", "Tasks by phase.");
    for phase in TaskPhase::ALL {
        let count = counts.get(&phase).copied().unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "fermi_tasks{{phase=\"{}\"}} {count}", phase.text().en);
    }
    family(&mut out, "fermi_environments", "gauge", "Environments by status.");
    let mut statuses: BTreeMap<String, u64> =
        ["running", "busy", "suspect", "offline"].map(|name| (name.to_owned(), 0)).into();
    for environment in desk.core.known_environments().iter() {
        *statuses.entry(environment.status.text().en.to_lowercase()).or_default() += 1;
    }
    for (status, count) in statuses {
        let _ = writeln!(out, "fermi_environments{{status=\"{status}\"}} {count}");
    }
    let store = desk.core.store().metrics();
    let (agents, words) = desk.core.hub().counts();
    let mut one = |name: &str, kind: &str, help: &str, value: u64| {
        family(&mut out, name, kind, help);
        let _ = writeln!(out, "{name} {value}");
    };
    one("fermi_agents_connected", "gauge", "Agents that have a line.", agents as u64);
    one("fermi_link_messages_total", "counter", "Words that agents said.", words);
    one("fermi_stream_followers", "gauge", "Followers of events and logs.", desk.speaker.followers());
    one("fermi_store_batches_total", "counter", "Transactions of the store.", store.batches);
    one("fermi_store_writes_total", "counter", "Writes in them.", store.writes);
    one("fermi_store_syncs_total", "counter", "Commits that reached the disk.", store.syncs);
    one("fermi_store_failed_batches_total", "counter", "Transactions that failed.", store.failed_batches);
    one("fermi_store_reads_total", "counter", "Reads of the store.", store.reads);
    if let Some(Extension(meters)) = meters {
        meters.write(&mut out);
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], out).into_response())
}

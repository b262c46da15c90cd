//! Numbers for Prometheus. Labels are phases, causes, statuses, loops and address patterns, none of which grows with use, and
//! the newest of the tasks that run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use fermi_domain::ledger::Cause;
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::Task;
use fermi_store::{StoreError, Versioned};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::app_state::AppState;
use super::meters::Meters;
use crate::core::Core;
use crate::envelope::ApiProblem;

/// What OpenMetrics calls itself. Every Prometheus since 2.5 asks for it, and the library writes nothing else.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many tasks have numbers of their own.
const TASKS_SHOWN: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Phase {
    phase: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SpentOn {
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTask {
    task: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Loop {
    name: &'static str,
}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "OpenMetrics", content_type = "application/openmetrics-text")))]
pub async fn metrics(
    State(state): State<AppState>,
    meters: Option<Extension<Arc<Meters>>>,
) -> Result<Response, ApiProblem> {
    let read: Result<_, StoreError> =
        state.core.store().read(|view| Ok((view.count_by_phase()?, view.spent()?, view.live_tasks()?))).await;
    let (counts, spent, live) = read?;
    let mut registry = Registry::default();
    let tasks = Family::<Phase, Gauge>::default();
    for phase in TaskPhase::ALL {
        let count = counts.get(&phase).copied().unwrap_or(0);
        tasks.get_or_create(&Phase { phase: phase.text().en.into_owned() }).set(signed(count));
    }
    registry.register("fermi_tasks", "Tasks by phase", tasks);
    ledgers(&spent, &live, state.core.now_ms(), &mut registry);
    environments(&state.core, &mut registry);
    let store = state.core.store().metrics();
    let (agents, words) = state.core.hub().counts();
    let mut gauge = |name: &str, help: &str, value: u64| registry.register(name, help, ConstGauge::new(signed(value)));
    gauge("fermi_agents_connected", "Agents that have a line", agents as u64);
    gauge("fermi_stream_followers", "Followers of events and logs", state.fan_out.followers());
    let disk = state.core.disk();
    gauge("fermi_disk_free_bytes", "Free on the disk of the data folder", disk.space().free);
    gauge("fermi_disk_reserve_bytes", "What is kept free for the database", disk.reserve().0);
    for (kind, stock) in state.core.stocks() {
        if let Some(bytes) = stock.bytes {
            gauge(&format!("fermi_kept_{}_bytes", kind.as_str()), "What is kept of a kind", bytes);
        }
    }
    let mut counter = |name: &str, help: &str, value: u64| registry.register(name, help, ConstCounter::new(value));
    counter("fermi_link_messages", "Words that agents said", words);
    counter("fermi_log_bytes_dropped", "Bytes of logs that were taken and not kept", state.core.disk().dropped());
    counter("fermi_store_batches", "Transactions of the store", store.batches);
    counter("fermi_store_writes", "Writes in them", store.writes);
    counter("fermi_store_syncs", "Commits that reached the disk", store.syncs);
    counter("fermi_store_failed_batches", "Transactions that failed", store.failed_batches);
    counter("fermi_store_reads", "Reads of the store", store.reads);
    loops(&state.core, &mut registry);
    if let Some(Extension(meters)) = meters {
        meters.register(&mut registry);
    }
    let mut out = String::with_capacity(16 << 10);
    encode(&mut out, &registry).map_err(|error| ApiProblem::broken("cannot write the metrics", &error))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], out).into_response())
}

/// Where time has gone: of all tasks once it is settled, at the end of an attempt or a wait; of those that run, the share
/// so far.
fn ledgers(spent: &BTreeMap<String, u64>, live: &[Versioned<Task>], now_ms: u64, registry: &mut Registry) {
    let by_cause = Family::<SpentOn, Counter<f64, AtomicU64>>::default();
    for cause in Cause::ALL {
        let ms = spent.get(cause.name()).copied().unwrap_or(0);
        by_cause.get_or_create(&SpentOn { cause: cause.name() }).inc_by(ms as f64 / 1e3);
    }
    registry.register("fermi_task_time_seconds", "Time of attempts and waits that are over, by cause", by_cause);
    let shares = Family::<OfTask, Gauge<f64, AtomicU64>>::default();
    let (mut productive, mut whole) = (0, 0);
    let newest = live.iter().rev().filter_map(|task| Some((&task.value, task.value.ledger.as_ref()?)));
    for (number, (task, ledger)) in newest.enumerate() {
        let account = ledger.account(now_ms);
        productive += account.of(Cause::Productive);
        whole += account.wall_ms;
        if number < TASKS_SHOWN {
            shares.get_or_create(&OfTask { task: task.id.to_string() }).set(account.productive_share());
        }
    }
    let help = "Part of their time in which running tasks have trained, of the newest ones";
    registry.register("fermi_running_task_productive_ratio", help, shares);
    let share = if whole == 0 { 0.0 } else { productive as f64 / whole as f64 };
    registry.register("fermi_running_tasks_productive_ratio", "The same of all together", ConstGauge::new(share));
}

fn environments(core: &Core, registry: &mut Registry) {
    let environments = Family::<Status, Gauge>::default();
    for status in ["running", "busy", "suspect", "offline"] {
        environments.get_or_create(&Status { status: status.to_owned() }).set(0);
    }
    for environment in core.known_environments().iter() {
        environments.get_or_create(&Status { status: environment.status.text().en.to_lowercase() }).inc();
    }
    registry.register("fermi_environments", "Environments by status", environments);
}

fn loops(core: &Core, registry: &mut Registry) {
    let (runs, failures, panics) = <(Family<Loop, Counter>, Family<Loop, Counter>, Family<Loop, Counter>)>::default();
    let (took, idle) = <(Family<Loop, Gauge<f64, _>>, Family<Loop, Gauge<f64, _>>)>::default();
    for report in core.background().reports() {
        let name = Loop { name: report.name };
        runs.get_or_create(&name).inc_by(report.runs);
        failures.get_or_create(&name).inc_by(report.failures);
        panics.get_or_create(&name).inc_by(report.panics);
        let last = report.last.map(|last| last.took.as_secs_f64());
        let seconds: &Gauge<f64, std::sync::atomic::AtomicU64> = &took.get_or_create(&name);
        seconds.set(last.unwrap_or_default());
        let seconds: &Gauge<f64, std::sync::atomic::AtomicU64> = &idle.get_or_create(&name);
        seconds.set(report.idle.as_secs_f64());
    }
    registry.register("fermi_background_runs", "Runs of background loops", runs);
    registry.register("fermi_background_failures", "Runs that failed", failures);
    registry.register("fermi_background_panics", "Runs that panicked", panics);
    registry.register("fermi_background_last_run_seconds", "How long the last run took", took);
    registry.register("fermi_background_idle_seconds", "Time since the last run ended", idle);
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

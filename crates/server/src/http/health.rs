//! Whether the server lives, and which one it is.

use std::time::{Duration, UNIX_EPOCH};

use axum::extract::State;
use axum::http::StatusCode;
use fermi_api::v1::{BackgroundLoop, Empty, Envelope, Failure, LastRun, Readiness, Version};
use fermi_domain::language::Text;
use fermi_store::StoreError;

use crate::background::{Complaint, LoopReport, Outcome, WakeUp};
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply};

/// The process answers.
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, body = Envelope<Empty>)))]
pub async fn live() -> Reply {
    EnvelopeAnswer::ok(&Empty {})
}

/// The store can be read, every loop that runs beside the requests does its work, and the disk has room for commits.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = Envelope<Readiness>), (status = 503, body = Failure)))]
pub async fn ready(State(core): State<Core>) -> Reply {
    let read: Result<u64, StoreError> = core.store().read(|view| view.last_cursor()).await;
    read?;
    let complaints: Vec<Text> = core.background().complaints().iter().map(Complaint::text).collect();
    if !complaints.is_empty() {
        let zh: Vec<&str> = complaints.iter().map(|text| &*text.zh).collect();
        let en: Vec<&str> = complaints.iter().map(|text| &*text.en).collect();
        let text = Text::new(zh.join("；"), en.join("; "));
        return Err(ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "background_trouble", text)
            .hint(Text::new("查看服务器日志", "look into the server's log")));
    }
    let complaint = core.disk().complaint();
    if let Some(text) = core.disk().failure() {
        return Err(ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "disk_full", text).hint(Text::new(
            "删除不再需要的任务或文件，或给数据目录更大的磁盘；fermi server status 显示占用",
            "delete tasks or files that are not needed any more, or give the data folder a larger disk; fermi server status shows what takes room",
        )));
    }
    let loops = core.background().reports().iter().map(shown).collect();
    EnvelopeAnswer::ok(&Readiness { ready: true, degraded: complaint, loops })
}

pub fn shown(report: &LoopReport) -> BackgroundLoop {
    let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let last_run = report.last.as_ref().map(|last| {
        let (outcome, reason) = match &last.outcome {
            Outcome::Done => ("done", None),
            Outcome::Failed(reason) => ("failed", Some(reason.clone())),
            Outcome::Panicked(reason) => ("panicked", Some(reason.clone())),
        };
        let wake_up = match last.wake_up {
            WakeUp::Start => "start",
            WakeUp::Bell => "bell",
            WakeUp::Period => "period",
            WakeUp::Retry => "retry",
        };
        LastRun {
            ended_at: milliseconds(last.ended.duration_since(UNIX_EPOCH).unwrap_or_default()),
            wake_up: wake_up.to_owned(),
            took_micros: u64::try_from(last.took.as_micros()).unwrap_or(u64::MAX),
            outcome: outcome.to_owned(),
            reason,
        }
    });
    BackgroundLoop {
        name: report.name.to_owned(),
        period_ms: milliseconds(report.period),
        runs: report.runs,
        failures: report.failures,
        panics: report.panics,
        last_run,
    }
}

/// Which release this is, and where people log in with a company account.
#[utoipa::path(get, path = "/version", tag = "health", responses((status = 200, body = Envelope<Version>)))]
pub async fn version(State(core): State<Core>) -> Reply {
    EnvelopeAnswer::ok(&Version {
        company_log_in: core.oidc().map(|client| client.settings().log_in_url()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: vec!["v1".to_owned()],
        link: fermi_api::link::LINK_VERSION,
    })
}

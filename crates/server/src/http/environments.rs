//! Environments as they are now.

use std::collections::HashMap;

use axum::extract::{RawQuery, State};
use fermi_api::link::{GpuSample, MachineSample};
use fermi_api::v1::{
    Empty, Envelope, Environment, EnvironmentMetrics, Failure, GpuNow, MachineNow, MachinePoint, Page, Worker,
};
use fermi_domain::environment::{EnvironmentKind, EnvironmentStatus};
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::language::Text;
use fermi_domain::natural;
use fermi_store::environments::{DeleteEnvironmentError, EnvironmentRow};
use fermi_store::{StoreError, Transaction, WriteError};

use super::filter::{conditions, invalid, order};
use super::id::EnvironmentPath;
use super::paging::{self, LIST};
use super::params::Params;
use crate::core::Core;
use crate::envelope::{ApiProblem, ENVIRONMENT, EnvelopeAnswer, Reply};
use crate::lifecycle::to_the_end;
use crate::restored;
use crate::samples::Sample;

/// Environments, in the order in which they first came.
#[utoipa::path(get, path = "/api/v1/environments", tag = "environments",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before"),
        ("filter" = Option<String>, Query, example = "status=running,busy zone=北京可用区A gpu=A100 kind=jupyter image~pytorch name~env label.team=nlp"),
        ("orderBy" = Option<String>, Query, example = "gpuCount desc", description = "name, zone, status, gpuCount, uptime or createdAt"),
    ),
    responses((status = 200, body = Envelope<Page<Environment>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &LIST)?;
    let wanted = paging::wanted(&params)?;
    let is_wanted = filter(params.text("filter").unwrap_or_default())?;
    let sort = params.text("orderBy").map(|text| order(text, &COLUMNS)).transpose()?;
    let mut all = all(&core).await?;
    all.retain(|environment| is_wanted.iter().all(|condition| condition(environment)));
    if let Some((column, descending)) = sort {
        all.sort_by(|a, b| {
            let order = column.compare(a, b);
            if descending { order.reverse() } else { order }
        });
    }
    EnvelopeAnswer::ok(&paging::cut(all, &wanted)?)
}

/// One environment.
#[utoipa::path(get, path = "/api/v1/environments/{id}", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Environment>), (status = 404, body = Failure)))]
pub async fn show(State(core): State<Core>, EnvironmentPath(id): EnvironmentPath) -> Reply {
    let all = all(&core).await?;
    let found = all.iter().find(|environment| environment.id == id.as_str());
    EnvelopeAnswer::ok(found.ok_or_else(|| ApiProblem::not_found(&ENVIRONMENT, id.as_str()))?)
}

/// Forgets an environment that is offline and holds no task.
#[utoipa::path(delete, path = "/api/v1/environments/{id}", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(State(core): State<Core>, EnvironmentPath(id): EnvironmentPath) -> Reply {
    let known = core.known_environments();
    let status = known.iter().find(|environment| environment.id == id).map(|environment| environment.status);
    if status.is_some_and(|status| !matches!(status, EnvironmentStatus::Offline | EnvironmentStatus::Lost)) {
        return Err(ApiProblem::conflict(
            "environment_online",
            Text::new("开发环境仍在线", "the environment is still here"),
        )
        .hint(Text::new("先停止其 fermi agent", "stop its `fermi agent` first")));
    }
    let (removed, forgotten) = (id.clone(), id.clone());
    let deleted = to_the_end(async move {
        let work = move |tx: &mut Transaction<'_>| {
            tx.delete_environment(&removed)?;
            Ok::<_, DeleteEnvironmentError>(restored::give_up(tx, &removed)?)
        };
        core.store().write(work).await.map_err(WriteError::flatten)?;
        core.hub().forget_environment(&forgotten);
        core.refresh_environments().await.map_err(DeleteEnvironmentError::Store)
    });
    deleted.await.map_err(|error| match error {
        DeleteEnvironmentError::Missing => ApiProblem::not_found(&ENVIRONMENT, id.as_str()),
        DeleteEnvironmentError::Leased { by } => ApiProblem::conflict(
            "environment_leased",
            Text::new(format!("{by} 仍占用其 Worker"), format!("{by} holds its workers")),
        )
        .hint(Text::new(format!("先停止 {by}"), format!("stop {by} first"))),
        DeleteEnvironmentError::Named { by } => ApiProblem::conflict(
            "environment_named",
            Text::new(format!("{by} 尚未结束，仍在等待它"), format!("{by} is not over and names it")),
        )
        .hint(Text::new(format!("先停止 {by}"), format!("stop {by} first"))),
        DeleteEnvironmentError::Store(error) => error.into(),
    })?;
    EnvelopeAnswer::said(Text::new("已删除", "the environment was deleted"), &Empty {})
}

/// What the machine did in the last hour, as far as the server remembers.
#[utoipa::path(get, path = "/api/v1/environments/{id}/metrics", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<EnvironmentMetrics>), (status = 404, body = Failure)))]
pub async fn metrics(State(core): State<Core>, EnvironmentPath(id): EnvironmentPath) -> Reply {
    if !core.known_environments().iter().any(|environment| environment.id == id) {
        return Err(ApiProblem::not_found(&ENVIRONMENT, id.as_str()));
    }
    let points = core.hub().samples(&id).into_iter().map(|beat| MachinePoint {
        time: beat.time_ms,
        machine: machine(&beat.machine),
        gpus: beat.gpus.iter().map(gpu).collect(),
    });
    EnvelopeAnswer::ok(&EnvironmentMetrics { points: points.collect() })
}

/// All environments with what is known of them now.
pub async fn all(core: &Core) -> Result<Vec<Environment>, ApiProblem> {
    let read: Result<_, StoreError> = core.store().read(|view| Ok((view.environments()?, view.leases()?))).await;
    let (rows, leases) = read?;
    let known = core.known_environments();
    let statuses: HashMap<&EnvironmentId, EnvironmentStatus> =
        known.iter().map(|environment| (&environment.id, environment.status)).collect();
    Ok(rows
        .into_iter()
        .map(|row| {
            let status = statuses.get(&row.environment.id).copied().unwrap_or(EnvironmentStatus::Offline);
            let beat = core.hub().latest(&row.environment.id).filter(|_| status != EnvironmentStatus::Offline);
            let silence = core.hub().silence(&row.environment.id);
            let silence = silence.map(|silence| u64::try_from(silence.as_millis()).unwrap_or(u64::MAX));
            view(row, status, beat.as_ref(), silence, &leases)
        })
        .collect())
}

fn view(
    row: EnvironmentRow,
    status: EnvironmentStatus,
    beat: Option<&Sample>,
    heartbeat_age_ms: Option<u64>,
    leases: &HashMap<WorkerId, TaskId>,
) -> Environment {
    let environment = row.environment;
    let workers: Vec<Worker> = environment
        .workers()
        .into_iter()
        .map(|worker| Worker {
            task_id: leases.get(&worker.id).map(ToString::to_string),
            index: worker.id.index(),
            gpu: worker.gpu,
            id: worker.id.to_string(),
        })
        .collect();
    let free = workers.iter().filter(|worker| worker.task_id.is_none()).count();
    let is_here = matches!(status, EnvironmentStatus::Running | EnvironmentStatus::Busy);
    let models: Vec<&str> =
        environment.gpus.iter().filter(|gpus| gpus.count > 0).map(|gpus| gpus.model.as_str()).collect();
    Environment {
        id: environment.id.to_string(),
        kind: environment.kind,
        kind_text: environment.kind.text(),
        status,
        status_text: status.text(),
        labels: row.labels,
        gpu_count: environment.gpu_count(),
        gpu_type: (!models.is_empty()).then(|| models.join(", ")),
        cpu_cores: environment.cpu_cores,
        memory: environment.memory.whole_gib(),
        declared: environment.declared,
        workers,
        workers_free: u32::try_from(free).unwrap_or(u32::MAX),
        heartbeat_age_ms,
        up_since: is_here.then_some(row.registered_ms),
        machine: beat.map(|beat| machine(&beat.machine)),
        gpu_samples: beat.map(|beat| beat.gpus.iter().map(gpu).collect()).unwrap_or_default(),
        name: environment.name,
        zone: environment.zone,
        image: environment.image,
        address: environment.address,
        gpus: environment.gpus,
        versions: environment.versions,
    }
}

fn machine(sample: &MachineSample) -> MachineNow {
    MachineNow {
        cpu: sample.cpu,
        memory_used: sample.memory_used,
        memory_total: sample.memory_total,
        received: sample.received,
        sent: sample.sent,
    }
}

fn gpu(sample: &GpuSample) -> GpuNow {
    GpuNow {
        index: sample.index,
        use_share: sample.use_share,
        memory_used: sample.memory_used,
        memory_total: sample.memory_total,
        temperature: sample.temperature,
        power_watts: sample.power_watts,
    }
}

type Check = Box<dyn Fn(&Environment) -> bool + Send>;

fn filter(text: &str) -> Result<Vec<Check>, ApiProblem> {
    let example = Text::new(
        "例如 status=running,busy zone=北京可用区A gpu=A100 kind=jupyter,vscode image~pytorch name~env label.team=nlp",
        "for example status=running,busy zone=A gpu=A100 kind=jupyter,vscode image~pytorch name~env label.team=nlp",
    );
    let mut checks: Vec<Check> = Vec::new();
    for condition in conditions(text).map_err(|problem| problem.hint(example.clone()))? {
        let (key, value, is_part) = (condition.key, condition.value, condition.is_part);
        let shown = format!("{key}={value}");
        checks.push(match (key.as_str(), is_part) {
            ("status", false) => {
                let statuses: Option<Vec<EnvironmentStatus>> = value.split(',').map(status).collect();
                let statuses = statuses.ok_or_else(|| invalid(&shown).hint(example.clone()))?;
                Box::new(move |environment| statuses.contains(&environment.status))
            }
            ("name", true) => {
                let part = value.to_lowercase();
                Box::new(move |environment| environment.name.to_lowercase().contains(&part))
            }
            ("name", false) => Box::new(move |environment| environment.name == value),
            ("kind", false) => {
                let kinds: Option<Vec<EnvironmentKind>> = value.split(',').map(EnvironmentKind::named).collect();
                let kinds = kinds.ok_or_else(|| invalid(&shown).hint(example.clone()))?;
                Box::new(move |environment| kinds.contains(&environment.kind))
            }
            ("image", true) => {
                let part = value.to_lowercase();
                Box::new(move |environment| {
                    environment.image.as_ref().is_some_and(|image| image.to_lowercase().contains(&part))
                })
            }
            ("image", false) => Box::new(move |environment| environment.image.as_ref() == Some(&value)),
            ("zone", false) => Box::new(move |environment| environment.zone.as_ref() == Some(&value)),
            ("gpu", _) => {
                Box::new(move |environment| environment.gpus.iter().any(|gpus| gpus.model.contains(value.as_str())))
            }
            (key, false) if key.starts_with("label.") && key.len() > 6 => {
                let key = key[6..].to_owned();
                Box::new(move |environment| {
                    environment.labels.get(&key).is_some_and(|found| value == "*" || *found == value)
                })
            }
            _ => return Err(invalid(&shown).hint(example)),
        });
    }
    Ok(checks)
}

fn status(word: &str) -> Option<EnvironmentStatus> {
    use EnvironmentStatus::{Busy, Drained, Lost, Offline, Running, Suspect};
    [Running, Busy, Suspect, Offline, Drained, Lost]
        .into_iter()
        .find(|status| status.text().en.eq_ignore_ascii_case(word))
}

#[derive(Clone, Copy, Debug)]
enum Column {
    Name,
    Zone,
    Status,
    Gpus,
    Uptime,
    Came,
}

const COLUMNS: [(&str, Column); 6] = [
    ("name", Column::Name),
    ("zone", Column::Zone),
    ("status", Column::Status),
    ("gpuCount", Column::Gpus),
    ("uptime", Column::Uptime),
    ("createdAt", Column::Came),
];

impl Column {
    fn compare(self, a: &Environment, b: &Environment) -> std::cmp::Ordering {
        match self {
            Self::Name => natural::compare(&a.name, &b.name),
            Self::Zone => a.zone.cmp(&b.zone),
            Self::Status => (a.status as u8).cmp(&(b.status as u8)),
            Self::Gpus => a.gpu_count.cmp(&b.gpu_count),
            // The longest has come first; one that is not up has been so for no time.
            Self::Uptime => b.up_since.unwrap_or(u64::MAX).cmp(&a.up_since.unwrap_or(u64::MAX)),
            Self::Came => natural::compare(&a.id, &b.id),
        }
    }
}

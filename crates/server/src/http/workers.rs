//! The workers of all environments, each with its group.

use std::collections::HashMap;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use fermi_api::v1::{Envelope, Failure, Page, WorkerRow, WorkerStatus};
use fermi_domain::environment::Environment;
use fermi_domain::group::{Group, UNASSIGNED};
use fermi_domain::ids::{TaskId, WorkerId};
use fermi_domain::language::Text;
use fermi_domain::natural;
use fermi_store::StoreError;

use super::filter::{conditions, invalid};
use super::groups::name_of_unassigned;
use super::paging;
use super::params::Params;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, language};

/// All workers by environment and number, with group, GPU, status and holder. A worker of a group that does not exist now
/// is there as `missing`.
#[utoipa::path(get, path = "/api/v1/workers", tag = "groups",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before"),
        ("filter" = Option<String>, Query, example = "group=llm status=free environment=gn6 gpu=A100 id~gn"),
    ),
    responses((status = 200, body = Envelope<Page<WorkerRow>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, headers: HeaderMap, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &["pageSize", "pageToken", "filter"])?;
    let wanted = paging::wanted(&params)?;
    let is_wanted = filter(params.text("filter").unwrap_or_default())?;
    let known = core.known_environments();
    let read: Result<_, StoreError> = core.store().read(|view| Ok((view.groups()?, view.leases()?))).await;
    let (groups, leases) = read?;
    let groups: Vec<Group> = groups.into_iter().map(|row| row.group).collect();
    let mut all = rows(&known, &groups, &leases, name_of_unassigned(language(&headers)));
    all.retain(|worker| is_wanted.iter().all(|condition| condition(worker)));
    EnvelopeAnswer::ok(&paging::cut(all, &wanted)?)
}

fn rows(
    known: &[Environment],
    groups: &[Group],
    leases: &HashMap<WorkerId, TaskId>,
    unassigned: &str,
) -> Vec<WorkerRow> {
    let mut group_of: HashMap<&WorkerId, &Group> =
        groups.iter().flat_map(|group| group.workers.iter().map(move |worker| (worker, group))).collect();
    let named = |group: Option<&Group>| match group {
        Some(group) => (group.id.to_string(), group.name.clone()),
        None => (UNASSIGNED.to_owned(), unassigned.to_owned()),
    };
    let mut environments: Vec<&Environment> = known.iter().collect();
    environments.sort_by(|a, b| natural::compare(&a.name, &b.name));
    let mut all = Vec::new();
    for environment in environments {
        let models: Vec<&str> = environment
            .gpus
            .iter()
            .flat_map(|gpus| std::iter::repeat_n(gpus.model.as_str(), gpus.count.min(4_096) as usize))
            .collect();
        for worker in environment.workers() {
            let (group_id, group_name) = named(group_of.remove(&worker.id));
            let task = leases.get(&worker.id);
            let status = WorkerStatus::of(environment.status, task.is_some());
            all.push(WorkerRow {
                id: worker.id.to_string(),
                environment: environment.name.clone(),
                environment_id: environment.id.to_string(),
                index: worker.id.index(),
                gpu: worker.gpu,
                gpu_type: models.get(worker.id.index() as usize).map(|model| (*model).to_owned()),
                zone: environment.zone.clone(),
                group_id,
                group_name,
                status,
                status_text: status.text(),
                task_id: task.map(ToString::to_string),
            });
        }
    }
    let mut missing: Vec<(&WorkerId, &Group)> = group_of.into_iter().collect();
    missing.sort_by_key(|(worker, _)| *worker);
    all.extend(missing.into_iter().map(|(worker, group)| WorkerRow {
        id: worker.to_string(),
        environment: worker.node().to_owned(),
        environment_id: String::new(),
        index: worker.index(),
        gpu: None,
        gpu_type: None,
        zone: None,
        group_id: group.id.to_string(),
        group_name: group.name.clone(),
        status: WorkerStatus::Missing,
        status_text: WorkerStatus::Missing.text(),
        task_id: None,
    }));
    all
}

type Condition = Box<dyn Fn(&WorkerRow) -> bool + Send>;

fn filter(text: &str) -> Result<Vec<Condition>, ApiProblem> {
    let example = Text::new(
        "例如 group=llm status=free environment=gn6 gpu=A100 id~gn",
        "for example group=llm status=free environment=gn6 gpu=A100 id~gn",
    );
    let mut found: Vec<Condition> = Vec::new();
    for condition in conditions(text).map_err(|problem| problem.hint(example.clone()))? {
        let (key, value, is_part) = (condition.key, condition.value, condition.is_part);
        let shown = format!("{key}={value}");
        found.push(match (key.as_str(), is_part) {
            ("group", false) => Box::new(move |worker| worker.group_id == value || worker.group_name == value),
            ("environment", false) => {
                Box::new(move |worker| worker.environment == value || worker.environment_id == value)
            }
            ("gpu", _) => Box::new(move |worker| worker.gpu_type.as_ref().is_some_and(|model| model.contains(&value))),
            ("id", true) => Box::new(move |worker| worker.id.contains(&value)),
            ("id", false) => Box::new(move |worker| worker.id == value),
            ("status", false) => {
                let known = |word: &str| {
                    WorkerStatus::ALL.into_iter().find(|status| status.text().en.eq_ignore_ascii_case(word))
                };
                let statuses: Option<Vec<WorkerStatus>> = value.split(',').map(known).collect();
                let statuses = statuses.ok_or_else(|| invalid(&shown).hint(example.clone()))?;
                Box::new(move |worker| statuses.contains(&worker.status))
            }
            _ => return Err(invalid(&shown).hint(example)),
        });
    }
    Ok(found)
}

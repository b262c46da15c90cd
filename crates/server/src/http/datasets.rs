//! Datasets and their versions.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use fermi_api::v1::{CreateDataset, CreateDatasetVersion, Dataset, DatasetVersion, Empty, Envelope, Failure, Id, Page};
use fermi_domain::language::Text;
use fermi_store::datasets::{self as kept, CreateError, NewDataset};
use fermi_store::events::NewEvent;
use fermi_store::tasks::ListError;
use fermi_store::{StoreError, View, WriteError};

use super::body::JsonBody;
use super::filter::{conditions, invalid};
use super::id::DatasetPath;
use super::idempotency::{Key, once};
use super::params::Params;
use super::{names, paging};
use crate::access::ownership;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, DATASET, EnvelopeAnswer, Reply};

/// Creates a dataset; versions say where its data is.
#[utoipa::path(post, path = "/api/v1/datasets", tag = "datasets", request_body = CreateDataset,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<Id>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn create(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: JsonBody<CreateDataset>,
) -> Reply {
    let key = Key::of(&headers, &caller, "datasets", &body.bytes)?;
    let new = NewDataset {
        name: names::name("name", &body.value.name)?,
        description: names::text("description", body.value.description)?,
        ..NewDataset::default()
    };
    let now_ms = core.now_ms();
    let made = core.store().write(move |tx| {
        once(tx, key.as_ref(), now_ms, |tx| {
            let made = tx.create_dataset(&new, now_ms).map_err(|error| refused(error, &new.name))?;
            ownership::give(tx, &made.id, &caller)?;
            let name = &new.name;
            let text = Text::new(format!("数据集“{name}”已创建"), format!("the dataset '{name}' was created"));
            tx.append_event(NewEvent::new(now_ms, "dataset.created", text, caller))?;
            EnvelopeAnswer::said(Text::new("数据集创建成功", "the dataset was created"), &Id { id: made.id })
        })
    });
    made.await.map_err(WriteError::flatten)
}

fn refused(error: CreateError, name: &str) -> ApiProblem {
    match error {
        CreateError::NameTaken => names::taken(&DATASET, name),
        CreateError::Missing => ApiProblem::not_found(&DATASET, name),
        CreateError::Store(error) => error.into(),
    }
}

/// Datasets, the newest first.
#[utoipa::path(get, path = "/api/v1/datasets", tag = "datasets",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query), ("filter" = Option<String>, Query, example = "name~wiki"),
    ),
    responses((status = 200, body = Envelope<Page<Dataset>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &["pageSize", "pageToken", "filter"])?;
    let wanted = paging::wanted(&params)?;
    let name = name_filter(&params)?;
    let read = core.store().read(move |view| {
        let page = view.list_datasets(name.as_deref(), wanted.size, wanted.token.as_ref())?;
        let mut versions = Vec::with_capacity(page.rows.len());
        for dataset in &page.rows {
            versions.push(view.versions_of(&dataset.id)?);
        }
        Ok::<_, ListError>((page, versions))
    });
    let (page, versions) = read.await?;
    let mut versions = versions.into_iter();
    EnvelopeAnswer::ok(&paging::page(page, |dataset| shown(dataset, versions.next().unwrap_or_default())))
}

/// `name~part`, the one thing that catalogues can be filtered by.
pub fn name_filter(params: &Params) -> Result<Option<String>, ApiProblem> {
    let text = params.text("filter").unwrap_or_default();
    let example = Text::new("例如 name~wiki", "for example name~wiki");
    let mut found = conditions(text).map_err(|problem| problem.hint(example.clone()))?;
    match found.pop() {
        None => Ok(None),
        Some(condition) if condition.key == "name" && found.is_empty() => Ok(Some(condition.value)),
        Some(_) => Err(invalid(text).hint(example)),
    }
}

/// One dataset with its versions.
#[utoipa::path(get, path = "/api/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Dataset>), (status = 404, body = Failure)))]
pub async fn show(State(core): State<Core>, DatasetPath(id): DatasetPath) -> Reply {
    let wanted = id.clone();
    let read: Result<_, StoreError> = core.store().read(move |view| find(view, &wanted)).await;
    let (dataset, versions) = read?.ok_or_else(|| ApiProblem::not_found(&DATASET, &id))?;
    EnvelopeAnswer::ok(&shown(dataset, versions))
}

fn find(view: &View<'_>, id: &str) -> Result<Option<(kept::Dataset, Vec<kept::Version>)>, StoreError> {
    let Some(dataset) = view.dataset(id)? else { return Ok(None) };
    Ok(Some((dataset, view.versions_of(id)?)))
}

/// Forgets a dataset that no open task needs.
#[utoipa::path(delete, path = "/api/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(State(core): State<Core>, Caller(caller): Caller, DatasetPath(id): DatasetPath) -> Reply {
    let now_ms = core.now_ms();
    let deleted = core.store().write(move |tx| {
        let found = tx.dataset(&id)?.ok_or_else(|| ApiProblem::not_found(&DATASET, &id))?;
        ownership::permit_change(tx, &id, &caller)?;
        let needed = tx.open_tasks_with_dataset(&id)?;
        if let Some(by) = needed.first() {
            return Err(needed_by(by.as_str()));
        }
        tx.delete_dataset(&id)?;
        tx.forget_owner(&id)?;
        let name = found.name;
        let text = Text::new(format!("数据集“{name}”已删除"), format!("the dataset '{name}' was deleted"));
        tx.append_event(NewEvent::new(now_ms, "dataset.deleted", text, caller))?;
        Ok(())
    });
    deleted.await.map_err(WriteError::flatten)?;
    EnvelopeAnswer::said(Text::new("已删除", "the dataset was deleted"), &Empty {})
}

/// A task that is not over still needs it.
pub fn needed_by(task: &str) -> ApiProblem {
    ApiProblem::conflict("in_use", Text::new(format!("{task} 正在使用它"), format!("{task} uses it")))
        .hint(Text::new("等任务结束后再删除", "delete it when the task is over"))
}

/// Adds a version to a dataset.
#[utoipa::path(post, path = "/api/v1/datasets/{id}/versions", tag = "datasets", request_body = CreateDatasetVersion,
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<Id>), (status = 404, body = Failure), (status = 409, body = Failure),
        (status = 422, body = Failure)))]
pub async fn create_version(
    State(core): State<Core>,
    Caller(caller): Caller,
    DatasetPath(id): DatasetPath,
    headers: HeaderMap,
    body: JsonBody<CreateDatasetVersion>,
) -> Reply {
    let key = Key::of(&headers, &caller, &format!("datasets/{id}/versions"), &body.bytes)?;
    let version = names::name("version", &body.value.version)?;
    let path = names::path("path", Some(body.value.path))?.ok_or_else(|| {
        ApiProblem::unprocessable("path_required", "path", Text::new("请填写数据路径", "please give a path"))
            .hint(Text::new("例如 /data/wiki/v1", "for example /data/wiki/v1"))
    })?;
    let now_ms = core.now_ms();
    let made = core.store().write(move |tx| {
        once(tx, key.as_ref(), now_ms, |tx| {
            ownership::permit_change(tx, &id, &caller)?;
            let made = tx.create_version(&id, &version, &path, now_ms).map_err(|error| match error {
                CreateError::Missing => ApiProblem::not_found(&DATASET, &id),
                CreateError::NameTaken => {
                    let mut problem = names::taken(&Text::new("版本", "version"), &version);
                    problem.field = Some("version".to_owned());
                    problem
                }
                CreateError::Store(error) => error.into(),
            })?;
            let text = Text::new(
                format!("{id} 的版本“{version}”已创建"),
                format!("the version '{version}' of {id} was created"),
            );
            tx.append_event(NewEvent::new(now_ms, "dataset.version_created", text, caller))?;
            EnvelopeAnswer::said(Text::new("版本创建成功", "the version was created"), &Id { id: made.id })
        })
    });
    made.await.map_err(WriteError::flatten)
}

/// All versions of a dataset, the newest first.
#[utoipa::path(get, path = "/api/v1/datasets/{id}/versions", tag = "datasets", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Page<DatasetVersion>>), (status = 404, body = Failure)))]
pub async fn versions(State(core): State<Core>, DatasetPath(id): DatasetPath) -> Reply {
    let wanted = id.clone();
    let read: Result<_, StoreError> = core.store().read(move |view| find(view, &wanted)).await;
    let (_, versions) = read?.ok_or_else(|| ApiProblem::not_found(&DATASET, &id))?;
    EnvelopeAnswer::ok(&Page::whole(versions.into_iter().map(version).collect()))
}

fn shown(dataset: kept::Dataset, versions: Vec<kept::Version>) -> Dataset {
    Dataset {
        id: dataset.id,
        name: dataset.name,
        description: dataset.description,
        versions: versions.into_iter().map(version).collect(),
        created_at: dataset.created_ms,
    }
}

fn version(version: kept::Version) -> DatasetVersion {
    DatasetVersion {
        id: version.id,
        dataset_id: version.dataset_id,
        version: version.version,
        path: version.path,
        created_at: version.created_ms,
    }
}

//! Datasets and their versions.

use axum::extract::{RawQuery, State};
use fermi_api::v1::{
    AllowedAction, CreateDataset, CreateDatasetVersion, Dataset, DatasetVersion, DatasetVisibility, Empty, Envelope,
    Failure, Id, Page,
};
use fermi_domain::dataset::{Checksum, DataFormat, LocationKind, check_location};
use fermi_domain::environment::Environment;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::datasets::{self as kept, CreateError, NewDataset, NewVersion};
use fermi_store::events::NewEvent;
use fermi_store::tasks::ListError;
use fermi_store::{StoreError, Transaction, View, WriteError};

use super::body::JsonBody;
use super::catalogue::{self, Catalogue};
use super::id::DatasetPath;
use super::idempotency::once;
use super::{names, paging};
use crate::access::ownership;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, DATASET, EnvelopeAnswer, Reply, VERSION};

/// Creates a dataset; versions say where its data is.
#[utoipa::path(post, path = "/api/v1/datasets", tag = "datasets", request_body = CreateDataset,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<Id>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn create(State(core): State<Core>, Caller(caller): Caller, body: JsonBody<CreateDataset>) -> Reply {
    let key = body.sent.key(&caller, "datasets")?;
    let name = names::name_before_versions("name", &body.value.name, "dataset")?;
    let new = NewDataset {
        name: name.clone(),
        description: names::text("description", body.value.description)?,
        ..NewDataset::default()
    };
    let make = move |tx: &mut Transaction<'_>, now_ms| tx.create_dataset(&new, now_ms);
    Catalogue::Datasets.create(&core, key, name, caller, make).await
}

/// Datasets, the newest first.
#[utoipa::path(get, path = "/api/v1/datasets", tag = "datasets",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query), ("filter" = Option<String>, Query, example = "name~wiki"),
    ),
    responses((status = 200, body = Envelope<Page<Dataset>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, Caller(reader): Caller, RawQuery(query): RawQuery) -> Reply {
    let (wanted, name) = catalogue::listed(query.as_deref())?;
    let read = core.store().read(move |view| {
        let page = view.list_datasets(name.as_deref(), wanted.size, wanted.token.as_ref())?;
        let beside = page.rows.iter().map(|dataset| beside(view, &dataset.id)).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, ListError>((page, beside))
    });
    let (page, beside) = read.await?;
    let (mut beside, known) = (beside.into_iter(), core.known_environments());
    EnvelopeAnswer::ok(&paging::page(page, |dataset| {
        shown(dataset, beside.next().unwrap_or_default(), &known, &reader)
    }))
}

/// One dataset with its versions.
#[utoipa::path(get, path = "/api/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Dataset>), (status = 404, body = Failure)))]
pub async fn show(State(core): State<Core>, Caller(reader): Caller, DatasetPath(id): DatasetPath) -> Reply {
    let wanted = id.clone();
    let read: Result<_, StoreError> = core.store().read(move |view| find(view, &wanted)).await;
    let (dataset, beside) = read?.ok_or_else(|| ApiProblem::not_found(&DATASET, &id))?;
    EnvelopeAnswer::ok(&shown(dataset, beside, &core.known_environments(), &reader))
}

/// What is read beside a dataset.
#[derive(Default)]
struct Beside {
    owner: Option<String>,
    versions: Vec<SeenVersion>,
}

fn beside(view: &View<'_>, dataset: &str) -> Result<Beside, StoreError> {
    Ok(Beside { owner: view.owner(dataset)?, versions: versions_of(view, dataset)? })
}

/// A version with the environments that have seen it.
struct SeenVersion {
    version: kept::Version,
    sightings: Vec<kept::Sighting>,
    count: u64,
}

/// So many environments of a version are listed.
const MOST_LISTED: usize = 256;

fn find(view: &View<'_>, id: &str) -> Result<Option<(kept::Dataset, Beside)>, StoreError> {
    let Some(dataset) = view.dataset(id)? else { return Ok(None) };
    Ok(Some((dataset, beside(view, id)?)))
}

fn versions_of(view: &View<'_>, dataset: &str) -> Result<Vec<SeenVersion>, StoreError> {
    let seen = |version: kept::Version| {
        let sightings = view.sightings_of(&version.id, MOST_LISTED)?;
        let count =
            if sightings.len() < MOST_LISTED { sightings.len() as u64 } else { view.count_sightings(&version.id)? };
        Ok(SeenVersion { version, sightings, count })
    };
    view.versions_of(dataset)?.into_iter().map(seen).collect()
}

/// Forgets a dataset that no open task needs.
#[utoipa::path(delete, path = "/api/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(State(core): State<Core>, Caller(caller): Caller, DatasetPath(id): DatasetPath) -> Reply {
    Catalogue::Datasets.delete(&core, id, caller).await
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
    body: JsonBody<CreateDatasetVersion>,
) -> Reply {
    let key = body.sent.key(&caller, &format!("datasets/{id}/versions"))?;
    let new = new_version(body.value)?;
    let now_ms = core.now_ms();
    let made = core.store().write(move |tx| {
        once(tx, key.as_ref(), now_ms, |tx| {
            ownership::permit_change(tx, &id, &caller)?;
            let made = tx.create_version(&id, &new, now_ms).map_err(|error| match error {
                CreateError::Missing => ApiProblem::not_found(&DATASET, &id),
                CreateError::NameTaken => {
                    let mut problem = names::taken(&VERSION, &new.version);
                    problem.field = Some("version".to_owned());
                    problem
                }
                CreateError::Store(error) => error.into(),
            })?;
            let version = &new.version;
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
    let (_, Beside { versions, .. }) = read?.ok_or_else(|| ApiProblem::not_found(&DATASET, &id))?;
    let known = core.known_environments();
    EnvelopeAnswer::ok(&Page::whole(versions.into_iter().map(|seen| version(seen, &known)).collect()))
}

/// What is stated about a new version, each in one form.
fn new_version(asked: CreateDatasetVersion) -> Result<NewVersion, ApiProblem> {
    let version = names::name("version", &asked.version)?;
    let path = names::path("path", Some(asked.path))?.ok_or_else(|| {
        ApiProblem::unprocessable("path_required", "path", Text::new("请填写数据路径", "please give a path"))
            .hint(Text::new("例如 /data/wiki/v1", "for example /data/wiki/v1"))
    })?;
    check_location("path", &path).map_err(|refusal| ApiProblem::refused(&refusal))?;
    if asked.size.is_some_and(|size| size == 0 || size > LARGEST) {
        return Err(ApiProblem::unprocessable(
            "size_invalid",
            "size",
            Text::new("size 应为大于 0 的字节数", "size is a number of bytes above 0"),
        )
        .hint(Text::new("不知道时不写", "leave it out where it is not known")));
    }
    let checksum = names::text("checksum", asked.checksum)?.map(|text| Checksum::parse(&text).ok_or(text));
    let checksum = checksum.transpose().map_err(|text| {
        ApiProblem::unprocessable(
            "checksum_invalid",
            "checksum",
            Text::new(format!("看不懂校验和“{text}”"), format!("the checksum '{text}' is not understood")),
        )
        .hint(Text::new(
            "写 sha256: 加 64 位十六进制数（单个文件），或 fermi dataset inspect 打印的 sampled:…",
            "write sha256: and 64 hexadecimal digits (of one file), or the sampled:… that fermi dataset inspect prints",
        ))
    })?;
    let format = names::text("format", asked.format)?.map(|text| DataFormat::parse(&text).ok_or(text));
    let format = format.transpose().map_err(|text| {
        let names = DataFormat::names();
        ApiProblem::unprocessable(
            "format_unknown",
            "format",
            Text::new(format!("没有数据格式“{text}”"), format!("there is no format '{text}'")),
        )
        .hint(Text::new(format!("可用：{names}；不知道时不写"), format!("use one of {names}, or leave it out")))
    })?;
    Ok(NewVersion {
        version,
        path,
        size: asked.size,
        checksum: checksum.map(|checksum| checksum.to_string()),
        format: format.map(|format| format.as_str().to_owned()),
    })
}

/// 1 EiB.
const LARGEST: u64 = 1 << 60;

fn shown(dataset: kept::Dataset, beside: Beside, known: &[Environment], reader: &Principal) -> Dataset {
    Dataset {
        id: dataset.id,
        name: dataset.name,
        description: dataset.description,
        versions: beside.versions.into_iter().map(|seen| version(seen, known)).collect(),
        created_at: dataset.created_ms,
        allowed_actions: AllowedAction::on_owned(reader, beside.owner.as_deref()),
    }
}

fn version(seen: SeenVersion, known: &[Environment]) -> DatasetVersion {
    let SeenVersion { version, sightings, count } = seen;
    let location = LocationKind::of(&version.path);
    DatasetVersion {
        id: version.id,
        dataset_id: version.dataset_id,
        version: version.version,
        path: version.path,
        location,
        size: version.size,
        checksum: version.checksum,
        format: version.format,
        visible_on: sightings.into_iter().map(|sighting| visibility(sighting, known)).collect(),
        visible_on_count: count,
        visibility: Some(location.visibility(count)),
        created_at: version.created_ms,
    }
}

fn visibility(sighting: kept::Sighting, known: &[Environment]) -> DatasetVisibility {
    let kept::Sighting { environment, proven_ms, seen } = sighting;
    let name = known.iter().find(|it| it.id == environment).map(|it| it.name.clone());
    DatasetVisibility {
        environment_name: name.unwrap_or_else(|| environment.to_string()),
        environment: environment.0,
        proven_at: proven_ms,
        size: seen.bytes,
        files: seen.files,
        is_whole: seen.is_whole,
        format: seen.format,
        checksum: seen.checksum,
    }
}

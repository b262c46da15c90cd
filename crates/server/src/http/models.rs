//! Models that tasks start from.

use axum::extract::{RawQuery, State};
use fermi_api::v1::{AllowedAction, CreateModel, Empty, Envelope, Failure, Id, Model, Page};
use fermi_domain::dataset::{LocationKind, check_location};
use fermi_domain::model::{ModelNumbers, ShapeSource};
use fermi_domain::principal::Principal;
use fermi_store::models::{KnownShape, NewModel};
use fermi_store::tasks::ListError;
use fermi_store::{StoreError, Transaction};

use super::body::JsonBody;
use super::catalogue::{self, Catalogue};
use super::id::ModelPath;
use super::{names, paging};
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, MODEL, Reply};
use crate::model_numbers::{self, KnownModel};

/// Creates a model.
#[utoipa::path(post, path = "/api/v1/models", tag = "models", request_body = CreateModel,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<Id>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn create(State(core): State<Core>, Caller(caller): Caller, body: JsonBody<CreateModel>) -> Reply {
    let key = body.sent.key(&caller, "models")?;
    let name = names::name_beside_ids("name", &body.value.name, "model")?;
    let new = NewModel {
        name: name.clone(),
        path: names::path("path", body.value.path)?,
        description: names::text("description", body.value.description)?,
        ..NewModel::default()
    };
    let given = body.value.architecture.filter(|numbers| !numbers.is_empty()).map(ModelNumbers::shape);
    let given = given.transpose().map_err(|refusal| ApiProblem::refused(&refusal))?;
    if let Some(path) = &new.path {
        check_location("path", path).map_err(|refusal| ApiProblem::refused(&refusal))?;
    }
    let shape = match (given, &new.path) {
        (Some(shape), _) => Some(KnownShape { source: ShapeSource::Given, shape }),
        (None, Some(path)) => {
            model_numbers::read(path).await.map(|shape| KnownShape { source: ShapeSource::Config, shape })
        }
        (None, None) => None,
    };
    let make = move |tx: &mut Transaction<'_>, now_ms| {
        let made = tx.create_model(&new, now_ms)?;
        if let Some(shape) = &shape {
            tx.set_model_shape(&made.id, shape)?;
        }
        Ok(made)
    };
    Catalogue::Models.create(&core, key, name, caller, make).await
}

/// Models, the newest first.
#[utoipa::path(get, path = "/api/v1/models", tag = "models",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query), ("filter" = Option<String>, Query, example = "name~llama"),
    ),
    responses((status = 200, body = Envelope<Page<Model>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, Caller(reader): Caller, RawQuery(query): RawQuery) -> Reply {
    let (wanted, name) = catalogue::listed(query.as_deref())?;
    let read = core.store().read(move |view| {
        let page = view.list_models(name.as_deref(), wanted.size, wanted.token.as_ref())?;
        let rows = page.rows.iter();
        let beside = rows.map(|model| Ok((view.model_shape(&model.id)?, view.owner(&model.id)?)));
        let beside = beside.collect::<Result<Vec<_>, StoreError>>()?;
        Ok::<_, ListError>((page, beside))
    });
    let (page, beside) = read.await?;
    let mut beside = beside.into_iter();
    EnvelopeAnswer::ok(&paging::page(page, |entry| {
        let (shape, owner) = beside.next().unwrap_or_default();
        shown(KnownModel { entry, shape }, owner.as_deref(), &reader)
    }))
}

/// One model.
#[utoipa::path(get, path = "/api/v1/models/{id}", tag = "models", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Model>), (status = 404, body = Failure)))]
pub async fn show(State(core): State<Core>, Caller(reader): Caller, ModelPath(id): ModelPath) -> Reply {
    let wanted = id.clone();
    let read =
        core.store().read(move |view| Ok::<_, StoreError>((model_numbers::find(view, &wanted)?, view.owner(&wanted)?)));
    let (found, owner) = read.await?;
    let found = found.ok_or_else(|| ApiProblem::not_found(&MODEL, &id))?;
    EnvelopeAnswer::ok(&shown(found, owner.as_deref(), &reader))
}

/// Forgets a model that no open task needs.
#[utoipa::path(delete, path = "/api/v1/models/{id}", tag = "models", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(State(core): State<Core>, Caller(caller): Caller, ModelPath(id): ModelPath) -> Reply {
    Catalogue::Models.delete(&core, id, caller).await
}

fn shown(model: KnownModel, owner: Option<&str>, reader: &Principal) -> Model {
    let (architecture, planning) = (model.shown(), model.planning());
    let entry = model.entry;
    Model {
        id: entry.id,
        name: entry.name,
        location: entry.path.as_deref().map(LocationKind::of),
        path: entry.path,
        description: entry.description,
        architecture,
        planning: Some(planning),
        created_at: entry.created_ms,
        allowed_actions: AllowedAction::on_owned(reader, owner),
    }
}

//! Groups: made, listed, shown, changed, deleted.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use fermi_api::v1::{ChangeGroup, CreateGroup, Empty, Envelope, Failure, Group, GroupConfigChange, Page};
use fermi_domain::group::{self, DEFAULT_PORT, GroupRefusal, LaunchConfig, UNASSIGNED};
use fermi_domain::ids::GroupId;
use fermi_domain::language::Text;
use fermi_domain::task::Task;
use fermi_store::groups::{GroupError, GroupRow};
use fermi_store::{StoreError, View, WriteError};

use super::members;
use super::view::{self, GroupReader, StoredGroup};
use crate::access::ownership;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, GROUP, Reply, front_end, language};
use crate::http::body::JsonBody;
use crate::http::catalogue::name_filter;
use crate::http::id::GroupPath;
use crate::http::idempotency::once;
use crate::http::params::Params;
use crate::http::{names, paging};
use crate::lifecycle::Cause;

/// Creates a group, with workers or without.
#[utoipa::path(post, path = "/api/v1/groups", tag = "groups", request_body = CreateGroup,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<Group>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn create(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: JsonBody<CreateGroup>,
) -> Reply {
    let key = body.sent.key(&caller, "groups")?;
    let name = name(&body.value.name)?;
    let launch = sound(view::launch(body.value.config))?;
    let known = core.known_environments();
    let workers =
        if body.value.workers.is_empty() { Vec::new() } else { members::existing(&body.value.workers, &known)? };
    let reader = GroupReader { principal: caller.clone(), front_end: front_end(&headers) };
    let cause = Cause { principal: caller, now_ms: core.now_ms() };
    let made = core.store().write(move |tx| {
        once(tx, key.as_ref(), cause.now_ms, |tx| {
            let id = tx.create_group(&name, &launch, cause.now_ms).map_err(|error| refused(error, &name))?;
            let text = Text::new(format!("分组“{name}”已创建"), format!("the group '{name}' was created"));
            members::tell(tx, "group.created", text, &cause)?;
            ownership::give(tx, id.as_str(), &cause.principal)?;
            if !workers.is_empty() {
                members::carry(tx, &workers, Some(&id), &known, &cause)?;
            }
            let shown = view::group(&whole(tx, &id)?, &known, &reader);
            EnvelopeAnswer::said(Text::new("分组创建成功", "the group was created"), &shown)
        })
    });
    made.await.map_err(WriteError::flatten)
}

/// A name that means nothing else.
fn name(text: &str) -> Result<String, ApiProblem> {
    let name = names::name("name", text)?;
    if group::Group::is_reserved(&name) {
        return Err(GroupRefusal::NameReserved { name }.into());
    }
    Ok(name)
}

/// A configuration that can mean something. Whether it fits the workers is said by the checks: workers may come later.
fn sound(mut launch: LaunchConfig) -> Result<LaunchConfig, ApiProblem> {
    launch.master_addr = launch.master().map(str::to_owned);
    if launch.master_port == 0 {
        return Err(GroupRefusal::PortInvalid.into());
    }
    if launch.world_size == Some(0) {
        return Err(GroupRefusal::Ranks(fermi_domain::rank_map::RankMapError::WorldEmpty).into());
    }
    launch.master_addr = launch.master_addr.map(|name| names::name("config.masterAddr", &name)).transpose()?;
    Ok(launch)
}

pub fn refused(error: GroupError, name: &str) -> ApiProblem {
    match error {
        GroupError::NameTaken => names::taken(&GROUP, name),
        GroupError::Missing => ApiProblem::not_found(&GROUP, name),
        GroupError::Store(error) => error.into(),
    }
}

/// A group that was there a moment ago.
pub fn stored(view: &View<'_>, id: &GroupId) -> Result<GroupRow, ApiProblem> {
    view.group(id)?.ok_or_else(|| ApiProblem::not_found(&GROUP, id.as_str()))
}

/// The same with what is stored beside it.
pub fn whole(view: &View<'_>, id: &GroupId) -> Result<StoredGroup, ApiProblem> {
    Ok(beside(view, stored(view, id)?)?)
}

fn beside(view: &View<'_>, row: GroupRow) -> Result<StoredGroup, StoreError> {
    let id = &row.group.id;
    Ok(StoredGroup { owner: view.owner(id.as_str())?, tasks: open_tasks(view, id)?, row })
}

/// The tasks on a group that are not over.
pub fn open_tasks(view: &View<'_>, id: &GroupId) -> Result<Vec<Task>, StoreError> {
    Ok(view.open_tasks_on_group(id)?.into_iter().map(|task| task.value).collect())
}

/// Groups in the order in which they were made; last, as `unassigned`, the workers that are in none.
#[utoipa::path(get, path = "/api/v1/groups", tag = "groups",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query), ("filter" = Option<String>, Query, example = "name~llm"),
    ),
    responses((status = 200, body = Envelope<Page<Group>>), (status = 422, body = Failure)))]
pub async fn list(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Reply {
    let params = Params::read(query.as_deref(), &["pageSize", "pageToken", "filter"])?;
    let wanted = paging::wanted(&params)?;
    let part = name_filter(&params)?.map(|part| part.to_lowercase());
    let known = core.known_environments();
    let reader = GroupReader { principal: caller, front_end: front_end(&headers) };
    let read: Result<Vec<StoredGroup>, StoreError> =
        core.store().read(|view| view.groups()?.into_iter().map(|row| beside(view, row)).collect()).await;
    let groups = read?;
    let last = view::unassigned(groups.iter().map(|stored| &stored.row), &known, language(&headers));
    let shown = groups.iter().map(|stored| view::group(stored, &known, &reader));
    let mut all: Vec<Group> = shown.chain([last]).collect();
    all.retain(|group| part.as_ref().is_none_or(|part| group.name.to_lowercase().contains(part)));
    EnvelopeAnswer::ok(&paging::cut(all, &wanted)?)
}

/// One group.
#[utoipa::path(get, path = "/api/v1/groups/{id}", tag = "groups", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Group>), (status = 404, body = Failure)))]
pub async fn show(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    GroupPath(id): GroupPath,
) -> Reply {
    let known = core.known_environments();
    if id.as_str() == UNASSIGNED {
        let rows: Result<_, StoreError> = core.store().read(|view| view.groups()).await;
        return EnvelopeAnswer::ok(&view::unassigned(&rows?, &known, language(&headers)));
    }
    let stored = core.store().read(move |view| whole(view, &id)).await?;
    let reader = GroupReader { principal: caller, front_end: front_end(&headers) };
    EnvelopeAnswer::ok(&view::group(&stored, &known, &reader))
}

/// Changes the name or the configuration. What runs is not touched; the next start has the new configuration.
#[utoipa::path(patch, path = "/api/v1/groups/{id}", tag = "groups", params(("id" = String, Path)),
    request_body = ChangeGroup,
    responses((status = 200, body = Envelope<Group>), (status = 404, body = Failure), (status = 409, body = Failure),
        (status = 422, body = Failure)))]
pub async fn change(
    State(core): State<Core>,
    Caller(caller): Caller,
    GroupPath(id): GroupPath,
    headers: HeaderMap,
    body: JsonBody<ChangeGroup>,
) -> Reply {
    must_be_named(&id)?;
    let ChangeGroup { name: wanted, config, version } = body.value;
    let new_name = wanted.as_deref().map(name).transpose()?;
    let known = core.known_environments();
    let reader = GroupReader { principal: caller.clone(), front_end: front_end(&headers) };
    let cause = Cause { principal: caller, now_ms: core.now_ms() };
    let changed = core.store().write(move |tx| {
        let row = stored(tx, &id)?;
        ownership::permit_change(tx, id.as_str(), &cause.principal)?;
        must_be_seen(&row, version)?;
        let name = new_name.unwrap_or_else(|| row.group.name.clone());
        let launch = sound(changed_by(row.group.launch.clone(), config))?;
        if name != row.group.name || launch != row.group.launch {
            tx.update_group(&id, &name, &launch, cause.now_ms).map_err(|error| refused(error, &name))?;
            members::tell(tx, "group.changed", change_text(&row.group.name, &name), &cause)?;
        }
        Ok(view::group(&whole(tx, &id)?, &known, &reader))
    });
    let shown: Group = changed.await.map_err(WriteError::<ApiProblem>::flatten)?;
    EnvelopeAnswer::said(Text::new("已保存", "the group was saved"), &shown)
}

fn change_text(before: &str, after: &str) -> Text {
    if before == after {
        Text::new(format!("分组“{after}”的配置已修改"), format!("the configuration of the group '{after}' was changed"))
    } else {
        Text::new(format!("分组“{before}”已更名为“{after}”"), format!("the group '{before}' is called '{after}' now"))
    }
}

fn changed_by(launch: LaunchConfig, change: GroupConfigChange) -> LaunchConfig {
    let GroupConfigChange { master_addr, world_size, master_port, backend } = change;
    LaunchConfig {
        master_addr: master_addr.unwrap_or(launch.master_addr),
        world_size: world_size.unwrap_or(launch.world_size),
        master_port: master_port.map_or(launch.master_port, |port| port.unwrap_or(DEFAULT_PORT)),
        backend: backend.map_or(launch.backend, Option::unwrap_or_default),
    }
}

/// Refuses what only a group with a name can do.
pub fn must_be_named(id: &GroupId) -> Result<(), ApiProblem> {
    if id.as_str() == UNASSIGNED { Err(GroupRefusal::Unassigned.into()) } else { Ok(()) }
}

/// Refuses a change by somebody who has seen another version.
pub fn must_be_seen(row: &GroupRow, version: Option<u64>) -> Result<(), ApiProblem> {
    match version {
        Some(expected) if expected != row.group.version => {
            let (group, found) = (row.group.name.clone(), row.group.version);
            Err(GroupRefusal::Changed { group, expected, found }.into())
        }
        _ => Ok(()),
    }
}

/// Forgets a group on which no task is open; its workers are in none then.
#[utoipa::path(delete, path = "/api/v1/groups/{id}", tag = "groups", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(State(core): State<Core>, Caller(caller): Caller, GroupPath(id): GroupPath) -> Reply {
    must_be_named(&id)?;
    let cause = Cause { principal: caller, now_ms: core.now_ms() };
    let deleted = core.store().write(move |tx| {
        let row = stored(tx, &id)?;
        ownership::permit_change(tx, id.as_str(), &cause.principal)?;
        let tasks: Vec<_> = open_tasks(tx, &id)?.into_iter().map(|task| task.id).collect();
        let name = row.group.name;
        if !tasks.is_empty() {
            return Err(GroupRefusal::InUse { group: name, tasks }.into());
        }
        tx.delete_group(&id)?;
        tx.forget_owner(id.as_str())?;
        members::tell(
            tx,
            "group.deleted",
            Text::new(format!("分组“{name}”已删除"), format!("the group '{name}' was deleted")),
            &cause,
        )
    });
    deleted.await.map_err(WriteError::<ApiProblem>::flatten)?;
    EnvelopeAnswer::said(Text::new("已删除", "the group was deleted"), &Empty {})
}

#[cfg(test)]
mod tests {
    use fermi_domain::group::Backend;

    use super::*;

    #[test]
    fn a_change_touches_only_what_it_names_and_null_is_the_default() {
        let before = LaunchConfig {
            master_addr: Some("gn6".into()),
            world_size: Some(4),
            master_port: 1234,
            backend: Backend::Gloo,
        };
        let change = |json: &str| changed_by(before.clone(), serde_json::from_str(json).unwrap());
        assert_eq!(change("{}"), before);
        let other = change(r#"{"masterAddr": "gn7", "worldSize": null, "masterPort": null, "backend": null}"#);
        assert_eq!(other, LaunchConfig { master_addr: Some("gn7".into()), ..LaunchConfig::default() });
    }
}

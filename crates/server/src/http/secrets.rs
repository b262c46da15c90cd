//! Secrets: set, listed by name, deleted. No route gives a value back.

use axum::extract::{Path, RawQuery, State};
use fermi_api::v1::{AllowedAction, Empty, Envelope, Failure, Page, Secret, SetSecret};
use fermi_domain::access::{Deed, SecretHolder, SecretRefusal, check_secret_name, check_secret_value};
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::StoreError;
use fermi_store::events::NewEvent;
use fermi_store::secrets::SecretRow;

use super::body::JsonBody;
use super::params::Params;
use crate::access::permit;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, SECRET};

impl From<SecretRefusal> for ApiProblem {
    fn from(refusal: SecretRefusal) -> Self {
        Self::refused(&refusal)
    }
}

/// Keeps a secret, in the place of one of the same name: one's own, or as an operator one for all.
#[utoipa::path(post, path = "/api/v1/secrets", tag = "access", request_body = SetSecret,
    responses((status = 200, body = Envelope<Secret>), (status = 403, body = Failure), (status = 422, body = Failure)))]
pub async fn set(State(core): State<Core>, Caller(caller): Caller, body: JsonBody<SetSecret>) -> Reply {
    let SetSecret { name, value, shared } = body.value;
    let holder = holder(&caller, shared, None)?;
    permit(&caller, Deed::Change, holder.user())?;
    check_secret_name(&name)?;
    check_secret_value(&value)?;
    let now_ms = core.now_ms();
    let sealed = core.vault().seal(&holder, &name, &value);
    let sealed = sealed.map_err(|error| ApiProblem::broken("a secret could not be sealed", &error))?;
    let text = said(&holder, &name, Text::new("已保存", "was kept"));
    let row = SecretRow { holder: holder.clone(), name: name.clone(), updated_ms: now_ms };
    let reader = caller.clone();
    let event = NewEvent::new(now_ms, "secret.set", text.clone(), caller);
    core.change_accounts(event, move |tx| Ok(tx.set_secret(&holder, &name, &sealed, now_ms)?)).await?;
    EnvelopeAnswer::said(text, &shown(row, &reader))
}

/// The names of one's own and of shared secrets; an administrator sees those of everyone.
#[utoipa::path(get, path = "/api/v1/secrets", tag = "access",
    responses((status = 200, body = Envelope<Page<Secret>>)))]
pub async fn list(State(core): State<Core>, Caller(caller): Caller) -> Reply {
    let rows: Result<_, StoreError> = core.store().read(|view| view.secrets()).await;
    let sees_all = permit(&caller, Deed::Administer, None).is_ok();
    let is_seen = |row: &SecretRow| sees_all || row.holder.user().is_none_or(|user| caller.user() == Some(user));
    EnvelopeAnswer::ok(&Page::whole(rows?.into_iter().filter(is_seen).map(|row| shown(row, &caller)).collect()))
}

/// Deletes a secret: one's own, or as an operator one that is shared or another user's. Tasks that name it and have not
/// started are not started any more, and say so.
#[utoipa::path(delete, path = "/api/v1/secrets/{name}", tag = "access",
    params(("name" = String, Path), ("shared" = Option<bool>, Query, description = "The one that is everyone's"),
        ("owner" = Option<String>, Query, description = "Whose it is; one's own when not given")),
    responses((status = 200, body = Envelope<Empty>), (status = 403, body = Failure), (status = 404, body = Failure)))]
pub async fn delete(
    State(core): State<Core>,
    Caller(caller): Caller,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Reply {
    let asked = Params::read(query.as_deref(), &["shared", "owner"])?;
    let holder = holder(&caller, asked.flag("shared")?, asked.text("owner"))?;
    permit(&caller, Deed::Change, holder.user())?;
    check_secret_name(&name).map_err(|_| ApiProblem::not_found(&SECRET, &name))?;
    let text = said(&holder, &name, Text::new("已删除", "was deleted"));
    let event = NewEvent::new(core.now_ms(), "secret.deleted", text.clone(), caller);
    core.change_accounts(event, move |tx| {
        if tx.remove_secret(&holder, &name)? { Ok(()) } else { Err(ApiProblem::not_found(&SECRET, &name)) }
    })
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

/// Whose secret it is that something has become of.
fn said(holder: &SecretHolder, name: &str, what: Text) -> Text {
    match holder.user() {
        Some(user) => {
            Text::new(format!("{user} 的密钥 {name} {}", what.zh), format!("the secret {name} of {user} {}", what.en))
        }
        None => Text::new(format!("共享密钥 {name} {}", what.zh), format!("the shared secret {name} {}", what.en)),
    }
}

fn holder(caller: &Principal, shared: bool, owner: Option<&str>) -> Result<SecretHolder, ApiProblem> {
    match (shared, owner.or_else(|| caller.user())) {
        (true, _) => Ok(SecretHolder::Shared),
        (false, Some(user)) => Ok(SecretHolder::User(user.to_owned())),
        (false, None) => Err(ApiProblem::not_found(&SECRET, "")),
    }
}

fn shown(row: SecretRow, reader: &Principal) -> Secret {
    let owner = row.holder.user().map(str::to_owned);
    let allowed_actions = AllowedAction::on_owned(reader, owner.as_deref());
    Secret { name: row.name, shared: owner.is_none(), owner, updated_at: row.updated_ms, allowed_actions }
}

//! Users: added, listed, given another role or password, removed.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::Extensions;
use fermi_api::v1::{ChangeUser, CreateUser, Empty, Envelope, Failure, LinkUser, Page, SetPassword, User};
use fermi_domain::access::oidc::{IdClaims, OidcProblem};
use fermi_domain::access::{AccountRefusal, Deed, check_name, check_password};
use fermi_domain::language::Text;
use fermi_store::StoreError;
use fermi_store::events::NewEvent;
use fermi_store::users as kept;

use super::body::JsonBody;
use super::{names, session};
use crate::access::{password, permit};
use crate::caller::{Caller, Shower};
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, USER};
use crate::guard::Standing;

impl From<AccountRefusal> for ApiProblem {
    fn from(refusal: AccountRefusal) -> Self {
        Self::refused(&refusal)
    }
}

/// Adds a user. One of this name that was removed is back, with what was theirs.
#[utoipa::path(post, path = "/api/v1/users", tag = "access", request_body = CreateUser,
    responses((status = 200, body = Envelope<User>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn add(
    State(core): State<Core>,
    Caller(caller): Caller,
    Extension(standing): Extension<Standing>,
    body: JsonBody<CreateUser>,
) -> Reply {
    let CreateUser { name, role, password } = body.value;
    check_name(&name)?;
    check_password(&password)?;
    let hash = password::hash(password).await?;
    let now_ms = core.now_ms();
    let role_text = role.text();
    let text = Text::new(
        format!("用户 {name} 已添加，角色为{}", role_text.zh),
        format!("the user {name} was added as {}", role_text.en),
    );
    let added = User { name: name.clone(), role, created_at: now_ms, has_company_account: false };
    let event = NewEvent::new(core.now_ms(), "user.added", text.clone(), caller);
    core.change_accounts(event, move |tx| {
        // Hashing takes its turn, in which the caller may have been removed.
        standing.ask_again()?;
        if tx.add_user(&name, role, &hash, now_ms)? { Ok(()) } else { Err(names::taken(&USER, &name)) }
    })
    .await?;
    EnvelopeAnswer::said(text, &added)
}

/// All users, by name.
#[utoipa::path(get, path = "/api/v1/users", tag = "access", responses((status = 200, body = Envelope<Page<User>>)))]
pub async fn list(State(core): State<Core>) -> Reply {
    let read = core.store().read(|view| Ok::<_, StoreError>((view.users()?, view.linked_names()?)));
    let (users, linked) = read.await?;
    EnvelopeAnswer::ok(&Page::whole(users.into_iter().map(|user| shown(user, &linked)).collect()))
}

/// Gives a user another role, from the next request on.
#[utoipa::path(patch, path = "/api/v1/users/{name}", tag = "access", params(("name" = String, Path)),
    request_body = ChangeUser,
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn change(
    State(core): State<Core>,
    Caller(caller): Caller,
    Path(name): Path<String>,
    body: JsonBody<ChangeUser>,
) -> Reply {
    check_name(&name).map_err(|_| ApiProblem::not_found(&USER, &name))?;
    let role = body.value.role;
    let role_text = role.text();
    let text =
        Text::new(format!("{name} 的角色现在是{}", role_text.zh), format!("{name} has the role {} now", role_text.en));
    let event = NewEvent::new(core.now_ms(), "user.role_changed", text.clone(), caller);
    core.change_accounts(event, move |tx| {
        if tx.set_role(&name, role)? { Ok(()) } else { Err(ApiProblem::not_found(&USER, &name)) }
    })
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

/// A company account is this user from now on. A user has one, and an account is one user's: what either was linked to before
/// is replaced.
#[utoipa::path(post, path = "/api/v1/users/{name}/link", tag = "access", params(("name" = String, Path)),
    request_body = LinkUser,
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn link(
    State(core): State<Core>,
    Caller(caller): Caller,
    Path(name): Path<String>,
    body: JsonBody<LinkUser>,
) -> Reply {
    check_name(&name).map_err(|_| ApiProblem::not_found(&USER, &name))?;
    let issuer = core.oidc().ok_or(OidcProblem::NotSetUp)?.settings().issuer.clone();
    let claims = IdClaims([("sub".to_owned(), body.value.subject.trim().into())].into_iter().collect());
    let subject = claims.subject().ok_or_else(no_subject)?;
    let text = Text::new(
        format!("用户 {name} 已与公司账号 {subject} 关联"),
        format!("the user {name} is linked to the company account {subject}"),
    );
    let now_ms = core.now_ms();
    let event = NewEvent::new(now_ms, "user.linked", text.clone(), caller);
    core.change_accounts(event, move |tx| {
        tx.user(&name)?.ok_or_else(|| ApiProblem::not_found(&USER, &name))?;
        Ok(tx.link_user(&issuer, &subject, &name, now_ms)?)
    })
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

fn no_subject() -> ApiProblem {
    let text = Text::new("公司账号的标识无效", "this names no company account");
    ApiProblem::unprocessable("subject_invalid", "subject", text).hint(Text::new(
        "写成 ID 令牌中的 sub；登录被拒绝时的页面会显示它",
        "write `sub` of its ID tokens; the page that refuses a log-in shows it",
    ))
}

/// Removes a user, whose sessions and tokens end at once. What is theirs stays theirs.
#[utoipa::path(delete, path = "/api/v1/users/{name}", tag = "access", params(("name" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn remove(State(core): State<Core>, Caller(caller): Caller, Path(name): Path<String>) -> Reply {
    check_name(&name).map_err(|_| ApiProblem::not_found(&USER, &name))?;
    let text = Text::new(format!("用户 {name} 已移除"), format!("the user {name} was removed"));
    let now_ms = core.now_ms();
    let event = NewEvent::new(core.now_ms(), "user.removed", text.clone(), caller);
    core.change_accounts(event, move |tx| {
        if tx.remove_user(&name, now_ms)? { Ok(()) } else { Err(ApiProblem::not_found(&USER, &name)) }
    })
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

/// Sets a password: one's own, which takes the one until now, or as an administrator another's. Sessions of that user end,
/// but for the one that asks.
#[utoipa::path(post, path = "/api/v1/users/{name}/password", tag = "access", params(("name" = String, Path)),
    request_body = SetPassword,
    responses((status = 200, body = Envelope<Empty>), (status = 401, body = Failure), (status = 403, body = Failure),
        (status = 404, body = Failure), (status = 422, body = Failure), (status = 429, body = Failure)))]
pub async fn set_password(
    State(core): State<Core>,
    Shower(caller): Shower,
    Path(name): Path<String>,
    extensions: Extensions,
    body: JsonBody<SetPassword>,
) -> Reply {
    check_name(&name).map_err(|_| ApiProblem::not_found(&USER, &name))?;
    let standing = extensions.get::<Standing>().cloned();
    let SetPassword { password, current } = body.value;
    let mut proved = None;
    if caller.principal.user() == Some(&name) {
        let current = current.ok_or_else(current_needed)?;
        proved = Some(session::prove(&core, &name, current, session::network(&extensions)).await?);
    } else {
        permit(&caller.principal, Deed::Administer, None)?;
    }
    check_password(&password)?;
    let hash = password::hash(password).await?;
    let asking = caller.holder.map(|holder| holder.digest);
    let text = Text::new(format!("{name} 的密码已更改"), format!("the password of {name} was changed"));
    let event = NewEvent::new(core.now_ms(), "user.password_changed", text.clone(), caller.principal);
    core.change_accounts(event, move |tx| {
        // Another may have been set, and the caller removed, while this one was hashed.
        if proved.is_some() && tx.password_of(&name)? != proved {
            return Err(session::wrong());
        }
        if let Some(standing) = &standing {
            standing.ask_again()?;
        }
        if !tx.set_password(&name, &hash)? {
            return Err(ApiProblem::not_found(&USER, &name));
        }
        tx.end_sessions(&name, asking.as_ref())?;
        Ok(())
    })
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

fn current_needed() -> ApiProblem {
    let text = Text::new("请给出当前密码", "please give the password until now");
    ApiProblem::unprocessable("current_password_needed", "current", text)
        .hint(Text::new("忘记时请管理员重设", "an administrator sets another if it is forgotten"))
}

fn shown(user: kept::User, linked: &[String]) -> User {
    let has_company_account = linked.contains(&user.name);
    User { name: user.name, role: user.role, created_at: user.created_ms, has_company_account }
}

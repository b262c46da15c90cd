//! Logging in and out.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::State;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fermi_api::v1::{DeniedDeed, Envelope, Failure, LogIn, LoggedOut, Session};
use fermi_domain::access::token::{SESSION_MS, USUAL_TOKEN_MS};
use fermi_domain::access::{JoinTerms, Peer, TokenKind, TokenScope, check_name, network_of};
use fermi_domain::language::Text;
use fermi_domain::principal::{Principal, Role, TOKEN};
use fermi_store::StoreError;
use fermi_store::events::NewEvent;
use fermi_store::tokens::{NewToken, TokenDigest};

use super::body::JsonBody;
use super::names;
use crate::access::oidc::CompanySession;
use crate::access::{Holder, bounded_tokens, cookie, password, secret_word};
use crate::caller::Shower;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply};
use crate::guard::SESSION;

/// Opens a session: a user with a password, or a token, for a cookie; with `tokenName` for a token instead.
#[utoipa::path(post, path = "/api/v1/session", tag = "access", request_body = LogIn,
    responses((status = 200, body = Envelope<Session>, description = "The session, and its cookie"),
        (status = 401, body = Failure), (status = 422, body = Failure), (status = 429, body = Failure)))]
pub async fn open(
    State(core): State<Core>,
    extensions: Extensions,
    body: JsonBody<LogIn>,
) -> Result<Response, ApiProblem> {
    let LogIn { user, password, token, token_name } = body.value;
    let (network, is_encrypted) = (network(&extensions), is_encrypted(&extensions));
    let known = match (user, password, token) {
        (Some(user), Some(password), None) => with_password(&core, user, password, network).await?,
        (None, None, Some(token)) => with_token(&core, &token)?,
        _ => return Err(neither()),
    };
    let now_ms = core.now_ms();
    let word = secret_word::draw().map_err(|error| ApiProblem::broken("no token could be drawn", &error))?;
    let (kind, name, lasts_ms) = match token_name {
        Some(name) if known.password.is_some() => (TokenKind::LogIn, names::name("tokenName", &name)?, USUAL_TOKEN_MS),
        Some(name) => (TokenKind::Personal, names::name("tokenName", &name)?, USUAL_TOKEN_MS),
        None => (TokenKind::Session, String::new(), SESSION_MS),
    };
    let ends_ms = known.ends_at_the_latest.map_or(now_ms + lasts_ms, |latest| latest.min(now_ms + lasts_ms));
    let new = NewToken {
        digest: secret_word::digest(word.as_bytes()),
        kind,
        user: known.user.clone(),
        owner: known.owner.clone(),
        name,
        role: known.role,
        scope: TokenScope::Api,
        made_with: known.made_with,
        created_ms: now_ms,
        expires_ms: Some(ends_ms),
        join: JoinTerms::default(),
    };
    let (principal, role) = (known.principal(), known.role);
    let event = NewEvent::new(now_ms, "session.opened", logged_in(&principal), principal.clone());
    core.change_accounts(event, move |tx| {
        // The password may have been changed, and the user removed, since it was found to be right.
        if let (Some(user), Some(proved)) = (&new.user, &known.password)
            && tx.password_of(user)?.as_ref() != Some(proved)
        {
            return Err(wrong());
        }
        bounded_tokens::add(tx, &new)
    })
    .await?;
    let is_cookie = kind == TokenKind::Session;
    let session = Session {
        user: principal.user().unwrap_or_default().to_owned(),
        role,
        is_open: core.accounts().is_open(),
        expires_at: Some(ends_ms),
        token: (!is_cookie).then(|| word.clone()),
        denied: DeniedDeed::all(&principal),
    };
    let answer = EnvelopeAnswer::said(logged_in(&principal), &session)?;
    let mut response = answer.into_response();
    if is_cookie && let Some(value) = cookie::write(core.accounts().port(), &word, lasts_ms / 1_000, is_encrypted) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// From which network a request comes; behind a proxy that is trusted, the one that the proxy names.
pub fn network(extensions: &Extensions) -> IpAddr {
    extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| network_of(peer.address))
}

pub fn is_encrypted(extensions: &Extensions) -> bool {
    extensions.get::<Peer>().is_some_and(|peer| peer.is_encrypted)
}

/// Who has proved to be someone.
struct Proven {
    /// None: the one who holds the server's own token.
    user: Option<String>,
    /// Of a token that is no user's.
    owner: Option<String>,
    role: Role,
    made_with: Option<TokenDigest>,
    ends_at_the_latest: Option<u64>,
    /// The hash of the password that was right.
    password: Option<String>,
}

impl Proven {
    fn principal(&self) -> Principal {
        match self.user.as_ref().or(self.owner.as_ref()) {
            Some(name) => Principal::User { role: self.role, name: name.clone() },
            None => Principal::token_holder(self.role),
        }
    }
}

async fn with_password(core: &Core, user: String, password: String, network: IpAddr) -> Result<Proven, ApiProblem> {
    let hash = prove(core, &user, password, network).await?;
    let name = user.clone();
    let found: Result<_, StoreError> = core.store().read(move |view| view.user(&name)).await;
    let role = found?.ok_or_else(wrong)?.role;
    Ok(Proven { user: Some(user), owner: None, role, made_with: None, ends_at_the_latest: None, password: Some(hash) })
}

/// Whether this is the user's password, whose hash is the answer; each failure makes the next try wait.
pub async fn prove(core: &Core, user: &str, password: String, network: IpAddr) -> Result<String, ApiProblem> {
    check_name(user).map_err(|_| wrong())?;
    // By network too, so that a stranger elsewhere cannot keep the user out.
    let key = format!("{user}@{network}");
    let now_ms = core.now_ms();
    if let Some(wait_ms) = core.accounts().throttle(|throttle| throttle.wait_ms(&key, now_ms)) {
        return Err(password::too_many(wait_ms));
    }
    let name = user.to_owned();
    let kept: Result<_, StoreError> = core.store().read(move |view| view.password_of(&name)).await;
    let kept = kept?;
    core.accounts().throttle(|throttle| throttle.failed(&key, now_ms));
    let is_known = kept.is_some();
    // Who comes with a company account has no password.
    let hash = kept.clone().filter(|hash| !hash.is_empty());
    let is_right = password::is_right(password, hash)
        .await
        .inspect_err(|_| core.accounts().throttle(|throttle| throttle.take_back(&key)))?;
    if let Some(hash) = kept.filter(|_| is_right) {
        core.accounts().throttle(|throttle| throttle.succeeded(&key));
        return Ok(hash);
    }
    // Names that are no one's could fill the log, and push out of it what people did.
    if is_known {
        let text = Text::new(format!("{user} 登录失败"), format!("a log-in as {user} failed"));
        let event = NewEvent::new(now_ms, "session.refused", text, Principal::System);
        let noted = core.store().write(move |tx| tx.append_event(event));
        noted.await.map_err(fermi_store::WriteError::<StoreError>::flatten)?;
    }
    Err(wrong())
}

/// A token is too long to be guessed, so that wrong ones are not counted.
fn with_token(core: &Core, token: &str) -> Result<Proven, ApiProblem> {
    let digest = secret_word::digest(token.trim().as_bytes());
    let holder = core.accounts().holder(&digest, core.now_ms()).filter(|holder| holder.scope == TokenScope::Api);
    let Principal::User { role, .. } = holder.ok_or_else(wrong)?.principal else { return Err(wrong()) };
    let shown = core.accounts().token(&digest);
    let ends_at_the_latest = shown.as_ref().and_then(|token| token.expires_ms);
    let (user, owner) = shown.map(|token| (token.user, token.owner)).unwrap_or_default();
    Ok(Proven { user, owner, role, made_with: Some(digest), ends_at_the_latest, password: None })
}

pub fn wrong() -> ApiProblem {
    let text = Text::new("用户名、密码或令牌不正确", "the name, the password or the token is not right");
    ApiProblem::new(StatusCode::UNAUTHORIZED, "log_in_failed", text).hint(Text::new(
        "检查后重试；管理员可用 fermi user passwd 重设密码",
        "check it and try again; an administrator sets a password with `fermi user passwd`",
    ))
}

fn neither() -> ApiProblem {
    ApiProblem::unprocessable(
        "log_in_incomplete",
        "user",
        Text::new("请给出用户名和密码，或令牌", "give a user with a password, or a token"),
    )
    .hint(Text::new(
        "例如 {\"user\": \"ann\", \"password\": \"…\"}",
        "such as {\"user\": \"ann\", \"password\": \"…\"}",
    ))
}

pub fn logged_in(principal: &Principal) -> Text {
    match principal.user().unwrap_or_default() {
        TOKEN => Text::new("服务器令牌已登录", "the server's token is logged in"),
        name => Text::new(format!("{name} 已登录"), format!("{name} is logged in")),
    }
}

/// On whose behalf this request comes.
#[utoipa::path(get, path = "/api/v1/session", tag = "access",
    responses((status = 200, body = Envelope<Session>), (status = 401, body = Failure)))]
pub async fn show(State(core): State<Core>, Shower(caller): Shower) -> Reply {
    let denied = DeniedDeed::all(&caller.principal);
    let Principal::User { role, name } = caller.principal else { return Err(wrong()) };
    let expires_at = caller.holder.and_then(|holder| core.accounts().token(&holder.digest)?.expires_ms);
    let is_open = core.accounts().is_open();
    EnvelopeAnswer::ok(&Session { user: name, role, is_open, expires_at, token: None, denied })
}

/// Ends the session, or revokes the token, with which this request comes. The server's own token stays.
#[utoipa::path(delete, path = "/api/v1/session", tag = "access",
    responses((status = 200, body = Envelope<LoggedOut>), (status = 401, body = Failure)))]
pub async fn end(
    State(core): State<Core>,
    Shower(caller): Shower,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, ApiProblem> {
    let text = Text::new("已退出登录", "you are logged out");
    let continue_at = caller.holder.as_ref().and_then(|holder| company_log_out(&core, &headers, holder));
    if let Some(id) = caller.holder.and_then(|holder| holder.token) {
        let event = NewEvent::new(core.now_ms(), "session.ended", text.clone(), caller.principal);
        core.change_accounts(event, move |tx| Ok(tx.remove_token(&id)?)).await?;
    }
    let mut response = EnvelopeAnswer::said(text, &LoggedOut { continue_at })?.into_response();
    for forgotten in forgotten(&core, is_encrypted(&extensions)) {
        response.headers_mut().append(header::SET_COOKIE, forgotten);
    }
    Ok(response)
}

/// Where the session at the company's service is ended that began with this one.
fn company_log_out(core: &Core, headers: &HeaderMap, holder: &Holder) -> Option<String> {
    let mut shown = cookie::read_company(headers, core.accounts().port());
    let session = shown.find_map(|word| CompanySession::open(core.vault(), word, &holder.digest))?;
    Some(session.log_out_url(core.oidc()?.settings()))
}

/// What makes a browser forget its session.
fn forgotten(core: &Core, is_encrypted: bool) -> impl Iterator<Item = HeaderValue> {
    let port = core.accounts().port();
    let company = core.oidc().map(|client| client.settings().path_of(SESSION));
    let company = company.and_then(|path| cookie::write_company(port, "", 0, &path, is_encrypted));
    cookie::write(port, "", 0, is_encrypted).into_iter().chain(company)
}

//! What a browser opens to log in with a company's account: where it begins, and where the company's service sends it back to.
//! A person reads what goes wrong here, so that it is said on a page.

use std::collections::HashMap;
use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use fermi_domain::access::oidc::{Arrival, OidcProblem, arrive};
use fermi_domain::access::token::SESSION_MS;
use fermi_domain::access::{JoinTerms, TokenKind, TokenScope};
use fermi_domain::language::{Explained, FrontEnd, Language, Text};
use fermi_domain::principal::{Principal, Role};
use fermi_store::events::NewEvent;
use fermi_store::tokens::NewToken;
use fermi_store::{StoreError, Transaction, WriteError};

use super::app_state::AppState;
use super::{names, session};
use crate::access::oidc::{Asserted, BegunLogIn, CALLBACK_PATH, CompanySession, LOG_IN_PATH, OidcClient};
use crate::access::{bounded_tokens, cookie, secret_word};
use crate::core::Core;
use crate::envelope::{ApiProblem, USER, language};
use crate::guard::SESSION;

pub fn routes() -> Router<AppState> {
    Router::new().route(LOG_IN_PATH, get(begin)).route(CALLBACK_PATH, get(finish))
}

impl From<OidcProblem> for ApiProblem {
    fn from(problem: OidcProblem) -> Self {
        let status = match problem {
            OidcProblem::Unreachable { .. } | OidcProblem::Strange { .. } => StatusCode::BAD_GATEWAY,
            OidcProblem::NotBegun => StatusCode::BAD_REQUEST,
            OidcProblem::Token(_) => StatusCode::UNAUTHORIZED,
            OidcProblem::Busy => StatusCode::TOO_MANY_REQUESTS,
            OidcProblem::NotSetUp => StatusCode::NOT_FOUND,
            OidcProblem::Denied { .. }
            | OidcProblem::NameTaken { .. }
            | OidcProblem::NameUnfit { .. }
            | OidcProblem::NoGroup
            | OidcProblem::Removed { .. } => StatusCode::FORBIDDEN,
        };
        Self { status, ..Self::refused(&problem) }
    }
}

/// Sends a browser to the company's service.
async fn begin(State(core): State<Core>, headers: HeaderMap, extensions: Extensions) -> Response {
    begun(&core, session::network(&extensions)).await.unwrap_or_else(|problem| page(&problem, language(&headers)))
}

async fn begun(core: &Core, network: IpAddr) -> Result<Response, ApiProblem> {
    let client = core.oidc().ok_or(OidcProblem::NotSetUp)?;
    let broken = |error: std::io::Error| ApiProblem::broken("a log-in could not be begun", &error);
    let begun = BegunLogIn::draw(core.now_ms()).map_err(broken)?;
    let kept = begun.sealed(core.vault()).map_err(broken)?;
    let url = client.authorization_url(begun, network).await?;
    let is_encrypted = client.settings().is_encrypted();
    Ok(leads_to(&url, cookie::write_begun(core.accounts().port(), &kept, is_encrypted)))
}

/// Takes a browser back, with a session if the service has named somebody who may come in.
async fn finish(
    State(core): State<Core>,
    headers: HeaderMap,
    extensions: Extensions,
    query: Result<Query<HashMap<String, String>>, QueryRejection>,
) -> Response {
    let port = core.accounts().port();
    let fields = query.map(|Query(fields)| fields).unwrap_or_default();
    let shown = cookie::read_begun(&headers, port).map(str::to_owned);
    let mut response = match finished(&core, shown.as_deref(), fields, session::network(&extensions)).await {
        Ok(LetIn { word, company, is_encrypted, session_path }) => {
            let (seconds, is_encrypted) = (SESSION_MS / 1_000, is_encrypted || session::is_encrypted(&extensions));
            // The console lies one folder up, also behind a proxy that shows it elsewhere.
            let mut response = leads_to("../", cookie::write(port, &word, seconds, is_encrypted));
            let kept =
                company.and_then(|kept| cookie::write_company(port, &kept, seconds, &session_path, is_encrypted));
            if let Some(kept) = kept {
                response.headers_mut().append(header::SET_COOKIE, kept);
            }
            response
        }
        Err(problem) => page(&problem, language(&headers)),
    };
    if let Some(forgotten) = cookie::forget_begun(port) {
        response.headers_mut().append(header::SET_COOKIE, forgotten);
    }
    response
}

/// A session that was opened.
struct LetIn {
    word: String,
    /// What ends the one at the company's service, sealed.
    company: Option<String>,
    is_encrypted: bool,
    /// Where sessions are ended, as browsers see it.
    session_path: String,
}

async fn finished(
    core: &Core,
    shown: Option<&str>,
    mut fields: HashMap<String, String>,
    network: IpAddr,
) -> Result<LetIn, ApiProblem> {
    let client = core.oidc().ok_or(OidcProblem::NotSetUp)?;
    let begun = shown.and_then(|shown| BegunLogIn::open(core.vault(), shown, core.now_ms()));
    let begun = begun.filter(|begun| fields.get("state") == Some(&begun.state)).ok_or(OidcProblem::NotBegun)?;
    if fields.get("iss").is_some_and(|issuer| *issuer != client.settings().issuer) {
        return Err(OidcProblem::NotBegun.into());
    }
    if let Some(error) = fields.remove("error") {
        let said = fields.remove("error_description").map_or(error.clone(), |more| format!("{error}: {more}"));
        return Err(OidcProblem::Denied { said }.into());
    }
    let code = fields.remove("code").ok_or(OidcProblem::NotBegun)?;
    let mut asserted = client.redeem(begun, code, core.now_ms(), network).await.inspect_err(|problem| {
        tracing::warn!(reason = %problem.text().en, "a log-in with a company account failed");
    })?;
    let log_out = asserted.log_out.take();
    let word = let_in(core, client, asserted).await?;
    let company = log_out.map(|(endpoint, id_token)| {
        let session = secret_word::digest(word.as_bytes());
        CompanySession { endpoint, id_token, session }.sealed(core.vault())
    });
    let company = company.transpose().map_err(|error| ApiProblem::broken("a log-out could not be prepared", &error))?;
    let settings = client.settings();
    Ok(LetIn { word, company, is_encrypted: settings.is_encrypted(), session_path: settings.path_of(SESSION) })
}

/// Opens a session for who was named, makes the user at the first time, and follows the groups.
async fn let_in(core: &Core, client: &OidcClient, asserted: Asserted) -> Result<String, ApiProblem> {
    let word = secret_word::draw().map_err(|error| ApiProblem::broken("no token could be drawn", &error))?;
    let (digest, now_ms) = (secret_word::digest(word.as_bytes()), core.now_ms());
    let settings = client.settings().clone();
    let (issuer, subject) = (settings.issuer.clone(), asserted.subject.clone());
    let opened = core.change_accounts_telling(move |tx| {
        let Asserted { subject, name, groups, .. } = asserted;
        let linked = tx.linked_user(&settings.issuer, &subject)?;
        let is_taken = tx.is_name_known(name.as_deref().unwrap_or_default())?;
        let arrival = arrive(&subject, linked.as_ref(), name, is_taken, settings.roles.grant(&groups))?;
        let (name, role) = settle(tx, arrival, &settings.issuer, &subject, now_ms)?;
        let session = NewToken {
            digest,
            kind: TokenKind::Session,
            user: Some(name.clone()),
            owner: None,
            name: String::new(),
            role,
            scope: TokenScope::Api,
            made_with: None,
            created_ms: now_ms,
            expires_ms: Some(now_ms + SESSION_MS),
            join: JoinTerms::default(),
        };
        bounded_tokens::add(tx, &session)?;
        let principal = Principal::User { role, name };
        Ok(((), NewEvent::new(now_ms, "session.opened", session::logged_in(&principal), principal)))
    });
    match opened.await {
        Ok(()) => Ok(word),
        Err(problem) => {
            note_refusal(core, &problem, now_ms).await?;
            if problem.id == OidcProblem::NoGroup.id() {
                shut_out(core, issuer, subject, now_ms).await?;
            }
            Err(problem)
        }
    }
}

/// Makes the user, or gives another role; and tells it.
fn settle(
    tx: &mut Transaction<'_>,
    arrival: Arrival,
    issuer: &str,
    subject: &str,
    now_ms: u64,
) -> Result<(String, Role), ApiProblem> {
    let (name, role, told) = match arrival {
        Arrival::Known { name, role, is_other_role: false } => return Ok((name, role)),
        Arrival::Known { name, role, is_other_role: true } => {
            tx.set_role(&name, role)?;
            let (zh, en) = (role.text().zh, role.text().en);
            let text = Text::new(
                format!("按公司账号的组，{name} 的角色现在是{zh}"),
                format!("by the groups of the company account {name} has the role {en} now"),
            );
            (name, role, ("user.role_changed", text))
        }
        Arrival::New { name, role } => {
            if !tx.add_user(&name, role, "", now_ms)? {
                return Err(names::taken(&USER, &name));
            }
            tx.link_user(issuer, subject, &name, now_ms)?;
            let (zh, en) = (role.text().zh, role.text().en);
            let text = Text::new(
                format!("用户 {name} 以公司账号首次登录，角色为{zh}"),
                format!("the user {name} has come with a company account for the first time, as {en}"),
            );
            (name, role, ("user.added", text))
        }
    };
    let principal = Principal::User { role, name: name.clone() };
    tx.append_event(NewEvent::new(now_ms, told.0, told.1, principal))?;
    Ok((name, role))
}

/// Who is in no group any more keeps the role of a viewer, for personal tokens, and no session.
async fn shut_out(core: &Core, issuer: String, subject: String, now_ms: u64) -> Result<(), ApiProblem> {
    let known: Result<_, StoreError> = core.store().read(move |view| view.linked_user(&issuer, &subject)).await;
    let Some(name) = known?.filter(|user| !user.is_removed).map(|user| user.name) else { return Ok(()) };
    let changed = core.change_accounts_telling(move |tx| {
        tx.set_role(&name, Role::Viewer)?;
        tx.end_sessions(&name, None)?;
        let text = Text::new(
            format!("{name} 的公司账号不在任何允许的组中：角色现在是查看者，其登录已结束"),
            format!("the company account of {name} is in no group that is let in: the role is viewer now, log-ins have ended"),
        );
        Ok(((), NewEvent::new(now_ms, "user.role_changed", text, Principal::System)))
    });
    changed.await
}

/// Whom the service has named and who is not let in.
async fn note_refusal(core: &Core, problem: &ApiProblem, now_ms: u64) -> Result<(), ApiProblem> {
    if problem.status != StatusCode::FORBIDDEN {
        return Ok(());
    }
    let text = Text::new(
        format!("公司账号登录被拒绝：{}", problem.text.zh),
        format!("a log-in with a company account was refused: {}", problem.text.en),
    );
    let event = NewEvent::new(now_ms, "session.refused", text, Principal::System);
    let noted = core.store().write(move |tx| tx.append_event(event));
    noted.await.map_err(WriteError::<StoreError>::flatten)?;
    Ok(())
}

fn leads_to(url: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let fields = response.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Ok(url) = HeaderValue::from_str(url) {
        fields.insert(header::LOCATION, url);
    }
    if let Some(cookie) = cookie {
        fields.append(header::SET_COOKIE, cookie);
    }
    response
}

/// Nothing but words and a link.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

fn page(problem: &ApiProblem, language: Language) -> Response {
    let hint = problem.hint.as_ref().map(|hint| hint.spelled(FrontEnd::Console));
    let (title, back, tag) = match language {
        Language::ZhCn => ("没有登录", "回到登录页面", "zh-CN"),
        Language::En => ("You are not logged in", "Back to the log-in page", "en"),
    };
    let text = escaped(problem.text.in_language(language));
    let hint = escaped(hint.as_ref().map(|hint| hint.in_language(language)).unwrap_or_default());
    let html = format!(
        "<!doctype html><html lang=\"{tag}\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Fermi</title><style>body{{font:16px/1.6 system-ui,sans-serif;max-width:40rem;\
         margin:15vh auto;padding:0 1rem;color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p><p>{hint}</p>\
         <p><a href=\"../\">{back}</a></p></html>\n"
    );
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = problem.status;
    let fields = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_says_is_no_part_of_the_page() {
        let said = "<script>alert('1')</script>\"&".to_owned();
        let problem = ApiProblem::from(OidcProblem::Denied { said });
        assert_eq!(escaped(&problem.text.en).matches(['<', '>', '"', '\'']).count(), 0);
        let response = page(&problem, Language::En);
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
    }
}

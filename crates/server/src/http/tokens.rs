//! Tokens of people and machines: made, listed, revoked.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use fermi_api::v1::{CreateToken, Empty, Envelope, Failure, MadeToken, Page, Token};
use fermi_domain::access::token::{LONGEST_TOKEN_MS, Maker, Tie, USUAL_TOKEN_MS, tie};
use fermi_domain::access::{Deed, FixedPlace, JoinTerms, TokenKind, TokenScope};
use fermi_domain::language::Text;
use fermi_domain::principal::{Principal, Role, TOKEN as SERVER_TOKEN, token_owner};
use fermi_domain::unseen;
use fermi_store::events::NewEvent;
use fermi_store::tokens::{self as kept, NewToken, TokenDigest};

use super::body::JsonBody;
use super::names;
use crate::access::{Holder, bounded_tokens, permit, secret_word};
use crate::caller::{Caller, Shower};
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, TOKEN};

/// Makes a token. The answer shows it, and nothing does again: only its digest is kept.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "access", request_body = CreateToken,
    responses((status = 200, body = Envelope<MadeToken>), (status = 403, body = Failure), (status = 422, body = Failure)))]
pub async fn create(State(core): State<Core>, Shower(shower): Shower, body: JsonBody<CreateToken>) -> Reply {
    let CreateToken { name, role, scope, expires_in_s, uses, zone, labels } = body.value;
    let name = names::name("name", &name)?;
    let maker = maker(&core, shower.holder.as_ref());
    let caller = shower.principal;
    let Principal::User { role: own, .. } = &caller else { return Err(ApiProblem::not_found(&TOKEN, "")) };
    let made_with_token = shower.holder.as_ref().and_then(|holder| core.accounts().token(&holder.digest));
    let role = match scope {
        TokenScope::Agent => {
            permit(&caller, Deed::Join, None)?;
            Role::Operator
        }
        TokenScope::Api => role.unwrap_or(*own).min(*own),
    };
    let (user, owner) = match made_with_token {
        Some(NewToken { user, owner, .. }) if user.is_some() || owner.is_some() => (user, owner),
        _ => (None, owner_of(*own, role, scope, &name)),
    };
    let join = join_terms(scope, uses, FixedPlace { zone, labels })?;
    let now_ms = core.now_ms();
    let Tie { made_with, ends_at_the_latest } = tie(maker, scope);
    let ends_ms = now_ms + lifetime_ms(expires_in_s)?;
    let word = secret_word::draw().map_err(|error| ApiProblem::broken("no token could be drawn", &error))?;
    let new = NewToken {
        digest: secret_word::digest(word.as_bytes()),
        kind: TokenKind::Personal,
        user,
        owner,
        name: name.clone(),
        role,
        scope,
        made_with,
        created_ms: now_ms,
        expires_ms: Some(ends_at_the_latest.map_or(ends_ms, |latest| ends_ms.min(latest))),
        join,
    };
    let text = Text::new(format!("令牌“{name}”已创建"), format!("the token '{name}' was made"));
    let (keep, event) = (new.clone(), NewEvent::new(now_ms, "token.created", text.clone(), caller));
    let id = core.change_accounts(event, move |tx| bounded_tokens::add(tx, &keep)).await?;
    EnvelopeAnswer::said(text, &MadeToken { made: shown(kept::Token { id, token: new }), token: word })
}

/// Whose things are that are made with a token of this name, which an administrator makes who is no user. A new token of the
/// same name has them too; what administrators themselves make is the server's token's.
fn owner_of(own: Role, role: Role, scope: TokenScope, name: &str) -> Option<String> {
    let is_anothers = own == Role::Administrator && role < Role::Administrator && scope == TokenScope::Api;
    is_anothers.then(|| token_owner(name))
}

/// With what the caller has proved who it is; nothing at all is asked for by an open server.
fn maker(core: &Core, shown: Option<&Holder>) -> Maker<TokenDigest> {
    let Some(holder) = shown else { return Maker::Password };
    match core.accounts().token(&holder.digest) {
        None => Maker::Server(holder.digest),
        Some(NewToken { kind: TokenKind::Session | TokenKind::LogIn, made_with: None, .. }) => Maker::Password,
        Some(token) => Maker::Token { digest: holder.digest, expires_ms: token.expires_ms },
    }
}

/// What machines get that come with the token. One that opens the API brings none in.
fn join_terms(scope: TokenScope, uses_left: Option<u32>, place: FixedPlace) -> Result<JoinTerms, ApiProblem> {
    if scope == TokenScope::Api && (uses_left.is_some() || !place.is_free()) {
        let text = Text::new("这些只用于机器的令牌", "these are for tokens of machines");
        return Err(ApiProblem::unprocessable("scope_invalid", "scope", text)
            .hint(Text::new("把 scope 设为 agent", "set scope to agent")));
    }
    if uses_left == Some(0) {
        let text = Text::new("至少要能用一次", "a token that no machine may use is of no use");
        return Err(ApiProblem::unprocessable("uses_invalid", "uses", text).hint(Text::new("1 或更多", "1 or more")));
    }
    let words = || place.zone.iter().chain(place.labels.iter().flat_map(|(key, value)| [key, value]));
    if let Some(letter) = words().find_map(|word| unseen::find(word)) {
        let text = letter.within(&Text::new("可用区或标签", "the zone or a label"));
        let problem = ApiProblem::refused(&letter);
        return Err(ApiProblem { text, id: "place_invalid".into(), field: Some("labels".to_owned()), ..problem });
    }
    let is_unfit = |word: &String| word.is_empty() || word.len() > LONGEST_WORD || word.contains(char::is_control);
    if words().any(is_unfit) || place.labels.len() > MOST_LABELS {
        let text = Text::new("可用区或标签无效", "the zone or a label is not valid");
        let hint = Text::new(
            format!("每项 1 到 {LONGEST_WORD} 个字节，不含控制字符，至多 {MOST_LABELS} 个标签"),
            format!("1 to {LONGEST_WORD} bytes each without control characters, and at most {MOST_LABELS} labels"),
        );
        return Err(ApiProblem::unprocessable("place_invalid", "labels", text).hint(hint));
    }
    Ok(JoinTerms { uses_left, place })
}

/// Of a zone, a key or a value.
const LONGEST_WORD: usize = 256;
const MOST_LABELS: usize = 32;

fn lifetime_ms(seconds: Option<u64>) -> Result<u64, ApiProblem> {
    let Some(seconds) = seconds else { return Ok(USUAL_TOKEN_MS) };
    let most = LONGEST_TOKEN_MS / 1_000;
    if seconds == 0 || seconds > most {
        let text = Text::new("有效期无效", "this is no time for a token to live");
        return Err(ApiProblem::unprocessable("expiry_invalid", "expiresInS", text)
            .hint(Text::new(format!("1 到 {most} 秒"), format!("1 to {most} seconds"))));
    }
    Ok(seconds * 1_000)
}

/// One's own tokens and sessions; an administrator sees everyone's.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "access", responses((status = 200, body = Envelope<Page<Token>>)))]
pub async fn list(State(core): State<Core>, Caller(caller): Caller) -> Reply {
    let tokens = core.accounts().tokens(core.now_ms()).into_iter().filter(|token| may_see(&caller, token));
    EnvelopeAnswer::ok(&Page::whole(tokens.map(shown).collect()))
}

/// Revokes a token or ends a session: one's own, or as an administrator anyone's.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "access", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn revoke(State(core): State<Core>, Caller(caller): Caller, Path(id): Path<String>) -> Reply {
    let known = core.accounts().tokens(core.now_ms());
    let found = known.into_iter().find(|token| token.id == id && may_see(&caller, token));
    let found = found.ok_or_else(|| ApiProblem::not_found(&TOKEN, &id))?;
    // What it is good for now: its user may have had a greater role when it was made.
    if let Some(holder) = core.accounts().holder(&found.token.digest, core.now_ms()) {
        must_be_as_much(&caller, &holder.principal)?;
    }
    let text = Text::new(
        format!("令牌 {id}（{}）已撤销", found.token.name),
        format!("the token {id} ({}) was revoked", found.token.name),
    );
    let event = NewEvent::new(core.now_ms(), "token.revoked", text.clone(), caller);
    core.change_accounts(
        event,
        move |tx| {
            if tx.remove_token(&id)? { Ok(()) } else { Err(ApiProblem::not_found(&TOKEN, &id)) }
        },
    )
    .await?;
    EnvelopeAnswer::said(text, &Empty {})
}

/// A token that looks and changes nothing does not end those of its user that do more.
fn must_be_as_much(caller: &Principal, holder: &Principal) -> Result<(), ApiProblem> {
    match (caller, holder) {
        (Principal::User { role: own, .. }, Principal::User { role, .. }) if own < role => {
            let role = role.text();
            let text = Text::new(
                format!("撤销{}的令牌需要同样的角色", role.zh),
                format!("to revoke a token of the role {} takes that role", role.en),
            );
            Err(ApiProblem::new(StatusCode::FORBIDDEN, "role_too_small", text)
                .hint(Text::new("用密码登录后再撤销", "log in with your password, and revoke it then")))
        }
        _ => Ok(()),
    }
}

fn may_see(caller: &Principal, token: &kept::Token) -> bool {
    // Tokens that were made with the server's own are an administrator's, whatever they are good for.
    let holder = token.token.user.as_ref().or(token.token.owner.as_ref());
    let is_own = holder.is_some() && caller.user() == holder.map(String::as_str);
    is_own || permit(caller, Deed::Administer, None).is_ok()
}

fn shown(kept::Token { id, token }: kept::Token) -> Token {
    Token {
        id,
        name: token.name,
        user: token.user.or(token.owner).unwrap_or_else(|| SERVER_TOKEN.to_owned()),
        role: token.role,
        scope: token.scope,
        is_session: token.kind == TokenKind::Session,
        created_at: token.created_ms,
        expires_at: token.expires_ms,
        uses_left: token.join.uses_left,
        zone: token.join.place.zone,
        labels: token.join.place.labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_a_smaller_role_revokes_none_of_a_greater_one() {
        let of = |role| Principal::User { role, name: "ann".to_owned() };
        assert!(must_be_as_much(&of(Role::Member), &of(Role::Member)).is_ok());
        assert!(must_be_as_much(&of(Role::Administrator), &of(Role::Operator)).is_ok());
        let refused = must_be_as_much(&of(Role::Viewer), &of(Role::Member)).unwrap_err();
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }

    #[test]
    fn what_a_token_says_of_machines_is_read_as_it_is_written() {
        let place = |zone: Option<&str>, key: &str, value: &str| FixedPlace {
            zone: zone.map(str::to_owned),
            labels: [(key.to_owned(), value.to_owned())].into(),
        };
        let judged = |place: FixedPlace| join_terms(TokenScope::Agent, None, place).map(drop);
        assert!(judged(place(Some("北京可用区A"), "team", "nlp")).is_ok());
        for unfit in [
            place(Some("zone\u{202e}"), "team", "nlp"),
            place(None, "te\u{200b}am", "nlp"),
            place(None, "team", "n\u{feff}lp"),
            place(None, "team", "\u{1b}]0;title\u{7}"),
            place(None, "", "nlp"),
        ] {
            let problem = judged(unfit.clone()).unwrap_err();
            assert!(problem.id == "place_invalid" && problem.hint.is_some(), "{unfit:?}");
            assert!(!problem.text.en.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{feff}']), "{unfit:?}");
        }
    }

    #[test]
    fn a_token_for_less_than_an_administrator_has_an_owner_of_its_own() {
        let of = |own, role, scope| owner_of(own, role, scope, "nightly");
        let administrator = Role::Administrator;
        assert_eq!(of(administrator, Role::Member, TokenScope::Api).as_deref(), Some("token:nightly"));
        assert_eq!(of(administrator, administrator, TokenScope::Api), None);
        assert_eq!(of(administrator, Role::Operator, TokenScope::Agent), None);
        assert_eq!(of(Role::Member, Role::Member, TokenScope::Api), None, "a token of before makes no other's");
    }
}

//! Keeps tokens and sessions, of each holder so many.

use axum::http::StatusCode;
use fermi_domain::access::TokenKind;
use fermi_domain::access::token::{MOST_SESSIONS, MOST_TOKENS};
use fermi_domain::language::Text;
use fermi_store::Transaction;
use fermi_store::tokens::NewToken;

use crate::envelope::ApiProblem;

/// Gives its id. The oldest session gives way to a new one; who has too many tokens revokes some first. The administrator, who is
/// no user, may have as many as there are machines.
pub fn add(tx: &mut Transaction<'_>, new: &NewToken) -> Result<String, ApiProblem> {
    if new.kind == TokenKind::Session {
        tx.remove_expired_sessions(new.created_ms)?;
        tx.end_oldest_sessions(new, MOST_SESSIONS - 1)?;
        return Ok(tx.add_token(new)?);
    }
    let is_bounded = new.user.is_some() || new.owner.is_some();
    if is_bounded && tx.count_tokens(new, new.created_ms)? >= MOST_TOKENS {
        return Err(too_many());
    }
    Ok(tx.add_token(new)?)
}

fn too_many() -> ApiProblem {
    let text = Text::new(format!("已有 {MOST_TOKENS} 个令牌"), format!("there are {MOST_TOKENS} tokens already"));
    ApiProblem::new(StatusCode::CONFLICT, "too_many_tokens", text).hint(Text::new(
        "用 fermi token revoke 撤销不用的令牌",
        "revoke those that are not used with `fermi token revoke`",
    ))
}

#[cfg(test)]
mod tests {
    use fermi_domain::access::{JoinTerms, TokenScope};
    use fermi_domain::principal::Role;
    use fermi_store::{Store, WriteError};

    use super::*;

    fn token(number: u32, kind: TokenKind, user: Option<&str>) -> NewToken {
        let mut digest = [0; 32];
        digest[..4].copy_from_slice(&number.to_le_bytes());
        NewToken {
            digest,
            kind,
            user: user.map(str::to_owned),
            owner: None,
            name: number.to_string(),
            role: Role::Viewer,
            scope: TokenScope::Api,
            made_with: None,
            created_ms: 1_000,
            expires_ms: Some(2_000),
            join: JoinTerms::default(),
        }
    }

    #[tokio::test]
    async fn one_user_fills_no_memory_and_keeps_no_other_out() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let added = store.write(|tx| {
            tx.add_user("ann", Role::Viewer, "", 0)?;
            tx.add_user("bob", Role::Viewer, "", 0)?;
            (0..MOST_SESSIONS + 5).try_for_each(|at| add(tx, &token(at, TokenKind::Session, Some("ann"))).map(drop))?;
            (1_000..1_000 + MOST_TOKENS)
                .try_for_each(|at| add(tx, &token(at, TokenKind::Personal, Some("ann"))).map(drop))?;
            let refused = add(tx, &token(5_000, TokenKind::Personal, Some("ann"))).unwrap_err();
            assert_eq!((refused.status, &*refused.id), (StatusCode::CONFLICT, "too_many_tokens"));
            add(tx, &token(5_001, TokenKind::Personal, Some("bob")))?;
            // Those that are over do not count.
            let later =
                NewToken { created_ms: 2_000, expires_ms: Some(3_000), ..token(5_002, TokenKind::LogIn, Some("ann")) };
            add(tx, &later)?;
            let mut names =
                tx.tokens()?.into_iter().map(|token| token.token).filter(|it| it.kind == TokenKind::Session);
            assert_eq!((names.next().unwrap().name, names.count() as u32), ("5".to_owned(), MOST_SESSIONS - 1));
            Ok::<_, ApiProblem>(())
        });
        added.await.map_err(WriteError::flatten).unwrap();
    }
}

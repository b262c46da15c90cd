//! The credential by which the agent of an environment is known: revoked, or replaced by another one.

use axum::extract::State;
use fermi_api::v1::{Empty, Envelope, Failure};
use fermi_domain::fleet::Identity;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::WriteError;
use fermi_store::events::NewEvent;

use super::id::EnvironmentPath;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, ENVIRONMENT, EnvelopeAnswer, Reply};

/// Revokes the credential of an environment: its agent is hung up on, and a machine takes the name only with a token that is
/// made from now on. What runs there goes on.
#[utoipa::path(post, path = "/api/v1/environments/{id}/revoke", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn revoke(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    change(&core, id, CredentialWord::Revoke, caller).await
}

/// Gives the agent of an environment another credential, at once or when it next comes. Nothing that runs notices.
#[utoipa::path(post, path = "/api/v1/environments/{id}/rotate", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn rotate(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    change(&core, id, CredentialWord::Rotate, caller).await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CredentialWord {
    Revoke,
    Rotate,
}

impl CredentialWord {
    fn kind(self) -> &'static str {
        match self {
            Self::Revoke => "environment.revoked",
            Self::Rotate => "environment.rotated",
        }
    }

    fn text(self, name: &str) -> Text {
        match self {
            Self::Revoke => Text::new(
                format!("开发环境 {name} 的凭证已撤销：只有持新令牌的机器能再用这个名字"),
                format!("the credential of {name} is revoked: only a machine with a new token takes the name again"),
            ),
            Self::Rotate => Text::new(
                format!("开发环境 {name} 的代理将换用新的凭证"),
                format!("the agent of {name} gets another credential"),
            ),
        }
    }

    /// What is known of the agent from now on.
    fn after(self, known: Option<Identity>, now_ms: u64) -> Result<Identity, ApiProblem> {
        match (self, known) {
            (Self::Revoke, known) => {
                let replaced = known.map(|known| known.replaced).unwrap_or_default();
                Ok(Identity { replaced, ..Identity::revoked(now_ms) })
            }
            (Self::Rotate, Some(known)) if known.revoked_ms.is_none() && !known.is_vacant() => {
                Ok(Identity { must_renew: true, ..known })
            }
            (Self::Rotate, _) => Err(ApiProblem::conflict(
                "credential_missing",
                Text::new("该开发环境没有可更换的凭证", "this environment has no credential to replace"),
            )
            .hint(Text::new("用 fermi env join 让机器重新加入", "bring the machine in again with `fermi env join`"))),
        }
    }
}

async fn change(core: &Core, id: EnvironmentId, word: CredentialWord, caller: Principal) -> Reply {
    let (wanted, now_ms) = (id.clone(), core.now_ms());
    let changed = core.store().write(move |tx| {
        let row = tx.environment(&wanted)?.ok_or_else(|| ApiProblem::not_found(&ENVIRONMENT, wanted.as_str()))?;
        tx.set_identity(&wanted, &word.after(row.identity, now_ms)?)?;
        if word == CredentialWord::Revoke {
            tx.note_revoked(&row.environment.name, now_ms)?;
        }
        let text = word.text(&row.environment.name);
        let event = NewEvent::new(now_ms, word.kind(), text.clone(), caller);
        tx.append_event(event.about_environment(&wanted))?;
        Ok::<_, ApiProblem>(text)
    });
    let text = changed.await.map_err(WriteError::<ApiProblem>::flatten)?;
    core.refresh_environments().await?;
    // Its agent dials again at once, and is given another credential or refused.
    core.hub().hang_up(&id);
    core.ring();
    EnvelopeAnswer::said(text, &Empty {})
}

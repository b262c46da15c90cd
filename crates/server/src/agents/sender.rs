//! Who sends a piece: the agent of an environment that shows its credential, and means this cluster.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use fermi_api::link::{CLUSTER_HEADER, CREDENTIAL_HEADER, EPOCH_HEADER};
use fermi_domain::fleet::Liveness;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use subtle::ConstantTimeEq;

use super::identity;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::ApiProblem;

/// The principal of a request of an agent.
#[derive(Clone, Debug)]
pub struct Sender(pub Principal);

impl FromRequestParts<Core> for Sender {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, core: &Core) -> Result<Self, ApiProblem> {
        let Caller(principal) = Caller::from_request_parts(parts, core).await?;
        check_cluster(&parts.headers, core.store().cluster())?;
        check_epoch(&parts.headers, core.restored().history.epoch)?;
        if let Principal::Agent { environment } = &principal {
            match core.credential_of(environment) {
                Some(kept) => check_credential(&parts.headers, &kept)?,
                // One of an earlier release shows none, and is here; one that was replaced is not.
                None if core.hub().liveness(environment) == Liveness::Offline => return Err(not_here()),
                None => {}
            }
        }
        Ok(Self(principal))
    }
}

fn not_here() -> ApiProblem {
    let text = Text::new("该环境的代理未连接", "the agent of this environment is not connected");
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "agent_not_here", text)
        .hint(Text::new("代理连接后会再次发送", "the agent sends it again once it is connected"))
}

/// An agent that does not say which cluster it means is of an earlier release.
fn check_cluster(headers: &HeaderMap, ours: &str) -> Result<(), ApiProblem> {
    match headers.get(CLUSTER_HEADER) {
        Some(meant) if meant.as_bytes() != ours.as_bytes() => {
            let text = Text::new("这是发给另一个集群的", "this is meant for another cluster");
            let hint = Text::new("代理会重新连接", "the agent connects anew by itself");
            Err(ApiProblem::new(StatusCode::MISDIRECTED_REQUEST, "another_cluster", text).hint(hint))
        }
        _ => Ok(()),
    }
}

/// A piece that was on its way while an older state of the database was put back is about a run of the state that was lost,
/// also where the older state launches one of the same name.
fn check_epoch(headers: &HeaderMap, ours: u64) -> Result<(), ApiProblem> {
    match headers.get(EPOCH_HEADER) {
        Some(meant) if meant.as_bytes() != ours.to_string().as_bytes() => {
            let text =
                Text::new("这是发给数据库较早状态的", "this was sent to a state of the database that was replaced");
            let hint = Text::new("代理重新连接后会再次发送", "the agent sends it again once it has connected anew");
            Err(ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "another_epoch", text).hint(hint))
        }
        _ => Ok(()),
    }
}

fn check_credential(headers: &HeaderMap, kept: &str) -> Result<(), ApiProblem> {
    let shown = headers.get(CREDENTIAL_HEADER).and_then(|value| value.to_str().ok()).map(identity::digest);
    if shown.is_some_and(|shown| bool::from(shown.as_bytes().ct_eq(kept.as_bytes()))) {
        return Ok(());
    }
    let text = Text::new("凭证与该环境不符", "this is not the credential of the environment");
    let hint = Text::new(
        "只有该环境自己的代理可以发送；凭证在其数据目录中",
        "only the environment's own agent may send this; its credential is in its data folder",
    );
    Err(ApiProblem::new(StatusCode::FORBIDDEN, "credential_invalid", text).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(axum::http::HeaderName::from_static(name), value.parse().unwrap())])
    }

    #[test]
    fn pieces_of_before_a_restore_are_refused_and_those_of_an_earlier_release_are_not() {
        assert!(check_epoch(&headers(EPOCH_HEADER, "2"), 2).is_ok());
        assert!(check_epoch(&HeaderMap::new(), 2).is_ok());
        assert_eq!(check_epoch(&headers(EPOCH_HEADER, "1"), 2).unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn pieces_for_another_cluster_and_of_another_agent_are_refused() {
        assert!(check_cluster(&headers(CLUSTER_HEADER, "c"), "c").is_ok());
        assert!(check_cluster(&HeaderMap::new(), "c").is_ok());
        let refused = check_cluster(&headers(CLUSTER_HEADER, "other"), "c").unwrap_err();
        assert_eq!(refused.status, StatusCode::MISDIRECTED_REQUEST);
        let kept = identity::digest("k");
        assert!(check_credential(&headers(CREDENTIAL_HEADER, "k"), &kept).is_ok());
        for wrong in [HeaderMap::new(), headers(CREDENTIAL_HEADER, "other"), headers(CREDENTIAL_HEADER, "")] {
            assert_eq!(check_credential(&wrong, &kept).unwrap_err().status, StatusCode::FORBIDDEN);
        }
    }
}

//! On whose behalf a request comes, as the guard has found out.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;

use crate::envelope::ApiProblem;

/// The principal of a request.
#[derive(Clone, Debug)]
pub struct Caller(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiProblem> {
        // Every route that changes something stands behind the guard; one that does not has no principal to act for.
        parts.extensions.get::<Principal>().cloned().map(Self).ok_or_else(|| {
            let text = Text::new("需要访问令牌", "a token is needed");
            ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
        })
    }
}

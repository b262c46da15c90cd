//! On whose behalf a request comes, as the guard has found out.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;

use crate::envelope::ApiProblem;
use crate::guard;

/// The principal of a request.
#[derive(Clone, Debug)]
pub struct Caller(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiProblem> {
        // Every route that changes something stands behind the guard; one that does not has no principal to act for.
        parts.extensions.get::<guard::Caller>().map(|caller| Self(caller.principal.clone())).ok_or_else(|| {
            let text = Text::new("需要访问令牌", "a token is needed");
            ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
        })
    }
}

/// The principal of a request, and what it has shown.
#[derive(Clone, Debug)]
pub struct Shower(pub guard::Caller);

impl<S: Send + Sync> FromRequestParts<S> for Shower {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let Caller(principal) = Caller::from_request_parts(parts, state).await?;
        let holder = parts.extensions.get::<guard::Caller>().and_then(|caller| caller.holder.clone());
        Ok(Self(guard::Caller { principal, holder }))
    }
}

//! Asks the table who may what, and says no in the API's words.

use axum::http::StatusCode;
use fermi_domain::access::{self, Deed, Denied};
use fermi_domain::principal::Principal;

use crate::envelope::ApiProblem;

/// Whether the caller may do it to something of this owner.
pub fn permit(caller: &Principal, deed: Deed, owner: Option<&str>) -> Result<(), ApiProblem> {
    Ok(access::permit(caller, deed, owner)?)
}

impl From<Denied> for ApiProblem {
    fn from(denied: Denied) -> Self {
        Self { status: StatusCode::FORBIDDEN, ..Self::refused(&denied) }
    }
}

//! The frameworks that can be chosen.

use fermi_api::v1::{Envelope, FrameworkCard, Page};
use fermi_domain::framework::Framework;

use crate::envelope::{Answer, Reply};

/// The cards of the frameworks, in the order of the form.
#[utoipa::path(get, path = "/api/v1/frameworks", tag = "frameworks",
    responses((status = 200, body = Envelope<Page<FrameworkCard>>)))]
pub async fn list() -> Reply {
    Answer::ok(&Page::whole(Framework::ALL.map(|framework| FrameworkCard::from(framework.card())).into()))
}

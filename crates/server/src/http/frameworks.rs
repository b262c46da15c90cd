//! The frameworks that can be chosen.

use fermi_api::v1::{Envelope, FrameworkCard, FrameworkSetting, Page};
use fermi_domain::framework::Framework;

use crate::envelope::{EnvelopeAnswer, Reply};

/// The cards of the frameworks, in the order of the form.
#[utoipa::path(get, path = "/api/v1/frameworks", tag = "frameworks",
    responses((status = 200, body = Envelope<Page<FrameworkCard>>)))]
pub async fn list() -> Reply {
    EnvelopeAnswer::ok(&Page::whole(Framework::ALL.map(card).into()))
}

fn card(framework: Framework) -> FrameworkCard {
    let settings = fermi_frameworks::settings_of(framework);
    let setting = |it: &fermi_frameworks::Setting| FrameworkSetting { name: it.name.to_owned(), about: it.about() };
    FrameworkCard::new(framework.card(), settings.iter().map(setting).collect())
}

//! A model by its name: of the catalogue, or registered at a server.

use std::time::Duration;

use fermi_api::client::{Client, Query};
use fermi_api::v1::{MOST_PER_PAGE, Model, ModelArchitecture};
use fermi_domain::contract;
use fermi_domain::language::Text;
use fermi_planner::architecture::Architecture;
use fermi_planner::catalogue::Catalogue;
use fermi_planner::error::PlanError;

use super::PlanRefusal;
use crate::connection::ServerFlags;

/// A plan needs no server: one that does not answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// The numbers of a model and what it is called. A server that was named comes before the catalogue, any other behind it.
pub fn find(name: &str, catalogue: &Catalogue, flags: &ServerFlags) -> Result<(Architecture, String), PlanRefusal> {
    // The variable gives the flag its value too.
    let is_named = flags.server.is_some() && std::env::var(contract::FERMI_SERVER).ok() != flags.server;
    let listed = || catalogue.model(name).map(|entry| (entry.architecture(), entry.name.clone()));
    let found = if is_named { None } else { listed() };
    if let Some(found) = found {
        return Ok(found);
    }
    match ask(name, flags) {
        Some(model) => match model.architecture {
            Some(known) => Ok((architecture(&known, catalogue), model.name)),
            None => listed().ok_or_else(|| unknown_numbers(&model)),
        },
        None => listed().ok_or_else(|| PlanError::unknown("model", name, &catalogue.models_near(name)).into()),
    }
}

/// The entry of the catalogue says more than its numbers.
fn architecture(known: &ModelArchitecture, catalogue: &Catalogue) -> Architecture {
    let listed = known.catalogue_name.as_deref().and_then(|name| catalogue.model(name));
    listed.map_or_else(|| Architecture::of_shape(&known.shape), |entry| entry.architecture())
}

/// None where no server answers, or it has no such model.
fn ask(name: &str, flags: &ServerFlags) -> Option<Model> {
    let client: Client = flags.connect_once(PATIENCE).ok()?;
    if let Ok(found) = client.model(name) {
        return Some(found.data);
    }
    let query = Query::new().with("pageSize", MOST_PER_PAGE).with("filter", format!("name~{name}"));
    client.models(&query).ok()?.data.items.into_iter().find(|model| model.name == name)
}

fn unknown_numbers(model: &Model) -> PlanRefusal {
    let name = &model.name;
    PlanRefusal::new(
        Text::new(
            format!("服务器登记了模型 {name}，但不知道它的结构"),
            format!("the server has the model {name} and does not know its numbers"),
        ),
        Text::new(
            "用 --layers、--hidden、--heads 说明，或重新登记：fermi model create … --config config.json",
            "describe it by --layers, --hidden and --heads, or register it again: fermi model create … --config config.json",
        ),
    )
}

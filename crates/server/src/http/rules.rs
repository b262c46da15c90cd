//! What each route asks of its caller. A route that stands here under no rule is for administrators alone; a test looks for
//! such.
//!
//! Whether something is the caller's own is known only where it is read: handlers of [`Deed::Change`] ask
//! [`permit`](crate::access::permit) again, with its owner.

use axum::extract::MatchedPath;
use axum::http::Method;
use fermi_domain::access::{Deed, Denied, may_ever};

use crate::guard::Caller;

/// Method, route, deed. A route that is open to everyone stands in [`crate::guard`] instead.
pub const RULES: &[(Method, &str, Deed)] = &[
    (Method::POST, "/api/v1/training-tasks", Deed::Create),
    (Method::GET, "/api/v1/training-tasks", Deed::Look),
    (Method::POST, "/api/v1/training-tasks/preview", Deed::Look),
    (Method::POST, "/api/v1/training-tasks/bulk", Deed::Change),
    (Method::GET, "/api/v1/training-tasks/{id}", Deed::Look),
    (Method::DELETE, "/api/v1/training-tasks/{id}", Deed::Change),
    (Method::POST, "/api/v1/training-tasks/{id}/stop", Deed::Change),
    (Method::POST, "/api/v1/training-tasks/{id}/restart", Deed::Change),
    (Method::POST, "/api/v1/training-tasks/{id}/clone", Deed::Create),
    (Method::GET, "/api/v1/training-tasks/{id}/logs", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/logs/search", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/events", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/ranks", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/metrics", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/launch", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/start", Deed::Look),
    (Method::GET, "/api/v1/training-tasks/{id}/explain", Deed::Look),
    (Method::POST, "/api/v1/training-tasks/{id}/stacks", Deed::Change),
    (Method::GET, "/api/v1/environments", Deed::Look),
    (Method::GET, "/api/v1/environments/{id}", Deed::Look),
    (Method::DELETE, "/api/v1/environments/{id}", Deed::Operate),
    (Method::GET, "/api/v1/environments/{id}/metrics", Deed::Look),
    (Method::POST, "/api/v1/environments/{id}/lost", Deed::Operate),
    (Method::POST, "/api/v1/environments/{id}/replace", Deed::Operate),
    (Method::POST, "/api/v1/environments/{id}/drain", Deed::Operate),
    (Method::POST, "/api/v1/environments/{id}/resume", Deed::Operate),
    (Method::POST, "/api/v1/environments/{id}/revoke", Deed::Operate),
    (Method::POST, "/api/v1/environments/{id}/rotate", Deed::Operate),
    (Method::POST, "/api/v1/datasets", Deed::Create),
    (Method::GET, "/api/v1/datasets", Deed::Look),
    (Method::GET, "/api/v1/datasets/{id}", Deed::Look),
    (Method::DELETE, "/api/v1/datasets/{id}", Deed::Change),
    (Method::POST, "/api/v1/datasets/{id}/versions", Deed::Change),
    (Method::GET, "/api/v1/datasets/{id}/versions", Deed::Look),
    (Method::POST, "/api/v1/models", Deed::Create),
    (Method::GET, "/api/v1/models", Deed::Look),
    (Method::GET, "/api/v1/models/{id}", Deed::Look),
    (Method::DELETE, "/api/v1/models/{id}", Deed::Change),
    (Method::POST, "/api/v1/groups", Deed::Create),
    (Method::GET, "/api/v1/groups", Deed::Look),
    (Method::GET, "/api/v1/groups/{id}", Deed::Look),
    (Method::PATCH, "/api/v1/groups/{id}", Deed::Change),
    (Method::DELETE, "/api/v1/groups/{id}", Deed::Change),
    (Method::POST, "/api/v1/groups/{id}/workers", Deed::Change),
    (Method::GET, "/api/v1/groups/{id}/ranks", Deed::Look),
    (Method::POST, "/api/v1/groups/{id}/check", Deed::Look),
    (Method::POST, "/api/v1/groups/{id}/start", Deed::Create),
    (Method::POST, "/api/v1/groups/{id}/stop", Deed::Change),
    (Method::GET, "/api/v1/workers", Deed::Look),
    (Method::POST, "/api/v1/plans", Deed::Look),
    (Method::POST, "/api/v1/preflights", Deed::Create),
    (Method::GET, "/api/v1/preflights", Deed::Look),
    (Method::GET, "/api/v1/preflights/{id}", Deed::Look),
    (Method::POST, "/api/v1/snapshots", Deed::Create),
    (Method::GET, "/api/v1/snapshots/{digest}", Deed::Look),
    (Method::GET, "/api/v1/frameworks", Deed::Look),
    (Method::GET, "/api/v1/events", Deed::Look),
    (Method::GET, "/api/v1/overview", Deed::Look),
    (Method::GET, "/api/v1/session", Deed::OwnAccount),
    (Method::DELETE, "/api/v1/session", Deed::OwnAccount),
    (Method::POST, "/api/v1/users", Deed::Administer),
    (Method::GET, "/api/v1/users", Deed::Look),
    (Method::PATCH, "/api/v1/users/{name}", Deed::Administer),
    (Method::DELETE, "/api/v1/users/{name}", Deed::Administer),
    (Method::POST, "/api/v1/users/{name}/password", Deed::OwnAccount),
    (Method::POST, "/api/v1/users/{name}/link", Deed::Administer),
    (Method::POST, "/api/v1/tokens", Deed::OwnAccount),
    (Method::GET, "/api/v1/tokens", Deed::OwnAccount),
    (Method::DELETE, "/api/v1/tokens/{id}", Deed::OwnAccount),
    (Method::POST, "/api/v1/webhooks", Deed::Operate),
    (Method::GET, "/api/v1/webhooks", Deed::Operate),
    (Method::DELETE, "/api/v1/webhooks/{id}", Deed::Operate),
    (Method::POST, "/api/v1/webhooks/{id}/test", Deed::Operate),
    (Method::POST, "/api/v1/secrets", Deed::Change),
    (Method::GET, "/api/v1/secrets", Deed::Look),
    (Method::DELETE, "/api/v1/secrets/{name}", Deed::Change),
    (Method::GET, "/api/v1/server/status", Deed::Look),
    (Method::GET, "/api/v1/server/strays", Deed::Look),
    (Method::POST, "/api/v1/server/strays/{run}/end", Deed::Operate),
    (Method::GET, "/metrics", Deed::Look),
    (Method::GET, "/api/openapi.json", Deed::Look),
    (Method::GET, "/api/docs", Deed::Look),
    (Method::GET, "/api/docs/{file}", Deed::Look),
    (Method::GET, fermi_api::link::LINK_PATH, Deed::Join),
    (Method::POST, "/api/agent/v1/runs/{run}/journal", Deed::Join),
    (Method::GET, "/api/agent/v1/runs/{run}/journal", Deed::Join),
    (Method::POST, "/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}", Deed::Join),
    (Method::GET, "/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}", Deed::Join),
    (Method::GET, "/api/agent/v1/snapshots/{digest}", Deed::Join),
];

/// What a route asks for; none where no rule stands here.
pub fn rule(method: &Method, route: &str) -> Option<Deed> {
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    RULES.iter().find(|(known, path, _)| known == method && *path == route).map(|(_, _, deed)| *deed)
}

/// Whether the caller may ask for this at all. Whom the guard let in unasked, and an address that is none, have no caller
/// or no route.
pub fn ask(method: &Method, route: Option<&MatchedPath>, caller: Option<&Caller>) -> Result<(), Denied> {
    let (Some(route), Some(caller)) = (route, caller) else { return Ok(()) };
    may_ever(&caller.principal, rule(method, route.as_str()).unwrap_or(Deed::Administer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::is_open;

    #[test]
    fn every_documented_route_has_one_rule_and_every_rule_a_route() {
        let document: serde_json::Value = serde_json::from_str(crate::openapi::json()).unwrap();
        let mut routes = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            let methods = item.as_object().unwrap().keys().map(|name| name.to_uppercase());
            routes.extend(methods.map(|name| (Method::from_bytes(name.as_bytes()).unwrap(), path.clone())));
        }
        assert!(routes.len() > 50);
        for (method, path) in &routes {
            assert!(rule(method, path).is_some() != is_open(method, path), "{method} {path} has no rule, or two");
        }
        let undocumented = |path: &str| path.starts_with("/api/agent/") || !path.starts_with("/api/v1");
        for (index, (method, path, _)) in RULES.iter().enumerate() {
            assert!(undocumented(path) || routes.contains(&(method.clone(), (*path).to_owned())), "{method} {path}");
            assert!(
                !RULES[..index].iter().any(|(other, twice, _)| (other, twice) == (method, path)),
                "{method} {path}"
            );
        }
    }
}

//! The public API, one file per resource, and the pages.
//!
//! [`router`] puts it together; [`middleware`] stands before it. Handlers read a request, ask the core or the store, and
//! answer with an [`EnvelopeAnswer`](crate::envelope::EnvelopeAnswer) or a [`ApiProblem`](crate::envelope::ApiProblem); rules are in `fermi-domain`.

mod app_state;
mod body;
mod catalogue;
mod credentials;
mod datasets;
mod duty;
mod environments;
mod events;
mod fan_out;
mod filter;
mod follow;
mod frameworks;
mod groups;
mod health;
mod id;
mod idempotency;
mod logs;
mod meters;
mod middleware;
mod models;
mod names;
mod oidc;
mod overview;
mod page;
mod paging;
mod params;
mod plans;
mod preflights;
mod prometheus;
mod request_id;
mod rules;
mod secrets;
mod server_status;
mod session;
mod shapes;
mod snapshots;
mod strays;
mod stream_format;
mod suggestion;
mod tasks;
mod tokens;
mod users;
mod webhooks;
mod workers;

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fermi_domain::language::Text;
use tower_http::timeout::TimeoutLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use middleware::{Newcomer, middleware};

use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::openapi;
use app_state::AppState;

/// The API and the pages. Must be called within the runtime: it starts the fan-outs that tell followers what is new.
pub fn router(core: Core) -> Router {
    let state = AppState { fan_out: fan_out::FanOut::start(&core), core };
    let (router, _) = resources().split_for_parts();
    router
        .route("/api/openapi.json", get(document))
        .merge(page::routes())
        .merge(oidc::routes())
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
}

/// An answer that has not begun by then would come too late. Bodies that go on are not meant: they have begun.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every documented route.
pub fn resources() -> OpenApiRouter<AppState> {
    let in_time = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, PATIENCE);
    // An upload takes as long as the caller's network does.
    answers().layer(in_time).merge(OpenApiRouter::new().routes(routes!(snapshots::take)))
}

fn answers() -> OpenApiRouter<AppState> {
    use tasks::{act, create, explain, list, metrics, preview, ranks, show, stacks, start};
    OpenApiRouter::new()
        .routes(routes!(create::create, list::list))
        .routes(routes!(preview::preview))
        .routes(routes!(act::bulk))
        .routes(routes!(show::show, act::delete))
        .routes(routes!(act::stop))
        .routes(routes!(act::restart))
        .routes(routes!(create::clone))
        .routes(routes!(logs::logs))
        .routes(routes!(logs::search))
        .routes(routes!(events::of_task))
        .routes(routes!(ranks::ranks))
        .routes(routes!(metrics::metrics))
        .routes(routes!(show::launch))
        .routes(routes!(start::start))
        .routes(routes!(explain::explain))
        .routes(routes!(stacks::stacks))
        .routes(routes!(environments::list))
        .routes(routes!(environments::show, environments::delete))
        .routes(routes!(environments::metrics))
        .routes(routes!(duty::lost))
        .routes(routes!(duty::replace))
        .routes(routes!(duty::drain))
        .routes(routes!(duty::resume))
        .routes(routes!(credentials::revoke))
        .routes(routes!(credentials::rotate))
        .routes(routes!(datasets::create, datasets::list))
        .routes(routes!(datasets::show, datasets::delete))
        .routes(routes!(datasets::create_version, datasets::versions))
        .routes(routes!(models::create, models::list))
        .routes(routes!(models::show, models::delete))
        .routes(routes!(groups::manage::create, groups::manage::list))
        .routes(routes!(groups::manage::show, groups::manage::change, groups::manage::delete))
        .routes(routes!(groups::members::move_workers))
        .routes(routes!(groups::ranks::ranks))
        .routes(routes!(groups::ranks::check))
        .routes(routes!(groups::start::start))
        .routes(routes!(groups::start::stop))
        .routes(routes!(workers::list))
        .routes(routes!(plans::plan))
        .routes(routes!(preflights::start, preflights::list))
        .routes(routes!(preflights::show))
        .routes(routes!(snapshots::give))
        .routes(routes!(frameworks::list))
        .routes(routes!(events::of_cluster))
        .routes(routes!(overview::show))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::version))
        .routes(routes!(session::open, session::show, session::end))
        .routes(routes!(users::add, users::list))
        .routes(routes!(users::change, users::remove))
        .routes(routes!(users::set_password))
        .routes(routes!(users::link))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::remove))
        .routes(routes!(webhooks::test))
        .routes(routes!(secrets::set, secrets::list))
        .routes(routes!(secrets::delete))
        .routes(routes!(server_status::show))
        .routes(routes!(strays::list))
        .routes(routes!(strays::end))
        .routes(routes!(prometheus::metrics))
}

async fn document() -> Response {
    let headers = [("content-type", "application/json"), ("cache-control", "no-cache")];
    (headers, openapi::json()).into_response()
}

async fn nothing_here(method: Method, uri: Uri, headers: HeaderMap) -> Result<Response, ApiProblem> {
    let text = Text::new("没有这个地址", "there is nothing at this address");
    page::unknown(&method, &uri, &headers).ok_or_else(|| {
        ApiProblem::new(StatusCode::NOT_FOUND, "not_found", text)
            .hint(Text::new("所有地址见 /api/docs", "/api/docs lists all addresses"))
    })
}

async fn wrong_method() -> ApiProblem {
    let text = Text::new("此地址不支持该方法", "this address does not take that method");
    ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text)
        .hint(Text::new("Allow 头列出了可用的方法", "the Allow header lists those that it takes"))
}

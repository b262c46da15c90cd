//! What stands before every handler: a request gets a number, passes the guard, is measured, and is answered in the
//! caller's language even if its handler panics.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use fermi_api::link::LINK_PATH;
use fermi_domain::principal::Principal;
use futures_util::StreamExt;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;

use super::meters::Meters;
use super::request_id::{self, RequestNumbers};
use super::rules;
use super::stream_format::GoesOn;
use crate::connection::Connection;
use crate::connections::{Proof, Ticket};
use crate::envelope::{ApiProblem, front_end, language, render};
use crate::guard::{Guard, Standing};

#[derive(Clone, Debug)]
struct Shared {
    guard: Arc<Guard>,
    meters: Arc<Meters>,
}

/// Puts all of it before a router.
pub fn middleware(guard: Guard, router: Router) -> Router {
    let shared = Shared { guard: Arc::new(guard), meters: Arc::new(Meters::default()) };
    // What went wrong is logged once, where it is known what it was.
    let spans = TraceLayer::new_for_http()
        .make_span_with(request_id::span)
        .on_request(())
        .on_response(())
        .on_body_chunk(())
        .on_eos(())
        .on_failure(());
    let layers = ServiceBuilder::new()
        .map_request(request_id::without_unfit)
        .layer(SetRequestIdLayer::x_request_id(RequestNumbers::default()))
        .layer(spans)
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(from_fn_with_state(shared, pass))
        .layer(CatchPanicLayer::custom(panicked));
    router.layer(layers)
}

/// The panic's own hook has told where it was.
fn panicked(_: Box<dyn Any + Send>) -> axum::http::Response<Body> {
    ApiProblem::panicked().into_response()
}

/// Where agents send what their ranks wrote.
const STREAMS: &str = "/api/agent/v1/runs/{run}/streams/";

fn sent_bytes(method: &Method, headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).filter(|_| *method == Method::POST);
    length.and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0)
}

/// An answer that goes on ends when its caller's token does.
fn until_revoked(response: Response, standing: Option<Standing>) -> Response {
    let goes_on = response.extensions().get::<GoesOn>().is_some();
    match standing.filter(|_| goes_on) {
        Some(standing) => response.map(|body| Body::from_stream(body.into_data_stream().take_until(standing.lost()))),
        None => response,
    }
}

/// The connection of an agent that has not said hello yet: who asks for a link has shown a token, and may still say nothing.
#[derive(Clone, Debug, Default)]
pub struct Newcomer(Option<Ticket>);

impl Newcomer {
    pub fn is_admitted(&self) {
        self.0.iter().for_each(|ticket| ticket.prove(Proof::Agent));
    }
}

fn proof_of(principal: &Principal) -> Proof {
    match principal {
        Principal::Agent { .. } => Proof::Agent,
        Principal::User { .. } | Principal::System => Proof::Person,
    }
}

async fn pass(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let language = language(request.headers());
    let front_end = front_end(request.headers());
    let is_head = request.method() == Method::HEAD;
    let route = request.extensions().get::<MatchedPath>().cloned();
    let sent = sent_bytes(request.method(), request.headers());
    let connection = request.extensions().get::<ConnectInfo<Connection>>().map(|ConnectInfo(it)| it.clone());
    let ticket = connection.as_ref().and_then(|connection| connection.ticket.clone());
    let _turn = ticket.as_ref().map(Ticket::request);
    let asker = connection.map(|connection| shared.guard.asker(&connection, request.headers())).transpose();
    let judged = asker.and_then(|asker| {
        let caller = shared.guard.judge(request.method(), request.uri(), request.headers())?;
        Ok((asker, caller))
    });
    let response = match judged {
        Err(problem) => problem.into_response(),
        Ok((asker, caller)) => match rules::ask(request.method(), route.as_ref(), caller.as_ref()) {
            Err(denied) => ApiProblem::from(denied).into_response(),
            Ok(()) => {
                let is_link = request.uri().path() == LINK_PATH;
                match (&ticket, &caller) {
                    // After a restart all agents come at once, and must not give way to each other.
                    (Some(ticket), Some(_)) if is_link && shared.guard.is_joined(request.uri(), request.headers()) => {
                        ticket.prove(Proof::Agent);
                    }
                    (Some(ticket), Some(_)) if is_link => ticket.hear_out(),
                    (Some(ticket), Some(caller)) => ticket.prove(proof_of(&caller.principal)),
                    _ => {}
                }
                let extensions = request.extensions_mut();
                extensions.insert(Newcomer(ticket.clone()));
                extensions.insert(shared.meters.clone());
                let standing = caller.as_ref().map(|caller| Standing::of(&shared.guard.accounts, caller));
                if let Some(asker) = asker {
                    extensions.insert(asker);
                }
                if let Some(caller) = caller {
                    extensions.insert(caller);
                }
                if let Some(standing) = &standing {
                    extensions.insert(standing.clone());
                }
                until_revoked(next.run(request).await, standing)
            }
        },
    };
    let response = render(response, language, front_end, is_head);
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    if route.starts_with(STREAMS) && response.status().is_success() {
        shared.meters.took_bytes(sent);
    }
    shared.meters.record(route, response.status(), began.elapsed());
    response
}

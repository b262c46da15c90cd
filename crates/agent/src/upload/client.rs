//! One piece of a stream to the server, and its answer.

use std::io::Read;
use std::time::Duration;

use fermi_api::client::ServerAddress;
use fermi_api::link::{ENVIRONMENT_HEADER, Taken};
use fermi_domain::ids::EnvironmentId;
use serde::Deserialize;
use ureq::http::StatusCode;
use ureq::{Agent, Body};

use crate::source::SourceError;

/// A server that takes longer for a piece than this is not answering.
const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// No answer of ours is longer.
const LONGEST_ANSWER: u64 = 1 << 20;

/// What the server says to a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceAnswer {
    /// It has so much of the stream now.
    Has(u64),
    /// The piece did not fit: it has so much.
    Misfit(u64),
    /// It does not want anything of this run, now or later.
    Unwanted,
    /// It has trouble with this one.
    Troubled,
    /// It is not there.
    Unreachable,
}

/// Whoever can send pieces; a test plays the server.
pub trait UploadClient {
    /// How much of a stream the server has.
    fn ask(&mut self, path: &str) -> PieceAnswer;
    fn send(&mut self, path: &str, offset: u64, bytes: &[u8]) -> PieceAnswer;
}

/// Carries by HTTP, over one connection that stays open.
#[derive(Clone, Debug)]
pub struct HttpUploadClient {
    agent: Agent,
    server: ServerAddress,
    authorization: Option<String>,
    pub environment: Option<EnvironmentId>,
}

#[derive(Deserialize)]
struct Envelope {
    data: Option<Taken>,
}

impl HttpUploadClient {
    pub fn new(server: ServerAddress, token: Option<&str>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_send_body(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .build();
        Self {
            agent: Agent::new_with_config(config),
            server,
            authorization: token.map(|token| format!("Bearer {token}")),
            environment: None,
        }
    }

    fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let authorization = self.authorization.as_deref().map(|value| ("Authorization", value));
        let environment = self.environment.as_ref().map(|id| (ENVIRONMENT_HEADER, id.as_str()));
        authorization.into_iter().chain(environment)
    }

    /// Opens the archive of a snapshot.
    pub fn snapshot(&self, digest: &str) -> Result<Box<dyn Read>, SourceError> {
        let url = self.server.http(&format!("/api/agent/v1/snapshots/{digest}"));
        let mut request = self.agent.get(url);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let response = request.call().map_err(|error| SourceError::NotFetched(error.to_string()))?;
        match response.status() {
            StatusCode::OK => Ok(Box::new(response.into_body().into_reader())),
            status => Err(SourceError::NotFetched(status.to_string())),
        }
    }
}

impl UploadClient for HttpUploadClient {
    fn ask(&mut self, path: &str) -> PieceAnswer {
        let mut request = self.agent.get(self.server.http(path));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        answer(request.call())
    }

    fn send(&mut self, path: &str, offset: u64, bytes: &[u8]) -> PieceAnswer {
        let mut request = self.agent.post(self.server.http(&format!("{path}?offset={offset}")));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        answer(request.header("Content-Type", "application/octet-stream").send(bytes))
    }
}

fn answer(result: Result<ureq::http::Response<Body>, ureq::Error>) -> PieceAnswer {
    let Ok(mut response) = result else { return PieceAnswer::Unreachable };
    let status = response.status();
    // Read to the end in any case, or the connection could not be used again.
    let Ok(body) = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec() else {
        return PieceAnswer::Unreachable;
    };
    let length = || serde_json::from_slice::<Envelope>(&body).ok()?.data.map(|taken| taken.length);
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => PieceAnswer::Unwanted,
        StatusCode::CONFLICT => length().map_or(PieceAnswer::Troubled, PieceAnswer::Misfit),
        status if status.is_success() => length().map_or(PieceAnswer::Troubled, PieceAnswer::Has),
        _ => PieceAnswer::Troubled,
    }
}

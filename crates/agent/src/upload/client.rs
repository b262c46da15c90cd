//! One piece of a stream to the server, and its answer.

use std::io::Read;
use std::time::Duration;

use fermi_api::client::ServerAddress;
use fermi_api::link::{CLUSTER_HEADER, CREDENTIAL_HEADER, ENVIRONMENT_HEADER, EPOCH_HEADER, Taken, UnwantedRun};
use fermi_domain::access::Fingerprint;
use fermi_domain::fleet::JournalSent;
use fermi_domain::ids::EnvironmentId;
use serde::Deserialize;
use ureq::http::StatusCode;
use ureq::{Agent, Body};

use crate::source::SourceError;

/// A server that takes longer for a piece than this is not answering.
const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// The code of a task comes within this time, or the launch fails.
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(600);
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
    fn send(&mut self, path: &str, piece: Piece<'_>) -> PieceAnswer;
}

/// Bytes of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub offset: u64,
    pub bytes: &'a [u8],
    /// What the server has of the journal of the same run.
    pub journal: JournalSent,
}

/// Carries by HTTP, over one connection that stays open.
#[derive(Clone, Debug)]
pub struct HttpUploadClient {
    agent: Agent,
    server: ServerAddress,
    authorization: Option<String>,
    /// In whose name pieces are sent; none are before the first welcome.
    pub sender: Option<WelcomedAs>,
}

/// As whom an agent was welcomed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WelcomedAs {
    pub environment: EnvironmentId,
    pub cluster: String,
    /// None from a server of a release without credentials.
    pub credential: Option<String>,
    /// As the header has it.
    pub epoch: String,
    /// Whether it knows the stream of what ranks were started with; to an older server that is an address that does not exist.
    pub takes_starts: bool,
}

#[derive(Deserialize)]
struct Envelope {
    data: Option<Taken>,
}

impl PieceAnswer {
    /// What an answer means. Only the server's own words count: a proxy, a load balancer or another program at the
    /// address may answer anything, and then the piece is tried again.
    pub fn of(status: u16, taken: Option<&Taken>, cluster: &str, path: &str) -> Self {
        let is_about =
            |unwanted: &UnwantedRun| unwanted.cluster == cluster && path.contains(&format!("/runs/{}/", unwanted.run));
        match (status, taken) {
            (410, Some(Taken { unwanted: Some(unwanted), .. })) if is_about(unwanted) => Self::Unwanted,
            (409, Some(taken)) => Self::Misfit(taken.length),
            (200..300, Some(taken)) => Self::Has(taken.length),
            _ => Self::Troubled,
        }
    }
}

impl HttpUploadClient {
    pub fn new(server: ServerAddress, fingerprint: Option<Fingerprint>, token: Option<&str>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_send_body(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            // One answer that stops half-way must not keep the journals of all runs from the server.
            .timeout_recv_body(Some(PATIENCE))
            .build();
        Self {
            agent: fermi_api::client::agent(config, fingerprint),
            server,
            authorization: token.map(|token| format!("Bearer {token}")),
            sender: None,
        }
    }

    fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let authorization = self.authorization.as_deref().map(|value| ("Authorization", value));
        let sender = self.sender.iter().flat_map(|sender| {
            let credential = sender.credential.as_deref().map(|credential| (CREDENTIAL_HEADER, credential));
            let meant = [(CLUSTER_HEADER, sender.cluster.as_str()), (EPOCH_HEADER, sender.epoch.as_str())];
            [(ENVIRONMENT_HEADER, sender.environment.as_str())].into_iter().chain(meant).chain(credential)
        });
        authorization.into_iter().chain(sender)
    }

    fn answer(&self, path: &str, result: Result<ureq::http::Response<Body>, ureq::Error>) -> PieceAnswer {
        let Ok(mut response) = result else { return PieceAnswer::Unreachable };
        let status = response.status().as_u16();
        // Read to the end in any case, or the connection could not be used again.
        let Ok(body) = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec() else {
            return PieceAnswer::Unreachable;
        };
        let taken = serde_json::from_slice::<Envelope>(&body).ok().and_then(|envelope| envelope.data);
        let cluster = self.sender.as_ref().map_or("", |sender| &sender.cluster);
        PieceAnswer::of(status, taken.as_ref(), cluster, path)
    }

    /// Opens the archive of a snapshot.
    pub fn snapshot(&self, digest: &str) -> Result<Box<dyn Read>, SourceError> {
        let url = self.server.http(&format!("/api/agent/v1/snapshots/{digest}"));
        let mut request = self.agent.get(url);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        // A server that is gone without a word must not leave the task starting for ever.
        let request = request.config().timeout_recv_body(Some(ARCHIVE_PATIENCE)).build();
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
        self.answer(path, request.call())
    }

    fn send(&mut self, path: &str, Piece { offset, bytes, journal }: Piece<'_>) -> PieceAnswer {
        let journal = match journal {
            JournalSent::Whole => "&journalWhole=true",
            JournalSent::Partly => "",
        };
        let mut request = self.agent.post(self.server.http(&format!("{path}?offset={offset}{journal}")));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.answer(path, request.header("Content-Type", "application/octet-stream").send(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_word_about_this_run_is_final() {
        let path = "/api/agent/v1/runs/task-1-g1-n0-i1/journal";
        let about = |cluster: &str, run: &str| Taken {
            length: 0,
            unwanted: Some(UnwantedRun { cluster: cluster.into(), run: run.parse().unwrap() }),
        };
        let has = Taken { length: 7, unwanted: None };
        let cases = [
            (410, Some(about("c", "task-1-g1-n0-i1")), PieceAnswer::Unwanted),
            (410, Some(about("other", "task-1-g1-n0-i1")), PieceAnswer::Troubled),
            (410, Some(about("c", "task-1-g1-n0-i11")), PieceAnswer::Troubled),
            (410, Some(has.clone()), PieceAnswer::Troubled),
            (410, None, PieceAnswer::Troubled),
            (404, None, PieceAnswer::Troubled),
            (404, Some(about("c", "task-1-g1-n0-i1")), PieceAnswer::Troubled),
            (409, Some(has.clone()), PieceAnswer::Misfit(7)),
            (409, None, PieceAnswer::Troubled),
            (200, Some(has), PieceAnswer::Has(7)),
            (200, None, PieceAnswer::Troubled),
            (502, None, PieceAnswer::Troubled),
        ];
        for (status, taken, expected) in cases {
            assert_eq!(PieceAnswer::of(status, taken.as_ref(), "c", path), expected, "{status} {taken:?}");
        }
    }
}

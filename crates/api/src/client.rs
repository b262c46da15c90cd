//! A client of the public API that waits for its answers: what the command line uses, and any other Rust program may.
//!
//! It unwraps the envelope, turns refusals into values ([`ClientError`]), and tries again where trying again can do no
//! harm: every POST carries an `Idempotency-Key`, so that a retry never makes two of anything. [`Follower`] reads live
//! streams and resumes them after a break.

mod access;
mod address;
mod error;
mod follow;
mod query;
mod resources;
mod tls;
mod webhooks;

use std::io::Read;
use std::time::Duration;

use data_encoding::HEXLOWER;
use fermi_domain::access::Fingerprint;
use fermi_domain::language::{FrontEnd, Language};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use ureq::http::{Request, Response, header};

pub use address::{BadAddress, DEFAULT_SERVER, ServerAddress};
pub use error::{ClientError, RefusedAnswer};
pub use follow::{Follower, Moment};
pub use query::{Query, segment};
pub use resources::{EnvironmentWord, LogQuery};
pub use tls::{ServerStream, TlsRefusal, agent, fingerprint};

/// Where every path of the API begins.
pub const API: &str = "/api/v1";
/// How often a request is sent again when the connection broke, and how long is waited before each.
const RETRIES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// An answer that is longer is not one of ours.
const LONGEST_ANSWER: u64 = 256 << 20;

/// What a client must know.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub server: ServerAddress,
    pub token: Option<String>,
    /// By what the server is known over TLS; none where the system's authorities vouch for it.
    pub fingerprint: Option<Fingerprint>,
    /// The language of the server's sentences.
    pub language: Language,
    /// Where those are read.
    pub front_end: FrontEnd,
    /// How long one request may take.
    pub timeout: Duration,
    /// What is done when the connection breaks.
    pub retries: Retries,
}

/// Whether a request is sent again when the connection broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retries {
    #[default]
    Usual,
    /// For those who rather have no answer than a late one.
    None,
}

impl Retries {
    fn waits(self) -> &'static [Duration] {
        match self {
            Self::Usual => &RETRIES,
            Self::None => &[],
        }
    }
}

impl ClientOptions {
    pub fn new(server: ServerAddress) -> Self {
        Self {
            server,
            token: None,
            fingerprint: None,
            language: Language::default(),
            front_end: FrontEnd::Api,
            timeout: Duration::from_secs(30),
            retries: Retries::Usual,
        }
    }
}

/// Speaks to one server.
#[derive(Clone, Debug)]
pub struct Client {
    options: ClientOptions,
    agent: ureq::Agent,
}

/// A successful answer: what it says for people, what it says as it came, and what that means.
#[derive(Clone, Debug)]
pub struct ApiAnswer<T = Value> {
    pub message: String,
    /// The envelope's `data`, untouched.
    pub raw: Value,
    pub data: T,
}

/// Every answer's form.
#[derive(Debug, Deserialize)]
struct Envelope {
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    error: Option<error::ErrorBody>,
}

/// A request that can be sent as often as need be.
struct ApiRequest<'a> {
    method: &'a str,
    path: String,
    headers: Vec<(header::HeaderName, String)>,
    body: Vec<u8>,
}

impl Client {
    pub fn new(options: ClientOptions) -> Self {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .user_agent(concat!("fermi/", env!("CARGO_PKG_VERSION")));
        // A proxy for the world has no way to this machine's own loopback.
        if options.server.is_loopback() {
            config = config.proxy(None);
        }
        let agent = tls::agent(config.build(), options.fingerprint);
        Self { options, agent }
    }

    pub fn server(&self) -> &ServerAddress {
        &self.options.server
    }

    /// Reads something.
    pub fn get<T: DeserializeOwned>(&self, path: &str, query: &Query) -> Result<ApiAnswer<T>, ClientError> {
        let request =
            ApiRequest { method: "GET", path: format!("{path}{query}"), headers: Vec::new(), body: Vec::new() };
        self.answer(&request)
    }

    /// Makes or changes something; once, however often it has to be sent.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<ApiAnswer<T>, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.not_understood(error))?;
        self.post_bytes(path, "application/json", body)
    }

    /// The same for a body that is not JSON, such as an archive.
    pub fn post_bytes<T: DeserializeOwned>(
        &self,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<ApiAnswer<T>, ClientError> {
        let headers = vec![
            (header::CONTENT_TYPE, content_type.to_owned()),
            (header::HeaderName::from_static("idempotency-key"), fresh_key()),
        ];
        self.answer(&ApiRequest { method: "POST", path: path.to_owned(), headers, body })
    }

    /// Changes something that is there.
    pub fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<ApiAnswer<T>, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.not_understood(error))?;
        let headers = vec![(header::CONTENT_TYPE, "application/json".to_owned())];
        self.answer(&ApiRequest { method: "PATCH", path: path.to_owned(), headers, body })
    }

    /// Removes something.
    pub fn delete<T: DeserializeOwned>(&self, path: &str, query: &Query) -> Result<ApiAnswer<T>, ClientError> {
        self.answer(&ApiRequest {
            method: "DELETE",
            path: format!("{path}{query}"),
            headers: Vec::new(),
            body: Vec::new(),
        })
    }

    /// Sends a body that is too large to be held. Its digest makes sending it twice harmless, but that is the caller's
    /// to do: a body that was read is gone.
    fn send_stream<T: DeserializeOwned>(
        &self,
        path: &str,
        headers: &[(header::HeaderName, String)],
        mut body: impl Read,
    ) -> Result<ApiAnswer<T>, ClientError> {
        let body = ureq::SendBody::from_reader(&mut body);
        let request = self.request("POST", path, headers).body(body).map_err(|error| self.bad(&error))?;
        let response = self.agent.run(request).map_err(|error| self.broken(error))?;
        self.open(response)
    }

    /// Follows a live stream from a cursor, or from now.
    pub fn follow(&self, path: &str, query: &Query, from: Option<String>) -> Follower {
        Follower::new(self.clone(), format!("{path}{query}"), from)
    }

    fn answer<T: DeserializeOwned>(&self, request: &ApiRequest<'_>) -> Result<ApiAnswer<T>, ClientError> {
        let mut waits = self.options.retries.waits().iter();
        loop {
            match self.send(request) {
                Err(error @ ClientError::Unreachable { .. }) => match waits.next() {
                    Some(wait) => std::thread::sleep(*wait),
                    None => return Err(error),
                },
                Err(error) => return Err(error),
                Ok(response) => return self.open(response),
            }
        }
    }

    fn send(&self, request: &ApiRequest<'_>) -> Result<Response<ureq::Body>, ClientError> {
        let prepared = self.request(request.method, &request.path, &request.headers);
        let sent = if matches!(request.method, "POST" | "PATCH") {
            self.run(prepared.body(&request.body[..]).map_err(|error| self.bad(&error))?)
        } else {
            self.run(prepared.body(()).map_err(|error| self.bad(&error))?)
        };
        sent.map_err(|error| self.broken(error))
    }

    fn run(&self, request: Request<impl ureq::AsSendBody>) -> Result<Response<ureq::Body>, ureq::Error> {
        let configured = self.agent.configure_request(request).timeout_global(Some(self.options.timeout));
        self.agent.run(configured.build())
    }

    /// Opens a body that has no end, and gives up on one that is silent for too long.
    fn open_stream(
        &self,
        path: &str,
        headers: &[(header::HeaderName, String)],
        silence: Duration,
    ) -> Result<Response<ureq::Body>, ClientError> {
        let request = self.request("GET", path, headers).body(()).map_err(|error| self.bad(&error))?;
        let configured = self.agent.configure_request(request).timeout_per_read(Some(silence));
        let configured = configured.timeout_recv_response(Some(self.options.timeout));
        self.agent.run(configured.build()).map_err(|error| self.broken(error))
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(header::HeaderName, String)],
    ) -> ureq::http::request::Builder {
        let language = match self.options.language {
            Language::ZhCn => "zh-CN",
            Language::En => "en",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.options.server))
            .header(header::ACCEPT_LANGUAGE, language)
            .header(crate::FRONT_END, self.options.front_end.as_str());
        if let Some(token) = &self.options.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request
    }

    /// Unwraps the envelope.
    fn open<T: DeserializeOwned>(&self, mut response: Response<ureq::Body>) -> Result<ApiAnswer<T>, ClientError> {
        let code = response.status().as_u16();
        let read = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let bytes = read.map_err(|error| self.broken(error))?;
        let envelope: Envelope = match serde_json::from_slice(&bytes) {
            Ok(envelope) => envelope,
            Err(_) if code >= 400 => return Err(ClientError::of_plain(&self.options.server, code, &bytes)),
            Err(error) => return Err(self.not_understood(error)),
        };
        if code >= 400 {
            return Err(ClientError::Refused(Box::new(RefusedAnswer::new(code, envelope.message, envelope.error))));
        }
        let data = T::deserialize(&envelope.data).map_err(|error| self.not_understood(error))?;
        Ok(ApiAnswer { message: envelope.message, raw: envelope.data, data })
    }

    fn broken(&self, error: ureq::Error) -> ClientError {
        ClientError::of_transport(&self.options.server, error)
    }

    fn bad(&self, error: &ureq::http::Error) -> ClientError {
        ClientError::NotUnderstood { server: self.options.server.to_string(), reason: error.to_string() }
    }

    fn not_understood(&self, error: serde_json::Error) -> ClientError {
        ClientError::NotUnderstood { server: self.options.server.to_string(), reason: error.to_string() }
    }
}

/// A key that nobody else will think of.
fn fresh_key() -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without a source of randomness, time and process are still a key of our own.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mixed = since.as_nanos() ^ (u128::from(std::process::id()) << 96);
        bytes = mixed.to_le_bytes();
    }
    HEXLOWER.encode(&bytes)
}

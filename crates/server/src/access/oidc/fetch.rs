//! Asks the company's service over HTTP, within a time and up to a size.

use std::time::{Duration, Instant};

use fermi_domain::access::oidc::OidcProblem;
use fermi_domain::language::{Text, reason};
use serde_json::{Map, Value};

use super::settings::is_private;

const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
/// More of an answer is not read.
const LONGEST_ANSWER: u64 = 256 << 10;

/// Who asks, by the proxy of the environment where one is set.
#[derive(Clone, Debug)]
pub struct Fetcher {
    agent: ureq::Agent,
    /// For this machine itself, past any proxy.
    near: ureq::Agent,
}

/// How a request is dressed.
pub enum Request<'a> {
    Get { bearer: Option<&'a str> },
    Form { body: String, authorization: Option<String> },
}

impl Default for Fetcher {
    fn default() -> Self {
        let agent = |is_near: bool| {
            let roots = ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build();
            let config = ureq::Agent::config_builder()
                .timeout_connect(Some(CONNECTS_WITHIN))
                // A redirect could lead what is secret elsewhere.
                .max_redirects(0)
                .http_status_as_error(false)
                .user_agent(concat!("fermi/", env!("CARGO_PKG_VERSION")))
                .tls_config(roots)
                .max_idle_connections(0);
            if is_near { config.proxy(None).build().into() } else { config.build().into() }
        };
        Self { agent: agent(false), near: agent(true) }
    }
}

impl Fetcher {
    fn agent(&self, url: &str) -> &ureq::Agent {
        if url.starts_with("http:") { &self.near } else { &self.agent }
    }

    /// The JSON object at an address, with the status with which it came.
    pub fn object(
        &self,
        url: &str,
        request: Request<'_>,
        until: Instant,
    ) -> Result<(u16, Map<String, Value>), OidcProblem> {
        if !is_private(url) {
            return Err(strange(
                format!("地址“{}”不是 https", url.escape_debug()),
                format!("the address '{}' is not https", url.escape_debug()),
            ));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        let sent = match request {
            Request::Get { bearer } => {
                let mut asked = self.agent(url).get(url).config().timeout_global(Some(left)).build();
                if let Some(bearer) = bearer {
                    asked = asked.header("authorization", format!("Bearer {bearer}"));
                }
                asked.header("accept", "application/json").call()
            }
            Request::Form { body, authorization } => {
                let mut asked = self.agent(url).post(url).config().timeout_global(Some(left)).build();
                if let Some(authorization) = authorization {
                    asked = asked.header("authorization", authorization);
                }
                let asked = asked.header("accept", "application/json");
                asked.header("content-type", "application/x-www-form-urlencoded").send(body)
            }
        };
        let mut answer = sent.map_err(|error| unreachable(&error))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let body = body.map_err(|error| unreachable(&error))?;
        match serde_json::from_slice(&body) {
            Ok(Value::Object(object)) => Ok((status, object)),
            _ => Err(strange(
                format!("{} 的回答（状态 {status}）不是 JSON 对象", path(url)),
                format!("the answer of {} (status {status}) is no JSON object", path(url)),
            )),
        }
    }
}

/// Which address it was, without what may be a key in it.
pub fn path(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().chars().take(200).collect()
}

pub fn strange(zh: String, en: String) -> OidcProblem {
    OidcProblem::Strange { what: Text::new(zh, en) }
}

pub fn late() -> OidcProblem {
    OidcProblem::Unreachable { reason: Text::new("没有及时回答", "no answer in time") }
}

fn unreachable(error: &ureq::Error) -> OidcProblem {
    match error {
        ureq::Error::Timeout(_) => late(),
        ureq::Error::HostNotFound => {
            OidcProblem::Unreachable { reason: Text::new("查不到该主机名", "its name does not resolve") }
        }
        ureq::Error::Io(error) => OidcProblem::Unreachable { reason: reason::of_io(error) },
        ureq::Error::BodyExceedsLimit(_) => strange("回答过长".to_owned(), "its answer is too long".to_owned()),
        error => OidcProblem::Unreachable { reason: reason::of_said(&error.to_string()) },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// What is made of a service that answers each request so.
    fn asked(answer: &'static str, within: Duration) -> Result<(u16, Map<String, Value>), OidcProblem> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x?key=1", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
            // One that says nothing stays until the other has had enough.
            if answer.is_empty() {
                let _ = stream.read(&mut request);
            }
        });
        Fetcher::default().object(&url, Request::Get { bearer: None }, Instant::now() + within)
    }

    #[test]
    fn a_service_that_is_slow_or_strange_is_not_waited_for_and_not_believed() {
        let long = Duration::from_secs(20);
        assert_eq!(asked("", Duration::from_millis(200)), Err(late()));
        assert_eq!(asked("", Duration::ZERO), Err(late()));
        let found = asked("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}", long).unwrap();
        assert_eq!((found.0, found.1.len()), (200, 1));
        for answer in [
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
            "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
        ] {
            assert!(matches!(asked(answer, long), Err(OidcProblem::Strange { .. })), "{answer}");
        }
        assert!(matches!(asked("nonsense\r\n\r\n", long), Err(OidcProblem::Unreachable { .. })));
        let elsewhere =
            Fetcher::default().object("http://id.example/", Request::Get { bearer: None }, Instant::now() + long);
        assert!(matches!(elsewhere, Err(OidcProblem::Strange { .. })));
    }
}

//! Sends a delivery and reads what comes back.

use std::time::Duration;

use fermi_domain::language::{Explained, Text, reason};
use fermi_domain::webhook::{Delivery, Webhook, delivery};
use serde_json::Value;
use ureq::unversioned::transport::DefaultConnector;

use super::resolver::{self, ReceiverResolver};
use super::signature::sign;

const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// More of an answer is not read.
const LONGEST_ANSWER: u64 = 64 << 10;

/// What is sent to whom.
#[derive(Clone, Debug)]
pub struct Letter {
    pub webhook: Webhook,
    /// The same however often it is sent.
    pub id: String,
    pub event: String,
    pub body: Value,
}

/// Sends letters over HTTP, by the proxy of the environment where one is set.
#[derive(Clone, Debug)]
pub struct WebhookSender {
    agent: ureq::Agent,
}

impl Default for WebhookSender {
    fn default() -> Self {
        let roots = ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build();
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECTS_WITHIN))
            .timeout_global(Some(ANSWERS_WITHIN))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent(concat!("fermi/", env!("CARGO_PKG_VERSION")))
            .tls_config(roots)
            // A receiver that is slow must not be taken for one that is there.
            .max_idle_connections(0)
            .build();
        Self { agent: ureq::Agent::with_parts(config, DefaultConnector::default(), ReceiverResolver::default()) }
    }
}

impl WebhookSender {
    /// Sends it once. Waits on a thread of its own, so that a slow receiver holds up no other work.
    pub async fn send(&self, letter: Letter, now_ms: u64) -> Delivery {
        let agent = self.agent.clone();
        let sent = tokio::task::spawn_blocking(move || post(&agent, &letter, now_ms)).await;
        let broken = |_| Delivery::Later(Text::new("发送中断", "sending it broke off"));
        sent.unwrap_or_else(broken)
    }
}

fn post(agent: &ureq::Agent, letter: &Letter, now_ms: u64) -> Delivery {
    let Webhook { url, format, secret, .. } = &letter.webhook;
    let signed = sign(*format, secret.as_deref(), url, letter.body.clone(), now_ms);
    if let Ok(receiver) = signed.url.parse()
        && let Some(alone) = resolver::refused_by_proxy(agent.config(), &receiver)
    {
        return Delivery::Refused(alone.text());
    }
    let mut request = agent
        .post(&signed.url)
        .header("content-type", "application/json; charset=utf-8")
        .header("x-fermi-delivery", &letter.id)
        .header("x-fermi-event", &letter.event);
    for (name, value) in &signed.headers {
        request = request.header(*name, value);
    }
    match request.send(signed.body) {
        Ok(mut answer) => {
            let status = answer.status().as_u16();
            // An answer that breaks off is judged by its status.
            let body = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_string().unwrap_or_default();
            delivery(*format, status, &body)
        }
        Err(error) => match resolver::refusal(&error) {
            Some(alone) => Delivery::Refused(alone.text()),
            None => Delivery::Later(unreachable_for(&said(&error))),
        },
    }
}

/// What a person can use of an error; the address is left out, since it may hold a key.
fn said(error: &ureq::Error) -> Text {
    match error {
        ureq::Error::Timeout(_) => {
            let seconds = ANSWERS_WITHIN.as_secs();
            Text::new(format!("{seconds} 秒内没有应答"), format!("no answer within {seconds} s"))
        }
        ureq::Error::HostNotFound => Text::new("其名称无法解析", "its name does not resolve"),
        ureq::Error::BadUri(_) => Text::new("其地址无法使用", "its address cannot be used"),
        ureq::Error::Io(error) => reason::of_io(error),
        error => Text::new(error.to_string(), error.to_string()),
    }
}

fn unreachable_for(reason: &Text) -> Text {
    Text::new(format!("接收方无法连接：{}", reason.zh), format!("the receiver cannot be reached: {}", reason.en))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use fermi_domain::language::Language;
    use fermi_domain::webhook::{WebhookFormat, WebhookTopic};

    use super::*;

    fn agent(proxy: Option<ureq::Proxy>) -> ureq::Agent {
        let config = ureq::Agent::config_builder().proxy(proxy).timeout_global(Some(ANSWERS_WITHIN)).build();
        ureq::Agent::with_parts(config, DefaultConnector::default(), ReceiverResolver::default())
    }

    fn sent(agent: &ureq::Agent, host: &str) -> Delivery {
        let webhook = Webhook {
            url: format!("http://{host}/latest/meta-data"),
            format: WebhookFormat::Json,
            topics: WebhookTopic::ALL.to_vec(),
            owner: None,
            secret: None,
            language: Language::En,
        };
        post(agent, &Letter { webhook, id: "1".to_owned(), event: "x".to_owned(), body: Value::Null }, 0)
    }

    /// A number and a mapped address are other ways to write one that is literal.
    const OF_THE_MACHINE: [&str; 4] = ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "[fe80::1]"];

    #[test]
    fn nothing_is_sent_to_where_a_cloud_gives_machines_their_keys() {
        let agent = agent(None);
        for host in OF_THE_MACHINE {
            let sent = sent(&agent, host);
            let is_refused = matches!(&sent, Delivery::Refused(text) if text.en.contains("nothing is sent to"));
            assert!(is_refused, "{host}: {sent:?}");
        }
    }

    #[test]
    fn no_proxy_is_asked_for_such_a_place_and_one_that_is_unknown_here_is_left_to_it() {
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", proxy.local_addr().unwrap());
        let agent = agent(Some(ureq::Proxy::new(&address).unwrap()));
        for host in OF_THE_MACHINE.into_iter().chain(["metadata.google.internal"]) {
            let sent = sent(&agent, host);
            assert!(matches!(&sent, Delivery::Refused(_)), "{host}: {sent:?}");
        }
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = proxy.accept().unwrap();
            let asked: Vec<String> =
                BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").unwrap();
            asked.join("\n")
        });
        let sent = sent(&agent, "hook.invalid");
        assert!(matches!(&sent, Delivery::Later(_)), "{sent:?}");
        let asked = asked.join().unwrap();
        assert!(asked.contains("hook.invalid") && !asked.contains("169.254"), "{asked}");
    }
}

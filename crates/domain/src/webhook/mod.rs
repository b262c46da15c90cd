//! Webhooks: who is told, over HTTP, how a task ended or that it waits for long.
//!
//! What they are told of is in the event log, so that each webhook needs no queue but its place in that log
//! ([`WebhookState::told`]): what was not delivered is still there after a crash, in its order.

mod answer;
mod body;
mod message;
mod reach;
mod retry;

pub use answer::{Delivery, delivery};
pub use body::{DeliveryFacts, body};
pub use message::{Happened, WebhookMessage, test_message, webhook_message};
pub use reach::{OfTheMachineAlone, host_may_be_told, may_be_told};
pub use retry::{Retry, retry};

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::language::{Language, Text};

/// What people ask to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WebhookTopic {
    Succeeded,
    Failed,
    Stopped,
    /// A task has waited for workers for longer than `queue.long_wait` of the server's settings.
    Waiting,
}

impl WebhookTopic {
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Failed, Self::Stopped, Self::Waiting];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
        }
    }

    /// The kind of the event that says so.
    pub fn event(self) -> &'static str {
        match self {
            Self::Succeeded => "task.succeeded",
            Self::Failed => "task.failed",
            Self::Stopped => "task.stopped",
            Self::Waiting => "task.waits_long",
        }
    }

    pub fn of_event(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.event() == kind)
    }
}

impl FromStr for WebhookTopic {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|topic| topic.as_str() == text).ok_or(())
    }
}

/// Whose message a body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WebhookFormat {
    /// For programs: what happened, field by field.
    #[default]
    Json,
    Feishu,
    Dingtalk,
    Wecom,
    Slack,
}

impl WebhookFormat {
    pub const ALL: [Self; 5] = [Self::Json, Self::Feishu, Self::Dingtalk, Self::Wecom, Self::Slack];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Feishu => "feishu",
            Self::Dingtalk => "dingtalk",
            Self::Wecom => "wecom",
            Self::Slack => "slack",
        }
    }

    /// The one that a host is known for.
    pub fn of_host(host: &str) -> Self {
        match host {
            "open.feishu.cn" | "open.larksuite.com" => Self::Feishu,
            "oapi.dingtalk.com" => Self::Dingtalk,
            "qyapi.weixin.qq.com" => Self::Wecom,
            "hooks.slack.com" => Self::Slack,
            _ => Self::Json,
        }
    }

    /// Whether its receiver checks a signature; WeCom and Slack have their secret in the address.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Json | Self::Feishu | Self::Dingtalk)
    }
}

impl FromStr for WebhookFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or(())
    }
}

/// A receiver, as its operator has described it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Often holds a secret itself.
    pub url: String,
    pub format: WebhookFormat,
    pub topics: Vec<WebhookTopic>,
    /// Only this user's tasks; everyone's where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// With which deliveries are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(default)]
    pub language: Language,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("url", &self.shown_url()).field("format", &self.format).finish_non_exhaustive()
    }
}

impl Webhook {
    /// The address as far as everyone may see it: what is behind the host is often a key.
    pub fn shown_url(&self) -> String {
        let behind_scheme = self.url.find("://").map_or(0, |at| at + 3);
        let host = self.url[behind_scheme..].find(['/', '?', '#']).map(|at| behind_scheme + at);
        host.map_or_else(|| self.url.clone(), |end| format!("{}/…", &self.url[..end]))
    }

    /// Whether it is told of this about a task of this user.
    pub fn wants(&self, topic: WebhookTopic, owner: Option<&str>) -> bool {
        self.topics.contains(&topic) && self.owner.as_deref().is_none_or(|wanted| owner == Some(wanted))
    }
}

/// How far a webhook has got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookState {
    /// The cursor of the last event that it needs not be told of any more.
    pub told: u64,
    pub delivered: u64,
    pub delivered_ms: Option<u64>,
    /// Deliveries that the receiver has refused again and again, and that were left out.
    pub left_out: u64,
    /// Since when nothing gets through, and why.
    pub failing_since_ms: Option<u64>,
    pub problem: Option<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(url: &str) -> Webhook {
        Webhook {
            url: url.to_owned(),
            format: WebhookFormat::Json,
            topics: vec![WebhookTopic::Failed],
            owner: Some("ann".to_owned()),
            secret: Some("hidden".to_owned()),
            language: Language::En,
        }
    }

    #[test]
    fn the_key_in_an_address_is_not_shown() {
        for (url, shown) in [
            ("https://open.feishu.cn/open-apis/bot/v2/hook/abc", "https://open.feishu.cn/…"),
            ("https://x.example:8443?key=abc", "https://x.example:8443/…"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ] {
            assert_eq!(webhook(url).shown_url(), shown);
        }
        let printed = format!("{:?}", webhook("https://x.example/abc"));
        assert!(!printed.contains("abc") && !printed.contains("hidden"), "{printed}");
    }

    #[test]
    fn it_is_told_what_it_asked_for() {
        let webhook = webhook("http://a");
        assert!(webhook.wants(WebhookTopic::Failed, Some("ann")));
        assert!(!webhook.wants(WebhookTopic::Failed, Some("bob")) && !webhook.wants(WebhookTopic::Failed, None));
        assert!(!webhook.wants(WebhookTopic::Succeeded, Some("ann")));
        assert!(Webhook { owner: None, ..webhook }.wants(WebhookTopic::Failed, None));
    }

    #[test]
    fn each_topic_has_its_event_and_each_name_is_read_back() {
        for topic in WebhookTopic::ALL {
            assert_eq!(WebhookTopic::of_event(topic.event()), Some(topic));
            assert_eq!(topic.as_str().parse(), Ok(topic));
            assert_eq!(serde_json::to_value(topic).unwrap(), topic.as_str());
        }
        for format in WebhookFormat::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
        }
        assert_eq!(WebhookTopic::of_event("task.running"), None);
    }
}

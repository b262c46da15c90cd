//! Webhooks: who is told how tasks end.

use fermi_domain::language::{Language, Text};
use fermi_domain::webhook::{WebhookFormat, WebhookTopic};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /webhooks`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateWebhook {
    #[schema(example = "team-chat")]
    pub name: String,
    /// `http://` or `https://`.
    #[schema(example = "https://open.feishu.cn/open-apis/bot/v2/hook/…")]
    pub url: String,
    /// What the receiver understands; by the address when not given: `json` unless it is one of a known chat program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<WebhookFormat>,
    /// What it is told of; everything when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<WebhookTopic>>,
    /// Only this user's tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// With which deliveries are signed; never shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// `zh-CN` or `en`.
    #[schema(value_type = String, example = "zh-CN")]
    pub language: Language,
}

/// Secrets are not for logs, and addresses hold some.
impl std::fmt::Debug for CreateWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreateWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A webhook, without what must not be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    #[schema(example = "webhook-1")]
    pub id: String,
    pub name: String,
    /// Scheme and host: what follows is often a key.
    #[schema(example = "https://open.feishu.cn/…")]
    pub url: String,
    pub format: WebhookFormat,
    pub topics: Vec<WebhookTopic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub is_signed: bool,
    #[schema(value_type = String, example = "zh-CN")]
    pub language: Language,
    pub created_at: u64,
    /// How many deliveries were taken, and when the last one was.
    pub delivered: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<u64>,
    /// How many the receiver has refused for good.
    pub left_out: u64,
    /// Since when nothing gets through, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Text>,
}

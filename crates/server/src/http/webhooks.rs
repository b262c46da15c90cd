//! Webhooks: added, listed, tried, removed.

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use fermi_api::v1::{CreateWebhook, Empty, Envelope, Failure, Id, Page, Webhook};
use fermi_domain::language::Text;
use fermi_domain::webhook::{self, Delivery, DeliveryFacts, WebhookFormat, WebhookTopic, test_message};
use fermi_store::events::NewEvent;
use fermi_store::webhooks::{CreateError, KeptWebhook};
use fermi_store::{StoreError, WriteError};

use super::body::JsonBody;
use super::names;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, WEBHOOK};
use crate::webhooks::{self, Letter};

/// The longest address and the longest secret.
const LONGEST_URL: usize = 2_048;
const LONGEST_SECRET: usize = 1_024;

/// Adds a webhook; it is told of what happens from now on.
#[utoipa::path(post, path = "/api/v1/webhooks", tag = "webhooks", request_body = CreateWebhook,
    responses((status = 200, body = Envelope<Id>), (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn create(State(core): State<Core>, Caller(caller): Caller, body: JsonBody<CreateWebhook>) -> Reply {
    let name = names::name("name", &body.value.name)?;
    let webhook = described(body.value)?;
    let text = Text::new(
        format!("webhook“{name}”已添加：{}", webhook.shown_url()),
        format!("the webhook '{name}' was added: {}", webhook.shown_url()),
    );
    let now_ms = core.now_ms();
    let event = NewEvent::new(now_ms, "webhook.added", text.clone(), caller);
    let (shown, sealed) = core
        .vault()
        .seal_webhook(&name, &webhook)
        .map_err(|error| ApiProblem::broken("a webhook could not be sealed", &error))?;
    let made = core.store().write(move |tx| {
        let id = tx.add_webhook(&name, &shown, &sealed, now_ms).map_err(|error| match error {
            CreateError::NameTaken => names::taken(&WEBHOOK, &name),
            CreateError::Missing => ApiProblem::not_found(&WEBHOOK, &name),
            CreateError::Store(error) => error.into(),
        })?;
        tx.append_event(event)?;
        Ok::<_, ApiProblem>(id)
    });
    let id = made.await.map_err(WriteError::flatten)?;
    EnvelopeAnswer::said(text, &Id { id })
}

/// What was asked for, as far as it can be.
fn described(asked: CreateWebhook) -> Result<webhook::Webhook, ApiProblem> {
    let url = asked.url.trim().to_owned();
    let host = host_of(&url)?;
    let topics = asked.topics.unwrap_or_else(|| WebhookTopic::ALL.to_vec());
    if topics.is_empty() {
        let names = WebhookTopic::ALL.map(WebhookTopic::as_str).join(", ");
        let text = Text::new("没有选择任何通知", "there is nothing that it would be told of");
        return Err(ApiProblem::unprocessable("topics_required", "topics", text)
            .hint(Text::new(format!("可用的值：{names}"), format!("choose of {names}"))));
    }
    let format = asked.format.unwrap_or_else(|| WebhookFormat::of_host(&host));
    let secret = asked.secret.map(|secret| secret.trim().to_owned()).filter(|secret| !secret.is_empty());
    if secret.as_ref().is_some_and(|secret| secret.len() > LONGEST_SECRET) {
        let text = Text::new("密钥过长", "the secret is too long");
        return Err(ApiProblem::unprocessable("secret_invalid", "secret", text)
            .hint(Text::new(format!("最多 {LONGEST_SECRET} 字节"), format!("at most {LONGEST_SECRET} bytes"))));
    }
    if secret.is_some() && !format.is_signed() {
        let format = format.as_str();
        let text = Text::new(
            format!("{format} 不校验签名，其密钥在地址中"),
            format!("{format} checks no signature: its secret is in the address"),
        );
        return Err(ApiProblem::unprocessable("secret_invalid", "secret", text)
            .hint(Text::new("去掉密钥", "leave the secret out")));
    }
    let owner = asked.owner.map(|owner| names::name("owner", &owner)).transpose()?;
    Ok(webhook::Webhook { url, format, topics, owner, secret, language: asked.language })
}

/// The host of an address that can be posted to.
fn host_of(url: &str) -> Result<String, ApiProblem> {
    let parsed = url.parse::<Uri>().ok().filter(|_| url.len() <= LONGEST_URL);
    // A name and a password in an address are shown wherever its host is.
    let is_plain = |uri: &Uri| uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && is_plain(uri);
    let host = parsed.filter(is_http).and_then(|uri| uri.host().map(str::to_owned)).filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| {
        let text = Text::new("地址无效", "this address cannot be used");
        ApiProblem::unprocessable("url_invalid", "url", text).hint(Text::new(
            "写成 https://主机/路径，不含用户名、空格与中文",
            "write https://HOST/PATH, without a user, without spaces, and in ASCII",
        ))
    })?;
    // Where a name leads is looked at whenever something is sent.
    let refused = webhook::host_may_be_told(&host);
    refused.map_err(|alone| ApiProblem { field: Some("url".to_owned()), ..ApiProblem::refused(&alone) })?;
    Ok(host)
}

/// All webhooks, with how far each has got.
#[utoipa::path(get, path = "/api/v1/webhooks", tag = "webhooks",
    responses((status = 200, body = Envelope<Page<Webhook>>)))]
pub async fn list(State(core): State<Core>) -> Reply {
    let found: Result<_, StoreError> = core.store().read(|view| view.webhooks()).await;
    EnvelopeAnswer::ok(&Page::whole(found?.into_iter().map(shown).collect()))
}

/// Removes a webhook; what it has not been told of is not told.
#[utoipa::path(delete, path = "/api/v1/webhooks/{id}", tag = "webhooks", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn remove(State(core): State<Core>, Caller(caller): Caller, Path(id): Path<String>) -> Reply {
    let name = find(&core, &id).await?.name;
    let text = Text::new(format!("webhook“{name}”已删除"), format!("the webhook '{name}' was removed"));
    let event = NewEvent::new(core.now_ms(), "webhook.removed", text.clone(), caller);
    let removed = core.store().write(move |tx| {
        if !tx.remove_webhook(&id)? {
            return Err(ApiProblem::not_found(&WEBHOOK, &id));
        }
        tx.append_event(event)?;
        Ok(())
    });
    removed.await.map_err(WriteError::flatten)?;
    EnvelopeAnswer::said(text, &Empty {})
}

/// Sends a test message now, and says what the receiver made of it.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/test", tag = "webhooks", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure),
        (status = 502, body = Failure)))]
pub async fn test(State(core): State<Core>, Path(id): Path<String>) -> Reply {
    let kept = find(&core, &id).await?;
    let webhook = core.vault().open_webhook(&kept).map_err(|_| {
        ApiProblem::conflict("webhook_sealed", webhooks::sealed_elsewhere()).hint(Text::new(
            "把原来数据文件夹的 secrets.key 放回并重启服务，或删除后重新添加该 webhook",
            "put secrets.key of the former data folder back and restart the server, or remove the webhook and add it again",
        ))
    })?;
    let name = kept.name;
    let now_ms = core.now_ms();
    let facts =
        DeliveryFacts { id: format!("{id}-test-{now_ms}"), event: "test".to_owned(), time_ms: now_ms, task: None };
    let body = webhook::body(webhook.format, &test_message(&name), &facts, webhook.language);
    let letter = Letter { webhook, id: facts.id, event: facts.event, body };
    match core.webhook_sender().send(letter, now_ms).await {
        Delivery::Taken => {
            let text = Text::new(format!("webhook“{name}”已收到"), format!("the webhook '{name}' has taken it"));
            EnvelopeAnswer::said(text, &Empty {})
        }
        Delivery::Refused(reason) | Delivery::Later(reason) => {
            Err(ApiProblem::new(StatusCode::BAD_GATEWAY, "webhook_failed", reason).hint(Text::new(
                "检查地址、格式、密钥，以及服务器到接收方的网络（HTTPS_PROXY）",
                "check the address, the format, the secret, and the way from the server to the receiver (HTTPS_PROXY)",
            )))
        }
    }
}

async fn find(core: &Core, id: &str) -> Result<KeptWebhook, ApiProblem> {
    let wanted = id.to_owned();
    let found: Result<_, StoreError> = core.store().read(move |view| view.webhook(&wanted)).await;
    found?.ok_or_else(|| ApiProblem::not_found(&WEBHOOK, id))
}

fn shown(kept: KeptWebhook) -> Webhook {
    let KeptWebhook { id, name, created_ms, webhook, state, .. } = kept;
    Webhook {
        id,
        name,
        url: webhook.shown_url(),
        format: webhook.format,
        topics: webhook.topics,
        owner: webhook.owner,
        is_signed: webhook.secret.is_some(),
        language: webhook.language,
        created_at: created_ms,
        delivered: state.delivered,
        delivered_at: state.delivered_ms,
        left_out: state.left_out,
        failing_since: state.failing_since_ms,
        problem: state.problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str) -> CreateWebhook {
        CreateWebhook { name: "chat".to_owned(), url: url.to_owned(), ..CreateWebhook::default() }
    }

    #[test]
    fn the_format_follows_the_address_unless_it_is_given() {
        let format = |asked| described(asked).map(|webhook| webhook.format).map_err(|problem| problem.id);
        assert_eq!(format(asked("https://open.feishu.cn/open-apis/bot/v2/hook/a")), Ok(WebhookFormat::Feishu));
        assert_eq!(format(asked("http://127.0.0.1:8000/x")), Ok(WebhookFormat::Json));
        let given = CreateWebhook { format: Some(WebhookFormat::Slack), ..asked("http://127.0.0.1:8000/x") };
        assert_eq!(format(given), Ok(WebhookFormat::Slack));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for url in [
            "",
            "feishu",
            "ftp://x/y",
            "https://",
            "file:///etc/passwd",
            "http://a b/",
            "https://例/",
            "https://u:p@x/y",
        ] {
            assert_eq!(described(asked(url)).map_err(|problem| problem.id).unwrap_err(), "url_invalid", "{url}");
        }
        let keys = described(asked("http://169.254.169.254/latest/meta-data/")).unwrap_err();
        assert_eq!((&*keys.id, keys.field.as_deref()), ("url_of_the_machine", Some("url")));
        let nothing = CreateWebhook { topics: Some(Vec::new()), ..asked("http://a/b") };
        assert_eq!(described(nothing).unwrap_err().id, "topics_required");
        let unsigned = CreateWebhook { secret: Some("x".to_owned()), ..asked("https://hooks.slack.com/services/x") };
        assert_eq!(described(unsigned).unwrap_err().id, "secret_invalid");
    }
}

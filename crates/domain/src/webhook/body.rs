//! The body of a delivery, as each receiver wants it.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Happened, WebhookFormat, WebhookMessage};
use crate::{language::Language, task::Task};

/// What programs are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFacts {
    /// The same however often it is sent.
    pub id: String,
    /// `task.failed`, or `test`.
    pub event: String,
    pub time_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskFacts>,
}

/// The task that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskFacts {
    id: String,
    name: String,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    created_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ms: Option<u64>,
    attempts: usize,
    /// The signature of the failure, such as `cuda_out_of_memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl DeliveryFacts {
    pub fn of_task(id: String, happened: Happened<'_>, task: &Task, link: Option<String>) -> Self {
        let Happened { topic, time_ms, end, .. } = happened;
        let facts = TaskFacts {
            id: task.id.as_str().to_owned(),
            name: task.spec.name.clone(),
            phase: topic.as_str(),
            owner: task.owner().map(str::to_owned),
            created_ms: task.created_ms,
            started_ms: end.map_or(task.started_ms, |end| end.started_ms),
            ended_ms: end.map(|_| time_ms),
            attempts: end.map_or(task.attempts.len(), |end| end.attempts as usize),
            cause: end.and_then(|end| end.cause.clone()),
            link,
        };
        Self { id, event: topic.event().to_owned(), time_ms, task: Some(facts) }
    }
}

/// WeCom takes 2,048 bytes, the others more.
const LONGEST_TEXT: usize = 2_000;

/// What is sent. Chat programs get plain text: names and lines of logs are no markup.
pub fn body(format: WebhookFormat, message: &WebhookMessage, facts: &DeliveryFacts, language: Language) -> Value {
    let said = |text: &crate::language::Text| plain(text.in_language(language));
    let title = said(&message.title);
    let lines: Vec<String> = message.lines.iter().map(said).collect();
    let whole = || cut(&[std::slice::from_ref(&title), &lines].concat().join("\n"));
    match format {
        WebhookFormat::Json => {
            let mut value = serde_json::to_value(facts).unwrap_or_default();
            value["title"] = title.into();
            value["text"] = lines.join("\n").into();
            value
        }
        WebhookFormat::Feishu => {
            let text = cut(&lines.join("\n"));
            let content: Vec<Value> = text.lines().map(|line| json!([{"tag": "text", "text": line}])).collect();
            let key = if language == Language::ZhCn { "zh_cn" } else { "en_us" };
            let mut post = json!({});
            post[key] = json!({"title": cut(&title), "content": content});
            json!({"msg_type": "post", "content": {"post": post}})
        }
        WebhookFormat::Dingtalk | WebhookFormat::Wecom => json!({"msgtype": "text", "text": {"content": whole()}}),
        WebhookFormat::Slack => json!({"text": escaped_for_slack(&whole())}),
    }
}

/// One line without control characters.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// As much as every receiver takes, up to a whole letter.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The three letters that begin something in Slack's text: a mention of everyone is `<!channel>`.
fn escaped_for_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Text;

    fn message(line: &str) -> WebhookMessage {
        let line = Text::new(line.to_owned(), line.to_owned());
        WebhookMessage {
            title: Text::new("训练失败：a（task-1）", "Training failed: a (task-1)"), lines: vec![line]
        }
    }

    fn facts() -> DeliveryFacts {
        DeliveryFacts { id: "webhook-1-42".to_owned(), event: "task.failed".to_owned(), time_ms: 5, task: None }
    }

    fn made(format: WebhookFormat, line: &str) -> Value {
        body(format, &message(line), &facts(), Language::ZhCn)
    }

    #[test]
    fn each_receiver_gets_its_own_form() {
        assert_eq!(
            made(WebhookFormat::Json, "x"),
            json!({"id": "webhook-1-42", "event": "task.failed", "timeMs": 5, "title": "训练失败：a（task-1）", "text": "x"})
        );
        assert_eq!(
            made(WebhookFormat::Feishu, "x"),
            json!({"msg_type": "post", "content": {"post": {"zh_cn": {"title": "训练失败：a（task-1）",
                "content": [[{"tag": "text", "text": "x"}]]}}}})
        );
        let text = json!({"msgtype": "text", "text": {"content": "训练失败：a（task-1）\nx"}});
        assert_eq!((made(WebhookFormat::Dingtalk, "x"), made(WebhookFormat::Wecom, "x")), (text.clone(), text));
        assert_eq!(
            made(WebhookFormat::Slack, "<!channel> & \u{1b}[31mred"),
            json!({"text": "训练失败：a（task-1）\n&lt;!channel&gt; &amp;  [31mred"})
        );
    }

    #[test]
    fn a_long_line_is_cut_at_a_letter() {
        let value = made(WebhookFormat::Wecom, &"长".repeat(2_000));
        let text = value["text"]["content"].as_str().unwrap();
        assert!(text.len() <= 2_048 && text.ends_with("长…"), "{}", text.len());
    }
}

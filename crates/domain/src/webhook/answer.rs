//! What a receiver's answer means.

use serde_json::Value;

use super::WebhookFormat;
use crate::language::Text;

/// What has become of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Taken,
    /// The receiver says no to this one; the next may please it.
    Refused(Text),
    /// It is down, slow or busy: the same again later.
    Later(Text),
}

/// Numbers by which chat programs say that they were asked too often.
const TOO_OFTEN: [i64; 6] = [9_499, 11_232, 45_009, 45_033, 130_101, 410_100];

/// Reads status and body of an answer. Chat programs say 200 to everything, and what they mean in the body.
pub fn delivery(format: WebhookFormat, status: u16, body: &str) -> Delivery {
    let said = Text::new(format!("接收方回答 HTTP {status}"), format!("the receiver answered HTTP {status}"));
    match status {
        200..=299 => match refusal_in(format, body) {
            None => Delivery::Taken,
            Some((number, reason)) => {
                let text = Text::new(
                    format!("接收方拒绝（{number}）：{reason}"),
                    format!("the receiver refused it ({number}): {reason}"),
                );
                if TOO_OFTEN.contains(&number) { Delivery::Later(text) } else { Delivery::Refused(text) }
            }
        },
        408 | 425 | 429 | 500.. => Delivery::Later(said),
        300..=399 => Delivery::Refused(said.followed_by(&Text::new(
            "不跟随重定向，请改用最终地址",
            "redirects are not followed: give the address that it leads to",
        ))),
        _ => Delivery::Refused(said),
    }
}

fn refusal_in(format: WebhookFormat, body: &str) -> Option<(i64, String)> {
    let (number, reason) = match format {
        WebhookFormat::Feishu => ("code", "msg"),
        WebhookFormat::Dingtalk | WebhookFormat::Wecom => ("errcode", "errmsg"),
        WebhookFormat::Json | WebhookFormat::Slack => return None,
    };
    let value: Value = serde_json::from_str(body).ok()?;
    let number = value[number].as_i64().filter(|number| *number != 0)?;
    let reason: String = value[reason].as_str().unwrap_or_default().chars().take(200).collect();
    Some((number, reason.escape_debug().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_refused_or_tried_again() {
        use WebhookFormat::{Dingtalk, Feishu, Json, Slack, Wecom};
        for (format, status, body, expected) in [
            (Json, 204, "", "taken"),
            (Json, 200, r#"{"errcode":1}"#, "taken"),
            (Json, 500, "", "later"),
            (Json, 429, "", "later"),
            (Json, 404, "", "refused"),
            (Json, 301, "", "refused"),
            (Feishu, 200, r#"{"code":0,"msg":"success"}"#, "taken"),
            (Feishu, 200, r#"{"code":19021,"msg":"sign match fail"}"#, "refused"),
            (Feishu, 200, r#"{"code":11232,"msg":"too often"}"#, "later"),
            (Dingtalk, 200, r#"{"errcode":0,"errmsg":"ok"}"#, "taken"),
            (Dingtalk, 200, r#"{"errcode":310000,"errmsg":"keywords not in content"}"#, "refused"),
            (Wecom, 200, r#"{"errcode":45009,"errmsg":"api freq out of limit"}"#, "later"),
            (Wecom, 200, "no json", "taken"),
            (Slack, 200, "ok", "taken"),
            (Slack, 410, "channel_is_archived", "refused"),
        ] {
            let found = match delivery(format, status, body) {
                Delivery::Taken => "taken",
                Delivery::Refused(_) => "refused",
                Delivery::Later(_) => "later",
            };
            assert_eq!(found, expected, "{format:?} {status} {body}");
        }
    }
}

//! How a delivery proves who sent it, as each receiver wants it.

use data_encoding::{BASE64, HEXLOWER};
use fermi_domain::webhook::WebhookFormat;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::Sha256;

/// What a signature adds to a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    pub url: String,
    pub body: String,
    pub headers: Vec<(&'static str, String)>,
}

/// Signs a delivery at this time; without a secret, and for receivers that check none, nothing is added.
pub fn sign(format: WebhookFormat, secret: Option<&str>, url: &str, mut body: Value, now_ms: u64) -> Signed {
    let seconds = now_ms / 1_000;
    let mut signed = Signed { url: url.to_owned(), ..Signed::default() };
    match (secret, format) {
        (Some(secret), WebhookFormat::Json) => {
            signed.body = body.to_string();
            let mac = hmac(secret, &format!("{seconds}.{}", signed.body));
            signed.headers.push(("x-fermi-timestamp", seconds.to_string()));
            signed.headers.push(("x-fermi-signature", format!("sha256={}", HEXLOWER.encode(&mac))));
            return signed;
        }
        // Its key is the secret with the time, and what is signed is nothing.
        (Some(secret), WebhookFormat::Feishu) => {
            body["timestamp"] = json!(seconds.to_string());
            body["sign"] = json!(BASE64.encode(&hmac(&format!("{seconds}\n{secret}"), "")));
        }
        (Some(secret), WebhookFormat::Dingtalk) => {
            let mac = BASE64.encode(&hmac(secret, &format!("{now_ms}\n{secret}")));
            let joint = if url.contains('?') { '&' } else { '?' };
            let mac = utf8_percent_encode(&mac, NON_ALPHANUMERIC);
            signed.url = format!("{url}{joint}timestamp={now_ms}&sign={mac}");
        }
        (None, _) | (_, WebhookFormat::Wecom | WebhookFormat::Slack) => {}
    }
    signed.body = body.to_string();
    signed
}

fn hmac(key: &str, text: &str) -> Vec<u8> {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_700_000_000_123;

    fn signed(format: WebhookFormat, secret: Option<&str>) -> Signed {
        sign(format, secret, "https://x.example/send?key=1", json!({"a": 1}), NOW_MS)
    }

    /// The numbers are those of Python's hmac over the rules that the receivers publish.
    #[test]
    fn each_receiver_finds_the_signature_where_it_looks_for_it() {
        let json = signed(WebhookFormat::Json, Some("s3cret"));
        assert_eq!(json.body, r#"{"a":1}"#);
        assert_eq!(json.headers[0], ("x-fermi-timestamp", "1700000000".to_owned()));
        assert_eq!(json.headers[1].1, "sha256=1698a50bc74d1ff1db85c4e0a5297c2ad9fdba245d5737cdb789e4cc6e098940");
        let feishu = signed(WebhookFormat::Feishu, Some("s3cret"));
        assert_eq!(
            feishu.body,
            r#"{"a":1,"timestamp":"1700000000","sign":"IX3eHI0/v/Td7jqJ0ynSEK3Dq5JY3HUZeoeMgVZeZGo="}"#
        );
        let dingtalk = signed(WebhookFormat::Dingtalk, Some("s3cret"));
        assert_eq!(
            dingtalk.url,
            "https://x.example/send?key=1&timestamp=1700000000123&sign=Q%2FGu1K6gif%2F%2FXkCNhmmMXCz3dFOshDi118WieTgZpto%3D"
        );
        assert_eq!(dingtalk.body, r#"{"a":1}"#);
    }

    #[test]
    fn without_a_secret_nothing_is_added() {
        for format in WebhookFormat::ALL {
            let plain = signed(format, None);
            let expected = Signed {
                url: "https://x.example/send?key=1".to_owned(),
                body: r#"{"a":1}"#.to_owned(),
                headers: vec![],
            };
            assert_eq!(plain, expected);
        }
    }
}

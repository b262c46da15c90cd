//! What an ID token must say before its holder is believed. Its signature was looked at before.

use serde_json::{Map, Value};

use crate::language::Text;

/// By how much two clocks may differ.
const LEEWAY_S: f64 = 60.0;
/// The standard allows no longer one.
const LONGEST_SUBJECT: usize = 255;

/// The claims of a token, or of what the provider tells of its user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdClaims(pub Map<String, Value>);

/// What a token must be about.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedToken<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now_ms: u64,
}

/// Why a token is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdTokenFault {
    /// It is no JSON Web Token.
    Shape,
    /// It is signed in a way that is not taken, or not at all.
    Algorithm(String),
    /// No key of the provider has signed it.
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    Expired,
    NotYet,
    Nonce,
    Subject,
}

impl IdTokenFault {
    pub fn text(&self) -> Text {
        match self {
            Self::Shape => Text::new("不是 JSON Web Token", "it is no JSON Web Token"),
            Self::Algorithm(name) => Text::new(
                format!("签名算法 {name} 不被接受"),
                format!("its signature is of the kind {name}, which is not taken"),
            ),
            Self::UnknownKey => Text::new("签名所用的密钥不是该服务的", "no key of the service has signed it"),
            Self::Signature => Text::new("签名不正确", "its signature is not right"),
            Self::Issuer => Text::new("签发者不符", "another issuer has made it"),
            Self::Audience => Text::new("不是签发给这台服务器的", "it was made for another client"),
            Self::Expired => Text::new("已过期", "it has expired"),
            Self::NotYet => Text::new("尚未生效", "it is not valid yet"),
            Self::Nonce => Text::new("不属于这次登录", "it is of another log-in"),
            Self::Subject => Text::new("没有指明用户", "it names nobody"),
        }
    }
}

impl IdClaims {
    /// Whom the token names, if it is about what was asked for.
    pub fn check(&self, expected: &ExpectedToken<'_>) -> Result<String, IdTokenFault> {
        if self.text("iss") != Some(expected.issuer) {
            return Err(IdTokenFault::Issuer);
        }
        let audiences = self.texts("aud");
        let is_ours = audiences.iter().any(|audience| audience == expected.client_id);
        let is_ours_alone = audiences.len() == 1 || self.text("azp") == Some(expected.client_id);
        if !is_ours || !is_ours_alone {
            return Err(IdTokenFault::Audience);
        }
        let now_s = expected.now_ms as f64 / 1_000.0;
        if self.number("exp").is_none_or(|end| now_s >= end + LEEWAY_S) {
            return Err(IdTokenFault::Expired);
        }
        if ["nbf", "iat"].iter().any(|claim| self.number(claim).is_some_and(|begin| now_s + LEEWAY_S < begin)) {
            return Err(IdTokenFault::NotYet);
        }
        if self.text("nonce") != Some(expected.nonce) {
            return Err(IdTokenFault::Nonce);
        }
        self.subject().ok_or(IdTokenFault::Subject)
    }

    /// Whom it names.
    pub fn subject(&self) -> Option<String> {
        let fits = |subject: &&str| {
            !subject.is_empty() && subject.len() <= LONGEST_SUBJECT && !subject.contains(char::is_control)
        };
        self.text("sub").filter(fits).map(str::to_owned)
    }

    pub fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim)?.as_str()
    }

    /// A text, or a list of texts; nothing of what is neither.
    pub fn texts(&self, claim: &str) -> Vec<String> {
        match self.0.get(claim) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    fn number(&self, claim: &str) -> Option<f64> {
        self.0.get(claim)?.as_f64()
    }

    /// Adds what another answer says of the same user; what is known stays.
    pub fn complete(&mut self, other: Self) {
        for (claim, value) in other.0 {
            self.0.entry(claim).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn claims(changed: Value) -> IdClaims {
        let mut all = json!({"iss": "https://id.example", "aud": "fermi", "sub": "u1", "nonce": "n", "exp": NOW_S + 300,
            "iat": NOW_S});
        for (claim, value) in changed.as_object().unwrap() {
            all[claim] = value.clone();
        }
        IdClaims(all.as_object().unwrap().clone())
    }

    fn judged(changed: Value) -> Result<String, IdTokenFault> {
        claims(changed).check(&ExpectedToken {
            issuer: "https://id.example",
            client_id: "fermi",
            nonce: "n",
            now_ms: NOW_S * 1_000,
        })
    }

    #[test]
    fn a_token_is_believed_only_if_it_is_ours_and_of_now() {
        use IdTokenFault::{Audience, Expired, Issuer, Nonce, NotYet, Subject};
        for good in [
            json!({}),
            json!({"aud": ["fermi"]}),
            json!({"aud": ["fermi", "other"], "azp": "fermi"}),
            json!({"exp": NOW_S - 59}),
            json!({"exp": NOW_S as f64 + 0.5}),
            json!({"iat": NOW_S + 59, "nbf": NOW_S + 59}),
        ] {
            assert_eq!(judged(good.clone()), Ok("u1".to_owned()), "{good}");
        }
        for (bad, fault) in [
            (json!({"iss": "https://id.example/"}), Issuer),
            (json!({"iss": null}), Issuer),
            (json!({"aud": "other"}), Audience),
            (json!({"aud": ["fermi", "other"]}), Audience),
            (json!({"aud": ["fermi", "other"], "azp": "other"}), Audience),
            (json!({"aud": []}), Audience),
            (json!({"exp": NOW_S - 60}), Expired),
            (json!({"exp": null}), Expired),
            (json!({"exp": "soon"}), Expired),
            (json!({"nbf": NOW_S + 61}), NotYet),
            (json!({"iat": NOW_S + 61}), NotYet),
            (json!({"nonce": "other"}), Nonce),
            (json!({"nonce": null}), Nonce),
            (json!({"sub": ""}), Subject),
            (json!({"sub": 7}), Subject),
            (json!({"sub": "a\u{1b}[m"}), Subject),
            (json!({"sub": "x".repeat(256)}), Subject),
        ] {
            assert_eq!(judged(bad.clone()), Err(fault), "{bad}");
        }
    }

    #[test]
    fn what_is_told_besides_adds_and_never_changes() {
        let mut known = claims(json!({"groups": ["a"]}));
        known.complete(claims(json!({"groups": ["admins"], "email": "ann@example.com"})));
        assert_eq!((known.texts("groups"), known.text("email")), (vec!["a".to_owned()], Some("ann@example.com")));
        assert_eq!(claims(json!({"groups": "one"})).texts("groups"), ["one"]);
        assert!(claims(json!({"groups": {"a": 1}})).texts("groups").is_empty());
    }
}

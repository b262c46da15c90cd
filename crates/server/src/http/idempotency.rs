//! `Idempotency-Key`: the same request again gets the same answer, and nothing is made twice.

use axum::body::Bytes;
use axum::http::HeaderValue;
use data_encoding::HEXLOWER;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_store::idempotency::Remembered;
use fermi_store::{StoreError, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer};

pub const HEADER: &str = "idempotency-key";
const LONGEST_KEY: usize = 255;

/// A key with what it was given for.
#[derive(Debug)]
pub struct Key {
    scope: String,
    key: String,
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    message: Text,
    data: Box<RawValue>,
}

impl Key {
    /// The key that a request has. `scope` is what is made, such as `training-tasks`; another user's key is another.
    pub fn of(key: &HeaderValue, caller: &Principal, scope: &str, body: &[u8]) -> Result<Self, ApiProblem> {
        let key = key.to_str().ok().map(str::trim).filter(|key| !key.is_empty() && key.len() <= LONGEST_KEY);
        let key = key.ok_or_else(|| {
            ApiProblem::unprocessable(
                "idempotency_key_invalid",
                "Idempotency-Key",
                Text::new("Idempotency-Key 无效", "the Idempotency-Key is not valid"),
            )
            .hint(Text::new("1 到 255 个可见的 ASCII 字符", "1 to 255 visible ASCII letters"))
        })?;
        let digest = HEXLOWER.encode(&Sha256::digest(body));
        let user = caller.user().unwrap_or_default();
        Ok(Self { scope: format!("{user}:{scope}"), key: key.to_owned(), digest })
    }
}

/// The answer that was given under this key before. To be asked before a request is checked: what it names may have
/// changed since, and it was granted all the same.
pub async fn earlier(core: &Core, key: Option<&Key>) -> Result<Option<EnvelopeAnswer>, ApiProblem> {
    let Some(Key { scope, key, digest }) = key else { return Ok(None) };
    let (scope, key) = (scope.clone(), key.clone());
    let found: Result<_, StoreError> = core.store().read(move |view| view.recall(&scope, &key)).await;
    match found? {
        None => Ok(None),
        Some(earlier) if earlier.digest == *digest => recalled(&earlier).map(Some),
        Some(_) => Err(another_body()),
    }
}

/// Makes something, unless it was made under this key before: then the answer of that time is given.
pub fn once(
    tx: &mut Transaction<'_>,
    key: Option<&Key>,
    now_ms: u64,
    make: impl FnOnce(&mut Transaction<'_>) -> Result<EnvelopeAnswer, ApiProblem>,
) -> Result<EnvelopeAnswer, ApiProblem> {
    let Some(Key { scope, key, digest }) = key else { return make(tx) };
    if let Some(earlier) = tx.recall(scope, key)? {
        return if earlier.digest == *digest { recalled(&earlier) } else { Err(another_body()) };
    }
    let answer = make(tx)?;
    let broken = |error: serde_json::Error| ApiProblem::broken("cannot keep an answer", &error);
    let data = String::from_utf8_lossy(&answer.data).into_owned();
    let kept = Kept { message: answer.message.clone(), data: RawValue::from_string(data).map_err(broken)? };
    let body = serde_json::to_vec(&kept).map_err(broken)?;
    tx.remember(scope, key, &Remembered { digest: digest.clone(), status: answer.status.as_u16(), body }, now_ms)?;
    Ok(answer)
}

fn recalled(earlier: &Remembered) -> Result<EnvelopeAnswer, ApiProblem> {
    let kept: Kept = serde_json::from_slice(&earlier.body)
        .map_err(|error| ApiProblem::broken("cannot read a kept answer", &error))?;
    let data = Bytes::copy_from_slice(kept.data.get().as_bytes());
    Ok(EnvelopeAnswer { status: axum::http::StatusCode::OK, message: kept.message, data })
}

fn another_body() -> ApiProblem {
    ApiProblem::unprocessable(
        "idempotency_key_reused",
        "Idempotency-Key",
        Text::new("此 Idempotency-Key 已用于另一个请求", "this Idempotency-Key was used for another request"),
    )
    .hint(Text::new("为新的请求使用新的键", "use a new key for a new request"))
}

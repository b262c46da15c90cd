//! The number of a request: the caller's own, if it is fit to stand in a log, else one that is made here. It is answered in
//! `X-Request-Id`, and every line that is logged on the request's behalf carries it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use data_encoding::HEXLOWER;
use tower_http::request_id::{MakeRequestId, RequestId};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest number of a caller that is kept.
const LONGEST: usize = 64;

/// Gives out numbers: one part tells this start of the server from others, the other counts.
#[derive(Clone, Debug)]
pub struct RequestNumbers {
    start: Arc<str>,
    next: Arc<AtomicU64>,
}

impl Default for RequestNumbers {
    fn default() -> Self {
        let mut start = [0_u8; 4];
        // Without randomness the numbers of two starts may be the same; the times of their lines differ.
        let _ = getrandom::fill(&mut start);
        Self { start: HEXLOWER.encode(&start).into(), next: Arc::new(AtomicU64::new(1)) }
    }
}

impl MakeRequestId for RequestNumbers {
    fn make_request_id<B>(&mut self, _: &http::Request<B>) -> Option<RequestId> {
        let number = format!("{}-{:x}", self.start, self.next.fetch_add(1, Relaxed));
        HeaderValue::try_from(number).ok().map(RequestId::new)
    }
}

/// Drops a caller's number that is too long, or that would not be one word in a log.
pub fn without_unfit(mut request: Request) -> Request {
    if request.headers().get_all(&HEADER).iter().any(|value| !is_fit(value.as_bytes())) {
        request.headers_mut().remove(&HEADER);
    }
    request
}

fn is_fit(number: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    !number.is_empty() && number.len() <= LONGEST && number.iter().all(is_plain)
}

/// The span of a request.
pub fn span(request: &Request) -> tracing::Span {
    let number = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    tracing::info_span!("request", request_id = number, method = %request.method(), path = request.uri().path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_word_of_a_fit_length_is_a_number() {
        for fit in ["a", "4bf92f35-77b3", "trace:1.2_x", &"x".repeat(64)] {
            assert!(is_fit(fit.as_bytes()), "{fit}");
        }
        for unfit in ["", "a b", "a\n", "a=b", "\"a\"", "训", &"x".repeat(65)] {
            assert!(!is_fit(unfit.as_bytes()), "{unfit}");
        }
    }

    #[test]
    fn no_number_is_given_twice() {
        let mut numbers = RequestNumbers::default();
        let mut again = numbers.clone();
        let request = http::Request::new(());
        let one = numbers.make_request_id(&request).unwrap().into_header_value();
        assert_ne!(one, again.make_request_id(&request).unwrap().into_header_value());
    }
}

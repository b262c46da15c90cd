//! The answer to a request that comes without TLS: which address to use instead.

use std::io;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use fermi_api::client::TlsRefusal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::envelope::{ApiProblem, front_end, language};

/// As much of a request as is looked at.
const LONGEST_HEAD: usize = 8 << 10;

/// Reads the head of a request and answers it; what is no HTTP is hung up on.
pub async fn answer(mut socket: TcpStream) -> io::Result<()> {
    let mut head = Vec::with_capacity(1_024);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 1_024];
        let length = socket.read(&mut piece).await?;
        if length == 0 || head.len() + length > LONGEST_HEAD {
            return Ok(());
        }
        head.extend_from_slice(&piece[..length]);
    }
    let Some(headers) = headers(&head) else { return Ok(()) };
    let problem = ApiProblem { status: StatusCode::UPGRADE_REQUIRED, ..ApiProblem::refused(&TlsRefusal::Required) };
    let body = problem.written(language(&headers), front_end(&headers));
    let start = format!(
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.3, HTTP/1.1\r\nConnection: Upgrade, close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(start.as_bytes()).await?;
    socket.write_all(&body).await?;
    socket.shutdown().await
}

/// The headers of a request; none where this is no request.
fn headers(head: &[u8]) -> Option<HeaderMap> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    if !lines.next()?.contains(" HTTP/1.") {
        return None;
    }
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value.trim()).ok()?))
    });
    Some(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_has_no_headers() {
        let read = headers(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Language: en\r\n\r\n").unwrap();
        assert_eq!(read["accept-language"], "en");
        assert!(headers(b"SSH-2.0-x\r\n\r\n").is_none());
        assert!(headers(&[0xff, 0xfe, b'\r', b'\n']).is_none());
    }
}

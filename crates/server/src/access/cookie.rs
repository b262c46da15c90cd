//! A browser's session: a cookie that no script reads and no other site sends.

use axum::http::{HeaderMap, HeaderValue, header};

/// Browsers do not tell the ports of a host apart, so that the name does: two servers on one machine have a session each.
fn name(port: u16) -> String {
    format!("fermi_session_{port}")
}

/// The sessions of a request: a page of another path may have set one more of this name.
pub fn read(headers: &HeaderMap, port: u16) -> impl Iterator<Item = &str> {
    named(headers, name(port))
}

fn named(headers: &HeaderMap, name: String) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(';')).filter_map(move |pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name && !value.is_empty()).then_some(value)
    })
}

/// What makes a browser keep a session for so many seconds; 0 makes it forget. One that came over TLS never goes without.
pub fn write(port: u16, word: &str, seconds: u64, is_encrypted: bool) -> Option<HeaderValue> {
    let (name, secure) = (name(port), if is_encrypted { "; Secure" } else { "" });
    HeaderValue::from_str(&format!("{name}={word}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")).ok()
}

/// A log-in that was begun and is finished by a page of another site: that one's link sends this cookie, and no form of it.
fn begun(port: u16) -> String {
    format!("fermi_oidc_{port}")
}

/// Where there are two, a page of another port or path has planted one, and neither counts.
pub fn read_begun(headers: &HeaderMap, port: u16) -> Option<&str> {
    let mut all = named(headers, begun(port));
    let one = all.next()?;
    all.next().is_none().then_some(one)
}

pub fn write_begun(port: u16, word: &str, is_encrypted: bool) -> Option<HeaderValue> {
    let (name, secure) = (begun(port), if is_encrypted { "; Secure" } else { "" });
    HeaderValue::from_str(&format!("{name}={word}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax{secure}")).ok()
}

pub fn forget_begun(port: u16) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax", begun(port))).ok()
}

/// The session at the company's service that ends with the one here. Only the request that ends a session brings it.
fn company(port: u16) -> String {
    format!("fermi_company_{port}")
}

pub fn read_company(headers: &HeaderMap, port: u16) -> impl Iterator<Item = &str> {
    named(headers, company(port))
}

/// For so many seconds, 0 to forget; the path is that of the request, as browsers see it.
pub fn write_company(port: u16, word: &str, seconds: u64, path: &str, is_encrypted: bool) -> Option<HeaderValue> {
    let (name, secure) = (company(port), if is_encrypted { "; Secure" } else { "" });
    let text = format!("{name}={word}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_back_by_the_server_that_wrote_it() {
        let written = write(7070, "word", 60, false).unwrap();
        assert_eq!(written, "fermi_session_7070=word; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
        assert!(write(7070, "word", 60, true).unwrap().to_str().unwrap().ends_with("; SameSite=Strict; Secure"));
        let mut headers = HeaderMap::new();
        headers.insert(
            header::COOKIE,
            "a=b; fermi_session_7070=old; fermi_session_7070=word; fermi_session_7071=x".parse().unwrap(),
        );
        let read = |port| read(&headers, port).collect::<Vec<_>>();
        assert_eq!((read(7070), read(7071), read(80)), (vec!["old", "word"], vec!["x"], vec![]));
    }
}

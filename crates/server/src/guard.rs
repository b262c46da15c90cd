//! Who may speak to the server, and on whose behalf.
//!
//! On loopback everybody on this machine may, except web pages: a browser tells by Host and Origin whose page it is that
//! speaks, and a name that an attacker's DNS points here is none of ours. Anywhere else a token is needed.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use fermi_api::link::ENVIRONMENT_HEADER;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use subtle::ConstantTimeEq;

use crate::envelope::ApiProblem;

/// What is asked of every request.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The listener is on loopback: Host and Origin are checked.
    pub on_loopback: bool,
    /// Further names under which the server is reached, as through a proxy.
    pub allowed_hosts: Vec<String>,
    /// What a caller must show.
    pub token: Option<String>,
}

/// What agents ask for.
const AGENTS: &str = "/api/agent/";

/// Open to everybody, so that a load balancer can look.
const OPEN: [&str; 3] = ["/livez", "/readyz", "/version"];

/// Whether a path needs no token: health, and the page itself, which holds nothing and asks for the token.
fn is_open(method: &Method, path: &str) -> bool {
    OPEN.contains(&path) || (*method == Method::GET && !path.starts_with("/api") && path != "/metrics")
}

impl Guard {
    /// For a listener on loopback that everybody on this machine may use.
    pub fn on_loopback(address: SocketAddr, allowed_hosts: &[String]) -> Self {
        Self { on_loopback: address.ip().is_loopback(), allowed_hosts: allowed_hosts.to_vec(), token: None }
    }

    /// For any listener: only who shows the token passes.
    pub fn with_token(address: SocketAddr, allowed_hosts: &[String], token: String) -> Self {
        Self { token: Some(token), ..Self::on_loopback(address, allowed_hosts) }
    }

    /// Puts the guard, the envelope and the meters before a router.
    pub fn protect(self, router: Router) -> Router {
        crate::http::middleware(self, router)
    }

    /// On whose behalf a request comes; the reason if it may not pass. None where no token is asked for.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Option<Principal>, ApiProblem> {
        if is_cross_site(method, uri, headers) {
            return Err(forbidden(
                "cross_site",
                Text::new("拒绝来自其他网站的请求", "requests from other web sites are refused"),
            )
            .hint(Text::new("直接打开服务器自己的页面", "open the server's own page instead")));
        }
        if self.on_loopback {
            self.judge_host(uri, headers)?;
        }
        let user = match &self.token {
            Some(_) if is_open(method, uri.path()) => return Ok(None),
            Some(token) => {
                judge_token(token, headers)?;
                Principal::token_holder()
            }
            None => Principal::local(),
        };
        // An administrator may also speak for an environment: agents and people share one token.
        let environment = headers.get(ENVIRONMENT_HEADER).filter(|_| uri.path().starts_with(AGENTS));
        let environment = environment.and_then(|value| value.to_str().ok()).map(EnvironmentId::from);
        Ok(Some(environment.map_or(user, Principal::agent_of)))
    }

    fn judge_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiProblem> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| uri.authority().map(axum::http::uri::Authority::as_str)).unwrap_or_default();
        let name = without_port(host);
        if !is_loopback_name(name) && !self.is_allowed(name) {
            let shown: String = name.chars().take(100).collect();
            return Err(forbidden(
                "host_not_allowed",
                Text::new(
                    format!("不接受主机名“{shown}”"),
                    format!("the host name '{shown}' is not one of this server's"),
                ),
            )
            .hint(Text::new(
                "使用 localhost 或 127.0.0.1 访问，或把它加入服务器的 allowed_hosts",
                "use localhost or 127.0.0.1, or add it to the server's allowed_hosts",
            )));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
        let is_same = !authority.is_empty() && authority.eq_ignore_ascii_case(host);
        // Behind a proxy the Host may have been rewritten; the Origin is what the browser shows.
        if is_same || self.is_allowed(without_port(authority)) {
            return Ok(());
        }
        let shown: String = origin.chars().take(100).collect();
        Err(forbidden(
            "origin_not_allowed",
            Text::new(format!("拒绝来自“{shown}”的网页请求"), format!("requests of pages from '{shown}' are refused")),
        )
        .hint(Text::new(
            "从服务器自己的页面访问，或把其主机名加入服务器的 allowed_hosts",
            "use the server's own page, or add that host to the server's allowed_hosts",
        )))
    }

    fn is_allowed(&self, name: &str) -> bool {
        !name.is_empty() && self.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

fn forbidden(id: &'static str, text: Text) -> ApiProblem {
    ApiProblem::new(StatusCode::FORBIDDEN, id, text)
}

/// Following a link to a page is no attack; anything else that another site starts is.
fn is_cross_site(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    let opens_a_page = *method == Method::GET && is("sec-fetch-mode", "navigate") && !uri.path().starts_with("/api");
    is("sec-fetch-site", "cross-site") && !opens_a_page
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of a bare IPv6 address are no port's.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => {
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

/// An address cannot be pointed elsewhere, so that any of the loopback ones is as good as another.
fn is_loopback_name(name: &str) -> bool {
    let is_v4 = name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    is_v4 || name.eq_ignore_ascii_case("localhost") || name == "[::1]"
}

fn judge_token(token: &str, headers: &HeaderMap) -> Result<(), ApiProblem> {
    let shown = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
    let shown = match shown.split_at_checked(7) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"bearer ") => rest,
        _ => b"",
    };
    if bool::from(shown.trim_ascii().ct_eq(token.as_bytes())) {
        return Ok(());
    }
    let text = if shown.is_empty() {
        Text::new("需要访问令牌", "a token is needed")
    } else {
        Text::new("访问令牌无效", "the token is not valid")
    };
    Err(ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", text).hint(Text::new(
        "在请求头中加入 Authorization: Bearer <令牌>；服务器首次启动时打印了它",
        "send `Authorization: Bearer <token>`; the server printed it when it first started",
    )))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn judge(guard: &Guard, method: Method, path: &str, headers: &[(&'static str, &'static str)]) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        let uri = Uri::try_from(path).unwrap();
        guard.judge(&method, &uri, &map).err().map(|problem| problem.id.into_owned())
    }

    fn loopback(headers: &[(&'static str, &'static str)]) -> Option<String> {
        let allowed_hosts = vec!["fermi.example".to_owned()];
        judge(&Guard { on_loopback: true, allowed_hosts, token: None }, Method::POST, "/api/v1/x", headers)
    }

    #[test]
    fn on_loopback_our_own_names_pass_and_others_do_not() {
        for host in [
            "localhost",
            "LOCALHOST:7070",
            "127.0.0.1:7070",
            "127.0.0.1",
            "[::1]:7070",
            "[::1]",
            "127.0.0.2",
            "fermi.example",
        ] {
            assert_eq!(loopback(&[("host", host)]), None, "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io:7070", "", "::1", "128.0.0.1", "localhost:x"]
        {
            assert_eq!(loopback(&[("host", host)]).as_deref(), Some("host_not_allowed"), "{host}");
        }
        assert_eq!(loopback(&[]).as_deref(), Some("host_not_allowed"));
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let host = ("host", "localhost:7070");
        assert_eq!(loopback(&[host, ("origin", "http://localhost:7070")]), None);
        assert_eq!(loopback(&[host, ("origin", "https://fermi.example")]), None);
        for origin in ["http://evil.example", "null", "http://localhost:3000", "http://localhost", "file://", ""] {
            assert_eq!(loopback(&[host, ("origin", origin)]).as_deref(), Some("origin_not_allowed"), "{origin}");
        }
    }

    #[test]
    fn other_sites_may_link_to_pages_and_nothing_else() {
        let guard = Guard { on_loopback: true, ..Guard::default() };
        let cross = [("host", "localhost"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(judge(&guard, Method::GET, "/training/task-1", &cross), None);
        assert_eq!(judge(&guard, Method::GET, "/api/v1/overview", &cross).as_deref(), Some("cross_site"));
        assert_eq!(judge(&guard, Method::POST, "/", &cross).as_deref(), Some("cross_site"));
    }

    #[test]
    fn everybody_who_passes_is_somebody() {
        let who = |token: Option<&str>, path: &str, headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            let guard = Guard { token: token.map(str::to_owned), ..Guard::default() };
            let principal = guard.judge(&Method::GET, &Uri::try_from(path).unwrap(), &map).unwrap();
            principal.map(|principal| principal.to_string())
        };
        let (bearer, agent) = (("authorization", "Bearer x"), ("x-fermi-environment", "env-001"));
        assert_eq!(who(None, "/api/v1/x", &[]).as_deref(), Some("user:administrator:local"));
        assert_eq!(who(Some("x"), "/api/v1/x", &[bearer]).as_deref(), Some("user:administrator:token"));
        assert_eq!(who(Some("x"), "/api/agent/v1/x", &[bearer, agent]).as_deref(), Some("agent:env-001"));
        assert_eq!(who(None, "/api/v1/x", &[agent]).as_deref(), Some("user:administrator:local"));
        assert_eq!(who(Some("x"), "/livez", &[]), None);
    }

    #[test]
    fn elsewhere_a_token_is_needed_for_all_but_health_and_the_page() {
        let guard = Guard { token: Some("secret".to_owned()), ..Guard::default() };
        let with = |path: &str, value: &'static str| judge(&guard, Method::GET, path, &[("authorization", value)]);
        assert_eq!(with("/api/v1/x", "Bearer secret"), None);
        assert_eq!(with("/api/v1/x", "bearer secret "), None);
        for wrong in ["Bearer secreu", "Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bearer", "Bearer "]
        {
            assert_eq!(with("/api/v1/x", wrong).as_deref(), Some("unauthorized"), "{wrong}");
        }
        for path in ["/api/v1/x", "/api/agent/v1/link", "/api/openapi.json", "/metrics"] {
            assert_eq!(judge(&guard, Method::GET, path, &[]).as_deref(), Some("unauthorized"), "{path}");
        }
        assert_eq!(judge(&guard, Method::POST, "/", &[]).as_deref(), Some("unauthorized"));
        for path in ["/", "/assets/index.js", "/training/task-1", "/livez"] {
            assert_eq!(judge(&guard, Method::GET, path, &[("host", "anything")]), None, "{path}");
        }
    }
}

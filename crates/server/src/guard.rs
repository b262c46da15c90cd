//! Who may speak to the server, and on whose behalf.
//!
//! Everyone shows a token: the server's own, one that was made for a user or a machine, or a browser's session. A server that
//! was opened asks for none. On loopback Host and Origin are checked too: a browser tells by them whose page it is that
//! speaks, and a name that an attacker's DNS points here is none of ours.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use fermi_api::FRONT_END;
use fermi_api::link::{CREDENTIAL_HEADER, ENVIRONMENT_HEADER, LINK_PATH};
use fermi_domain::access::{Deed, Peer, TokenScope, TrustedProxies};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;

use crate::access::{Accounts, Holder, cookie, permit, secret_word};
use crate::agents::identity;
use crate::connection::{Connection, is_forwarded};
use crate::envelope::ApiProblem;

/// What is asked of every request.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The listener is on loopback: Host and Origin are checked.
    pub on_loopback: bool,
    /// Further names under which the server is reached, as through a proxy.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose word is taken on whom they ask for.
    pub proxies: TrustedProxies,
    /// Who is known.
    pub accounts: Arc<Accounts>,
}

/// What agents ask for.
const AGENTS: &str = "/api/agent/";

/// Open to everyone, so that a load balancer can look.
const OPEN: [&str; 3] = ["/livez", "/readyz", "/version"];

/// Where a session is opened, which is what one does who has none.
pub const SESSION: &str = "/api/v1/session";

/// Whether a path needs no token: health, the log-in, and the page itself, which holds nothing and asks for the token.
pub fn is_open(method: &Method, path: &str) -> bool {
    let is_page =
        (*method == Method::GET || *method == Method::HEAD) && !path.starts_with("/api") && path != "/metrics";
    OPEN.contains(&path) || (*method == Method::POST && path == SESSION) || is_page
}

impl Guard {
    pub fn new(address: SocketAddr, allowed_hosts: &[String], accounts: Arc<Accounts>) -> Self {
        accounts.set_port(address.port());
        let proxies = TrustedProxies::default();
        Self { on_loopback: address.ip().is_loopback(), allowed_hosts: allowed_hosts.to_vec(), proxies, accounts }
    }

    /// The same, where these proxies are believed.
    #[must_use]
    pub fn trusting(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Who asks over this connection. A request that says it is another's is refused where the network can reach the server,
    /// unless a proxy that is trusted says so; on loopback what it says is passed over.
    pub fn asker(&self, connection: &Connection, headers: &HeaderMap) -> Result<Peer, ApiProblem> {
        let is_believed = self.on_loopback || self.proxies.trusts(connection.peer.ip());
        if !is_believed && is_forwarded(headers) {
            return Err(not_believed(connection));
        }
        Ok(connection.asker(&self.proxies, headers))
    }

    /// Puts the guard, the envelope and the meters before a router.
    pub fn protect(self, router: Router) -> Router {
        crate::http::middleware(self, router)
    }

    /// On whose behalf a request comes; the reason if it may not pass. None where no token is asked for.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Option<Caller>, ApiProblem> {
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
        if is_open(method, uri.path()) {
            return Ok(None);
        }
        // A machine that has joined is known by its credential, whatever has become of the token with which it came.
        let holder = match self.holder(method, uri, headers) {
            Ok(holder) => holder,
            Err(problem) => {
                let environment = self.joined(uri, headers).or_else(|| self.replaced(uri, headers)).ok_or(problem)?;
                return Ok(Some(Caller { principal: Principal::agent_of(environment), holder: None }));
            }
        };
        let user = holder.as_ref().map_or_else(Principal::local, |holder| holder.principal.clone());
        if !uri.path().starts_with(AGENTS) {
            return match &holder {
                Some(holder) if holder.scope == TokenScope::Agent => Err(only_for_agents()),
                _ => Ok(Some(Caller { principal: user, holder })),
            };
        }
        permit(&user, Deed::Join, None)?;
        let environment =
            headers.get(ENVIRONMENT_HEADER).and_then(|value| value.to_str().ok()).map(EnvironmentId::from);
        Ok(Some(Caller { principal: environment.map_or(user, Principal::agent_of), holder }))
    }

    /// Who shows what; none where nothing is shown and the server is open.
    fn holder(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Option<Holder>, ApiProblem> {
        let now_ms = now_ms();
        let of = |word: &[u8]| self.accounts.holder(&secret_word::digest(word), now_ms);
        if let Some(word) = bearer(headers) {
            return match of(word) {
                None if !self.accounts.is_open() => {
                    Err(unauthorized(Text::new("访问令牌无效", "the token is not valid")))
                }
                found => Ok(found),
            };
        }
        // Agents are no browsers.
        let mut words = cookie::read(headers, self.accounts.port()).filter(|_| !uri.path().starts_with(AGENTS));
        match words.find_map(|word| of(word.as_bytes())) {
            Some(holder) => {
                // A page of another port of this host is of the same site to a browser and may post a form here; it
                // cannot set this header.
                let is_safe = *method == Method::GET || *method == Method::HEAD;
                if is_safe || headers.contains_key(FRONT_END) { Ok(Some(holder)) } else { Err(no_front_end()) }
            }
            None if self.accounts.is_open() => Ok(None),
            None => Err(unauthorized(Text::new("需要访问令牌", "a token is needed"))),
        }
    }

    /// Whether the agent of an environment shows its credential, whatever else it shows.
    pub fn is_joined(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.joined(uri, headers).is_some()
    }

    /// Whose agent shows its credential, where agents ask.
    fn joined(&self, uri: &Uri, headers: &HeaderMap) -> Option<EnvironmentId> {
        let shown = headers.get(CREDENTIAL_HEADER).filter(|_| uri.path().starts_with(AGENTS))?.to_str().ok()?;
        self.accounts.environment_of(&identity::digest(shown))
    }

    /// Whose agent it was that asks for a link, if another machine was put in its place: it is told so there, and nothing else.
    fn replaced(&self, uri: &Uri, headers: &HeaderMap) -> Option<EnvironmentId> {
        let shown = headers.get(CREDENTIAL_HEADER).filter(|_| uri.path() == LINK_PATH)?.to_str().ok()?;
        self.accounts.replaced_of(&identity::digest(shown))
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

fn not_believed(connection: &Connection) -> ApiProblem {
    let peer = connection.peer.ip().to_canonical();
    forbidden(
        "proxy_not_trusted",
        Text::new(
            format!("请求带有转发头，但 {peer} 不是受信任的代理"),
            format!("this request has headers of a proxy, and {peer} is none that is trusted"),
        ),
    )
    .hint(Text::new(
        format!("用 fermi server --trust-proxy {peer} 启动服务器，或让请求不带 X-Forwarded-* 头"),
        format!("start the server with --trust-proxy {peer}, or send no X-Forwarded-* headers"),
    ))
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

/// The word of `Authorization: Bearer`; an empty one where the header is of another kind.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let shown = headers.get(header::AUTHORIZATION)?.as_bytes();
    Some(match shown.split_at_checked(7) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"bearer ") => rest.trim_ascii(),
        _ => b"",
    })
}

fn unauthorized(text: Text) -> ApiProblem {
    ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", text).hint(Text::new(
        "用 fermi login 登录，或用 --token-file、FERMI_TOKEN、请求头 Authorization: Bearer <令牌> 出示令牌；服务器自己的令牌在其数据目录的 token 文件中",
        "log in with `fermi login`, or show a token by --token-file, FERMI_TOKEN or the header `Authorization: Bearer \
         <token>`; the server's own is in the file token of its data folder",
    ))
}

fn only_for_agents() -> ApiProblem {
    forbidden("only_for_agents", Text::new("这个令牌只用于代理", "this token is for agents only"))
        .hint(Text::new("用 fermi token create 创建自己的令牌", "make one of your own with `fermi token create`"))
}

fn no_front_end() -> ApiProblem {
    forbidden(
        "front_end_missing",
        Text::new("网页请求缺少 Fermi-Front-End 头", "a page's request lacks the header Fermi-Front-End"),
    )
    .hint(Text::new("从服务器自己的页面操作", "use the server's own page"))
}

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub principal: Principal,
    /// What was shown; none where nothing had to be.
    pub holder: Option<Holder>,
}

/// What was found out about a caller, to be asked again when a body has come or while an answer goes on: what was shown may have
/// been revoked meanwhile.
#[derive(Clone, Debug)]
pub struct Standing {
    accounts: Arc<Accounts>,
    holder: Option<Holder>,
}

impl Standing {
    pub fn of(accounts: &Arc<Accounts>, caller: &Caller) -> Self {
        Self { accounts: accounts.clone(), holder: caller.holder.clone() }
    }

    /// Whether the caller may still do what it might when the request began.
    pub fn ask_again(&self) -> Result<(), ApiProblem> {
        if self.holds() {
            Ok(())
        } else {
            Err(unauthorized(Text::new("访问令牌已失效", "the token is no longer valid")))
        }
    }

    fn holds(&self) -> bool {
        let Some(holder) = &self.holder else { return true };
        self.accounts.holder(&holder.digest, now_ms()).as_ref() == Some(holder)
    }

    /// Returns when it does not hold any more.
    pub async fn lost(self) {
        if self.holder.is_none() {
            return std::future::pending().await;
        }
        let mut changes = self.accounts.changes();
        while self.holds() {
            // What ends by its time is found by looking now and then.
            let _ = tokio::time::timeout(LOOKED_AT_AGAIN, changes.changed()).await;
        }
    }
}

/// How often a stream's token is looked at when no account changes.
const LOOKED_AT_AGAIN: Duration = Duration::from_secs(15);

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
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

    #[test]
    fn strangers_heads_pass_no_guard_without_a_token() {
        let closed = closed("a-token-that-nobody-has-guessed");
        let guards = [Guard { on_loopback: true, ..closed.clone() }, closed];
        let sample: &[u8] = b"POST /api/v1/training-tasks?x=y\nhost: localhost:7070\norigin: http://localhost:7070\n\
            authorization: Bearer x\ncookie: fermi-7070=abc; b=c\nx-fermi-environment: env-1\nx-fermi-credential: c\n\
            x-forwarded-for: 10.0.0.1, [::1]\nsec-fetch-site: cross-site";
        let upgrade: &[u8] = b"GET /api/agent/v1/link\nhost: [::1]:1\nupgrade: websocket\nauthorization: Basic eA==";
        let connection = Connection { peer: ([10, 0, 0, 1], 1).into(), is_encrypted: false, ticket: None };
        fermi_mutator::try_all(&[sample, upgrade], 4_000, |case| {
            let mut lines = case.split(|byte| *byte == b'\n');
            let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
            let (method, path) = first.split_once(' ').unwrap_or(("GET", &first));
            let (Ok(method), Ok(uri)) = (Method::from_bytes(method.as_bytes()), Uri::try_from(path)) else { return };
            let headers: HeaderMap = lines
                .filter_map(|line| {
                    let at = line.iter().position(|byte| *byte == b':')?;
                    let name = axum::http::HeaderName::from_bytes(&line[..at]).ok()?;
                    Some((name, HeaderValue::from_bytes(&line[at + 1..]).ok()?))
                })
                .collect();
            for guard in &guards {
                let _ = guard.asker(&connection, &headers);
                let judged = guard.judge(&method, &uri, &headers);
                assert!(!matches!(judged, Ok(Some(_))), "{first}");
            }
        });
    }

    fn closed(word: &str) -> Guard {
        let guard = Guard::default();
        guard.accounts.close(secret_word::digest(word.as_bytes()));
        guard
    }

    fn loopback(headers: &[(&'static str, &'static str)]) -> Option<String> {
        let allowed_hosts = vec!["fermi.example".to_owned()];
        let guard = Guard { on_loopback: true, allowed_hosts, ..Guard::default() };
        judge(&guard, Method::POST, "/api/v1/x", headers)
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
    fn what_a_stranger_says_of_others_is_refused_and_on_loopback_passed_over() {
        let proxies = TrustedProxies(vec!["10.0.0.1".parse().unwrap()]);
        let asker = |on_loopback: bool, peer: [u8; 4], forwarded: bool| {
            let guard = Guard { on_loopback, ..Guard::default() }.trusting(proxies.clone());
            let connection = Connection { peer: (peer, 1).into(), is_encrypted: false, ticket: None };
            let mut headers = HeaderMap::new();
            if forwarded {
                headers.insert("x-forwarded-for", HeaderValue::from_static("1.1.1.1"));
                headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
            }
            let asker = guard.asker(&connection, &headers).map_err(|problem| problem.id.into_owned());
            asker.map(|asker| (asker.address.to_string(), asker.is_encrypted))
        };
        let is = |address: &str, is_encrypted| Ok((address.to_owned(), is_encrypted));
        assert_eq!(asker(false, [10, 0, 0, 9], false), is("10.0.0.9", false));
        assert_eq!(asker(false, [10, 0, 0, 9], true), Err("proxy_not_trusted".to_owned()));
        assert_eq!(asker(false, [10, 0, 0, 1], true), is("1.1.1.1", true));
        assert_eq!(asker(true, [127, 0, 0, 1], true), is("127.0.0.1", false));
    }

    #[test]
    fn everybody_who_passes_is_somebody() {
        let who = |token: Option<&str>, path: &str, headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            let guard = token.map(closed).unwrap_or_default();
            let caller = guard.judge(&Method::GET, &Uri::try_from(path).unwrap(), &map).unwrap();
            caller.map(|caller| caller.principal.to_string())
        };
        let (bearer, agent) = (("authorization", "Bearer x"), ("x-fermi-environment", "env-001"));
        assert_eq!(who(None, "/api/v1/x", &[]).as_deref(), Some("user:administrator:local"));
        assert_eq!(who(Some("x"), "/api/v1/x", &[bearer]).as_deref(), Some("user:administrator:token"));
        assert_eq!(who(Some("x"), "/api/agent/v1/x", &[bearer, agent]).as_deref(), Some("agent:env-001"));
        assert_eq!(who(None, "/api/v1/x", &[agent]).as_deref(), Some("user:administrator:local"));
        assert_eq!(who(Some("x"), "/livez", &[]), None);
    }

    #[test]
    fn a_credential_opens_what_agents_ask_for_and_nothing_else() {
        let guard = closed("secret");
        let known = [("env-001", identity::digest("k")), ("env-002", String::new())];
        let known = known.map(|(id, digest)| (EnvironmentId::from(id), digest));
        guard.accounts.take_credentials(&known.into_iter().collect());
        let who = |path: &str, token: Option<&'static str>, credential: &'static str| {
            let mut map = HeaderMap::new();
            map.insert(CREDENTIAL_HEADER, HeaderValue::from_static(credential));
            map.insert(ENVIRONMENT_HEADER, HeaderValue::from_static("env-002"));
            map.extend(token.map(|token| (header::AUTHORIZATION, HeaderValue::from_static(token))));
            let caller = guard.judge(&Method::GET, &Uri::try_from(path).unwrap(), &map);
            caller.map(|caller| caller.unwrap().principal.to_string()).map_err(|problem| problem.id.into_owned())
        };
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(who("/api/agent/v1/link", None, "k"), is("agent:env-001"));
        assert_eq!(who("/api/agent/v1/link", Some("Bearer over"), "k"), is("agent:env-001"));
        for (path, credential) in [("/api/v1/x", "k"), ("/api/agent/v1/link", "other"), ("/api/agent/v1/link", "")] {
            assert_eq!(who(path, None, credential), Err("unauthorized".to_owned()), "{path} {credential}");
        }
    }

    #[test]
    fn a_session_changes_nothing_without_the_header_of_our_page() {
        let guard = closed("secret");
        let cookie = ("cookie", "fermi_session_0=secret");
        assert_eq!(judge(&guard, Method::GET, "/api/v1/x", &[cookie]), None);
        assert_eq!(judge(&guard, Method::POST, "/api/v1/x", &[cookie]).as_deref(), Some("front_end_missing"));
        assert_eq!(judge(&guard, Method::POST, "/api/v1/x", &[cookie, ("fermi-front-end", "console")]), None);
        assert_eq!(judge(&guard, Method::GET, "/api/agent/v1/link", &[cookie]).as_deref(), Some("unauthorized"));
        let wrong = ("cookie", "fermi_session_0=secreu");
        assert_eq!(judge(&guard, Method::GET, "/api/v1/x", &[wrong]).as_deref(), Some("unauthorized"));
    }

    #[test]
    fn a_token_is_needed_for_all_but_health_the_log_in_and_the_page() {
        let guard = closed("secret");
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
        assert_eq!(judge(&guard, Method::POST, SESSION, &[]), None);
        assert_eq!(judge(&guard, Method::DELETE, SESSION, &[]).as_deref(), Some("unauthorized"));
        for path in ["/", "/assets/index.js", "/training/task-1", "/livez"] {
            assert_eq!(judge(&guard, Method::GET, path, &[("host", "anything")]), None, "{path}");
        }
    }
}

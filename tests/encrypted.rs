//! A server that speaks https: agents, people and programs know it by its fingerprint or by an authority, and a
//! certificate that changes is noticed by no one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Ended, Place, Run, eventually};
use serde_json::Value;

/// A server over TLS with what it said at its start.
struct Encrypted {
    place: Place,
    server: Child,
    address: String,
    fingerprint: String,
}

impl Encrypted {
    fn start(options: &[&str]) -> Self {
        let place = Place::new();
        let (log, data) = (place.path().join("server.log"), place.path().join("server"));
        let out = fs::File::create(&log).unwrap();
        let mut command = place.fermi(["server", "--json", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(&data).args(options).stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
        let server = command.spawn().unwrap();
        let said = eventually("the server to listen", || {
            let text = fs::read_to_string(&log).ok()?;
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.into_iter().find(|line| line["event"] == "listening")
        });
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (address, fingerprint) = (word(&said["address"]), word(&said["tls"]["fingerprint"]));
        Self { place, server, address, fingerprint }
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("server")
    }

    /// A command of the account that runs the server, or of one that has never heard of it.
    fn typed(&self, who: &str, scheme: &str, arguments: &[&str]) -> Ended {
        let mut command = self.place.fermi(arguments);
        command.env("FERMI_SERVER", format!("{scheme}{}", self.address)).env("FERMI_LANG", "en");
        if who != "owner" {
            command.env("FERMI_STATE_DIR", self.place.path().join(who));
        }
        Run::whole(&mut command)
    }

    fn agent(&self, name: &str, fingerprint: &str) -> Child {
        let log = fs::File::create(self.place.path().join(format!("{name}.log"))).unwrap();
        let (server, data) = (format!("https://{}", self.address), self.place.path().join(name));
        let words = ["agent", "--json", "--server", &server, "--name", name, "--fingerprint", fingerprint];
        let mut command = self.place.fermi(words);
        command.arg("--token-file").arg(self.data().join("token")).arg("--data-dir").arg(data).env("FERMI_LANG", "en");
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    fn said_by(&self, name: &str, word: &str) -> String {
        let log = self.place.path().join(format!("{name}.log"));
        eventually(&format!("{name} to say {word}"), || {
            fs::read_to_string(&log).ok().filter(|text| text.contains(word))
        })
    }

    fn status_of(&self, task: &str) -> String {
        let shown = self.typed("owner", "https://", &["task", "show", task, "--json"]).expect(0).out();
        serde_json::from_str::<Value>(&shown).unwrap()["status"].as_str().unwrap().to_owned()
    }

    fn curl(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "20"]).args(arguments);
        let ended = Run::whole(&mut command);
        format!("{}{}", ended.out(), ended.err())
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

#[test]
fn a_server_with_its_own_authority_is_known_by_its_fingerprint() {
    let fleet = Encrypted::start(&["--tls"]);
    // The account that runs it needs no step more, whether it says https or nothing.
    fleet.typed("owner", "https://", &["env", "list"]).expect(0);
    fleet.typed("owner", "", &["env", "list"]).expect(0);
    let token = fleet.data().join("token").display().to_string();
    let ask = |scheme: &str, fingerprint: &[&str], code: i32| {
        let words: Vec<&str> =
            ["env", "list", "--token-file", &token].into_iter().chain(fingerprint.iter().copied()).collect();
        fleet.typed("ann", scheme, &words).expect(code).err()
    };
    ask("https://", &["--fingerprint", &fleet.fingerprint], 0);
    let said = ask("https://", &["--fingerprint", OTHER], 4);
    assert!(said.contains("this is not the server that is meant") && said.contains(&fleet.fingerprint), "{said}");
    let said = ask("https://", &[], 4);
    assert!(said.contains("no authority that this machine knows") && said.contains("--fingerprint"), "{said}");
    let said = ask("http://", &[], 2);
    assert!(said.contains("this server speaks https only") && said.contains("write https://"), "{said}");

    // The server itself says it to those who may look, for the command on the page; a proxy in between shows another one.
    let token_word = std::fs::read_to_string(&token).unwrap();
    let pem = fleet.data().join("authority.pem").display().to_string();
    let bearer = format!("Authorization: Bearer {}", token_word.trim());
    let status = |headers: &[&str]| -> Value {
        let url = format!("https://{}/api/v1/server/status", fleet.address);
        let flags = headers.iter().flat_map(|header| ["-H", header]);
        let words: Vec<&str> = ["--cacert", &pem, &url].into_iter().chain(flags).collect();
        serde_json::from_str(&fleet.curl(&words)).unwrap()
    };
    assert_eq!(status(&[&bearer])["data"]["fingerprint"], fleet.fingerprint.as_str());
    assert_eq!(status(&[&bearer, "X-Forwarded-For: 10.0.0.9"])["data"]["fingerprint"], Value::Null);
    assert_eq!(status(&[])["code"], 401);
    let told = fleet.typed("owner", "https://", &["server", "status"]).expect(0).out();
    assert!(told.contains(&fleet.fingerprint), "{told}");

    // A log-in keeps the fingerprint, and its token goes nowhere without TLS.
    fleet.typed("bob", "https://", &["login", "--token-file", &token, "--fingerprint", &fleet.fingerprint]).expect(0);
    fleet.typed("bob", "https://", &["env", "list"]).expect(0);
    fleet.typed("bob", "", &["env", "list"]).expect(0);
    fleet.typed("bob", "http://", &["env", "list"]).expect(2);

    let (url, authority) = (format!("https://{}/livez", fleet.address), fleet.data().join("authority.pem"));
    let authority = authority.display().to_string();
    for (protocol, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let said = fleet.curl(&[protocol, "--cacert", &authority, "-w", "\n%{http_code} %{http_version}", &url]);
        assert!(said.ends_with(&format!("200 {version}")), "{said}");
    }
    assert!(fleet.curl(&[&url]).contains("certificate"), "curl knows no such authority");
}

#[test]
fn an_agent_works_over_tls_and_notices_no_new_certificate() {
    let fleet = Encrypted::start(&["--tls"]);
    let stranger = fleet.agent("gn7", OTHER);
    assert!(fleet.said_by("gn7", "refused").contains("fingerprint is"));
    end(stranger);
    let agent = fleet.agent("gn6", &fleet.fingerprint);
    fleet.said_by("gn6", "connected");
    let go = fleet.place.path().join("go");
    let script = format!("echo began; while ! test -e '{}'; do sleep 0.05; done; echo over", go.display());
    let words = ["task", "create", "--name", "t", "--env", "gn6", "--framework", "command", "--", "sh", "-c", &script];
    let task = fleet.typed("owner", "https://", &words).expect(0).out().trim().to_owned();
    eventually("the task to run", || (fleet.status_of(&task) == "running").then_some(()));

    let served = fleet.data().join("server.pem");
    let first = fs::read_to_string(&served).unwrap();
    fs::remove_file(&served).unwrap();
    let second = eventually("another certificate", || fs::read_to_string(&served).ok());
    assert_ne!(first, second);
    fleet.typed("owner", "https://", &["env", "list"]).expect(0);
    fs::write(&go, "").unwrap();
    eventually("the task to succeed", || (fleet.status_of(&task) == "succeeded").then_some(()));
    let said = fleet.said_by("gn6", "connected");
    assert_eq!((said.matches("\"connected\"").count(), said.matches("\"lost\"").count()), (1, 0), "{said}");
    let log = fleet.typed("owner", "https://", &["task", "logs", &task]).expect(0).out();
    assert!(log.contains("began") && log.contains("over"), "{log}");
    end(agent);
}

/// Makes a certificate of an authority of its own; answers with the authority's file.
fn certificate(folder: &Path, days: &str) -> PathBuf {
    let openssl = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj"];
    let req = |rest: &[&str]| openssl(&new.iter().chain(rest).copied().collect::<Vec<_>>());
    if !folder.join("ca.pem").exists() {
        req(&["/CN=a company", "-x509", "-days", "30", "-keyout", "ca.key", "-out", "ca.pem"]);
    }
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").unwrap();
    req(&["/CN=fermi", "-keyout", "next.key", "-out", "own.csr"]);
    openssl(&[
        "x509",
        "-req",
        "-in",
        "own.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        days,
        "-extfile",
        "names",
        "-out",
        "next.pem",
    ]);
    fs::rename(folder.join("next.key"), folder.join("own.key")).unwrap();
    fs::rename(folder.join("next.pem"), folder.join("own.pem")).unwrap();
    folder.join("ca.pem")
}

#[test]
fn a_certificate_of_ones_own_is_read_again_when_its_files_change() {
    let files = Place::new();
    let authority = certificate(files.path(), "30").display().to_string();
    let path = |name: &str| files.path().join(name).display().to_string();
    let fleet = Encrypted::start(&["--tls-cert", &path("own.pem"), "--tls-key", &path("own.key")]);
    assert_eq!(fleet.fingerprint, "", "others vouch for it");
    let url = format!("https://{}/livez", fleet.address);
    let serial = || fleet.curl(&["--cacert", &authority, "-o", "/dev/null", "-w", "%{certs}", &url]);
    let first = serial();
    assert!(first.contains("Serial Number"), "{first}");
    certificate(files.path(), "30");
    eventually("the other certificate to be shown", || (serial() != first).then_some(()));

    // The system's authorities are believed without a fingerprint; one that is over is not.
    let list = || {
        let mut command = fleet.place.fermi(["env", "list"]);
        command.env("FERMI_SERVER", format!("https://{}", fleet.address)).env("FERMI_LANG", "en");
        Run::whole(command.env("SSL_CERT_FILE", &authority))
    };
    list().expect(0);
    certificate(files.path(), "-1");
    let said = eventually("the certificate to be over", || {
        let said = list().err();
        said.contains("error:").then_some(said)
    });
    assert!(said.contains("has expired") && said.contains("no restart is needed"), "{said}");
}

#[test]
fn a_certificate_that_vouches_for_itself_is_known_by_its_own_fingerprint() {
    let files = Place::new();
    let openssl = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(files.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=fermi"];
    openssl(&[&new[..], &["-keyout", "own.key", "-out", "own.pem"]].concat());
    let shown = openssl(&["x509", "-in", "own.pem", "-noout", "-fingerprint", "-sha256"]);
    let path = |name: &str| files.path().join(name).display().to_string();
    let fleet = Encrypted::start(&["--tls-cert", &path("own.pem"), "--tls-key", &path("own.key")]);
    let said = fleet.typed("owner", "https://", &["env", "list"]).expect(4).err();
    assert!(said.contains("no authority that this machine knows"), "{said}");
    let fingerprint = shown.trim().split('=').nth(1).unwrap();
    fleet.typed("owner", "https://", &["env", "list", "--fingerprint", fingerprint]).expect(0);
}

#[test]
fn who_speaks_no_tls_and_who_says_nothing_holds_nobody_up() {
    use std::io::{Read, Write};
    let fleet = Encrypted::start(&["--tls"]);
    let silent: Vec<std::net::TcpStream> =
        (0..200).filter_map(|_| std::net::TcpStream::connect(&fleet.address).ok()).collect();
    assert_eq!(silent.len(), 200);
    let mut plain = std::net::TcpStream::connect(&fleet.address).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Language: en\r\n\r\n").unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 426") && answer.contains("this server speaks https only"), "{answer}");
    fleet.typed("owner", "https://", &["env", "list"]).expect(0);
    drop(silent);
}

#[test]
fn https_to_a_server_that_speaks_none_says_so() {
    let fleet = crate::support::Fleet::server();
    let mut command = fleet.place.fermi(["env", "list"]);
    command.env("FERMI_SERVER", format!("https://{}", fleet.address())).env("FERMI_LANG", "en");
    let said = Run::whole(&mut command).expect(2).err();
    assert!(said.contains("speaks no TLS") && said.contains("write http://"), "{said}");
}

/// What `fermi env join` prints for a new machine.
struct Joining {
    command: String,
    token: String,
}

fn join(fleet: &Encrypted, options: &[&str]) -> Joining {
    let words: Vec<&str> = ["env", "join", "--json"].iter().chain(options).copied().collect();
    let made = fleet.typed("owner", "https://", &words).expect(0).out();
    let made: Value = serde_json::from_str(&made).unwrap();
    let word = |key: &str| made[key].as_str().unwrap().to_owned();
    Joining { command: word("command"), token: word("token") }
}

/// An agent on a machine of its own that was given this token and nothing else; `life` tells its log from those of others.
fn machine(fleet: &Encrypted, name: &str, token: &str, life: &str) -> Child {
    let log = fs::File::create(fleet.place.path().join(format!("{life}.log"))).unwrap();
    let (server, data) = (format!("https://{}", fleet.address), fleet.place.path().join(format!("data-{name}")));
    let words = ["agent", "--json", "--server", &server, "--name", name, "--zone", "own", "--label", "disk=fast"];
    let mut command = fleet.place.fermi(words);
    command.args(["--fingerprint", &fleet.fingerprint, "--data-dir"]).arg(data);
    command.env("FERMI_STATE_DIR", fleet.place.path().join(format!("state-{name}"))).env("FERMI_TOKEN", token);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

#[test]
fn a_machine_joins_once_with_a_token_and_stays_by_its_credential() {
    let fleet = Encrypted::start(&["--tls"]);
    let joining = join(&fleet, &["--zone", "a", "--label", "team=nlp"]);
    let expected = format!("FERMI_TOKEN={} fermi agent --server https://{}", joining.token, fleet.address);
    assert_eq!(joining.command, format!("{expected} --fingerprint {}", fleet.fingerprint));
    let first = machine(&fleet, "gn6", &joining.token, "first");
    fleet.said_by("first", "\"connected\"");
    let second = machine(&fleet, "gn7", &joining.token, "second");
    assert!(fleet.said_by("second", "\"refused\"").contains("as many machines as it may"));
    end(second);
    let environment = || {
        let shown = fleet.typed("owner", "https://", &["env", "show", "gn6", "--json"]).expect(0).out();
        serde_json::from_str::<Value>(&shown).unwrap()
    };
    let said = environment();
    assert_eq!(
        (&said["zone"], &said["labels"]["team"], &said["labels"]["disk"]),
        (&"a".into(), &"nlp".into(), &"fast".into())
    );

    // Its token is gone, and it comes again: with what the token has said of it.
    let tokens = fleet.typed("owner", "https://", &["token", "list", "--json"]).expect(0).out();
    let tokens: Value = serde_json::from_str(&tokens).unwrap();
    let token = tokens["items"].as_array().unwrap().iter().find(|token| token["scope"] == "agent").unwrap();
    assert_eq!(token["usesLeft"], 0);
    fleet.typed("owner", "https://", &["token", "revoke", token["id"].as_str().unwrap()]).expect(0);
    end(first);
    let again = machine(&fleet, "gn6", "", "again");
    fleet.said_by("again", "\"connected\"");
    assert_eq!(environment()["zone"], "a");

    // Another credential is given while a task runs, and nothing of it is lost.
    let go = fleet.place.path().join("go");
    let script = format!("while ! test -e '{}'; do sleep 0.05; done; echo over", go.display());
    let words = ["task", "create", "--name", "t", "--env", "gn6", "--framework", "command", "--", "sh", "-c", &script];
    let task = fleet.typed("owner", "https://", &words).expect(0).out().trim().to_owned();
    eventually("the task to run", || (fleet.status_of(&task) == "running").then_some(()));
    let pass = || {
        let folders = fs::read_dir(fleet.place.path().join("data-gn6")).unwrap().flatten();
        let kept = folders.into_iter().find_map(|folder| fs::read(folder.path().join("pass.json")).ok()).unwrap();
        serde_json::from_slice::<Value>(&kept).unwrap()["credential"].clone()
    };
    let before = pass();
    fleet.typed("owner", "https://", &["env", "rotate", "gn6"]).expect(0);
    eventually("another credential", || (pass() != before).then_some(()));
    fs::write(&go, "").unwrap();
    eventually("the task to succeed", || (fleet.status_of(&task) == "succeeded").then_some(()));
    assert!(fleet.typed("owner", "https://", &["task", "logs", &task]).expect(0).out().contains("over"));

    // Once it is revoked, neither its credential nor a token of before lets it in; one of later does.
    let old = join(&fleet, &["--uses", "9"]).token;
    fleet.typed("owner", "https://", &["env", "revoke", "gn6"]).expect(0);
    fleet.said_by("again", "\"refused\"");
    end(again);
    let revoked = machine(&fleet, "gn6", &old, "revoked");
    assert!(fleet.said_by("revoked", "\"refused\"").contains("was revoked"));
    end(revoked);
    let new = machine(&fleet, "gn6", &join(&fleet, &[]).token, "new");
    fleet.said_by("new", "\"connected\"");
    end(new);
    let audit = fleet.typed("owner", "https://", &["audit", "--json"]).expect(0).out();
    for kind in ["token.created", "token.revoked", "environment.rotated", "environment.revoked"] {
        assert!(audit.contains(kind), "{kind}: {audit}");
    }
}

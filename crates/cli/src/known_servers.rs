//! What this account knows of servers: the token files of those that it runs, and where it has logged in.
//!
//! Each is a small file of the state folder that only its owner reads, named after the server's address, so that commands
//! find the right token without being told.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fermi_api::client::ServerAddress;
use fermi_domain::access::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::connection::state_folder;

const RUNNING: &str = "servers";
const LOGINS: &str = "logins";

/// A server that this account runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Running {
    token_file: PathBuf,
    #[serde(flatten)]
    encryption: Encryption,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Encryption {
    /// Over TLS alone: what is noted of it is for no other connection.
    pub is_tls: bool,
    /// By what it is known, where it has an authority of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

/// Where this account has logged in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    pub user: String,
    pub token: String,
    /// The log-in has made it, so that another log-in in its place ends it; one that a person brought is that person's.
    #[serde(default)]
    pub is_made_here: bool,
    #[serde(flatten)]
    pub encryption: Encryption,
}

/// The note of a server that runs; it is taken away when the server ends.
#[derive(Debug)]
pub struct RunningNote(PathBuf);

impl RunningNote {
    /// Notes a server, for the commands of this account.
    pub fn write(address: SocketAddr, token_file: &Path, encryption: Encryption) -> io::Result<Self> {
        let path = file(RUNNING, &address.ip().to_string(), address.port())?;
        let token_file = std::path::absolute(token_file)?;
        write_private(&path, &Running { token_file, encryption })?;
        Ok(Self(path))
    }

    pub fn remove(self) {
        // One that stays is overwritten by the next server at this address.
        let _ = fs::remove_file(self.0);
    }
}

/// The token file of a server at this address that this account runs.
pub fn running_token_file(server: &ServerAddress) -> Option<PathBuf> {
    running(server).map(|(_, running)| running.token_file)
}

/// Where a server of this account at this address listens, as it was noted.
pub fn listens_at(server: &ServerAddress) -> Option<IpAddr> {
    running(server)?.0.parse().ok()
}

/// By what the server at this address is known.
pub fn fingerprint(server: &ServerAddress) -> Option<Fingerprint> {
    let of_login = login(server).and_then(|login| login.encryption.fingerprint);
    of_login.or_else(|| running(server)?.1.encryption.fingerprint)
}

/// With the host under which it was noted.
fn running(server: &ServerAddress) -> Option<(&str, Running)> {
    let mut hosts = names(server).into_iter();
    let found = hosts.find_map(|host| Some((host, read::<Running>(&file(RUNNING, host, server.port()).ok()?)?)));
    found.filter(|(_, running)| running.encryption.is_tls == server.is_tls())
}

/// Names under which a server may be noted: one that listens everywhere also listens on loopback.
fn names(server: &ServerAddress) -> Vec<&str> {
    if server.is_loopback() { vec![server.host(), "127.0.0.1", "::1", "0.0.0.0", "::"] } else { vec![server.host()] }
}

/// Whether a token would be found for this server.
pub fn knows(server: &ServerAddress) -> bool {
    login(server).is_some() || running_token_file(server).is_some()
}

pub fn login(server: &ServerAddress) -> Option<Login> {
    let login: Login = read(&login_file(server).ok()?)?;
    // A token that was given over TLS is not shown to whoever listens on the way.
    (login.encryption.is_tls == server.is_tls()).then_some(login)
}

pub fn keep_login(server: &ServerAddress, login: &Login) -> io::Result<()> {
    write_private(&login_file(server)?, login)
}

/// Says whether there was one.
pub fn forget_login(server: &ServerAddress) -> io::Result<bool> {
    match fs::remove_file(login_file(server)?) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn login_file(server: &ServerAddress) -> io::Result<PathBuf> {
    let host = if server.is_loopback() { "127.0.0.1" } else { server.host() };
    file(LOGINS, host, server.port())
}

fn file(folder: &str, host: &str, port: u16) -> io::Result<PathBuf> {
    let state = state_folder().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Ok(state.join(folder).join(format!("{}_{port}.json", host.replace(':', "-"))))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write_private(path: &Path, value: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    let bytes = serde_json::to_vec(value).map_err(io::Error::other)?;
    let written = file.write_all(&bytes).and_then(|()| fs::rename(&aside, path));
    // It may hold a token.
    written.inspect_err(|_| drop(fs::remove_file(&aside)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_its_owner_reads_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins").join("x_1.json");
        let fingerprint = "0a".repeat(32).parse().ok();
        let encryption = Encryption { is_tls: true, fingerprint };
        write_private(
            &path,
            &Login { user: "ann".to_owned(), token: "word".to_owned(), is_made_here: true, encryption },
        )
        .unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let kept = read::<Login>(&path).unwrap();
        assert_eq!((kept.token.as_str(), kept.encryption), ("word", encryption));
        fs::write(&path, r#"{"user":"ann","token":"of an earlier release"}"#).unwrap();
        let of_before = read::<Login>(&path).unwrap();
        assert_eq!((of_before.encryption, of_before.is_made_here), (Encryption::default(), false));
    }

    #[test]
    fn a_note_that_cannot_be_written_leaves_no_token_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x_1.json");
        fs::create_dir(&path).unwrap();
        write_private(&path, &"a token").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_server_that_listens_everywhere_is_found_on_loopback() {
        let names_of = |text: &str| names(&text.parse().unwrap()).join(" ");
        assert_eq!(names_of("http://127.0.0.1:7070"), "127.0.0.1 127.0.0.1 ::1 0.0.0.0 ::");
        assert_eq!(names_of("http://gn6:7070"), "gn6");
    }
}

//! What this account knows of servers: the token files of those that it runs, and where it has logged in.
//!
//! Each is a small file of the state folder that only its owner reads, named after the server's address, so that commands
//! find the right token without being told.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fermi_api::client::ServerAddress;
use serde::{Deserialize, Serialize};

use crate::connection::state_folder;

const RUNNING: &str = "servers";
const LOGINS: &str = "logins";

/// A server that this account runs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Running {
    token_file: PathBuf,
}

/// Where this account has logged in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    pub user: String,
    pub token: String,
}

/// The note of a server that runs; it is taken away when the server ends.
#[derive(Debug)]
pub struct RunningNote(PathBuf);

impl RunningNote {
    /// Notes a server, for the commands of this account.
    pub fn write(address: SocketAddr, token_file: &Path) -> io::Result<Self> {
        let path = file(RUNNING, &address.ip().to_string(), address.port())?;
        let token_file = std::path::absolute(token_file)?;
        write_private(&path, &Running { token_file })?;
        Ok(Self(path))
    }

    pub fn remove(self) {
        // One that stays is overwritten by the next server at this address.
        let _ = fs::remove_file(self.0);
    }
}

/// The token file of a server at this address that this account runs.
pub fn running_token_file(server: &ServerAddress) -> Option<PathBuf> {
    let hosts = names(server).into_iter();
    let mut found = hosts.filter_map(|host| read::<Running>(&file(RUNNING, host, server.port()).ok()?));
    found.next().map(|running| running.token_file)
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
    read(&login_file(server).ok()?)
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
    file.write_all(&serde_json::to_vec(value).map_err(io::Error::other)?)?;
    fs::rename(&aside, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_its_owner_reads_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins").join("x_1.json");
        write_private(&path, &Login { user: "ann".to_owned(), token: "word".to_owned() }).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(read::<Login>(&path).unwrap().token, "word");
    }

    #[test]
    fn a_server_that_listens_everywhere_is_found_on_loopback() {
        let names_of = |text: &str| names(&text.parse().unwrap()).join(" ");
        assert_eq!(names_of("http://127.0.0.1:7070"), "127.0.0.1 127.0.0.1 ::1 0.0.0.0 ::");
        assert_eq!(names_of("http://gn6:7070"), "gn6");
    }
}

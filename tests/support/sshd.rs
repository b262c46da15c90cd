//! An ssh server of a test's own on the loopback, with several addresses that play hosts.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Place, eventually, is_left_out};

/// The hosts that have this very fermi on their PATH.
pub const HOSTS: [&str; 2] = ["127.0.0.2", "127.0.0.3"];
/// A host without fermi, and one with another version of it.
pub const BARE: &str = "127.0.0.4";
pub const OLD: &str = "127.0.0.5";

/// It serves until it is dropped.
pub struct Sshd {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Sshd {
    /// None where the user has left ssh out on purpose; without a server the test fails.
    pub fn start(place: &Place) -> Option<Self> {
        if is_left_out("ssh") {
            return None;
        }
        let program =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let program = program.expect(
            "these tests need an ssh server: apt-get install -y openssh-server openssh-client, or leave them out with FERMI_LEAVE_OUT=ssh",
        );
        let folder = place.path().join("sshd");
        fs::create_dir_all(&folder).unwrap();
        for name in ["host", "key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(name))
                .stdin(Stdio::null())
                .status();
            assert!(made.expect("these tests need ssh-keygen: apt-get install -y openssh-client").success());
        }
        fs::copy(folder.join("key.pub"), folder.join("authorized_keys")).unwrap();
        make_hosts(place);
        // A root's sshd wants this folder, which a service would have made.
        if nix::unistd::geteuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = free_port();
        fs::write(folder.join("conf"), configuration(place, &folder, port)).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let child = Command::new(program)
            .arg("-f")
            .arg(folder.join("conf"))
            .args(["-D", "-e"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let sshd = Self { child, folder, port };
        eventually(&format!("sshd listens; its log: {:?}", sshd.folder.join("log")), || {
            TcpStream::connect((HOSTS[0], port)).ok()
        });
        Some(sshd)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The options by which a launch reaches it.
    pub fn options(&self) -> Vec<String> {
        self.options_through(self.port)
    }

    /// The same through somebody who listens on another port.
    pub fn options_through(&self, port: u16) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let mut options = vec![format!("--ssh-port={port}"), "--ssh-option=-F/dev/null".to_owned()];
        for option in [
            format!("IdentityFile={}", path("key")),
            "IdentitiesOnly=yes".to_owned(),
            "StrictHostKeyChecking=no".to_owned(),
            format!("UserKnownHostsFile={}", path("known_hosts")),
            "LogLevel=ERROR".to_owned(),
        ] {
            options.push(format!("--ssh-option={option}"));
        }
        options
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The home of a host without fermi of its own.
pub fn bare_home(place: &Place) -> PathBuf {
    place.path().join("bare")
}

fn make_hosts(place: &Place) {
    let bin = place.path().join("bin");
    let old = place.path().join("old");
    for folder in [&bin, &old, &bare_home(place)] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_fermi"), bin.join("fermi")).unwrap();
    fs::write(old.join("fermi"), "#!/bin/sh\necho fermi 0.0.1\n").unwrap();
    fs::set_permissions(old.join("fermi"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn configuration(place: &Place, folder: &Path, port: u16) -> String {
    let at = |name: &str| place.path().join(name).display().to_string();
    let usual = "/usr/local/bin:/usr/bin:/bin";
    let mut text = format!(
        "Port {port}\nHostKey {host}\nAuthorizedKeysFile {keys}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 200\n",
        host = folder.join("host").display(),
        keys = folder.join("authorized_keys").display(),
    );
    for address in [HOSTS[0], HOSTS[1], BARE, OLD] {
        text.push_str(&format!("ListenAddress {address}\n"));
    }
    for (address, home, path) in [
        (HOSTS[0], at("home"), format!("{}:{usual}", at("bin"))),
        (HOSTS[1], at("home"), format!("{}:{usual}", at("bin"))),
        (BARE, at("bare"), usual.to_owned()),
        (OLD, at("bare"), format!("{}:{usual}", at("old"))),
    ] {
        text.push_str(&format!("Match LocalAddress {address}\nSetEnv HOME={home} PATH={path}\n"));
    }
    text
}

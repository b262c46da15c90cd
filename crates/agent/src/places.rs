//! What only this node knows: its folders, its Python, its network.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fermi_domain::contract;
use fermi_domain::launch::Place;

use crate::prepare::Refusal;

/// The answers for the places of one launch. Rank 0's port is not among them: the supervisor takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub launch: PathBuf,
    pub outputs: PathBuf,
    pub checkpoints: PathBuf,
    pub source: PathBuf,
    pub fermi: PathBuf,
    pub python: PathBuf,
    /// The PATH of the ranks where it is not the agent's own.
    pub search_path: Option<String>,
    pub master_address: String,
    pub interface: String,
}

impl Places {
    /// What a place is here.
    pub fn of(&self, place: Place) -> String {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match place {
            Place::LaunchFolder => text(&self.launch),
            Place::OutputFolder => text(&self.outputs),
            Place::CheckpointFolder => text(&self.checkpoints),
            Place::SourceFolder => text(&self.source),
            Place::Fermi => text(&self.fermi),
            Place::Python => text(&self.python),
            Place::MasterAddress => self.master_address.clone(),
            Place::Interface => self.interface.clone(),
            Place::MasterPort => String::new(),
        }
    }
}

/// The Python that a task names, a file or a folder with `bin/python`; else the environment's own.
pub fn python(named: Option<&str>, base: &Path) -> Result<PathBuf, Refusal> {
    let Some(named) = named.filter(|name| !name.is_empty()) else { return usual_python() };
    let path = base.join(named);
    let in_folder = ["bin/python", "bin/python3"].map(|name| path.join(name));
    if path.is_dir() {
        return in_folder.into_iter().find(|file| is_executable(file)).ok_or_else(|| Refusal::python(named));
    }
    let found = if named.contains('/') { Some(path).filter(|file| is_executable(file)) } else { on_path(named) };
    found.ok_or_else(|| Refusal::python(named))
}

/// As `fermi run` looks for it: PYTHON_EXEC, the active virtual environment, then the PATH.
fn usual_python() -> Result<PathBuf, Refusal> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable(contract::PYTHON_EXEC) {
        let found = if named.components().count() > 1 {
            Some(named.clone()).filter(|file| is_executable(file))
        } else {
            on_path(&named)
        };
        return found.ok_or_else(|| Refusal::python(&named.to_string_lossy()));
    }
    let in_environment = variable(contract::VIRTUAL_ENV).map(|folder| folder.join("bin/python"));
    in_environment
        .filter(|file| is_executable(file))
        .or_else(|| on_path("python"))
        .or_else(|| on_path("python3"))
        .ok_or_else(|| Refusal::python("python, python3"))
}

fn on_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name.as_ref())).find(|file| is_executable(file))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The network interface by which packets to an address leave; loopback for an address of this machine alone.
pub fn interface_to(address: &str) -> Option<String> {
    let target = (address, 9).to_socket_addrs().ok()?.next()?;
    // Connecting a datagram socket sends nothing; it asks the kernel for the way.
    let socket = UdpSocket::bind(if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).ok()?;
    socket.connect(target).ok()?;
    let own = socket.local_addr().ok()?.ip();
    nix::ifaddrs::getifaddrs()
        .ok()?
        .find(|interface| interface_address(interface) == Some(own))
        .map(|i| i.interface_name)
}

fn interface_address(interface: &nix::ifaddrs::InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_oneself_is_loopback() {
        assert_eq!(interface_to("127.0.0.1").as_deref(), Some("lo"));
        assert_eq!(interface_to("no such host!"), None);
    }

    #[test]
    fn a_python_is_a_file_or_a_folder_that_has_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("venv 甲/bin")).unwrap();
        let file = folder.path().join("venv 甲/bin/python");
        fs::write(&file, "").unwrap();
        assert!(python(Some("venv 甲"), folder.path()).is_err(), "it cannot be executed yet");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(python(Some("venv 甲"), folder.path()).unwrap(), file);
        assert_eq!(python(file.to_str(), Path::new("/")).unwrap(), file);
        let refusal = python(Some("/no/such"), Path::new("/")).unwrap_err();
        assert!(refusal.reason.en.contains("/no/such") && !refusal.hint.zh.is_empty());
    }
}

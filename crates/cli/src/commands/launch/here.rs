//! What a launch needs to know of this machine: looked up once, then passed as a value.

use std::io;
use std::net::{IpAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use fermi_domain::language::Language;
use fermi_domain::language::reason;
use fermi_domain::messages::launch::LaunchProblem;

use super::flags::LaunchFlags;
use super::hosts;
use super::plan::Here;
use crate::commands::run::devices;
use crate::speech;

const HOSTFILE: &str = "hostfile";
const ENVIRONMENT_FILE: &str = ".deepspeed_env";

pub fn look(flags: &LaunchFlags) -> Result<Here, LaunchProblem> {
    let folder =
        std::env::current_dir().map_err(|error| LaunchProblem::NoWorkingFolder { error: reason::of_io(&error) })?;
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    Ok(Here {
        folder,
        variables: variables.collect(),
        environment_files: environment_files()?,
        hostfile: hostfile(flags)?,
        secret: secret(),
        language: match speech::language() {
            Language::ZhCn => "zh-CN",
            Language::En => "en",
        },
        are_same,
        is_here,
    })
}

/// The named one must be there; the one in this folder may be.
fn hostfile(flags: &LaunchFlags) -> Result<Option<(String, String)>, LaunchProblem> {
    if flags.hosts.is_some() {
        return Ok(None);
    }
    let path = flags.hostfile.clone().unwrap_or_else(|| PathBuf::from(HOSTFILE));
    let shown = path.display().to_string();
    match fermi_named_file::read_text(&path) {
        Ok(text) => Ok(Some((shown, text))),
        Err(error) if flags.hostfile.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LaunchProblem::HostListUnreadable { path: shown, error: reason::of_io(&error) }),
    }
}

/// `$DS_ENV_FILE`, else `.deepspeed_env` of the home folder and of this one, as deepspeed reads them.
fn environment_files() -> Result<Vec<(String, String)>, LaunchProblem> {
    let named = std::env::var_os("DS_ENV_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        home.into_iter().chain([PathBuf::new()]).map(|folder| folder.join(ENVIRONMENT_FILE)).collect()
    };
    let paths: Vec<PathBuf> = named.map_or_else(usual, |path| vec![path]);
    paths.iter().filter_map(|path| read_if_there(path).transpose()).collect()
}

fn read_if_there(path: &Path) -> Result<Option<(String, String)>, LaunchProblem> {
    let shown = path.display().to_string();
    match fermi_named_file::read_text(path) {
        Ok(text) => Ok(Some((shown, text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LaunchProblem::HostListUnreadable { path: shown, error: reason::of_io(&error) }),
    }
}

fn addresses(host: &str) -> Vec<IpAddr> {
    (host, 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
}

fn are_same(one: &str, other: &str) -> bool {
    let others = addresses(other);
    addresses(one).iter().any(|address| others.contains(address))
}

/// Only an address of this machine can be bound. The loopback's other addresses are somebody's idea of other hosts.
fn is_here(name: &str) -> bool {
    if name.contains('@') {
        return false;
    }
    let host = hosts::address_of(name);
    let is_own = |address: &IpAddr| !address.is_loopback() && TcpListener::bind((*address, 0)).is_ok();
    devices::is_this_machine(host) || addresses(host).iter().any(is_own)
}

/// Sixteen random bytes in hexadecimal.
fn secret() -> String {
    let mut random = [0u8; 16];
    // Were there no randomness, the hosts would share a guessable word, as without one.
    let _ = getrandom::fill(&mut random);
    HEXLOWER.encode(&random)
}

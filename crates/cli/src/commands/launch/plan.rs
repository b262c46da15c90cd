//! Decides who starts what, from the flags and from what is here, before any host is asked.

use std::ffi::OsString;
use std::path::PathBuf;

use fermi_domain::contract;
use fermi_domain::messages::launch::LaunchProblem;

use super::environment::{self, Variable};
use super::filter;
use super::flags::LaunchFlags;
use super::hosts::{self, Host};
use crate::commands::run::spellings::Given;

/// What the plan needs to know of this machine.
#[derive(Debug)]
pub struct Here {
    pub folder: PathBuf,
    pub variables: Vec<Variable>,
    /// Path and content of the environment files that were found.
    pub environment_files: Vec<(String, String)>,
    /// Path and content of the list of hosts, if there is one.
    pub hostfile: Option<(String, String)>,
    /// Told apart from other launches by this; nobody else knows it.
    pub secret: String,
    pub language: &'static str,
    /// Whether two names are the same machine's.
    pub are_same: fn(&str, &str) -> bool,
    /// Whether a name is this machine's, so that ssh is not needed.
    pub is_here: fn(&str) -> bool,
}

/// One host's part.
#[derive(Clone, Debug)]
pub struct Node {
    pub host: Host,
    /// How it is called on the terminal.
    pub label: String,
    /// A number, or `auto` where only the host knows.
    pub ranks: String,
    pub is_here: bool,
    /// What `fermi` is told there.
    pub words: Vec<OsString>,
}

/// The whole launch.
#[derive(Debug)]
pub struct Plan {
    /// The first one coordinates.
    pub nodes: Vec<Node>,
    pub folder: PathBuf,
    pub variables: Vec<Variable>,
    pub master: String,
}

/// Options of `fermi run` that follow from the hosts.
const OURS: [&str; 11] = [
    "--nnodes",
    "--num-nodes",
    "--node-rank",
    "--nproc-per-node",
    "--num-gpus",
    "--np",
    "-n",
    "--world-size",
    "--rank",
    "--mode",
    "--rdzv-endpoint",
];
const NOT_HERE: [&str; 3] = ["--use-torchrun", "--stop-on-stdin-eof", "--standalone"];

pub fn plan(flags: &LaunchFlags, here: &Here) -> Result<Plan, LaunchProblem> {
    if flags.script.is_empty() {
        return Err(LaunchProblem::NoScript);
    }
    refuse_ours(&flags.run_option)?;
    let chosen = choose(flags, here)?;
    let master = flags.master_addr.clone().unwrap_or_else(|| chosen[0].address().to_owned());
    refuse_loopback(flags, &chosen, &master)?;
    let (options, secret) = without_secret(&flags.run_option);
    let mut variables = environment::pass_on(&here.variables, &here.environment_files, &flags.variables)?;
    set_if_missing(&mut variables, contract::FERMI_RDZV_SECRET, secret.unwrap_or_else(|| here.secret.clone().into()));
    set_if_missing(&mut variables, contract::FERMI_LANG, here.language.into());
    let several = chosen.len();
    let ranks = count("GPUS", &flags.gpus)?;
    let nodes = chosen
        .into_iter()
        .enumerate()
        .map(|(index, host)| {
            let ranks = ranks_of(&host, ranks);
            let words = words(flags, &host, &ranks, &options, index, several, &master);
            Node { label: host.address().to_owned(), is_here: (here.is_here)(&host.name), host, ranks, words }
        })
        .collect();
    let folder = flags.chdir.as_ref().map_or_else(|| here.folder.clone(), |folder| here.folder.join(folder));
    Ok(Plan { nodes, folder, variables, master: format!("{master}:{}", flags.master_port) })
}

fn refuse_ours(options: &[OsString]) -> Result<(), LaunchProblem> {
    let names = options.iter().filter_map(|word| word.to_str()).filter(|word| word.starts_with('-')).map(Given::read);
    match names.map(|given| given.name).find(|name| OURS.contains(&name.as_str()) || NOT_HERE.contains(&name.as_str()))
    {
        Some(option) => Err(LaunchProblem::SetByLaunch { option }),
        None => Ok(()),
    }
}

/// A secret on the command line would be seen by everybody who lists processes on the hosts.
fn without_secret(options: &[OsString]) -> (Vec<OsString>, Option<OsString>) {
    let secret = |word: &OsString| word.to_str()?.strip_prefix("--rdzv-secret=").map(OsString::from);
    (options.iter().filter(|word| secret(word).is_none()).cloned().collect(), options.iter().find_map(secret))
}

fn set_if_missing(variables: &mut Vec<Variable>, name: &str, value: OsString) {
    if variables.iter().all(|(known, _)| known != name) {
        variables.push((name.to_owned(), value));
    }
}

/// The hosts that are used, the master first.
fn choose(flags: &LaunchFlags, here: &Here) -> Result<Vec<Host>, LaunchProblem> {
    let wanted = count("NODES", &flags.nodes)?.map(|count| count as usize);
    count("GPUS", &flags.gpus)?;
    let list = match (&flags.hosts, &here.hostfile) {
        (Some(list), _) => hosts::read_list(list)?,
        (None, Some((path, text))) => hosts::read_file(path, text)?,
        (None, None) if wanted == Some(1) && flags.master != AUTO => Vec::new(),
        (None, None) => return Err(LaunchProblem::NoHosts),
    };
    let list = match list.is_empty() {
        true => list,
        false => filter::apply(list, flags.include.as_deref(), flags.exclude.as_deref())?,
    };
    let mut chosen = master_first(list, &flags.master, wanted, here.are_same)?;
    let wanted = wanted.unwrap_or(chosen.len());
    if chosen.len() < wanted {
        return Err(LaunchProblem::TooFewHosts { wanted, found: chosen.len() });
    }
    chosen.truncate(wanted);
    Ok(chosen)
}

const AUTO: &str = "auto";

fn master_first(
    mut list: Vec<Host>,
    master: &str,
    wanted: Option<usize>,
    are_same: fn(&str, &str) -> bool,
) -> Result<Vec<Host>, LaunchProblem> {
    if master == AUTO {
        return Ok(list);
    }
    if !hosts::is_name(master) {
        return Err(LaunchProblem::BadHostName { host: master.to_owned() });
    }
    let address = hosts::address_of(master);
    let found = list
        .iter()
        .position(|host| host.name == master || host.address() == address)
        .or_else(|| list.iter().position(|host| are_same(host.address(), address)));
    match found {
        Some(index) => list[..=index].rotate_right(1),
        // Room is left: the list names the others.
        None if wanted.is_none_or(|wanted| list.len() < wanted) => {
            list.insert(0, Host { name: master.to_owned(), slots: None, devices: None });
        }
        None => return Err(LaunchProblem::MasterNotListed { master: master.to_owned() }),
    }
    Ok(list)
}

/// A number from 1 up, or none for `auto`.
fn count(what: &'static str, value: &str) -> Result<Option<u32>, LaunchProblem> {
    let number = || value.parse().ok().filter(|count| (1..=4096).contains(count));
    match value {
        AUTO => Ok(None),
        _ => number().map(Some).ok_or_else(|| LaunchProblem::BadCount { what, value: value.to_owned() }),
    }
}

fn ranks_of(host: &Host, asked: Option<u32>) -> String {
    match (asked, host.slots) {
        (Some(asked), Some(slots)) => asked.min(slots).to_string(),
        (Some(count), None) | (None, Some(count)) => count.to_string(),
        (None, None) => AUTO.to_owned(),
    }
}

fn refuse_loopback(flags: &LaunchFlags, hosts: &[Host], master: &str) -> Result<(), LaunchProblem> {
    let is_loopback = |name: &str| name == "localhost" || name == "::1" || name.starts_with("127.");
    let other = hosts.iter().map(Host::address).find(|name| !is_loopback(name));
    match other {
        Some(other) if is_loopback(master) && flags.master_addr.is_none() && hosts.len() > 1 => {
            Err(LaunchProblem::MasterIsLoopback { master: master.to_owned(), other: other.to_owned() })
        }
        _ => Ok(()),
    }
}

fn words(
    flags: &LaunchFlags,
    host: &Host,
    ranks: &str,
    options: &[OsString],
    index: usize,
    several: usize,
    master: &str,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![
        "run".into(),
        format!("--nnodes={several}").into(),
        format!("--node-rank={index}").into(),
        format!("--master-addr={master}").into(),
        format!("--master-port={}", flags.master_port).into(),
        format!("--nproc-per-node={ranks}").into(),
    ];
    if let Some(devices) = &host.devices {
        let take = ranks.parse().unwrap_or(devices.len());
        let list: Vec<String> = devices.iter().take(take).map(u32::to_string).collect();
        words.push(format!("--include={}", list.join(",")).into());
    }
    words.extend(options.iter().cloned());
    words.extend(["--json".into(), "--stop-on-stdin-eof".into()]);
    words.extend(flags.script.iter().cloned());
    words
}

#[cfg(test)]
mod tests;

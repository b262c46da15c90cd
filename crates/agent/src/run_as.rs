//! Finds the system account of a task, and gives it what its ranks need of the agent's folder.

use std::fs::{self, Permissions};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fermi_domain::access::run_as::FIRST_PERSON;
use fermi_domain::access::{AccountMap, RankAccount, RunAs, RunAsRefusal};
use fermi_domain::principal::Principal;
use fermi_process::account::{PASSABLE, SystemAccount, let_pass};
use fermi_process::private_folder;
use nix::unistd::geteuid;

use crate::error::AgentError;

/// systemd gives services these while they run.
const OF_SERVICES: RangeInclusive<u32> = 61_184..=65_519;

/// Variables that lead to places of the account of the agent.
pub const OF_THE_AGENT: &[&str] = &[
    "CACHE_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "CREDENTIALS_DIRECTORY",
    "DBUS_SESSION_BUS_ADDRESS",
    "FERMI_STATE_DIR",
    "KRB5CCNAME",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LOGS_DIRECTORY",
    "MAIL",
    "NOTIFY_SOCKET",
    "OLDPWD",
    "PWD",
    "RUNTIME_DIRECTORY",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "STATE_DIRECTORY",
    "SUDO_COMMAND",
    "SUDO_GID",
    "SUDO_UID",
    "SUDO_USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Whether the agent can do what it was told; looked at before anything is started.
pub fn check(rule: &RunAs) -> Result<(), AgentError> {
    match rule {
        RunAs::Usual | RunAs::Off => Ok(()),
        RunAs::Account(name) => {
            let account = look_up(name).map_err(AgentError::RunAs)?;
            if account.is_own() || geteuid().is_root() { Ok(()) } else { Err(AgentError::NotRoot) }
        }
        RunAs::SameName | RunAs::Map(_) if !geteuid().is_root() => Err(AgentError::NotRoot),
        RunAs::SameName => Ok(()),
        RunAs::Map(file) => read_map(file).map(drop).map_err(AgentError::RunAs),
    }
}

/// The account of a task whose owner is written so; none where it is the agent's own.
pub fn account_for(rule: &RunAs, owner: Option<&str>) -> Result<Option<SystemAccount>, RunAsRefusal> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let unread = || RunAsRefusal::NoPerson { owner: owner.map(str::to_owned) };
    let principal = owner.map(|text| text.parse::<Principal>().map_err(|_| unread())).transpose()?;
    let map = match rule {
        RunAs::Map(file) => read_map(file)?,
        _ => AccountMap::default(),
    };
    let account = match rule.account_of(principal.as_ref(), &map)? {
        RankAccount::Agents => return Ok(None),
        RankAccount::Named(name) => look_up(&name)?,
        RankAccount::OfOwner(name) => match look_up(&name)? {
            SystemAccount { uid, gid, .. } if uid < FIRST_PERSON || OF_SERVICES.contains(&uid) || gid == 0 => {
                return Err(RunAsRefusal::SystemAccount { account: name, uid });
            }
            account => account,
        },
    };
    Ok(Some(account).filter(|account| !account.is_own()))
}

fn look_up(name: &str) -> Result<SystemAccount, RunAsRefusal> {
    let unknown = |error: io::Error| RunAsRefusal::Unknown { account: name.to_owned(), error: error.to_string() };
    let found = SystemAccount::look_up(name).map_err(unknown)?;
    found.ok_or_else(|| RunAsRefusal::NoAccount { account: name.to_owned() })
}

/// Read anew for every task: whoever edits it need not start the agent again.
fn read_map(file: &Path) -> Result<AccountMap, RunAsRefusal> {
    let unreadable = |error: io::Error| RunAsRefusal::MapUnreadable { file: file.to_owned(), error: error.to_string() };
    let about = fs::metadata(file).map_err(unreadable)?;
    if about.uid() != geteuid().as_raw() || about.mode() & 0o022 != 0 {
        return Err(RunAsRefusal::MapWritable { file: file.to_owned() });
    }
    let text = fs::read_to_string(file).map_err(unreadable)?;
    AccountMap::parse(&text).map_err(|line| RunAsRefusal::MapLine { file: file.to_owned(), line })
}

/// Lets accounts pass through the folders above their own. What else lies beside those is closed first.
pub fn let_through(data: &Path, cluster: &Path) -> io::Result<()> {
    // Two launches at once: neither closes what the other has opened.
    static OPENING: Mutex<()> = Mutex::new(());
    let _one = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = cluster.join("tasks");
    if !is_passable(&tasks)? {
        let closed = |entry: io::Result<fs::DirEntry>| close(&entry?.path());
        fs::read_dir(&tasks)?.try_for_each(closed)?;
        for folder in [data.join("live"), cluster.join("sources")] {
            private_folder::make(&folder).and_then(|()| close(&folder))?;
        }
    }
    [&tasks, &cluster.join("runs"), cluster, data].into_iter().try_for_each(let_pass)
}

/// Whether ranks of other accounts have their folders in here.
pub fn is_passable(folder: &Path) -> io::Result<bool> {
    Ok(fs::metadata(folder)?.mode() & 0o777 == PASSABLE)
}

/// Keeps a folder from everyone but the agent.
pub fn close(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Makes a folder below a task's the account's own, with what the agent has put there.
pub fn hand_over(folder: &Path, account: &SystemAccount) -> Result<io::Result<()>, RunAsRefusal> {
    let owner = match fs::symlink_metadata(folder) {
        Ok(about) => about.uid(),
        Err(error) => return Ok(Err(error)),
    };
    if owner == account.uid {
        return Ok(Ok(()));
    }
    if owner != geteuid().as_raw() {
        let (account, folder) = (account.name.clone(), folder.to_owned());
        return Err(RunAsRefusal::OthersFolder { account, folder, uid: owner });
    }
    Ok(close(folder).and_then(|()| account.own_tree(folder)))
}

/// Lets an account list and read the files of its launch, whose folders stay the agent's: what is written there later is
/// written to the same files. Python lists the folder of the hook, or finds nothing in it.
pub fn open_launch(folder: &Path, account: &SystemAccount) -> io::Result<()> {
    lchown(folder, None, Some(account.gid))?;
    fs::set_permissions(folder, Permissions::from_mode(0o750))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { open_launch(&path, account)? } else { account.own_new_file(&path)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_others_may_write_to_is_refused_and_so_is_what_it_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("accounts");
        let rule = RunAs::Map(file.clone());
        assert!(matches!(read_map(&file), Err(RunAsRefusal::MapUnreadable { .. })));
        fs::write(&file, "ann nobody\nbob root\neve no-such-account\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        assert!(matches!(read_map(&file), Err(RunAsRefusal::MapWritable { .. })));
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        if !geteuid().is_root() {
            assert!(matches!(check(&rule), Err(AgentError::NotRoot)));
            assert_eq!(account_for(&rule, Some("user:member:ann")), Ok(None));
            return;
        }
        check(&rule).unwrap();
        let of = |rule: &RunAs, owner: &str| account_for(rule, Some(owner)).map(|found| found.map(|it| it.name));
        assert_eq!(of(&rule, "user:member:ann"), Ok(Some("nobody".to_owned())));
        assert_eq!(of(&rule, "user:member:bob"), Ok(None), "it is the agent's own");
        assert_eq!(of(&rule, "user:member:eve"), Err(RunAsRefusal::NoAccount { account: "no-such-account".into() }));
        let system = RunAsRefusal::SystemAccount { account: "daemon".into(), uid: 1 };
        assert_eq!(of(&RunAs::Usual, "user:member:daemon"), Err(system));
        assert!(matches!(of(&RunAs::Usual, "a king"), Err(RunAsRefusal::NoPerson { .. })));
    }

    #[test]
    fn what_lies_beside_the_folders_of_accounts_is_closed() {
        let data = tempfile::tempdir().unwrap();
        let cluster = data.path().join("c");
        for folder in ["tasks/task-1/outputs", "runs", "sources"] {
            fs::create_dir_all(cluster.join(folder)).unwrap();
        }
        fs::create_dir(data.path().join("live")).unwrap();
        let_through(data.path(), &cluster).unwrap();
        let mode = |path: &str| fs::metadata(data.path().join(path)).unwrap().mode() & 0o777;
        assert_eq!(["", "c", "c/tasks", "c/runs"].map(mode), [0o711; 4]);
        assert_eq!(["live", "c/sources", "c/tasks/task-1"].map(mode), [0o700; 3]);
        // From then on each task says for itself.
        let_pass(&cluster.join("tasks/task-1")).unwrap();
        let_through(data.path(), &cluster).unwrap();
        assert_eq!(mode("c/tasks/task-1"), 0o711);
    }
}

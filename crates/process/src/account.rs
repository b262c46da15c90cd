//! System accounts: who they are, and how a process or a thread of root becomes one of them.
//!
//! Only by system calls of the thread itself. The wrappers of libc tell all threads of a process, also those that a fork
//! has not taken along.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::thread;

use fermi_domain::access::{AccountLimit, LimitedAccount, limits_of};
use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist};
use serde::{Deserialize, Serialize};

/// Others may pass through such a folder to a name that they know, and neither list nor change it.
pub const PASSABLE: u32 = 0o711;
/// `keyctl`: a new session keyring.
const JOIN_SESSION_KEYRING: libc::c_long = 1;

/// An account of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemAccount {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    /// All its groups, the first one too.
    pub groups: Vec<u32>,
    pub home: PathBuf,
    pub shell: PathBuf,
    /// With what its processes start.
    pub umask: u32,
    /// What a log-in would limit.
    #[serde(default)]
    pub limits: Vec<AccountLimit>,
}

/// Where a system says what log-ins limit: this file, then those of the folder, by name.
const LIMITS: &str = "/etc/security/limits.conf";
const MORE_LIMITS: &str = "/etc/security/limits.d";

impl SystemAccount {
    /// As the system knows it; none where there is no such account.
    pub fn look_up(name: &str) -> io::Result<Option<Self>> {
        let Ok(word) = CString::new(name) else { return Ok(None) };
        let Some(user) = User::from_name(name)? else { return Ok(None) };
        let groups: Vec<u32> = getgrouplist(&word, user.gid)?.into_iter().map(Gid::as_raw).collect();
        let names: Vec<String> = groups
            .iter()
            .filter_map(|gid| Group::from_gid(Gid::from_raw(*gid)).ok().flatten())
            .map(|it| it.name)
            .collect();
        let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
        let limited = LimitedAccount { name: &user.name, uid, gid, gids: &groups, groups: &names };
        let limits = limits_of(&limited, &files_of_limits());
        Ok(Some(Self {
            limits,
            name: user.name,
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups,
            home: user.dir,
            shell: user.shell,
            umask: own_umask(),
        }))
    }

    /// Whether this process is it already.
    pub fn is_own(&self) -> bool {
        geteuid() == Uid::from_raw(self.uid)
    }

    /// What a log-in would set.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let shell = if self.shell.as_os_str().is_empty() { "/bin/sh".to_owned() } else { text(&self.shell) };
        [("HOME", text(&self.home)), ("USER", self.name.clone()), ("LOGNAME", self.name.clone()), ("SHELL", shell)]
    }

    /// Becomes the account for good, with all its groups and no way back.
    ///
    /// Between fork and exec: system calls only.
    pub(crate) fn become_it(&self) -> io::Result<()> {
        let [uid, gid] = [self.uid, self.gid].map(libc::c_long::from);
        let done = |result: libc::c_long| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // As long as it is root, which may raise them.
        self.limits.iter().try_for_each(set_limit)?;
        // SAFETY: the kernel reads a list of ours; all else are numbers.
        unsafe {
            done(libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()))?;
            done(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
            done(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
            let is_root_again = uid != 0 && libc::syscall(libc::SYS_setresuid, 0, 0, 0) == 0;
            if is_root_again {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            // Root's keys are not for it. A kernel without keyrings has none to give away.
            libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0);
            libc::umask(self.umask);
        }
        Ok(())
    }

    /// From now on this thread sees files as the account does, until it ends.
    pub fn see_as_it(&self) -> io::Result<()> {
        // SAFETY: the kernel reads a list of ours; all else are numbers.
        unsafe {
            if libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::syscall(libc::SYS_setfsgid, self.gid);
            libc::syscall(libc::SYS_setfsuid, self.uid);
            // These two tell what was before, and nothing of success.
            let now = [libc::syscall(libc::SYS_setfsgid, -1), libc::syscall(libc::SYS_setfsuid, -1)];
            if now != [self.gid, self.uid].map(libc::c_long::from) {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
        }
        Ok(())
    }

    /// Does something with files as the account, in a thread that ends with it.
    pub fn acting<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name(format!("as-{}", self.uid)).stack_size(512 * 1024);
            let acting = thread.spawn_scoped(scope, || self.see_as_it().and_then(|()| work()))?;
            acting.join().unwrap_or_else(|_| Err(io::Error::other("what was done as the account has panicked")))
        })
    }

    /// Gives it a file or a folder; of a link the link itself.
    pub fn own(&self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Gives it a folder with all that is below, itself at last: nothing can be entered before.
    pub fn own_tree(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.own_tree(&entry.path())?;
            } else {
                self.own(&entry.path())?;
            }
        }
        self.own(folder)
    }

    /// Gives it an empty file in a folder that is not its own, unless the file is there.
    pub fn own_new_file(&self, path: &Path) -> io::Result<()> {
        drop(fs::File::options().create(true).append(true).open(path)?);
        self.own(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))
    }

    /// Gives it a pipe, so that it may open its own standard streams by their names in `/dev`.
    pub fn own_pipe(&self, pipe: impl AsFd) -> io::Result<()> {
        // SAFETY: a descriptor that is borrowed for the call.
        match unsafe { libc::fchown(pipe.as_fd().as_raw_fd(), self.uid, self.gid) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// With what its own processes would make a file of this widest mode.
    pub fn mode(&self, widest: u32) -> Permissions {
        Permissions::from_mode(widest & !self.umask)
    }
}

/// System calls only. A limit that cannot be raised, as root cannot in some containers, is as high as it may be.
fn set_limit(limit: &AccountLimit) -> io::Result<()> {
    let number = limit.limited as _;
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one struct of ours, and reads others.
    unsafe {
        if libc::getrlimit(number, &raw mut now) != 0 {
            return Err(io::Error::last_os_error());
        }
        let (soft, hard) = limit.over(now.rlim_cur, now.rlim_max);
        let wanted = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        let most = libc::rlimit { rlim_cur: soft.min(now.rlim_max), rlim_max: hard.min(now.rlim_max) };
        if libc::setrlimit(number, &raw const wanted) == 0 || libc::setrlimit(number, &raw const most) == 0 {
            return Ok(());
        }
    }
    Err(io::Error::last_os_error())
}

/// What cannot be read limits nothing, as at a log-in.
fn files_of_limits() -> Vec<String> {
    let mut more: Vec<PathBuf> =
        fs::read_dir(MORE_LIMITS).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    more.retain(|path| path.extension().is_some_and(|extension| extension == "conf"));
    more.sort();
    let files = [PathBuf::from(LIMITS)].into_iter().chain(more);
    // A comment in another encoding costs no line.
    files.filter_map(|path| Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())).collect()
}

/// Lets others pass through a folder.
pub fn let_pass(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(PASSABLE))
}

/// Keeps files that this process makes from now on from all other accounts.
pub fn keep_files_private() {
    // SAFETY: a number of this process.
    unsafe { libc::umask(0o077) };
}

/// Asking by `umask` would change it for a moment.
fn own_umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use fermi_domain::access::account_limits::Limited;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};

    use super::*;
    use crate::spawn::{RankCommand, StdinPlan, spawn};

    #[test]
    fn the_system_says_who_has_which_account() {
        let root = SystemAccount::look_up("root").unwrap().unwrap();
        assert_eq!((root.uid, root.gid, root.is_own()), (0, 0, geteuid().is_root()));
        assert_eq!(root.variables()[1], ("USER", "root".to_owned()));
        assert_eq!(SystemAccount::look_up("no such account").unwrap(), None);
        assert_eq!(SystemAccount::look_up("a\0b").unwrap(), None);
    }

    #[test]
    fn a_rank_starts_within_the_limits_of_its_account() {
        if !geteuid().is_root() {
            return;
        }
        let limit = |limited, soft, hard| AccountLimit { limited, soft, hard };
        let limits = vec![limit(Limited::OpenFiles, Some(300), Some(400)), limit(Limited::Cpu, None, Some(60))];
        let account = SystemAccount { limits, ..SystemAccount::look_up("nobody").unwrap().unwrap() };
        let script = "id -u; ulimit -n; ulimit -Hn; ulimit -t; (ulimit -n 401) 2>/dev/null || echo refused";
        let command = RankCommand {
            argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
            env: Vec::new(),
            folder: Some("/".into()),
            cpus: None,
            stdin: StdinPlan::Null,
            terminal: None,
            account: Some(account),
        };
        let spawned = spawn(&command, None).unwrap();
        fcntl(&spawned.stdout, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
        let mut said = String::new();
        fs::File::from(spawned.stdout).read_to_string(&mut said).unwrap();
        assert_eq!(said.lines().collect::<Vec<_>>(), ["65534", "300", "400", "60", "refused"]);
    }

    #[test]
    fn a_thread_that_acts_as_another_makes_its_files_and_no_others_do() {
        if !geteuid().is_root() {
            return;
        }
        let nobody = SystemAccount::look_up("nobody").unwrap().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert!(nobody.acting(|| fs::write(&path, "")).is_err(), "the folder is root's");
        nobody.own_tree(folder.path()).unwrap();
        nobody.acting(|| fs::write(&path, "")).unwrap();
        let other = folder.path().join("y");
        fs::write(&other, "").unwrap();
        let owner = |path: &Path| std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).unwrap());
        assert_eq!((owner(&path), owner(&other)), (nobody.uid, 0));
        assert!(nobody.acting(|| fs::read("/etc/shadow")).is_err());
    }
}

//! A cgroup of our own around the ranks, where the machine allows one: a rank cannot leave it by forking or by clearing
//! its environment, and one write ends all that is in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};

use crate::procfs;

/// A cgroup (version 2) that holds the processes of one run on this node.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Makes `fermi-<name>` below the cgroup this process is in, so that Slurm's or systemd's limits keep holding.
    /// `None` where there is no version 2 hierarchy, no right to write, or a kernel without `cgroup.kill`.
    pub fn create(name: &str) -> Option<Self> {
        let folder = own_folder()?.join(format!("fermi-{name}"));
        fs::create_dir(&folder).ok()?;
        let cgroup = Self { folder };
        if cgroup.folder.join("cgroup.kill").exists() {
            return Some(cgroup);
        }
        cgroup.remove();
        None
    }

    /// One that an earlier process made.
    pub fn at(folder: PathBuf) -> Option<Self> {
        folder.join("cgroup.kill").exists().then_some(Self { folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the ways in, once for all ranks that start.
    pub fn entrance(&self) -> io::Result<Entrance> {
        let members = File::options().write(true).open(self.folder.join("cgroup.procs"))?;
        Ok(Entrance { folder: File::open(&self.folder)?, members })
    }

    /// How many processes are in it.
    pub fn population(&self) -> usize {
        fs::read_to_string(self.folder.join("cgroup.procs")).map_or(0, |text| text.lines().count())
    }

    /// Ends everything in it at once.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.kill"), "1")
    }

    /// Takes the empty folder away; one that is still in use stays for the next start to find.
    pub fn remove(&self) -> bool {
        for _ in 0..20 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
                done => return done.is_ok(),
            }
        }
        false
    }
}

/// How ranks get into a cgroup.
#[derive(Debug)]
pub struct Entrance {
    folder: File,
    members: File,
}

impl Entrance {
    /// A process can be born into this folder.
    pub(crate) fn folder(&self) -> &File {
        &self.folder
    }

    /// A process that was born elsewhere writes "0" into this file.
    pub(crate) fn members(&self) -> &File {
        &self.members
    }
}

/// How many bytes the limits of the own cgroup and those above it leave; none where nothing limits.
pub fn memory_left() -> Option<u64> {
    let folder = own_folder()?;
    let number =
        |folder: &Path, name: &str| -> Option<u64> { fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok() };
    folder
        .ancestors()
        .filter_map(|folder| {
            let most = number(folder, "memory.max")?;
            Some(most.saturating_sub(number(folder, "memory.current")?))
        })
        .min()
}

/// Whether a process stands still because its cgroup, or one above it, is frozen.
pub fn is_frozen(pid: i32) -> bool {
    let events = folder_of(pid).and_then(|folder| fs::read_to_string(folder.join("cgroup.events")).ok());
    events.is_some_and(|events| events.lines().any(|line| line == "frozen 1"))
}

fn own_folder() -> Option<PathBuf> {
    folder_of(std::process::id().cast_signed())
}

/// Where a process stands in the version 2 hierarchy, on disk.
fn folder_of(pid: i32) -> Option<PathBuf> {
    let place = procfs::read_text(&format!("/proc/{pid}/cgroup")).ok()?;
    let place = place.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
    Some(version_two()?.join(place.trim_start_matches('/')))
}

/// Where version 2 is mounted: at one of the usual places, alone or beside version 1, else where the table of all mounts says.
fn version_two() -> Option<PathBuf> {
    let is_mount = |place: &Path| statfs(place).is_ok_and(|about| about.filesystem_type() == CGROUP2_SUPER_MAGIC);
    let usual = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    usual.into_iter().find(|place| is_mount(place)).or_else(|| {
        let mounts = procfs::read_text("/proc/self/mountinfo").ok()?;
        mounts.lines().find_map(version_two_mount)
    })
}

/// The mount point, when this line of mountinfo is a version 2 hierarchy.
fn version_two_mount(line: &str) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    after.starts_with("cgroup2 ").then(|| before.split(' ').nth(4).map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_two_mount_is_found_beside_version_one() {
        let one = "30 24 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu";
        let two = "42 24 0:39 / /sys/fs/cgroup/unified rw,relatime shared:10 - cgroup2 cgroup2 rw";
        assert_eq!(version_two_mount(one), None);
        assert_eq!(version_two_mount(two), Some(PathBuf::from("/sys/fs/cgroup/unified")));
    }
}

//! Small disks that outlive the processes that write to them: mounts in a namespace that one process holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Place, eventually};

/// Folders each of which is a disk of its own, for those who are in the namespace.
pub struct Disks {
    holder: Child,
}

impl Disks {
    /// Disks of so much, such as `16m`. A test that makes them may be left out as `mount`.
    pub fn new(place: &Place, size: &str, folders: &[PathBuf]) -> Self {
        let mount = |folder: &PathBuf| {
            fs::create_dir_all(folder).unwrap();
            format!("mount -t tmpfs -o size={size},mode=700 none '{}'", folder.display())
        };
        let mounts: Vec<String> = folders.iter().map(mount).collect();
        let mut command = place.with_mounts(&mounts.join(" && "));
        let holder = command.args(["sleep", "100000"]).stdin(Stdio::null()).spawn().unwrap();
        let name = format!("/proc/{}/comm", holder.id());
        eventually("the disks to be there", || (fs::read_to_string(&name).ok()? == "sleep\n").then_some(()));
        Self { holder }
    }

    pub fn holder(&self) -> i32 {
        self.holder.id() as i32
    }

    /// A folder on one of them, as it is found from outside.
    pub fn find(&self, folder: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), folder.display()))
    }

    /// A program that sees them.
    pub fn program(&self, place: &Place, program: &str) -> Command {
        let mut command = place.program("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).arg(program);
        command
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

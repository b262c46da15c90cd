//! Keeps the memory, variables and descriptors of this process from others of the same user, and from core files.

/// From now on no process but one of root's may trace this one or read `environ`, `mem`, `fd` and the like of it in `/proc`,
/// and it leaves no core. A program that is executed by it begins without. Where the kernel refuses, all goes on as before.
pub fn set() {
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Whether processes of the same user can open `/proc/<us>/fd`.
pub fn is_set() -> bool {
    nix::sys::prctl::get_dumpable().is_ok_and(|is_dumpable| !is_dumpable)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn what_is_executed_begins_anew() {
        let was = nix::sys::prctl::get_dumpable().unwrap();
        super::set();
        assert!(super::is_set());
        let mut shell = Command::new("/bin/sh");
        let told = shell.args(["-c", "tr '\\0' '\\n' < /proc/self/environ"]).env("MARK", "seen").output().unwrap();
        nix::sys::prctl::set_dumpable(was).unwrap();
        assert!(String::from_utf8(told.stdout).unwrap().contains("MARK=seen"));
    }
}

//! fork and exec of one rank, inside its cgroup from the start.
//!
//! Moving a process into a cgroup makes the kernel wait for all CPUs, some 8 ms for every rank; a clone into it is free.
//! std's `Command` cannot do that. Where the kernel cannot either, the child moves itself after an ordinary fork.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString, c_char, c_int};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::cgroup::Entrance;
use crate::pidfd::PidFd;

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What a child is to become. Everything is allocated before the fork.
pub(crate) struct ForkExec {
    argv: Vec<CString>,
    env: Vec<CString>,
    folder: Option<CString>,
    /// What becomes of the standard streams; none stays as it is.
    streams: [Option<OwnedFd>; 3],
}

/// Whether a child ever executed its program.
#[derive(Debug)]
pub struct ExecOutcome(io::PipeReader);

impl ExecOutcome {
    /// Why a child that has ended never executed its program; none when it did.
    pub fn failure(&mut self) -> Option<io::Error> {
        let mut error = [0; size_of::<c_int>()];
        // The pipe closes on exec, and at the child's end: nothing to read means that it did, and reading never waits.
        self.0.read_exact(&mut error).ok()?;
        Some(io::Error::from_raw_os_error(c_int::from_ne_bytes(error)))
    }
}

/// The exit code of a child that never executed its program.
pub const NEVER_EXECUTED: i32 = 127;

/// Whether the child is in its cgroup already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    IntoCgroup,
    Outside,
}

impl ForkExec {
    pub fn new(argv: &[OsString], env: &[(String, String)], folder: Option<&Path>) -> io::Result<Self> {
        if argv.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program to start"));
        }
        let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        variables.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        Ok(Self {
            argv: argv.iter().map(|word| c_string(word)).collect::<io::Result<_>>()?,
            env: variables.iter().map(assignment).collect::<io::Result<_>>()?,
            folder: folder.map(|folder| c_string(folder.as_os_str())).transpose()?,
            streams: [None, None, None],
        })
    }

    /// Gives the child this descriptor as standard stream 0, 1 or 2.
    pub fn stream(&mut self, number: usize, fd: OwnedFd) {
        self.streams[number] = Some(fd);
    }

    /// Forks, runs `prepare` in the child and executes. Does not wait for that: an exec takes half a millisecond, and the
    /// next rank can be on its way meanwhile. What went wrong in the child shows in its [`ExecOutcome`].
    ///
    /// # Safety
    /// `prepare` runs between fork and exec: it may make system calls, but neither allocate nor lock.
    pub unsafe fn start(
        self,
        entrance: Option<&Entrance>,
        prepare: impl Fn(Forked) -> io::Result<()>,
    ) -> io::Result<(PidFd, ExecOutcome)> {
        let argv = pointers(&self.argv);
        let env = pointers(&self.env);
        let (hear, tell) = io::pipe()?;
        let (child, forked) = fork(entrance)?;
        let Some(child) = child else {
            // SAFETY: we are the child, and the lists end with null.
            let error = unsafe { self.exec(&argv, &env, || prepare(forked)) };
            // SAFETY: writes four bytes of ours and leaves without running anything of the parent's.
            unsafe {
                libc::write(tell.as_raw_fd(), (&raw const error).cast(), size_of::<c_int>());
                libc::_exit(NEVER_EXECUTED);
            }
        };
        Ok((child, ExecOutcome(hear)))
    }

    /// The child's way to exec. Returns only on failure, with its number.
    unsafe fn exec(
        &self,
        argv: &[*const c_char],
        env: &[*const c_char],
        prepare: impl FnOnce() -> io::Result<()>,
    ) -> c_int {
        let last = || io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        // SAFETY: system calls on descriptors and strings that were made before the fork.
        unsafe {
            for (number, stream) in (0..).zip(&self.streams) {
                if let Some(stream) = stream
                    && libc::dup2(stream.as_raw_fd(), number) < 0
                {
                    return last();
                }
            }
            // Rust programs start with SIGPIPE ignored; others do not expect that.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if let Err(error) = prepare() {
                return error.raw_os_error().unwrap_or(libc::EINVAL);
            }
            // As whoever it has become: a folder that is closed to that account is not entered.
            if let Some(folder) = &self.folder
                && libc::chdir(folder.as_ptr()) != 0
            {
                return last();
            }
            // The program is looked for on the PATH that it will have.
            environ = env.as_ptr();
            libc::execvp(argv[0], argv.as_ptr());
            last()
        }
    }
}

/// The child's handle in the parent, nothing in the child; and where the child is.
fn fork(entrance: Option<&Entrance>) -> io::Result<(Option<PidFd>, Forked)> {
    if let Some(entrance) = entrance
        && let Ok(child) = clone_into(entrance.folder().as_raw_fd())
    {
        return Ok((child, Forked::IntoCgroup));
    }
    // SAFETY: the child makes only system calls until it executes.
    match unsafe { libc::fork() } {
        0 => Ok((None, Forked::Outside)),
        pid if pid > 0 => Ok((Some(PidFd::open(pid)?), Forked::Outside)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn clone_into(cgroup: RawFd) -> io::Result<Option<PidFd>> {
    let mut pidfd: c_int = -1;
    // SAFETY: all zeroes is the plain fork; the kernel writes one descriptor to the place named.
    let done = unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = CLONE_INTO_CGROUP | libc::CLONE_PIDFD as u64;
        arguments.pidfd = (&raw mut pidfd) as u64;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = cgroup as u64;
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    match i32::try_from(done).map_err(io::Error::other)? {
        0 => Ok(None),
        // SAFETY: the kernel has just given us this descriptor; nothing else owns it.
        pid if pid > 0 => Ok(Some(PidFd::of_child(unsafe { OwnedFd::from_raw_fd(pidfd) }, pid))),
        _ => Err(io::Error::last_os_error()),
    }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

fn assignment((name, value): (&OsString, &OsString)) -> io::Result<CString> {
    let mut text = name.clone();
    text.push("=");
    text.push(value);
    Ok(CString::new(text.into_vec())?)
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(argv: &[&str], env: &[(String, String)], folder: Option<&Path>) -> io::Result<(PidFd, String)> {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let mut fork_exec = ForkExec::new(&argv, env, folder)?;
        let (mut ours, theirs) = io::pipe()?;
        fork_exec.stream(1, theirs.into());
        // SAFETY: nothing happens between fork and exec.
        let (child, mut outcome) = unsafe { fork_exec.start(None, |_| Ok(())) }?;
        let mut said = String::new();
        ours.read_to_string(&mut said)?;
        let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(child.pid()), None);
        outcome.failure().map_or(Ok((child, said)), Err)
    }

    #[test]
    fn a_child_gets_its_words_variables_and_folder() {
        let env = [("FERMI_FORK_EXEC_TEST".to_owned(), "a=b".to_owned())];
        let (_, said) =
            start(&["sh", "-c", "echo \"$FERMI_FORK_EXEC_TEST $1 $PWD\"", "sh", "x y"], &env, Some(Path::new("/")))
                .unwrap();
        assert_eq!(said, "a=b x y /\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_known_in_the_parent() {
        let error = start(&["/no/such/program"], &[], None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(start(&[], &[], None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(start(&["a\0b"], &[], None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_path_that_counts_is_the_childs() {
        let env = [("PATH".to_owned(), "/nowhere".to_owned())];
        assert_eq!(start(&["sh", "-c", ":"], &env, None).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

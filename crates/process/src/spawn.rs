//! Starts one rank: its own session, its death tied to ours, its streams in our hands.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::Resource;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::account::SystemAccount;
use crate::cgroup::Entrance;
use crate::fork_exec::{ExecOutcome, ForkExec, Forked};
use crate::pidfd::PidFd;
use crate::pty::{Pty, WindowSize};

/// Large enough that a rank which prints in bursts never waits for us.
const PIPE_BYTES: i32 = 256 * 1024;

/// Everything needed to start a process. Variables are added to those of the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankCommand {
    pub argv: Vec<OsString>,
    pub env: Vec<(String, String)>,
    pub folder: Option<PathBuf>,
    pub cpus: Option<Vec<usize>>,
    pub stdin: StdinPlan,
    /// Give it a pseudo-terminal of this size instead of pipes.
    pub terminal: Option<WindowSize>,
    /// Whose process it is; the supervisor's own account where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<SystemAccount>,
}

/// Where a rank reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StdinPlan {
    Null,
    /// The supervisor's own standard input: a file or a pipe that the user gave.
    Inherited,
    /// What people type, passed on by the supervisor.
    Forwarded,
}

/// A process that runs, with our ends of its streams.
#[derive(Debug)]
pub struct Spawned {
    pub handle: PidFd,
    /// Whether it executed its program, known when it has ended.
    pub outcome: ExecOutcome,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// Where forwarded input goes.
    pub stdin: Option<OwnedFd>,
    /// The terminals whose size follows the user's window.
    pub terminals: Vec<OwnedFd>,
}

/// Starts the command. The entrance is the cgroup's, if there is one.
///
/// Call it from a thread that lives as long as the process: the rank dies with that thread.
pub fn spawn(command: &RankCommand, entrance: Option<&Entrance>) -> io::Result<Spawned> {
    start(command, entrance, None, &[])
}

/// The same for a rank that inherits a descriptor, under the number that it has here.
pub fn spawn_inheriting(
    command: &RankCommand,
    entrance: Option<&Entrance>,
    inherited: BorrowedFd<'_>,
) -> io::Result<Spawned> {
    start(command, entrance, None, &[inherited])
}

/// Starts a process under a fence that it has to lift itself; it inherits these descriptors, under the numbers that they have here.
pub fn spawn_fenced(
    command: &RankCommand,
    entrance: Option<&Entrance>,
    fence: &Fence,
    inherited: &[BorrowedFd<'_>],
) -> io::Result<Spawned> {
    start(command, entrance, Some(fence), inherited)
}

fn start(
    command: &RankCommand,
    entrance: Option<&Entrance>,
    fence: Option<&Fence>,
    inherited: &[BorrowedFd<'_>],
) -> io::Result<Spawned> {
    let mut fork_exec = ForkExec::new(&command.argv, &command.env, command.folder.as_deref())?;
    let streams = Streams::open(command, &mut fork_exec)?;
    if let Some(account) = &command.account {
        [&streams.stdout, &streams.stderr].into_iter().try_for_each(|pipe| account.own_pipe(pipe))?;
    }
    // SAFETY: what happens between fork and exec is system calls only.
    let (handle, outcome) = unsafe { fork_exec.start(entrance, harden(command, entrance, fence, inherited)) }?;
    streams.ours(handle, outcome)
}

/// What happens between fork and exec; only calls that are safe there.
fn harden(
    command: &RankCommand,
    entrance: Option<&Entrance>,
    fence: Option<&Fence>,
    inherited: &[BorrowedFd<'_>],
) -> impl Fn(Forked) -> io::Result<()> {
    let fence = fence.cloned();
    let inherited: Vec<RawFd> = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let parent = nix::unistd::getpid();
    let cpus = command.cpus.as_ref().and_then(|cpus| cpu_set(cpus));
    let entrance = entrance.map(|entrance| entrance.members().as_raw_fd());
    let takes_terminal = command.terminal.is_some();
    let account = command.account.clone();
    // SAFETY: the closure makes system calls only: no allocation, no lock.
    move |forked| unsafe {
        libc::setsid();
        if takes_terminal {
            libc::ioctl(1, libc::TIOCSCTTY, 0);
        }
        if let Some(entrance) = entrance.filter(|_| forked == Forked::Outside) {
            // Staying outside is not fatal: the keepers hold the rank all the same.
            libc::write(entrance, c"0".as_ptr().cast(), 1);
        }
        if let Some(cpus) = &cpus {
            // CPUs that are not there, or not ours, leave the rank where it is.
            let _ = sched_setaffinity(Pid::from_raw(0), cpus);
        }
        // The supervisor takes its signals by descriptor; ranks start with none blocked.
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        if let Some(account) = &account {
            // What is open here is root's. A kernel that cannot do it leaves those that were opened without the flag.
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
            account.become_it()?;
        }
        for inherited in &inherited {
            // Should this fail the rank is without its page, and goes on.
            libc::fcntl(*inherited, libc::F_SETFD, 0);
        }
        // After that: another account would clear it.
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Were we too late to be told of the parent's death, we are an orphan by now.
        if libc::getppid() != parent.as_raw() {
            libc::_exit(1);
        }
        fence.as_ref().map_or(Ok(()), Fence::raise)
    }
}

/// Soft limits under which no process can load torch or write a file, until it lifts them, which needs no right.
#[derive(Clone, Debug)]
pub struct Fence {
    address_space: libc::rlimit,
    file_size: libc::rlimit,
}

impl Fence {
    /// Python starts within this, and torch's libraries do not fit in.
    const ADDRESS_SPACE: u64 = 256 << 20;

    /// With the limits of this process as those to return to.
    pub fn new() -> io::Result<Self> {
        let limit = |resource| -> io::Result<libc::rlimit> {
            let (soft, hard) = nix::sys::resource::getrlimit(resource)?;
            Ok(libc::rlimit { rlim_cur: soft, rlim_max: hard })
        };
        Ok(Self { address_space: limit(Resource::RLIMIT_AS)?, file_size: limit(Resource::RLIMIT_FSIZE)? })
    }

    /// What lifts it: the soft limits of address space and file size, -1 for none.
    pub fn lifted(&self) -> [i64; 2] {
        [self.address_space, self.file_size].map(|limit| i64::try_from(limit.rlim_cur).unwrap_or(-1))
    }

    /// System calls only.
    fn raise(&self) -> io::Result<()> {
        let lower = |limit: libc::rlimit, most: u64| libc::rlimit { rlim_cur: limit.rlim_cur.min(most), ..limit };
        let limits = [
            (libc::RLIMIT_AS, lower(self.address_space, Self::ADDRESS_SPACE)),
            (libc::RLIMIT_FSIZE, lower(self.file_size, 0)),
        ];
        for (resource, limit) in limits {
            // SAFETY: the kernel reads one struct of ours.
            if unsafe { libc::setrlimit(resource, &raw const limit) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// None where no CPU is named; those that no set can hold are left out.
fn cpu_set(cpus: &[usize]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::count()) {
        set.set(*cpu).ok()?;
    }
    (!cpus.is_empty()).then_some(set)
}

/// Our ends of the streams, kept while the child's ends travel with the command.
struct Streams {
    stdout: OwnedFd,
    stderr: OwnedFd,
    stdin: Option<OwnedFd>,
    terminals: Vec<OwnedFd>,
}

impl Streams {
    fn open(command: &RankCommand, fork_exec: &mut ForkExec) -> io::Result<Self> {
        match command.terminal {
            Some(size) => Self::terminals(command.stdin, size, fork_exec),
            None => Self::pipes(command.stdin, fork_exec),
        }
    }

    fn pipes(stdin: StdinPlan, fork_exec: &mut ForkExec) -> io::Result<Self> {
        let (stdout, child_stdout) = pipe()?;
        let (stderr, child_stderr) = pipe()?;
        fork_exec.stream(1, child_stdout);
        fork_exec.stream(2, child_stderr);
        let stdin = match stdin {
            StdinPlan::Null => {
                fork_exec.stream(0, File::open("/dev/null")?.into());
                None
            }
            StdinPlan::Inherited => None,
            StdinPlan::Forwarded => {
                let (child_stdin, ours) = pipe()?;
                fork_exec.stream(0, child_stdin);
                Some(ours)
            }
        };
        Ok(Self { stdout, stderr, stdin, terminals: Vec::new() })
    }

    /// Two terminals, one for each stream: both look like a terminal to the program, and the log files stay apart.
    fn terminals(stdin: StdinPlan, size: WindowSize, fork_exec: &mut ForkExec) -> io::Result<Self> {
        let out = Pty::open(size)?;
        let err = Pty::open(size)?;
        let typed = match stdin {
            StdinPlan::Null => {
                fork_exec.stream(0, File::open("/dev/null")?.into());
                None
            }
            StdinPlan::Inherited => None,
            StdinPlan::Forwarded => {
                fork_exec.stream(0, out.slave.try_clone()?);
                Some(out.master.try_clone()?)
            }
        };
        fork_exec.stream(1, out.slave);
        fork_exec.stream(2, err.slave);
        let terminals = vec![out.master.try_clone()?, err.master.try_clone()?];
        Ok(Self { stdout: out.master, stderr: err.master, stdin: typed, terminals })
    }

    fn ours(self, handle: PidFd, outcome: ExecOutcome) -> io::Result<Spawned> {
        for fd in [&self.stdout, &self.stderr].into_iter().chain(&self.stdin) {
            non_blocking(fd)?;
        }
        let Self { stdout, stderr, stdin, terminals } = self;
        Ok(Spawned { handle, outcome, stdout, stderr, stdin, terminals })
    }
}

/// A pipe, reading end first, neither end inherited by accident.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    // A smaller pipe than asked for works too.
    let _ = fcntl(&theirs, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
    Ok((ours, theirs))
}

fn non_blocking(fd: &OwnedFd) -> io::Result<()> {
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop).map_err(io::Error::from)
}

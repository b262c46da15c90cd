//! Limits, clock, and what the machine is called.

use std::fs;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::utsname::uname;

use crate::facts::{ClockFacts, LimitFacts};

pub fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub fn kernel() -> String {
    uname().map(|it| it.release().to_string_lossy().into_owned()).unwrap_or_default()
}

pub fn limits() -> LimitFacts {
    let limit = |resource| getrlimit(resource).map_or((None, None), |(soft, hard)| (finite(soft), finite(hard)));
    let (open_files, open_files_hard) = limit(Resource::RLIMIT_NOFILE);
    LimitFacts {
        open_files,
        open_files_hard,
        processes: limit(Resource::RLIMIT_NPROC).0,
        locked_memory: limit(Resource::RLIMIT_MEMLOCK).0,
        cgroup_processes: cgroup_file("pids.max").and_then(|text| text.trim().parse().ok()),
    }
}

fn finite(limit: u64) -> Option<u64> {
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// A file of this process's cgroup, version 2.
pub fn cgroup_file(name: &str) -> Option<String> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    fs::read_to_string(format!("/sys/fs/cgroup{}/{name}", path.trim_end_matches('/'))).ok()
}

pub fn clock() -> ClockFacts {
    // SAFETY: a plain structure that the kernel fills in; modes 0 changes nothing.
    let (state, clock) = unsafe {
        let mut clock: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut clock), clock)
    };
    if state < 0 {
        return ClockFacts::default();
    }
    let is_synchronized = clock.status & libc::STA_UNSYNC == 0 && state != libc::TIME_ERROR;
    ClockFacts { is_synchronized: Some(is_synchronized), error_us: u64::try_from(clock.maxerror).ok() }
}

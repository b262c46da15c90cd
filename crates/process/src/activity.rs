//! What processes do, as far as `/proc` says: their work with that of their children, what they wait for, and what reaches
//! their main thread.

use std::collections::HashMap;
use std::io;

use crate::procfs::{self, Stat};

/// The work of a process and of all that it has started and that still runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    pub cpu_ms: u64,
    /// Read and written, by whatever means.
    pub io_bytes: u64,
    /// One of its children that is stopped.
    pub stopped_child: Option<Stat>,
    /// How often its main thread has waited for something, or touched memory for the first time.
    pub pauses: u64,
}

/// The activity of each of these, by one look at all processes.
pub fn of_all(pids: &[i32]) -> Vec<Activity> {
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for stat in procfs::all() {
        children.entry(stat.parent).or_default().push(stat);
    }
    pids.iter().map(|pid| with_children(*pid, &children)).collect()
}

fn with_children(pid: i32, children: &HashMap<i32, Vec<Stat>>) -> Activity {
    let mut all = Activity { cpu_ms: cpu_ms(pid), io_bytes: io_bytes(pid), stopped_child: None, pauses: pauses(pid) };
    let mut below: Vec<&Stat> = children.get(&pid).into_iter().flatten().collect();
    while let Some(child) = below.pop() {
        all.cpu_ms += cpu_ms(child.pid);
        all.io_bytes += io_bytes(child.pid);
        all.stopped_child = all.stopped_child.or(child.is_stopped().then_some(*child));
        below.extend(children.get(&child.pid).into_iter().flatten());
    }
    all
}

/// Processor time of all its threads.
fn cpu_ms(pid: i32) -> u64 {
    let Ok(text) = procfs::read(&format!("/proc/{pid}/stat")) else { return 0 };
    let after_name = memchr::memrchr(b')', &text).and_then(|at| text.get(at + 1..)).unwrap_or_default();
    let fields = String::from_utf8_lossy(after_name).into_owned();
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    // SAFETY: asks for a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    (ticks * 1_000).checked_div(u64::try_from(per_second).unwrap_or(100)).unwrap_or(0)
}

/// Of the main thread alone: a loop in native code has none.
fn pauses(pid: i32) -> u64 {
    let status = procfs::read_text(&format!("/proc/{pid}/task/{pid}/status")).unwrap_or_default();
    let waited = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok());
    let stat = procfs::read_text(&format!("/proc/{pid}/task/{pid}/stat")).unwrap_or_default();
    let faults = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(7)?.parse().ok());
    waited.unwrap_or(0) + faults.unwrap_or(0)
}

/// What it has read and written; nothing where that is hidden.
fn io_bytes(pid: i32) -> u64 {
    let text = procfs::read_text(&format!("/proc/{pid}/io")).unwrap_or_default();
    // Calls, and what came from or went to a disk by other means.
    const COUNTED: [&str; 4] = ["rchar: ", "wchar: ", "read_bytes: ", "write_bytes: "];
    let value = |line: &str| COUNTED.iter().find_map(|name| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    text.lines().filter_map(value).sum()
}

/// The file that the call of the main thread is about, where that is a read or a write that has not returned.
pub fn file_of_call(pid: i32) -> Option<String> {
    const ABOUT_A_FILE: [i64; 10] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_fstat,
        libc::SYS_getdents64,
    ];
    let text = procfs::read_text(&format!("/proc/{pid}/syscall")).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let call: i64 = fields.next()?.parse().ok()?;
    let fd = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    if !ABOUT_A_FILE.contains(&call) {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    path.to_str().filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// The program of a process that had memory of this name and has it no more: by an exec it has become another one.
pub fn other_program(pid: i32, had: &std::ffi::CStr) -> Option<String> {
    let maps = procfs::read(&format!("/proc/{pid}/maps")).ok().filter(|maps| !maps.is_empty())?;
    if memchr::memmem::find(&maps, had.to_bytes()).is_some() {
        return None;
    }
    procfs::command_line(pid)
}

/// The function of the kernel in which the main thread waits.
pub fn kernel_function(pid: i32) -> Option<String> {
    procfs::read_text(&format!("/proc/{pid}/wchan")).ok().filter(|name| !name.is_empty() && name != "0")
}

/// Who traces a process, and the name of that one's program; none where nobody does, or one that cannot be seen from here.
pub fn tracer(pid: i32) -> Option<(i32, String)> {
    let status = procfs::read_text(&format!("/proc/{pid}/status")).ok()?;
    let tracer: i32 = status.lines().find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok())?;
    let name = procfs::read_text(&format!("/proc/{tracer}/comm")).ok().filter(|_| tracer > 0)?;
    // A program chooses its name itself.
    Some((tracer, name.chars().filter(|letter| !letter.is_control()).collect()))
}

/// Whether the process has a handler of its own for the signal: to any other it would be the end.
pub fn handles(pid: i32, signal: i32) -> bool {
    let text = procfs::read_text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = text.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    (1..=64).contains(&signal) && caught.is_some_and(|caught| caught & (1 << (signal - 1)) != 0)
}

/// Sends a signal to the main thread alone, so that calls of no other thread are interrupted.
pub fn signal_main_thread(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: only numbers are passed; a process that is gone is an error.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, signal) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_with_that_of_children_and_a_stopped_child_is_found() {
        let script = "sleep 60 & kill -STOP $!; echo ready; wait";
        let mut shell =
            std::process::Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(shell.id()).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let stopped = loop {
            if let Some(child) = of_all(&[pid])[0].stopped_child {
                break child;
            }
            assert!(std::time::Instant::now() < deadline);
        };
        assert_eq!((stopped.parent, stopped.is_held_by_tracer()), (pid, false));
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(of_all(&[me])[0].io_bytes > 0 && of_all(&[pid])[0].pauses > 0);
        assert_eq!(of_all(&[0x3fff_ffff]), [Activity::default()]);
        // SAFETY: a child of our own child, which is stopped and not reaped.
        unsafe { libc::kill(stopped.pid, libc::SIGKILL) };
        shell.wait().unwrap();
    }

    #[test]
    fn a_process_that_has_become_another_program_is_known_by_what_it_has_lost() {
        let mut sleeps = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(sleeps.id()).unwrap();
        // Right after an exec the kernel does not tell the words yet.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while other_program(pid, c"no-such-memory").as_deref() != Some("sleep 60") {
            assert!(std::time::Instant::now() < deadline);
        }
        assert_eq!(other_program(pid, c"[stack]"), None);
        sleeps.kill().unwrap();
        assert_eq!(other_program(0x3fff_ffff, c"[stack]"), None);
        sleeps.wait().unwrap();
    }

    #[test]
    fn only_those_with_a_handler_are_said_to_have_one() {
        let sleeps = std::process::Command::new("sleep").arg("60").spawn();
        let mut sleeps = sleeps.unwrap();
        let pid = i32::try_from(sleeps.id()).unwrap();
        assert!(!handles(pid, libc::SIGUSR1) && !handles(pid, 0) && !handles(pid, 65));
        sleeps.kill().unwrap();
        sleeps.wait().unwrap();
        assert!(!handles(pid, libc::SIGUSR1));
        assert!(signal_main_thread(0x3fff_ffff, 0).is_err());
    }
}

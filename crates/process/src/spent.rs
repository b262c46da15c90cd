//! Spent processes: every thread of one is on its way out, so that it runs no instruction and makes no system call any more, while
//! the kernel still takes its memory apart, which can take longer than all else that follows a death. It keeps what it had open
//! until that is done.

use std::collections::{HashMap, HashSet};
use std::fs;

use fermi_domain::exit::Exit;
use fermi_domain::healing::spent::Kept;

use crate::connections;
use crate::procfs;

/// The kernel's word that a thread has begun to exit.
const PF_EXITING: u64 = 0x4;
/// Files of these are the machine's own: closing one sends nothing to anybody else.
const LOCAL_FILE_SYSTEMS: [&str; 9] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"];
/// So the kernel calls files that are memory, and in no mount.
const MEMORY_FILE: &str = "/memfd:";
/// Devices that nobody has to themselves.
const SHARED_DEVICES: [&str; 7] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"];
/// Terminals that are programs, and files that are memory.
const NO_DEVICES: [&str; 2] = ["pts/", "shm/"];
/// A ring of calls, of which some may be under way when the process is gone.
const CALLS_UNDER_WAY: &str = "anon_inode:[io_uring";
/// So little is left of the processor for a spent process where others want it.
const NICENESS: i32 = 19;

/// A thread, as far as it matters whether it still runs.
struct Thread {
    id: i32,
    is_exiting: bool,
    /// It has given back all that it had.
    is_dead: bool,
    exit_code: i32,
}

/// Whether no thread of the process runs any more. One that is gone is spent, one that cannot be looked at is not.
///
/// Threads are listed one by one: while a thread other than the first makes an exec, or the last of them makes one more and ends, one
/// look can miss the only one that lives. It is there at the second.
pub fn is_spent(pid: i32) -> bool {
    let looks_so = || {
        threads(pid)
            .map_or_else(|error| procfs::is_gone(&error), |threads| threads.iter().all(|thread| thread.is_exiting))
    };
    looks_so() && looks_so()
}

/// How a spent process has ended; none for one that may still run, and for one that has returned 0, which only the parent
/// learns for certain.
pub fn exit(pid: i32) -> Option<Exit> {
    if !is_spent(pid) {
        return None;
    }
    let threads = threads(pid).ok()?;
    // Of a process that ends as a whole no new thread can come: the kernel refuses it to all that have the end before them.
    if !threads.iter().all(|thread| thread.is_exiting) {
        return None;
    }
    let status = threads.iter().find(|thread| thread.id == pid)?.exit_code;
    match (status & 0x7f, (status >> 8) & 0xff) {
        (0, 0) => None,
        (0, code) => Some(Exit::Code { code }),
        (signal, _) => Some(Exit::Signal { signal, core_dumped: status & 0x80 != 0 }),
    }
}

fn threads(pid: i32) -> std::io::Result<Vec<Thread>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        match procfs::read(&format!("/proc/{pid}/task/{id}/stat")) {
            Ok(text) => threads.push(parse_thread(id, &text).ok_or(std::io::ErrorKind::InvalidData)?),
            Err(error) if procfs::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(threads)
}

/// Fields count from behind the name; the last one is the exit code, 0 where it is hidden from us.
fn parse_thread(id: i32, text: &[u8]) -> Option<Thread> {
    let close = memchr::memrchr(b')', text)?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let is_dead = matches!(*fields.first()?, "Z" | "X");
    let flags: u64 = fields.get(6)?.parse().ok()?;
    let is_exiting = is_dead || flags & PF_EXITING != 0;
    Some(Thread { id, is_exiting, is_dead, exit_code: fields.get(49)?.parse().ok()? })
}

/// The first thing for which a spent process has to be waited for; none where nobody misses what it has.
pub fn keeps(pid: i32) -> Option<Kept> {
    let writes = procfs::read_text("/proc/sys/fs/aio-nr").ok().and_then(|text| text.trim().parse::<u64>().ok());
    if writes != Some(0) {
        return Some(Kept::Writes);
    }
    let Ok(threads) = threads(pid) else { return Some(Kept::Unknown) };
    let mounts = mounts();
    let mut sockets = HashSet::new();
    let is_dead = threads.iter().all(|thread| thread.is_dead);
    let mut has_files = false;
    for thread in threads {
        let folder = format!("/proc/{pid}/task/{}", thread.id);
        let files = match fs::read_dir(format!("{folder}/fd")) {
            Ok(files) => files,
            Err(error) if procfs::is_gone(&error) => continue,
            Err(_) => return Some(Kept::Unknown),
        };
        for file in files {
            // What cannot be looked at is being closed right now.
            let Ok(file) = file else { return Some(Kept::Unknown) };
            let Ok(link) = fs::read_link(file.path()) else { return Some(Kept::Unknown) };
            let link = link.to_string_lossy().into_owned();
            has_files = true;
            let device =
                link.strip_prefix("/dev/").filter(|device| !NO_DEVICES.iter().any(|it| device.starts_with(it)));
            if link.starts_with(CALLS_UNDER_WAY) {
                return Some(Kept::Writes);
            }
            if let Some(inode) = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok()) {
                sockets.insert(inode);
            } else if let Some(device) = device {
                if !SHARED_DEVICES.contains(&device) {
                    return Some(Kept::Device { path: link });
                }
            } else if link.starts_with("/dev/pts/") {
                continue;
            } else if link.starts_with('/') && !link.starts_with(MEMORY_FILE) {
                let number = file.file_name();
                let info = procfs::read_text(&format!("{folder}/fdinfo/{}", number.to_string_lossy()));
                let kept = info.map_or(Some(Kept::Unknown), |info| kept_by_file(&info, link, &mounts));
                if kept.is_some() {
                    return kept;
                }
            }
        }
    }
    // The kernel takes the list of files away before it closes them, which can take long where others are asked.
    if !has_files && !is_dead {
        return Some(Kept::Unknown);
    }
    let given_out = given_out_ports();
    connections::listening(&sockets).into_iter().find(|port| !given_out.contains(port)).map(|port| Kept::Port { port })
}

/// By what the kernel says of an open file.
fn kept_by_file(info: &str, path: String, mounts: &HashMap<String, String>) -> Option<Kept> {
    let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if value("lock:").is_some() {
        return Some(Kept::Lock { path });
    }
    let Some(flags) = value("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok()) else {
        return Some(Kept::Unknown);
    };
    let is_local = value("mnt_id:")
        .and_then(|mount| mounts.get(mount))
        .is_some_and(|kind| LOCAL_FILE_SYSTEMS.contains(&kind.as_str()));
    (flags & libc::O_ACCMODE != libc::O_RDONLY && !is_local).then_some(Kept::RemoteFile { path })
}

/// The kind of file system of each mount; nothing is asked of the file system itself, which may not answer.
fn mounts() -> HashMap<String, String> {
    let text = procfs::read_text("/proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let id = line.split_ascii_whitespace().next()?.to_owned();
        let kind = line.split_once(" - ")?.1.split_ascii_whitespace().next()?.to_owned();
        Some((id, kind))
    };
    text.lines().filter_map(mount).collect()
}

/// The ports that the kernel chooses for those who name none: nobody asks for one of these again.
fn given_out_ports() -> std::ops::RangeInclusive<u16> {
    let text = procfs::read_text("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    match (bounds.next(), bounds.next()) {
        (Some(first), Some(last)) => first..=last,
        _ => 32_768..=60_999,
    }
}

/// Lets others have the processor before the kernel frees the memory of this process.
pub fn yield_processor(pid: i32) {
    for thread in threads(pid).unwrap_or_default() {
        let id = libc::id_t::try_from(thread.id).unwrap_or(0);
        let ordinary = libc::sched_param { sched_priority: 0 };
        // SAFETY: plain numbers and a struct that is read; a thread that is gone meanwhile is an error.
        unsafe {
            libc::sched_setscheduler(thread.id, libc::SCHED_OTHER, &raw const ordinary);
            libc::setpriority(libc::PRIO_PROCESS, id, NICENESS);
        }
    }
    // Where the kernel shares the processor by sessions this is what counts; where it does not there is no such file.
    let _ = fs::write(format!("/proc/{pid}/autogroup"), NICENESS.to_string());
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn python(script: &str) -> Child {
        let mut child =
            Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("python3 is there");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }

    fn pid(child: &Child) -> i32 {
        i32::try_from(child.id()).unwrap()
    }

    #[test]
    fn a_process_that_runs_is_not_spent_and_one_that_was_killed_is_before_it_is_collected() {
        let mut child = python("import time; print('ready', flush=True); time.sleep(60)");
        assert!(!is_spent(pid(&child)));
        assert_eq!(exit(pid(&child)), None);
        child.kill().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !is_spent(pid(&child)) {
            assert!(std::time::Instant::now() < deadline);
        }
        assert_eq!(exit(pid(&child)), Some(Exit::Signal { signal: libc::SIGKILL, core_dumped: false }));
        child.wait().unwrap();
        assert!(is_spent(pid(&child)) && exit(pid(&child)).is_none());
    }

    #[test]
    fn a_process_whose_main_thread_has_ended_and_whose_others_run_is_not_spent() {
        let script = "import ctypes, threading, time
def rest():
    print('ready', flush=True)
    time.sleep(60)
threading.Thread(target=rest).start()
ctypes.CDLL(None).syscall(60, 3)";
        let mut child = python(script);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !procfs::stat(pid(&child)).unwrap().is_zombie() {
            assert!(std::time::Instant::now() < deadline);
        }
        assert!(!is_spent(pid(&child)));
        assert_eq!(exit(pid(&child)), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_is_kept_is_found_while_the_process_has_it() {
        let folder = std::env::temp_dir();
        for (script, expected) in [
            ("", None),
            ("import socket; held = socket.create_server(('127.0.0.1', 0))", None),
            ("held = open(PATH, 'w')", None),
            ("import os; held = os.memfd_create('memory')", None),
            ("held = open('/dev/fuse')", Some(Kept::Device { path: "/dev/fuse".to_owned() })),
            (
                "import fcntl; held = open(PATH, 'w'); fcntl.flock(held, fcntl.LOCK_EX)",
                Some(Kept::Lock { path: String::new() }),
            ),
        ] {
            if expected == Some(Kept::Device { path: "/dev/fuse".to_owned() }) && fs::File::open("/dev/fuse").is_err() {
                continue;
            }
            let path = folder.join(format!("fermi-spent-{}-{}", std::process::id(), script.len()));
            let script = script.replace("PATH", &format!("{:?}", path.display().to_string()));
            let mut child = python(&format!("{script}\nimport time; print('ready', flush=True); time.sleep(60)"));
            let found = keeps(pid(&child));
            child.kill().unwrap();
            child.wait().unwrap();
            let _ = fs::remove_file(&path);
            if found == Some(Kept::Writes) {
                return;
            }
            let expected = match expected {
                Some(Kept::Lock { .. }) => Some(Kept::Lock { path: path.display().to_string() }),
                other => other,
            };
            assert_eq!(found, expected, "{script}");
        }
    }

    #[test]
    fn what_the_kernel_says_of_a_file_is_judged() {
        let mounts = HashMap::from([("7".to_owned(), "ext4".to_owned()), ("8".to_owned(), "nfs4".to_owned())]);
        let path = || "/a".to_owned();
        for (info, expected) in [
            ("pos:\t0\nflags:\t0100001\nmnt_id:\t7\nino:\t3\n", None),
            ("pos:\t0\nflags:\t0100000\nmnt_id:\t8\n", None),
            ("pos:\t0\nflags:\t0100002\nmnt_id:\t8\n", Some(Kept::RemoteFile { path: path() })),
            ("pos:\t0\nflags:\t0100002\nmnt_id:\t9\n", Some(Kept::RemoteFile { path: path() })),
            (
                "flags:\t0100000\nmnt_id:\t7\nlock:\t1: FLOCK  ADVISORY  WRITE 3 00:1:2 0 EOF\n",
                Some(Kept::Lock { path: path() }),
            ),
            ("mnt_id:\t7\n", Some(Kept::Unknown)),
        ] {
            assert_eq!(kept_by_file(info, path(), &mounts), expected, "{info}");
        }
    }
}

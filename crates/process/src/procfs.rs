//! What `/proc` says of the processes of this machine.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};

use crate::cgroup;

/// One line of `/proc/<pid>/stat`, as much as is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub state: u8,
    /// Clock ticks since boot; together with the number it names one process for ever.
    pub started: u64,
    /// Pages of it that are in memory.
    pub resident: u64,
}

impl Stat {
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// By a signal, or by who traces it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// By who traces it: no signal lets it go on.
    pub fn is_held_by_tracer(&self) -> bool {
        self.state == b't'
    }
}

/// Most files of `/proc` fit: one read brings all, a second one the end.
const USUAL_SIZE: usize = 16 * 1024;

/// More is not read: what a process shows of itself is as long as it wants. No program is started with as much.
const LONGEST: u64 = 8 << 20;

/// A whole file of `/proc`. Such files say that they are empty, so that [`fs::read`] would ask for their size in vain and
/// then feel its way in small reads.
pub fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(USUAL_SIZE);
    // Limited, since only then it is not asked for the size.
    File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// The same as text; what is no UTF-8 is replaced.
pub fn read_text(path: &str) -> io::Result<String> {
    read(path).map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Reads the state of one process.
pub fn stat(pid: i32) -> io::Result<Stat> {
    let text = read(&format!("/proc/{pid}/stat"))?;
    parse_stat(pid, &text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The program's name stands in parentheses and may itself hold spaces and parentheses: fields count from the last one.
fn parse_stat(pid: i32, text: &[u8]) -> Option<Stat> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let resident = fields.nth(1)?.parse().ok()?;
    Some(Stat { pid, parent, state, started, resident })
}

/// All processes that can be seen.
pub fn all() -> Vec<Stat> {
    pids().filter_map(|pid| stat(pid).ok()).collect()
}

fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
}

/// Everything below a process, parents before children, the process itself not included.
pub fn descendants(root: i32) -> Vec<Stat> {
    descendants_but(root, &[])
}

/// The same, without these and what is below them.
pub fn descendants_but(root: i32, spared: &[i32]) -> Vec<Stat> {
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for stat in all() {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        let found_here = children.remove(&parent).unwrap_or_default();
        for child in found_here.into_iter().filter(|child| !spared.contains(&child.pid)) {
            open.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// The same by the kernel's own lists of children, which costs a few reads however many processes the machine has; none where it
/// keeps no lists. Only of this process: what loses its parent while this looks comes to it as the subreaper, and is seen there.
pub fn listed_below_but(spared: &[i32]) -> Option<Vec<i32>> {
    let me = std::process::id().cast_signed();
    let own = |pid: &i32| !spared.contains(pid);
    let mut found: Vec<i32> = listed_children(me)?.into_iter().filter(own).collect();
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(listed_children(pid)?);
        next += 1;
    }
    let orphans = listed_children(me)?.into_iter().filter(own).filter(|pid| !found.contains(pid)).collect::<Vec<_>>();
    found.extend(orphans);
    Some(found)
}

/// The children of all threads of a process; one that is gone has none.
fn listed_children(pid: i32) -> Option<Vec<i32>> {
    let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(tasks) => tasks,
        Err(error) if is_gone(&error) => return Some(Vec::new()),
        Err(_) => return None,
    };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(listed) => children.extend(listed.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            Err(_) if !task.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(children)
}

/// Whether this process has children, dead or alive, and none but these; false too where the kernel does not list them.
/// Costs a few reads, however many processes the machine has.
pub fn has_only_children(these: &[i32]) -> bool {
    if these.is_empty() {
        return false;
    }
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return false };
    tasks.flatten().all(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        let is_one = |pid: &str| pid.parse().is_ok_and(|pid: i32| these.contains(&pid));
        children.is_ok_and(|children| children.split_ascii_whitespace().all(is_one))
    })
}

/// How many bytes can be had without swapping: the machine's, or what the limits of the own cgroup leave.
pub fn memory_available() -> Option<u64> {
    let text = read_text("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(cgroup::memory_left().map_or(kibibytes << 10, |left| left.min(kibibytes << 10)))
}

/// How many bytes of a process are in memory.
pub fn resident(pid: i32) -> Option<u64> {
    let text = read_text(&format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes()?)
}

/// How many bytes a page of memory has.
pub fn page_bytes() -> Option<u64> {
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten()?;
    u64::try_from(page).ok()
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in clock ticks, its own and not its children's.
    pub ticks: u64,
    /// Resident memory in pages.
    pub pages: u64,
}

/// One process with its parent and what it has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumer {
    pub stat: Stat,
    pub usage: Usage,
}

/// All processes with what they have used: one look for many questions.
pub fn consumers() -> Vec<Consumer> {
    pids()
        .filter_map(|pid| {
            let text = read(&format!("/proc/{pid}/stat")).ok()?;
            Some(Consumer { stat: parse_stat(pid, &text)?, usage: parse_usage(&text)? })
        })
        .collect()
}

fn parse_usage(text: &[u8]) -> Option<Usage> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let pages: i64 = fields.nth(8)?.parse().ok()?;
    Some(Usage { ticks: user + system, pages: u64::try_from(pages).unwrap_or(0) })
}

/// The processes whose environment held `name=value` when they were started.
pub fn carrying(name: &str, value: &str) -> Vec<Stat> {
    let mark = format!("{name}={value}");
    let carries = |pid: i32| {
        read(&format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes()))
    };
    pids().filter(|pid| carries(*pid)).filter_map(|pid| stat(pid).ok()).filter(|stat| !stat.is_zombie()).collect()
}

/// Whether a process carries the variable with this value; the error where processes cannot be looked at.
pub fn is_carried(name: &str, value: &str) -> io::Result<bool> {
    can_look()?;
    let mark = format!("{name}={value}");
    for pid in pids() {
        if environ_of(pid)?.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes()) && lives(pid)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether there is a process of this number that is not dead already; the error where that cannot be told.
fn lives(pid: i32) -> io::Result<bool> {
    match stat(pid) {
        Ok(stat) => Ok(!stat.is_zombie()),
        Err(error) if is_gone(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an error of `/proc/<pid>` says that there is no such process.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The values that a variable has in the environments of all processes that can be read.
pub fn values_of(name: &str) -> io::Result<BTreeSet<String>> {
    can_look()?;
    let prefix = format!("{name}=");
    let mut values = BTreeSet::new();
    for pid in pids() {
        let environ = environ_of(pid)?;
        let pair = environ.split(|byte| *byte == 0).find(|pair| pair.starts_with(prefix.as_bytes()));
        values.extend(pair.and_then(|pair| String::from_utf8(pair[prefix.len()..].to_vec()).ok()));
    }
    Ok(values)
}

/// The environment of a process. One that is gone meanwhile, or another user's, has none.
fn environ_of(pid: i32) -> io::Result<Vec<u8>> {
    match read(&format!("/proc/{pid}/environ")) {
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied => Ok(Vec::new()),
        environ => environ,
    }
}

/// Whether processes can be looked at: with all descriptors in use, for one, nothing would be found.
fn can_look() -> io::Result<()> {
    fs::read_dir("/proc")?;
    // Those of other users cannot be read; a run's own can. A process that hides itself does not read its own `environ`.
    read("/proc/self/stat").map(drop)
}

/// The command line of a process as a person would type it; its short name when it has none.
pub fn command_line(pid: i32) -> Option<String> {
    let raw = read(&format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> =
        raw.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        return Some(read_text(&format!("/proc/{pid}/comm")).ok()?.trim().to_owned());
    }
    Some(words.join(" "))
}

/// How many processes the kernel has ended for want of memory since boot.
pub fn oom_kills() -> u64 {
    read_text("/proc/vmstat")
        .ok()
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()))
        .unwrap_or(0)
}

/// Which boot of the machine this is: process numbers mean nothing beyond it.
pub fn boot_id() -> io::Result<String> {
    read_text("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let text = b"7 (a) b) (c) S 3 7 7 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 4242 1 2 3";
        assert_eq!(parse_stat(7, text), Some(Stat { pid: 7, parent: 3, state: b'S', started: 4242, resident: 2 }));
    }

    #[test]
    fn cpu_time_and_memory_are_read() {
        let text = b"7 (a) b) S 3 7 7 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 4242 1 21 3";
        assert_eq!(parse_usage(text), Some(Usage { ticks: 11, pages: 21 }));
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(consumers().iter().any(|consumer| consumer.stat.pid == me && consumer.usage.pages > 0));
    }

    #[test]
    fn memory_of_the_machine_and_of_a_process_are_read() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(resident(me).unwrap() > 1 << 20);
        assert!(memory_available().unwrap() > 1 << 20);
        assert_eq!(resident(-1), None);
    }

    #[test]
    fn what_is_below_this_process_is_found_by_lists_of_children_too() {
        let script = "sleep 60 & echo $!; wait";
        let mut shell =
            std::process::Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let said = shell.stdout.take().unwrap();
        io::BufRead::read_line(&mut io::BufReader::new(said), &mut line).unwrap();
        let (child, grandchild) = (i32::try_from(shell.id()).unwrap(), line.trim().parse::<i32>().unwrap());
        if let Some(below) = listed_below_but(&[]) {
            assert!(below.contains(&child) && below.contains(&grandchild), "{below:?}");
            let others = listed_below_but(&[child]).unwrap();
            assert!(!others.contains(&child) && !others.contains(&grandchild), "{others:?}");
        }
        // SAFETY: a child of our own child, which is not reaped.
        unsafe { libc::kill(grandchild, libc::SIGKILL) };
        shell.wait().unwrap();
    }

    #[test]
    fn this_process_is_a_descendant_of_its_parent() {
        let me = i32::try_from(std::process::id()).unwrap();
        let parent = stat(me).unwrap().parent;
        assert!(descendants(parent).iter().any(|stat| stat.pid == me));
    }
}

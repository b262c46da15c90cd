//! Runs whose keepers both died before they could clean up: found by the next start, ended, and said so.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fermi_domain::contract::FERMI_RUN_MARK;
use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroup;
use crate::pidfd::PidFd;
use crate::procfs;
use crate::sweep;

/// A keeper, named so that its number cannot be mistaken for another's.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Keeper {
    pid: i32,
    started: u64,
}

impl Keeper {
    pub fn of(pid: i32) -> io::Result<Self> {
        Ok(Self { pid, started: procfs::stat(pid)?.started })
    }

    /// Whether it lives; the error where that cannot be told, as without a descriptor to read `/proc` by.
    fn lives(self) -> io::Result<bool> {
        match procfs::stat(self.pid) {
            Ok(stat) => Ok(stat.started == self.started && !stat.is_zombie()),
            Err(error) if procfs::is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// How long the note of another machine is left alone: longer than any run is known to last.
const FOREIGN_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where a note was written: a state folder in a home that several machines share has notes of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NoteHost {
    /// The operating system's name for the machine.
    pub machine: Option<String>,
    pub host: Option<String>,
    /// Containers of one machine share its boot, and number their processes each for itself.
    pub pid_namespace: Option<u64>,
}

impl NoteHost {
    pub fn here() -> Self {
        let machine = fs::read_to_string("/etc/machine-id").ok().map(|text| text.trim().to_owned());
        Self {
            machine: machine.filter(|id| !id.is_empty()),
            host: nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
            pid_namespace: fs::metadata("/proc/self/ns/pid").ok().map(|about| about.ino()),
        }
    }

    /// Whether processes of this place cannot be seen from that one, whatever has been started anew since. Of notes of a
    /// release that did not say where they are from nothing is known, and they are taken for ours.
    fn is_beyond(&self, here: &Self, is_same_boot: bool) -> bool {
        fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
        }
        // A name may be changed while the machine runs; its boot is one of a kind.
        match is_same_boot {
            true => differ(&self.pid_namespace, &here.pid_namespace),
            false => differ(&self.machine, &here.machine) || differ(&self.host, &here.host),
        }
    }
}

/// The note that a run is alive on this machine. Written when it starts, taken away when nothing of it is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRun {
    pub run: String,
    pub boot: String,
    #[serde(flatten)]
    pub on: NoteHost,
    pub keepers: Vec<Keeper>,
    pub cgroup: Option<PathBuf>,
}

impl LiveRun {
    fn path(live: &Path, run: &str) -> PathBuf {
        live.join(format!("{run}.json"))
    }

    pub fn write(&self, live: &Path) -> io::Result<()> {
        fs::create_dir_all(live)?;
        let draft = live.join(format!(".{}.new", self.run));
        let written =
            fs::write(&draft, serde_json::to_vec(self)?).and_then(|()| fs::rename(&draft, Self::path(live, &self.run)));
        if written.is_err() {
            // A part of a note is nobody's.
            let _ = fs::remove_file(draft);
        }
        written
    }

    /// The note of a run, if there is one that can be read.
    pub fn read(live: &Path, run: &str) -> Option<Self> {
        Self::find(live, run).ok().flatten()
    }

    /// The note of a run, none where there is none; the error where that cannot be told.
    pub fn find(live: &Path, run: &str) -> io::Result<Option<Self>> {
        match fs::read(Self::path(live, run)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a keeper lives that wrote the note; the error where that cannot be told.
    pub fn has_keepers(&self) -> io::Result<bool> {
        if self.boot != procfs::boot_id()? {
            return Ok(false);
        }
        for keeper in &self.keepers {
            if keeper.lives()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The supervisor, if it is the very process that wrote the note.
    pub fn supervisor(&self) -> Option<PidFd> {
        self.keeper(self.keepers.last()?)
    }

    /// The warden, if it is the very process that the note names.
    pub fn warden(&self) -> Option<PidFd> {
        self.keeper(self.keepers.first()?)
    }

    fn keeper(&self, keeper: &Keeper) -> Option<PidFd> {
        if procfs::boot_id().ok()? != self.boot {
            return None;
        }
        let handle = PidFd::open(keeper.pid).ok()?;
        // The handle is held before the look: the number cannot have changed hands in between.
        keeper.lives().ok()?.then_some(handle)
    }

    pub fn remove(live: &Path, run: &str) {
        // Not being there is what is wanted.
        let _ = fs::remove_file(Self::path(live, run));
    }
}

/// The runs in a folder of notes whose keepers live on this machine.
pub fn living(live: &Path) -> Vec<String> {
    let entries = fs::read_dir(live).into_iter().flatten().flatten();
    let notes = entries.filter_map(|entry| serde_json::from_slice::<LiveRun>(&fs::read(entry.path()).ok()?).ok());
    notes.filter(|note| note.has_keepers().unwrap_or(false)).map(|note| note.run).collect()
}

/// A run that was found without keepers, and how many of its processes had to be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub run: String,
    pub killed: usize,
}

/// Ends what is left of runs whose keepers are dead. One of which that cannot be told is left alone, and so is a note of
/// another machine: it keeps the run's logs from being taken for those of a run that is over.
pub fn sweep_stale(live: &Path) -> Vec<Ended> {
    let (Ok(entries), Ok(boot)) = (fs::read_dir(live), procfs::boot_id()) else { return Vec::new() };
    let here = NoteHost::here();
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let run: LiveRun = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            if run.on.is_beyond(&here, run.boot == boot) {
                let modified = fs::metadata(&path).and_then(|about| about.modified()).ok()?;
                if modified.elapsed().is_ok_and(|age| age > FOREIGN_KEPT) {
                    let _ = fs::remove_file(&path);
                }
                return None;
            }
            if run.has_keepers().ok()? {
                return None;
            }
            let killed = if run.boot == boot { end(&run) } else { 0 };
            let _ = fs::remove_file(&path);
            (killed > 0).then_some(Ended { run: run.run, killed })
        })
        .collect()
}

/// Ends every process that carries the mark of a run, whatever is left of its files. Says how many there were.
pub fn end_marked(run: &str) -> usize {
    let on = NoteHost::default();
    end(&LiveRun { run: run.to_owned(), boot: String::new(), on, keepers: Vec::new(), cgroup: None })
}

fn end(run: &LiveRun) -> usize {
    let mut killed = 0;
    if let Some(cgroup) = run.cgroup.clone().and_then(Cgroup::at) {
        killed += cgroup.population();
        // What cannot be ended this way is found by its mark below.
        let _ = cgroup.kill();
        cgroup.remove();
    }
    // A marked process may fork between the look and the blow: look again until there is none.
    for _ in 0..50 {
        let marked = procfs::carrying(FERMI_RUN_MARK, &run.run);
        if marked.is_empty() {
            break;
        }
        for stat in marked {
            let handle = PidFd::open(stat.pid);
            killed += usize::from(sweep::kill(&stat));
            if let Ok(handle) = handle {
                sweep::wait_gone(&handle, Duration::from_millis(100));
            }
        }
    }
    killed
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A note whose keepers are not among our processes.
    fn note(live: &Path, run: &str, boot: &str, on: NoteHost) -> PathBuf {
        let dead = Keeper { pid: i32::MAX, started: 0 };
        let note = LiveRun { run: run.into(), boot: boot.into(), on, keepers: vec![dead], cgroup: None };
        note.write(live).unwrap();
        LiveRun::path(live, run)
    }

    #[test]
    fn notes_of_other_machines_in_a_shared_home_are_left_and_our_own_dead_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path();
        let (here, boot) = (NoteHost::here(), procfs::boot_id().unwrap());
        assert!(here.host.is_some() && here.pid_namespace.is_some());
        let other_host = NoteHost { host: Some("another".into()), ..here.clone() };
        let other_machine = NoteHost { machine: Some("m".into()), ..other_host.clone() };
        let container = NoteHost { pid_namespace: Some(7), ..here.clone() };
        let left = [
            note(live, "machine", "another boot", other_machine),
            note(live, "host", "another boot", other_host.clone()),
            note(live, "container", &boot, container),
        ];
        let gone = [
            note(live, "mine", &boot, here.clone()),
            note(live, "renamed", &boot, other_host.clone()),
            note(live, "mine-before", "another boot", here),
            note(live, "of-an-older-release", "another boot", NoteHost::default()),
            note(live, "older-release-here", &boot, NoteHost::default()),
        ];
        assert_eq!(sweep_stale(live), []);
        for path in left {
            assert!(path.exists(), "{}", path.display());
        }
        for path in gone {
            assert!(!path.exists(), "{}", path.display());
        }
        let old = note(live, "host", "another boot", other_host);
        let long_ago = SystemTime::now() - FOREIGN_KEPT - Duration::from_secs(60);
        fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(sweep_stale(live), []);
        assert!(!old.exists(), "no run has lasted for so long");
    }

    #[test]
    fn a_note_of_an_older_release_is_read_and_one_of_today_has_its_words() {
        let old = r#"{"run":"r","boot":"b","keepers":[{"pid":1,"started":2}],"cgroup":null}"#;
        let note: LiveRun = serde_json::from_str(old).unwrap();
        assert_eq!(note.on, NoteHost::default());
        let on = NoteHost { machine: Some("m".into()), host: Some("h".into()), pid_namespace: Some(3) };
        let text = serde_json::to_string(&LiveRun { on: on.clone(), ..note }).unwrap();
        assert!(text.contains(r#""machine":"m","host":"h","pidNamespace":3"#), "{text}");
        assert_eq!(serde_json::from_str::<LiveRun>(&text).unwrap().on, on);
    }
}

//! Runs whose keepers both died before they could clean up: found by the next start, ended, and said so.

use std::fs;
use std::io;
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

/// The note that a run is alive on this machine. Written when it starts, taken away when nothing of it is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRun {
    pub run: String,
    pub boot: String,
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

/// A run that was found without keepers, and how many of its processes had to be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub run: String,
    pub killed: usize,
}

/// Ends what is left of runs whose keepers are dead. One of which that cannot be told is left alone.
pub fn sweep_stale(live: &Path) -> Vec<Ended> {
    let (Ok(entries), Ok(boot)) = (fs::read_dir(live), procfs::boot_id()) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let run: LiveRun = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
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
    end(&LiveRun { run: run.to_owned(), boot: String::new(), keepers: Vec::new(), cgroup: None })
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

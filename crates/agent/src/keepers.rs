//! Warden and supervisor of a run, who outlive the agent: started, signalled, and waited for.
//!
//! They hold a lock as long as either lives, leave a note with their numbers, and mark the processes of the run. [`life`]
//! asks all three: a lock file that was purged, a file system without locks or a full table of descriptors is not death.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fermi_attempt::bundle::NodeBundle;
use fermi_attempt::launcher;
use fermi_domain::contract::FERMI_RUN_MARK;
use fermi_domain::fleet::{self, Life, Witness};
use fermi_process::last_word;
use fermi_process::lease::SERVER_HEARD;
use fermi_process::procfs;
use fermi_process::stale::{self, Ended, LiveRun};

/// How long a supervisor that lives may take until it has left its note.
const NOTE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a process that has given its locks up may take to be dead.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How often a run that is not dead though its lock is free is looked at.
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(200);

/// Starts the keepers of a run.
pub fn start(bundle: NodeBundle, lock: &Path, hidden: &[OsString]) -> io::Result<()> {
    let mut file = open(lock)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("keepers of this run live already"),
        TryLockError::Error(error) => error,
    })?;
    // Without the room the run's end may go unexplained, nothing worse.
    let _ = last_word::reserve(&mut file);
    // Our own copy closes here; the lock stays with theirs.
    launcher::launch_to_outlive(bundle, &file, hidden)
}

/// Whether something of a run lives.
pub fn life(run_id: &str, lock: &Path, live_notes: &Path) -> Life {
    fleet::judge(lock_says(lock), note_says(live_notes, run_id), mark_says(run_id))
}

fn lock_says(lock: &Path) -> Witness {
    let Ok(file) = File::open(lock) else { return Witness::Silent };
    match file.try_lock() {
        Ok(()) => Witness::Dead,
        Err(TryLockError::WouldBlock) => Witness::Alive,
        Err(TryLockError::Error(_)) => Witness::Silent,
    }
}

/// The keepers' note is there as long as something of the run may live.
fn note_says(live_notes: &Path, run_id: &str) -> Witness {
    match LiveRun::find(live_notes, run_id) {
        Ok(Some(note)) => match note.has_keepers() {
            Ok(true) => Witness::Alive,
            Ok(false) => Witness::Dead,
            Err(_) => Witness::Silent,
        },
        Ok(None) => Witness::Dead,
        Err(_) => Witness::Silent,
    }
}

fn mark_says(run_id: &str) -> Witness {
    match procfs::is_carried(FERMI_RUN_MARK, run_id) {
        Ok(true) => Witness::Alive,
        Ok(false) => Witness::Dead,
        Err(_) => Witness::Silent,
    }
}

fn open(lock: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(lock)
}

/// Waits in a thread of its own until the keepers are gone and nothing of the run is left, then tells.
pub fn watch(
    run_id: String,
    lock: PathBuf,
    live_notes: PathBuf,
    gone: impl FnOnce(Vec<Ended>) + Send + 'static,
) -> io::Result<()> {
    thread::Builder::new().name("watch".into()).stack_size(128 * 1024).spawn(move || {
        let file = open_in_time(&lock);
        while let Some(Err(error)) = file.as_ref().map(File::lock) {
            if error.kind() != io::ErrorKind::Interrupted {
                // Without locks the look below is all there is.
                break;
            }
        }
        drop(file);
        // A process gives its locks up a moment before it is dead, and the note of one that is not is left alone.
        let deadline = Instant::now() + DEATH_PATIENCE;
        let mut ended = stale::sweep_stale(&live_notes);
        while LiveRun::read(&live_notes, &run_id).is_some() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
            // Were both keepers killed at once, something may be left; if not, this finds nothing.
            ended.extend(stale::sweep_stale(&live_notes));
        }
        // The lock may have been that of a new file in the place of one that was deleted.
        while life(&run_id, &lock, &live_notes) != Life::Dead {
            thread::sleep(LOOK_AGAIN_EVERY);
            ended.extend(stale::sweep_stale(&live_notes));
        }
        gone(ended);
    })?;
    Ok(())
}

/// The lock, as soon as it can be opened; none where its folder was deleted.
fn open_in_time(lock: &Path) -> Option<File> {
    loop {
        match open(lock) {
            Ok(file) => return Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            // Descriptors that are all in use come back.
            Err(_) => thread::sleep(LOOK_AGAIN_EVERY),
        }
    }
}

/// Tells the warden of a run, and nobody else, that the server was heard. One whose supervisor is gone is about to end the run,
/// or a signal has stopped it: then it is told to go on, since nobody else is left to do so.
pub fn renew_lease(run_id: &str, live_notes: &Path) {
    let Some(note) = LiveRun::read(live_notes, run_id) else { return };
    let Some(warden) = note.warden() else { return };
    // One that is gone needs no lease.
    let _ = warden.signal(SERVER_HEARD as i32);
    if note.supervisor().is_none() {
        let _ = warden.signal(libc::SIGCONT);
    }
}

/// Sends a signal to the supervisor of a run, and to nobody else. One that has just been started is waited for.
pub fn signal(run_id: String, lock: PathBuf, live_notes: PathBuf, signal: i32) {
    if try_signal(&live_notes, &run_id, signal) {
        return;
    }
    let later = move || {
        let deadline = Instant::now() + NOTE_PATIENCE;
        let may_live = || lock_says(&lock) != Witness::Dead;
        while Instant::now() < deadline && may_live() && !try_signal(&live_notes, &run_id, signal) {
            thread::sleep(LOOK_EVERY);
        }
    };
    // Without a thread the order is lost; whoever gave it will give it again.
    let _ = thread::Builder::new().name("signal".into()).stack_size(128 * 1024).spawn(later);
}

fn try_signal(live_notes: &Path, run_id: &str, signal: i32) -> bool {
    let supervisor = LiveRun::read(live_notes, run_id).and_then(|note| note.supervisor());
    supervisor.is_some_and(|supervisor| supervisor.signal(signal).is_ok())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_holds_the_lock_lives_and_its_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("keepers.lock");
        let notes = folder.path().join("live");
        assert_eq!(lock_says(&lock), Witness::Silent, "there is none");
        let held = open(&lock).unwrap();
        assert_eq!(life("r", &lock, &notes), Life::Dead, "it is free, and there is neither note nor process");
        held.try_lock().unwrap();
        assert_eq!(life("r", &lock, &notes), Life::Alive);
        let (tell, told) = channel();
        watch("r".into(), lock.clone(), notes.clone(), move |_| tell.send(()).unwrap()).unwrap();
        assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
        drop(held);
        told.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(life("r", &lock, &notes), Life::Dead, "the watcher's own hold is over by the time it tells");
    }

    #[test]
    fn a_lock_file_that_was_purged_is_not_taken_for_death() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, notes) = (folder.path().join("keepers.lock"), folder.path().join("live"));
        let held = open(&lock).unwrap();
        held.try_lock().unwrap();
        let me = stale::Keeper::of(std::process::id().cast_signed()).unwrap();
        let (boot, on) = (procfs::boot_id().unwrap(), stale::NoteHost::here());
        let note = LiveRun { run: "r".into(), boot, on, keepers: vec![me], cgroup: None };
        note.write(&notes).unwrap();
        std::fs::remove_file(&lock).unwrap();
        assert_eq!(life("r", &lock, &notes), Life::Alive);
        let (tell, told) = channel();
        watch("r".into(), lock, notes.clone(), move |_| tell.send(()).unwrap()).unwrap();
        assert!(told.recv_timeout(DEATH_PATIENCE + Duration::from_secs(1)).is_err(), "the keeper of the note lives");
        LiveRun::remove(&notes, "r");
        told.recv_timeout(Duration::from_secs(5)).unwrap();
    }
}

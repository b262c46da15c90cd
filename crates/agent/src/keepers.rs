//! Warden and supervisor of a run, who outlive the agent: started, signalled, and waited for.
//!
//! They hold a lock as long as either lives. Who gets it knows that both are gone, whether or not it started them, with no
//! moment in between that could be taken for death.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fermi_attempt::bundle::NodeBundle;
use fermi_attempt::launcher;
use fermi_process::stale::{self, Ended, LiveRun};

/// How long a supervisor that lives may take until it has left its note.
const NOTE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a process that has given its locks up may take to be dead.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Starts the keepers of a run.
pub fn start(bundle: NodeBundle, lock: &Path, hidden: &[OsString]) -> io::Result<()> {
    let file = open(lock)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("keepers of this run live already"),
        TryLockError::Error(error) => error,
    })?;
    // Our own copy closes here; the lock stays with theirs.
    launcher::launch_to_outlive(bundle, &file, hidden)
}

/// Whether a keeper of a run lives.
pub fn live(lock: &Path) -> bool {
    File::open(lock).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
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
    let file = open(&lock)?;
    thread::Builder::new().name("watch".into()).stack_size(128 * 1024).spawn(move || {
        while let Err(error) = file.lock() {
            if error.kind() != io::ErrorKind::Interrupted {
                // Without locks the look is all there is.
                thread::sleep(Duration::from_millis(100));
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
        gone(ended);
    })?;
    Ok(())
}

/// Sends a signal to the supervisor of a run, and to nobody else. One that has just been started is waited for.
pub fn signal(run_id: String, lock: PathBuf, live_notes: PathBuf, signal: i32) {
    if try_signal(&live_notes, &run_id, signal) {
        return;
    }
    let later = move || {
        let deadline = Instant::now() + NOTE_PATIENCE;
        while Instant::now() < deadline && live(&lock) && !try_signal(&live_notes, &run_id, signal) {
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
        assert!(!live(&lock), "there is none");
        let held = open(&lock).unwrap();
        assert!(!live(&lock), "nobody holds it");
        held.try_lock().unwrap();
        assert!(live(&lock));
        let (tell, told) = channel();
        watch("r".into(), lock.clone(), folder.path().join("live"), move |_| tell.send(()).unwrap()).unwrap();
        assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
        drop(held);
        told.recv_timeout(Duration::from_secs(5)).unwrap();
        // The watcher's own hold is over by the time it tells.
        assert!(!live(&lock));
    }
}

//! What the journal of a run tells of the streams beside it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use fermi_attempt::run_folder::attempt_of;
use fermi_domain::event::{Record, RunEvent};
use fermi_process::journal;

/// Whether the journal tells that ranks were started in each attempt of which this node has files: on a disk that was full
/// lines may be missing. What cannot be read tells nothing.
pub fn journal_tells_all(run: &Path) -> bool {
    let Ok(written) = attempts_written(run) else { return false };
    written.is_empty() || attempts_told(run).is_ok_and(|told| written.is_subset(&told))
}

fn attempts_written(run: &Path) -> io::Result<BTreeSet<u32>> {
    let mut written = BTreeSet::new();
    for entry in run.read_dir()? {
        written.extend(attempt_of(&entry?.file_name()));
    }
    Ok(written)
}

fn attempts_told(run: &Path) -> io::Result<BTreeSet<u32>> {
    let mut told = BTreeSet::new();
    for line in BufReader::new(File::open(run.join(journal::FILE_NAME))?).split(b'\n') {
        // Headers, and lines that a full disk has cut.
        let Ok(Record { event, .. }) = serde_json::from_slice::<Record>(&line?) else { continue };
        if let RunEvent::RankStarted { attempt, .. } = event {
            told.insert(attempt);
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_tells_all_when_every_attempt_with_files_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        assert!(journal_tells_all(run), "there is nothing to tell of");
        std::fs::create_dir(run.join("attempt_2")).unwrap();
        assert!(!journal_tells_all(run), "there is no journal");
        let started = |attempt| {
            let event = RunEvent::RankStarted { attempt, rank: 0, local_rank: 0, pid: 1 };
            serde_json::to_string(&Record { v: 1, seq: 1, time_ms: 1, event }).unwrap()
        };
        let journal = run.join(journal::FILE_NAME);
        std::fs::write(&journal, format!("{{\"journal\":1}}\n{}\n{{\"cut", started(3))).unwrap();
        assert!(journal_tells_all(run));
        std::fs::create_dir(run.join("attempt_3")).unwrap();
        assert!(!journal_tells_all(run));
        assert!(!journal_tells_all(&run.join("not there")));
    }
}

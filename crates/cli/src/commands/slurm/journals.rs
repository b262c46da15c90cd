//! The verdict of a job's last run, from the journals that its nodes kept on the shared disk.

use std::fs;
use std::path::Path;

use fermi_domain::event::{Outcome, Record, RunEvent};
use fermi_domain::verdict::Verdict;
use fermi_process::journal::FILE_NAME;

/// How a run ended.
#[derive(Clone, Debug)]
pub struct End {
    pub outcome: Outcome,
    pub verdict: Verdict,
    pub attempts: u32,
    at_ms: u64,
}

/// The newest end that any node of the job wrote down after this time; the first node's, which knows most, where several
/// tell of the same run.
pub fn last_end(job_folder: &Path, since_ms: u64) -> Option<End> {
    let folders = fs::read_dir(job_folder).into_iter().flatten().flatten();
    let ends = folders.filter_map(|entry| end_in(&entry.path().join(FILE_NAME)));
    ends.filter(|end| end.at_ms >= since_ms).max_by_key(|end| (end.attempts > 0, end.at_ms))
}

fn end_in(journal: &Path) -> Option<End> {
    let text = fs::read_to_string(journal).ok()?;
    text.lines().rev().filter_map(|line| serde_json::from_str::<Record>(line).ok()).find_map(|record| {
        match record.event {
            RunEvent::RunEnded { outcome, verdict, attempts } => {
                Some(End { outcome, verdict: *verdict, attempts, at_ms: record.time_ms })
            }
            _ => None,
        }
    })
}
